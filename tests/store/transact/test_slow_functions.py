"""A transaction whose stored queries are slow waits for itself; the queue of transactions is bounded."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.settings import Watch


class Slow:
    """An evaluator that has no answer in the writer's time; what is put aside is done when the test says so."""

    def __init__(self) -> None:
        self.aside_work: queue.SimpleQueue[tuple[Callable[[Any], None], Future[None]]] = queue.SimpleQueue()
        self.evaluated = 0
        self.marks = True

    def rows(
        self, query: str, args: Sequence[Any], snapshot: Snapshot, until: float, watch: Watch | None
    ) -> list[tuple[Any, ...]]:
        self.evaluated += 1
        return [(args[0],)]

    def mark(self, query: str, args: Sequence[Any], snapshot: Snapshot) -> bytes | None:
        return b"it reads nothing" if self.marks else None

    def aside(self, work: Callable[[Any], None], until: float) -> Future[None]:
        future: Future[None] = Future()
        self.aside_work.put((work, future))
        return future

    def try_aside(self) -> None:
        """Does what is put aside next."""
        work, future = self.aside_work.get(timeout=20)
        work(None)
        future.set_result(None)


FUNCTION = '[{:db/ident :my/slow :db/fn "[:find ?form . :in $ ?form]"} {:n/v 0}]'
CALL = "[[:my/slow [:db/add 1 :n/v 7]]]"


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def database(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr("adalog.store.writer.writer._BRIEF", 0.0)
    monkeypatch.setattr("adalog.store.writer.writer._HELD", 0.0)
    with Database.open(":memory:") as opened:
        opened.transact(FUNCTION)
        opened.evaluate_with(slow)
        yield opened


def test_others_go_on_while_a_function_is_slow(database: Database, slow: Slow) -> None:
    calling = database.submit(CALL)
    work, future = slow.aside_work.get(timeout=20)
    assert [database.transact("[{:n/v 1}]").t for _ in range(3)] == [2, 3, 4]
    assert not calling.done()
    work(None)
    future.set_result(None)
    report = calling.result(20)
    assert report.t == 5
    assert 7 in [datom.v for datom in report.datoms]
    assert slow.evaluated == 1


def test_where_what_it_reads_has_changed_it_is_tried_again(database: Database, slow: Slow) -> None:
    slow.marks = False
    calling = database.submit(CALL)
    work, future = slow.aside_work.get(timeout=20)
    work(None)
    database.transact("[{:n/v 1}]")
    future.set_result(None)
    slow.try_aside()
    assert calling.result(20).t == 3
    assert slow.evaluated == 2


def test_not_for_ever(database: Database, slow: Slow) -> None:
    slow.marks = False
    calling = database.submit(CALL)
    for _ in range(2):
        work, future = slow.aside_work.get(timeout=20)
        work(None)
        database.transact("[{:n/v 1}]")
        future.set_result(None)
    with pytest.raises(AdalogError) as caught:
        calling.result(20)
    assert (caught.value.code, caught.value.retryable) == (Code.TIMEOUT, True)


def test_a_refusal_aside_is_the_transactions(database: Database, slow: Slow) -> None:
    calling = database.submit(CALL)
    _, future = slow.aside_work.get(timeout=20)
    future.set_exception(AdalogError(Code.RATE_LIMITED, "too many", retry_after=3))
    with pytest.raises(AdalogError, match="too many"):
        calling.result(20)


def test_the_queue_is_bounded(database: Database, slow: Slow) -> None:
    database._setting.waiting = 2
    calling = [database.submit(CALL) for _ in range(2)]
    with pytest.raises(AdalogError) as caught:
        database.submit("[{:n/v 1}]")
    assert (caught.value.code, caught.value.retry_after) == (Code.RATE_LIMITED, 1)
    for _ in calling:
        slow.try_aside()
    assert sorted(each.result(20).t for each in calling) == [2, 3]
    assert database.transact("[{:n/v 1}]").t == 4
