"""Data folders that earlier versions wrote are read as they are, and brought up to date when they are served."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tarfile
import textwrap
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.backup.check import check_data
from adalog.store.backup.check_backups import check_backups
from adalog.store.backup.restoration import restore
from adalog.store.database import Database
from adalog.store.files.formats import LOG, RELEASE
from adalog.store.files.place import LocalPlace
from adalog.store.log.entry import KeyMemory
from adalog.store.log.log import Log
from adalog.store.log.sqlite import opened_to_read
from adalog.store.sources import read_folder
from tests.store.backup.support import back_up
from tests.store.log.folders.make import KEYS, digest, lines, told

FOLDERS = Path(__file__).parent / "folders"
COMMITS = sorted(path.stem for path in FOLDERS.glob("*.json"))
# The folders are as old as their commits.
FOR_EVER = KeyMemory(seconds=10**11)
# The release that made a log of format 2.
SECOND = {"3b3f3f1": "0.2.0", "66c3760": "0.3.0", "5c38e66": "0.3.0"}


def unpacked(commit: str, to: Path) -> Path:
    with tarfile.open(FOLDERS / f"{commit}.tar.gz") as archive:
        archive.extractall(to, filter="data")
    return to


def expected(commit: str) -> dict[str, Any]:
    said: dict[str, Any] = json.loads((FOLDERS / f"{commit}.json").read_text())
    return said


@pytest.fixture(params=COMMITS)
def commit(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(commit: str, tmp_path: Path) -> Path:
    """As a process that was killed left it."""
    return unpacked(commit, tmp_path / "data")


def fold_write_ahead_log(folder: Path) -> None:
    """Has the log lie in one file, as a process does that ends in order."""
    with closing(sqlite3.connect(folder / "log.sqlite")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not (folder / "log.sqlite-wal").exists()


def content(folder: Path) -> dict[str, bytes]:
    """What a folder holds, but for what SQLite keeps for those who have the log open."""
    found = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {
        name: data for name, data in found.items() if not name.endswith("-shm") and (data or "-wal" not in name)
    }


def format_of(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "log.sqlite")) as connection:
        (found,) = connection.execute("PRAGMA user_version").fetchone()
    return int(found)


def check_answers(database: Database, said: dict[str, Any]) -> None:
    assert told_up_to(database, said["t"]) == {"history": said["history"], "moments": said["moments"]}


def told_up_to(database: Database, t: int) -> dict[str, Any]:
    every = told(database)
    history = [line for line in every["history"] if int(line.split()[-2]) <= t]
    return {"history": history, "moments": every["moments"][:t]}


def check_keys(database: Database, said: dict[str, Any]) -> None:
    before = database.snapshot().t
    for key, text in KEYS.items():
        assert database.transact(text, idempotency_key=key).t == said["keys"][key], key
    assert database.snapshot().t == before


def test_there_are_five_of_them() -> None:
    assert len(COMMITS) >= 5


@pytest.mark.parametrize("folds", [False, True])
def test_check_finds_it_sound_and_leaves_it(commit: str, folder: Path, *, folds: bool) -> None:
    if folds:
        fold_write_ahead_log(folder)
    before = content(folder)
    checked = check_data(str(folder), deep=True)
    assert checked.findings == []
    assert checked.t == expected(commit)["t"]
    assert content(folder) == before


def test_a_backup_of_it_is_restored_with_its_keys(commit: str, folder: Path, tmp_path: Path) -> None:
    before, place, said = content(folder), LocalPlace(tmp_path / "out"), expected(commit)
    assert back_up(folder, place).t == said["t"]
    (folder / "last-backup").unlink()
    assert content(folder) == before
    assert check_backups(place, deep=True).findings == []
    restored = restore(place, tmp_path / "restored")
    assert restored.replayed is None
    with Database.open(str(tmp_path / "restored"), keys=FOR_EVER) as database:
        check_answers(database, said)
        check_keys(database, said)
    # And so is an earlier state.
    restore(place, tmp_path / "earlier", moment=3)
    with Database.open(str(tmp_path / "earlier")) as database:
        assert told(database)["moments"] == said["moments"][:3]


def test_backups_go_on_after_it_was_brought_up_to_date(commit: str, folder: Path, tmp_path: Path) -> None:
    place = LocalPlace(tmp_path / "out")
    back_up(folder, place)
    with Database.open(str(folder), keys=FOR_EVER) as database:
        check_keys(database, expected(commit))
        t = database.transact("[[:db/add 1 :later true]]", idempotency_key="new").t
    assert back_up(folder, place).t == t
    assert check_backups(place, deep=True).findings == []
    restore(place, tmp_path / "restored")
    with Database.open(str(tmp_path / "restored"), keys=FOR_EVER) as database:
        check_keys(database, expected(commit))
        assert database.transact("[[:db/add 1 :later true]]", idempotency_key="new").t == t


def test_it_is_read_as_it_is(commit: str, folder: Path) -> None:
    before, said = content(folder), expected(commit)
    snapshot = read_folder(str(folder))
    assert digest(lines(snapshot)) == said["moments"][-1]
    assert lines(snapshot.history()) == said["history"]
    for t in range(1, said["t"] + 1):
        assert digest(lines(snapshot.as_of(t))) == said["moments"][t - 1], t
    assert content(folder) == before


@pytest.mark.parametrize("shared", [False, True])
def test_served_it_answers_the_same_and_goes_on(commit: str, folder: Path, *, shared: bool) -> None:
    said = expected(commit)
    with Database.open(str(folder), keys=FOR_EVER, shared=shared) as database:
        check_answers(database, said)
        check_keys(database, said)
        t = database.transact("[[:db/add 1 :later 5]]", idempotency_key="mine").t
        assert t == said["t"] + 1
        database.compact()
    assert format_of(folder) == LOG.newest
    with Database.open(str(folder), keys=FOR_EVER) as database:
        check_answers(database, said)
        check_keys(database, said)
        assert database.transact("[[:db/add 1 :later 5]]", idempotency_key="mine").t == t
        with pytest.raises(AdalogError, match="with other data"):
            database.transact("[[:db/add 1 :later 6]]", idempotency_key="mine")
    assert check_data(str(folder), deep=True).findings == []


def test_without_its_checkpoint_it_answers_the_same(commit: str, folder: Path) -> None:
    (folder / "checkpoint.json").unlink()
    with Database.open(str(folder), keys=FOR_EVER) as database:
        check_answers(database, expected(commit))
        check_keys(database, expected(commit))


def test_the_release_that_brought_it_up_to_date_is_said(commit: str, folder: Path) -> None:
    Database.open(str(folder)).close()
    with closing(sqlite3.connect(folder / "log.sqlite")) as connection:
        rows = connection.execute("SELECT * FROM schema_version").fetchall()
    earlier = [(2, SECOND[commit])] if commit in SECOND else []
    assert rows == [*earlier, (LOG.newest, RELEASE)]
    before = content(folder)
    Database.open(str(folder)).close()
    assert content(folder) == before


# What each earlier version asks of a log when it opens it, to write to it or to read it.
OPENINGS = ('PRAGMA main.table_info("identity")', "SELECT identity.id FROM identity ORDER BY identity.id LIMIT 1")


@pytest.mark.parametrize("statement", OPENINGS)
def test_earlier_versions_cannot_open_it_then(commit: str, folder: Path, statement: str) -> None:
    """They would apply an idempotency key again, or know less than the log says."""
    Database.open(str(folder)).close()
    for mode in ("rw", "ro"):
        address = f"file:{folder / 'log.sqlite'}?mode={mode}"
        with (
            closing(sqlite3.connect(address, uri=True)) as connection,
            pytest.raises(sqlite3.OperationalError, match=f"use adalog {RELEASE} or a later one"),
        ):
            connection.execute(statement)


def test_a_reader_from_before_goes_on_while_it_is_brought_up_to_date(commit: str, folder: Path) -> None:
    said = expected(commit)
    reader = Log.reading(folder / "log.sqlite", folder / "imported")
    with closing(reader), Database.open(str(folder), keys=FOR_EVER) as database:
        assert reader.newest() == said["t"]
        t = database.transact("[[:db/add 1 :later 5]]", idempotency_key="mine").t
        used = {copy.entry.t: copy.entry.used for copy in reader.copied(0, t)}
    assert {each.key: t for t, each in used.items() if each is not None} == {**said["keys"], "mine": t}


def test_a_reader_does_not_make_what_is_missing(commit: str, folder: Path) -> None:
    def asked(ask: Callable[[sqlite3.Connection], Any]) -> Any:
        with closing(sqlite3.connect(folder / "log.sqlite")) as connection:
            return ask(connection)

    tables = "SELECT name FROM sqlite_master ORDER BY name"
    before = asked(lambda connection: connection.execute(tables).fetchall())
    with closing(Log.reading(folder / "log.sqlite", folder / "imported")) as log:
        log.files()
        list(log.copied(0, expected(commit)["t"]))
    assert asked(lambda connection: connection.execute(tables).fetchall()) == before


def test_a_file_without_tables_is_no_database_to_read(tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    sqlite3.connect(path).close()
    path.touch()
    with pytest.raises(AdalogError) as refused:
        opened_to_read(path, lambda _: Log.reading(path, tmp_path))
    assert refused.value.code is Code.BACKEND_UNAVAILABLE


KILLED = """
    import os, shutil, signal, sqlite3, sys
    from pathlib import Path
    import sqlalchemy as sa
    from adalog.store.log.log import Log

    data, copies = map(Path, sys.argv[1:])

    def killed_at(number, folder):
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            return os.WIFSIGNALED(status)
        done = 0

        def count(*_):
            nonlocal done
            done += 1
            if done > number:
                os.kill(os.getpid(), signal.SIGKILL)

        sa.event.listen(sa.Engine, "before_cursor_execute", count)
        sa.event.listen(sa.Engine, "commit", count)
        Log.in_file(folder / "log.sqlite", files_folder=folder / "imported").close()
        os._exit(0)

    for number in range(100):
        folder = copies / str(number)
        shutil.copytree(data, folder)
        if not killed_at(number, folder):
            print(number)
            break
"""


@pytest.mark.parametrize("commit", ["a1cfffb", "9a294b7"])
def test_one_that_is_killed_leaves_the_old_or_the_new(commit: str, folder: Path, tmp_path: Path) -> None:
    copies, said = tmp_path / "copies", expected(commit)
    copies.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), folder, copies],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    last = int(done.stdout)
    assert last > 8, "there are as many statements"
    formats = []
    for number in range(last):
        path = copies / str(number)
        formats.append(format_of(path))
        with closing(Log.in_file(path / "log.sqlite", FOR_EVER, path / "imported")) as log:
            used = {key: log.use_of(key, said["t"]) for key in KEYS}
        assert {key: None if use is None else use[0] for key, use in used.items()} == said["keys"], number
        if number in (0, last // 2, last - 1):
            with Database.open(str(path), keys=FOR_EVER) as database:
                check_keys(database, said)
                assert lines(database.at(history=True)) == said["history"], number
    assert set(formats) <= {0, LOG.newest}
    assert formats == sorted(formats)
    assert formats[0] == 0
