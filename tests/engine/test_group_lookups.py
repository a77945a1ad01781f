"""Which patterns are looked up for the groups of a query, and what the answer and `explain` say then."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import pytest

from adalog.datalog.errors import AdalogError
from adalog.datalog.parsing.parser import parse_query
from adalog.executor.question.request import QueryRequest
from adalog.planner import group_lookups
from adalog.planner.model.plan import Options
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import plan_query
from tests.support import World

DATA = """[{:db/ident :key :db/valueType :db.type/long :db/unique :db.unique/identity}
 {:db/ident :name :db/valueType :db.type/string}
 {:db/ident :tag :db/valueType :db.type/string :db/cardinality :db.cardinality/many}
 {:db/ident :by :db/valueType :db.type/ref}
 {:db/ident :of :db/valueType :db.type/ref}
 {:db/ident :n :db/valueType :db.type/long}]"""
ROWS = """[[:db/add 101 :key 1] [:db/add 102 :key 2] [:db/add 103 :key 3] [:db/add 101 :by 201]
 [:db/add 102 :by 201] [:db/add 103 :by 202] [:db/add 201 :name "ann"] [:db/add 101 :tag "x"]
 [:db/add 1001 :of 101] [:db/add 1002 :of 101] [:db/add 1003 :of 102] [:db/add 1004 :of 103]
 [:db/add 1001 :n 1] [:db/add 1002 :n 1] [:db/add 1003 :n 5] [:db/add 1004 :n 0]]"""


@pytest.fixture(autouse=True)
def always() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_lookups, "_MANY", 0.0)
        patch.setattr(group_lookups, "_CHEAPER", inf)
        patch.setattr(group_lookups, "_MORE_ROWS", inf)
        yield


@pytest.fixture
def world(db: World) -> World:
    db.tx(DATA)
    db.tx(ROWS)
    return db


GROUPED = "[?l :of ?o] [?l :n ?n]"
KEY, BY, NAME = "[?o :key ?key]", "[?o :by ?c]", "[?c :name ?name]"


@pytest.mark.parametrize(
    ("query", "late"),
    [
        (f"[:find ?key (sum ?n) :with ?l :where {GROUPED} {KEY}]", {KEY}),
        (f"[:find ?key ?name (sum ?n) :with ?l :where {GROUPED} {KEY} {BY} {NAME}]", {KEY, BY, NAME}),
        (f"[:find ?o ?name (sum ?n) :with ?l :where {GROUPED} {BY} {NAME}]", {BY, NAME}),
        # A name may have several customers, and a customer several orders.
        (f"[:find ?name (sum ?n) :with ?l :where {GROUPED} {BY} {NAME}]", set()),
        (f"[:find ?c ?name (sum ?n) :with ?l :where {GROUPED} {BY} {NAME}]", {NAME}),
        (f"[:find ?key (sum ?n) :with ?l :where {GROUPED} {KEY} [(> ?key 1)]]", set()),
        (f"[:find ?key (sum ?n) :with ?l :where {GROUPED} {KEY} :having [(> ?key 1)]]", set()),
        (f"[:find ?key (sum ?n) :with ?l ?key :where {GROUPED} {KEY}]", set()),
        (f"[:find ?key (sum ?key) :with ?l :where {GROUPED} {KEY}]", set()),
        (f"[:find ?key (sum ?n) :in $ ?key :with ?l :where {GROUPED} {KEY}]", set()),
        (f"[:find ?key (sum ?n) :with ?l :where {GROUPED} {KEY} [_ :n ?key]]", set()),
        (f"[:find ?o ?tag (sum ?n) :with ?l :where {GROUPED} [?o :tag ?tag]]", set()),
        (f"[:find ?o ?a (sum ?n) :with ?l :where {GROUPED} [?o ?a ?v]]", set()),
        (f"[:find ?o ?t (sum ?n) :with ?l :where {GROUPED} [?o :key ?key ?t]]", set()),
        (f'[:find ?key (sum ?n) :with ?l :where {GROUPED} {KEY} (not [?o :tag "x"])]', {KEY}),
        (f"[:find ?key (sum ?n) :with ?l :where [?l :n ?n] {KEY} (or [?l :of ?o] [?l :by ?o])]", {KEY}),
        (f"[:find ?key :where {GROUPED} {KEY}]", set()),
        (f"[:find ?key (sum ?n) :with ?l :where {GROUPED} {KEY} :order-by ?o]", set()),
        (f"[:find ?key (sum ?n) :with ?l :where {GROUPED} {KEY} :order-by ?key :limit 1]", {KEY}),
    ],
)
def test_what_is_looked_up(world: World, query: str, late: set[str]) -> None:
    statistics = Statistics({"$": world.database.snapshot()}, {})
    plan = plan_query(parse_query(query), statistics, frozenset(), Options())
    found = group_lookups.group_lookups(plan, statistics, frozenset(), Options())
    assert set(found.clauses if found else ()) == late
    for options in (Options(look_up=False), Options(cautious=True)):
        assert group_lookups.group_lookups(plan, statistics, frozenset(), options) is None


def test_of_a_history_nothing_is_looked_up(world: World) -> None:
    statistics = Statistics({"$": world.database.snapshot().history()}, {})
    plan = plan_query(
        parse_query(f"[:find ?key (sum ?n) :with ?l :where {GROUPED} {KEY}]"), statistics, frozenset(), Options()
    )
    assert group_lookups.group_lookups(plan, statistics, frozenset(), Options()) is None


def test_where_it_costs_more_nothing_is_looked_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    statistics = Statistics({"$": world.database.snapshot()}, {})
    query = parse_query(f"[:find ?key (sum ?n) :with ?l :where {GROUPED} {KEY}]")
    plan = plan_query(query, statistics, frozenset(), Options())
    for name in ("_CHEAPER", "_MORE_ROWS"):
        with monkeypatch.context() as patch:
            patch.setattr(group_lookups, name, 0.0)
            assert group_lookups.group_lookups(plan, statistics, frozenset(), Options()) is None
    assert group_lookups.may_group_first(plan)
    monkeypatch.setattr(group_lookups, "_MANY", inf)
    assert not group_lookups.may_group_first(plan)


def test_groups_without_what_is_looked_up_are_none(world: World) -> None:
    query = f"[:find ?name ?key (sum ?n) (count ?l) :with ?l :where {GROUPED} {KEY} {BY} {NAME}]"
    assert world.q(query) == '#{["ann" 1 2 2] ["ann" 2 5 1]}'
    assert world.q(query.replace("]]", "] :having [(> (sum ?n) 2)]]")) == '#{["ann" 2 5 1]}'
    assert world.q(query.replace("]]", "] :having [(> (sum ?n) 9)]]")) == "#{}"


def test_what_is_refused_of_a_group_that_is_none_is_no_matter(world: World) -> None:
    """The sum of the order whose customer has no name is 0."""
    query = (
        f"[:find ?name ?key (sum ?n) :with ?l :where {GROUPED} {KEY} {BY} {NAME} :having [(< (/ 10 (sum ?n)) 4)]]"
    )
    assert world.q(query) == '#{["ann" 2 5]}'
    world.tx('[[:db/add 202 :name "bob"]]')
    with pytest.raises(AdalogError, match="zero"):
        world.q(query)


def test_explain_says_what_is_looked_up(world: World) -> None:
    query = f"[:find ?name ?key (sum ?n) :with ?l :where {GROUPED} {KEY} {BY} {NAME}]"
    for analyze in (False, True):
        shown = world.pool.explain(QueryRequest(query), analyze=analyze)
        assert shown.plan["afterGrouping"] == [KEY, BY, NAME]
        assert set(shown.plan["order"]) == {"?l", "?o", "?n"}
        assert f"for each group that is left: {NAME}" in shown.text
    assert "afterGrouping" not in world.pool.explain(QueryRequest(f"[:find ?key :where {GROUPED} {KEY}]")).plan
