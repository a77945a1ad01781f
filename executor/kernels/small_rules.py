"""Small recursions in one call: the strata of a program of rules, each to its fixpoint, and the join that reads
them.

Rules are programs of `small_join`. What they derive goes into tables: rows in the order in which they came. A row
that agrees with the first one in all columns but one, and there has a value near to the first one's, is a bit in a
bitmap: so are nearly all rows of a bound recursion over entities, and bits are in order. Other rows are found by a
hash. A join reads a version of a table as the levels of a sorted relation, written before a round for each order
that its rules read. A version is a range of rows, as in `executor.facts`: ALL, OLDER, or those of the last round.

`words`, as `executor.evaluation.small_rules` writes them, are int64s:
    HEAD numbers: of strata, where the first one is; where the query's join is; of tables, where they are; of sorts,
    where they are; of places, where they are
    a table: its arity, where in the arena it is, the column of its bitmap
    a sort: the table, the version, the number of columns, where in the arena its levels are, the columns
    a place: of a word, and of the sort whose levels the word is to name
    a stratum: where the next one is, and its first rule with recursion; the numbers of its rules without it, of
    those with it, of sorts before each round, of sorts at its end, of its tables; these sorts, those sorts, these
    tables; the rules, each after the one before it
    a rule: where the next one is; where its program is, its records, the table it derives, the table whose rows of
    the last round it needs, or -1; the numbers of what it is given, of columns that it derives, and of columns of
    those rows that its prefixes begin with; where its last record is, or 0, and which column it derives; the places
    of what it is given in `start`; the slots of what it derives; these columns

A rule over the rows of the last round begins with them, some at a time, as prefixes, if its program says so. So
they are not sorted, and a frame never has to hold all that a round derives. Where the last record only reads the
values of a key, these go straight into the table.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adalog.executor.kernels.compiling import borrowing_kernel, inlined
from adalog.executor.kernels.group_kernels import mix
from adalog.executor.kernels.range_kernels import Ints
from adalog.executor.kernels.small_join import (
    CANDIDATES,
    RUNS,
    RUNS_AT,
    WORK,
    candidates_of,
    extend,
    range_of,
    runs_of,
)
from adalog.executor.kernels.small_join import HEAD as RECORD

HEAD: Final = 9
SORT: Final = 10
"""Words of a sort."""
MOST_COLUMNS: Final = SORT - 4
STRATUM: Final = 7
"""Words of a stratum before its lists."""
ENTRY: Final = 3
"""Words of a table."""
RULE: Final = 10
"""Words of a rule before its lists."""

ALL: Final = 0
OLDER: Final = 1
RECENT: Final = 2

MOST_FACTS: Final = 2048
"""Rows of a table."""
MOST_WORDS: Final = 4096
WINDOW: Final = 1 << 20
"""Bits of a table's bitmap."""
BITMAPS: Final = 4
"""Tables that have one: the last ones."""
_DIGITS: Final = 256
ORDERS: Final = 2 * MOST_FACTS + _DIGITS
"""The first words of the arena: numbers of rows while they are sorted, and how many have a digit. Bitmaps follow,
which are zeros between calls."""
TABLES: Final = ORDERS + BITMAPS * (WINDOW // 64)
ARENA: Final = TABLES + (1 << 17)
"""Words in all, with those for tables and sorted levels."""
# Of these words while rules run: the number of the row where a value with such last bits probably is.
_MARKS: Final = 2 * MOST_FACTS
MOST_WORK: Final = 1 << 15
"""Candidates that rules may look at, rows that they may derive and that may be sorted, at most."""

# Of a table: how many rows, where the recent ones begin and end; the size of its hash, how many rows that has; the
# column of its bitmap or -1, where that is, the value of its first bit. Rows follow, then the hash.
_HASH: Final = 3
_HASHED: Final = 4
_OWN: Final = 5
_BITS: Final = 6
_LEAST: Final = 7
_TABLE: Final = 8
_FIRST_HASH: Final = 64
_LOWEST: Final = -(1 << 63)
_HIGHEST: Final = (1 << 63) - 1
# Words of a bitmap that are read for each row, rather than sort the rows.
_WORDS_A_ROW: Final = 8
# Rows that are sorted by insertion.
_FEW: Final = 16
# Rows of the last round that a rule begins with at once.
_PREFIXES: Final = 64


def table_words(arity: int) -> int:
    """Words of the arena for a table."""
    return _TABLE + arity * MOST_FACTS + 2 * MOST_FACTS


def sort_words(columns: int) -> int:
    """Words of the arena for sorted levels."""
    return 3 * columns + columns * MOST_FACTS + (columns - 1) * (MOST_FACTS + 1)


@inlined
def _hash_of(value: Any, column: Any, seed: Any) -> Any:
    """The share of a column in the hash of a row, which is the exclusive or of all."""
    return mix(seed + np.uint64(column), value, seed)


@borrowing_kernel
def _begin(arena: Ints, table: Any, value: Any) -> None:
    """Has the bitmap of a table without rows lie around a value."""
    half = np.int64(WINDOW // 2)
    arena[table + _LEAST] = min(max(value, _LOWEST + half), _HIGHEST - half) - half


@inlined
def _offset(arena: Ints, table: Any, value: Any) -> Any:
    """The bit of a value in the bitmap of a table; WINDOW or more where it has none."""
    return np.uint64(value) - np.uint64(arena[table + _LEAST])


@borrowing_kernel
def _own_bit(arena: Ints, table: Any, arity: Any, row: Any) -> Any:
    """The bit of a row that a table has, or of the next one; -1 where it is found by the hash."""
    own, rows = arena[table + _OWN], table + _TABLE
    if own < 0:
        return np.int64(-1)
    for j in range(arity):
        if j != own and arena[rows + j * MOST_FACTS + row] != arena[rows + j * MOST_FACTS]:
            return np.int64(-1)
    at = _offset(arena, table, arena[rows + own * MOST_FACTS + row])
    return np.int64(at) if at < np.uint64(WINDOW) else np.int64(-1)


@borrowing_kernel
def _grown(arena: Ints, table: Any, arity: Any, size: Any, seed: Any) -> None:
    """Has a table hash those of its rows that are not in its bitmap into so many places."""
    rows = table + _TABLE
    places = rows + arity * MOST_FACTS
    arena[table + _HASH] = size
    for i in range(size):
        arena[places + i] = 0
    mask = np.uint64(size - 1)
    for row in range(arena[table]):
        if _own_bit(arena, table, arity, row) >= 0:
            continue
        h = np.uint64(0)
        for j in range(arity):
            h ^= _hash_of(arena[rows + j * MOST_FACTS + row], j, seed)
        at = h & mask
        while arena[places + np.int64(at)] != 0:
            at = (at + np.uint64(1)) & mask
        arena[places + np.int64(at)] = row + 1


@inlined
def _entered(arena: Ints, table: Any, arity: Any, h: Any, seed: Any) -> Any:
    """Adds the row that was written after the last one and has no bit, unless the table has it; its number, or -1
    where there was no room for it. h: its hash."""
    rows = table + _TABLE
    places = rows + arity * MOST_FACTS
    count = arena[table]
    mask = np.uint64(arena[table + _HASH] - 1)
    at = h & mask
    while True:
        known = arena[places + np.int64(at)]
        if known == 0:
            break
        same = True
        for j in range(arity):
            if arena[rows + j * MOST_FACTS + known - 1] != arena[rows + j * MOST_FACTS + count]:
                same = False
                break
        if same:
            return known - 1
        at = (at + np.uint64(1)) & mask
    if count == MOST_FACTS - 1:
        # The next one has to have a place.
        return np.int64(-1)
    arena[places + np.int64(at)] = count + 1
    arena[table] = count + 1
    hashed = arena[table + _HASHED] + 1
    arena[table + _HASHED] = hashed
    if 2 * hashed > arena[table + _HASH]:
        _grown(arena, table, arity, 4 * arena[table + _HASH], seed)
    return count


@borrowing_kernel
def _added(arena: Ints, table: Any, arity: Any, seed: Any) -> Any:
    """Adds the row that was written after the last one, unless the table has it; whether there was room for it."""
    rows, count = table + _TABLE, arena[table]
    if count == 0 and arena[table + _OWN] >= 0:
        _begin(arena, table, arena[rows + arena[table + _OWN] * MOST_FACTS])
    at = _own_bit(arena, table, arity, count)
    if at >= 0:
        place, bit = arena[table + _BITS] + (at >> np.int64(6)), np.int64(1) << (at & np.int64(63))
        known = arena[place]
        if known & bit:
            return True
        if count == MOST_FACTS - 1:
            return False
        arena[place] = known | bit
        arena[table] = count + 1
        return True
    h = np.uint64(0)
    for j in range(arity):
        h ^= _hash_of(arena[rows + j * MOST_FACTS + count], j, seed)
    return _entered(arena, table, arity, h, seed) >= 0


@borrowing_kernel
def _entered_rows(
    arena: Ints, table: Any, arity: Any, words: Ints, slots: Any, frames: Ints, side: Any, n: Any, seed: Any
) -> Any:
    """Adds those rows of a frame that a table lacks; whether there was room for them. slots: where in `words`."""
    rows = table + _TABLE
    for row in range(n):
        for j in range(arity):
            arena[rows + j * MOST_FACTS + arena[table]] = frames[side, words[slots + j], row]
        if not _added(arena, table, arity, seed):
            return False
    return True


@borrowing_kernel
def _entered_values(
    memory: Ints,
    arena: Ints,
    table: Any,
    arity: Any,
    words: Ints,
    slots: Any,
    own: Any,
    frames: Ints,
    side: Any,
    row: Any,
    values: Any,
    stop: Any,
    seed: Any,
) -> Any:
    """The same of the rows that a prefix and each of the values from one place to another make. own: the column of
    the values.

    Most edges of a graph lead to vertices that are known. The mark of a value is a row's number, of any table and
    any call: it is compared with that row, so that marks are never cleared."""
    rows = table + _TABLE
    if 0 <= arena[table + _OWN] != own:
        # The bitmap is of a column that another rule derives last.
        for place in range(values, stop):
            for j in range(arity):
                code = memory[place] if j == own else frames[side, words[slots + j], row]
                arena[rows + j * MOST_FACTS + arena[table]] = code
            if not _added(arena, table, arity, seed):
                return False
        return True
    values_of = rows + own * MOST_FACTS
    others = np.uint64(0)
    for j in range(arity):
        if j != own:
            others ^= _hash_of(frames[side, words[slots + j], row], j, seed)
    written = np.int64(-1)
    for place in range(values, stop):
        count = arena[table]
        if count != written:
            for j in range(arity):
                if j != own:
                    arena[rows + j * MOST_FACTS + count] = frames[side, words[slots + j], row]
            written = count
        value = memory[place]
        mark = np.int64((np.uint64(value) ^ others) & np.uint64(_MARKS - 1))
        row_of = arena[mark]
        if 0 <= row_of < count and arena[values_of + row_of] == value:
            same = True
            for j in range(arity):
                if j != own and arena[rows + j * MOST_FACTS + row_of] != arena[rows + j * MOST_FACTS + count]:
                    same = False
                    break
            if same:
                continue
        arena[values_of + count] = value
        row_of = _entered(arena, table, arity, others ^ _hash_of(value, own, seed), seed)
        if row_of < 0:
            return False
        arena[mark] = row_of
    return True


@borrowing_kernel
def _entered_runs(
    memory: Ints,
    arena: Ints,
    table: Any,
    arity: Any,
    words: Ints,
    slots: Any,
    own: Any,
    frames: Ints,
    side: Any,
    first: Any,
    n: Any,
    runs: Ints,
    seed: Any,
) -> Any:
    """The same of n prefixes from `first` on, with the values in runs of each.

    Nearly all rows agree with the first one of the table but for this column: whether they are known is a bit."""
    rows = table + _TABLE
    values_of = rows + own * MOST_FACTS
    has_bits = own == arena[table + _OWN]
    for i in range(n):
        place, stop = runs[i], runs[RUNS + i]
        if place >= stop:
            continue
        row = first + i
        if has_bits and arena[table] == 0:
            for j in range(arity):
                arena[rows + j * MOST_FACTS] = frames[side, words[slots + j], row]
            _begin(arena, table, memory[place])
        agrees = has_bits
        for j in range(arity):
            if j != own and frames[side, words[slots + j], row] != arena[rows + j * MOST_FACTS]:
                agrees = False
        if not agrees:
            if not _entered_values(
                memory, arena, table, arity, words, slots, own, frames, side, row, place, stop, seed
            ):
                return False
            continue
        bits, least, count = arena[table + _BITS], np.uint64(arena[table + _LEAST]), arena[table]
        while place < stop:
            value = memory[place]
            place += 1
            at = np.uint64(value) - least
            if at >= np.uint64(WINDOW):
                arena[table] = count
                if not _entered_values(
                    memory, arena, table, arity, words, slots, own, frames, side, row, place - 1, place, seed
                ):
                    return False
                count = arena[table]
                continue
            word, bit = bits + np.int64(at >> np.uint64(6)), np.int64(1) << np.int64(at & np.uint64(63))
            known = arena[word]
            if known & bit:
                continue
            if count == MOST_FACTS - 1:
                arena[table] = count
                return False
            arena[word] = known | bit
            for j in range(arity):
                arena[rows + j * MOST_FACTS + count] = arena[rows + j * MOST_FACTS]
            arena[values_of + count] = value
            count += 1
        arena[table] = count
    return True


@inlined
def _count_ones(word: Any) -> Any:
    """Compiled to one instruction where the processor has it."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@borrowing_kernel
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


@borrowing_kernel
def _ordered(arena: Ints, rows: Any, words: Ints, columns: Any, k: Any, lo: Any, n: Any) -> Any:
    """Sorts the numbers of n rows from `lo` on; where in the arena they are."""
    here: Any = np.int64(0)
    is_sorted: Any = True
    i: Any
    j: Any
    for i in range(n):
        arena[i] = lo + i
        if i and is_sorted:
            is_sorted = _compared(arena, rows, words, columns, k, lo + i - 1, lo + i) < 0
    if is_sorted:
        return here
    if n <= _FEW:
        for i in range(1, n):
            row = arena[i]
            j = i
            while j > 0 and _compared(arena, rows, words, columns, k, row, arena[j - 1]) < 0:
                arena[j] = arena[j - 1]
                j -= 1
            arena[j] = row
        return here
    # By a digit after the other, the least one of the last column first. Digits that all rows share are left out.
    for j in range(k - 1, -1, -1):
        column = rows + words[columns + j] * MOST_FACTS
        least, most = arena[column + lo], arena[column + lo]
        for row in range(lo, lo + n):
            least, most = min(least, arena[column + row]), max(most, arena[column + row])
        span = np.uint64(most) - np.uint64(least)
        shift = np.uint64(0)
        while shift < np.uint64(64) and (span >> shift) != np.uint64(0):
            for digit in range(_DIGITS):
                arena[2 * MOST_FACTS + digit] = 0
            for row in range(lo, lo + n):
                own = np.int64((np.uint64(arena[column + row] - least) >> shift) & np.uint64(_DIGITS - 1))
                arena[2 * MOST_FACTS + own] += 1
            at = np.int64(MOST_FACTS) - here
            for digit in range(_DIGITS):
                size = arena[2 * MOST_FACTS + digit]
                arena[2 * MOST_FACTS + digit] = at
                at += size
            for i in range(n):
                row = arena[here + i]
                own = np.int64((np.uint64(arena[column + row] - least) >> shift) & np.uint64(_DIGITS - 1))
                arena[arena[2 * MOST_FACTS + own]] = row
                arena[2 * MOST_FACTS + own] += 1
            here = np.int64(MOST_FACTS) - here
            shift += np.uint64(8)
    return here


@borrowing_kernel
def _sorted_by_bits(
    arena: Ints, arena_place: Any, table: Any, words: Ints, levels: Any, columns: Any, k: Any
) -> Any:
    """Writes the levels of all rows of a table from its bitmap; False where not all have bits that lie close, or
    the bitmap is of another column."""
    own, n, rows = arena[table + _OWN], arena[table], table + _TABLE
    depth: Any = np.int64(-1)
    for j in range(k):
        if words[columns + j] == own:
            depth = np.int64(j)
    if own < 0 or depth < 0 or arena[table + _HASHED]:
        return False
    values_of, base = rows + own * MOST_FACTS, np.uint64(arena[table + _LEAST])
    least: Any = np.uint64(WINDOW)
    most: Any = np.uint64(0)
    for row in range(n):
        at = np.uint64(arena[values_of + row]) - base
        least, most = min(least, at), max(most, at)
    first, last = np.int64(least >> np.uint64(6)), np.int64(most >> np.uint64(6))
    if last - first > _WORDS_A_ROW * n:
        return False
    values = levels + 3 * k
    offsets = values + k * MOST_FACTS
    for j in range(k):
        size: Any = np.int64(1) if j < depth else n
        arena[levels + 3 * j] = arena_place + values + j * MOST_FACTS
        arena[levels + 3 * j + 1] = size
        arena[levels + 3 * j + 2] = arena_place + offsets + j * (MOST_FACTS + 1)
        for i in range(size):
            arena[values + j * MOST_FACTS + i] = arena[rows + words[columns + j] * MOST_FACTS]
        if j < k - 1:
            for i in range(size + 1):
                arena[offsets + j * (MOST_FACTS + 1) + i] = i
            if j == depth - 1:
                arena[offsets + j * (MOST_FACTS + 1) + 1] = n
    at_own: Any = values + depth * MOST_FACTS
    for word in range(first, last + 1):
        left = np.uint64(arena[arena[table + _BITS] + word])
        start = arena[table + _LEAST] + np.int64(64) * word
        while left != np.uint64(0):
            lowest = left & (~left + np.uint64(1))
            arena[at_own] = start + _count_ones(lowest - np.uint64(1))
            at_own += 1
            left ^= lowest
    return True


@borrowing_kernel
def _sort(arena: Ints, arena_place: Any, words: Ints, at: Any) -> Any:
    """Writes the levels of a sort, as `extenders.relation.Levels` has them; how many rows they are of."""
    table = words[words[4] + ENTRY * words[at] + 1]
    version, k, levels, columns = words[at + 1], words[at + 2], words[at + 3], at + 4
    lo = arena[table + 1] if version == RECENT else np.int64(0)
    hi = arena[table + 1] if version == OLDER else arena[table + 2]
    n = hi - lo
    rows = table + _TABLE
    if version == ALL and n and _sorted_by_bits(arena, arena_place, table, words, levels, columns, k):
        return n
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


@borrowing_kernel
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
    work: Any,
) -> Any:
    """Adds what a rule derives to its table, if its relation has recent rows; what is left of so much work, below 0
    where it is not small."""
    records, delta, givens, head, columns = (
        words[at + 2],
        words[at + 4],
        words[at + 5],
        words[at + 6],
        words[at + 7],
    )
    last, own = words[at + 8], words[at + 9]
    row, stop = np.int64(0), np.int64(1)
    rows_place: Any = np.int64(0)
    if delta >= 0:
        recent = words[words[4] + ENTRY * delta + 1]
        if arena[recent + 1] == arena[recent + 2]:
            return work
        if columns:
            row, stop, rows_place = arena[recent + 1], arena[recent + 2], recent + _TABLE
    entry = words[4] + ENTRY * words[at + 3]
    arity, table = words[entry], words[entry + 1]
    slots = at + RULE + givens
    program = words[words[at + 1] :]
    first = last - words[at + 1]
    levels = records - 1 if last else records
    most = min(np.int64(_PREFIXES), np.int64(frames.shape[2]))
    while row < stop:
        n = min(most, stop - row)
        for i in range(givens):
            for p in range(n):
                frames[0, i, p] = start[words[at + RULE + i]]
        for i in range(columns):
            column = rows_place + words[slots + head + i] * MOST_FACTS + row
            for p in range(n):
                frames[0, givens + i, p] = arena[column + p]
        found = extend(memory, program, levels, frames, n, scratch, scratch_place, state, report, seed)
        work -= CANDIDATES * frames.shape[2] - state[WORK] + n
        if found and report[0] != levels:
            if n == 1:
                return np.int64(-1)
            # Fewer come to less.
            most = n >> 1
        elif last:
            side, part = report[1], first + RECORD + program[first + 5]
            runs = scratch[RUNS_AT:]
            for start_row in range(np.int64(0), found, RUNS):
                size = min(np.int64(RUNS), found - start_row)
                runs_of(memory, program, part, frames, side, start_row, size, runs)
                for i in range(size):
                    p = start_row + i
                    if runs[i] < 0:
                        # With signed pairs, in a place where the next ones will be.
                        runs[i] = runs[RUNS + i] = 0
                        if range_of(memory, program, part, frames, side, p, state, 0, scratch_place) == 0:
                            continue
                        values, lo, hi = candidates_of(memory, program[first + 1], state, 0, scratch, scratch_place)
                        work -= hi - lo
                        if hi < 0 or work < 0:
                            return np.int64(-1)
                        one = runs[2 * RUNS :]
                        one[0], one[RUNS] = values + lo, values + hi
                        if not _entered_runs(
                            memory, arena, table, arity, words, slots, own, frames, side, p, 1, one, seed
                        ):
                            return np.int64(-1)
                    work -= runs[RUNS + i] - runs[i]
                if work < 0 or not _entered_runs(
                    memory, arena, table, arity, words, slots, own, frames, side, start_row, size, runs, seed
                ):
                    return np.int64(-1)
            row += n
        else:
            work -= found
            if not _entered_rows(arena, table, arity, words, slots, frames, report[1], found, seed):
                return np.int64(-1)
            row += n
        if work < 0:
            return work
    return work


@borrowing_kernel
def _fixpoint(
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
    work: Any,
    seed: Any,
) -> Any:
    """As `derive`, which clears what bitmaps this leaves."""
    for i in range(written.size):
        words[i] = written[i]
    for i in range(words[7]):
        at = words[8] + 2 * i
        words[words[at]] = arena_place + words[words[6] + SORT * words[at + 1] + 3]
    for i in range(words[3]):
        at = words[4] + ENTRY * i
        table, bitmap = words[at + 1], words[3] - 1 - i
        arena[table] = arena[table + 1] = arena[table + 2] = arena[table + _HASHED] = 0
        arena[table + _OWN] = words[at + 2] if bitmap < BITMAPS else np.int64(-1)
        arena[table + _BITS] = ORDERS + bitmap * (WINDOW // 64)
        _grown(arena, table, words[at], np.int64(_FIRST_HASH), seed)
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
                work = _derived(
                    memory, words, rule, start, frames, scratch, scratch_place, state, report, arena, seed, work
                )
                if work < 0:
                    return np.int64(-1)
                rule = words[rule]
            added: Any = np.int64(0)
            for i in range(tables):
                table = words[words[4] + ENTRY * words[own + i] + 1]
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
    at = words[2]
    for i in range(words[at + 5]):
        frames[0, i, 0] = start[words[at + RULE + i]]
    program, records = words[at + 1], words[at + 2]
    found = extend(memory, words[program:], records, frames, 1, scratch, scratch_place, state, report, seed)
    return np.int64(found) if found == 0 or report[0] == records else np.int64(-1)


@borrowing_kernel
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
    work: Any,
    seed: Any,
) -> Any:
    """Derives what the rules say and runs the join over it: the number of its rows, which are in the side
    `report[1]` of the frames; -1 where something is not small.

    written: the numbers described above, which stay as they are; words: int64[MOST_WORDS], for a copy of them.
    start: one code for each variable that is given. work: candidates that rules may look at, rows that they may
    derive and that may be sorted. Others as of `small_join.extend`.
    """
    found = _fixpoint(
        memory, written, words, start, frames, scratch, scratch_place, state, report, arena, arena_place, work, seed
    )
    for i in range(words[3]):
        table = words[words[4] + ENTRY * i + 1]
        own, bits = arena[table + _OWN], arena[table + _BITS]
        for row in range(arena[table] if own >= 0 else np.int64(0)):
            at = _offset(arena, table, arena[table + _TABLE + own * MOST_FACTS + row])
            if at < np.uint64(WINDOW):
                arena[bits + np.int64(at >> np.uint64(6))] = 0
    return found
