"""What the numbers of a column are. The aliases cost nothing at run time; a signature says by them what it takes.

A code stands for a value or is an entity id. A row number is a position in another column, or in a list of rows.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

CodeColumn = NDArray[np.int64]
"""int64[n]: entity ids, or codes of values."""
RowColumn = NDArray[np.int64]
"""int64[n]: positions in a column, or bounds between them."""
Int64s = NDArray[np.int64]
"""int64[n]: anything else: counts, transaction numbers."""
Bools = NDArray[np.bool_]
"""bool[n]: a mask of a column's rows, or signs."""


def arrow_of(numbers: Int64s) -> pa.Int64Array:
    """An Arrow array over the same memory. `pa.array` imports pandas where it is installed, which takes most of a
    second."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(numbers))]
    return pa.Array.from_buffers(pa.int64(), len(numbers), buffers)


def are_of(ids: CodeColumn, some: CodeColumn) -> Bools:
    """Which of the ids are among some, which are sorted and distinct."""
    if not len(some):
        return np.zeros(len(ids), np.bool_)
    at = np.minimum(some.searchsorted(ids), len(some) - 1)
    return np.asarray(some[at] == ids)
