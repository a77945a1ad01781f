"""Work for subscribers among other work: who gets how many places of the pool, and who gives them back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.client import ASKING, Client
from adalog.executor.live.hub.pool_jobs import PoolJob, PoolJobs, Purpose
from adalog.executor.live.subscribers.event import EventKind
from adalog.store.database import Database
from tests.live.following import HeldPool, Reader, eventually, hub_over, is_cancelled, on_hub

NAMES = "[:find ?name :where [?e :name ?name]]"
OLDER = "[:find ?name :in $ ?least :where [?e :name ?name] [?e :age ?age] [(>= ?age ?least)]]"


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        opened.transact('[{:name "Ada" :age 36} {:name "Grace" :age 85}]')
        yield opened


class NoPool:
    """Notes for whom it is to work."""

    def __init__(self) -> None:
        self.out: list[tuple[str, Future[Any]]] = []

    def submit(self, cancel: Cancel, work: Callable[[Cancel], Any], cost: float = 0.0) -> Future[Any]:
        outcome: Future[Any] = Future()
        self.out.append((ASKING.get().principal, outcome))
        return outcome

    def took(self) -> str:
        """Those whose work it has, in the order in which it came."""
        return "".join(principal for principal, _ in self.out)

    def done(self, principal: str) -> None:
        """Ends some work of a principal."""
        place = next(i for i, (each, _) in enumerate(self.out) if each == principal)
        self.out.pop(place)[1].set_result(None)


@pytest.fixture
def pool() -> NoPool:
    return NoPool()


@pytest.fixture
def errands(pool: NoPool) -> PoolJobs:
    return PoolJobs(pool, lambda job: job(), 60_000)  # type: ignore[arg-type]


def send(errands: PoolJobs, principal: str, purpose: Purpose, count: int) -> list[PoolJob[Any]]:
    sent: list[PoolJob[Any]] = [
        PoolJob(Client(principal), lambda cancel: None, lambda result, error: None, purpose=purpose)
        for _ in range(count)
    ]
    for each in sent:
        errands.send(each)
    return sent


def test_a_principal_has_a_share_of_the_places(errands: PoolJobs, pool: NoPool) -> None:
    send(errands, "a", Purpose.ANSWER, 20)
    assert pool.took() == "a" * 8
    send(errands, "b", Purpose.ANSWER, 20)
    assert pool.took() == "a" * 8 + "b" * 4
    for _ in range(8):
        pool.done("a")
    assert sorted(pool.took()) == sorted("b" * 8 + "a" * 4), "those who wait take turns"


@pytest.mark.parametrize(("some", "others"), [tuple(Purpose), tuple(reversed(Purpose))])
def test_answers_and_steps_leave_each_other_places(
    errands: PoolJobs, pool: NoPool, some: Purpose, others: Purpose
) -> None:
    for principal in "abc":
        send(errands, principal, some, 20)
    assert len(pool.took()) == 12
    send(errands, "d", others, 20)
    assert pool.took()[12:] == "dddd"
    pool.done("d")
    assert pool.took()[12:] == "dddd"


def test_what_is_dropped_takes_no_place(errands: PoolJobs, pool: NoPool) -> None:
    sent = send(errands, "a", Purpose.ANSWER, 12)
    for each in sent[8:11]:
        each.drop()
    pool.done("a")
    assert len(pool.took()) == 8
    pool.done("a")
    assert len(pool.took()) == 7, "of twelve, two are done and three were dropped"


def test_who_leaves_before_the_first_answer_takes_the_work_along(database: Database) -> None:
    with hub_over(database) as hub:
        known = [Reader(database, hub.pool, OLDER, (least,)) for least in range(16)]
        for reader in known:
            reader.until(1)
        # Snapshots that were just made are kept for who joins at the same moment.
        database.transact("[{:unrelated 1}]")
        pool = HeldPool(hub.pool)
        coming = [Reader(database, hub.pool, OLDER, (least,)) for least in range(16)]
        eventually(hub, lambda: len(hub._subscribers._subscribers) == 32)
        for reader in coming:
            reader.close()
        eventually(hub, lambda: hub.figures.subscriptions == 16)
        assert pool.held
        assert all(is_cancelled(cancel) for _, cancel, _, _ in pool.held)
        pool.let_go()
        eventually(hub, lambda: not hub._pool_jobs._out)
        Reader(database, hub.pool, OLDER, (16,)).until(2)


def test_a_first_answer_is_worked_at_while_one_of_many_waits_for_it(database: Database) -> None:
    with hub_over(database) as hub:
        known = Reader(database, hub.pool, OLDER, (0,))
        known.until(1)
        database.transact("[{:unrelated 1}]")
        pool = HeldPool(hub.pool)
        readers = [Reader(database, hub.pool, OLDER, (0,)) for _ in range(3)]
        eventually(hub, lambda: len(hub._subscribers._subscribers) == 4)
        ((_, cancel, _, _),) = pool.held
        for reader in readers[:2]:
            reader.close()
        eventually(hub, lambda: hub.figures.subscriptions == 2)
        assert not is_cancelled(cancel)
        pool.let_go()
        readers[2].until(2)


def test_heavy_first_answers_leave_places_for_steps(database: Database) -> None:
    with hub_over(database) as hub:
        following = Reader(database, hub.pool, NAMES)
        following.until(1)

        def make_heavy() -> None:
            for each in hub._views.known.values():
                each.heavy = True

        on_hub(hub, make_heavy)
        # Steps are known to be heavy; of first answers nothing is known.
        pool = HeldPool(hub.pool, heavy=1.0)
        coming = [Reader(database, hub.pool, f"{NAMES[:-1]} [?e :age {age}]]") for age in range(20)]
        eventually(hub, lambda: hub.figures.subscriptions == 21)
        assert pool.held
        database.transact('[{:name "Kurt"}]')
        following.until(2)
        assert following.kinds() == [EventKind.SNAPSHOT, EventKind.DELTA]
        pool.let_go()
        for reader in coming:
            reader.until(2)
