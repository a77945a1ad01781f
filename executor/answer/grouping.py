"""Rows numbered by group, where equal rows often lie together: the first variables of a join change least.

Hashing one row of each run in place of all of them saves most of the work then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Column, stack
from adalog.executor.kernels.group_kernels import group_rows

# Rows from which on a look for runs is worth it, and pairs of neighbours that are looked at.
_MANY: Final = 1 << 15
_SAMPLE: Final = 1 << 10


def grouped_rows(
    columns: Iterable[Column], check: Callable[[], None]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`group_rows` of at least one column. `check` is called now and then, and may raise."""
    rows = stack(columns)
    if not _seems_in_runs(rows):
        return group_rows(rows, check)
    starts = np.ones(rows.shape[1], np.bool_)
    starts[1:] = False
    for column in rows:
        check()
        starts[1:] |= column[1:] != column[:-1]
    firsts = np.flatnonzero(starts)
    group, first = group_rows(np.take(rows, firsts, axis=1), check)
    return group[np.cumsum(starts) - 1], firsts[first]


def _seems_in_runs(rows: NDArray[np.int64]) -> bool:
    """Whether most of some rows, taken here and there, equal the next one. One column alone has quicker ways."""
    k, n = rows.shape
    if k < 2 or n < _MANY:
        return False
    step = n // _SAMPLE
    equal = (rows[:, : n - 1 : step] == rows[:, 1::step]).all(axis=0)
    return 2 * int(np.count_nonzero(equal)) >= len(equal)
