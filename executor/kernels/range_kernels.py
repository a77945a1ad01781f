"""The compiled inner loops of the join: looking keys up in tries, intersecting sorted ranges.

For the extenders and the join, which own every decision; a kernel sees int64 columns only. All of them release the
interpreter lock and are kept on disk once compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adalog.executor.kernels.compiling import borrowing_kernel, inlined, kernel, python_if_few

Ints = NDArray[np.int64]
Index = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Bools = NDArray[np.bool_]

# Below this ratio of lengths two ranges are merged; above it the shorter one gallops through the longer.
_GALLOP = 16
# A bitmap pays when the range it marks is not tiny.
_MIN_MARKED = 8
# A last range that comes again gets a bitmap from this length on. A call has so many words of them at most: 8 MB.
_LONG = 64
_MOST_WORDS = 1 << 20
# Words of two bitmaps that are compared in the time in which one value is looked up in a bitmap.
_WORDS_A_PROBE = 4
# In place of the number of a long range's bitmap: the range was not met yet, or once.
_NEVER = -2
_ONCE = -1
# Of the filter of a level of signed pairs, as `store.tries.signed` makes it.
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@inlined
def _searched(keys: Ints, key: Any) -> Any:
    """The index of `key` in sorted `keys`, or -1, by bisection."""
    lo = np.int64(0)
    hi = np.int64(keys.size)
    while lo < hi:
        mid = (lo + hi) >> 1
        if keys[mid] < key:
            lo = mid + 1
        else:
            hi = mid
    if lo < keys.size and keys[lo] == key:
        return lo
    return np.int64(-1)


@inlined
def position(keys: Ints, dense: Index, key: Any) -> Any:
    """The index of `key` in sorted `keys`, or -1."""
    if dense.size > 0:
        at = key - keys[0]
        if at < 0 or at >= dense.size:
            return np.int64(-1)
        return np.int64(dense[at])
    return _searched(keys, key)


@inlined
def _lower_bound(values: Ints, lo: Any, hi: Any, x: Any) -> Any:
    """The first index in [lo, hi) whose value is at least x, else hi."""
    while lo < hi:
        mid = (lo + hi) >> 1
        if values[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


@inlined
def _gallop(values: Ints, lo: Any, hi: Any, x: Any) -> Any:
    """`_lower_bound` by doubling steps from lo: O(log distance)."""
    step = 1
    probe = lo
    while probe < hi and values[probe] < x:
        lo = probe + 1
        probe += step
        step <<= 1
    return _lower_bound(values, lo, min(probe, hi), x)


@inlined
def _ascend(query: Ints) -> Any:
    """Whether keys to look up come in order, so that each is found from where the one before was. Of keys in no
    order the first few tell."""
    i = np.int64(1)
    while i < query.size and query[i - 1] <= query[i]:
        i += 1
    return i >= query.size


@python_if_few
def lookup(
    keys: Ints, dense: Index, offsets: Ints, over_keys: Ints, over_offsets: Ints, query: Ints
) -> tuple[Bytes, Ints, Ints, int, bool]:
    """Per query key its run: (src, lo, hi), src 1 where it lies in the overlay. Missing keys get empty runs.

    Then the length of all runs together, and whether each is a single value of the base.
    """
    n = query.size
    total = 0
    single = True
    src = np.zeros(n, np.uint8)
    lo = np.zeros(n, np.int64)
    hi = np.zeros(n, np.int64)
    no_index = np.empty(0, np.int32)
    in_order = dense.size == 0 and _ascend(query)
    near = np.int64(0)
    for i in range(n):
        key = query[i]
        if i > 0 and key == query[i - 1]:
            src[i], lo[i], hi[i] = src[i - 1], lo[i - 1], hi[i - 1]
            total += int(hi[i] - lo[i])
            continue
        if over_keys.size > 0:
            at = position(over_keys, no_index, key)
            if at >= 0:
                src[i] = 1
                lo[i] = over_offsets[at]
                hi[i] = over_offsets[at + 1]
                total += int(hi[i] - lo[i])
                single = False
                continue
        if in_order:
            near = _gallop(keys, near, keys.size, key)
            if near < keys.size and keys[near] == key:
                lo[i] = offsets[near]
                hi[i] = offsets[near + 1]
        elif keys.size > 0:
            at = position(keys, dense, key)
            if at >= 0:
                lo[i] = offsets[at]
                hi[i] = offsets[at + 1]
        total += int(hi[i] - lo[i])
        single = single and bool(hi[i] - lo[i] == 1)
    return src, lo, hi, total, single


@kernel
def find_in(values: Ints, lo: Ints, hi: Ints, query: Ints) -> Ints:
    """Per row the index of query[i] in sorted values[lo[i]:hi[i]], or -1."""
    n = query.size
    found = np.empty(n, np.int64)
    for i in range(n):
        at = _lower_bound(values, lo[i], hi[i], query[i])
        found[i] = at if at < hi[i] and values[at] == query[i] else -1
    return found


@kernel
def contains(base: Ints, over: Ints, src: Bytes, lo: Ints, hi: Ints, query: Ints) -> Bools:
    """Mask of the rows whose run holds query[i]."""
    n = query.size
    mask = np.zeros(n, np.bool_)
    for i in range(n):
        values = over if src[i] else base
        at = _lower_bound(values, lo[i], hi[i], query[i])
        mask[i] = at < hi[i] and values[at] == query[i]
    return mask


@kernel
def row_lengths(keys: Ints, dense: Index, offsets: Ints, query: Ints) -> Ints:
    """Per query key how many values a base has."""
    length = np.zeros(query.size, np.int64)
    if keys.size == 0:
        return length
    in_order = dense.size == 0 and _ascend(query)
    near = np.int64(0)
    for i in range(query.size):
        if in_order:
            near = _gallop(keys, near, keys.size, query[i])
            at = near if near < keys.size and keys[near] == query[i] else np.int64(-1)
        else:
            at = position(keys, dense, query[i])
        if at >= 0:
            length[i] = offsets[at + 1] - offsets[at]
    return length


@inlined
def _filter_shift(filter_: Words) -> Any:
    """By how much a hash is shifted to be the number of a bit of the filter, whose size is a power of two."""
    shift = np.uint64(64)
    bits = np.uint64(64) * np.uint64(filter_.size)
    while bits > np.uint64(1):
        bits >>= np.uint64(1)
        shift -= np.uint64(1)
    return shift


@inlined
def _signed_position(keys: Ints, filter_: Words, shift: Any, key: Any) -> Any:
    """The index of `key` in the keys of a level of signed pairs, or -1; most are not in the filter."""
    place = (np.uint64(key) * _MULTIPLIER) >> shift
    if not (filter_[np.int64(place >> np.uint64(6))] >> (place & np.uint64(63))) & np.uint64(1):
        return np.int64(-1)
    return _searched(keys, key)


@kernel
def mark_touched(keys: Ints, filter_: Words, query: Ints, touched: Bools) -> int:
    """Sets touched[i] where a level of signed pairs has the key query[i]; how many were not set before."""
    fresh = 0
    shift = _filter_shift(filter_)
    for i in range(query.size):
        if not touched[i] and _signed_position(keys, filter_, shift, query[i]) >= 0:
            touched[i] = True
            fresh += 1
    return fresh


@kernel
def decide(
    keys: Ints, filter_: Words, offsets: Ints, values: Ints, added: Bools, query: Ints, wanted: Ints, mask: Bools
) -> None:
    """Corrects mask[i], whether the pair (query[i], wanted[i]) holds below a level of signed pairs, by it."""
    shift = _filter_shift(filter_)
    for i in range(query.size):
        at = _signed_position(keys, filter_, shift, query[i])
        if at >= 0:
            hi = offsets[at + 1]
            place = _lower_bound(values, offsets[at], hi, wanted[i])
            if place < hi and values[place] == wanted[i]:
                mask[i] = added[place]


@kernel
def decide_keys(keys: Ints, filter_: Words, counts: Ints, query: Ints, mask: Bools) -> None:
    """Corrects mask[i], whether query[i] has values below a level of signed pairs, by that level."""
    shift = _filter_shift(filter_)
    for i in range(query.size):
        at = _signed_position(keys, filter_, shift, query[i])
        if at >= 0:
            mask[i] = counts[at] > 0


@kernel
def holds_pairs(keys: Ints, dense: Index, offsets: Ints, values: Ints, query: Ints, wanted: Ints) -> Bools:
    """Mask of the pairs (query[i], wanted[i]) that a base has."""
    mask = np.zeros(query.size, np.bool_)
    if keys.size == 0:
        return mask
    in_order = dense.size == 0 and _ascend(query)
    at = np.int64(-1)
    near = np.int64(0)
    for i in range(query.size):
        if i == 0 or query[i] != query[i - 1]:
            if in_order:
                near = _gallop(keys, near, keys.size, query[i])
                at = near if near < keys.size and keys[near] == query[i] else np.int64(-1)
            else:
                at = position(keys, dense, query[i])
        if at >= 0:
            hi = offsets[at + 1]
            place = _lower_bound(values, offsets[at], hi, wanted[i])
            mask[i] = place < hi and values[place] == wanted[i]
    return mask


@kernel
def contains_key(keys: Ints, dense: Index, query: Ints) -> Bools:
    """Mask of the query keys that a base has."""
    mask = np.zeros(query.size, np.bool_)
    if keys.size == 0:
        return mask
    if dense.size == 0 and _ascend(query):
        near = np.int64(0)
        for i in range(query.size):
            near = _gallop(keys, near, keys.size, query[i])
            mask[i] = near < keys.size and keys[near] == query[i]
        return mask
    for i in range(query.size):
        mask[i] = position(keys, dense, query[i]) >= 0
    return mask


@kernel
def expand(base: Ints, over: Ints, src: Bytes, lo: Ints, hi: Ints, total: int) -> tuple[Ints, Ints]:
    """Every value of every run: (parent, value), int64[total]."""
    parent = np.empty(total, np.int64)
    value = np.empty(total, np.int64)
    at = 0
    for i in range(lo.size):
        values = over if src[i] else base
        for p in range(lo[i], hi[i]):
            parent[at] = i
            value[at] = values[p]
            at += 1
    return parent, value


@kernel
def scatter(base: Ints, lo: Ints, hi: Ints, weight: Ints, total: Ints, low: int) -> None:
    """Adds each prefix's weight to every value of its run: total[value - low] += weight."""
    for i in range(lo.size):
        for p in range(lo[i], hi[i]):
            total[base[p] - low] += weight[i]


@inlined
def _intersect_two(
    a: Ints,
    a_lo: Any,
    a_hi: Any,
    b: Ints,
    b_lo: Any,
    b_hi: Any,
    row: int,
    write: bool,
    parent: Ints,
    value: Ints,
    at: Any,
) -> Any:
    """Writes the common values of two sorted ranges (when `write`) and returns the next free place."""
    a_len = a_hi - a_lo
    b_len = b_hi - b_lo
    if a_len * _GALLOP < b_len:
        for p in range(a_lo, a_hi):
            x = a[p]
            b_lo = _gallop(b, b_lo, b_hi, x)
            if b_lo == b_hi:
                break
            if b[b_lo] == x:
                if write:
                    parent[at] = row
                    value[at] = x
                at += 1
    elif b_len * _GALLOP < a_len:
        for p in range(b_lo, b_hi):
            x = b[p]
            a_lo = _gallop(a, a_lo, a_hi, x)
            if a_lo == a_hi:
                break
            if a[a_lo] == x:
                if write:
                    parent[at] = row
                    value[at] = x
                at += 1
    else:
        while a_lo < a_hi and b_lo < b_hi:
            x = a[a_lo]
            y = b[b_lo]
            if write:
                parent[at] = row
                value[at] = x
            at += x == y
            a_lo += x <= y
            b_lo += y <= x
    return at


@borrowing_kernel
def _count_marked(bitmap: Words, first: Any, bits: Any, low: Any, values: Ints, lo: Any, hi: Any) -> Any:
    """How many of values[lo:hi] the bitmap at word `first` has: so many bits, for the values from `low` on."""
    # Indices without a sign spare a test in each step.
    word, hits = np.uint64(first), np.uint64(0)
    for p in range(np.uint64(lo), np.uint64(hi)):
        x = np.uint64(values[p] - low)
        if x < bits:
            hits += (bitmap[word + (x >> np.uint64(6))] >> (x & np.uint64(63))) & np.uint64(1)
    return np.int64(hits)


@borrowing_kernel
def _count_both(a: Words, a_first: Any, b: Words, b_first: Any, words: Any) -> Any:
    """How many bits are set in both of two bitmaps, in so many words from a place of each."""
    at, other, hits = np.uint64(a_first), np.uint64(b_first), np.uint64(0)
    for i in range(np.uint64(words)):
        x = a[at + i] & b[other + i]
        x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
        x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
        x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        hits += (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return np.int64(hits)


@borrowing_kernel
def _long_row(
    rows: Ints, owners: Ints, marks: Words, words: Any, low: Any, long: Any, values: Ints, lo: Any, hi: Any
) -> Any:
    """The number of the long range values[lo:hi] among the bitmaps in `marks`; negative if it has none. The second
    call for a range makes its bitmap, while there is room.

    Each bitmap has so many words, for the values from `low` on. Long ranges that do not overlap begin in different
    pieces of the column, each as long as `long`. rows: per piece the number, then how many bitmaps there are.
    owners: int64[room, 2], the range of each, since ranges that overlap may share a piece.
    """
    row = rows[lo // long]
    if row >= 0:
        return row if owners[row, 0] == lo and owners[row, 1] == hi else np.int64(_NEVER)
    made = rows[rows.size - 1]
    if row == _NEVER or made == owners.shape[0]:
        rows[lo // long] = _ONCE
        return np.int64(_NEVER)
    word, bits = np.uint64(made * words), np.uint64(words * 64)
    for i in range(np.uint64(words)):
        marks[word + i] = 0
    for p in range(np.uint64(lo), np.uint64(hi)):
        x = np.uint64(values[p] - low)
        if x < bits:
            marks[word + (x >> np.uint64(6))] |= np.uint64(1) << (x & np.uint64(63))
    owners[made, 0] = lo
    owners[made, 1] = hi
    rows[lo // long] = made
    rows[rows.size - 1] = made + 1
    return made


@kernel
def intersect(
    arrays: tuple[Ints, ...],
    src: Bytes,
    lo: Ints,
    hi: Ints,
    bitmap: Words,
    low: int,
    write: bool,
    parent: Ints,
    value: Ints,
) -> Ints:
    """Intersects k sorted ranges per prefix, k >= 2; returns the count per prefix, int64[n].

    arrays: 2k columns, base and overlay of each participant. src: uint8[k, n]; lo, hi: int64[k, n].
    The last participant is the one whose range changes most often. While the ranges of the others stay the same
    from prefix to prefix their intersection is kept, and marked in `bitmap` (uint64 words for the values from
    `low` on, all zero before and after; empty to do without), so that each prefix only scans the last range.
    With `write` the rows go to `parent` and `value`, which must have room for the sum of the shortest lengths and
    one more; without they are only counted. Then long ranges of the last participant that come again get bitmaps,
    too: two bitmaps are compared word by word, and of a short intersection each value is looked up.
    """
    k, n = lo.shape
    counts = np.zeros(n, np.int64)
    at: Any = 0
    kept = np.empty(0, np.int64)
    scratch = np.empty(0, np.int64)
    ignored = np.empty(0, np.int64)
    kept_lo = np.int64(0)
    kept_hi = np.int64(0)
    marked = False
    known = False
    words = bitmap.size
    bits = np.uint64(words * 64)
    long = max(_LONG, words // _WORDS_A_PROBE)
    pieces = arrays[2 * (k - 1)].size // long + 1
    if write or words == 0 or pieces > n:
        long = np.iinfo(np.int64).max
        pieces = 0
    room = min(pieces, _MOST_WORDS // max(words, 1))
    rows = np.full(pieces + 1, _NEVER, np.int64)
    rows[pieces] = 0
    owners = np.empty((room, 2), np.int64)
    long_marks = np.empty(room * words, np.uint64)
    for i in range(n):
        same = known
        if same:
            for j in range(k - 1):
                if lo[j, i] != lo[j, i - 1] or hi[j, i] != hi[j, i - 1] or src[j, i] != src[j, i - 1]:
                    same = False
                    break
        if not same:
            if marked:
                for p in range(kept_lo, kept_hi):
                    bitmap[(kept[p] - low) >> 6] = 0
                marked = False
            if k == 2:
                known = True
                kept = arrays[np.int64(src[0, i])]
                kept_lo = lo[0, i]
                kept_hi = hi[0, i]
            else:
                shortest = 0
                for j in range(1, k - 1):
                    if hi[j, i] - lo[j, i] < hi[shortest, i] - lo[shortest, i]:
                        shortest = j
                size = hi[shortest, i] - lo[shortest, i]
                # With nothing to intersect it with, the intersection of the others is not worth making.
                known = hi[k - 1, i] > lo[k - 1, i]
                if not known:
                    size = 0
                if scratch.size < 2 * size + 2:
                    scratch = np.empty(4 * size + 2, np.int64)
                    ignored = np.empty(4 * size + 2, np.int64)
                # Two halves of one buffer take turns as input and output.
                half = scratch.size // 2
                here = np.int64(0)
                source = arrays[2 * shortest + np.int64(src[shortest, i])]
                for p in range(size):
                    scratch[p] = source[lo[shortest, i] + p]
                for j in range(k - 1):
                    if j != shortest and size > 0:
                        there = half - here
                        size = (
                            _intersect_two(
                                scratch,
                                here,
                                here + size,
                                arrays[2 * j + np.int64(src[j, i])],
                                lo[j, i],
                                hi[j, i],
                                0,
                                True,
                                ignored,
                                scratch,
                                there,
                            )
                            - there
                        )
                        here = there
                kept = scratch
                kept_lo = here
                kept_hi = here + size
        last = arrays[2 * (k - 1) + np.int64(src[k - 1, i])]
        last_lo = lo[k - 1, i]
        last_hi = hi[k - 1, i]
        kept_len = kept_hi - kept_lo
        last_len = last_hi - last_lo
        if kept_len == 0 or last_len == 0:
            continue
        if not marked and bits > 0 and kept_len >= _MIN_MARKED and i + 1 < n and not same:
            again = True
            for j in range(k - 1):
                if lo[j, i] != lo[j, i + 1] or hi[j, i] != hi[j, i + 1] or src[j, i] != src[j, i + 1]:
                    again = False
                    break
            if again and np.uint64(kept[kept_hi - 1] - low) < bits and kept[kept_lo] >= low:
                for p in range(kept_lo, kept_hi):
                    x = kept[p] - low
                    bitmap[x >> 6] |= np.uint64(1) << np.uint64(x & 63)
                marked = True
        if last_len >= long and src[k - 1, i] == 0:
            row = _long_row(rows, owners, long_marks, words, low, long, last, last_lo, last_hi)
            least = max(kept[kept_lo], last[last_lo])
            most = min(kept[kept_hi - 1], last[last_hi - 1])
            if least > most:
                continue
            if row >= 0 and least >= low and np.uint64(most - low) < bits:
                first = (least - low) >> 6
                span = ((most - low) >> 6) - first + 1
                if marked and span <= _WORDS_A_PROBE * kept_len:
                    counts[i] = _count_both(bitmap, first, long_marks, row * words + first, span)
                else:
                    counts[i] = _count_marked(long_marks, row * words, bits, low, kept, kept_lo, kept_hi)
                continue
        before = at
        if marked and last_len <= _GALLOP * kept_len:
            if not write:
                counts[i] = _count_marked(bitmap, 0, bits, low, last, last_lo, last_hi)
                continue
            for p in range(last_lo, last_hi):
                x = np.uint64(last[p] - low)
                hit = np.uint64(0)
                if x < bits:
                    hit = (bitmap[x >> np.uint64(6)] >> (x & np.uint64(63))) & np.uint64(1)
                parent[at] = i
                value[at] = last[p]
                at += np.int64(hit)
        else:
            at = _intersect_two(kept, kept_lo, kept_hi, last, last_lo, last_hi, i, write, parent, value, at)
        counts[i] = at - before
    if marked:
        for p in range(kept_lo, kept_hi):
            bitmap[(kept[p] - low) >> 6] = 0
    return counts
