"""What the language has besides patterns, on Spark's tasks as here: each query has the same answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import identity
from adalog.store.database import Database
from tests.spark.spark_in_process import spark_in_process
from tests.support import World, pool_on

SCHEMA = """[{:db/ident :of :db/valueType :db.type/ref} {:db/ident :n :db/valueType :db.type/long}
             {:db/ident :d :db/valueType :db.type/bigdec} {:db/ident :s :db/valueType :db.type/string}
             {:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"""

WHERE = "[?e :of ?o] [?e :n ?n]"
QUERIES = (
    f"[:find ?e ?s :where {WHERE} (optional [?e :s ?s])]",
    f"[:find ?e ?s ?d :where {WHERE} (optional [?e :s ?s] [?e :d ?d] [(< 2M ?d)])]",
    f"[:find ?o (count ?s) :with ?e :where {WHERE} (optional [?e :s ?s])]",
    f"[:find ?o (sum ?n) :with ?e :where {WHERE} :having [(> (sum ?n) 40) (< (count ?e) 9)]]",
    f"[:find ?o :with ?e ?n :where {WHERE} :having [(> (/ (sum ?n) (count ?e)) 4)]]",
    f"[:find ?o (/ (sum ?n) (count ?e)) :with ?e :where {WHERE} :order-by [(sum ?n) :desc ?o] :limit 3]",
    f'[:find ?e (if (> ?n 5) "much" "little") (case ?n 1 :one (2 3) :few :many) :where {WHERE}]',
    f"[:find ?e ?k :where {WHERE} (optional [?e :s ?s]) [(coalesce ?s (cond (even? ?n) 0 :else ?o)) ?k]]",
    f"[:find ?e :where {WHERE} [(in ?n [1 2 7])] [(not-in ?o #{{1001}})]]",
    f"[:find ?e ?n :where [(in ?n [1 2 7])] {WHERE} [(between ?n 2 8)]]",
    '[:find ?e :where [?e :s ?s] [(like ?s "name 1%")]]',
    f"[:find ?o (sum (* ?d (- 1 ?n))) :with ?e :where {WHERE} [?e :d ?d]]",
    f"[:find ?o ?m :where (mean ?o ?m) :rules [[(mean ?o (quot (sum ?n) (count ?e))) :with ?e {WHERE}]]]",
    "[:find ?e ?w :where (worth ?e ?w) :rules [[(worth ?e (* ?d (+ ?n 1))) [?e :n ?n] [?e :d ?d]]]]",
    "[:find ?a (count ?b) :where [?a :to+ ?b]]",
    "[:find ?a ?m :where (far ?a ?m) :rules [[(far ?a (max (+ ?n 1))) [?a :to ?b] [?b :n ?n]]]]",
    f"[:find ?e ?q :where {WHERE} [?e :d ?d] [(quot 100 ?n) ?q]]",
)
"""No entity that has :d has a zero of :n."""


def entity(i: int) -> str:
    of, n, to = 1000 + i % 7, i % 11, 1 + i * 7 % 59
    price = f":d {i}.5M" if i % 2 and n else ""
    name = f':s "name {i}"' if i % 3 else ""
    return f"{{:db/id {i} :of {of} :n {n} :to {to} {price} {name}}}"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with (
        pytest.MonkeyPatch.context() as patch,
        Database.open(":memory:") as database,
        spark_in_process(patch) as spark,
        pool_on(database, spark) as pool,
    ):
        world = World(database, pool)
        world.tx(SCHEMA, f"[{' '.join(map(entity, range(1, 60)))}]")
        yield world


@pytest.mark.parametrize("query", QUERIES)
def test_tasks_answer_as_this_process_does(world: World, query: str) -> None:
    here, there = (world.run(query, engine=engine) for engine in ("LOCAL", "SPARK"))
    assert (here.engine, there.engine) == ("LOCAL", "SPARK")
    mine, theirs = ([tuple(map(identity, row)) for row in each.rows()] for each in (here, there))
    assert mine
    assert len(theirs) == len(set(theirs))
    assert theirs == mine if ":order-by" in query else set(theirs) == set(mine)


def test_a_row_that_is_needed_is_refused_there_too(world: World) -> None:
    with pytest.raises(AdalogError, match="divides by zero"):
        world.run("[:find ?e ?q :where [?e :n ?n] [(quot 100 ?n) ?q]]", engine="SPARK")
