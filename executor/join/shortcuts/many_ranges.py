"""Taken for more ranges at a level than the kernel is compiled for.

Saves a compilation for each further number of ranges, which takes seconds in the midst of a query.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Column
from adalog.executor.join.ranges import Ranges, expand
from adalog.executor.kernels import range_kernels


def intersect_many(ranges: list[Ranges]) -> tuple[NDArray[np.int64], Column]:
    """(parent, value) of the intersection: each prefix's shortest range is written, the others remove from it."""
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
