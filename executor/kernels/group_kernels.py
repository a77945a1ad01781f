"""The compiled loops over whole rows: numbering equal ones alike, and what is summed or best in each group.

As the other kernels: int64 columns only, the interpreter lock released, kept on disk once compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from adalog.executor.kernels.compiling import inlined, kernel
from adalog.executor.kernels.range_kernels import Ints
from adalog.executor.kernels.seed import SEED

AT_ONCE: Final = 1 << 18
"""Rows that a kernel hashes in one call: some tens of milliseconds where every row misses the caches."""


@inlined
def mix(h: Any, x: Any, seed: Any) -> Any:
    """A hash and one more word.

    The first factor is the process's secret. It moves differences upwards only, so a second round brings them back
    down to the bits that become a place.
    """
    h = (h ^ np.uint64(x)) * (seed | np.uint64(1))
    h = (h ^ (h >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(29))


@kernel
def sorted_by(columns: Ints, k: int) -> bool:
    """Whether the rows are in order of their first k columns."""
    for i in range(1, columns.shape[1]):
        for j in range(k):
            if columns[j, i] != columns[j, i - 1]:
                if columns[j, i] < columns[j, i - 1]:
                    return False
                break
    return True


@kernel
def is_sorted(columns: Ints) -> bool:
    """Whether the rows of int64[k, n] ascend."""
    return sorted_by(columns, columns.shape[0])


# Loops where NumPy has a function: what it has takes longer to compile than all the rest of a kernel.


@kernel
def _unset(n: Any) -> Ints:
    """int64[n] of -1."""
    places = np.empty(n, np.int64)
    for i in range(n):
        places[i] = -1
    return places


@kernel
def _span(column: Ints) -> tuple[int, int]:
    """(the least of some codes, the greatest)."""
    low = high = column[0]
    for x in column:
        low = min(low, x)
        high = max(high, x)
    return low, high


@kernel
def _by_place(columns: Ints, group: Ints, first: Ints) -> int:
    """Groups the rows without a hash where their last column's codes are dense; the number of groups, or -1."""
    k, n = columns.shape
    m = 0
    if k == 1 and n > 0:
        low, high = _span(columns[0])
        # The difference of far apart codes wraps around: compare as unsigned.
        span = np.uint64(high) - np.uint64(low)
        if span < np.uint64(4 * n + 1024):
            seen = _unset(np.int64(span) + 1)
            for i in range(n):
                x = columns[0, i] - low
                if seen[x] < 0:
                    seen[x] = m
                    first[m] = i
                    m += 1
                group[i] = seen[x]
            return m
    if k > 1 and n > 0 and sorted_by(columns, k - 1):
        # Rows come in runs that agree in all columns but the last: remember where each last value was seen, and
        # whether that was in this run.
        low, high = _span(columns[k - 1])
        span = np.uint64(high) - np.uint64(low)
        if span < np.uint64(4 * n + 1024):
            seen = _unset(np.int64(span) + 1)
            run = 0
            for i in range(n):
                if i > 0:
                    for j in range(k - 1):
                        if columns[j, i] != columns[j, i - 1]:
                            run = m
                            break
                x = columns[k - 1, i] - low
                if seen[x] < run:
                    seen[x] = m
                    first[m] = i
                    m += 1
                group[i] = seen[x]
            return m
    return -1


@kernel
def table_for(n: int) -> Ints:
    """An empty table with room for n rows."""
    size = 16
    while size < 2 * n:
        size <<= 1
    return _unset(size)


@kernel
def _by_hash(columns: Ints, seed: Any, table: Ints, group: Ints, first: Ints, m: int, start: Any, stop: Any) -> int:
    """Groups rows start to stop, with m groups known of those before; the number of groups now."""
    k = columns.shape[0]
    mask = np.uint64(table.size - 1)
    for i in range(start, stop):
        h = seed
        for j in range(k):
            h = mix(h, columns[j, i], seed)
        slot = h & mask
        while True:
            g = table[np.int64(slot)]
            if g < 0:
                table[np.int64(slot)] = m
                first[m] = i
                group[i] = m
                m += 1
                break
            r = first[g]
            equal = True
            for j in range(k):
                if columns[j, r] != columns[j, i]:
                    equal = False
                    break
            if equal:
                group[i] = g
                break
            slot = (slot + np.uint64(1)) & mask
    return m


@kernel
def grouped(columns: Ints, seed: Any) -> tuple[Ints, Ints]:
    """`group_rows` in one call."""
    n = columns.shape[1]
    group = np.empty(n, np.int64)
    first = np.empty(n, np.int64)
    m = _by_place(columns, group, first)
    if m < 0:
        m = _by_hash(columns, seed, table_for(n), group, first, 0, 0, n)
    return group, first[:m]


def group_rows(columns: Ints, check: Callable[[], None] | None = None, at_once: int = AT_ONCE) -> tuple[Ints, Ints]:
    """Numbers equal rows alike, in order of first occurrence: (group int64[n], first row of each group int64[m]).

    columns: int64[k, n]. `check` is called after every so many rows `at_once`, and may raise.
    """
    n = columns.shape[1]
    if check is None or n <= at_once:
        return grouped(columns, SEED)
    group, first = np.empty(n, np.int64), np.empty(n, np.int64)
    check()
    m = _by_place(columns, group, first)
    if m < 0:
        m, table = 0, table_for(n)
        for start in range(0, n, at_once):
            check()
            m = _by_hash(columns, SEED, table, group, first, m, start, min(start + at_once, n))
    return group, first[:m]


@kernel
def sum_by_group(group: Ints, weight: Ints, groups: int) -> Ints:
    """Sums int64 weights per group: int64[groups]."""
    total = np.zeros(groups, np.int64)
    for i in range(group.size):
        total[group[i]] += weight[i]
    return total


@kernel
def best_by_group(group: Ints, values: Ints, groups: int, sign: int) -> Ints:
    """int64[groups]: per group its least value where sign is 1, its greatest where it is -1. No group is empty."""
    best = np.empty(groups, np.int64)
    known = np.zeros(groups, np.bool_)
    for i in range(group.size):
        g = group[i]
        if not known[g] or sign * values[i] < sign * best[g]:
            best[g] = values[i]
            known[g] = True
    return best
