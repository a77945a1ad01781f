"""Processes on one folder take turns: a waiting process begins when the other one announces its append."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from adalog.store.database import Database
from adalog.store.log.notices import SocketNotices
from adalog.store.log.shared_log import SharedFileLog
from adalog.store.writer.request import TransactionRequest

LONG = 30.0


class _Came(threading.Event):
    """An event that shows when a thread waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_waited_for = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        self.is_waited_for.set()
        return super().wait(timeout)


def notices(database: Database) -> SocketNotices:
    assert isinstance(database.log, SharedFileLog)
    until = time.monotonic() + LONG
    while database.log._hint is None:
        assert time.monotonic() < until, "the process listens"
        database.looked().result(LONG)  # type: ignore[union-attr]
    return database.log._hint


def test_a_turn_begins_when_the_last_one_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without a notice it would look again in a minute.
    monkeypatch.setattr("adalog.store.log.shared_log._LOOK_SECONDS", (60.0, 60.0))
    folder = str(tmp_path)
    with Database.open(folder, shared=True) as one, Database.open(folder, shared=True) as other:
        one.transact('[{:person/name "Ada"}]')
        came = notices(other).came = _Came()
        with one.held(LONG) as hold:
            waiting = other.submit('[{:person/name "Grace"}]')
            assert came.is_waited_for.wait(LONG), "the other waits for its turn"
            appended = TransactionRequest('[{:person/name "Alan"}]')
            hold.run(lambda: one.writer._commit_group([appended]))
            assert appended.future.result(LONG).t == 2
            assert waiting.result(LONG).t == 3
