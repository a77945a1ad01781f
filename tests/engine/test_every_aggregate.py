"""Every aggregate of the table gives what its function gives: here, in tasks of Spark's, and in a live query.

A new aggregate is tested by its entry in the table. Only one that takes no longs needs an entry in CLAUSES.
"""

from __future__ import annotations

from typing import Any

import pytest

from adalog.datalog.aggregates import AGGREGATES, Aggregate, aggregate
from adalog.datalog.values import identity
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view_choice import view_of
from adalog.executor.question.request import QueryRequest
from adalog.store.snapshot.snapshot import Snapshot
from tests.spark.spark_in_process import spark_in_process
from tests.support import World, pool_on

SCHEMA = """[{:db/ident :group :db/valueType :db.type/string :db/cardinality :db.cardinality/one}
             {:db/ident :number :db/valueType :db.type/long :db/cardinality :db.cardinality/one}]"""
ENTITIES = '[[:db/add %d :group "%s"] [:db/add %d :number %d]]'

# How ?v comes from the number ?n, where an aggregate takes no longs.
CLAUSES = {"and": "[(odd? ?n) ?v]", "or": "[(odd? ?n) ?v]", "union": "[(vector ?n 1) ?t] [(set ?t) ?v]"}
CLAUSES |= {each.name: "[(tuple ?n ?e) ?v]" for each in AGGREGATES.values() if each.of_pairs}

REPEATABLE = [each for each in AGGREGATES.values() if not each.by_chance]


def ways(known: Aggregate) -> list[tuple[str, str, tuple[int, ...]]]:
    """(a query with the aggregate, one with the tuples that it is over, the constants before the variable)."""
    where = f"[?e :group ?g] [?e :number ?n] {CLAUSES.get(known.name, '[(identity ?n) ?v]')}"
    found: list[tuple[str, str, tuple[int, ...]]] = []
    for number in range(known.min_args, known.max_args + 1) if known.in_find else ():
        call = " ".join([known.name, *["2"] * number])
        tuples = f"[:find ?g ?v ?e :where {where}]"
        value = "?n ?e" if known.of_pairs else "?v"
        found.append((f"[:find ?g ({call} {value}) :with ?e :where {where}]", tuples, (2,) * number))
    if known.in_heads and not known.min_args:
        rules = f":rules [[(r ?g ({known.name} {'?n ?e' if known.of_pairs else '?v'})) {where}]]"
        found.append((f"[:find ?g ?r :where (r ?g ?r) {rules}]", f"[:find ?g ?v :where {where}]", ()))
    return found


def rows(world: World, query: str, at: Snapshot | None = None, **options: Any) -> set[Any]:
    request = QueryRequest(query, snapshot=at or world.database.snapshot(), **options)
    return {tuple(map(identity, row)) for row in world.pool.run(request).rows()}


def expected(world: World, known: Aggregate, tuples: str, args: tuple[int, ...]) -> set[Any]:
    groups: dict[str, list[Any]] = {}
    for group, value, *_ in world.pool.run(QueryRequest(tuples, snapshot=world.database.snapshot())).rows():
        groups.setdefault(group, []).append(value)
    answers = {group: aggregate(known.name, args, values) for group, values in groups.items()}
    return {(identity(group), identity(answer)) for group, answer in answers.items()}


@pytest.fixture
def world(db: World) -> World:
    db.tx(SCHEMA, *(ENTITIES % (e, "ab"[e % 2], e, (1, 2, 4, 2, 3, 4)[e - 1]) for e in range(1, 7)))
    return db


@pytest.mark.parametrize("known", REPEATABLE, ids=lambda each: each.name)
def test_here_and_in_tasks(known: Aggregate, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    with spark_in_process(monkeypatch) as engine, pool_on(world.database, engine) as pool:
        for query, tuples, args in ways(known):
            wanted = expected(world, known, tuples, args)
            assert len(wanted) == 2
            assert rows(world, query) == wanted
            assert rows(World(world.database, pool), query, engine="SPARK") == wanted


@pytest.mark.parametrize("name", ["sum'", "avg"])
def test_of_numbers_that_add_up_to_more_than_64_bits(
    name: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also of numbers that came after a live query began, and went again."""
    most, known = 2**63 - 1, AGGREGATES[name]
    query, tuples, args = ways(known)[0]
    view, old = view_of(world.pool.question(QueryRequest(query)), world.pool.engine), world.database.snapshot()
    view.add(0, UndatedQuestion.of(world.pool.question(QueryRequest(query))), old, Cancel())
    shown = rows(world, query)
    for change in (ENTITIES % (7, "b", 7, most), "[[:db/retract 7 :number]]"):
        world.tx(change)
        wanted, at = expected(world, known, tuples, args), world.database.snapshot()
        found = view.step(Moments(old, at), Cancel())[0]
        assert not isinstance(found, Exception)
        assert found is not None
        shown -= {tuple(map(identity, row)) for row in found.removed.rows()}
        shown |= {tuple(map(identity, row)) for row in found.added.rows()}
        assert rows(world, query) == wanted == shown
        with spark_in_process(monkeypatch) as engine, pool_on(world.database, engine) as pool:
            assert rows(World(world.database, pool), query, engine="SPARK") == wanted
        old = at


@pytest.mark.parametrize("known", REPEATABLE, ids=lambda each: each.name)
def test_live(known: Aggregate, world: World) -> None:
    for query, tuples, args in ways(known):
        question = world.pool.question(QueryRequest(query))
        view, at = view_of(question, world.pool.engine), world.database.snapshot()
        view.add(0, UndatedQuestion.of(question), at, Cancel())
        shown = rows(world, query, at)
        for change in (ENTITIES % (7, "c", 7, 1), "[[:db/retract 2 :number 2]]", ENTITIES % (2, "b", 2, 2)):
            world.tx(change)
            old, at = at, world.database.snapshot()
            found = view.step(Moments(old, at), Cancel()).get(0)
            if isinstance(found, Exception):
                raise found
            if found is not None:
                shown -= {tuple(map(identity, row)) for row in found.removed.rows()}
                shown |= {tuple(map(identity, row)) for row in found.added.rows()}
            assert shown == rows(world, query, at) == expected(world, known, tuples, args)
        world.tx('[[:db/retractEntity 7] [:db/add 2 :group "a"]]')


def test_by_chance_a_value_of_the_group(world: World) -> None:
    for known in (each for each in AGGREGATES.values() if each.by_chance):
        for query, _, args in ways(known):
            for _, answer in world.pool.run(QueryRequest(query)).rows():
                assert set(answer if args else [answer]) <= {1, 2, 3, 4}
