"""A hold: transactions wait for one who changes the database in several steps, and not for ever."""

from __future__ import annotations

import threading
from concurrent.futures import TimeoutError as NotYet
from pathlib import Path

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.database import Database

ADA = '[{:person/name "Ada"}]'
BOB = '[{:person/name "Bob"}]'


def test_transactions_wait_and_queries_do_not(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact(ADA)
        with database.held(60) as hold:
            waiting = database.submit(BOB)
            assert hold.run(lambda: 1) == 1
            with pytest.raises(NotYet):
                waiting.result(0.01)
            assert database.snapshot().t == 1
            prepared = database.prepare([], hold)
            assert prepared.t == 2
        assert waiting.result(10).t == 2


def test_a_failing_step_is_the_holders(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database:
        with pytest.raises(ZeroDivisionError), database.held(60) as hold:
            hold.run(lambda: 1 // 0)
        assert database.transact(ADA).t == 1


def test_it_ends_by_itself(tmp_path: Path) -> None:
    with Database.open(str(tmp_path)) as database, database.held(0.05) as hold:
        # Waits until the writer is back.
        assert database.transact(ADA).t == 1
        with pytest.raises(AdalogError) as caught:
            hold.run(lambda: None)
        assert caught.value.code is Code.TIMEOUT
        assert "ADALOG_IMPORT_HOLD_SECONDS" in caught.value.message


def test_a_server_that_stops_waits_for_no_holder(tmp_path: Path) -> None:
    database = Database.open(str(tmp_path))
    held, go = threading.Event(), threading.Event()

    def hold() -> None:
        with database.held(60):
            held.set()
            assert go.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert held.wait(60)
        waiting = database.submit(ADA)
        database.writer.stop()
        with pytest.raises(AdalogError, match="the server is shutting down"):
            waiting.result(10)
    finally:
        go.set()
        holder.join()
        database.close()
