"""The compiled loop that makes rows distinct, for whoever needs no numbers of groups.

Codes are dense as a rule: a row packs into one number. Its place is a bit while there are few bits to a row, and a
slot in a table of numbers otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from adalog.executor.kernels.compiling import inlined, kernel
from adalog.executor.kernels.group_kernels import AT_ONCE, group_rows, grouped, sorted_by, table_for
from adalog.executor.kernels.range_kernels import Ints, Words
from adalog.executor.kernels.row_kernels import hash_at
from adalog.executor.kernels.seed import SEED

# Bits of a set that may be cleared for each row.
_BITS_A_ROW = 256
# Of the set that shows that rows differ.
_DENSE_BITS = 16
# Rows that are hashed as soon as looked at.
_FEW_ROWS = 1 << 12
# Packed rows are below this.
_MOST_PACKED = 2.0**62


def rows_differ(columns: Iterable[Ints], check: Callable[[], None] | None = None, at_once: int = AT_ONCE) -> bool:
    """Whether one of the columns int64[n] shows that no two rows are equal: no two of its values are, and they are
    dense. Takes a tenth of the time of `first_rows` if so, and little if not. `check`: as there."""
    for column in columns:
        n = len(column)
        # The kernel is compiled for arrays that can be written to.
        if n < _FEW_ROWS or not (column.flags.c_contiguous and column.flags.writeable):
            continue
        if check is not None:
            check()
        low, span = int(column.min()), int(column.max()) - int(column.min())
        if n <= span + 1 <= _DENSE_BITS * n:
            seen = np.zeros(span // 64 + 1, np.uint64)
            for start in range(0, n, at_once):
                if not _mark_values(column, low, seen, start, min(start + at_once, n)):
                    break
                if check is not None:
                    check()
            else:
                return True
    return False


@kernel
def _mark_values(column: Ints, low: int, seen: Words, start: int, stop: int) -> bool:
    """Sets the bits of the values from start to stop; False, at once, where one is set already."""
    for i in range(start, stop):
        x = column[i] - low
        word = x >> 6
        bit = np.uint64(1) << np.uint64(x & 63)
        if seen[word] & bit:
            return False
        seen[word] |= bit
    return True


def first_rows(columns: Ints, check: Callable[[], None] | None = None, at_once: int = AT_ONCE) -> Ints:
    """The first row of each set of equal rows, ascending. columns: int64[k, n], k and n at least 1.

    `check` is called after every so many rows `at_once`, and may raise.
    """
    k, n = columns.shape
    if check is None or n <= at_once:
        return _first_rows(columns, SEED)
    check()
    if k > 1 and sorted_by(columns, k - 1):
        return group_rows(columns, check, at_once)[1]
    packed, values = _packed(columns)
    if values >= _MOST_PACKED:
        return group_rows(columns, check, at_once)[1]
    check()
    if values <= float(_BITS_A_ROW) * n + 1024:
        return _by_bit(packed, values)
    first, table, m = np.empty(n, np.int64), table_for(n), 0
    for start in range(0, n, at_once):
        check()
        m = _by_hash(packed, SEED, table, first, m, start, min(start + at_once, n))
    return first[:m]


@inlined
def _are_equal(one: Ints, row: Any, other: Ints, place: Any) -> Any:
    same = True
    for j in range(one.shape[0]):
        if one[j, row] != other[j, place]:
            same = False
            break
    return same


@kernel
def rows_apart(old: Ints, new: Ints, are_distinct: bool, seed: Any) -> tuple[Ints, Ints]:
    """(the places of rows of `new` that `old` lacks, of rows of `old` that `new` lacks): of equal rows the first.
    old: int64[k, n], new: int64[k, m], both of few rows. are_distinct: no two rows of one of them are equal."""
    k, n = old.shape
    m = new.shape[1]
    start: Any = np.int64(0)
    if are_distinct:
        # Most are rows in the same order, of which few differ.
        while start < min(n, m) and _are_equal(old, start, new, start):
            start += 1
        while n > start and m > start and _are_equal(old, n - 1, new, m - 1):
            n -= 1
            m -= 1
    size = 16
    while size < 2 * (n + m - 2 * start):
        size *= 2
    mask = np.uint64(size - 1)
    # The numbers of rows from 1 on; those of `new` below 0.
    table = np.zeros(size, np.int64)
    stays = np.zeros(n, np.bool_)
    came, went = np.empty(m, np.int64), np.empty(n, np.int64)
    came_count = went_count = 0
    for i in range(start, n + m - start):
        is_old = i < n
        row = i if is_old else i - n + start
        at = (hash_at(old, k, row, seed) if is_old else hash_at(new, k, row, seed)) & mask
        while True:
            known = table[np.int64(at)]
            if known == 0:
                table[np.int64(at)] = row + 1 if is_old else -row - 1
                if not is_old:
                    came[came_count] = row
                    came_count += 1
                break
            one, other = (old if is_old else new), (old if known > 0 else new)
            if _are_equal(one, row, other, abs(known) - 1):
                if is_old:
                    # A repeat.
                    stays[row] = True
                elif known > 0:
                    stays[known - 1] = True
                break
            at = (at + np.uint64(1)) & mask
    for row in range(start, n):
        if not stays[row]:
            went[went_count] = row
            went_count += 1
    return came[:came_count], went[:went_count]


@kernel
def _first_rows(columns: Ints, seed: Any) -> Ints:
    """`first_rows` in one call."""
    k, n = columns.shape
    if k > 1 and sorted_by(columns, k - 1):
        return grouped(columns, seed)[1]
    packed, values = _packed(columns)
    if values >= _MOST_PACKED:
        return grouped(columns, seed)[1]
    if values <= float(_BITS_A_ROW) * n + 1024:
        return _by_bit(packed, values)
    first = np.empty(n, np.int64)
    return first[: _by_hash(packed, seed, table_for(n), first, 0, 0, n)]


@kernel
def _by_bit(packed: Ints, values: float) -> Ints:
    first = np.empty(packed.size, np.int64)
    m = 0
    seen = np.zeros(np.int64(values) // 64 + 1, np.uint64)
    for i in range(packed.size):
        word = packed[i] >> 6
        bit = np.uint64(1) << np.uint64(packed[i] & 63)
        if not seen[word] & bit:
            seen[word] |= bit
            first[m] = i
            m += 1
    return first[:m]


@kernel
def _by_hash(packed: Ints, seed: Any, table: Ints, first: Ints, m: int, start: Any, stop: Any) -> int:
    """Adds the first of equal numbers among start to stop to the m that are known; how many are known now."""
    mask = np.uint64(table.size - 1)
    # The highest bits of a product with a secret odd number (Dietzfelbinger et al. 1997, "A reliable randomized
    # algorithm for the closest-pair problem"): no two numbers meet more often than by chance.
    factor = seed | np.uint64(1)
    shift = np.uint64(64)
    size = table.size
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    for i in range(start, stop):
        at = (np.uint64(packed[i]) * factor) >> shift
        while table[np.int64(at)] >= 0 and table[np.int64(at)] != packed[i]:
            at = (at + np.uint64(1)) & mask
        if table[np.int64(at)] < 0:
            table[np.int64(at)] = packed[i]
            first[m] = i
            m += 1
    return m


@kernel
def _packed(columns: Ints) -> tuple[Ints, float]:
    """Each row as a number below the second result, equal for equal rows; none where that does not fit."""
    k, n = columns.shape
    values = 1.0
    lows = np.empty(k, np.int64)
    spans = np.empty(k, np.uint64)
    for j in range(k):
        low = columns[j, 0]
        high = low
        for i in range(1, n):
            low = min(low, columns[j, i])
            high = max(high, columns[j, i])
        lows[j] = low
        # The difference of far apart codes wraps around: compare as unsigned.
        spans[j] = np.uint64(high) - np.uint64(low)
        values *= float(spans[j]) + 1.0
    if values >= _MOST_PACKED:
        return np.empty(0, np.int64), values
    packed = np.zeros(n, np.int64)
    for j in range(k):
        if spans[j] == 0:
            continue
        size = np.int64(spans[j]) + 1
        for i in range(n):
            packed[i] = packed[i] * size + (columns[j, i] - lows[j])
    return packed, values
