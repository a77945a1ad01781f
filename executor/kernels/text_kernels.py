"""The compiled search of texts that lie one after the other in memory, as a dictionary's block has them.

Texts that follow each other are searched as one: 64 bytes at a time are compared with two bytes of a part, which
the compiler turns into a few vector instructions. In UTF-8 the bytes of a text occur where the text does, and
nowhere else.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adalog.executor.kernels.compiling import kernel
from adalog.executor.kernels.range_kernels import Ints

Bytes = NDArray[np.uint8]

UNKNOWN: Final = 2
"""Of a row: its text is in another block."""

LONGEST_PART: Final = 64
"""Bytes of a part, all of which may be compared at each place of a text."""

# Numba takes constants of a module as they are.
_STEP: Final = 64
_UNKNOWN: Final = 0


@kernel
def _has(heap: Bytes, at: Any, pattern: Bytes, start: Any, stop: Any) -> bool:
    """Whether the bytes from a place on are those of a part."""
    k = start
    while k < stop and heap[at + k - start] == pattern[k]:
        k += 1
    return bool(k == stop)


@kernel
def _goes_on(heap: Bytes, at: Any, end: Any, pattern: Bytes, cuts: Ints) -> bool:
    """Whether a text, of which the first part between the ends was found before `at`, has the others after it."""
    parts = cuts.size - 1
    last = end - (cuts[parts] - cuts[parts - 1])
    if at > last or not _has(heap, last, pattern, cuts[parts - 1], cuts[parts]):
        return False
    for part in range(2, parts - 1):
        length = cuts[part + 1] - cuts[part]
        while at + length <= last and not _has(heap, at, pattern, cuts[part], cuts[part + 1]):
            at += 1
        at += length
        if at > last:
            return False
    return True


@kernel
def _next_place(heap: Bytes, at: Any, end: Any, pattern: Bytes, start: Any, stop: Any, anchors: Ints) -> Any:
    """The first place from `at` on, before `end`, where a part is; `end` if there is none."""
    a = np.uint64(anchors[0])
    b = np.uint64(anchors[1])
    at_a = pattern[start + anchors[0]]
    at_b = pattern[start + anchors[1]]
    while at < end:
        place = np.uint64(at)
        while place + np.uint64(_STEP) <= np.uint64(end):
            any_here = np.uint8(0)
            # Unsigned places and 8-bit numbers: otherwise the loop is not compiled to vector instructions.
            for k in range(np.uint64(_STEP)):
                both = (heap[place + a + k] == at_a) & (heap[place + b + k] == at_b)
                any_here = np.uint8(any_here | np.uint8(both))
            if any_here:
                break
            place += np.uint64(_STEP)
        at = np.int64(place)
        stop_here = min(at + _STEP, end)
        while at < stop_here:
            if heap[at + anchors[1]] == at_b and _has(heap, at, pattern, start, stop):
                return at
            at += 1
    return end


@kernel
def _search_run(
    heap: Bytes, offsets: Ints, first: Any, count: Any, pattern: Bytes, cuts: Ints, anchors: Ints, found: Bytes
) -> None:
    """found: uint8[count], 1 for each of the texts from number `first` on that has a pattern."""
    parts = cuts.size - 1
    before = cuts[1]
    after = cuts[parts] - cuts[parts - 1]
    for i in range(count):
        found[i] = 0
    if parts == 2:
        for i in range(count):
            start, end = offsets[first + i], offsets[first + i + 1]
            if end - start >= before + after and _has(heap, start, pattern, 0, before):
                found[i] = _has(heap, end - after, pattern, cuts[1], cuts[2])
        return
    length = cuts[2] - cuts[1]
    is_anywhere = length == cuts[parts]
    stop = offsets[first + count] - length + 1
    at = offsets[first]
    text = 0
    while at < stop:
        at = _next_place(heap, at, stop, pattern, cuts[1], cuts[2], anchors)
        if at >= stop:
            return
        # Galloping: the text that has the place may be far ahead.
        step = 1
        while text + step < count and offsets[first + text + step] <= at:
            text += step
            step *= 2
        while step > 1:
            step //= 2
            if text + step < count and offsets[first + text + step] <= at:
                text += step
        start, end = offsets[first + text], offsets[first + text + 1]
        if at + length > end:
            at = end
        elif at < start + before:
            at = min(start + before, end)
        else:
            if is_anywhere:
                found[text] = 1
            elif _has(heap, start, pattern, 0, before):
                found[text] = _goes_on(heap, at + length, end, pattern, cuts)
            # Where the first place of a part does not do, no later one does.
            at = end


@kernel
def search_texts(
    codes: Ints,
    base: Any,
    offsets: Ints,
    heap: Bytes,
    pattern: Bytes,
    cuts: Ints,
    anchors: Ints,
    known: Bytes,
    found: Bytes,
    row: Any,
    most: Any,
    longest: Any,
) -> Any:
    """Which texts start with a part, have others after it, one after the other, and end with the last one.

    codes: int64[n], `base` is that of the first text; offsets: int64[m + 1]. pattern: the parts' bytes, of which
    part i is `pattern[cuts[i]:cuts[i + 1]]`; the first and the last one may be empty. anchors: two places in the
    second part. known: uint8[m], of each text 0, or 1 more than what is found of it. found: uint8[n], set to 1 or 0
    from `row` on. Stops after about `most` bytes: returns the next row, or -1 if a text has more than `longest`.
    Several threads may share `known`.
    """
    n, size = codes.size, known.size
    seen = 0
    while row < n and seen < most:
        first = codes[row] - base
        if first < 0 or first >= size:
            row += 1
            continue
        if known[first] != _UNKNOWN:
            found[row] = known[first] - 1
            row += 1
            continue
        start = offsets[first]
        count = 0
        while (
            row + count < n
            and first + count < size
            and codes[row + count] - base == first + count
            and known[first + count] == _UNKNOWN
            and (count == 0 or offsets[first + count + 1] - start <= most)
        ):
            if offsets[first + count + 1] - offsets[first + count] > longest:
                return -1
            count += 1
        _search_run(heap, offsets, first, count, pattern, cuts, anchors, found[row : row + count])
        for i in range(count):
            known[first + i] = found[row + i] + 1
        row += count
        # A row by itself is work, too.
        seen += offsets[first + count] - start + 8 * count
    return row
