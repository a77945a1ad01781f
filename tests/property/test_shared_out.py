"""Queries shared out over tasks against the oracle and the local engine, without Spark: shares, tasks, what they
leave out, and what the driver makes of it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.datalog.values import identity
from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.executor.spark import engine as engines
from adalog.store.database import Database
from tests.property.generated import transaction, transactions
from tests.property.model import SWITCHES, asked_of, check, examples, filled
from tests.spark.spark_in_process import spark_in_process

NUMBERS = """[{:db/ident :n/group :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :n/long :db/valueType :db.type/long :db/cardinality :db.cardinality/many}
 {:db/ident :n/double :db/valueType :db.type/double :db/cardinality :db.cardinality/many}
 {:db/ident :n/to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""

FINDS = (
    "?g (count ?e) (sum ?v)",
    "?g (avg ?v)",
    "?g (avg ?v) (count ?v)",
    "?g (min ?v) (max ?v)",
    "(min ?v) (max ?v) (count ?e) (sum ?w)",
    "(sum ?v)",
    "?g (sum ?v) (sum ?w) (count ?e)",
    "?g (max ?v) (sum ?v)",
    "?g (median ?v) (count ?v)",
    "?g (count-distinct ?v) (sum ?w)",
    "?g (max 2 ?v)",
    "?w (max ?v) (min ?w)",
    "?g ?v",
    "?v",
    "?e ?w",
    "?v .",
    "[?g ?v]",
)
WITHS = ("", ":with ?e", ":with ?e ?w", ":with ?w")
VALUES = {
    "longs": "[?e :n/long ?v]",
    "doubles": "[?e :n/double ?v]",
    "both": "(or [?e :n/long ?v] [?e :n/double ?v])",
}
ENDS = ("", ":order-by ?g", ":order-by [[?v :desc]] :limit 3", ":order-by ?v :offset 2 :limit 4", ":limit 5")


def test_shared_out_queries_answer_as_the_oracle_does(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(2)
    with Database.open(":memory:") as database, spark_in_process(monkeypatch) as engine:
        pool = Pool(database, PoolSettings(threads=2), spark=engine)
        try:
            log = filled(database, transactions(rng))
            for _ in range(examples(12)):
                log.datoms.extend(database.transact(transaction(rng)).datoms)
                facts = log.facts()
                for _ in range(4):
                    check(pool, database.snapshot(), facts, asked_of(facts, rng), SWITCHES[:1], engine="SPARK")
        finally:
            pool.close()


def _numbers(values: list[float], kind: type) -> str:
    return " ".join(repr(value) for value in values if type(value) is kind)


@settings(max_examples=examples(20))
@given(data=st.data())
def test_what_tasks_leave_out_changes_no_answer(data: st.DataObject) -> None:
    """Aggregates and limits over longs, doubles and both: the same rows in the same order."""
    rows = data.draw(
        st.lists(
            st.tuples(
                st.integers(1, 3),
                st.lists(
                    st.one_of(st.integers(-3, 3), st.sampled_from([2**58, 0.1, 1e16, -1e16])),
                    min_size=1,
                    max_size=4,
                ),
                st.integers(1, 8),
            ),
            min_size=1,
            max_size=14,
        )
    )
    forms = " ".join(
        f'{{:db/id "e{i}" :n/group {g} :n/long [{_numbers(vs, int)}] :n/double [{_numbers(vs, float)}]'
        f' :n/to ["e{t % len(rows)}"]}}'
        for i, (g, vs, t) in enumerate(rows)
    )
    find, with_, end = (data.draw(st.sampled_from(each)) for each in (FINDS, WITHS, ENDS))
    values = data.draw(st.sampled_from(sorted(VALUES)))
    if "(" in find or "." in find or "[" in find:
        end = end if "(" in find and end in ("", ":limit 5") else ""
    named = {name for name in ("?g", "?v") if f" {name} " in f" {find} "}
    if ":order-by" in end and not ({"?g", "?v"} & set(end.replace("[", " ").replace("]", " ").split())) <= named:
        end = ""
    query = f"[:find {find} {with_} :where [?e :n/group ?g] {VALUES[values]} [?e :n/to ?f] [?f :n/group ?w] {end}]"
    with pytest.MonkeyPatch.context() as monkeypatch, Database.open(":memory:") as database:
        database.transact(NUMBERS)
        database.transact(f"[{forms}]")
        # Few tasks, so that each has something to leave out.
        monkeypatch.setattr(engines, "_SHARES_PER_CORE", 1)
        with spark_in_process(monkeypatch) as engine:
            pool = Pool(database, PoolSettings(threads=1), spark=engine)
            try:
                local, shared = (
                    pool.run(QueryRequest(query, engine=each, ordered=":limit" not in end))
                    for each in ("LOCAL", "SPARK")
                )
            finally:
                pool.close()
    ordered = ":limit" not in end or ":order-by" in end
    if ordered:
        assert [identity(row) for row in shared.rows()] == [identity(row) for row in local.rows()]
    else:
        assert len(shared) == len(local)
