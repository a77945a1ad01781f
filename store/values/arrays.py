"""What the numbers of a column are. The aliases cost nothing at run time; a signature says by them what it takes.

A code stands for a value or is an entity id. A row number is a position in another column, or in a list of rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

CodeColumn = NDArray[np.int64]
"""int64[n]: entity ids, or codes of values."""
RowColumn = NDArray[np.int64]
"""int64[n]: positions in a column, or bounds between them."""
Int64s = NDArray[np.int64]
"""int64[n]: anything else: counts, transaction numbers."""
Bools = NDArray[np.bool_]
"""bool[n]: a mask of a column's rows, or signs."""
