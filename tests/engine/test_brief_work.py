"""Brief work is done on the thread that asks for it; what turns out to be longer is begun again on another."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import numpy as np
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import Keyword
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.client import ASKING, Client
from adalog.executor.bounds.meter import Buckets
from adalog.executor.kernels.compiling import kernel
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.executor.turns.brief_work import BRIEF_COST
from adalog.executor.turns.lanes import Lane, LaneSlots
from adalog.executor.turns.scheduler import Scheduler
from adalog.executor.turns.submission import Turns
from adalog.store.database import Database


def looped(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The test in an event loop of its own."""

    @wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(test(*given, **named))

    return run


def there(_: Cancel) -> int:
    return threading.get_ident()


def computing(seconds: float) -> Callable[[Cancel], int]:
    def work(cancel: Cancel) -> int:
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            cancel.check()
        return threading.get_ident()

    return work


@pytest.fixture
def turns() -> Any:
    scheduler = Scheduler(LaneSlots(light=1, slice_seconds=1000.0))
    yield Turns(scheduler)
    scheduler.close()


@looped
async def test_what_was_brief_is_done_here(turns: Turns) -> None:
    here = threading.get_ident()
    assert await turns.threaded(Cancel(), there, name="a") != here
    assert await turns.threaded(Cancel(), there, name="a") == here
    assert await turns.threaded(Cancel(), there) != here
    assert await turns.threaded(Cancel(), there, name="another") != here
    assert await turns.threaded(Cancel(), there, BRIEF_COST, name="a") != here
    assert turns._scheduler.figures().lanes[Lane.LIGHT].started == 5


@looped
async def test_what_is_longer_is_begun_again(turns: Turns) -> None:
    here = threading.get_ident()
    await turns.threaded(Cancel(), there, name="a")
    began = time.thread_time()
    assert await turns.threaded(Cancel(), computing(0.1), name="a") != here
    assert time.thread_time() - began < 0.05
    # It is not tried here again before it has been brief for a while.
    assert await turns.threaded(Cancel(), there, name="a") != here
    for _ in range(20):
        await turns.threaded(Cancel(), there, name="a")
    assert await turns.threaded(Cancel(), there, name="a") == here


@looped
async def test_what_the_planner_expects_to_be_longer_is_begun_again(turns: Turns) -> None:
    here = threading.get_ident()
    await turns.threaded(Cancel(), there, name="a")

    def expected(cancel: Cancel) -> int:
        cancel.expect(BRIEF_COST)
        return threading.get_ident()

    assert await turns.threaded(Cancel(), expected, name="a") != here


@looped
async def test_what_computes_elsewhere_is_begun_again(turns: Turns) -> None:
    await turns.threaded(Cancel(), there, name="a")

    def away(cancel: Cancel) -> int:
        with cancel.away():
            return threading.get_ident()

    assert await turns.threaded(Cancel(), away, name="a") != threading.get_ident()


@looped
async def test_kernels_are_loaded_elsewhere(turns: Turns) -> None:
    @kernel
    def successor(number: int) -> int:
        return number + 1

    calls: list[int] = []

    def calling(number: float) -> Callable[[Cancel], float]:
        def work(_: Cancel) -> float:
            calls.append(threading.get_ident())
            return successor(number)  # type: ignore[arg-type]

        return work

    await turns.threaded(Cancel(), there, name="a")
    assert await turns.threaded(Cancel(), calling(1), name="a") == 2
    # Another type is another kernel.
    await turns.threaded(Cancel(), there, name="b")
    assert await turns.threaded(Cancel(), calling(1.5), name="b") == 2.5
    here = threading.get_ident()
    assert [each == here for each in calls] == [True, False, True, False]


@looped
async def test_nothing_goes_before_those_that_wait_or_run(turns: Turns) -> None:
    await turns.threaded(Cancel(), there, name="a")
    go_on, begun = threading.Event(), threading.Event()

    def held(_: Cancel) -> None:
        begun.set()
        go_on.wait(10)

    running = turns.submit(Cancel(), held)
    begun.wait(10)
    waiting = asyncio.ensure_future(turns.threaded(Cancel(), there, name="a"))
    await asyncio.sleep(0.01)
    assert not waiting.done()
    go_on.set()
    assert await waiting != threading.get_ident()
    running.result()


@looped
async def test_limits_hold_here(turns: Turns) -> None:
    await turns.threaded(Cancel(), there, name="a")

    def looking(cancel: Cancel) -> None:
        cancel.check()

    with pytest.raises(AdalogError) as late:
        await turns.threaded(Cancel(time.monotonic() - 1), looking, name="a")
    assert late.value.code is Code.TIMEOUT
    cancel = Cancel()
    cancel.cancel()
    with pytest.raises(AdalogError) as cancelled:
        await turns.threaded(cancel, looking, name="a")
    assert cancelled.value.code is Code.CANCELLED
    turns.stop()
    with pytest.raises(AdalogError) as stopped:
        await turns.threaded(Cancel(), there, name="a")
    assert stopped.value.code is Code.BACKEND_UNAVAILABLE


@looped
async def test_a_failure_is_the_work_s_own(turns: Turns) -> None:
    await turns.threaded(Cancel(), there, name="a")

    def failing(_: Cancel) -> int:
        raise ValueError(threading.get_ident())

    with pytest.raises(ValueError, match=str(threading.get_ident())):
        await turns.threaded(Cancel(), failing, name="a")


@looped
async def test_units_are_counted_here_and_when_it_is_begun_again(turns: Turns) -> None:
    buckets = Buckets(1.0, 1e9, 1, clock=lambda: 0.0)
    ASKING.set(Client("ada", 1, buckets.of("ada")))

    async def used(work: Callable[[Cancel], int]) -> float:
        before = buckets._level("ada", 0.0)
        await turns.threaded(Cancel(), work, name="a")
        return before - buckets._level("ada", 0.0)

    await used(there)
    assert 0 < await used(there) < 1e5
    # In units of 0.1 µs; both beginnings count.
    assert await used(computing(0.1)) > 1e6


@pytest.fixture(scope="module")
def hub() -> Any:
    """A graph in which nodes have ten neighbours, and one has a million."""
    count = 1_000_000
    with Database.open(":memory:") as database:
        database.transact("[{:db/ident :g/to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
        sources = np.concatenate([np.repeat(np.arange(1_001, 3_001), 10), np.full(count, 1_000)])
        targets = np.concatenate([np.tile(np.arange(1_001, 1_011), 2_000), np.arange(2_000, 2_000 + count)])
        database.bulk_load("[]", {Keyword("g/to"): (sources, targets)})
        pool = Pool(database)
        yield pool
        pool.close()


@looped
async def test_an_argument_that_is_dear_does_not_hold_up_others(hub: Pool) -> None:
    text = "[:find (count ?c) . :in $ ?a :where [?a :g/to ?b] [?b :g/to ?c]]"
    expected = {number: (await hub.arun(QueryRequest(text, (number,)))).rows() for number in (1_001, 1_000)}
    for number in range(1_010, 1_040):
        await hub.arun(QueryRequest(text, (number,)))
    started = time.thread_time()
    assert (await hub.arun(QueryRequest(text, (1_001,)))).rows() == expected[1_001]
    assert (await hub.arun(QueryRequest(text, (1_000,)))).rows() == expected[1_000]
    assert time.thread_time() - started < 0.04
