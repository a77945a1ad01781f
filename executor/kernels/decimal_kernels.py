"""The compiled loops that read codes of bigdecs as integers over one power of ten.

As the other kernels: int64 columns, the interpreter lock released, kept on disk once compiled. Keys are unsigned,
as an index that could be negative costs a branch, and nothing is summed up on the way: so loops are vectorised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from adalog.executor.kernels.compiling import kernel
from adalog.executor.kernels.range_kernels import Ints

Places = NDArray[np.int8]


@kernel
def gather_parts(codes: Ints, mask: Any, numbers: Ints, places: Places, found: Ints, digits: Places) -> None:
    """Writes for each code the number and the digits after the point that its key, `code & mask`, has in `numbers`
    and `places`."""
    bits = np.uint64(mask)
    for i in range(codes.size):
        key = np.uint64(codes[i]) & bits
        found[i] = numbers[key]
        digits[i] = places[key]


@kernel
def to_scale(found: Ints, digits: Places, scale: Any, factors: Ints) -> None:
    """Brings numbers to `scale` digits after the point, in place, by `factors[k]` for k digits more."""
    for i in range(found.size):
        found[i] *= factors[np.uint64(scale - digits[i])]
