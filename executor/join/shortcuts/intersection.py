"""The intersection of the ranges of several extenders, for all prefixes of a batch in one call of a kernel.

For each prefix the kernel goes through the shortest range and looks each value up in the others.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Column
from adalog.executor.join.ranges import Ranges
from adalog.executor.join.shortcuts.many_ranges import intersect_many
from adalog.executor.join.shortcuts.one_row import intersect_one
from adalog.executor.kernels import range_kernels

_NOTHING = np.empty(1, np.int64)
_KEPT_ROOM = 1 << 20
_SMALL_ROOM = 1 << 16
# The kernel is compiled for each number of ranges; those up to this one are when adalog is installed.
_MOST_COMPILED = 5
_buffers = threading.local()
_BITMAP_LIMIT = 1 << 28


def intersect_ranges(ranges: list[Ranges], least: NDArray[np.int64]) -> tuple[NDArray[np.int64], Column]:
    """(parent, value) of the intersection of k >= 2 ranges, the last changing most often."""
    if len(least) == 1:
        value = intersect_one(ranges)
        return np.zeros(len(value), np.int64), value
    if len(ranges) > _MOST_COMPILED:
        return intersect_many(ranges)
    room = int(least.sum()) + 1
    parent, value = _scratch(room)
    total = int(_run_kernel(ranges, len(least), write=True, parent=parent, value=value).sum())
    return parent[:total].copy(), value[:total].copy()


def count_ranges(ranges: list[Ranges], n: int) -> NDArray[np.int64]:
    """Per prefix the size of the intersection, without writing it out."""
    if len(ranges) > _MOST_COMPILED:
        return np.bincount(intersect_many(ranges)[0], minlength=n)
    return _run_kernel(ranges, n, write=False, parent=_NOTHING, value=_NOTHING)


def _run_kernel(
    ranges: list[Ranges], n: int, *, write: bool, parent: NDArray[np.int64], value: Column
) -> NDArray[np.int64]:
    bitmap, low = _bitmap(ranges, n)
    columns = tuple(column for each in ranges for column in (each.base, each.over))
    src = np.stack([each.src for each in ranges])
    lo, hi = np.stack([each.lo for each in ranges]), np.stack([each.hi for each in ranges])
    return range_kernels.intersect(columns, src, lo, hi, bitmap, low, write, parent, value)


def _scratch(room: int) -> tuple[NDArray[np.int64], Column]:
    """Two columns to write into; each thread keeps its own, since fresh memory costs more than the work in it."""
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
