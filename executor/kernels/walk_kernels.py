"""The compiled loops that keep a closure: facts (fixed, node) that follow each other along the edges of a graph.

A side of the graph is (keys, dense, offsets, values) of a trie's base, from starts to ends or back. What differs
from that is the overlay: (pairs, holds, table, heads, chains, count), distinct (start, end) pairs that hold now or
do not, found by both ends through the table, and by one end through its head, which is a table too, and the chain
from there on. Facts are (rows, times, marks, table, fixed); their nodes have heads and chains as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adalog.executor.kernels.compiling import inlined, kernel
from adalog.executor.kernels.group_kernels import mix
from adalog.executor.kernels.range_kernels import Ints, position


@inlined
def _found(table: Ints, rows: Ints, first: Any, second: Any, seed: Any) -> Any:
    """The number of a row of two columns, or -1."""
    mask = np.uint64(table.size - 1)
    at = mix(mix(seed, first, seed), second, seed) & mask
    found = np.int64(-1)
    while table[np.int64(at)] != 0:
        row = table[np.int64(at)] - 1
        if rows[0, row] == first and rows[1, row] == second:
            found = row
            break
        at = (at + np.uint64(1)) & mask
    return found


@inlined
def _first(heads: Ints, column: Ints, node: Any, seed: Any) -> Any:
    """The row at the head of a node's chain, or -1. column: the nodes of the rows."""
    mask = np.uint64(heads.size - 1)
    at = mix(seed, node, seed) & mask
    found = np.int64(-1)
    while heads[np.int64(at)] != 0:
        row = heads[np.int64(at)] - 1
        if column[row] == node:
            found = row
            break
        at = (at + np.uint64(1)) & mask
    return found


@inlined
def _linked(heads: Ints, column: Ints, chain: Ints, row: Any, seed: Any) -> None:
    """Puts a row at the head of its node's chain."""
    mask = np.uint64(heads.size - 1)
    at = mix(seed, column[row], seed) & mask
    chain[row] = -1
    while heads[np.int64(at)] != 0:
        known = heads[np.int64(at)] - 1
        if column[known] == column[row]:
            chain[row] = known
            break
        at = (at + np.uint64(1)) & mask
    heads[np.int64(at)] = row + 1


@kernel
def link(heads: Ints, column: Ints, chain: Ints, start: int, stop: int, seed: Any) -> None:
    """Puts the rows start to stop at the heads of their nodes' chains."""
    for row in range(start, stop):
        _linked(heads, column, chain, row, seed)


@kernel
def put(
    pairs: Ints,
    holds: Any,
    table: Ints,
    heads: Ints,
    chains: Ints,
    count: int,
    starts: Ints,
    ends: Ints,
    value: int,
    seed: Any,
) -> int:
    """Says of edges whether they hold, in the overlay, which has room; its new count."""
    mask = np.uint64(table.size - 1)
    for i in range(starts.size):
        at = mix(mix(seed, starts[i], seed), ends[i], seed) & mask
        row = np.int64(-1)
        while table[np.int64(at)] != 0:
            row = table[np.int64(at)] - 1
            if pairs[0, row] == starts[i] and pairs[1, row] == ends[i]:
                break
            row = np.int64(-1)
            at = (at + np.uint64(1)) & mask
        if row < 0:
            row = np.int64(count)
            count += 1
            pairs[0, row] = starts[i]
            pairs[1, row] = ends[i]
            table[np.int64(at)] = count
            _linked(heads[0], pairs[0], chains[0], row, seed)
            _linked(heads[1], pairs[1], chains[1], row, seed)
        holds[row] = value
    return count


@kernel
def met(
    rows: Ints,
    marks: Any,
    table: Ints,
    fixed: int,
    heads: Ints,
    chain: Ints,
    starts: Ints,
    ends: Ints,
    held: bool,
    seed: Any,
) -> Ints:
    """int64[2, m]: what follows by one step along each of some edges from the facts that hold: the facts that do
    (`held`), or those that do not."""
    moving = 1 - fixed
    found = np.empty((2, 16), np.int64)
    m = 0
    for i in range(starts.size):
        row = _first(heads, rows[moving], starts[i], seed)
        while row >= 0:
            if marks[row] & 1:
                if fixed == 0:
                    fact = _found(table, rows, rows[0, row], ends[i], seed)
                else:
                    fact = _found(table, rows, ends[i], rows[1, row], seed)
                if (fact >= 0 and marks[fact] & 1 != 0) == held:
                    if m == found.shape[1]:
                        grown = np.empty((2, 2 * m), np.int64)
                        grown[:, :m] = found
                        found = grown
                    found[fixed, m] = rows[fixed, row]
                    found[moving, m] = ends[i]
                    m += 1
            row = chain[row]
    return found[:, :m].copy()


@inlined
def _is_gone(pairs: Ints, holds: Any, table: Ints, start: Any, end: Any, seed: Any) -> Any:
    row = _found(table, pairs, start, end, seed)
    return row >= 0 and holds[row] == 0


@kernel
def _supported(facts: Any, back: Any, overlay: Any, row: Any, before: Any, seed: Any) -> bool:
    """Whether a fact follows from one that holds and was derived before a time."""
    rows, times, marks, table, fixed = facts
    keys, dense, offsets, values = back
    pairs, holds, known, heads, chains, _count = overlay
    kept, node = rows[fixed, row], rows[1 - fixed, row]
    at = position(keys, dense, node)
    e = offsets[at] if at >= 0 else np.int64(0)
    stop = offsets[at + 1] if at >= 0 else np.int64(0)
    link = _first(heads[1], pairs[1], node, seed)
    touched = link >= 0
    while True:
        if e < stop:
            other = values[e]
            e += 1
            if touched and _is_gone(pairs, holds, known, other, node, seed):
                continue
        elif link >= 0:
            other = pairs[0, link]
            on = holds[link]
            link = chains[1, link]
            if on == 0:
                continue
        else:
            return False
        if fixed == 0:
            fact = _found(table, rows, kept, other, seed)
        else:
            fact = _found(table, rows, other, kept, seed)
        if fact >= 0 and marks[fact] & 1 and times[fact] < before:
            return True


@kernel
def _which_supported(facts: Any, back: Any, overlay: Any, which: Ints, seed: Any) -> Any:
    """bool[n]: which of some facts follow from one that holds."""
    found = np.zeros(which.size, np.bool_)
    for i in range(which.size):
        found[i] = _supported(facts, back, overlay, which[i], np.int64(np.iinfo(np.int64).max), seed)
    return found


@kernel
def _lose(facts: Any, ahead: Any, back: Any, overlay: Any, queue: Ints, most: int, seed: Any) -> tuple[Ints, int]:
    """Takes away those of the facts in `queue` that follow from none derived earlier, and so on with those that
    followed from them. (the facts that went, whether there would be more than `most` of them)."""
    rows, times, marks, table, fixed = facts
    keys, dense, offsets, values = ahead
    pairs, holds, known, heads, chains, _count = overlay
    tail = queue.size
    done = 0
    gone = np.empty(16, np.int64)
    n = 0
    while done < tail:
        row = queue[done]
        done += 1
        # A fact that a rule without recursion derives has the mark 8.
        if marks[row] & 9 != 1 or _supported(facts, back, overlay, row, times[row], seed):
            continue
        if n == most:
            return gone[:n], 1
        marks[row] &= np.uint8(254)
        if n == gone.size:
            more = np.empty(2 * n, np.int64)
            more[:n] = gone
            gone = more
        gone[n] = row
        n += 1
        kept, node = rows[fixed, row], rows[1 - fixed, row]
        at = position(keys, dense, node)
        e = offsets[at] if at >= 0 else np.int64(0)
        stop = offsets[at + 1] if at >= 0 else np.int64(0)
        link = _first(heads[0], pairs[0], node, seed)
        touched = link >= 0
        while True:
            if e < stop:
                other = values[e]
                e += 1
                if touched and _is_gone(pairs, holds, known, node, other, seed):
                    continue
            elif link >= 0:
                other = pairs[1, link]
                on = holds[link]
                link = chains[0, link]
                if on == 0:
                    continue
            else:
                break
            if fixed == 0:
                fact = _found(table, rows, kept, other, seed)
            else:
                fact = _found(table, rows, other, kept, seed)
            if fact >= 0 and marks[fact] & 9 == 1 and times[fact] > times[row]:
                if tail == queue.size:
                    longer = np.empty(2 * tail + 16, np.int64)
                    longer[:tail] = queue
                    queue = longer
                queue[tail] = fact
                tail += 1
    return gone[:n], 0


@kernel
def change(
    facts: Any,
    heads_of: Ints,
    chain_of: Ints,
    ahead: Any,
    back: Any,
    overlay: Any,
    went: Any,
    came: Any,
    closed: Ints,
    most: int,
    seed: Any,
) -> Any:
    """Has edges come and go, and takes away the facts that no earlier ones derive any more.

    went, came: (starts, ends) of edges, for which the overlay has room. closed: facts that lost their exit. (the
    facts that went, those of them that facts of any time derive, the overlay's new count, whether there would be
    more than `most` of the first). What edges that came derive besides is for `met`.
    """
    rows, _times, marks, table, fixed = facts
    pairs, holds, known, heads, chains, count = overlay
    followed = met(rows, marks, table, fixed, heads_of, chain_of, went[0], went[1], True, seed)
    queue = np.empty(closed.size + followed.shape[1], np.int64)
    queue[: closed.size] = closed
    for i in range(followed.shape[1]):
        queue[closed.size + i] = _found(table, rows, followed[0, i], followed[1, i], seed)
    now = put(pairs, holds, known, heads, chains, count, went[0], went[1], 0, seed)
    now = put(pairs, holds, known, heads, chains, now, came[0], came[1], 1, seed)
    after = (pairs, holds, known, heads, chains, now)
    gone, too_many = _lose(facts, ahead, back, after, queue, most, seed)
    derived = _which_supported(facts, back, after, gone, seed)
    return gone, gone[derived], now, too_many


@kernel
def gain(
    facts: Any,
    heads_of: Ints,
    chain_of: Ints,
    ahead: Any,
    overlay: Any,
    queue: Ints,
    done: int,
    tail: int,
    count: int,
    clock: int,
    most: int,
    seed: Any,
) -> tuple[int, int, int, int]:
    """Follows the facts in `queue` from number `done` on; what holds now and did not is put at its end.

    (done, tail, count of rows, clock) when all were followed, when there might be no room in `queue` or among the
    rows, of which half the table's places may be taken, for what follows from the next fact, or after about `most`
    steps.
    """
    rows, times, marks, table, fixed = facts
    keys, dense, offsets, values = ahead
    pairs, holds, known, heads, chains, differing = overlay
    moving = 1 - fixed
    mask = np.uint64(table.size - 1)
    steps = np.int64(0)
    while done < tail and steps < most:
        row = queue[done]
        kept, node = rows[fixed, row], rows[moving, row]
        at = position(keys, dense, node)
        e = offsets[at] if at >= 0 else np.int64(0)
        stop = offsets[at + 1] if at >= 0 else np.int64(0)
        room = stop - e + differing
        if count + room > min(rows.shape[1], table.size // 2) or tail + room > queue.size:
            break
        steps += room
        done += 1
        link = _first(heads[0], pairs[0], node, seed)
        touched = link >= 0
        while True:
            if e < stop:
                other = values[e]
                e += 1
                if touched and _is_gone(pairs, holds, known, node, other, seed):
                    continue
            elif link >= 0:
                other = pairs[1, link]
                on = holds[link]
                link = chains[0, link]
                if on == 0:
                    continue
            else:
                break
            first, second = (kept, other) if fixed == 0 else (other, kept)
            place = mix(mix(seed, first, seed), second, seed) & mask
            fact = np.int64(-1)
            while table[np.int64(place)] != 0:
                fact = table[np.int64(place)] - 1
                if rows[0, fact] == first and rows[1, fact] == second:
                    break
                fact = np.int64(-1)
                place = (place + np.uint64(1)) & mask
            if fact < 0:
                fact = np.int64(count)
                count += 1
                rows[0, fact] = first
                rows[1, fact] = second
                marks[fact] = 0
                table[np.int64(place)] = count
                _linked(heads_of, rows[moving], chain_of, fact, seed)
            if marks[fact] & 1 == 0:
                marks[fact] |= np.uint8(1)
                clock += 1
                times[fact] = clock
                queue[tail] = fact
                tail += 1
    return done, tail, count, clock
