"""A batch of prefixes: equally long int64 columns, one for each bound variable.

What flows through the join. A batch may carry weights: how many tuples of counted, dropped variables each row
stands for. For each `or` under way it has columns with the set of branches still alive, as bits. All batches of one
level have the same columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.errors import limit_exceeded
from adalog.executor.kernels import group_kernels
from adalog.executor.kernels.distinct_rows import first_rows, rows_differ

Column = NDArray[np.int64]
Mask = NDArray[np.bool_]

ORIGIN: Final = "#origin"
"""The column that says, of a row of a join, which row of the first batch it extends."""

# Far enough below 2^63 that rounding in the check cannot hide an overflow.
_MOST = float(1 << 62)


# Rows that are told apart by plain Python, which takes less than the fixed cost of a kernel.
_FEW: Final = 16
# Rows of a batch that are looked at for equal ones, and of how many.
_SAMPLE: Final = 1 << 11
_MANY: Final = 1 << 15


@dataclass(eq=False, slots=True)
class Batch:
    """`columns`: a name to int64[size]. `weight`: int64[size], all positive, or None where each row counts once.
    Immutable by convention: every method returns a new batch."""

    size: int
    columns: Mapping[str, Column]
    weight: Column | None = None

    @staticmethod
    def of(columns: Sequence[Column]) -> Batch:
        """Columns of one length, at least one, under their numbers."""
        return Batch(len(columns[0]), {str(number): column for number, column in enumerate(columns)})

    def __len__(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        return 8 * self.size * (len(self.columns) + (self.weight is not None))

    def weights(self) -> Column:
        """int64[size]: how many tuples each row stands for."""
        return np.ones(self.size, np.int64) if self.weight is None else self.weight

    def take(self, rows: NDArray[np.int64]) -> Batch:
        """The rows at the given positions, in that order."""
        weight = self.weight
        columns = {name: column[rows] for name, column in self.columns.items()}
        return Batch(len(rows), columns, None if weight is None else weight[rows])

    def take_all(self, rows: NDArray[np.int64]) -> Batch:
        """The rows at the given positions, which ascend and are distinct: often all there are."""
        return self if len(rows) == self.size else self.take(rows)

    def keep(self, mask: Mask) -> Batch:
        if mask[0] if self.size == 1 else mask.all():
            return self
        return self.take(np.flatnonzero(mask))

    def slice(self, start: int, stop: int) -> Batch:
        if start == 0 and stop >= self.size:
            return self
        weight = None if self.weight is None else self.weight[start:stop]
        columns = {name: column[start:stop] for name, column in self.columns.items()}
        return Batch(min(stop, self.size) - start, columns, weight)

    def having(self, name: str, column: Column) -> Batch:
        """The same rows with a column added or replaced."""
        return Batch(self.size, {**self.columns, name: column}, self.weight)

    def extend(self, parent: NDArray[np.int64], name: str, value: Column) -> Batch:
        """One row for each (parent row, value)."""
        columns = {key: column[parent] for key, column in self.columns.items()}
        columns[name] = value
        return Batch(len(value), columns, None if self.weight is None else self.weight[parent])

    def only(self, names: frozenset[str]) -> Batch:
        if names.issuperset(self.columns):
            return self
        columns = {name: column for name, column in self.columns.items() if name in names}
        return Batch(self.size, columns, self.weight)

    def without(self, names: frozenset[str]) -> Batch:
        columns = {name: column for name, column in self.columns.items() if name not in names}
        return Batch(self.size, columns, self.weight)

    def seems_distinct(self) -> bool:
        """Whether nearly all of some rows, taken here and there, differ: to make all distinct merges few."""
        if self.size < _MANY or not self.columns:
            return False
        step = self.size // _SAMPLE
        _, first = group_kernels.group_rows(stack(column[::step] for column in self.columns.values()))
        return 20 * len(first) >= 19 * _SAMPLE

    def distinct(self, check: Callable[[], None] | None = None) -> Batch:
        """Each row once; weights of equal rows are summed. `check` is called now and then, and may raise."""
        if self.size <= 1:
            return self
        weight = self.weight
        if weight is not None:
            check_total(weight)
        if not self.columns:
            return Batch(1, {}, None if weight is None else weight.sum(keepdims=True))
        if weight is None:
            if self.size <= _FEW:
                return self.take_all(_first_few(self.columns.values()))
            if rows_differ(self.columns.values(), check):
                return self
            return self.take_all(first_rows(stack(self.columns.values()), check))
        group, first = group_kernels.group_rows(stack(self.columns.values()), check)
        if len(first) == self.size:
            return self
        columns = {name: column[first] for name, column in self.columns.items()}
        return Batch(len(first), columns, group_kernels.sum_by_group(group, weight, len(first)))


def _first_few(columns: Iterable[Column]) -> NDArray[np.int64]:
    """The positions of rows that equal no row before them."""
    first: dict[tuple[int, ...], int] = {}
    for position, row in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        first.setdefault(row, position)
    return np.array(list(first.values()), np.int64)


def check_total(weight: Column, times: Column | None = None) -> None:
    """Refuses weights (or weights by times) whose sum might not fit 64 bits: a count must never wrap around."""
    if times is None and len(weight) and int(weight.max()) * len(weight) < _MOST:
        return
    numbers = weight.astype(np.float64)
    total = float((numbers if times is None else numbers * times).sum())
    if total >= _MOST:
        raise limit_exceeded(f"the query counts about {total:.1e} tuples, more than 64 bits hold; narrow it")


def run_starts(first: Column, second: Column) -> Mask:
    """Mask of the pairs, which are sorted, that differ from the one before."""
    starts = np.ones(len(first), np.bool_)
    starts[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return starts


def stack(columns: Iterable[Column]) -> NDArray[np.int64]:
    """Columns as one contiguous int64[k, n], the shape the kernels take."""
    return np.ascontiguousarray(np.stack(list(columns)))


def concatenate(batches: list[Batch]) -> Batch:
    """All rows of batches with the same columns, in order."""
    if len(batches) == 1:
        return batches[0]
    names = batches[0].columns
    unweighted = batches[0].weight is None
    assert all(
        batch.columns.keys() == names.keys() and (batch.weight is None) == unweighted for batch in batches
    ), "batches of different levels"
    weights = None if unweighted else np.concatenate([batch.weights() for batch in batches])
    columns = {name: np.concatenate([batch.columns[name] for batch in batches]) for name in names}
    return Batch(sum(batch.size for batch in batches), columns, weights)
