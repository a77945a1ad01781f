"""Backups after an excision: which of them hold what went, and the same ones without it."""

from __future__ import annotations

import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.backup import rewriting
from adalog.store.backup.backup_writer import BackupWriter
from adalog.store.backup.catalogue import catalogue
from adalog.store.backup.check_backups import check_backups
from adalog.store.backup.creation import take
from adalog.store.backup.restoration import restore
from adalog.store.backup.rewriting import outdated_backups, rewrite
from adalog.store.database import Database
from adalog.store.files.place import LocalPlace
from tests.property.excised_model import Row, shown
from tests.store.backup.support import files, refused
from tests.store.writer.test_excision import EXCISE, SECRET, filled


def holding(place: LocalPlace) -> set[str]:
    """The files that have it, as they are or without compression."""
    found = set()
    for name in files(place):
        content = (place.path / name).read_bytes()
        if name.startswith("log/"):
            content = pa.CompressedInputStream(pa.BufferReader(content), "zstd").read()
        if SECRET.encode() in content:
            found.add(name)
    return found


def restored(place: LocalPlace, path: Path, **which: int) -> set[Row]:
    restore(place, path, **which)
    with Database.open(str(path)) as database:
        assert database.log.faults() == []
        return shown(database.snapshot())


def shown_at(database: Database, t: int) -> set[Row]:
    """What a past moment shows of attributes with history, which a restored database shows of all."""
    return {row for row in shown(database.at(t=t)) if row[1] != ":note"}


def test_backups_that_hold_it_are_rewritten(tmp_path: Path) -> None:
    place = LocalPlace(tmp_path / "backups")
    with filled(tmp_path / "data") as database:
        take(database.source(), place)
        database.transact('[{:name "Between"}]')
        take(database.source(), place)
        before = database.snapshot().t
        t = database.transact(EXCISE).t
        database.compactor._clean()
        source = database.source()
        take(source, place)
        found = catalogue(place)
        assert list(outdated_backups(source, found).values()) == [[t], [t], []]
        # The newest has nothing of it by itself.
        newest = found.backups[-1]
        assert not holding(place) & set(newest.parts())
        assert holding(place)
        done = rewrite(source, place)
        assert done.rewritten == [1, 2]
        assert holding(place) == set()
        assert [backup.number for backup in catalogue(place).backups] == [1, 2, 3]
        assert list(outdated_backups(source, catalogue(place)).values()) == [[], [], []]
        assert check_backups(place, deep=True).findings == []
        assert rewrite(source, place).rewritten == []
        for number, moment in ((1, before - 1), (2, before)):
            rows = restored(place, tmp_path / f"restored {number}", number=number)
            assert {row for row in rows if row[1] != ":note"} == shown_at(database, moment)
        assert restored(place, tmp_path / "newest") == shown(database.snapshot())
        rows = restored(place, tmp_path / "past", moment=before)
        assert {row for row in rows if row[1] != ":note"} == shown_at(database, before)


def test_a_restored_past_goes_on(tmp_path: Path) -> None:
    """The number of the excision may become that of another transaction there."""
    place = LocalPlace(tmp_path / "backups")
    with filled(tmp_path / "data") as database:
        before = database.snapshot().t
        database.transact(EXCISE)
        take(database.source(), place)
    restore(place, tmp_path / "restored", moment=before)
    for number in range(3):
        with Database.open(str(tmp_path / "restored")) as database:
            database.transact(f'[{{:name "Later {number}"}}]')
            rows = shown(database.snapshot())
        for path in (tmp_path / "restored").glob("checkpoint.json"):
            path.unlink()
        with Database.open(str(tmp_path / "restored")) as database:
            assert shown(database.snapshot()) == rows
    assert not any(SECRET in str(row) for row in rows)


def test_an_older_backup_brings_back_what_went_only_by_its_number(tmp_path: Path) -> None:
    place = LocalPlace(tmp_path / "backups")
    with filled(tmp_path / "data") as database:
        before = database.snapshot().t
        take(database.source(), place)
        database.transact(EXCISE)
        take(database.source(), place)
    assert SECRET not in str(restored(place, tmp_path / "by t", moment=before))
    assert SECRET in str(restored(place, tmp_path / "by number", number=1))


@pytest.mark.parametrize("killed_at", [(rewriting, "_remove_unnamed"), (BackupWriter, "run_again")])
def test_a_rewrite_that_was_interrupted_is_done_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: tuple[object, str]
) -> None:
    place = LocalPlace(tmp_path / "backups")
    with filled(tmp_path / "data") as database:
        take(database.source(), place)
        database.transact(EXCISE)
        source = database.source()
        was = getattr(*killed_at)

        def interrupted(*args: object, **more: object) -> object:
            was(*args, **more)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(*killed_at, interrupted)
            with pytest.raises(KeyboardInterrupt):
                rewrite(source, place)
        rewrite(source, place)
    assert holding(place) == set()
    assert [backup.number for backup in catalogue(place).backups] == [1]
    assert SECRET not in str(restored(place, tmp_path / "restored"))


def test_what_cannot_be_read_is_not_left_aside(tmp_path: Path) -> None:
    place = LocalPlace(tmp_path / "backups")
    with filled(tmp_path / "data") as database:
        take(database.source(), place)
        database.transact(EXCISE)
        [name] = place.sizes("backups")
        (place.path / "backups" / name).write_text("{}")
        refused(lambda: rewrite(database.source(), place), Code.INTERNAL, "Delete it first", "Nothing was changed")


def test_backups_of_another_history_are_left(tmp_path: Path) -> None:
    place = LocalPlace(tmp_path / "backups")
    with filled(tmp_path / "data") as database:
        take(database.source(), place)
        identity = database.log.identity
        database.transact(EXCISE)
        [backup] = catalogue(place).backups
        database.log.identity = identity
        original = database.log.checksum_at
        database.log.checksum_at = lambda t: zlib.crc32(str(original(t)).encode())  # type: ignore[method-assign]
        with pytest.raises(AdalogError, match="another transaction"):
            rewrite(database.source(), place)
        assert catalogue(place).backups == [backup]
