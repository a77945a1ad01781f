"""Joins over graphs too large for the oracle, against set comprehensions: chunks, threads and counts by ranges."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.pool import Pool, PoolSettings
from adalog.executor.question.request import QueryRequest
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from tests.property.model import examples

SCHEMA = "[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]"
SWITCHES = (Options(), Options(reorder=False), Options(project=False), Options(budget=7))


def triangles(edges, after):
    return {(a, b, c) for a, b in edges for c in after[b] if c in after[a]}


def cycles(edges, after):
    return {(a, b, c) for a, b in edges for c in after[b] if a in after[c]}


def paths(edges, after):
    return {(a, d) for a, b in edges for c in after[b] for d in after[c]}


def strangers(edges, after):
    return {(a, c) for a, b in edges for c in after[b] if c not in after[a] and a != c}


def near(edges, after):
    return set(edges) | {(a, c) for a, b in edges for c in after[b]}


def sinks(edges, after):
    return {(b,) for _, b in edges if not after[b]}


def counted(edges, after):
    return {(sum(len(after[c]) for _, b in edges for c in after[b]),)} - {(0,)}


def by_start(edges, after):
    totals = {a: len({(b, c) for b in after[a] for c in after[b]}) for a, _ in edges}
    return {(a, total) for a, total in totals.items() if total}


QUERIES = {
    triangles: "[:find ?a ?b ?c :where [?a :to ?b] [?b :to ?c] [?a :to ?c]]",
    cycles: "[:find ?a ?b ?c :where [?a :to ?b] [?b :to ?c] [?c :to ?a]]",
    paths: "[:find ?a ?d :where [?a :to ?b] [?b :to ?c] [?c :to ?d]]",
    strangers: "[:find ?a ?c :where [?a :to ?b] [?b :to ?c] (not [?a :to ?c]) [(not= ?a ?c)]]",
    near: "[:find ?a ?c :where (or-join [?a ?c] [?a :to ?c] (and [?a :to ?b] [?b :to ?c]))]",
    sinks: "[:find ?b :where [_ :to ?b] (not [?b :to _])]",
    counted: "[:find (count ?d) :with ?a ?b ?c :where [?a :to ?b] [?b :to ?c] [?c :to ?d]]",
    by_start: "[:find ?a (count ?c) :with ?b :where [?a :to ?b] [?b :to ?c]]",
}


@pytest.mark.parametrize("threads", [1, 2])
@settings(max_examples=examples(4))
@given(st.integers(0, 2**48))
def test_graphs(threads, seed):
    rng = Random(seed)
    nodes = rng.choice((5, 20, 60))
    edges = {
        (min(rng.randint(1, nodes), rng.randint(1, nodes)), rng.randint(1, nodes))
        for _ in range(rng.choice((10, 300)))
    }
    with Database.open(":memory:") as database:
        database.transact(SCHEMA)
        gone = {(rng.randint(1, nodes), rng.randint(1, nodes)) for _ in range(20)}
        database.transact(f"[{' '.join(f'[:db/add {a} :to {b}]' for a, b in edges | gone)}]")
        database.transact(f"[{' '.join(f'[:db/retract {a} :to {b}]' for a, b in gone - edges)}]")
        pool = Pool(database, PoolSettings(threads=threads))
        after = {node: {b for a, b in edges if a == node} for node in range(1, nodes + 1)}
        for expected, text in QUERIES.items():
            wanted = expected(edges, after)
            for options in SWITCHES:
                rows = pool.run(QueryRequest(text, (), database.snapshot(), options=options)).rows()
                assert len(rows) == len(set(rows)), (text, options)
                assert set(rows) == wanted, (text, options)
        pool.close()
