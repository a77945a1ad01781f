"""Backups of a database on PostgreSQL, and restored to one."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from adalog.datalog.errors import Code
from adalog.store.backup import chunks, restoration
from adalog.store.backup.catalogue import catalogue
from adalog.store.backup.check import check_data
from adalog.store.backup.check_backups import check_backups
from adalog.store.backup.creation import take
from adalog.store.backup.restoration import restore, restore_to_server
from adalog.store.database import Database
from adalog.store.files.place import LocalPlace
from adalog.store.state.head import Head
from tests.postgres_servers import PostgresServer
from tests.s3_server import s3_server
from tests.store.backup.support import FAULTS, back_up, flipped, grow, held, held_in, held_in_past, refused


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    """A server's new database."""
    return postgres.new_database()


@pytest.fixture(params=["folder", "address"])
def segments(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where gateways share files: a folder, or what is read over the network."""
    if request.param == "folder":
        yield str(tmp_path / "segments")
        return
    with s3_server(monkeypatch) as objects:
        yield objects.address("segments")


def test_there_and_back(data: Path, place: LocalPlace, tmp_path: Path, address: str, segments: str) -> None:
    back_up(data, place)
    refused(lambda: restore_to_server(place, address), Code.ARG_INVALID, "ADALOG_SEGMENTS")
    restored = restore_to_server(place, address, segments=segments)
    assert (restored.t, restored.replayed) == (11, None)
    with Database.open(address, segments=segments) as database, Database.open(str(data)) as original:
        assert database.log.identity == original.log.identity
        assert database.history_mark(11) == original.history_mark(11)
        assert database.transaction_of("once") == 11
        assert held_in(database) == held_in(original)
        database.transact("[[:db/add 1 :n 500]]")
        # Which continues the folder's backups.
        assert take(database.source(), place).t == 12
        expected = held_in(database)
    refused(lambda: restore_to_server(place, address, segments=segments), Code.ARG_INVALID, "there is a database")
    # By itself, beside a gateway, which knows of it.
    with Database.open(address, segments=segments) as gateway:
        before = gateway.last_backup()
        taken = back_up(address, place, segments=segments)
        after = gateway.last_backup()
        assert before is not None
        assert after is not None
        assert before < after == catalogue(place).backups[-1].made / 1000
    assert (taken.t, taken.left_out) == (12, None)
    assert back_up(address, place, segments=segments).written == 0
    assert check_backups(place, deep=True).findings == []
    restore(place, tmp_path / "restored")
    assert held(tmp_path / "restored") == expected
    refused(lambda: back_up(address, place), Code.BACKEND_UNAVAILABLE, "--segments", "--url")
    checked = check_data(address, segments=segments, deep=True)
    assert (checked.t, checked.findings, checked.unread) == (12, [], None)
    assert check_data(address).unread is not None


@pytest.mark.parametrize(("moment", "most"), [(None, 4), (9, 2), (6, 0)])
def test_the_first_gateway_begins_with_a_checkpoint(
    data: Path,
    place: LocalPlace,
    tmp_path: Path,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
    moment: int | None,
    most: int,
) -> None:
    """One from the backup, or where that has none, of what was replayed."""
    back_up(data, place)
    segments = str(tmp_path / "segments")
    restored = restore_to_server(place, address, moment=moment, segments=segments)
    replayed: list[int] = []
    real = Head.replay

    def replay(self: Head, t: int, *more: Any) -> None:
        replayed.append(t)
        real(self, t, *more)

    monkeypatch.setattr(Head, "replay", replay)
    with Database.open(address, segments=segments) as database:
        assert database.snapshot().t == restored.t
        assert held_in(database) == held_in_past(database, restored.t)
    assert len(replayed) <= most


def changed(address: str, *statements: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("DELETE FROM transactions WHERE t = 4", "transaction 4 is missing"),
        ("DELETE FROM transactions WHERE t > 10", "it lacks transaction 11, which the checkpoint has seen"),
        ("UPDATE transactions SET instant = instant + 1 WHERE t = 5", "transaction 5 is not what was written"),
        ("UPDATE transactions SET payload = '\\x00ff' WHERE t = 9", "transaction 9 is not what was written"),
    ],
)
def test_a_damaged_log_is_told(
    data: Path, place: LocalPlace, tmp_path: Path, address: str, statement: str, what: str
) -> None:
    back_up(data, place)
    segments = str(tmp_path / "segments")
    restore_to_server(place, address, segments=segments)
    changed(address, statement)
    checked = check_data(address, segments=segments)
    assert any(what in each.what and each.where.startswith("postgresql://") for each in checked.findings), checked
    assert not any("s3cret" in f"{each.where} {each.what}" for each in checked.findings)
    assert all(each.remedy for each in checked.findings)


def test_files_are_those_that_entries_name(data: Path, place: LocalPlace, tmp_path: Path, address: str) -> None:
    """Gateways do not write the list of files on a server."""
    back_up(data, place)
    segments = str(tmp_path / "segments")
    restore_to_server(place, address, segments=segments)
    again = [LocalPlace(tmp_path / "before"), LocalPlace(tmp_path / "after")]
    for to, statements in zip(again, ([], ["DELETE FROM files"]), strict=True):
        changed(address, *statements)
        assert check_data(address, segments=segments).findings == []
        back_up(address, to, segments=segments)
    before, after = ({each.name for each in catalogue(to).backups[-1].files} for to in again)
    assert before == after
    assert any(name.startswith("imported-") for name in after)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("pattern", ["files/attribute-*", "files/dictionary-*", "imported/*", "checkpoints/*"])
def test_damaged_files_are_told(
    data: Path, place: LocalPlace, tmp_path: Path, address: str, pattern: str, fault: Callable[[Path], None]
) -> None:
    back_up(data, place)
    segments = tmp_path / "segments"
    restore_to_server(place, address, segments=str(segments))
    path = next(iter(sorted(segments.glob(f"*/{pattern}"))))
    fault(path)
    checked = check_data(address, segments=str(segments))
    wanted = path.parent if path.parent.name == "checkpoints" else path
    assert [each.where for each in checked.findings] == [str(wanted)], checked
    taken = LocalPlace(tmp_path / "more")
    if path.parent.name == "imported":
        refused(lambda: back_up(address, taken, segments=str(segments)), Code.INTERNAL, path.name)
        return
    assert back_up(address, taken, segments=str(segments)).left_out is not None
    restore(taken, tmp_path / "restored")
    assert held(tmp_path / "restored") == held(data)


def test_a_server_without_imports(place: LocalPlace, tmp_path: Path, postgres: PostgresServer) -> None:
    with Database.open(postgres.new_database()) as database:
        for number in range(3):
            grow(database, number)
        assert take(database.source(), place).t == 3
    other = postgres.new_database()
    assert restore_to_server(place, other, moment=2).t == 2
    with Database.open(other) as restored:
        grow(restored, 7)
        refused(lambda: take(restored.source(), place), Code.BASIS_CONFLICT, "another transaction 3")
    assert back_up(other, LocalPlace(tmp_path / "more")).t == 3


def test_a_restore_to_a_server_that_fails_leaves_it_empty(
    data: Path, place: LocalPlace, tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_FULL", 500)
    back_up(data, place)
    flipped(place.path / catalogue(place).backups[0].chunks[-1].file)
    address, segments = postgres.new_database(), str(tmp_path / "segments")
    refused(lambda: restore_to_server(place, address, segments=segments), Code.INTERNAL, "is damaged")
    with Database.open(address) as database:
        assert database.snapshot().t == 0


def test_a_restore_without_room_leaves_the_server_empty(
    data: Path, place: LocalPlace, tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(data, place)
    segments = str(tmp_path / "segments")

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(restoration, "write_text", full)
        refused(lambda: restore_to_server(place, address, segments=segments), Code.BACKEND_UNAVAILABLE, "No space")
    assert restore_to_server(place, address, segments=segments).t == 11
