"""One computation for many waiters, whoever of them goes away."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.failure import emptied
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database

QUERY = "[:find (count ?e) . :where [?e :n ?v]]"
# Short, and yet long enough for another to join the flight on a machine that has much to do.
HASTY_MS = 1_000
RENAMED = "[:find (count ?x) . :where [?x :n ?y]]"


class Held(Pool):
    """A pool whose computations wait until they are let go, or cancelled; it counts them."""

    def __init__(self, database: Database, **more: Any) -> None:
        super().__init__(database, cache=CacheSettings(), **more)
        self.go = threading.Event()
        self.began = threading.Semaphore(0)
        self.stopped = threading.Semaphore(0)
        self.computed = 0
        self.cancelled = 0
        self.failing: AdalogError | None = None
        self._compute = self.engine.rows
        self.engine.rows = self._computed

    def _computed(self, question: Question, cancel: Cancel) -> Result:
        self.computed += 1
        self.began.release()
        try:
            while not self.go.wait(0.005):
                cancel.check()
        except AdalogError:
            self.cancelled += 1
            self.stopped.release()
            raise
        if self.failing is not None:
            raise self.failing
        return self._compute(question, cancel)


@pytest.fixture
def pool() -> Iterator[Held]:
    with Database.open(":memory:") as database:
        database.transact("[{:n 1} {:n 2} {:n 3}]")
        held = Held(database)
        try:
            yield held
        finally:
            held.go.set()
            held.close()


async def began(pool: Held) -> None:
    assert await asyncio.to_thread(pool.began.acquire, timeout=20)


async def asleep(pool: Held, waiting: int) -> None:
    """Until so many wait for one flight."""
    assert pool.cache is not None
    while pool.cache.tally.all()["query", "shared"] < waiting:  # noqa: ASYNC110 - counts have no event
        await asyncio.sleep(0)


def test_two_hundred_clients_ask_at_once(pool: Held) -> None:
    async def ask() -> list[Result]:
        clients = [asyncio.create_task(pool.arun(QueryRequest(QUERY))) for _ in range(200)]
        await began(pool)
        await asleep(pool, 199)
        pool.go.set()
        return await asyncio.gather(*clients)

    results = asyncio.run(ask())
    assert pool.computed == 1
    assert [result.rows() for result in results] == [[(3,)]] * 200
    assert [result.cache for result in results].count("MISS") == 1


def test_two_hundred_clients_of_a_pull(pool: Held) -> None:
    pool.go.set()

    async def ask() -> list[Result]:
        request = QueryRequest("[:find (pull ?e [:n]) :where [?e :n ?v]]", ordered=True)
        return await asyncio.gather(*(pool.arun(request) for _ in range(200)))

    results = asyncio.run(ask())
    assert pool.computed == 1
    assert len({repr(result.rows()) for result in results}) == 1
    # One joins, and one, perhaps another, pulls.
    assert [result.cache for result in results].count("MISS") in (1, 2)


def test_under_other_names_it_is_the_same_computation(pool: Held) -> None:
    async def ask() -> list[Result]:
        clients = [asyncio.create_task(pool.arun(QueryRequest(text))) for text in (QUERY, RENAMED)]
        await began(pool)
        await asleep(pool, 1)
        pool.go.set()
        return await asyncio.gather(*clients)

    results = asyncio.run(ask())
    assert pool.computed == 1
    assert [result.columns[0].name for result in results] == ["(count ?e)", "(count ?x)"]


def test_the_first_goes_away(pool: Held) -> None:
    async def ask() -> Result:
        first = asyncio.create_task(pool.arun(QueryRequest(QUERY)))
        await began(pool)
        second = asyncio.create_task(pool.arun(QueryRequest(QUERY)))
        await asleep(pool, 1)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        pool.go.set()
        return await second

    assert asyncio.run(ask()).rows() == [(3,)]
    assert (pool.computed, pool.cancelled) == (1, 0)


def test_the_first_ones_refusal_harms_nobody_who_begins_again(pool: Held) -> None:
    compute, joined = pool.engine.rows, threading.Event()
    refusals = iter([AdalogError(Code.RATE_LIMITED, "too much at once")])

    def rows(question: Question, cancel: Cancel) -> Any:
        for refusal in refusals:
            pool.began.release()
            joined.wait(20)
            raise refusal
        return compute(question, cancel)

    pool.engine.rows = rows  # type: ignore[assignment]

    async def refused() -> AdalogError:
        with pytest.raises(AdalogError, match="too much at once") as caught:
            await pool.arun(QueryRequest(QUERY))
        return caught.value

    async def ask() -> Result:
        first = asyncio.create_task(refused())
        await began(pool)
        second = asyncio.create_task(pool.arun(QueryRequest(QUERY)))
        await asleep(pool, 1)
        joined.set()
        refusal = await first
        await began(pool)
        # As is done where a field is answered with its error.
        emptied(refusal)
        pool.go.set()
        return await second

    assert asyncio.run(ask()).rows() == [(3,)]


def test_all_go_away(pool: Held) -> None:
    async def ask() -> None:
        clients = [asyncio.create_task(pool.arun(QueryRequest(QUERY))) for _ in range(5)]
        await began(pool)
        await asleep(pool, 4)
        for client in clients:
            client.cancel()
        await asyncio.gather(*clients, return_exceptions=True)
        assert await asyncio.to_thread(pool.stopped.acquire, timeout=20)

    asyncio.run(ask())
    assert pool.computed == 1
    assert pool.cache is not None
    assert len(pool.cache.memory) == 0
    pool.go.set()
    assert pool.run(QueryRequest(QUERY)).cache == "MISS"


def test_each_waits_no_longer_than_his_own_deadline(pool: Held) -> None:
    async def ask() -> Result:
        hasty = asyncio.create_task(pool.arun(QueryRequest(QUERY, timeout_ms=HASTY_MS)))
        await began(pool)
        patient = asyncio.create_task(pool.arun(QueryRequest(QUERY, timeout_ms=60_000)))
        await asleep(pool, 1)
        with pytest.raises(AdalogError) as caught:
            await hasty
        assert caught.value.code is Code.TIMEOUT
        assert not patient.done()
        pool.go.set()
        return await patient

    assert asyncio.run(ask()).rows() == [(3,)]
    assert pool.computed == 1


def test_a_timeout_in_the_text_is_its_own(pool: Held) -> None:
    async def ask() -> Result:
        hasty = asyncio.create_task(pool.arun(QueryRequest(QUERY[:-1] + f" :timeout {HASTY_MS}]")))
        await began(pool)
        patient = asyncio.create_task(pool.arun(QueryRequest(QUERY)))
        await asleep(pool, 1)
        with pytest.raises(AdalogError) as caught:
            await hasty
        assert caught.value.code is Code.TIMEOUT
        pool.go.set()
        return await patient

    assert asyncio.run(ask()).rows() == [(3,)]


def test_a_failure_is_everybodys_and_not_kept(pool: Held) -> None:
    pool.failing = AdalogError(Code.INTERNAL, "the disk is full")

    async def ask() -> list[Any]:
        clients = [asyncio.create_task(pool.arun(QueryRequest(QUERY))) for _ in range(20)]
        await began(pool)
        await asleep(pool, 19)
        pool.go.set()
        return await asyncio.gather(*clients, return_exceptions=True)

    errors = asyncio.run(ask())
    assert [str(error) for error in errors] == [str(pool.failing)] * 20
    assert pool.computed == 1
    assert pool.cache is not None
    assert len(pool.cache.memory) == 0
    pool.failing = None
    assert pool.run(QueryRequest(QUERY)).rows() == [(3,)]


def test_threads_share_a_computation_too(pool: Held) -> None:
    results: list[Result] = []
    threads = [threading.Thread(target=lambda: results.append(pool.run(QueryRequest(QUERY)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert pool.began.acquire(timeout=20)
    assert pool.cache is not None
    while pool.cache.tally.all()["query", "shared"] < 7:
        time.sleep(0)
    pool.go.set()
    for thread in threads:
        thread.join(20)
    assert pool.computed == 1
    assert [result.rows() for result in results] == [[(3,)]] * 8


def test_a_thread_that_is_cancelled_leaves_the_others_to_begin_again(pool: Held) -> None:
    flag, outcomes = Cancel(), []

    def cancelled() -> None:
        with pytest.raises(AdalogError) as caught:
            pool.run(QueryRequest(QUERY), flag)
        outcomes.append(caught.value.code)

    first = threading.Thread(target=cancelled)
    first.start()
    assert pool.began.acquire(timeout=20)
    second = threading.Thread(target=lambda: outcomes.append(pool.run(QueryRequest(QUERY)).rows()))
    second.start()
    assert pool.cache is not None
    while not pool.cache.tally.all()["query", "shared"]:
        time.sleep(0)
    flag.cancel()
    first.join(20)
    pool.go.set()
    second.join(20)
    assert outcomes == [Code.CANCELLED, [(3,)]]


def test_hits_need_no_place_in_the_queue() -> None:
    with Database.open(":memory:") as database:
        database.transact("[{:n 1} {:n 2} {:n 3}]")
        pool = Held(database, settings=PoolSettings(running=1, waiting=0))
        pool.go.set()

        async def ask() -> Result:
            await pool.arun(QueryRequest(QUERY))
            pool.go.clear()
            assert pool.began.acquire(timeout=20)
            busy = asyncio.create_task(pool.arun(QueryRequest("[:find ?v :where [_ :n ?v]]")))
            await began(pool)
            try:
                return await pool.arun(QueryRequest(QUERY))
            finally:
                pool.go.set()
                await busy

        assert asyncio.run(ask()).cache == "HIT"
        pool.close()
