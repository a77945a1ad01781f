"""What a query may cost: bytes counted before they are held, and looks at the deadline wherever it works."""

from __future__ import annotations

import gc
import tracemalloc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.answer.aggregates import aggregated
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.join.batch import Batch
from adalog.executor.join.driver import Driver
from adalog.executor.pool import Pool, PoolSettings, PullRequest
from adalog.store.database import Database
from adalog.store.values.codes import Codes, Scratch
from tests.support import World

MIB = 1 << 20
N = 1500


@pytest.fixture(scope="module")
def small() -> Iterator[World]:
    """1,500 numbers and a ring of them, asked by queries that hold 8 MiB each and 16 together."""
    with Database.open(":memory:") as database:
        database.transact("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
        database.transact("[" + " ".join(f"[:db/add {i} :n {i}]" for i in range(1, N + 1)) + "]")
        for step in (1, 7, 100):
            edges = " ".join(f"[:db/add {i} :to {(i + step) % N + 1}]" for i in range(1, N + 1))
            database.transact(f"[{edges}]")
        pool = Pool(database, PoolSettings(memory_bytes=16 * MIB))
        yield World(database, pool)
        pool.close()


PAIRS = "[?a :n ?x] [?b :n ?y]"
SUM = "[(* ?x 10000) ?w] [(+ ?w ?y) ?z]"
REACH = "[(r ?a ?b) [?a :to ?b]] [(r ?a ?c) (r ?a ?b) [?b :to ?c]]"
SLOWLY = "[(r ?a ?b) [?a :to ?b]] [(r ?a ?c) (r ?a ?b) (r ?b ?c)]"
ATTACKS = {
    "rows": f"[:find ?x ?y :where {PAIRS}]",
    "rand n": f"[:find ?x (rand 1000000 ?y) :where {PAIRS} [(< ?x 50)] [(< ?y 20)]]",
    "rand n of few": "[:find ?x (rand 100000 ?x) :where [_ :n ?x] [(< ?x 40)]]",
    "sample": f"[:find (sample 1000000 ?z) :where {PAIRS} {SUM}]",
    "min n": f"[:find (min 1000000 ?z) :where {PAIRS} {SUM}]",
    "distinct": f"[:find (distinct ?z) :where {PAIRS} {SUM}]",
    "count-distinct": f"[:find (count-distinct ?z) :where {PAIRS} {SUM}]",
    "median": f"[:find (median ?z) :where {PAIRS} {SUM}]",
    "groups": f"[:find ?z (count ?a) :where {PAIRS} {SUM}]",
    "strings": f'[:find (count ?s) :where {PAIRS} [(str ?x "-" ?y) ?s]]',
    "collections": f"[:find (count ?s) :where {PAIRS} [(vector ?x ?y) ?s]]",
    "order": f"[:find ?x ?y :where {PAIRS} [(< ?x 90)] :order-by ?y ?x]",
    "closure": f"[:find (count ?b) . :with ?a :where (r ?a ?b) :rules [{REACH}]]",
    "recursion": f"[:find (count ?b) . :with ?a :where (r ?a ?b) :rules [{SLOWLY}]]",
    "within": f"[:find (count ?v) . :where [(q [:find ?x ?y :where {PAIRS}]) ?v]]",
    "grouped within": f"[:find ?a (count ?v) :where [?a :n _] [(q [:find ?x ?y :in ?a :where {PAIRS}] ?a) ?v]]",
    "pull": "[:find (pull ?a [* {:to [* {:to [* {:to [*]}]}]} {:_to [* {:_to [*]}]}]) :where [?a :n]]",
    "paths": "[:find (pull ?a [{:to ...}]) :where [?a :n 1]]",
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_query_holds_no_more_than_its_share(small: World, name: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(AdalogError) as caught:
            small.run(ATTACKS[name], cached=False)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.code is Code.LIMIT_EXCEEDED
    assert peak < 96 * MIB, "chunks of a join, and what is loaded or kept for the next query, come on top of the 8"
    assert small.pool.memory.held == 0


@pytest.mark.parametrize("name", ["pull", "paths"])
def test_a_pull_holds_no_more_than_its_share(small: World, name: str) -> None:
    pattern = ATTACKS[name].split("(pull ?a ")[1].split(") :where")[0]
    with pytest.raises(AdalogError) as caught:
        small.pool.pull(PullRequest(pattern, list(range(1, N + 1))))
    assert caught.value.code is Code.LIMIT_EXCEEDED
    assert small.pool.memory.held == 0


def test_while_others_hold_the_memory_a_query_is_asked_for_again(small: World) -> None:
    memory = small.pool.memory
    memory.draw(memory.total, is_first=True)
    with pytest.raises(AdalogError) as caught:
        small.run("[:find (sum ?x) . :where [_ :n ?x]]", cached=False)
    assert (caught.value.code, caught.value.retryable) == (Code.RATE_LIMITED, True)
    memory.put_back(memory.total)
    assert small.q("[:find (sum ?x) . :where [_ :n ?x]]") == str(N * (N + 1) // 2)


def test_pulls_of_answers_that_are_kept_draw_on_the_memory(small: World) -> None:
    pool = Pool(small.database, PoolSettings(memory_bytes=16 * MIB), cache=CacheSettings())
    kept = World(small.database, pool)
    query = "[:find (pull ?a [:n {:to [:n {:to [:n]}]}]) :where [?a :n]]"
    kept.run("[:find ?a :where [?a :n]]")
    try:
        pool.memory.draw(pool.memory.total, is_first=True)
        with pytest.raises(AdalogError) as caught:
            kept.run(query)
        assert caught.value.code is Code.RATE_LIMITED
        pool.memory.put_back(pool.memory.total)
        assert len(kept.run(query)) == N
        with pytest.raises(AdalogError) as caught:
            kept.run(ATTACKS["pull"])
        assert caught.value.code is Code.LIMIT_EXCEEDED
        assert "the share of one query" in caught.value.message
        assert pool.memory.held == 0
    finally:
        pool.close()


class Looks(Cancel):
    """Counts the looks at the deadline, and stops after some of them."""

    def __init__(self, stop: int | None = None) -> None:
        super().__init__()
        self.looks = 0
        self.stop = stop

    def check(self) -> None:
        self.looks += 1
        if self.looks == self.stop:
            self.cancel()
        super().check()


@pytest.fixture(scope="module")
def strings() -> tuple[Batch, Scratch]:
    values = Scratch(Codes())
    texts = values.intern_many([f"text {i * 7919 % 100_003}" for i in range(100_003)])
    numbers = values.intern_many([i * 7919 % 100_003 + 0.5 for i in range(100_003)])
    return Batch(len(texts), {"?s": texts, "?d": numbers, "?g": np.arange(len(texts)) // 10}), values


AGGREGATES = [
    "(distinct ?s)",
    "(min ?s)",
    "(max 5 ?s)",
    "(min 100000 ?s)",
    "(sample 5 ?s)",
    "(median ?d)",
    "(stddev ?d)",
]


@pytest.mark.parametrize("written", AGGREGATES)
@pytest.mark.parametrize("grouped", ["", "?g "])
def test_an_aggregate_looks_at_the_deadline(strings: tuple[Batch, Scratch], written: str, grouped: str) -> None:
    batch, values = strings
    elements = _elements(f"[:find {grouped}{written} :where [?e :s ?s] [?e :d ?d] [?e :g ?g]]")
    cancel = Looks()
    aggregated(batch, elements, values, cancel)
    assert cancel.looks > 20
    assert cancel.budget.held == 0
    with pytest.raises(AdalogError):
        aggregated(batch, elements, values, Looks(stop=cancel.looks // 2))


def _elements(query: str) -> Any:
    from adalog.datalog.parsing.parser import parse_query

    return parse_query(query).find.elements


def test_rows_are_sorted_with_looks_at_the_deadline(strings: tuple[Batch, Scratch]) -> None:
    from adalog.executor.answer.result import sorted_rows

    batch, values = strings
    cancel = Looks()
    order = sorted_rows([batch.columns["?s"]], values, [(0, False)], None, cancel)
    assert cancel.looks > 20
    assert cancel.budget.held == 0
    shown = values.decode_many(batch.columns["?s"][order])
    assert shown == sorted(shown)


def test_a_pull_looks_at_the_deadline(small: World) -> None:
    cancel = Looks(stop=4)
    with pytest.raises(AdalogError) as caught:
        small.pool.pull(PullRequest("[:n {:to [:n {:to [:n]}]}]", [1, 2, 3]), cancel)
    assert caught.value.code is Code.CANCELLED


def test_a_failed_query_leaves_nothing(small: World, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[weakref.ref[Any]] = []

    class Seen(Driver):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            alive.append(weakref.ref(self))

        def _step(self, depth: int, batch: Batch) -> None:
            alive.extend(weakref.ref(column) for column in batch.columns.values() if column.base is None)
            super()._step(depth, batch)

    monkeypatch.setattr("adalog.executor.evaluation.local.Driver", Seen)
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(AdalogError) as caught:
            small.run(ATTACKS["rows"], cached=False)
        assert caught.value.code is Code.LIMIT_EXCEEDED
        assert len(alive) > 1
        assert [each() for each in alive if each() is not None] == [], "even while the failure is held"
    finally:
        gc.enable()


def test_failures_on_threads_leave_nothing(small: World) -> None:
    gc.collect()
    gc.disable()
    try:
        before = _arrays()
        for _ in range(3):
            with pytest.raises(AdalogError):
                small.run(ATTACKS["rows"], cached=False)
        assert _arrays() <= before + 2 * MIB
    finally:
        gc.enable()


def _arrays() -> int:
    """Bytes that are traced by the collector's own list: batches' dictionaries lead to their columns."""
    found = {}
    for each in gc.get_objects():
        if type(each) is dict:
            found.update((id(x), x.nbytes) for x in each.values() if type(x) is np.ndarray and x.base is None)
    return sum(found.values())
