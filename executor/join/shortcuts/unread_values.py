"""Taken where nothing reads a level's values: they are only counted, or only have to exist.

Saves writing them out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch, check_total
from adalog.executor.join.level import BoundLevel


def weigh(batch: Batch, count: NDArray[np.int64]) -> Batch:
    """The prefixes with extensions, their weights multiplied by how many they have."""
    weight = batch.weight
    assert weight is not None
    check_total(weight, count)
    return Batch(batch.size, batch.columns, weight * count).keep(count > 0)


def having_any(level: BoundLevel, batch: Batch, count: NDArray[np.int64]) -> Batch:
    """The prefixes with an extension."""
    extended = batch.keep(count > 0)
    level.counts.skipped += int(count.sum()) - extended.size
    return extended
