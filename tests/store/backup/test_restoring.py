"""What is restored: any transaction and instant, into which folders."""

from __future__ import annotations

import errno
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from adalog.datalog.errors import AdalogError, Code
from adalog.store.backup import restoration
from adalog.store.backup.catalogue import catalogue
from adalog.store.backup.creation import take
from adalog.store.backup.restoration import restore
from adalog.store.checkpoint import compactor
from adalog.store.checkpoint.checkpoint import Checkpoint
from adalog.store.database import Database
from adalog.store.files.folder import Folder as LockedFolder
from adalog.store.files.folder import FolderLayout
from adalog.store.files.place import LocalPlace
from adalog.store.files.segment import synced
from adalog.store.log.entry import KeyMemory
from tests.store.backup.support import back_up, grow, held, held_in_past, refused


def test_any_transaction_and_any_instant(data: Path, place: LocalPlace, tmp_path: Path) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        instants = {t: database.tx_instant(t) for t in range(1, 12)}
        expected = {t: held_in_past(database, t) for t in range(12)}
    for t in (0, 1, 2, 6, 11):
        restore(place, tmp_path / f"at-{t}", moment=t)
        assert held(tmp_path / f"at-{t}") == expected[t]
        with Database.open(str(tmp_path / f"at-{t}")) as restored:
            assert restored.transaction_of("once") == (11 if t == 11 else None)
    instant = instants[6]
    assert instant is not None
    last = max(t for t, each in instants.items() if each is not None and each <= instant)
    assert restore(place, tmp_path / "then", moment=instant).t == last
    assert restore(place, tmp_path / "before", moment=instant - timedelta(days=9)).t == 0
    # What was written since the backup was made is not in it.
    later = instant + timedelta(days=9)
    refused(lambda: restore(place, tmp_path / "x", moment=later), Code.BASIS_FUTURE, "which was made at")
    refused(lambda: restore(place, tmp_path / "x", moment=12), Code.BASIS_FUTURE, "backup 1 is of t = 11")
    refused(lambda: restore(place, tmp_path / "x", moment=-1), Code.ARG_INVALID)
    refused(
        lambda: restore(place, tmp_path / "x", number=7), Code.ARG_INVALID, "there is no backup 7", "there are 1"
    )
    assert not (tmp_path / "x").exists()


def test_the_newest_segments_that_know_nothing_later_are_used(
    data: Path, place: LocalPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(data, place)
    with Database.open(str(data)) as database:
        grow(database, 9)
        database.compact()
        take(database.source(), place)
        grow(database, 10)
        take(database.source(), place)
    for moment, checkpoint_t in ((13, 12), (12, 12), (11, 7), (7, 7), (6, None)):
        path = tmp_path / f"at-{moment}"
        restore(place, path, moment=moment)
        found = Checkpoint.load(FolderLayout(path))
        assert (None if found is None else found.counters.t) == checkpoint_t


def test_what_is_restored_is_ready_at_once(
    data: Path, place: LocalPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no segments fit, they are made before the folder is anybody's."""
    back_up(data, place)
    monkeypatch.setattr(compactor, "_ENOUGH", 10)
    restore(place, tmp_path / "restored", moment=6)
    found = Checkpoint.load(FolderLayout(tmp_path / "restored"))
    assert found is not None
    assert found.counters.t == 6


def test_keys_are_remembered_for_as_long_as_whoever_opens_it_says(
    data: Path, place: LocalPlace, tmp_path: Path
) -> None:
    """A restore does not know for how long that is."""
    with sa.create_engine(f"sqlite:///{data / 'log.sqlite'}").connect() as connection:
        connection.execute(sa.text("UPDATE idempotency_keys SET at = at - 3 * 86400000"))
        connection.commit()
    back_up(data, place)
    restore(place, tmp_path / "restored")
    with Database.open(str(tmp_path / "restored")) as restored:
        assert restored.transaction_of("once") is None
    with Database.open(str(tmp_path / "restored"), keys=KeyMemory(seconds=7 * 86_400)) as restored:
        assert restored.transaction_of("once") == 11


def test_only_into_an_empty_folder(data: Path, place: LocalPlace, tmp_path: Path) -> None:
    back_up(data, place)
    before = held(data)
    refused(lambda: restore(place, data), Code.ARG_INVALID, "is not empty", "last-backup")
    assert held(data) == before
    other = tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    refused(lambda: restore(place, other), Code.ARG_INVALID, "notes.txt")
    assert [path.name for path in other.iterdir()] == ["notes.txt"]
    (other / "notes.txt").unlink()
    (other / "lost+found").mkdir()
    restore(place, other)
    assert held(other) == before
    file = tmp_path / "file"
    file.write_text("")
    refused(lambda: restore(place, file), Code.BACKEND_UNAVAILABLE)


def test_a_copy_goes_on_by_itself(data: Path, place: LocalPlace, tmp_path: Path) -> None:
    """It has the identity, so that what is cached stays good, and other marks for what it says differently."""
    back_up(data, place)
    restore(place, tmp_path / "copy", moment=9)
    with Database.open(str(data)) as one, Database.open(str(tmp_path / "copy")) as other:
        assert one.log.identity == other.log.identity
        assert one.history_mark(9) == other.history_mark(9)
        refused(lambda: other.history_mark(10), Code.ARG_INVALID)
        refused(lambda: take(other.source(), place), Code.BASIS_CONFLICT, "which this database has not reached")
        for number in range(5):
            grow(other, number)
        assert one.history_mark(10) != other.history_mark(10)
        refused(lambda: take(other.source(), place), Code.BASIS_CONFLICT, "has another transaction 11")
    assert len(catalogue(place).backups) == 1


def test_a_restore_that_fails_leaves_the_folder_as_it_was(
    data: Path, place: LocalPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    back_up(data, place)

    def full(path: Path, t: int) -> int:
        raise AdalogError(Code.BACKEND_UNAVAILABLE, "no room")

    monkeypatch.setattr(restoration, "_opened", full)
    empty = tmp_path / "empty"
    empty.mkdir()
    refused(lambda: restore(place, empty), Code.BACKEND_UNAVAILABLE)
    assert list(empty.iterdir()) == []
    refused(lambda: restore(place, tmp_path / "new"), Code.BACKEND_UNAVAILABLE)
    assert not (tmp_path / "new").exists()


def test_two_restores_into_one_folder(
    data: Path, place: LocalPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one finds the folder empty, and has its lock when the first one is done."""
    back_up(data, place)
    path = tmp_path / "restored"

    def locked(where: Path) -> Any:
        if not (path / "log.sqlite").exists():
            monkeypatch.undo()
            restore(place, path, moment=9)
        return LockedFolder(where)

    monkeypatch.setattr(restoration, "Folder", locked)
    refused(lambda: restore(place, path), Code.ARG_INVALID, "is not empty")
    assert held(path)[0] == 9


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_restore_whose_end_fails_leaves_the_folder_as_it_was(
    data: Path, place: LocalPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Whatever was moved to its place already, the log too."""
    back_up(data, place)
    path, left = tmp_path / "restored", [at]

    def sync(folder: Path) -> None:
        synced(folder)
        if folder == path:
            left[0] -= 1
            if not left[0]:
                raise OSError(errno.EIO, "Input/output error")

    path.mkdir()
    monkeypatch.setattr(restoration, "synced", sync)
    refused(lambda: restore(place, path), Code.BACKEND_UNAVAILABLE, "Input/output error")
    assert list(path.iterdir()) == []
    assert restore(place, path).t == 11
