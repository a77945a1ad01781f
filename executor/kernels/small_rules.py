"""Small recursions in one call: the strata of a program of rules, each to its fixpoint, and the join that reads
them.

Rules are programs of `small_join`. What they derive goes into tables: rows in the order in which they came, found
by a hash. A join reads a version of a table as the levels of a sorted relation, written before a round for each
order that its rules read. A version is a range of rows, as in `executor.facts`: ALL, OLDER, or those of the last
round.

`words`, as `executor.evaluation.small_rules` writes them, are int64s:
    HEAD numbers: of strata, where the first one is; where the query's join is; of tables, where they are; of sorts,
    where they are; of places, where they are
    a table: its arity, and where in the arena it is
    a sort: the table, the version, the number of columns, where in the arena its levels are, the columns
    a place: of a word, and of the sort whose levels the word is to name
    a stratum: where the next one is, and its first rule with recursion; the numbers of its rules without it, of
    those with it, of sorts before each round, of sorts at its end, of its tables; these sorts, those sorts, these
    tables; the rules, each after the one before it
    a rule: where the next one is; where its program is, its records, the table it derives, the table whose rows of
    the last round it needs, or -1; the numbers of what it is given, and of columns that it derives; the places of
    the former in `start`; the slots of the latter
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adalog.executor.kernels.compiling import kernel
from adalog.executor.kernels.group_kernels import mix
from adalog.executor.kernels.range_kernels import Ints
from adalog.executor.kernels.small_join import CANDIDATES, WORK, extend

HEAD: Final = 9
SORT: Final = 10
"""Words of a sort."""
MOST_COLUMNS: Final = SORT - 4
STRATUM: Final = 7
"""Words of a stratum before its lists."""
RULE: Final = 7
"""Words of a rule before its lists."""

ALL: Final = 0
OLDER: Final = 1
RECENT: Final = 2

MOST_FACTS: Final = 2048
"""Rows of a table."""
MOST_WORDS: Final = 4096
ARENA: Final = 1 << 17
"""Words for tables and sorted levels."""
ORDERS: Final = 2 * MOST_FACTS
"""The first words of the arena: numbers of rows while they are sorted."""
MOST_WORK: Final = 1 << 15
"""Candidates that rules may look at, rows that they may derive and that may be sorted."""

# Of a table: how many rows, where the recent ones begin and end, the size of its hash. Rows follow, then the hash.
_TABLE: Final = 4
_FIRST_HASH: Final = 64


def table_words(arity: int) -> int:
    """Words of the arena for a table."""
    return _TABLE + arity * MOST_FACTS + 2 * MOST_FACTS


def sort_words(columns: int) -> int:
    """Words of the arena for sorted levels."""
    return 3 * columns + columns * MOST_FACTS + (columns - 1) * (MOST_FACTS + 1)


@kernel
def _hash_of(arena: Ints, rows: Any, arity: Any, row: Any, seed: Any) -> Any:
    h = seed
    for j in range(arity):
        h = mix(h, arena[rows + j * MOST_FACTS + row], seed)
    return h


@kernel
def _grown(arena: Ints, table: Any, arity: Any, size: Any, seed: Any) -> None:
    """Has a table hash its rows into so many places."""
    rows = table + _TABLE
    places = rows + arity * MOST_FACTS
    arena[table + 3] = size
    for i in range(size):
        arena[places + i] = 0
    mask = np.uint64(size - 1)
    for row in range(arena[table]):
        at = _hash_of(arena, rows, arity, row, seed) & mask
        while arena[places + np.int64(at)] != 0:
            at = (at + np.uint64(1)) & mask
        arena[places + np.int64(at)] = row + 1


@kernel
def _entered(
    arena: Ints, table: Any, arity: Any, words: Ints, slots: Any, frames: Ints, side: Any, n: Any, seed: Any
) -> Any:
    """Adds those rows of a frame that a table lacks; whether there was room for them. slots: where in `words`."""
    rows = table + _TABLE
    places = rows + arity * MOST_FACTS
    for row in range(n):
        count = arena[table]
        if 2 * (count + 1) > arena[table + 3]:
            if count == MOST_FACTS:
                return False
            _grown(arena, table, arity, 4 * arena[table + 3] if count < MOST_FACTS // 2 else 2 * MOST_FACTS, seed)
        mask = np.uint64(arena[table + 3] - 1)
        # Where the next row would be.
        for j in range(arity):
            arena[rows + j * MOST_FACTS + count] = frames[side, words[slots + j], row]
        at = _hash_of(arena, rows, arity, count, seed) & mask
        while True:
            known = arena[places + np.int64(at)]
            if known == 0:
                arena[places + np.int64(at)] = count + 1
                arena[table] = count + 1
                break
            same = True
            for j in range(arity):
                if arena[rows + j * MOST_FACTS + known - 1] != arena[rows + j * MOST_FACTS + count]:
                    same = False
                    break
            if same:
                break
            at = (at + np.uint64(1)) & mask
    return True


@kernel
def _compared(arena: Ints, rows: Any, words: Ints, columns: Any, k: Any, first: Any, second: Any) -> Any:
    """The number of the first of k columns in which two rows differ, k for equal ones; below 0 where the first row
    is the lesser: -1 - that number."""
    for j in range(k):
        column = rows + words[columns + j] * MOST_FACTS
        a, b = arena[column + first], arena[column + second]
        if a < b:
            return np.int64(-1 - j)
        if a > b:
            return np.int64(j)
    return np.int64(k)


@kernel
def _ordered(arena: Ints, rows: Any, words: Ints, columns: Any, k: Any, lo: Any, n: Any) -> Any:
    """Sorts the numbers of n rows from `lo` on; where in the arena they are."""
    here: Any = np.int64(0)
    is_sorted = True
    for i in range(n):
        arena[i] = lo + i
        if i and is_sorted:
            is_sorted = _compared(arena, rows, words, columns, k, lo + i - 1, lo + i) < 0
    width = np.int64(n if is_sorted else 1)
    while width < n:
        there = np.int64(MOST_FACTS) - here
        for left in range(0, n, 2 * width):
            middle, right = min(left + width, n), min(left + 2 * width, n)
            p, q = np.int64(left), np.int64(middle)
            for m in range(left, right):
                takes_first = q == right
                if p < middle and q < right:
                    takes_first = _compared(arena, rows, words, columns, k, arena[here + p], arena[here + q]) < 0
                if takes_first:
                    arena[there + m] = arena[here + p]
                    p += 1
                else:
                    arena[there + m] = arena[here + q]
                    q += 1
        here = there
        width *= 2
    return here


@kernel
def _sort(arena: Ints, arena_place: Any, words: Ints, at: Any) -> Any:
    """Writes the levels of a sort, as `extenders.relation.Levels` has them; how many rows they are of."""
    table = words[words[4] + 2 * words[at] + 1]
    version, k, levels, columns = words[at + 1], words[at + 2], words[at + 3], at + 4
    lo = arena[table + 1] if version == RECENT else np.int64(0)
    hi = arena[table + 1] if version == OLDER else arena[table + 2]
    n = hi - lo
    rows = table + _TABLE
    order = _ordered(arena, rows, words, columns, k, lo, n)
    # (values, how many, offsets) of each level, then the values of all, then the offsets of all but the last.
    values = levels + 3 * k
    offsets = values + k * MOST_FACTS
    for j in range(k):
        arena[levels + 3 * j] = arena_place + values + j * MOST_FACTS
        arena[levels + 3 * j + 1] = 0
        arena[levels + 3 * j + 2] = arena_place + offsets + j * (MOST_FACTS + 1)
    for i in range(n):
        row = arena[order + i]
        first: Any = np.int64(0)
        if i:
            differs = _compared(arena, rows, words, columns, k, arena[order + i - 1], row)
            # Rows that are equal in these columns are one.
            first = np.int64(-1) - differs if differs < 0 else np.int64(k)
        for j in range(first, k):
            size = arena[levels + 3 * j + 1]
            arena[values + j * MOST_FACTS + size] = arena[rows + words[columns + j] * MOST_FACTS + row]
            if j < k - 1:
                arena[offsets + j * (MOST_FACTS + 1) + size] = arena[levels + 3 * (j + 1) + 1]
            arena[levels + 3 * j + 1] = size + 1
    for j in range(k - 1):
        arena[offsets + j * (MOST_FACTS + 1) + arena[levels + 3 * j + 1]] = arena[levels + 3 * (j + 1) + 1]
    return n


@kernel
def _run(
    memory: Ints,
    words: Ints,
    at: Any,
    start: Ints,
    frames: Ints,
    scratch: Ints,
    scratch_place: Any,
    state: Ints,
    report: Ints,
    seed: Any,
) -> Any:
    """The rows of a rule, or -1 where it is not small."""
    givens = words[at + 5]
    for i in range(givens):
        frames[0, i, 0] = start[words[at + RULE + i]]
    program, records = words[at + 1], words[at + 2]
    rows = extend(memory, words[program:], records, frames, 1, scratch, scratch_place, state, report, seed)
    return np.int64(rows) if rows == 0 or report[0] == records else np.int64(-1)


@kernel
def _derived(
    memory: Ints,
    words: Ints,
    at: Any,
    start: Ints,
    frames: Ints,
    scratch: Ints,
    scratch_place: Any,
    state: Ints,
    report: Ints,
    arena: Ints,
    seed: Any,
) -> Any:
    """Adds what a rule derives to its table, if its relation has recent rows; the candidates that it looked at, -1
    where it is not small."""
    delta = words[at + 4]
    if delta >= 0:
        recent = words[words[4] + 2 * delta + 1]
        if arena[recent + 1] == arena[recent + 2]:
            return np.int64(0)
    rows = _run(memory, words, at, start, frames, scratch, scratch_place, state, report, seed)
    if rows < 0:
        return np.int64(-1)
    entry = words[4] + 2 * words[at + 3]
    slots = at + RULE + words[at + 5]
    if not _entered(arena, words[entry + 1], words[entry], words, slots, frames, report[1], rows, seed):
        return np.int64(-1)
    return np.int64(CANDIDATES * frames.shape[2]) - state[WORK] + rows


@kernel
def derive(
    memory: Ints,
    written: Ints,
    words: Ints,
    start: Ints,
    frames: Ints,
    scratch: Ints,
    scratch_place: Any,
    state: Ints,
    report: Ints,
    arena: Ints,
    arena_place: Any,
    seed: Any,
) -> Any:
    """Derives what the rules say and runs the join over it: the number of its rows, which are in the side
    `report[1]` of the frames; -1 where something is not small.

    written: the numbers described above, which stay as they are; words: int64[MOST_WORDS], for a copy of them.
    start: one code for each variable that is given. Others as of `small_join.extend`.
    """
    for i in range(written.size):
        words[i] = written[i]
    for i in range(words[7]):
        at = words[8] + 2 * i
        words[words[at]] = arena_place + words[words[6] + SORT * words[at + 1] + 3]
    for i in range(words[3]):
        at = words[4] + 2 * i
        table = words[at + 1]
        arena[table] = arena[table + 1] = arena[table + 2] = 0
        _grown(arena, table, words[at], np.int64(_FIRST_HASH), seed)
    work: Any = np.int64(MOST_WORK)
    stratum = words[1]
    for _ in range(words[0]):
        once, rounds, before, after, tables = (
            words[stratum + 2],
            words[stratum + 3],
            words[stratum + 4],
            words[stratum + 5],
            words[stratum + 6],
        )
        sorts = stratum + STRATUM
        own = sorts + before + after
        rule, number = own + tables, once
        while True:
            for _rule in range(number):
                spent = _derived(
                    memory, words, rule, start, frames, scratch, scratch_place, state, report, arena, seed
                )
                work -= spent
                if spent < 0 or work < 0:
                    return np.int64(-1)
                rule = words[rule]
            added: Any = np.int64(0)
            for i in range(tables):
                table = words[words[4] + 2 * words[own + i] + 1]
                arena[table + 1] = arena[table + 2]
                arena[table + 2] = arena[table]
                added += arena[table + 2] - arena[table + 1]
            if added == 0 or rounds == 0:
                break
            for i in range(before):
                work -= _sort(arena, arena_place, words, words[6] + SORT * words[sorts + i])
            rule, number = words[stratum + 1], rounds
        for i in range(after):
            work -= _sort(arena, arena_place, words, words[6] + SORT * words[sorts + before + i])
        stratum = words[stratum]
    return _run(memory, words, words[2], start, frames, scratch, scratch_place, state, report, seed)
