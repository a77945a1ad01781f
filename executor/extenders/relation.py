"""Relations of any width as extenders: inputs, tuples given as sources, patterns with a transaction place.

The rows are sorted in the order in which the join binds their columns and kept level by level: the distinct values
under each prefix, and where each value's own children begin.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch, Column, Mask, run_starts
from adalog.executor.join.protocol import START
from adalog.executor.join.ranges import RangeExtender, Ranges
from adalog.executor.join.small.parts import Encoded, Part, Slots
from adalog.executor.kernels import group_kernels, range_kernels
from adalog.store.tries.places import Placed, words_of
from adalog.store.tries.trie import Csr

_MOST_PACKED = 1 << 62


class Levels:
    """A sorted relation as nested levels: `values[j]` are the nodes of level j; the children of node i of level j
    are `values[j + 1][offsets[j][i]:offsets[j][i + 1]]`."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.values: list[Column] = []
        self.offsets: list[Column] = []
        rows = sorted_columns(columns)
        n = len(rows[0])
        changed = np.zeros(n, np.bool_)
        changed[:1] = True
        parents: NDArray[np.int64] | None = None
        for column in rows:
            if n:
                changed[1:] |= column[1:] != column[:-1]
            starts = np.flatnonzero(changed)
            self.values.append(np.ascontiguousarray(column[starts]))
            if parents is not None:
                self.offsets.append(np.append(np.searchsorted(starts, parents), len(starts)))
            parents = starts

    @cached_property
    def placed(self) -> Placed | None:
        """(values, how many, offsets) of each level; None if compiled code cannot read them through places."""
        arrays = *self.values, *self.offsets
        places = words_of(*arrays)
        if places is None:
            return None
        numbers: list[int] = []
        for number, values in enumerate(self.values):
            offsets = len(self.values) + number
            numbers += (places[number], len(values), places[offsets] if offsets < len(places) else 0)
        return Placed(numbers, arrays)

    def csr(self) -> Csr:
        """The same of two columns: from the first to the second."""
        (keys, values), (offsets,) = self.values, self.offsets
        return Csr(keys, offsets, values)


def sorted_columns(columns: Sequence[Column]) -> list[Column]:
    """Rows in ascending order, the first column first; two columns of limited span are sorted as one number."""
    n = len(columns[0])
    if n < 2 or group_kernels.is_sorted(np.ascontiguousarray(np.stack(columns))):
        return list(columns)
    if len(columns) == 2:
        lows = [int(column.min()) for column in columns]
        spans = [int(column.max()) - low + 1 for column, low in zip(columns, lows, strict=True)]
        if spans[0] * spans[1] < _MOST_PACKED:
            packed = (columns[0] - lows[0]) * spans[1] + (columns[1] - lows[1])
            packed.sort()
            first, second = np.divmod(packed, spans[1])
            return [first + lows[0], second + lows[1]]
    order = np.lexsort(tuple(reversed(columns)))
    return [column[order] for column in columns]


NO_LEVELS: Final = Levels([np.empty(0, np.int64)])


class RelationExtender(RangeExtender, Encoded):
    """Rows over distinct variables, as `Levels` in the order of `variables_in_order`."""

    def __init__(self, order: Sequence[str], levels: Levels, rank: dict[str, int]) -> None:
        self.order = tuple(order)
        self.levels = levels
        self.rank = rank
        self.variables = frozenset(order)

    @staticmethod
    def of(names: Sequence[str], columns: Sequence[Column], rank: dict[str, int]) -> RelationExtender:
        """From columns in any order; repeats are dropped."""
        order = sorted(range(len(names)), key=lambda i: rank[names[i]])
        return RelationExtender([names[i] for i in order], Levels([columns[i] for i in order]), rank)

    def under(self, batch: Batch, depth: int) -> tuple[Column, Column]:
        """(lo, hi) of the nodes of level `depth` under each prefix."""
        lo = np.zeros(batch.size, np.int64)
        hi = np.full(batch.size, len(self.levels.values[0]), np.int64)
        for j in range(depth):
            node = range_kernels.find_in(self.levels.values[j], lo, hi, batch.columns[self.order[j]])
            missing = node < 0
            node[missing] = 0
            offsets = self.levels.offsets[j]
            if len(offsets) > 1:
                lo, hi = offsets[node], offsets[node + 1]
            lo[missing] = 0
            hi[missing] = 0
        return lo, hi

    def whole(self, batch: Batch, variable: str) -> Column | None:
        return self.levels.values[0] if variable == self.order[0] else None

    def ranges(self, batch: Batch, variable: str) -> Ranges:
        depth = self.order.index(variable)
        return Ranges.within(self.levels.values[depth], *self.under(batch, depth))

    def part(self, variable: str, slots: Slots) -> Part:
        depth = len(self.order) - 1 if variable == START else self.order.index(variable)
        above = [slots[name] for name in self.order[:depth]]
        return Part.rows(lambda: self.levels.placed, slots[self.order[depth]], above)

    def holds(self, batch: Batch, variable: str) -> Mask:
        depth = len(self.order) - 1 if variable == START else self.order.index(variable)
        lo, hi = self.under(batch, depth)
        return range_kernels.find_in(self.levels.values[depth], lo, hi, batch.columns[self.order[depth]]) >= 0


class UnionExtender:
    """Several disjoint sets of rows over the same variables: a derived relation in the parts it grew by. Each part
    holds whole rows, so what a part knows of a prefix is enough: a row is in the union when it is in one."""

    def __init__(self, parts: Sequence[RelationExtender]) -> None:
        self._parts = tuple(parts)
        self.variables = parts[0].variables

    @property
    def parts(self) -> Sequence[RelationExtender]:
        """At least one."""
        return self._parts

    def participates(self, variable: str) -> bool:
        return self.parts[0].participates(variable)

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        first, *others = self.parts
        total = first.count(batch, variable)
        for part in others:
            total = total + part.count(batch, variable)
        return total

    def propose(self, batch: Batch, variable: str) -> Batch:
        found = [part.extensions(batch, variable) for part in self.parts]
        if len(found) == 1:
            parent, value = found[0]
            return batch.extend(parent, variable, value)
        parent, value = sorted_columns([np.concatenate(each) for each in zip(*found, strict=True)])
        fresh = run_starts(parent, value)
        return batch.extend(parent[fresh], variable, value[fresh])

    def intersect(self, batch: Batch, variable: str) -> Batch:
        first, *others = self.parts
        mask = first.holds(batch, variable)
        for part in others:
            mask |= part.holds(batch, variable)
        return batch.keep(mask)
