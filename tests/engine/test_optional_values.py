"""An optional pattern as one part answers as the `or` that it is short for, and is counted without its rows."""

from __future__ import annotations

from collections import Counter
from random import Random
from unittest.mock import patch

import pytest

from adalog.datalog.values import Value, identity
from adalog.executor.evaluation.bind import Binding
from adalog.executor.extenders.optional_values import OptionalExtender
from adalog.executor.join.disjunction import OrExtender
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.store.database import Database

SCHEMA = """[{:db/ident :one :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
             {:db/ident :many :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
             {:db/ident :none :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
             {:db/ident :ref :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
BODIES = (
    "[?e :ref _] (optional [?e :one ?v])",
    "(optional [?e :many ?v]) [?e :ref ?f]",
    "[?f :ref ?e] (optional [?e :many ?v]) (optional [?f :one ?w])",
    "[?e :ref ?f] (optional [?e :many ?v]) (optional [?e :ref ?w]) [(not= ?v 3)]",
    "[?e :ref] (optional [?e :many ?v]) [(nil? ?v)]",
    "[?e :ref] (optional [?e :one ?v]) (optional [?e :many ?w]) [(= ?v ?w)]",
    "(of ?e ?v) :rules [[(of ?e ?v) [?e :ref] (optional [?e :many ?w]) [(coalesce ?w 0) ?v]]]",
    "[(ground [1 2 3 9]) [?e ...]] (optional [?e :many ?v])",
    "[?f :ref ?e] (optional [?v :ref ?e])",
    "[?e :many ?v] (optional [?f :many ?v]) (optional [?w :ref ?e])",
    "[?e :ref ?e] (optional [?e :ref ?v])",
)
COUNTED = (
    *BODIES,
    "[?e :ref ?f] (optional [?v :ref ?e]) (optional [?w :ref ?f]) (optional [?f :many ?x])",
    "[?e :ref ?f] (optional [?v :ref ?e]) (optional [?f :none ?w])",
    "[?e :ref ?f] (optional [?v :ref ?e] (not [?v :one 3])) (optional [?e :ref ?w])",
    "[?e :ref ?f] (optional [?v :ref ?e] [(< ?v 4)]) (optional [?f :many ?w])",
    "[?e :ref ?f] (optional [?e :many ?v]) (not [?f :many 2]) [(coalesce ?v 2) ?w] (optional [?f :one ?x])",
    "[?e :ref ?f] (optional [?f :ref ?v] (optional [?v :many ?w]))",
    "[?e :ref ?f] (optional [?e :many ?v]) [(not= ?v 3)] (optional [?e :many ?w]) [(not= ?f ?w)]",
    "(or [?e :one ?f] [?e :many ?f]) (optional [?v :ref ?e]) (optional [?e :ref ?w])",
)


def rows_of(database: Database, request: QueryRequest) -> list[tuple[Value, ...]]:
    pool = Pool(database)
    try:
        return list(pool.run(request).rows())
    finally:
        pool.close()


def answered(database: Database, request: QueryRequest) -> list[object]:
    return list(map(identity, rows_of(database, request)))


COUNT = OptionalExtender.count


def names_in(body: str) -> list[str]:
    return [name for name in ("?e", "?f", "?v", "?w", "?x") if name in body.partition(" :rules")[0]]


def grow(database: Database, rng: Random) -> None:
    """A transaction of few values, and now and then one that retracts an entity."""
    kinds = ("one", "many", "many", "ref", "ref")
    drawn = [(rng.choice(kinds), rng.randint(1, 6)) for _ in range(9)]
    added = {(rng.randint(1, 6), a, 0 if a == "one" else v): v for a, v in drawn}
    database.transact(f"[{' '.join(f'[:db/add {e} :{a} {v}]' for (e, a, _), v in added.items())}]")
    if rng.random() < 0.5:
        database.transact(f"[[:db/retractEntity {rng.randint(1, 6)}]]")


@pytest.mark.parametrize("body", BODIES)
def test_it_answers_as_the_or(body: str) -> None:
    rng, taken = Random(body), 0
    find = " ".join(names_in(body))
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        for _ in range(4):
            grow(database, rng)
            for options in (Options(), Options(budget=2), Options(reorder=False)):
                request = QueryRequest(f"[:find {find} :where {body}]", ordered=True, options=options)
                with patch.object(Binding, "_optional", lambda binding, node: None):
                    expected = answered(database, request)
                with patch.object(OptionalExtender, "count", autospec=True, side_effect=COUNT) as counted:
                    assert answered(database, request) == expected
                taken += counted.call_count
    assert taken


@pytest.mark.parametrize("body", COUNTED)
def test_it_is_counted_as_often_as_it_has_rows(body: str) -> None:
    rng = Random(body)
    first, *others = names_in(body)
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        for _ in range(2):
            grow(database, rng)
            rows = rows_of(database, QueryRequest(f"[:find {' '.join((first, *others))} :where {body}]"))
            for options in (Options(), Options(budget=2), Options(project=False)):
                for place in range(len(others) + 1):
                    shown = others[place : place + 1]
                    kept = [name for name in others if name not in shown]
                    find = f"{' '.join(shown)} (count {first}) {':with' if kept else ''} {' '.join(kept)}"
                    counted = answered(database, QueryRequest(f"[:find {find} :where {body}]", options=options))
                    groups = Counter(row[place + 1 : place + 2] for row in rows)
                    expected = [identity((*group, number)) for group, number in groups.items()]
                    assert Counter(counted) == Counter(expected), find


def test_values_that_are_only_counted_are_not_written() -> None:
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        edges = " ".join(f"[:db/add {e} :ref {100 + f}]" for e in range(1, 30) for f in range(e % 3))
        database.transact(f"[{edges}]")
        optionals = "(optional [?v :ref ?e]) (optional [?w :ref ?f])"
        text = f"[:find (count ?e) . :with ?f ?v ?w :where [?e :ref ?f] {optionals}]"
        written = AssertionError("rows are written")
        with (
            patch.object(OptionalExtender, "propose", side_effect=written),
            patch.object(OrExtender, "propose", side_effect=written),
        ):
            assert answered(database, QueryRequest(text)) == [identity((20 * 20 + 10 * 10,))]
