"""The compiled loops over facts that are kept: rows found by some of their columns, through a table of row numbers.

A table is open addressing, a power of two long and more than half empty; 0 is an empty place, r + 1 stands for row
r. `places` are the columns by which its rows are told apart; `keys`, int64[k, n], are rows of just these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adalog.executor.kernels.compiling import inlined, kernel
from adalog.executor.kernels.group_kernels import mix
from adalog.executor.kernels.range_kernels import Ints
from adalog.executor.kernels.row_kernels import hash_at


@inlined
def _same(rows: Ints, places: Ints, row: Any, keys: Ints, i: Any) -> Any:
    same = True
    for j in range(places.size):
        if rows[places[j], row] != keys[j, i]:
            same = False
            break
    return same


@kernel
def find(table: Ints, rows: Ints, places: Ints, keys: Ints, seed: Any) -> Ints:
    """int64[n]: the row of each key, -1 where there is none."""
    k, n = keys.shape
    mask = np.uint64(table.size - 1)
    found = np.empty(n, np.int64)
    for i in range(n):
        at = hash_at(keys, k, i, seed) & mask
        found[i] = -1
        while table[np.int64(at)] != 0:
            row = table[np.int64(at)] - 1
            if _same(rows, places, row, keys, i):
                found[i] = row
                break
            at = (at + np.uint64(1)) & mask
    return found


@kernel
def marked(table: Ints, rows: Ints, places: Ints, marks: Any, mark: int, keys: Ints, seed: Any) -> Any:
    """bool[n]: for which keys there is a row that has one of some marks."""
    k, n = keys.shape
    mask = np.uint64(table.size - 1)
    found = np.zeros(n, np.bool_)
    for i in range(n):
        at = hash_at(keys, k, i, seed) & mask
        while table[np.int64(at)] != 0:
            row = table[np.int64(at)] - 1
            if _same(rows, places, row, keys, i):
                found[i] = marks[row] & mark != 0
                break
            at = (at + np.uint64(1)) & mask
    return found


@kernel
def enter(table: Ints, rows: Ints, count: int, keys: Ints, found: Ints, seed: Any) -> int:
    """Appends the rows that are not known, of all columns, and notes in `found` where each one is; the new
    count."""
    k, n = keys.shape
    mask = np.uint64(table.size - 1)
    for i in range(n):
        at = hash_at(keys, k, i, seed) & mask
        while True:
            known = table[np.int64(at)]
            if known == 0:
                for j in range(k):
                    rows[j, count] = keys[j, i]
                found[i] = count
                count += 1
                table[np.int64(at)] = count
                break
            same = True
            for j in range(k):
                if rows[j, known - 1] != keys[j, i]:
                    same = False
                    break
            if same:
                found[i] = known - 1
                break
            at = (at + np.uint64(1)) & mask
    return count


@kernel
def put(table: Ints, rows: Ints, places: Ints, which: Ints, seed: Any) -> int:
    """Has each of the rows `which` stand for its key, in the place of any before it; how many keys are new."""
    mask = np.uint64(table.size - 1)
    new = 0
    for i in range(which.size):
        row = which[i]
        at = seed
        for j in range(places.size):
            at = mix(at, rows[places[j], row], seed)
        at = at & mask
        while True:
            known = table[np.int64(at)]
            same = known != 0
            if same:
                for j in range(places.size):
                    if rows[places[j], known - 1] != rows[places[j], row]:
                        same = False
                        break
            if known == 0 or same:
                table[np.int64(at)] = row + 1
                new += known == 0
                break
            at = (at + np.uint64(1)) & mask
    return new
