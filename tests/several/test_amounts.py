"""Bytes that are for all workers of a server: one may have what the others leave."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.budget import Memory
from adalog.executor.live.hub.memory import LiveMemory, MemoryShare
from adalog.executor.pool import Pool
from adalog.gateway.app import create_app
from adalog.gateway.connections.wire import Wire
from adalog.gateway.settings.config import Settings
from adalog.gateway.workers.board import AMOUNTS, Board
from adalog.gateway.workers.workers import Workers
from adalog.schema.request.budget import Responses
from adalog.store.database import Database
from tests.gateway.bounds import bounded
from tests.gateway.support import InProcess

MIB = 1 << 20
WORKERS = 3


@pytest.fixture
def boards() -> list[Board]:
    """The supervisor's, and those of its workers."""
    board = Board(WORKERS)
    return [board, *(Board(WORKERS, os.dup(board.descriptor)) for _ in range(WORKERS))]


def test_a_query_may_hold_half_of_all_whatever_there_are_of_workers(boards: list[Board]) -> None:
    memories = [Memory(100 * MIB) for _ in range(WORKERS)]
    for number, memory in enumerate(memories):
        memory.beside = boards[1 + number].beside(number, "memory")
    large, other, third = (memory.budget() for memory in memories)
    large.take(50 * MIB)
    with pytest.raises(AdalogError) as refused:
        large.take(MIB)
    assert refused.value.code is Code.LIMIT_EXCEEDED
    other.take(35 * MIB)
    with pytest.raises(AdalogError) as refused:
        third.take(20 * MIB)
    assert (refused.value.code, refused.value.retryable) == (Code.RATE_LIMITED, True)
    large.close()
    third.take(20 * MIB)


def test_what_a_killed_worker_held_is_free(boards: list[Board]) -> None:
    memories = [Memory(100 * MIB) for _ in range(2)]
    for number, memory in enumerate(memories):
        memory.beside = boards[1 + number].beside(number, "memory")
    boards[1].wrote(0, 7)
    killed, other = (memory.budget() for memory in memories)
    killed.take(50 * MIB)
    other.take(35 * MIB)
    again = memories[1].budget()
    with pytest.raises(AdalogError):
        again.take(10 * MIB)
    boards[0].forget(0)
    again.take(10 * MIB)
    assert boards[2].newest == 7, "what it has answered stays"


def test_a_response_may_be_as_long_as_with_one_worker(boards: list[Board]) -> None:
    responses = [Responses(256 * MIB) for _ in range(WORKERS)]
    for number, each in enumerate(responses):
        each.beside = boards[1 + number].beside(number, "responses")
    responses[0].draw("ann", 64 * MIB)
    # Whoever reads none of them has half of what is left, and half of that.
    responses[0].draw("ann", 64 * MIB)
    responses[1].draw("ann", 64 * MIB)
    for each in responses:
        with pytest.raises(AdalogError):
            each.draw("ann", 64 * MIB)
    responses[2].draw("ben", 16 * MIB)
    responses[0].put_back("ann", 64 * MIB)
    responses[2].draw("ben", 40 * MIB)


def test_a_live_query_likewise(boards: list[Board]) -> None:
    holdings = [LiveMemory(100) for _ in range(2)]
    for number, each in enumerate(holdings):
        each.beside = boards[1 + number].beside(number, "live")
    large = MemoryShare(holdings[0], 50)
    small = MemoryShare(holdings[1], 45)
    with pytest.raises(AdalogError):
        small.become(50 + 1)
    with pytest.raises(AdalogError):
        MemoryShare(holdings[0], 6)
    del large
    assert MemoryShare(holdings[1], 50).nbytes == 50


class _Body:
    """A connection that is receiving one."""

    address, held, since, is_receiving, transport = "127.0.0.1", 0, 0.0, True, None
    refused = False

    def refuse(self, _: object) -> None:
        self.refused = True


def test_bodies_fill_what_the_others_leave_and_an_nth_is_always_there(
    boards: list[Board], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = bounded(monkeypatch, data="x", workers=WORKERS, bodies_bytes=90)
    wires = [Wire(settings) for _ in range(2)]
    for number, wire in enumerate(wires):
        wire.beside = boards[1 + number].beside(number, "bodies")
    first, second = _Body(), _Body()
    wires[0].connections.add(first)  # type: ignore[arg-type]
    wires[1].connections.add(second)  # type: ignore[arg-type]
    wires[0].hold(first, 80)  # type: ignore[arg-type]
    wires[1].hold(second, 30)  # type: ignore[arg-type]
    assert (first.refused, second.refused) == (False, False)
    wires[1].hold(second, 1)  # type: ignore[arg-type]
    assert (first.refused, second.refused) == (False, True)
    wires[0].release(first)  # type: ignore[arg-type]
    second.refused = False
    wires[1].hold(second, 80)  # type: ignore[arg-type]
    assert not second.refused


class _Post:
    """A worker's end of no channel."""

    def __init__(self, number: int, board: Board) -> None:
        self.number, self.board, self.workers = number, board, WORKERS


@contextmanager
def worker(number: int, board: Board) -> Iterator[InProcess]:
    """The application of one worker, asked within this process."""
    with (
        pytest.MonkeyPatch.context() as patch,
        Database.open(":memory:") as database,
        closing(Pool(database)) as pool,
    ):
        settings = bounded(patch, workers=WORKERS, rate_units=0.001, rate_burst_units=20_000)
        app = create_app(database, pool, settings, workers=Workers(_Post(number, board)))  # type: ignore[arg-type]
        with app.state.hub, closing(InProcess(app)) as client:
            yield client


def test_the_application_shares_rates_and_memory(boards: list[Board]) -> None:
    ask = {"json": {"query": "{ __typename }"}}
    with worker(0, boards[1]) as first, worker(1, boards[2]) as second:
        # Each costs 1,000 units.
        answers = [each.post("/graphql", **ask).status_code for _ in range(11) for each in (first, second)]
        assert Counter(answers) == {200: 20, 429: 2}
    with Database.open(":memory:") as database, closing(Pool(database)) as pool:
        app = create_app(database, pool, Settings(data=":memory:"), workers=Workers(_Post(0, boards[1])))  # type: ignore[arg-type]
        pool.memory.draw(5)
        app.state.wire.beside.tell(7)
        assert [boards[2].beside(1, name).others() for name in ("memory", "bodies")] == [5, 7]


def test_each_amount_is_its_own(boards: list[Board]) -> None:
    for size, name in enumerate(AMOUNTS, 1):
        boards[1].beside(0, name).tell(size)
    assert [boards[2].beside(1, name).others() for name in AMOUNTS] == [1, 2, 3, 4, 5]
    assert boards[1].beside(0, "memory").others() == 0
