"""A subscriber that checks what it is told: its rows are what the query answers afresh at each event's moment."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import identity
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.live.hub.hub import Hub
from adalog.executor.live.settings import LiveSettings
from adalog.executor.live.subscribers.changes import Changes, LiveChange
from adalog.executor.live.subscribers.event import EventKind
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database

T = TypeVar("T")
Row = tuple[Hashable, ...]
# PROGRESS comes so often that a test can wait for a moment to be reached.
QUICK = LiveSettings(progress_seconds=0.02)


@contextmanager
def hub_over(database: Database, **settings: Any) -> Iterator[Hub]:
    """A hub with a pool of its own."""
    pool = Pool(database)
    try:
        with Hub(pool, replace(QUICK, **settings)) as hub:
            yield hub
    finally:
        pool.close()


def afresh(database: Database, pool: Pool, query: str, args: tuple[Any, ...], t: int) -> frozenset[Row]:
    """What the query answers at a moment."""
    result = pool.run(QueryRequest(query, args, database.at(t=t), ordered=True))
    return frozenset(tuple(map(identity, row)) for row in result.rows())


class Reader:
    """Applies what it is told, and refuses what no stream may say."""

    def __init__(
        self, database: Database, pool: Pool, query: str, args: tuple[Any, ...] = (), **begin: Any
    ) -> None:
        self.database, self.pool, self.query, self.args = database, pool, query, args
        self.rows: set[Row] = set()
        self.whole = "resume" in begin and begin["resume"] is not None
        self.t = -1
        self.resume: str | None = None
        self.seen: list[LiveChange] = []
        self.changes: Changes = database.live(query, *args, **begin)  # type: ignore[assignment]

    def read(self) -> LiveChange:
        """The next event, applied and checked."""
        change = next(self.changes)
        self.apply(change)
        return change

    def apply(self, change: LiveChange) -> None:
        where = (self.query, self.args, change)
        assert change.basis_t >= self.t, where
        if change.kind is EventKind.RESET:
            self.rows, self.whole = set(), False
        elif change.kind is EventKind.SNAPSHOT:
            assert change.rows is not None
            assert not self.whole, ("a snapshot within a stream", where)
            rows = [tuple(map(identity, row)) for row in change.rows]
            assert self.rows.isdisjoint(rows), where
            assert len(set(rows)) == len(rows), where
            self.rows |= set(rows)
            self.whole = bool(change.last)
        elif change.kind is EventKind.DELTA:
            assert self.whole, ("a change within a snapshot", where)
            self._change(change, where)
        self.t, self.resume = change.basis_t, change.resume
        self.seen.append(change)
        if self.whole and self.may_check():
            expected = afresh(self.database, self.pool, self.query, self.args, self.t)
            # Another thread may have gone on meanwhile.
            is_equal = self.rows == expected or not self.may_check()
            assert is_equal, (where, "missing", expected - self.rows, "too many", self.rows - expected)

    def _change(self, change: LiveChange, where: object) -> None:
        assert change.added is not None
        assert change.retracted is not None
        added, gone = ([tuple(map(identity, row)) for row in rows] for rows in (change.added, change.retracted))
        assert added or gone, ("an empty change", where)
        assert len(set(added)) == len(added), where
        assert len(set(gone)) == len(gone), where
        assert not set(added) & set(gone), ("added and retracted", where)
        assert self.rows.isdisjoint(added), ("added again", where)
        assert self.rows.issuperset(gone), ("retracted and never there", where)
        self.rows = (self.rows - set(gone)) | set(added)

    def may_check(self) -> bool:
        """Whether what the query answers at the reader's moment is still what it was then."""
        return True

    def until(self, t: int) -> None:
        """Reads until the state after a transaction is known."""
        while self.t < t or not self.whole:
            self.read()

    def kinds(self) -> list[str]:
        """What it was told, without PROGRESS."""
        return [change.kind.value for change in self.seen if change.kind is not EventKind.PROGRESS]

    def close(self) -> None:
        self.changes.close()


class NewestReader(Reader):
    """One that compares the newest moment alone: an excision changes those before it."""

    def may_check(self) -> bool:
        return self.t == self.database.snapshot().t


class HeldPool:
    """Keeps the work that a pool is given until it is let go. `heavy`: nothing but that is let through."""

    def __init__(self, pool: Pool, heavy: float = math.inf) -> None:
        self._submit = pool.submit
        self._heavy = heavy
        self.held: list[tuple[Future[Any], Cancel, Callable[[Cancel], Any], float]] = []
        self.is_open = False
        pool.submit = self.submit  # type: ignore[method-assign]

    def submit(self, cancel: Cancel, work: Callable[[Cancel], Any], cost: float = 0.0) -> Future[Any]:
        if self.is_open or cost >= self._heavy:
            return self._submit(cancel, work, cost)
        outcome: Future[Any] = Future()
        self.held.append((outcome, cancel, work, cost))
        return outcome

    def let_go(self) -> None:
        """Has it done, and what comes from now on."""
        self.is_open = True
        while self.held:
            outcome, cancel, work, cost = self.held.pop(0)
            self._submit(cancel, work, cost).add_done_callback(partial(_passed_on, outcome))


def _passed_on(outcome: Future[Any], done: Future[Any]) -> None:
    if done.cancelled():
        outcome.cancel()
    elif (error := done.exception()) is not None:
        outcome.set_exception(error)
    else:
        outcome.set_result(done.result())


def is_cancelled(cancel: Cancel) -> bool:
    """Whether the work with this flag is to end."""
    try:
        cancel.check()
    except AdalogError:
        return True
    return False


def on_hub(hub: Hub, work: Callable[[], T]) -> T:
    """What something gives on the hub's thread, after all that was queued before."""
    outcome: Future[T] = Future()

    def job() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    hub._jobs.put(job)
    return outcome.result()


@contextmanager
def together(database: Database) -> Iterator[None]:
    """What is submitted within is committed as one group."""
    gate = threading.Event()

    def wait(*_: object) -> None:
        gate.wait()

    database.add_listener(wait)
    database.submit("[]")
    try:
        yield
    finally:
        gate.set()
        database.submit("[]").result()
        database.remove_listener(wait)


def eventually(hub: Hub, holds: Callable[[], bool]) -> None:
    """Waits until something holds on the hub's thread; the test's time limit ends a wait in vain."""
    done = threading.Event()

    def look() -> None:
        if holds():
            done.set()
        else:
            hub._jobs.put(look)

    hub._jobs.put(look)
    done.wait()
