"""Compiles the kernels and keeps them on disk, so that no first query waits: `python -m executor.warm`.

A server loads them from there with `load_kernels` before it says that it is ready.
"""

from __future__ import annotations

import numpy as np

from executor import dense_rows, group_kernels, kernels, row_kernels
from executor.distinct_rows import first_rows
from executor.pool import Pool
from executor.request import Request
from executor.seed import SEED
from executor.sum_kernels import exact_sums
from store.database import Database


def main() -> None:
    """Compiles every kernel, and sees that rules need no other."""
    load_kernels()
    _recursions()


def load_kernels() -> None:
    """Calls every kernel once, with the types it is called with."""
    few = np.arange(4, dtype=np.int64)
    ends = few + 1
    none = np.empty(0, np.int64)
    src = np.zeros(4, np.uint8)
    dense = np.empty(0, np.int32)
    kernels.lookup(few, dense, np.arange(5), none, np.zeros(1, np.int64), few)
    kernels.contains_key(few, dense, few)
    kernels.holds_pairs(few, dense, np.arange(5), few, few, few)
    filter_, marks = np.zeros(2, np.uint64), np.zeros(4, np.bool_)
    kernels.mark_touched(few, filter_, few, marks)
    kernels.decide(few, filter_, np.arange(5), few, marks, few, few, marks)
    kernels.decide_keys(few, filter_, few, few, marks)
    kernels.find_in(few, few, ends, few)
    kernels.contains(few, none, src, few, ends, few)
    kernels.expand(few, none, src, few, ends, 4)
    kernels.scatter(few, few, ends, few, np.zeros(4, np.int64), 0)
    pairs = np.stack((few, few))
    group_kernels.is_sorted(pairs)
    group_kernels.group_rows(pairs)
    group_kernels.sum_by_group(few, few, 4)
    group_kernels.best_by_group(few, few, 4, 1)
    exact_sums(few.astype(np.float64), few, ends, 4, True)
    first_rows(pairs)
    # What is large is gone through in pieces: rows that are in order, that are not, and numbers far apart.
    for rows in (pairs, pairs[:, ::-1].copy(), np.stack((few[::-1] << 57, few)), np.stack((few[::-1] << 40, few))):
        group_kernels.group_rows(rows, _unwatched, 2)
        first_rows(rows, _unwatched, 2)
    for k in (2, 3, 4, 5):
        kernels.intersect(
            (few, none) * k,
            np.stack([src] * k),
            np.stack([few] * k),
            np.stack([ends] * k),
            np.zeros(0, np.uint64),
            0,
            True,
            np.empty(5, np.int64),
            np.empty(5, np.int64),
        )
    table, store = np.zeros(16, np.int64), np.zeros((3, 16), np.int64)
    row_kernels.insert(table, store[:2].copy(), 0, pairs, SEED)
    row_kernels.rehash(table, store, 2, 0, 0, SEED)
    row_kernels.improve(table, store, np.zeros(16, np.bool_), 0, np.stack((few, few, few)), 2, 0, 0, 1, SEED)
    row_kernels.walk(
        few,
        dense,
        np.arange(5),
        few,
        none,
        np.zeros(1, np.int64),
        none,
        1,
        table,
        store[:2].copy(),
        0,
        0,
        0,
        0,
        1,
        SEED,
    )
    row_kernels.reach(np.arange(5), few, none, np.zeros(1, np.int64), 0, 0, few.copy(), few.copy(), 1)
    bits, sizes = np.zeros(1, np.uint64), np.full(2, 4, np.int64)
    dense_rows.mark(bits, np.zeros(2, np.int64), sizes, pairs, 0)
    dense_rows.insert(bits, np.zeros(2, np.int64), sizes, store[:2].copy(), 0, pairs)


def _unwatched() -> None:
    """The check of what nobody cancels."""


def _recursions() -> None:
    """Runs rules over a ring of so many nodes that each way of evaluating them is taken."""
    edges = " ".join(f"[:db/add {i} :to {i % 100 + 1}]" for i in range(1, 101))
    steps = ("(r ?a ?b) [?b :to ?c]", "(r ?c ?b) (r ?b ?a)")
    distance = "[(d ?a (min ?n)) [?a :to 1] [(ground 1) ?n]] [(d ?a (min ?n)) [?a :to ?b] (d ?b ?m) [(inc ?m) ?n]]"
    with Database.open(":memory:") as database:
        database.transact("[{:db/ident :to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]")
        database.transact(f"[{edges}]")
        pool = Pool(database)
        for step in steps:
            rules = f":rules [[(r ?a ?b) [?a :to ?b]] [(r ?a ?c) {step}]]"
            pool.run(Request(f"[:find (count ?b) :with ?a :where (r ?a ?b) {rules}]"))
            pool.run(Request(f"[:find ?b :where (r 1 ?b) {rules}]"))
        pool.run(Request(f"[:find ?a ?n :where (d ?a ?n) :rules [{distance}]]"))
        pool.close()


if __name__ == "__main__":
    main()
