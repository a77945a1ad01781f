"""The levels of a small join in one call: from a few prefixes to their extensions, level after level.

What the step does with arrays for each part, a loop does here for each prefix: the part with the fewest values
proposes, the others intersect. It reads tries, relations and equalities through places (`store.tries.places`), so
that one compiled function serves every plan, and looks at a few thousand candidates at most: before a level that
takes more, or that it does not know, it hands back the prefixes that it has.

A program is int64s, a record for each level, as `executor.join.small.program` writes it:
    the number of the next record's first word, the level's slot (-1: nothing is bound, only checked), its mode, the
    numbers of its ranges, of its checks and of the slots that are kept; these slots; its ranges; its checks.
Ranges and checks are PART words each: kind, place, slot or -1, constant, slot of the value, group.
    PAIRS   the values of a key in a trie at `place`; the key is in the slot, or the constant
    KEYS    the keys of a trie
    ROWS    a level of a relation at `place`: the constant is its depth, the slot where in the program the slots of
            the levels above it are
    EQUAL   the value in the slot, or the constant; `place` is a code that equals nothing
    JOIN    only checks: whether a join has a match. Its records, as many as the slot says, are at `place` in the
            program; they keep nothing, and bind slots that no prefix has
A value is accepted if all checks of group 0 hold, and of each other group (a `not`) one does not. `frames` hold the
prefixes, a row for each slot; the last one is of weights. The join of a `not` goes depth first to its first match,
and has no `not` with levels within.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from adalog.executor.kernels.compiling import borrowing_kernel
from adalog.executor.kernels.group_kernels import mix
from adalog.executor.kernels.range_kernels import Ints

PAIRS: Final = 0
KEYS: Final = 1
ROWS: Final = 2
EQUAL: Final = 3
JOIN: Final = 4

HEAD: Final = 6
PART: Final = 6

COUNTED: Final = 1
"""Only how many values there are matters."""
ASKED: Final = 2
"""Only whether there is a value matters."""
MERGED: Final = 4
"""Rows may be equal, and are made distinct."""
WEIGHTED: Final = 8

MOST_ROWS: Final = 2048
"""Prefixes after a level."""
MOST_PARTS: Final = 16
"""Ranges of a level."""
MOST_RECORDS: Final = 32
SLOTS: Final = 24
"""Columns of a prefix, with the one of weights."""
MOST_INNER: Final = 5
"""Records of the join of a `not`."""

CANDIDATES: Final = 2
"""For each prefix that there is room for, the candidates that a call may look at."""
_ROW: Final = 1 << 11
# For the ranges of one record: a value each, and two rows.
_RANGES: Final = MOST_PARTS + 2 * _ROW
_TABLE: Final = (1 + MOST_INNER) * _RANGES
SCRATCH: Final = _TABLE + 2 * MOST_ROWS
RUNS: Final = 64
"""Prefixes whose values are looked up together."""
RUNS_AT: Final = _TABLE
"""In `scratch`: where their values are, while no rows are merged."""
_STATE: Final = 5
# Of one record: what is known of its ranges, then where its candidates are, from and to, the range that they are
# of, and the record's first word.
_CURSOR: Final = _STATE * MOST_PARTS
_LEVEL_STATE: Final = _CURSOR + 5
WORK: Final = (1 + MOST_INNER) * _LEVEL_STATE
"""In `state`: the candidates that a call may still look at."""
STATE: Final = WORK + 1

REPORT: Final = 2
"""Numbers before those of levels: the levels that were done, the side of the frames that has their rows."""
LEVEL: Final = 4
"""Of each level: prefixes, candidates, rows before equal ones are merged, skipped."""

_UNKNOWN: Final = -1
_NO_KEY: Final = -1
_LIGHT: Final = 1 << 50


@borrowing_kernel
def _first(memory: Ints, place: Any, lo: Any, hi: Any, x: Any) -> Any:
    """The first number in [lo, hi) whose word is at least x, else hi."""
    while lo < hi:
        mid = (lo + hi) >> 1
        if memory[place + mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


@borrowing_kernel
def _found(memory: Ints, place: Any, lo: Any, hi: Any, x: Any) -> Any:
    """The number in [lo, hi) of the word x, or -1."""
    at = _first(memory, place, lo, hi, x)
    return at if at < hi and memory[place + at] == x else -1


@borrowing_kernel
def _base_position(memory: Ints, base: Any, key: Any) -> Any:
    """The position of a key in a base, or -1."""
    size = memory[base]
    if size == 0:
        return -1
    keys, span, dense = memory[base + 1], memory[base + 2], memory[base + 3]
    if span == 0:
        return _found(memory, keys, 0, size, key)
    at = key - memory[keys]
    if at < 0 or at >= span:
        return -1
    # 32 bits of a word, with their sign.
    byte = dense + 4 * at
    word = memory[byte >> 3]
    return word >> 32 if byte & 4 else (word << 32) >> 32


@borrowing_kernel
def _has_key(memory: Ints, trie: Any, key: Any) -> Any:
    for i in range(memory[trie + 1]):
        level = memory[trie + 2 + i]
        at = _found(memory, memory[level + 1], 0, memory[level], key)
        if at >= 0:
            return memory[memory[level + 5] + at] > 0
    return _base_position(memory, memory[trie], key) >= 0


@borrowing_kernel
def _is_added(memory: Ints, level: Any, place: Any) -> Any:
    byte = memory[level + 4] + place
    return (memory[byte >> 3] >> ((byte & 7) << 3)) & 0xFF != 0


@borrowing_kernel
def _has_pair(memory: Ints, trie: Any, key: Any, value: Any) -> Any:
    for i in range(memory[trie + 1]):
        level = memory[trie + 2 + i]
        at = _found(memory, memory[level + 1], 0, memory[level], key)
        if at >= 0:
            offsets = memory[level + 2] + at
            place = _found(memory, memory[level + 3], memory[offsets], memory[offsets + 1], value)
            if place >= 0:
                return _is_added(memory, level, place)
    base = memory[trie]
    at = _base_position(memory, base, key)
    if at < 0:
        return False
    offsets = memory[base + 4] + at
    return _found(memory, memory[base + 5], memory[offsets], memory[offsets + 1], value) >= 0


@borrowing_kernel
def _written_row(memory: Ints, trie: Any, key: Any, scratch: Ints) -> Any:
    """Writes the values of a key with signed pairs, or of `~trie` the keys that have values: (where in `scratch`,
    how many); -1 where they are too many."""
    are_keys = trie < 0
    trie = ~trie if are_keys else trie
    size: Any = np.int64(0)
    first: Any = np.int64(0)
    here: Any = np.int64(MOST_PARTS)
    p: Any = np.int64(0)
    base = memory[trie]
    if are_keys:
        first, size = memory[base + 1], memory[base]
    else:
        at = _base_position(memory, base, key)
        if at >= 0:
            offsets = memory[base + 4] + at
            first = memory[base + 5] + memory[offsets]
            size = memory[offsets + 1] - memory[offsets]
    if size > _ROW:
        return here, _UNKNOWN
    for p in range(size):
        scratch[here + p] = memory[first + p]
    for i in range(memory[trie + 1] - 1, -1, -1):
        level = memory[trie + 2 + i]
        values, p, stop = memory[level + 1], np.int64(0), memory[level]
        if not are_keys:
            at = _found(memory, values, 0, stop, key)
            if at < 0:
                continue
            values, p = memory[level + 3], memory[memory[level + 2] + at]
            stop = memory[memory[level + 2] + at + 1]
        if size + stop - p > _ROW:
            return here, _UNKNOWN
        # Two halves take turns.
        there: Any = np.int64(MOST_PARTS + _ROW) if here == MOST_PARTS else np.int64(MOST_PARTS)
        q: Any = 0
        m: Any = 0
        while q < size or p < stop:
            if p == stop or (q < size and scratch[here + q] < memory[values + p]):
                scratch[there + m] = scratch[here + q]
                q += 1
                m += 1
            else:
                x = memory[values + p]
                q += q < size and scratch[here + q] == x
                if memory[memory[level + 5] + p] > 0 if are_keys else _is_added(memory, level, p):
                    scratch[there + m] = x
                    m += 1
                p += 1
        here, size = there, m
    return here, size


@borrowing_kernel
def _nodes(memory: Ints, program: Ints, at: Any, frames: Ints, side: Any, row: Any) -> Any:
    """The nodes of a relation's level under a prefix: (where its values are, from, to)."""
    place, order, depth = program[at + 1], program[at + 2], program[at + 3]
    lo, hi = np.int64(0), memory[place + 1]
    for j in range(depth):
        node = _found(memory, memory[place + 3 * j], lo, hi, frames[side, program[order + j], row])
        if node < 0:
            return memory[place + 3 * depth], np.int64(0), np.int64(0)
        offsets = memory[place + 3 * j + 2] + node
        lo, hi = memory[offsets], memory[offsets + 1]
    return memory[place + 3 * depth], lo, hi


@borrowing_kernel
def range_of(
    memory: Ints, program: Ints, at: Any, frames: Ints, side: Any, row: Any, state: Ints, j: Any, cell: Any
) -> Any:
    """How many values a part has for a prefix. Notes in `state` where they are, from and to, and of a row with
    signed pairs the trie and its key, of the keys of such a trie `~trie`; `cell`: the place of a word for one
    value."""
    kind, s = program[at], _STATE * j
    state[s + 3] = _NO_KEY
    if kind == ROWS:
        values, lo, hi = _nodes(memory, program, at, frames, side, row)
        state[s], state[s + 1], state[s + 2] = values, lo, hi
        return hi - lo
    own = program[at + 2]
    key = program[at + 3] if own < 0 else frames[side, own, row]
    if kind == EQUAL:
        state[s], state[s + 1], state[s + 2] = cell, 0, 1
        memory[cell] = key
        return np.int64(key != program[at + 1])
    trie = program[at + 1]
    base = memory[trie]
    if kind == KEYS:
        state[s], state[s + 1], state[s + 2] = memory[base + 1], 0, memory[base]
        levels = memory[trie + 1]
        if levels:
            state[s + 3] = ~trie
        return memory[trie + 2 + levels]
    for i in range(memory[trie + 1]):
        level = memory[trie + 2 + i]
        place = _found(memory, memory[level + 1], 0, memory[level], key)
        if place >= 0:
            state[s + 3], state[s + 4] = trie, key
            return memory[memory[level + 5] + place]
    place = _base_position(memory, base, key)
    if place < 0:
        return 0
    offsets = memory[base + 4] + place
    lo, hi = memory[offsets], memory[offsets + 1]
    state[s], state[s + 1], state[s + 2] = memory[base + 5], lo, hi
    return hi - lo


@borrowing_kernel
def _holds(memory: Ints, program: Ints, at: Any, frames: Ints, side: Any, row: Any) -> Any:
    """Whether a check accepts a row."""
    kind = program[at]
    value = frames[side, program[at + 4], row]
    if kind == ROWS:
        values, lo, hi = _nodes(memory, program, at, frames, side, row)
        return _found(memory, values, lo, hi, value) >= 0
    if kind == KEYS:
        return _has_key(memory, program[at + 1], value)
    own = program[at + 2]
    key = program[at + 3] if own < 0 else frames[side, own, row]
    if kind == EQUAL:
        return key == value and key != program[at + 1]
    return _has_pair(memory, program[at + 1], key, value)


@borrowing_kernel
def _is_in(memory: Ints, state: Ints, ranges: Any, best: Any, x: Any) -> Any:
    """Whether a candidate of one range is in all others, which are asked for ascending ones."""
    for j in range(ranges):
        s = _STATE * j
        if j == best:
            continue
        trie = state[s + 3]
        if trie != _NO_KEY:
            if not (_has_key(memory, ~trie, x) if trie < 0 else _has_pair(memory, trie, state[s + 4], x)):
                return False
        else:
            place = _first(memory, state[s], state[s + 1], state[s + 2], x)
            # Values ascend: what is below this one is not looked at again.
            state[s + 1] = place
            if place >= state[s + 2] or memory[state[s] + place] != x:
                return False
    return True


@borrowing_kernel
def _least(
    memory: Ints, program: Ints, first: Any, ranges: Any, frames: Ints, side: Any, row: Any, state: Ints, cells: Any
) -> Any:
    """(the range with the fewest values for a prefix, how many: -1 if one is not known). Without ranges 1."""
    best: Any = np.int64(0)
    least: Any = np.int64(1)
    for j in range(ranges):
        size = range_of(memory, program, first + PART * j, frames, side, row, state, j, cells + j)
        if size < 0:
            return best, np.int64(_UNKNOWN)
        if j == 0 or size < least:
            best, least = np.int64(j), np.int64(size)
        if size == 0:
            break
    return best, least


@borrowing_kernel
def candidates_of(memory: Ints, slot: Any, state: Ints, best: Any, scratch: Ints, place: Any) -> Any:
    """(where the values of a range are, from, to): -1 if they are too many. place: of `scratch`."""
    s = _STATE * best
    if slot < 0:
        return np.int64(0), np.int64(0), np.int64(1)
    if state[s + 3] == _NO_KEY:
        return state[s], state[s + 1], state[s + 2]
    start, size = _written_row(memory, state[s + 3], state[s + 4], scratch)
    return np.int64(place + start), np.int64(0), np.int64(size)


@borrowing_kernel
def _passes(memory: Ints, program: Ints, at: Any, checks: Any, frames: Ints, side: Any, row: Any) -> Any:
    """Whether some checks, none of which is a join, accept a row. Those of a group follow each other."""
    i = 0
    while i < checks:
        group = program[at + 5]
        if group == 0:
            if not _holds(memory, program, at, frames, side, row):
                return False
            i += 1
            at += PART
            continue
        matched = True
        while i < checks and program[at + 5] == group:
            matched = matched and _holds(memory, program, at, frames, side, row)
            i += 1
            at += PART
        if matched:
            return False
    return True


@borrowing_kernel
def _matches(
    memory: Ints,
    program: Ints,
    at: Any,
    records: Any,
    frames: Ints,
    side: Any,
    row: Any,
    scratch: Ints,
    scratch_place: Any,
    state: Ints,
) -> Any:
    """1 if the join at a place of the program has a match for a row, else 0; -1 where that takes too much."""
    depth: Any = np.int64(0)
    is_new = True
    while depth >= 0:
        own = state[(1 + depth) * _LEVEL_STATE :]
        if is_new:
            own[_CURSOR + 4] = at
        at = own[_CURSOR + 4]
        slot, ranges, checks = program[at + 1], program[at + 3], program[at + 4]
        first = at + HEAD
        if is_new:
            base = (1 + depth) * _RANGES
            best, least = _least(memory, program, first, ranges, frames, side, row, own, scratch_place + base)
            if least < 0:
                return np.int64(_UNKNOWN)
            if depth == records - 1 and ranges == 1 and checks == 0 and least > 0:
                return np.int64(1)
            values, lo, hi = np.int64(0), np.int64(0), np.int64(0)
            if least > 0:
                values, lo, hi = candidates_of(memory, slot, own, best, scratch[base:], scratch_place + base)
                if hi < 0:
                    return np.int64(_UNKNOWN)
            own[_CURSOR], own[_CURSOR + 1], own[_CURSOR + 2], own[_CURSOR + 3] = values, lo, hi, best
        values, p, hi, best = own[_CURSOR], own[_CURSOR + 1], own[_CURSOR + 2], own[_CURSOR + 3]
        is_new = False
        while p < hi and not is_new:
            state[WORK] -= ranges + checks
            if state[WORK] < 0:
                return np.int64(_UNKNOWN)
            if slot >= 0:
                x = memory[values + p]
                p += 1
                if not _is_in(memory, own, ranges, best, x):
                    continue
                frames[side, slot, row] = x
            else:
                p += 1
            is_new = checks == 0 or _passes(memory, program, first + PART * ranges, checks, frames, side, row)
        own[_CURSOR + 1] = p
        if is_new:
            depth += 1
            if depth == records:
                return np.int64(1)
            at = program[at]
        else:
            depth -= 1
    return np.int64(0)


@borrowing_kernel
def _accepted(
    memory: Ints,
    program: Ints,
    at: Any,
    checks: Any,
    frames: Ints,
    side: Any,
    row: Any,
    scratch: Ints,
    scratch_place: Any,
    state: Ints,
) -> Any:
    """1 if all checks of a level accept a row, else 0; -1 where a `not` takes too much."""
    i = 0
    while i < checks:
        group = program[at + 5]
        size = 0
        is_join = program[at] == JOIN
        while i < checks and program[at + PART * size + 5] == group:
            size += 1
            i += 1
            if group == 0 or is_join:
                break
        if is_join:
            found = _matches(
                memory, program, program[at + 1], program[at + 2], frames, side, row, scratch, scratch_place, state
            )
            if found != 0:
                return np.int64(0 if found > 0 else _UNKNOWN)
        elif not _passes(memory, program, at, size, frames, side, row):
            return np.int64(0)
        at += PART * size
    return np.int64(1)


@borrowing_kernel
def _are_light(frames: Ints, side: Any, rows: Any) -> Any:
    """Whether weights are so small that sums of them surely fit 64 bits."""
    weights = frames.shape[1] - 1
    for row in range(rows):  # noqa: SIM110 - a kernel has no generators
        if frames[side, weights, row] > _LIGHT:
            return False
    return True


@borrowing_kernel
def _merged(program: Ints, at: Any, kept: Any, frames: Ints, side: Any, rows: Any, scratch: Ints, seed: Any) -> Any:
    """Makes rows distinct by the slots that are kept, and sums their weights; the new number of rows."""
    size = 4
    while size < 2 * rows:
        size *= 2
    for i in range(size):
        scratch[_TABLE + i] = 0
    mask = np.uint64(size - 1)
    weights = frames.shape[1] - 1
    count = 0
    for row in range(rows):
        h = seed
        for j in range(kept):
            h = mix(h, frames[side, program[at + j], row], seed)
        place = h & mask
        while True:
            known = scratch[_TABLE + np.int64(place)]
            if known == 0:
                scratch[_TABLE + np.int64(place)] = count + 1
                for j in range(kept):
                    frames[side, program[at + j], count] = frames[side, program[at + j], row]
                frames[side, weights, count] = frames[side, weights, row]
                count += 1
                break
            same = True
            for j in range(kept):
                if frames[side, program[at + j], known - 1] != frames[side, program[at + j], row]:
                    same = False
                    break
            if same:
                frames[side, weights, known - 1] += frames[side, weights, row]
                break
            place = (place + np.uint64(1)) & mask
    return count


@borrowing_kernel
def _write_row(program: Ints, at: Any, kept: Any, frames: Ints, side: Any, row: Any, m: Any, weight: Any) -> None:
    """Writes the kept slots of a row, with a weight, to row `m` of the other side. at: of the first of them."""
    out = 1 - side
    for j in range(kept):
        own = program[at + j]
        frames[out, own, m] = frames[side, own, row]
    frames[out, frames.shape[1] - 1, m] = weight


@borrowing_kernel
def _write_rows(
    memory: Ints, program: Ints, at: Any, frames: Ints, side: Any, row: Any, m: Any, values: Any, n: Any
) -> None:
    """Writes the kept slots of a row with each of n values, from row `m` of the other side on. at: the record."""
    out = 1 - side
    slot, mode, kept = program[at + 1], program[at + 2], program[at + 5]
    for j in range(kept):
        own = program[at + HEAD + j]
        if own == slot:
            for p in range(n):
                frames[out, own, m + p] = memory[values + p]
        else:
            code = frames[side, own, row]
            for p in range(n):
                frames[out, own, m + p] = code
    if mode & WEIGHTED:
        weights = frames.shape[1] - 1
        weight = frames[side, weights, row]
        for p in range(n):
            frames[out, weights, m + p] = weight


@borrowing_kernel
def runs_of(
    memory: Ints, program: Ints, part: Any, frames: Ints, side: Any, first: Any, n: Any, runs: Ints
) -> None:
    """Writes to `runs` where the values of the keys of n prefixes from `first` on begin, and to runs[RUNS:] where
    they end; -1 and -1 for keys with signed pairs. The part is one of PAIRS, n at most RUNS.

    A key takes three reads, each of which needs the one before it. One loop for each of them lets the memory serve
    many rows at once."""
    trie, own = program[part + 1], program[part + 2]
    base, levels = memory[trie], memory[trie + 1]
    size = memory[base]
    keys, span, dense, offsets, values = (
        memory[base + 1],
        memory[base + 2],
        memory[base + 3],
        memory[base + 4],
        memory[base + 5],
    )
    least = memory[keys] if size > 0 else np.int64(0)
    for i in range(n):
        key = program[part + 3] if own < 0 else frames[side, own, first + i]
        at = key - least
        place: Any = np.int64(-1)
        if span == 0:
            place = np.int64(_found(memory, keys, 0, size, key))
        elif 0 <= at < span:
            # As in `_base_position`.
            byte = dense + 4 * at
            word = memory[byte >> 3]
            place = word >> 32 if byte & 4 else (word << 32) >> 32
        runs[i] = place
    for i in range(n):
        place = runs[i]
        runs[i] = values + memory[offsets + place] if place >= 0 else 0
        runs[RUNS + i] = values + memory[offsets + place + 1] if place >= 0 else 0
    for i in range(n):
        runs[2 * RUNS + i] = memory[runs[i]] if runs[i] < runs[RUNS + i] else 0
    for j in range(levels):
        level = memory[trie + 2 + j]
        changed, held = memory[level + 1], memory[level]
        for i in range(n):
            key = program[part + 3] if own < 0 else frames[side, own, first + i]
            if _found(memory, changed, 0, held, key) >= 0:
                runs[i] = runs[RUNS + i] = -1


@borrowing_kernel
def _read(
    memory: Ints,
    program: Ints,
    at: Any,
    frames: Ints,
    side: Any,
    rows: Any,
    scratch: Ints,
    scratch_place: Any,
    state: Ints,
) -> Any:
    """The level whose record at a place only reads the values of a key; the number of its rows, -1 if too many."""
    slot, mode, kept = program[at + 1], program[at + 2], program[at + 5]
    part = at + HEAD + kept
    runs, out = scratch[RUNS_AT:], 1 - side
    m: Any = np.int64(0)
    for start in range(np.int64(0), rows, RUNS):
        size = min(np.int64(RUNS), rows - start)
        runs_of(memory, program, part, frames, side, start, size, runs)
        for i in range(size):
            row, place, stop = start + i, runs[i], runs[RUNS + i]
            if place < 0:
                if range_of(memory, program, part, frames, side, row, state, 0, scratch_place) == 0:
                    continue
                values, lo, hi = candidates_of(memory, slot, state, 0, scratch, scratch_place)
                if hi < 0:
                    return np.int64(_UNKNOWN)
                place, stop = values + lo, values + hi
            n = stop - place
            state[WORK] -= n
            if m + n > frames.shape[2] or state[WORK] < 0:
                return np.int64(_UNKNOWN)
            if n == 1 and not mode & WEIGHTED:
                for j in range(kept):
                    keeps = program[at + HEAD + j]
                    frames[out, keeps, m] = memory[place] if keeps == slot else frames[side, keeps, row]
            else:
                _write_rows(memory, program, at, frames, side, row, m, place, n)
            m += n
    return m


@borrowing_kernel
def extend(
    memory: Ints,
    program: Ints,
    levels: Any,
    frames: Ints,
    rows: Any,
    scratch: Ints,
    scratch_place: Any,
    state: Ints,
    report: Ints,
    seed: Any,
) -> Any:
    """Extends the first `rows` of frames[0] by so many levels, or as many as it can; the number of rows then.

    memory: all words there are, from `memory.ORIGIN` on. frames: int64[2, SLOTS, most rows after a level]; slots
    are columns of prefixes. report: what was done. Within a level nothing is handed back: it is done, or not begun.
    """
    weights = frames.shape[1] - 1
    state[WORK] = CANDIDATES * frames.shape[2]
    side = 0
    at = 0
    report[0] = report[1] = 0
    for number in range(levels):
        slot, mode, ranges, checks, kept = (
            program[at + 1],
            program[at + 2],
            program[at + 3],
            program[at + 4],
            program[at + 5],
        )
        first = at + HEAD + kept
        checking = first + PART * ranges
        out = 1 - side
        m: Any = 0
        looked: Any = 0
        skipped: Any = 0
        known = True
        takes_all = ranges == 1 and checks == 0 and slot >= 0 and not mode & (COUNTED | ASKED)
        is_read = takes_all and program[first] == PAIRS
        if is_read:
            m = looked = _read(memory, program, at, frames, side, rows, scratch, scratch_place, state)
            known = m >= 0
        for row in range(0 if is_read else rows):
            best, least = _least(memory, program, first, ranges, frames, side, row, state, scratch_place)
            if least < 0:
                known = False
                break
            looked += least
            total: Any = np.int64(0)
            if mode & (COUNTED | ASKED) and ranges == 1 and checks == 0:
                total = least
                state[WORK] -= 1
            elif least:
                state[WORK] -= least * (ranges + checks)
                if state[WORK] < 0:
                    break
                values, lo, hi = candidates_of(memory, slot, state, best, scratch, scratch_place)
                if hi < 0:
                    known = False
                    break
                if takes_all:
                    # Nothing has to be asked of each value.
                    if m + hi - lo > frames.shape[2]:
                        known = False
                        break
                    _write_rows(memory, program, at, frames, side, row, m, values + lo, hi - lo)
                    total = hi - lo
                    m += total
                    continue
                for p in range(lo, hi):
                    if slot >= 0:
                        x = memory[values + p]
                        if not _is_in(memory, state, ranges, best, x):
                            continue
                        frames[side, slot, row] = x
                    if checks:
                        accepted = _accepted(
                            memory, program, checking, checks, frames, side, row, scratch, scratch_place, state
                        )
                        if accepted < 0:
                            known = False
                            break
                        if accepted == 0:
                            continue
                    total += 1
                    if mode & (COUNTED | ASKED):
                        continue
                    if m == frames.shape[2]:
                        known = False
                        break
                    _write_row(program, at + HEAD, kept, frames, side, row, m, frames[side, weights, row])
                    m += 1
                if not known:
                    break
            if mode & (COUNTED | ASKED) and total:
                if m == frames.shape[2]:
                    known = False
                    break
                weight = frames[side, weights, row]
                if mode & COUNTED:
                    if weight > _LIGHT // total:
                        known = False
                        break
                    weight *= total
                else:
                    skipped += total - 1
                _write_row(program, at + HEAD, kept, frames, side, row, m, weight)
                m += 1
        if not known or state[WORK] < 0:
            break
        made = m
        if mode & MERGED and m > 1:
            if mode & WEIGHTED and not _are_light(frames, out, m):
                break
            m = _merged(program, at + HEAD, kept, frames, out, m, scratch, seed)
        done = REPORT + LEVEL * number
        report[done], report[done + 1], report[done + 2], report[done + 3] = rows, looked, made, skipped
        rows = m
        side = out
        report[0], report[1] = number + 1, side
        if rows == 0:
            break
        at = program[at]
    return rows
