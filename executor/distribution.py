"""How figures are distributed: counted as they come, for histograms of the metrics."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate


class Distribution:
    """How many figures were at most each of some bounds, in ascending order, and their sum. For one thread at a
    time."""

    __slots__ = ("_bounds", "_counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, figure: float) -> None:
        self._counts[bisect_left(self._bounds, figure)] += 1
        self.sum += figure

    def counts(self) -> Iterator[tuple[float, int]]:
        """(a bound, how many were at most that); the last bound is infinite."""
        return zip((*self._bounds, float("inf")), accumulate(self._counts), strict=True)
