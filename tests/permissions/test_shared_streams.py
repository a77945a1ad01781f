"""Live queries of many identities at once: those with the same roles share a view, and each is told its own."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from adalog.datalog.values import Keyword
from adalog.executor.bounds.client import ASKING, Client, Identity
from adalog.executor.live.hub.hub import Hub
from adalog.executor.live.subscribers.changes import Changes, LiveChange
from adalog.executor.live.subscribers.event import EventKind
from adalog.executor.permissions.guards import Viewer
from adalog.executor.question.request import QueryRequest
from tests.permissions.compared import numbers
from tests.permissions.test_guarded_views import transaction
from tests.permissions.test_page import filled
from tests.support import World

NAMES = "[:find ?x :where (or [_ :issue/title ?x] [_ :user/name ?x])]"
PROJECTS = "[:find (pull ?u [:user/name {:project/_members [:project/name]}]) :where [?u :user/name]]"
NESTED = """[:find (pull ?u [:user/name (q "titles" [:find ?t :in $ ?u :where [?p :project/members ?u]
  [?i :issue/project ?p] [?i :issue/title ?t]])]) :where [?u :user/name]]"""
OF_PROJECT = """[:find ?x :in $ ?name :where (or-join [?x ?name]
  (and [?p :project/name ?name] [?i :issue/project ?p] [?i :issue/title ?x]) [_ :user/name ?x])]"""
QUERIES: list[tuple[str, list[Any]]] = [(NAMES, []), (PROJECTS, []), (NESTED, []), (OF_PROJECT, ["web"])]
END = """[{:policy/name "everybody reads names" :policy/roles [:*] :policy/ops [:read] :policy/on [:user/name]}
  [:db/add :policy/enforcement :policy/enforced true] {:user/auth-id "end" :user/name "end"}]"""
ROLES = ("member", "read")


@contextmanager
def asking(sub: str, *roles: str) -> Iterator[None]:
    token = ASKING.set(Client(sub, identity=Identity(sub, roles or ROLES, claims={"sub": sub})))
    try:
        yield
    finally:
        ASKING.reset(token)


@dataclass
class Stream:
    """What one identity was told of a query."""

    world: World
    sub: str
    query: str
    args: list[Any]
    changes: Changes
    shown: Counter[str] = field(default_factory=Counter)

    def take(self) -> LiveChange:
        change = next(self.changes)
        if change.kind is EventKind.DELTA:
            self.shown = self.shown - _rows(change.retracted) + _rows(change.added)
        elif change.kind is EventKind.SNAPSHOT:
            self.shown += _rows(change.rows)
        if change.kind is EventKind.DELTA or change.last:
            assert self.shown == self.fresh(change.basis_t), (self.sub, self.query, change.basis_t)
        return change

    def fresh(self, t: int) -> Counter[str]:
        """The rows of the query, asked anew of what is visible by the policies of a moment."""
        moment = self.world.database.at(t=t)
        guard = self.world.pool.permissions.guard(Viewer(frozenset(ROLES), {"sub": self.sub}), moment)
        seen = moment if guard is None else guard.view(moment)
        return _rows(self.world.pool.run(QueryRequest(self.query, self.args, snapshot=seen)).rows())


def _rows(rows: Any) -> Counter[str]:
    # As a set: entities that look alike are one row.
    return Counter(set(map(repr, rows or ())))


@pytest.fixture
def tracker(db: World) -> World:
    return filled(db)


@pytest.fixture
def hub(tracker: World) -> Iterator[Hub]:
    with Hub(tracker.pool) as opened:
        yield opened


@pytest.mark.parametrize("number", numbers(share=4))
def test_each_identity_is_told_what_it_may_see(tracker: World, hub: Hub, number: int) -> None:
    choose = random.Random(number)
    streams: list[Stream] = []

    def follow(sub: str) -> None:
        for query, args in QUERIES:
            with asking(sub):
                changes = stack.enter_context(hub.live(query, args, None, None))
            streams.append(Stream(tracker, sub, query, args, changes))
            while not streams[-1].take().last:
                pass

    tracker.tx(
        "[{:db/ident :status/open} {:db/ident :status/done} {:db/ident :issue/status "
        ":db/valueType :db.type/ref :db/cardinality :db.cardinality/one}]"
    )
    with ExitStack() as stack:
        for sub in ("ada", "bob", "eve"):
            follow(sub)
        # Two show the same rows by other pulls.
        assert hub.figures.views == len(QUERIES) - 1
        for step in range(16):
            tracker.tx(transaction(choose, tracker.database.snapshot()))
            if step == 6:
                # A stream that begins without policies ends with the first.
                tracker.tx("[[:db/add :policy/enforcement :policy/enforced true]]")
                follow("nobody")
            if step == 10:
                for each in streams[:2]:
                    each.changes.close()
                del streams[:2]
        tracker.tx(END)
        for each in streams:
            while not any("'end'" in row or '"end"' in row for row in each.shown):
                each.take()
            assert each.shown == each.fresh(tracker.database.snapshot().t)


def test_views_are_shared_by_roles_and_not_by_what_is_looked_up(tracker: World, hub: Hub) -> None:
    of_entity = "[:find ?name :in $ ?p :where [?p :project/name ?name]]"
    # Each is read before the next one begins.
    with ExitStack() as stack:

        def rows(sub: str, query: str, *args: Any, roles: tuple[str, ...] = ROLES) -> list[str]:
            with asking(sub, *roles):
                return sorted(_rows(next(stack.enter_context(hub.live(query, args, None, None))).rows))

        assert rows("ada", NAMES) != rows("bob", NAMES)
        assert hub.figures.views == 1
        assert rows("ada", NAMES, roles=("guest",)) == ["('Ada',)", "('Bob',)"]
        assert hub.figures.views == 2
        web = tracker.pool.run(QueryRequest('[:find ?p . :where [?p :project/name "web"]]')).rows()[0][0]
        assert rows("ada", of_entity, web) == ["('web',)"]
        assert rows("bob", of_entity, web) == []
        assert hub.figures.views == 3
        # What a lookup ref names is found among what its own viewer sees.
        ref = (Keyword("project/name"), "web")
        assert rows("ada", of_entity, ref) == ["('web',)"]
        assert rows("bob", of_entity, ref) == []
        assert hub.figures.views == 5


def test_a_view_has_room_for_some_feeds(tracker: World, hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adalog.executor.live.hub.hub._GUARDED_FEEDS", 2)
    with ExitStack() as stack:
        streams = []
        for sub in ("ada", "bob", "eve"):
            with asking(sub):
                changes = stack.enter_context(hub.live(NAMES, [], None, None))
            streams.append(Stream(tracker, sub, NAMES, [], changes))
            streams[-1].take()
        assert hub.figures.views == 2
        tracker.tx(
            '[{:issue/title "new" :issue/project [:project/name "web"]} {:user/auth-id "end" :user/name "end"}]'
        )
        for each in streams:
            each.take()
            assert each.shown["('new',)"] == (each.sub == "ada")
