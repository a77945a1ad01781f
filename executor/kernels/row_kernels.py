"""The compiled loops of recursion: rows that are new, values that are better, and what can be reached.

Tables are open addressing over row numbers, so that rows live once, in growing columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adalog.executor.kernels.compiling import inlined, kernel
from adalog.executor.kernels.group_kernels import mix
from adalog.executor.kernels.range_kernels import Bools, Index, Ints, position

# Rows whose places are read ahead.
_AHEAD = 64


@inlined
def hash_at(columns: Ints, k: int, row: Any, seed: Any) -> Any:
    h = seed
    for j in range(k):
        h = mix(h, columns[j, row], seed)
    return h


@kernel
def rehash(table: Ints, store: Ints, k: int, start: int, stop: int, seed: Any) -> None:
    """Enters the rows start to stop of `store` into a hash table by their first k columns.

    These rows are distinct, and none of them is in the table.
    """
    mask = np.uint64(table.size - 1)
    for row in range(start, stop):
        at = hash_at(store, k, row, seed) & mask
        while table[np.int64(at)] != 0:
            at = (at + np.uint64(1)) & mask
        table[np.int64(at)] = row + 1


@kernel
def insert(table: Ints, store: Ints, count: int, rows: Ints, seed: Any) -> int:
    """Appends the rows that `store` (its first `count` rows) lacks; returns the new count.

    store: int64[k, capacity], with room; table: int64[power of two], more than half empty. The hash places
    of a few rows are read before they are needed: reads that do not wait for each other hide the latency of memory.
    """
    k, n = rows.shape
    mask = np.uint64(table.size - 1)
    places = np.empty(_AHEAD, np.int64)
    ahead = np.int64(0)
    for first in range(0, n, _AHEAD):
        last = min(first + _AHEAD, n)
        for row in range(first, last):
            places[row - first] = np.int64(hash_at(rows, k, row, seed) & mask)
        for row in range(first, last):
            known = table[places[row - first]]
            if known > 0:
                for j in range(k):
                    ahead ^= store[j, known - 1]
        for row in range(first, last):
            at = np.uint64(places[row - first])
            while True:
                known = table[np.int64(at)]
                if known == 0:
                    for j in range(k):
                        store[j, count] = rows[j, row]
                    count += 1
                    table[np.int64(at)] = count
                    break
                same = True
                for j in range(k):
                    if store[j, known - 1] != rows[j, row]:
                        same = False
                        break
                if same:
                    break
                at = (at + np.uint64(1)) & mask
    # Never so: but what was read ahead has to be of use, or the compiler leaves it out.
    return count if count >= 0 else int(ahead)


@kernel
def improve(
    table: Ints,
    store: Ints,
    current: Bools,
    count: int,
    rows: Ints,
    keys: int,
    start: int,
    stop: int,
    sign: int,
    seed: Any,
) -> int:
    """Appends those of the rows start to stop that are better than the best known row of their group.

    keys: how many columns, from the first on, name the group. The last column is the rank; sign: 1 if the least
    rank is the best, -1 if the greatest is. `current` marks the best row of each group. Returns the new count.
    """
    k = rows.shape[0] - 1
    mask = np.uint64(table.size - 1)
    for row in range(start, stop):
        at = hash_at(rows, keys, row, seed) & mask
        while True:
            known = table[np.int64(at)]
            same = known != 0
            if same:
                for j in range(keys):
                    if store[j, known - 1] != rows[j, row]:
                        same = False
                        break
                if not same:
                    at = (at + np.uint64(1)) & mask
                    continue
                if sign * rows[k, row] >= sign * store[k, known - 1]:
                    break
                current[known - 1] = False
            for j in range(k + 1):
                store[j, count] = rows[j, row]
            current[count] = True
            count += 1
            table[np.int64(at)] = count
            break
    return count


@kernel
def walk(
    keys: Ints,
    dense: Index,
    offsets: Ints,
    values: Ints,
    over_keys: Ints,
    over_offsets: Ints,
    over_values: Ints,
    moving: int,
    table: Ints,
    store: Ints,
    done: int,
    limit: int,
    count: int,
    room: int,
    most: int,
    seed: Any,
) -> tuple[int, int]:
    """Follows a trie from the pairs in `store`: (x, y) gives (x, z) for every z under y; `moving` is y's column.

    The store is the queue: rows before `done` were followed, those from `limit` on are left. Returns (done, count)
    when all were, before the store has more than `room` rows, or after about `most` steps, so that the caller can
    make room and look at the clock.
    """
    mask = np.uint64(table.size - 1)
    fixed = 1 - moving
    no_index = np.empty(0, np.int32)
    steps = np.int64(0)
    while done < min(limit, count) and steps < most:
        node = store[moving, done]
        kept = store[fixed, done]
        over = over_keys.size > 0
        place = position(over_keys, no_index, node) if over else np.int64(-1)
        if place >= 0:
            source, lo, hi = over_values, over_offsets[place], over_offsets[place + 1]
        else:
            place = position(keys, dense, node)
            source = values
            lo = offsets[place] if place >= 0 else np.int64(0)
            hi = offsets[place + 1] if place >= 0 else np.int64(0)
        if count + (hi - lo) > room:
            return done, count
        done += 1
        steps += hi - lo
        for e in range(lo, hi):
            target = source[e]
            h = seed
            for j in range(2):
                h = mix(h, target if j == moving else kept, seed)
            at = h & mask
            while True:
                known = table[np.int64(at)]
                if known == 0:
                    store[moving, count] = target
                    store[fixed, count] = kept
                    count += 1
                    table[np.int64(at)] = count
                    break
                if store[moving, known - 1] == target and store[fixed, known - 1] == kept:
                    break
                at = (at + np.uint64(1)) & mask
    return done, count


@kernel
def reach(
    offsets: Ints,
    targets: Ints,
    seeds: Ints,
    seed_offsets: Ints,
    start: int,
    stop: int,
    out: Ints,
    counts: Ints,
    most: int,
) -> int:
    """The nodes reached from each start's seeds, the seeds included, into `out`, sorted; counts[i] for each start.

    The graph has the nodes 0..n-1, as CSR. The seeds of start i are seeds[seed_offsets[i]:seed_offsets[i + 1]].
    Returns the number of the first start that was not done: the walk ends early where `out`, of n rows or more,
    might have no room for a start's nodes, or after about `most` steps.
    """
    n = offsets.size - 1
    steps = np.int64(0)
    seen = np.full(n, -1, np.int64)
    at = np.int64(0)
    for i in range(start, stop):
        if out.size - at < n or steps >= most:
            return i
        first = at
        for s in range(seed_offsets[i], seed_offsets[i + 1]):
            node = seeds[s]
            if seen[node] != i:
                seen[node] = i
                out[at] = node
                at += 1
        done = first
        while done < at:
            node = out[done]
            done += 1
            steps += offsets[node + 1] - offsets[node]
            for e in range(offsets[node], offsets[node + 1]):
                other = targets[e]
                if seen[other] != i:
                    seen[other] = i
                    out[at] = other
                    at += 1
        counts[i] = at - first
        if 16 * (at - first) > n:
            at = first
            for node in range(n):
                if seen[node] == i:
                    out[at] = node
                    at += 1
        else:
            out[first:at].sort()
    return stop
