"""Taken where a level keeps only values and weights, one part has ranges, and the values lie close together.

Saves a row for each (prefix, value), and merging those rows: an array with a place per value adds the weights up.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch, check_total
from adalog.executor.join.level import BoundLevel, chunks
from adalog.executor.join.ranges import Ranges
from adalog.executor.kernels import range_kernels

# The array is at most so many times as long as the list of values.
_DENSE: Final = 4
# Extensions that are summed between two looks at the deadline.
_SCATTERED: Final = 1 << 24


def value_sums(level: BoundLevel, batch: Batch, narrow: list[Ranges], least: NDArray[np.int64]) -> Batch | None:
    """Each value with the sum of its weights; None where the shortcut does not apply."""
    weight = batch.weight
    if weight is None or len(narrow) > 1 or level.kept != frozenset((level.variable,)) or narrow[0].src.any():
        return None
    low, high = narrow[0].span()
    if high - low >= _DENSE * (int(least.sum()) + 1024):
        return None
    check_total(weight, least)
    total = np.zeros(high - low + 1, np.int64)
    base, lo, hi = narrow[0].base, narrow[0].lo, narrow[0].hi
    for start, stop in chunks(least, _SCATTERED):
        level.check()
        range_kernels.scatter(base, lo[start:stop], hi[start:stop], weight[start:stop], total, low)
    places = np.flatnonzero(total)
    return Batch(len(places), {level.variable: places + low}, total[places])
