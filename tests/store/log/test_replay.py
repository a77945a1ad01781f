"""A replay of the log says how far it is, makes checkpoints on the way, and can be ended; and clocks that jump."""

from __future__ import annotations

import gc
import logging
import re
import time
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.values import Keyword
from adalog.store.checkpoint import compactor, replay
from adalog.store.database import Database
from adalog.store.files import clock
from adalog.store.files.progress import OpeningStopped, Progress
from adalog.store.state.head import Head
from adalog.store.tries import relation
from tests.store.model import Model, check

COUNT = 60


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log without a checkpoint."""
    for module, name in ((compactor, "_LEAST"), (relation, "_LEAST")):
        monkeypatch.setattr(module, name, 10)
    path = tmp_path / "data"
    with Database.open(str(path)) as database:
        for number in range(COUNT):
            database.transact(f'[[:db/add "a" :n {number}] [:db/add 1 :name "name {number}"]]')
    assert not (path / "checkpoint.json").exists()
    return path


class KilledError(BaseException):
    """The process ends here, so to speak."""


def killed_at(monkeypatch: pytest.MonkeyPatch, last: int) -> None:
    original = Head.replay

    def replayed(head: Head, t: int, *rest: Any) -> None:
        if t > last:
            raise KilledError
        original(head, t, *rest)

    monkeypatch.setattr(Head, "replay", replayed)


def opened(folder: Path) -> tuple[Database, Progress]:
    progress = Progress()
    return Database.open(str(folder), progress=progress), progress


def test_what_was_replayed_before_a_kill_is_not_replayed_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replay, "_APART_SECONDS", 0.0)
    monkeypatch.setattr(replay, "_APART", 0.0)
    before = 0
    for last in (20, 40):
        with monkeypatch.context() as patched:
            killed_at(patched, last)
            progress = Progress()
            with pytest.raises(KilledError):
                Database.open(str(folder), progress=progress)
            assert (progress.transactions, progress.of_transactions) == (last - before, COUNT - before)
            before = last
    database, progress = opened(folder)
    with database:
        assert (progress.transactions, progress.of_transactions) == (COUNT - 40, COUNT - 40)
        model = Model()
        for report in database.transactions(1, COUNT + 1, COUNT):
            model.told(report)
        check(database.snapshot(), model)
        assert database.transact('[[:db/add "a" :n 0]]').t == COUNT + 1
    # Files of checkpoints that others have taken the place of are gone, once nobody here holds them.
    del database
    gc.collect()
    with opened(folder)[0] as database:
        named = database.compactor.named
        assert named is not None
        assert {path.name for path in (folder / "segments").iterdir()} == set(named)


def test_a_short_replay_makes_no_checkpoint(folder: Path) -> None:
    opened(folder)[0].close()
    assert not (folder / "checkpoint.json").exists()


def test_a_disk_that_is_full_does_not_end_a_replay(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(replay, "_APART_SECONDS", 0.0)
    monkeypatch.setattr(replay, "_APART", 0.0)
    monkeypatch.setattr(compactor, "save_deltas", full)
    database, progress = opened(folder)
    with database:
        assert database.snapshot().t == progress.transactions == COUNT
        assert "no checkpoint was made" in caplog.text


def test_how_far_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress, told = Progress(), []
    original = Head.replay

    def replayed(head: Head, t: int, *rest: Any) -> None:
        told.append(str(progress))
        original(head, t, *rest)

    monkeypatch.setattr(Head, "replay", replayed)
    assert str(progress) == "opening the checkpoint"
    with Database.open(str(folder), progress=progress) as database:
        assert told[0] == f"replaying the log: {COUNT} transactions"
        assert re.fullmatch(r"replaying the log: 12\d of about 2\d\d datoms, about \d+ s left", told[30])
        reports = list(database.transactions(1, COUNT + 1, COUNT))
        assert progress.datoms == progress.of_datoms == sum(len(report.datoms) for report in reports)


def test_an_opening_that_is_not_wanted_any_more(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress()
    original = Head.replay

    def replayed(head: Head, t: int, *rest: Any) -> None:
        if t == 20:
            progress.stop()
        original(head, t, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(Head, "replay", replayed)
        with pytest.raises(OpeningStopped):
            Database.open(str(folder), progress=progress)
    assert progress.transactions == 20
    # Nobody has it any more.
    opened(folder)[0].close()


def test_a_clock_that_jumped_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = time.time
    ahead = 3600.0
    monkeypatch.setattr(time, "time", lambda: real() + ahead)
    with Database.open(str(tmp_path)) as database:
        database.transact("[[:db/add 1 :n 1]]")
        assert database.clock.behind == 0
    assert not caplog.records
    ahead = 0.0
    with caplog.at_level(logging.WARNING, "adalog.store"), Database.open(str(tmp_path)) as database:
        (said,) = (record.message for record in caplog.records)
        found = re.match(r"the clock is (\d+) s behind the last transaction", said)
        assert found is not None
        assert int(found[1]) > 3500
        assert database.clock.behind > 3500
        first = database.tx_instant(1)
        for number in range(5):
            report = database.transact(f"[[:db/add 1 :n {number}]]")
            assert database.tx_instant(report.t) == first
        assert len(caplog.records) == 1, "once a minute"
        monkeypatch.setattr(clock, "_APART_SECONDS", 0.0)
        database.transact("[[:db/add 1 :n 7]]")
        assert len(caplog.records) == 2
        ahead = 3700.0
        report = database.transact("[[:db/add 1 :n 8]]")
        assert database.clock.behind == 0
        assert "has caught up" in caplog.records[-1].message
        assert database.snapshot().attribute(Keyword("n")) is not None
