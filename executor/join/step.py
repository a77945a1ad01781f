"""The join's one step: for each prefix the shortest range proposes its values, and the others strike out of them.

That choice for each prefix, not for each level, is what makes the join worst-case optimal. A kernel intersects the
ranges of all prefixes of a batch in one call.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Column
from adalog.executor.join.extender import Ranges, Unwritten, expand
from adalog.executor.kernels import range_kernels

_NOTHING = np.empty(1, np.int64)
_KEPT_ROOM = 1 << 20
_SMALL_ROOM = 1 << 16
# The kernel is compiled for each number of ranges; those up to this one are when adalog is installed.
_MOST_COMPILED = 5
_buffers = threading.local()
_BITMAP_LIMIT = 1 << 28
# A row is only checked where it is so many times as long as there are candidates for it: about what a check costs
# more than a step of a merge.
_FEW_CANDIDATES = 8


def choose(ranges: list[Ranges]) -> NDArray[np.int64]:
    """Per prefix the least length among the ranges."""
    least = ranges[0].length
    for other in ranges[1:]:
        least = np.minimum(least, other.length)
    return least


def intersect_ranges(ranges: list[Ranges], least: NDArray[np.int64]) -> tuple[NDArray[np.int64], Column]:
    """(parent, value) of the intersection of k >= 2 ranges, the last changing most often."""
    if len(least) == 1:
        value = _intersect_one(ranges)
        return np.zeros(len(value), np.int64), value
    if len(ranges) > _MOST_COMPILED:
        return _intersect_many(ranges)
    room = int(least.sum()) + 1
    parent, value = _scratch(room)
    total = int(_run_kernel(ranges, len(least), write=True, parent=parent, value=value).sum())
    return parent[:total].copy(), value[:total].copy()


def _intersect_one(ranges: list[Ranges]) -> Column:
    """The same of a single prefix, for which preparing a kernel's arguments would cost more than the work."""
    rows = []
    for each in sorted(ranges, key=lambda each: int(each.hi[0] - each.lo[0])):
        column = each.over if each.src[0] else each.base
        rows.append(column[int(each.lo[0]) : int(each.hi[0])])
    value, *others = rows
    for other in others:
        if not len(value):
            break
        value = common(value, other)
    return value


def common(few: Column, many: Column) -> Column:
    """The values of a sorted row, which is not empty, that are in another one, too, which is no shorter."""
    place = many.searchsorted(few)
    if place[-1] == len(many):
        place[place == len(many)] = 0
    found: Column = few[many[place] == few]
    return found


def written(row: Column | Unwritten) -> Column:
    """A row that can be read."""
    return row.column() if isinstance(row, Unwritten) else row


def is_worth_writing(row: Column | Unwritten, candidates: int) -> bool:
    """Whether a row is better read than asked for each of so many candidates."""
    return not isinstance(row, Unwritten) or row.is_written or len(row) <= _FEW_CANDIDATES * candidates


def count_ranges(ranges: list[Ranges], n: int) -> NDArray[np.int64]:
    """Per prefix the size of the intersection, without writing it out."""
    if len(ranges) > _MOST_COMPILED:
        return np.bincount(_intersect_many(ranges)[0], minlength=n)
    return _run_kernel(ranges, n, write=False, parent=_NOTHING, value=_NOTHING)


def _intersect_many(ranges: list[Ranges]) -> tuple[NDArray[np.int64], Column]:
    """The same for any number of ranges: each prefix's shortest is written out, the others strike out of it."""
    winner = np.argmin(np.stack([each.length for each in ranges]), axis=0)
    pieces: list[tuple[NDArray[np.int64], Column]] = []
    for i, shortest in enumerate(ranges):
        rows = np.flatnonzero(winner == i)
        parent, value = expand(shortest.take(rows))
        parent = rows[parent]
        for j, other in enumerate(ranges):
            if j != i and len(parent):
                at = other.take(parent)
                kept = range_kernels.contains(at.base, at.over, at.src, at.lo, at.hi, value)
                parent, value = parent[kept], value[kept]
        pieces.append((parent, value))
    parents = np.concatenate([parent for parent, _ in pieces])
    order = np.argsort(parents, kind="stable")
    return parents[order], np.concatenate([value for _, value in pieces])[order]


def _run_kernel(
    ranges: list[Ranges], n: int, *, write: bool, parent: NDArray[np.int64], value: Column
) -> NDArray[np.int64]:
    bitmap, low = _bitmap(ranges, n)
    arrays: tuple[Column, ...] = ()
    for each in ranges:
        arrays += (each.base, each.over)
    return range_kernels.intersect(
        arrays,
        np.stack([each.src for each in ranges]),
        np.stack([each.lo for each in ranges]),
        np.stack([each.hi for each in ranges]),
        bitmap,
        low,
        write,
        parent,
        value,
    )


def _scratch(room: int) -> tuple[NDArray[np.int64], Column]:
    """Two columns to write into; a thread's own are kept, since fresh memory costs more than the work in it."""
    if room > _KEPT_ROOM:
        return np.empty(room, np.int64), np.empty(room, np.int64)
    kept: tuple[NDArray[np.int64], Column] | None = getattr(_buffers, "pair", None)
    if kept is None or len(kept[0]) < room:
        size = min(_KEPT_ROOM, max(1024, 2 * room))
        kept = _buffers.pair = (np.empty(size, np.int64), np.empty(size, np.int64))
    return kept


def forget_scratch() -> None:
    """Lets go of this thread's columns where they are large: a query that needed them has ended."""
    kept = getattr(_buffers, "pair", None)
    if kept is not None and len(kept[0]) > _SMALL_ROOM:
        del _buffers.pair


def _bitmap(ranges: list[Ranges], n: int) -> tuple[NDArray[np.uint64], int]:
    """A zeroed bitmap over the kept ranges' values, or none where marking cannot pay."""
    if n >= 64:
        low, high = ranges[0].span()
        if high - low < _BITMAP_LIMIT:
            return np.zeros(((high - low) >> 6) + 1, np.uint64), low
    return np.zeros(0, np.uint64), 0


def spared(ranges: list[Ranges]) -> list[bool]:
    """Which ranges are better only checked than written out: where the others leave few candidates for them."""
    spared = [False] * len(ranges)
    for i in sorted(range(len(ranges)), key=lambda i: -ranges[i].unwritten):
        others = [each for j, each in enumerate(ranges) if j != i and not spared[j]]
        if others and ranges[i].unwritten > _FEW_CANDIDATES * int(choose(others).sum()):
            spared[i] = True
    return spared
