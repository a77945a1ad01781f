"""What a task leaves out of its rows changes no answer, and of many rows of a group few are left."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from adalog.datalog.values import identity
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.evaluation.compile import Compiler
from adalog.executor.evaluation.local import collector_for, shape_result
from adalog.executor.join.batch import Batch
from adalog.executor.question.question import Questions
from adalog.executor.question.request import QueryRequest
from adalog.executor.spark.combining import combined
from adalog.planner.model.plan import Plan
from adalog.store.database import Database
from adalog.store.values.codes import Scratch
from tests.property.model import examples

SCHEMA = """[{:db/ident :n/group :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
 {:db/ident :n/long :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
 {:db/ident :n/to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""
DATA = "[{:n/group 1 :n/long [1 2]} {:n/group 2 :n/long [2 3]}]"
WHERE = ":where [?e :n/group ?g] [?e :n/long ?v] [?f :n/group ?e] [?f :n/long ?w]"

# Rows of this with all its variables do not repeat.
APART = ":where [?e :n/group ?g] [?e :n/long ?v]"
WHERES = (WHERE, APART, APART + " [?e :n/to ?w] [?f :n/to ?e]")

AGGREGATES = (
    "?g (count ?e) (sum ?v)",
    "?g (avg ?v)",
    "?g (avg ?v) (count ?v)",
    "?g (min ?v) (max ?v)",
    "?g (min ?v) (max ?v) (min ?w) (count ?w)",
    "(min ?v) (max ?v) (count ?e) (sum ?w)",
    "(sum ?v)",
    "?g (sum ?v) (sum ?w) (count ?e)",
    "?g (max ?v) (sum ?v)",
    "?g (median ?v) (count ?v)",
    "?g (count-distinct ?v) (sum ?w)",
    "?g (max 2 ?v)",
    "?w (max ?v) (min ?w)",
)
ORDERS = (
    "?g ?v {with_} {where} :order-by [[?v :desc]] :limit 3",
    "?v ?w {with_} {where} :order-by ?w ?v :offset 2 :limit 4",
    "?v . {with_} {where} :order-by ?v",
    "?g ?v {with_} {where} :limit 4",
)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        database.transact(DATA)
        yield database


def planned(database: Database, query: str) -> tuple[Plan, Scratch]:
    snapshot = database.snapshot()
    return Compiler().compile(Questions().of(QueryRequest(query), snapshot, Cancel())), Scratch(snapshot.codes)


def tasks(plan: Plan, values: Scratch, rng: Random) -> list[Batch]:
    """Rows as tasks find them: the same one in two of them only where the plan says that rows may repeat."""
    kinds = [rng.choice(("longs", "longs", "doubles", "both")) for _ in plan.answer]
    doubles = values.intern_many([0.1, -0.5, 1e16, -1e16, 2.0])
    columns = []
    for name, kind in zip(plan.answer, kinds, strict=True):
        longs = np.array([rng.randint(-4, 4) for _ in range(60)], np.int64)
        mixed = np.array([rng.choice(doubles.tolist()) for _ in range(60)], np.int64)
        if name in ("?g", "?e") or kind == "longs":
            columns.append(longs % 3 if name == "?g" else longs)
        elif kind == "both":
            columns.append(np.where(np.array([rng.random() < 0.5 for _ in range(60)]), longs, mixed))
        else:
            columns.append(mixed)
    rows = Batch(60, dict(zip(plan.answer, columns, strict=True)))
    if plan.weighted:
        weights = np.array([rng.randint(1, 4) for _ in range(60)], np.int64)
        rows = Batch(rows.size, rows.columns, weights)
    elif not plan.distinct:
        rows = rows.distinct()
    cuts = sorted(rng.sample(range(rows.size + 1), 2))
    found = [rows.slice(low, high) for low, high in zip([0, *cuts], [*cuts, rows.size], strict=True) if high > low]
    return found if plan.weighted else [each.distinct() for each in found]


def answer(plan: Plan, values: Scratch, parts: list[Batch], *, ordered: bool) -> list[object]:
    collector = collector_for(plan, None, Cancel())
    for part in parts:
        if part.size and not collector(part):
            break
    result = shape_result(
        plan, collector.rows(), values, Cancel(), t=1, engine="SPARK", started=0.0, ordered=ordered
    )
    rows = [identity(row) for row in result.rows()]
    return rows if plan.query.order_by or ordered else sorted(rows, key=repr)


@pytest.mark.parametrize("with_", ["", ":with ?e", ":with ?e ?w", ":with ?e ?w ?f"])
@pytest.mark.parametrize("find", [*(f"{each} {{with_}} {{where}}" for each in AGGREGATES), *ORDERS])
def test_the_answer_is_the_same(database: Database, find: str, with_: str) -> None:
    rng = Random(find + with_)
    if "?w" in find + with_ or "?f" in with_:
        where = rng.choice((WHERES[0], WHERES[2]))
    else:
        where = rng.choice(WHERES[1:])
    plan, values = planned(database, f"[:find {find.format(with_=with_, where=where)}]")
    for _ in range(max(4, examples(4))):
        ordered = rng.random() < 0.5 and "limit 4" not in find
        parts = tasks(plan, values, rng)
        left = [combined(plan, part, values, Cancel(), ordered=ordered) for part in parts]
        assert all(each.size <= part.size for each, part in zip(left, parts, strict=True))
        expected = answer(plan, values, parts, ordered=ordered)
        found = answer(plan, values, left, ordered=ordered)
        if "limit 4" in find and "order" not in find:
            assert len(found) == len(expected)
        else:
            assert found == expected


@pytest.mark.parametrize(
    ("query", "most"),
    [
        (f"[:find ?g (sum ?v) (count ?e) :with ?e {APART}]", 3 * 2),
        (f"[:find ?g (min ?v) (max ?v) {WHERE}]", 3 * 4),
        (f"[:find (avg ?v) . :with ?e {APART}]", 2),
        (f"[:find ?v ?w {WHERE} :order-by [[?w :desc]] :limit 3]", 3),
    ],
)
def test_few_rows_are_left(database: Database, query: str, most: int) -> None:
    plan, values = planned(database, query)
    longs = np.arange(3000, dtype=np.int64)
    rows = Batch(3000, {name: longs % 3 if name == "?g" else longs for name in plan.answer})
    if plan.weighted:
        rows = Batch(rows.size, rows.columns, np.full(3000, 2, np.int64))
    assert 0 < combined(plan, rows, values, Cancel(), ordered=False).size <= most
