"""What a later version wrote is refused with its name, and every byte of it stays."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.backup import catalogue as backups
from adalog.store.backup.catalogue import OWNER, catalogue
from adalog.store.backup.check import check_data
from adalog.store.backup.check_backups import check_backups
from adalog.store.backup.restoration import restore
from adalog.store.checkpoint import checkpoint
from adalog.store.database import Database
from adalog.store.files import folder_check, segment
from adalog.store.files.formats import BACKUPS, CHECKPOINT, LOG, RELEASE, Format, NewerFormat, check_format
from adalog.store.files.place import LocalPlace
from adalog.store.log import payload
from adalog.store.sources import read_folder
from adalog.store.values.bootstrap import DURATION_IDENT
from tests.pipeline.exports_in_process import exported, loaded
from tests.pipeline.pipeline_in_process import imported
from tests.store.backup.support import back_up
from tests.store.log.folders.make import MAPPING, SCHEMA
from tests.store.log.test_earlier_versions import content

NEWER = "0.9.1"
PEOPLE = {"people": pa.table({"name": ["Ada", "Bob"], "age": [36, 41]})}


def made(folder: Path) -> Path:
    """A folder with segments, a file of an import, and transactions that are in the log alone."""
    scratch = folder.with_name("scratch")
    scratch.mkdir()
    with Database.open(str(folder)) as database:
        database.transact(SCHEMA)
        imported(database, scratch, MAPPING, PEOPLE)
        database.compact()
        database.transact("[[:db/add 1 :person/age 5]]", idempotency_key="k")
    assert list((folder / "imported").glob("*.seg"))
    return folder


def raise_log(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "log.sqlite")) as connection:
        connection.execute("INSERT INTO schema_version (version, adalog) VALUES (?, ?)", (LOG.newest + 1, NEWER))
        connection.execute(f"PRAGMA user_version = {LOG.newest + 1}")
        connection.commit()


def raise_log_ahead(folder: Path) -> None:
    """Its number is in SQLite's write-ahead log, as a process leaves it that is killed."""
    aside = folder.with_name("aside")
    with closing(sqlite3.connect(folder / "log.sqlite")) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("INSERT INTO schema_version (version, adalog) VALUES (?, ?)", (LOG.newest + 1, NEWER))
        connection.execute(f"PRAGMA user_version = {LOG.newest + 1}")
        connection.commit()
        shutil.copytree(folder, aside)
    shutil.rmtree(folder)
    aside.rename(folder)
    (folder / "log.sqlite-shm").unlink()
    assert (folder / "log.sqlite-wal").stat().st_size


def raise_checkpoint(folder: Path) -> None:
    """One that has nothing else in common with those of today."""
    path = folder / "checkpoint.json"
    path.write_text(json.dumps({"version": CHECKPOINT.newest + 1, "adalog": NEWER, "binary": "checkpoint.bin"}))


Raise = Callable[[Path], None]


def acts(folder: Path, out: Path) -> dict[str, Callable[[], object]]:
    return {
        "open": lambda: Database.open(str(folder)),
        "share": lambda: Database.open(str(folder), shared=True),
        "read": lambda: read_folder(str(folder)),
        "check": lambda: check_data(str(folder)),
        "back up": lambda: back_up(folder, LocalPlace(out)),
    }


def check_refused(folder: Path, out: Path, *said: str) -> None:
    before, names = content(folder), sorted(path.name for path in folder.iterdir() if "-shm" not in path.name)
    for name, act in acts(folder, out).items():
        with pytest.raises(NewerFormat) as refused:
            act()
        for text in (*said, f"this is adalog {RELEASE}", "Nothing was changed", "docs/how-to/upgrading.md"):
            assert text in refused.value.message, name
        assert content(folder) == before, name
    left = sorted(path.name for path in folder.iterdir() if "-shm" not in path.name)
    assert [name for name in left if name in names or (folder / name).stat().st_size] == names
    assert not out.exists() or not list(out.glob("backups/*"))


@pytest.mark.parametrize(
    ("raised", "what"),
    [(raise_log, "the log"), (raise_log_ahead, "the log"), (raise_checkpoint, "checkpoint.json")],
)
def test_a_later_folder_is_refused_and_left(tmp_path: Path, raised: Raise, what: str) -> None:
    folder = made(tmp_path / "data")
    raised(folder)
    check_refused(
        folder, tmp_path / "out", f"{what} is of format ", f"made by adalog {NEWER}", f"Use adalog {NEWER}"
    )


@pytest.mark.parametrize("lacks", ["", "segments"])
def test_later_segments_are_refused_and_not_rebuilt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str
) -> None:
    with monkeypatch.context() as later:
        later.setattr(segment, "SEGMENT", Format(1, 4))
        later.setattr(segment, "_magic", lambda _: segment._MAGIC + b"\4")
        folder = made(tmp_path / "data")
    if lacks:
        # Those of imports are part of the log.
        (folder / "checkpoint.json").unlink()
        shutil.rmtree(folder / "segments")
        (folder / "segments").mkdir(0o700)
    what = ".seg is of format 4, made by a later version of adalog"
    check_refused(folder, tmp_path / "out", what)


def test_later_transactions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(payload, "PAYLOAD", Format(0, 4))
        later.setattr(payload, "_PLAIN", b"\4")
        folder = made(tmp_path / "data")
    (folder / "checkpoint.json").unlink()
    for name, act in acts(folder, tmp_path / "out").items():
        if name != "back up":
            with pytest.raises(NewerFormat, match="a transaction in the log is of format 4"):
                act()


BARRING = {
    "policy": '[{:policy/name "everybody reads"}]',
    "declared": "[{:db/ident :a :db/valueType :db.type/duration}]",
    "undeclared": '[[:db/add 1 :a #duration "P1M"]]',
    "in a tuple": '[[:db/add 1 :a [1 [2 #duration "P1M"]]]]',
    "in a typed tuple": "[{:db/ident :a :db/valueType :db.type/tuple"
    " :db/tupleTypes [:db.type/duration :db.type/ref]}]",
    "in tuples of one type": "[{:db/ident :a :db/valueType :db.type/tuple :db/tupleType :db.type/duration}]",
}


def import_tuples(folder: Path, database: Database, form: str) -> None:
    """First one without durations, which changes no format, then one with a duration that no declaration names."""
    assert loaded(database, folder, {"format": "edn"}, "[1 :pair [1 2]]")[0].datoms
    assert database.snapshot().entid(DURATION_IDENT) is None
    given, lines = {"format": "edn"}, ['[1 :pair [1 #{#duration "P1M"}]]']
    if form == "export":
        with Database.open(str(folder / "from")) as other:
            loaded(other, folder, given, *lines)
            exported(other.snapshot(), folder / "exported")
        given, lines = {"path": str(folder / "exported"), "format": "adalog"}, []
    assert loaded(database, folder, given, *lines)[0].datoms == 1
    assert database.snapshot().entid(DURATION_IDENT) is not None


@pytest.mark.parametrize("change", [*BARRING.values(), "lines", "export"], ids=[*BARRING, "lines", "export"])
@pytest.mark.parametrize("folds", [False, True])
def test_earlier_versions_refuse_a_folder_with_durations_or_policies_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, *, folds: bool
) -> None:
    """As version 0.2.0: it knew transactions up to format 1, and checkpoints up to 4."""
    folder, place = made(tmp_path / "data"), LocalPlace(tmp_path / "backups")

    def fold_and_back_up() -> None:
        if folds:
            with Database.open(str(folder)) as database:
                database.compact()
        back_up(folder, place)

    fold_and_back_up()
    with monkeypatch.context() as earlier:
        for module in (payload, checkpoint, folder_check, backups):
            earlier.setattr(module, "PAYLOAD", Format(0, 1), raising=False)
            earlier.setattr(module, "CHECKPOINT", Format(2, 4), raising=False)
        assert check_data(str(folder)).findings == []
        assert check_backups(place).findings == []
    with Database.open(str(folder)) as database:
        if change in ("lines", "export"):
            import_tuples(tmp_path, database, change)
            t = database.snapshot().t
        else:
            database.transact(change)
            value = '#duration "PT1S"' if ":policy/" not in change else "1"
            t = database.transact(f"[[:db/add 2 :b {value}]]").t
    fold_and_back_up()
    assert read_folder(str(folder)).t == t
    restore(place, tmp_path / "restored")
    assert read_folder(str(tmp_path / "restored")).t == t
    with monkeypatch.context() as earlier:
        for module in (payload, checkpoint, folder_check, backups):
            earlier.setattr(module, "PAYLOAD", Format(0, 1), raising=False)
            earlier.setattr(module, "CHECKPOINT", Format(2, 4), raising=False)
        for name, act in acts(folder, tmp_path / "out").items():
            if folds or name != "back up":
                with pytest.raises(NewerFormat, match=r"is of format [25], made by a later version"):
                    act()
        with pytest.raises(NewerFormat, match="is of format 2, made by a later version"):
            restore(place, tmp_path / "not restored")


def test_a_segment_that_is_none_is_damaged(tmp_path: Path) -> None:
    with pytest.raises(segment.DamagedSegment, match="it is no segment"):
        segment.check_magic("x.seg", b"SOMETHING")


# Backups


def raise_owner(place: LocalPlace) -> None:
    change(place.path / OWNER, version=BACKUPS.newest + 1, adalog=NEWER)


def raise_backup(place: LocalPlace) -> None:
    change(place.path / catalogue(place).backups[0].file, version=BACKUPS.newest + 1, adalog=NEWER)


def raise_payloads(place: LocalPlace) -> None:
    change(place.path / catalogue(place).backups[0].file, payloads=9, adalog=NEWER)


def change(path: Path, **said: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **said}))


@pytest.mark.parametrize("raised", [raise_owner, raise_backup, raise_payloads])
def test_later_backups_are_refused_and_left(tmp_path: Path, raised: Callable[[LocalPlace], None]) -> None:
    folder, place = made(tmp_path / "data"), LocalPlace(tmp_path / "out")
    back_up(folder, place)
    with Database.open(str(folder)) as database:
        database.transact("[[:db/add 1 :person/age 6]]")
    back_up(folder, place)
    raised(place)
    before = content(place.path)
    for act in (
        lambda: back_up(folder, place, keep=1),
        lambda: catalogue(place),
        lambda: check_backups(place),
        lambda: restore(place, tmp_path / "restored"),
        lambda: restore(place, tmp_path / "restored", number=2),
    ):
        with pytest.raises(NewerFormat, match=f"made by adalog {NEWER}; this is adalog {RELEASE}") as refused:
            act()
        assert refused.value.code is Code.INTERNAL
        assert content(place.path) == before
    assert not (tmp_path / "restored").exists()


@pytest.mark.parametrize("release", [None, 7, "x" * 100, "0.9 <b>", RELEASE])
def test_a_release_that_cannot_be_one_is_not_said(release: object) -> None:
    with pytest.raises(NewerFormat, match=r"made by a later version of adalog; .* Use that version or a later one"):
        check_format(Format(1, 2), 3, "it", release)


def test_a_number_that_is_none_is_damage(tmp_path: Path) -> None:
    folder, place = made(tmp_path / "data"), LocalPlace(tmp_path / "out")
    back_up(folder, place)
    change(place.path / OWNER, version="two")
    with pytest.raises(AdalogError, match="its format is 'two'") as refused:
        back_up(folder, place)
    assert not isinstance(refused.value, NewerFormat)
