"""What a backup writes, what it removes, and where it refuses to be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.backup.catalogue import catalogue
from adalog.store.backup.check import check_data
from adalog.store.backup.check_backups import check_backups
from adalog.store.backup.creation import take
from adalog.store.backup.restoration import restore
from adalog.store.database import Database
from adalog.store.files.place import LocalPlace, place_of
from adalog.store.sources import source_of
from tests.gateway.cli.command_line import adalog
from tests.store.backup.support import back_up, files, grow, held, held_in, refused


def test_only_what_is_new_is_written(data: Path, place: LocalPlace) -> None:
    first = back_up(data, place)
    before = files(place)
    assert (first.number, first.t, first.written) == (1, 11, first.bytes)
    again = back_up(data, place)
    assert (again.number, again.written, again.files) == (2, 0, 0)
    assert len(files(place) - before) == 1
    with Database.open(str(data)) as database:
        database.transact("[[:db/add 1 :n 100]]")
    third = back_up(data, place)
    assert (third.t, third.files) == (12, 1)
    assert third.written < first.written / 10
    assert check_backups(place, deep=True).findings == []


def test_short_parts_of_the_log_are_put_together(
    data: Path, place: LocalPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        written = 0
        for number in range(40):
            database.transact(f"[[:db/add 1 :n {200 + number}]]")
            written += take(database.source(), place).written
    newest = catalogue(place).backups[-1]
    assert len(newest.chunks) < 8
    assert written < 40 * 1_000
    assert restore(place, data.parent / "restored").t == newest.t


def test_files_are_closed_to_others(data: Path, place: LocalPlace) -> None:
    back_up(data, place)
    for path in (place.path, *place.path.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0


def test_beside_whoever_has_the_folder(data: Path, place: LocalPlace) -> None:
    with Database.open(str(data)) as database:
        database.transact("[[:db/add 1 :n 555]]")
        assert back_up(data, place).t == 12
        database.compact()
        assert back_up(data, place).left_out is None
        assert check_data(str(data), deep=True).findings == []
        expected = held_in(database)
    restore(place, data.parent / "restored")
    assert held(data.parent / "restored") == expected


def test_a_database_in_memory_has_its_log(place: LocalPlace, tmp_path: Path) -> None:
    with Database.open(":memory:") as database:
        database.transact("[[:db/add 1 :n 5]]")
        assert take(database.source(), place).t == 1
    restore(place, tmp_path / "restored")
    assert held(tmp_path / "restored") == (1, [(1, 5)])


def test_an_empty_database(place: LocalPlace, tmp_path: Path) -> None:
    with Database.open(str(tmp_path / "data")) as database:
        assert take(database.source(), place).t == 0
    assert restore(place, tmp_path / "restored").t == 0
    assert check_backups(place, deep=True).findings == []
    assert held(tmp_path / "restored") == (0, [])


def test_older_backups_go_with_what_only_they_have(data: Path, place: LocalPlace) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        for number in range(3):
            grow(database, number)
            database.compact()
            take(database.source(), place)
    assert back_up(data, place, keep=2).removed == [1, 2, 3]
    assert [each.number for each in catalogue(place).backups] == [4, 5]
    named = {name for each in catalogue(place).backups for name in each.parts()}
    assert {name for name in files(place) if name.startswith(("files/", "log/"))} == named
    assert check_backups(place, deep=True).findings == []


def test_a_backup_ends_when_nobody_wants_it(data: Path, place: LocalPlace) -> None:
    class Gone:
        def stage(self, name: str) -> None:
            pass

        def bytes(self, done: int, total: int) -> None:
            raise AdalogError(Code.CANCELLED, "gone")

    with source_of(str(data)) as source:
        refused(lambda: take(source, place, watching=Gone()), Code.CANCELLED)
    assert files(place) == {"lock", "adalog-backups.json"}


def test_other_places_are_refused(data: Path, place: LocalPlace, tmp_path: Path) -> None:
    back_up(data, place)
    with Database.open(str(tmp_path / "other")) as other:
        refused(lambda: take(other.source(), place), Code.ARG_INVALID, "backups of another database")
    for inside in (data, data / "out", data / "segments"):
        refused(lambda: back_up(data, LocalPlace(inside)), Code.ARG_INVALID, "lies in the data folder")  # noqa: B023
    link = tmp_path / "link"
    link.symlink_to(data)
    refused(lambda: back_up(data, LocalPlace(link / "out")), Code.ARG_INVALID, "lies in the data folder")
    before = sorted(tmp_path.iterdir())
    refused(lambda: back_up(data, LocalPlace(tmp_path)), Code.ARG_INVALID, "holds something else than backups")
    assert sorted(tmp_path.iterdir()) == before
    refused(lambda: place_of("nowhere://user:secret@host/x"), Code.ARG_INVALID, "nowhere://host/x")
    with pytest.raises(AdalogError) as raised:
        place_of("nowhere://user:secret@host/x?password=secret")
    assert "secret" not in str(raised.value)
    refused(lambda: catalogue(LocalPlace(tmp_path / "nothing")), Code.ARG_INVALID, "not there")
    refused(lambda: restore(LocalPlace(data), tmp_path / "x"), Code.ARG_INVALID, "something else")


def test_one_at_a_time(data: Path, place: LocalPlace, tmp_path: Path) -> None:
    with place.alone():
        refused(lambda: back_up(data, place), Code.RATE_LIMITED, "another backup")
    back_up(data, place)
    with place.shared():
        refused(lambda: back_up(data, place), Code.RATE_LIMITED)
        assert restore(place, tmp_path / "restored").t == 11


def test_a_checkpoint_that_is_replaced_meanwhile(
    data: Path, place: LocalPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is copied are the files of the checkpoint that is in the backup."""
    real = Path.read_text
    with Database.open(str(data)) as database:
        left = [1]

        def read_text(self: Path, *arguments: Any, **more: Any) -> str:
            text = real(self, *arguments, **more)
            if self == data / "checkpoint.json" and left:
                left.pop()
                grow(database, 9)
                database.compact()
            return text

        monkeypatch.setattr(Path, "read_text", read_text)
        take(database.source(), place)
        monkeypatch.undo()
    assert not left
    assert restore(place, tmp_path / "restored").replayed is None
    assert check_data(str(tmp_path / "restored")).findings == []


def test_backups_are_listed_while_one_is_taken(data: Path, place: LocalPlace) -> None:
    back_up(data, place)
    with place.alone():
        assert [
            json.loads(line)["t"] for line in adalog("backup", "--list", str(place.path)).stdout.splitlines()
        ] == [11]
