"""After an excision no file of the data folder has what went, whenever the process is killed."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from adalog.store.checkpoint import compactor
from adalog.store.checkpoint.checkpoint import Checkpoint
from adalog.store.checkpoint.compactor import Compactor
from adalog.store.database import Database
from adalog.store.log import scrubbing
from adalog.store.log.log import Log
from adalog.store.log.tables import SCRUBBED
from tests.property.excised_model import shown
from tests.store.writer.test_excision import EXCISE, SECRET, filled, holding
from tests.waiting import until


def test_no_file_has_it_soon_after(tmp_path: Path) -> None:
    with filled(tmp_path) as database:
        assert holding(tmp_path)
        database.transact(EXCISE)
        until(lambda: not holding(tmp_path))
        database.transact('[{:name "After"}]')
        assert database.log.faults() == []
    assert holding(tmp_path) == []


def test_files_that_are_held_go_and_their_readers_go_on(tmp_path: Path) -> None:
    with filled(tmp_path) as database:
        database.compact()
        before = database.snapshot()
        rows = shown(before)
        database.transact(EXCISE)
        until(lambda: not holding(tmp_path))
        assert shown(before) == rows
        assert shown(database.snapshot()) < rows


def test_a_log_of_before_is_written_anew_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with filled(tmp_path):
        pass
    with sqlite3.connect(tmp_path / "log.sqlite") as log:
        log.execute("PRAGMA application_id = 0")
    log.close()
    with Database.open(str(tmp_path)) as database:
        database.transact(EXCISE)
    log = sqlite3.connect(tmp_path / "log.sqlite")
    assert log.execute("PRAGMA application_id").fetchone() == (SCRUBBED,)
    log.close()
    assert holding(tmp_path) == []


def test_rows_that_fit_are_overwritten_where_they_are(tmp_path: Path) -> None:
    """A log is written anew only if a row got another size."""
    with Database.open(str(tmp_path)) as database:
        database.transact("[{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}]")
        long = " ".join(f":text/n{each} 7" for each in range(200))
        database.transact(f'[{{:email "ada@{SECRET}" {long}}} {{:name "Bob"}}]')
        stamp = database.log.engine.connect()
        database.transact(f'[{{:db/excise [:email "ada@{SECRET}"]}}]')
        assert stamp.exec_driver_sql("PRAGMA application_id").scalar_one() == SCRUBBED
        stamp.close()
        until(lambda: not holding(tmp_path))


KILLS: dict[str, tuple[object, str]] = {
    "before the fold": (Compactor, "_fold"),
    "before the checkpoint is saved": (Checkpoint, "save"),
    "before files are removed": (Compactor, "_sweep"),
    "before the log is scrubbed": (Log, "scrub"),
    "before the log is marked": (scrubbing, "_mark"),
}


def killed(folder: str, step: str) -> None:
    of, name = KILLS[step]
    monkey = pytest.MonkeyPatch()
    database = Database.open(folder)
    was = getattr(of, name)

    def kill(*args: object, **more: object) -> object:
        if database.snapshot().origin.excised:
            os.kill(os.getpid(), 9)
        return was(*args, **more)

    monkey.setattr(of, name, kill)
    database.transact(EXCISE)
    time.sleep(60)


@pytest.mark.parametrize("step", KILLS)
def test_a_process_that_is_killed_is_followed_by_one_that_cleans(tmp_path: Path, step: str) -> None:
    with filled(tmp_path / "it") as database:
        pass
    with filled(tmp_path / "other") as database:
        database.transact(EXCISE)
        expected = shown(database.snapshot())
    process = multiprocessing.get_context("spawn").Process(target=killed, args=(str(tmp_path / "it"), step))
    process.start()
    process.join(100)
    assert process.exitcode == -9
    with Database.open(str(tmp_path / "it")) as database:
        assert holding(tmp_path / "it") == []
        assert shown(database.snapshot()) == expected
    assert holding(tmp_path / "it") == []


def test_what_is_left_goes_before_a_database_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that cleans does not begin the same beside it, for then one would find the log busy."""
    with filled(tmp_path) as database:
        database.transact(EXCISE)
    scrub, at_work, overlap = Log.scrub, threading.Lock(), threading.Event()

    def alone(log: Log) -> bool:
        if not at_work.acquire(blocking=False):
            overlap.set()
            return False
        try:
            overlap.wait(0.3)
            return scrub(log)
        finally:
            at_work.release()

    monkeypatch.setattr(Log, "scrub", alone)
    with Database.open(str(tmp_path)):
        assert holding(tmp_path) == []
    assert not overlap.is_set()


def test_what_fails_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactor, "_LOOK_AGAIN_SECONDS", 0.05)
    scrub, times = Log.scrub, [0]

    def fails(log: Log) -> bool:
        times[0] += 1
        if times[0] == 1:
            raise OSError("the disk is full")
        return times[0] > 2 and scrub(log)

    monkeypatch.setattr(Log, "scrub", fails)
    with filled(tmp_path) as database:
        database.transact(EXCISE)
        until(lambda: not holding(tmp_path))
    assert times[0] >= 3
