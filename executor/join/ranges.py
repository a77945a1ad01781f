"""Sorted ranges of candidate values, one for each prefix, and the extenders that have them.

The join intersects the ranges of several extenders in one call of a kernel, so it asks for ranges before it asks
for rows. A range lies in one of two columns; one of them may be unwritten until something reads it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch, Column, Mask
from adalog.executor.join.protocol import OnVariables
from adalog.executor.kernels import range_kernels

NO_VALUES: Final = np.empty(0, np.int64)

# A row is only checked where it is so many times as long as there are candidates for it: about what a check costs
# more than a step of a merge.
_FEW_CANDIDATES: Final = 8


class Unwritten:
    """A sorted column that is written when it is first read. Its length is known before."""

    __slots__ = ("_column", "_make", "size")

    def __init__(self, size: int, make: Callable[[], Column]) -> None:
        self.size = size
        self._make = make
        self._column: Column | None = None

    def __len__(self) -> int:
        return self.size

    @property
    def is_written(self) -> bool:
        return self._column is not None

    def column(self) -> Column:
        """The column; the same object for all readers."""
        column = self._column
        if column is None:
            # Two threads may both write it; either is right.
            column = self._column = self._make()
            assert len(column) == self.size, "a row is not as long as its count says"
        return column


def written(row: Column | Unwritten) -> Column:
    """A row's values."""
    return row.column() if isinstance(row, Unwritten) else row


def is_worth_writing(unwritten: int, candidates: int) -> bool:
    """Whether writing so many values of a row costs less than looking up each of so many candidates."""
    return unwritten <= _FEW_CANDIDATES * candidates


@dataclass(eq=False, slots=True)
class Ranges:
    """Per prefix a sorted range of candidate values: `over[lo:hi]` where src is 1, else `base[lo:hi]`.

    `over` may be unwritten; lengths are known without it. `span` gives bounds of the values in `base`. `known`: the
    length of all ranges together, and whether each is one value of `base`, if the caller knows both. Without
    `is_sorted` they are ranges of another order, to be read by `expand` alone.
    """

    base: Column
    _over: Column | Unwritten
    src: NDArray[np.uint8]
    lo: Column
    hi: Column
    span: Callable[[], tuple[int, int]]
    _known: tuple[int, bool] | None = None
    is_sorted: bool = field(default=True, kw_only=True)

    @staticmethod
    def within(column: Column, lo: Column, hi: Column, *, is_sorted: bool = True) -> Ranges:
        """`column[lo:hi]`, whose values may be in any order."""

        def span() -> tuple[int, int]:
            return (int(column.min()), int(column.max())) if len(column) else (0, 0)

        return Ranges(column, NO_VALUES, np.zeros(len(lo), np.uint8), lo, hi, span, is_sorted=is_sorted)

    @staticmethod
    def constant(values: Column | Unwritten, size: int) -> Ranges:
        """The same range for every prefix."""

        def span() -> tuple[int, int]:
            column = written(values)
            return (int(column[0]), int(column[-1])) if len(column) else (0, 0)

        unwritten = isinstance(values, Unwritten)
        base = NO_VALUES if isinstance(values, Unwritten) else values
        src, lo, hi = np.full(size, unwritten, np.uint8), np.zeros(size, np.int64), np.full(size, len(values))
        known = size * len(values), len(values) == 1 and not unwritten
        return Ranges(base, values if unwritten else NO_VALUES, src, lo, hi, span, known)

    @property
    def over(self) -> Column:
        """The column of the ranges whose src is 1."""
        return written(self._over)

    @property
    def unwritten(self) -> int:
        """How many values have to be written out before the ranges can be read."""
        return len(self._over) if isinstance(self._over, Unwritten) and not self._over.is_written else 0

    @property
    def length(self) -> NDArray[np.int64]:
        return self.hi - self.lo

    @property
    def total(self) -> int:
        """The candidates of all prefixes together."""
        return int(self.length.sum()) if self._known is None else self._known[0]

    def singles(self) -> Column | None:
        """Each prefix's only candidate, if every prefix has just one: an attribute that all have one value of."""
        if self._known is None:
            self._known = self.total, not self.src.any() and bool((self.lo + 1 == self.hi).all())
        return self.base[self.lo] if self._known[1] else None

    def slice(self, start: int, stop: int) -> Ranges:
        src, lo, hi = self.src[start:stop], self.lo[start:stop], self.hi[start:stop]
        return Ranges(self.base, self._over, src, lo, hi, self.span, is_sorted=self.is_sorted)

    def take(self, rows: NDArray[np.int64]) -> Ranges:
        src, lo, hi = self.src[rows], self.lo[rows], self.hi[rows]
        return Ranges(self.base, self._over, src, lo, hi, self.span, is_sorted=self.is_sorted)


class RangeExtender(OnVariables, ABC):
    """An extender whose candidates lie in sorted ranges, so that the join can intersect several at once.

    A subclass says where the ranges are. `whole(variable)` is the sorted column of all candidates when nothing it
    shares with the prefix narrows them: such an extender proposes only as a last resort and else answers
    `holds`, which may be quicker than a search in that column.
    """

    @abstractmethod
    def whole(self, batch: Batch, variable: str) -> Column | Unwritten | None:
        """The sorted column of all candidates, where nothing in the prefix narrows them."""

    @abstractmethod
    def ranges(self, batch: Batch, variable: str) -> Ranges:
        """Per prefix its candidates."""

    def row(self, batch: Batch, variable: str) -> Column | Unwritten:
        """The candidates of a batch's only prefix."""
        ranges = self.ranges(batch, variable)
        return (ranges.over if ranges.src[0] else ranges.base)[int(ranges.lo[0]) : int(ranges.hi[0])]

    def single_values(self, batch: Batch, variable: str) -> Column | None:
        """Each prefix's only candidate, where it is quick to know that every prefix has just one."""
        return None

    @abstractmethod
    def holds(self, batch: Batch, variable: str) -> Mask:
        """Mask of the accepted rows, in which `variable` is bound."""

    def narrows_next(self, variable: str) -> bool:
        """Whether the next level binds a variable of it."""
        rank, following = self.rank, self.rank[variable] + 1
        for name in self.variables:  # noqa: SIM110 - on the way of every small query
            if rank[name] == following:
                return True
        return False

    def newest(self, variable: str) -> int:
        """The rank of the latest bound variable that its ranges at `variable` depend on; -1 for none."""
        ranks, rank, newest = self.rank, self.rank[variable], -1
        for name in self.variables:
            if newest < ranks[name] < rank:
                newest = ranks[name]
        return newest

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        whole = self.whole(batch, variable)
        if whole is not None:
            return np.full(batch.size, len(whole), np.int64)
        return self.ranges(batch, variable).length

    def extensions(self, batch: Batch, variable: str) -> tuple[NDArray[np.int64], Column]:
        """(parent, value) of every candidate of every prefix."""
        whole = self.whole(batch, variable)
        return expand(self.ranges(batch, variable) if whole is None else Ranges.constant(whole, batch.size))

    def propose(self, batch: Batch, variable: str) -> Batch:
        parent, value = self.extensions(batch, variable)
        return batch.extend(parent, variable, value)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        return batch.keep(self.holds(batch, variable))


def expand(ranges: Ranges) -> tuple[NDArray[np.int64], Column]:
    """(parent, value) of every value in the ranges."""
    parent, value = range_kernels.expand(ranges.base, ranges.over, ranges.src, ranges.lo, ranges.hi, ranges.total)
    if not ranges.is_sorted:
        value = value[np.lexsort((value, parent))]
    return parent, value
