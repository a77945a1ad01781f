"""Guarded queries on Spark: guards are among their clauses, and the answers are those of guarded snapshots."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.rewriting import rewritten
from adalog.executor.question.request import QueryRequest
from adalog.executor.spark.engine import SparkEngine
from adalog.store.database import Database
from tests.permissions.test_page import filled
from tests.support import World, pool_on

pytestmark = pytest.mark.spark

_TITLES = "[:find ?title ?name :where [?i :issue/title ?title] [?i :issue/project ?p] [?p :project/name ?name]]"
_UP = "[(up ?a ?b) [?a :project/parent ?b]] [(up ?a ?b) [?a :project/parent ?c] (up ?c ?b)]"
_QUERIES = [
    _TITLES,
    "[:find ?name :where [?p :project/name ?name] (not [_ :project/parent ?p])]",
    "[:find (count ?i) ?p :where [?i :issue/project ?p]]",
    "[:find ?x :where (or [_ :project/name ?x] [_ :user/name ?x] [_ :user/salary ?x])]",
    f"[:find ?a ?b :rules [{_UP}] :where (up ?a ?b)]",
    "[:find ?p (pull ?p [:project/name {:project/parent [*]}]) :where [?p :project/name]]",
    "[:find ?ident :where [?e :db/ident ?ident] [?e :db/valueType]]",
]
_LEFT = "[:find ?a ?v :where [?p :project/name] [?p ?a ?v]]"


@pytest.fixture(scope="module")
def tracker(spark: SparkEngine) -> Iterator[World]:
    with Database.open(":memory:") as database, pool_on(database, spark) as pool:
        yield filled(World(database, pool))


@pytest.mark.parametrize("sub", ["ada", "bob", "eve"])
@pytest.mark.parametrize("query", _QUERIES)
def test_spark_answers_as_this_process(tracker: World, query: str, sub: str) -> None:
    world = _as(tracker, sub)
    here, there = world.run(query, engine="LOCAL"), world.run(query, engine="SPARK")
    assert here.rows() == there.rows()
    assert here.engine == "LOCAL"
    patterns_alone = ":db/valueType" not in query
    assert there.engine == ("SPARK" if patterns_alone else "LOCAL")


@pytest.mark.parametrize("sub", ["ada", "bob", "eve"])
@pytest.mark.parametrize("query", _QUERIES)
def test_guards_among_clauses_change_no_row(tracker: World, query: str, sub: str) -> None:
    world = _as(tracker, sub)
    question = world.pool.question(QueryRequest(query, snapshot=world.snapshot))
    made = rewritten(question)
    if made is not None and "pull" not in query:
        assert world.pool.engine.run(made, Cancel()).rows() == world.run(query).rows()


def test_a_variable_attribute_is_left_to_this_process(tracker: World) -> None:
    found = _as(tracker, "ada").run(_LEFT, engine="SPARK")
    assert found.engine == "LOCAL"
    assert len(found) == 4


def _as(world: World, sub: str) -> World:
    now = world.database.snapshot()
    guard = world.pool.permissions.guard(Viewer(frozenset({"member"}), {"sub": sub}), now)
    assert guard is not None
    return World(world.database, world.pool, guard.view(now))
