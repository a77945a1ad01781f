"""An optional pattern as one part answers as the `or` that it is short for."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pytest

from adalog.datalog.values import identity
from adalog.executor.evaluation.bind import Binding
from adalog.executor.extenders.optional_values import OptionalExtender
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.store.database import Database

SCHEMA = """[{:db/ident :one :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
             {:db/ident :many :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
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
)


def answered(database: Database, request: QueryRequest) -> list[object]:
    pool = Pool(database)
    try:
        return list(map(identity, pool.run(request).rows()))
    finally:
        pool.close()


COUNT = OptionalExtender.count


@pytest.mark.parametrize("body", BODIES)
def test_it_answers_as_the_or(body: str) -> None:
    rng, taken = Random(body), 0
    find = " ".join(name for name in ("?e", "?f", "?v", "?w") if name in body.partition(" :rules")[0])
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        for _ in range(4):
            added = {
                (rng.randint(1, 6), a, 0 if a == "one" else v): v
                for a, v in (
                    (rng.choice(("one", "many", "many", "ref", "ref")), rng.randint(1, 6)) for _ in range(9)
                )
            }
            database.transact(f"[{' '.join(f'[:db/add {e} :{a} {v}]' for (e, a, _), v in added.items())}]")
            if rng.random() < 0.5:
                database.transact(f"[[:db/retractEntity {rng.randint(1, 6)}]]")
            for options in (Options(), Options(budget=2), Options(reorder=False)):
                request = QueryRequest(f"[:find {find} :where {body}]", ordered=True, options=options)
                with patch.object(Binding, "_optional", lambda binding, node: None):
                    expected = answered(database, request)
                with patch.object(OptionalExtender, "count", autospec=True, side_effect=COUNT) as counted:
                    assert answered(database, request) == expected
                taken += counted.call_count
    assert taken
