"""Which rows of a relation are known, a bit for each row there could be: while its codes lie close together.

For `executor.facts.facts`, whose hash table takes over where there would be too many bits to a row.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.executor.kernels.compiling import kernel
from adalog.executor.kernels.range_kernels import Ints

# As many as a row and its place in a hash table take.
_BITS_A_ROW: Final = 256
# Below so many rows a hash table fits the cache as well.
_FEWEST_ROWS: Final = 4096


class DenseRows:
    """A set of rows, each column within lows[j] up to lows[j] + sizes[j] - 1."""

    def __init__(self, lows: Ints, sizes: Ints) -> None:
        self._lows = lows
        self._sizes = sizes
        self._bits: NDArray[np.uint64] = np.zeros(int(sizes.prod()) // 64 + 1, np.uint64)

    @property
    def nbytes(self) -> int:
        """Bytes of its bits."""
        return self._bits.nbytes

    @classmethod
    def over(cls, known: Ints, count: int, rows: Ints, *, ahead: bool = False) -> DenseRows | None:
        """The first `count` rows of `known`, with room for `rows`; None where a hash table does better.

        `ahead`: twice as wide where `rows` lie outside of what is known, as more will, so that what is known is
        marked again only a logarithmic number of times.
        """
        most = _BITS_A_ROW * (count + rows.shape[1])
        if count + rows.shape[1] < _FEWEST_ROWS:
            return None
        lows, highs = rows.min(axis=1).tolist(), rows.max(axis=1).tolist()
        sizes: list[int] = []
        for j, column in enumerate(known[:, :count]):
            low = min(int(column.min()), lows[j]) if count else lows[j]
            high = max(int(column.max()), highs[j]) if count else highs[j]
            span = high - low + 1
            wider = ahead and count > 0
            above = span if wider and high > int(column.max()) else 0
            below = span if wider and low < int(column.min()) else 0
            lows[j] = low - below
            sizes.append(below + span + above)
        if math.prod(sizes) > most:
            return None
        made = cls(np.array(lows, np.int64), np.array(sizes, np.int64))
        mark(made._bits, made._lows, made._sizes, known, count)
        return made

    def covers(self, rows: Ints) -> bool:
        """Whether all of these rows have a bit."""
        return bool((rows.min(axis=1) >= self._lows).all() and (rows.max(axis=1) < self._lows + self._sizes).all())

    def insert(self, store: Ints, count: int, rows: Ints) -> int:
        """Appends the rows that `store` (its first `count` rows) lacks; returns the new count."""
        return insert(self._bits, self._lows, self._sizes, store, count, rows)


@kernel
def mark(bits: NDArray[np.uint64], lows: Ints, sizes: Ints, store: Ints, count: int) -> None:
    """Sets the bits of the first `count` rows."""
    for row in range(count):
        place = np.int64(0)
        for j in range(store.shape[0]):
            place = place * sizes[j] + (store[j, row] - lows[j])
        bits[place >> 6] |= np.uint64(1) << np.uint64(place & 63)


@kernel
def insert(bits: NDArray[np.uint64], lows: Ints, sizes: Ints, store: Ints, count: int, rows: Ints) -> int:
    """Appends the rows whose bits are not set to `store`, which has room, and sets them; returns the new count."""
    k, n = rows.shape
    for row in range(n):
        place = np.int64(0)
        for j in range(k):
            place = place * sizes[j] + (rows[j, row] - lows[j])
        word = place >> 6
        bit = np.uint64(1) << np.uint64(place & 63)
        if not bits[word] & bit:
            bits[word] |= bit
            for j in range(k):
                store[j, count] = rows[j, row]
            count += 1
    return count
