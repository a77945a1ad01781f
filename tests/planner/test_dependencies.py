"""Which variables others determine, and what the planner makes of it while the schema says so."""

from __future__ import annotations

from typing import Any

import pytest

from adalog.executor.question.request import QueryRequest
from adalog.store.snapshot.snapshot import Snapshot
from tests.support import World

SCHEMA = """[{:db/ident :size :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
             {:db/ident :by :db/valueType :db.type/ref :db/cardinality :db.cardinality/one}
             {:db/ident :tag :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
             {:db/ident :name :db/valueType :db.type/string :db/unique :db.unique/identity}]"""
DATA = """[{:db/id 1 :size 5 :by 8 :tag [1 2]} {:db/id 2 :size 6 :by 8 :tag 1} {:db/id 3 :size 5 :by 9}
           {:db/id 8 :name "ada"} {:db/id 9 :name "bob"}]"""
BY_NAME = "[:find ?name (count ?p) (max ?size) :with ?p :where [?p :size ?size] [?p :by ?m] [?m :name ?name]]"
POSITIVE = "[:find ?p :where [?p :size ?size] [(pos? ?size)]]"


@pytest.fixture
def shop(db: World) -> World:
    db.tx(SCHEMA, DATA)
    return db


def plan(world: World, query: str, snapshot: Snapshot | None = None) -> dict[str, Any]:
    request = QueryRequest(query=query, snapshot=snapshot or world.database.snapshot())
    shown: dict[str, Any] = world.pool.explain(request, False).plan
    return shown


def merging(shown: dict[str, Any]) -> list[str]:
    return [level["variable"] for level in shown["levels"] if level["merges"]]


def test_a_star_is_counted_though_a_variable_is_hidden(shop: World) -> None:
    shown = plan(shop, BY_NAME)
    assert shown["weighted"]
    assert merging(shown) == []
    assert shop.q(BY_NAME) == '#{["ada" 2 6] ["bob" 1 5]}'


@pytest.mark.parametrize(
    ("query", "merges"),
    [
        (POSITIVE, False),
        ("[:find ?p :where [?p :tag ?t] [(pos? ?t)]]", True),
        # The entity of a unique value, and what a function gives.
        ("[:find ?name :where [?m :name ?name] [(str ?name) ?s] [(= ?s ?name)] [?p :by ?m] [(pos? ?p)]]", True),
        ("[:find ?name :where [?m :name ?name] [(str ?name) ?s] [(= ?s ?name)] [(pos? ?m)]]", False),
        ("[:find ?size :where [?p :size ?size] [(pos? ?p)]]", True),
        ("[:find ?p :where [?p :size ?size ?t] [(pos? ?t)] [(pos? ?size)]]", False),
        ("[:find ?p :where (or [?p :size ?x] [?p :tag ?x]) [(pos? ?x)]]", True),
        # A function that gives back what it is given.
        ("[:find ?p :where [?p :tag ?t] [(identity ?t) ?t]]", True),
        ("[:find ?p :where [?p :tag ?t] [(* ?t 1) ?t] [(pos? ?t)]]", True),
    ],
)
def test_what_is_determined_needs_no_merging(shop: World, query: str, merges: bool) -> None:
    assert bool(merging(plan(shop, query))) is merges


def test_of_a_history_nothing_is_known(shop: World) -> None:
    assert shop.q(POSITIVE) == "#{[1] [2] [3]}"
    shop.tx("[[:db/add 1 :size 7]]")
    now = shop.database.snapshot()
    assert not merging(plan(shop, POSITIVE, now.since(1)))
    assert not merging(plan(shop, POSITIVE, now.as_of(2)))
    assert merging(plan(shop, POSITIVE, now.history()))
    for snapshot, expected in ((now, 3), (now.history(), 3), (now, 3), (now.since(2), 1)):
        assert len(shop.pool.run(QueryRequest(POSITIVE, snapshot=snapshot)).rows()) == expected


def test_a_plan_does_not_outlive_the_cardinality_it_was_made_for(shop: World) -> None:
    for _ in range(20):
        assert shop.q(POSITIVE) == "#{[1] [2] [3]}"
        assert shop.q(BY_NAME) == '#{["ada" 2 6] ["bob" 1 5]}'
        epoch = shop.database.snapshot().statistics_epoch
        shop.tx("[{:db/id :size :db/cardinality :db.cardinality/many} [:db/add 1 :size 4]]")
        assert sorted(shop.pool.run(QueryRequest(POSITIVE)).rows()) == [(1,), (2,), (3,)]
        shop.tx("[[:db/retract 1 :size 4]]", "[{:db/id :size :db/cardinality :db.cardinality/one}]")
        if shop.database.snapshot().statistics_epoch == epoch:
            return
    raise AssertionError("the sizes alone told the plans apart")
