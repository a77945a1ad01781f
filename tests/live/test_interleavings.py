"""Who comes, leaves and asks while a view is at work, or after what its names mean has changed."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel, StartAgain
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.maintained_view import MaintainedView
from adalog.executor.follow.view import Change, Interest
from adalog.executor.live.hub.hub import Hub
from adalog.executor.live.subscribers.changes import ValuesForm
from adalog.executor.live.subscribers.resume import StreamStart
from adalog.executor.live.subscribers.subscription import BlockingSubscription
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from tests.live.following import Reader, eventually, hub_over

OWNED = "[:find ?e :in $ ?who :where [?e :owner ?who]]"
NAMED = '[:find ?e :where [?e :owner [:email "b"]]]'
OWNER_IS_A_REF = "[{:db/ident :owner :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"
PEOPLE = """[{:db/ident :email :db/valueType :db.type/string :db/unique :db.unique/identity}
             {:db/id 1 :email "a" :db/ident :alice} {:db/id 2 :email "b"} {:db/id 3 :name "c"}]"""
MOVED = '[[:db/retract 2 :email "b"] [:db/add 3 :email "b"]]'
B = read('[:email "b"]')


class Gate:
    """Where steps of maintained views wait while it is shut: on the pool's threads."""

    def __init__(self) -> None:
        self._open, self._reached = threading.Event(), threading.Event()
        self._open.set()

    def shut(self) -> None:
        self._reached.clear()
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def is_reached(self) -> None:
        """Waits until a step waits."""
        self._reached.wait()

    def passed(self, cancel: Cancel) -> None:
        if self._open.is_set():
            return
        if threading.current_thread().name == "adalog-live":
            raise StartAgain
        self._reached.set()
        while not self._open.wait(0.001):
            cancel.check()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made, step = Gate(), MaintainedView.step

    def gated(view: MaintainedView, tick: Moments, cancel: Cancel) -> Mapping[int, Change | AdalogError]:
        made.passed(cancel)
        return step(view, tick, cancel)

    monkeypatch.setattr(MaintainedView, "step", gated)
    yield made
    made.open()


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        opened.transact(PEOPLE)
        yield opened


@pytest.fixture
def owners(database: Database) -> Database:
    """The same, where things have owners: it is at 3."""
    database.transact(OWNER_IS_A_REF)
    database.transact("[[:db/add 10 :owner 1] [:db/add 11 :owner 2] [:db/add 12 :owner 3]]")
    return database


def heard(hub: Hub, t: int) -> None:
    """Waits until the hub has looked at a transaction."""
    eventually(hub, lambda: hub._views.now is not None and hub._views.now.t >= t)


def another(database: Database, entity: int, owner: int) -> int:
    """The transaction in which one thing more has an owner."""
    return database.transact(f"[[:db/add {entity} :owner {owner}]]").t


# What names mean


def test_a_view_that_is_made_again_is_one_for_its_moment(database: Database, gate: Gate) -> None:
    with hub_over(database) as hub:
        reader = Reader(database, hub.pool, OWNED, (read(":alice"),))
        reader.until(1)
        database.transact(OWNER_IS_A_REF)
        reader.until(another(database, 10, 1))
        gate.shut()
        t = another(database, 11, 1)
        gate.is_reached()
        gate.open()
        reader.until(t)
        reader.until(another(database, 12, 1))
        assert reader.kinds() == ["SNAPSHOT", "DELTA", "DELTA", "DELTA"]


def test_a_gap_is_told_by_what_names_mean_there(database: Database) -> None:
    with hub_over(database, mailbox_events=2, replayed=1) as hub:
        reader = Reader(database, hub.pool, OWNED, (read(":alice"),))
        reader.until(1)
        database.transact(OWNER_IS_A_REF)
        reader.until(2)
        for entity in range(10, 15):
            t = another(database, entity, 1)
        eventually(hub, lambda: hub.figures.overflows > 0)
        reader.until(t)


def test_attributes_that_are_declared_between_asking_and_following(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub_over(database) as hub:
        follow = hub.follow_blocking

        def declared_before(*args: Any) -> BlockingSubscription:
            database.transact(OWNER_IS_A_REF)
            return follow(*args)

        monkeypatch.setattr(hub, "follow_blocking", declared_before)
        reader = Reader(database, hub.pool, OWNED, (read(":alice"),))
        reader.until(2)
        reader.until(another(database, 10, 1))
        assert reader.kinds() == ["SNAPSHOT", "DELTA"]


def test_an_argument_that_came_to_name_another_entity_in_a_gap(owners: Database) -> None:
    with hub_over(owners) as hub:
        reader = Reader(owners, hub.pool, OWNED, (B,))
        reader.until(3)
        reader.close()
        t = owners.transact(MOVED).t
        again = Reader(owners, hub.pool, OWNED, (B,), resume=reader.resume)
        again.rows = reader.rows
        again.until(t)
        again.until(another(owners, 13, 3))


@pytest.mark.parametrize("query", [NAMED, '[:find ?x :where [[:email "b"] :owner ?x]]'])
def test_a_constant_that_comes_to_name_another_entity(owners: Database, gate: Gate, query: str) -> None:
    owners.transact("[[:db/add 2 :owner 3]]")
    with hub_over(owners) as hub:
        reader = Reader(owners, hub.pool, query)
        reader.until(4)
        reader.until(owners.transact(MOVED).t)
        reader.until(owners.transact("[[:db/add 13 :owner 3] [:db/add 3 :owner 1]]").t)
        assert reader.kinds() == ["SNAPSHOT", "DELTA", "DELTA"]
        gate.shut()
        owners.transact('[[:db/retract 3 :email "b"] [:db/add 1 :email "b"]]')
        gate.is_reached()
        t = owners.transact("[[:db/add 14 :owner 1] [:db/add 1 :owner 1]]").t
        heard(hub, t)
        gate.open()
        reader.until(t)


@pytest.mark.parametrize("first_stays", [True, False])
def test_an_argument_that_loses_its_meaning_ends_its_own_feed(owners: Database, first_stays: bool) -> None:
    with hub_over(owners) as hub:
        named, numbered = Reader(owners, hub.pool, OWNED, (B,)), Reader(owners, hub.pool, OWNED, (1,))
        for reader in (named, numbered):
            reader.until(3)
        if not first_stays:
            named.close()
            eventually(hub, lambda: hub.figures.feeds == 1)
        unlike = "[:db/retract :email :db/unique :db.unique/identity] [:db/add :owner :db/isComponent true]"
        t = owners.transact(f"[{unlike}]").t
        numbered.until(t)
        if first_stays:
            with pytest.raises(AdalogError, match="not unique") as ended:
                list(named.changes)
            assert ended.value.code is Code.ARG_INVALID
        numbered.until(another(owners, 13, 1))
        assert numbered.kinds() == ["SNAPSHOT", "DELTA"]


def test_who_comes_when_nobody_else_is_left_in_a_view_at_work(database: Database, gate: Gate) -> None:
    query = "[:find ?e :in $ ?who :where [?e :name ?name] [?e :owner ?who]]"
    with hub_over(database) as hub:
        first = Reader(database, hub.pool, query, (read(":bob"),))
        first.until(1)
        gate.shut()
        database.transact('[{:db/id 10 :name "d"}]')
        gate.is_reached()
        second = Reader(database, hub.pool, query, (read(":alice"),))
        first.close()
        t = database.transact(OWNER_IS_A_REF).t
        heard(hub, t)
        gate.open()
        second.until(t)
        second.until(another(database, 10, 1))
        assert second.kinds() == ["SNAPSHOT", "DELTA"]


# Who comes while a view is at work


def test_who_comes_while_a_view_is_at_work_misses_nothing(owners: Database, gate: Gate) -> None:
    with hub_over(owners) as hub:
        first = Reader(owners, hub.pool, OWNED, (1,))
        first.until(3)
        gate.shut()
        another(owners, 13, 1)
        gate.is_reached()
        second = Reader(owners, hub.pool, OWNED, (B,))
        another(owners, 14, 1)
        t = owners.transact(MOVED).t
        heard(hub, t)
        gate.open()
        for reader in (first, second):
            reader.until(t)
        t = another(owners, 15, 3)
        for reader in (first, second):
            reader.until(t)
        assert second.kinds()[-1] == "DELTA"


def test_who_comes_while_a_view_is_at_work_is_told_from_where_it_is(owners: Database, gate: Gate) -> None:
    with hub_over(owners) as hub:
        first = Reader(owners, hub.pool, OWNED, (1,))
        first.until(3)
        gate.shut()
        another(owners, 13, 1)
        gate.is_reached()
        moved = owners.transact(MOVED).t
        second = Reader(owners, hub.pool, OWNED, (B,), from_t=moved)
        t = another(owners, 14, 1)
        heard(hub, t)
        gate.open()
        for reader in (first, second):
            reader.until(t)
        assert second.kinds() == ["SNAPSHOT"]


def test_who_leaves_while_a_view_is_at_work_is_not_heard_of_again(owners: Database, gate: Gate) -> None:
    with hub_over(owners) as hub:
        stays, leaves = (Reader(owners, hub.pool, OWNED, (owner,)) for owner in (1, 2))
        for reader in (stays, leaves):
            reader.until(3)
        gate.shut()
        t = owners.transact("[[:db/add 13 :owner 1] [:db/add 13 :owner 2]]").t
        gate.is_reached()
        leaves.close()
        eventually(hub, lambda: hub.figures.feeds == 1)
        gate.open()
        stays.until(t)
        assert len(hub._views._idle) == 1
        stays.close()
        eventually(hub, lambda: hub.figures.feeds == 0)
        assert not hub._views._idle


# What is kept


@pytest.mark.parametrize(
    "query", [OWNED, f"{OWNED[:-1]} :limit 1]", "[:find (count ?e) :in $ ?who :where [?e :owner ?who]]"]
)
def test_no_moment_outlives_its_readers(owners: Database, query: str) -> None:
    with hub_over(owners) as hub:
        first = weakref.ref(owners.snapshot())
        reader = Reader(owners, hub.pool, query, (1,))
        reader.until(3)
        owners.compact()
        reader.until(another(owners, 13, 1))
        eventually(hub, lambda: gc.collect() >= 0)
        assert first() is None
        reader.until(another(owners, 14, 1))


# What nobody foresaw


@pytest.fixture
def forgetting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """From the call on views cannot say what touches them."""
    fails, interests = threading.Event(), MaintainedView.interests

    def failing(view: MaintainedView, at: Snapshot) -> Sequence[Interest]:
        if fails.is_set():
            raise RuntimeError("a mistake")
        return interests(view, at)

    monkeypatch.setattr(MaintainedView, "interests", failing)
    yield fails.set
    fails.clear()


def test_a_view_that_fails_at_what_nobody_foresaw_says_so(
    owners: Database, forgetting: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    with hub_over(owners) as hub:
        first = Reader(owners, hub.pool, OWNED, (1,))
        first.until(3)
        forgetting()
        second = Reader(owners, hub.pool, OWNED, (2,))
        for reader in (first, second):
            with pytest.raises(AdalogError) as ended:
                list(reader.changes)
            assert ended.value.code is Code.INTERNAL
        eventually(hub, lambda: not hub._views.known)
    assert "a mistake" in caplog.text


def test_a_hub_that_is_closed_while_somebody_comes(owners: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with hub_over(owners) as hub:
        asked = hub.asked(QueryRequest(OWNED, (1,)), Cancel())
        snapshot = owners.snapshot

        def closed_before() -> Snapshot:
            hub.close()
            return snapshot()

        with monkeypatch.context() as patched:
            patched.setattr(owners, "snapshot", closed_before)
            with pytest.raises(AdalogError) as refused:
                hub.follow_blocking(asked, ValuesForm("", hub._tokens), StreamStart())
        assert refused.value.code is Code.BACKEND_UNAVAILABLE
        assert hub.figures.subscriptions == 0
