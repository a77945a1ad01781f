"""Which files a data folder has: those that somebody needs, and no others."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.store.checkpoint import compactor
from adalog.store.checkpoint.checkpoint import Checkpoint
from adalog.store.database import Database
from adalog.store.files import segment as segments
from adalog.store.files.folder import Folder
from adalog.store.log.file_appends import FileAppends
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries import relation

N = Keyword("n")


@pytest.fixture(autouse=True)
def folds_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """And then of everything, into runs as soon as there is a base."""
    monkeypatch.setattr(compactor, "_ENOUGH", 10**9)
    monkeypatch.setattr(compactor, "_LEAST", 1)
    monkeypatch.setattr(relation, "_LEAST", 4)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path)) as opened:
        grow(opened, 0, 40)
        yield opened


def grow(database: Database, start: int, stop: int) -> None:
    database.transact(f"[{' '.join(f'[:db/add {i + 1} :n {i}]' for i in range(start, stop))}]")
    database.compact()


def present(database: Database) -> set[str]:
    return {path.name for path in folder(database).segments.iterdir()}


def named(database: Database) -> set[str]:
    checkpoint = Checkpoint.load(folder(database))
    assert checkpoint is not None
    return checkpoint.files()


def folder(database: Database) -> Folder:
    assert database._folder is not None
    return database._folder


def values(snapshot: Snapshot) -> list[int]:
    attribute = snapshot.attribute(N)
    assert attribute is not None
    return sorted(snapshot.columns(attribute).v.tolist())


def test_what_folds_replace_is_gone(database: Database) -> None:
    seen = set()
    for i in range(40, 80):
        grow(database, i, i + 1)
        assert present(database) == named(database)
        seen |= named(database)
    assert any(name.startswith("run-") for name in seen)
    assert len(seen) > 3 * len(present(database))
    assert values(database.snapshot()) == list(range(80))


def test_an_open_snapshot_keeps_its_files(database: Database) -> None:
    held = database.snapshot()
    mine = named(database)
    for i in range(40, 120, 8):
        grow(database, i, i + 8)
    kept = {name for name in mine if name.startswith("attribute-")}
    assert kept - named(database)
    assert kept <= present(database)
    elsewhere = Snapshot.from_manifest(pickle.loads(pickle.dumps(held.manifest())))
    assert values(held) == values(elsewhere) == list(range(40))
    del held, elsewhere
    gc.collect()
    database.compactor.make_room()
    assert present(database) == named(database)


def test_readers_of_old_snapshots_while_folds_replace_their_files(database: Database) -> None:
    stop, failures, looked = threading.Event(), [], 0

    def read() -> None:
        nonlocal looked
        held = []
        while not stop.is_set():
            snapshot = database.snapshot()
            held = [*held[-6:], (snapshot, len(values(snapshot)))]
            for each, count in held:
                found = values(each.as_of(each.t))
                if found != list(range(count)):
                    failures.append((each.t, count, found))
            looked += 1

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for i in range(40, 160, 3):
        grow(database, i, i + 3)
    stop.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert looked > 10


HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "rb")
fcntl.flock(file, fcntl.LOCK_SH)
print("held", flush=True)
sys.stdin.read()
"""


def test_another_process_keeps_a_file_until_it_ends_however_that_is(database: Database) -> None:
    name = max(each for each in named(database) if each.startswith("attribute-"))
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder(database).segments / name)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        for i in range(40, 120, 8):
            grow(database, i, i + 8)
        assert present(database) == named(database) | {name}
        process.kill()
    database.compactor.make_room()
    assert present(database) == named(database)


def test_while_the_folder_is_copied_nothing_goes(database: Database) -> None:
    before = present(database)
    descriptor = os.open(folder(database).segments, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    for i in range(40, 120, 8):
        grow(database, i, i + 8)
    assert before < present(database)
    os.close(descriptor)
    database.compactor.make_room()
    assert present(database) == named(database)


def test_opening_removes_what_nothing_names(tmp_path: Path, database: Database) -> None:
    database.close()
    for stray in ("attribute-7-9-00000000.seg", ".young-3.tmp"):
        (tmp_path / "segments" / stray).write_bytes(b"half a file")
    with Database.open(str(tmp_path)) as again:
        assert present(again) == named(again)
        assert values(again.snapshot()) == list(range(40))


def test_beside_a_checkpoint_that_cannot_be_read_nothing_is_removed(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as first:
        grow(first, 0, 40)
        before = present(first)
    del first
    gc.collect()
    (tmp_path / "checkpoint.json").write_text("{")
    with Database.open(str(tmp_path)) as again:
        assert present(again) == before
        grow(again, 40, 48)
        assert present(again) == named(again)
        assert values(again.snapshot()) == list(range(48))


@pytest.mark.parametrize("lost", [("log.sqlite",), ("log.sqlite", "checkpoint.json")])
def test_a_folder_that_lost_its_log_is_refused(tmp_path: Path, database: Database, lost: tuple[str, ...]) -> None:
    database.close()
    for name in lost:
        (tmp_path / name).unlink()
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(AdalogError, match=r"has segments.*, but its log log\.sqlite is gone") as refused:
        Database.open(str(tmp_path))
    assert refused.value.code is Code.INTERNAL
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["importing", "imported", "segments"])
def test_files_of_others_in_a_folder_of_that_name_stay(tmp_path: Path, name: str) -> None:
    """A folder of tables that were imported, say, by somebody else's hands."""
    theirs = tmp_path / name / "people.csv"
    theirs.parent.mkdir()
    theirs.touch()
    with pytest.raises(AdalogError, match=f"has {name}, but its log log.sqlite is gone, or it never was adalog's"):
        Database.open(str(tmp_path))
    assert theirs.exists()


def fail_when_garbage_is_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = FileAppends.commit

    def committed(self: FileAppends, driver: sqlite3.Connection) -> None:
        if path.exists():
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        commit(self, driver)

    monkeypatch.setattr(FileAppends, "commit", committed)


def test_on_a_full_disk_the_stores_own_garbage_goes_first(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = folder(database).segments / "run-7-9-00000000.seg"
    stray.write_bytes(b"what a fold left that the process did not survive")
    fail_when_garbage_is_left(stray, monkeypatch)
    t = database.snapshot().t
    assert database.transact("[[:db/add 1000 :n 1000]]").t == t + 1
    assert not stray.exists()


def test_on_a_full_disk_without_garbage_it_is_refused(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_when_garbage_is_left(folder(database).path, monkeypatch)
    with pytest.raises(AdalogError, match="disk is full") as refused:
        database.transact("[[:db/add 1000 :n 1000]]")
    assert refused.value.retryable
    assert values(database.snapshot()) == list(range(40))


@pytest.mark.parametrize("stage", range(1, 5))
def test_a_fold_that_fails_leaves_nothing(database: Database, monkeypatch: pytest.MonkeyPatch, stage: int) -> None:
    before, writes = present(database), 0
    fsync = os.fsync

    def full(descriptor: int) -> None:
        nonlocal writes
        writes += 1
        if writes >= stage:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(segments.os, "fsync", full)
        grow(database, 40, 48)
    assert writes >= stage
    assert present(database) == before == named(database)
    assert values(database.snapshot()) == list(range(48))
    grow(database, 48, 56)
    assert present(database) == named(database) != before


FOLDER = """
import os, signal, sys
from adalog.store.checkpoint import compactor
from adalog.store.tries import relation
from adalog.store.files import segment
from adalog.store.database import Database

compactor._ENOUGH, compactor._LEAST, relation._LEAST = 10**9, 1, 4
database, stage, step = Database.open(sys.argv[1]), int(sys.argv[2]), 0

def reached(*_, **__):
    global step
    step += 1
    if step == stage:
        os.kill(os.getpid(), signal.SIGKILL)

def watched(work):
    def call(*given, **named):
        reached()
        result = work(*given, **named)
        reached()
        return result
    return call

os.fsync, os.unlink = watched(os.fsync), watched(os.unlink)
start = int(sys.argv[3])
for i in range(start, start + 12, 4):
    database.transact("[" + " ".join(f"[:db/add {k + 1} :n {k}]" for k in range(i, i + 4)) + "]")
    database.compact()
print("finished", flush=True)
"""


def looked_at(path: Path) -> int:
    """How many values there are, in a folder that is as it should be."""
    gc.collect()
    with Database.open(str(path)) as database:
        held = values(database.snapshot())
        assert held == list(range(len(held)))
        assert present(database) == named(database)
        return len(held)


def test_a_kill_at_any_step_of_a_fold_loses_nothing(tmp_path: Path) -> None:
    """Each round goes on from where the one before was killed, until a round is not reached by any kill."""
    with Database.open(str(tmp_path)) as database:
        grow(database, 0, 24)
    # Its files are held until it goes.
    del database
    stage, finished = 1, False
    while not finished:
        held = looked_at(tmp_path)
        done = subprocess.run(
            [sys.executable, "-c", FOLDER, str(tmp_path), str(stage), str(held)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        finished = done.stdout == "finished\n"
        stage += 11
    assert stage > 30
