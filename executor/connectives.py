"""`and`, `or` and `not` as extenders over extenders, and the step that a conjunction takes for one variable.

A conjunction lets the part with the least count propose, prefix by prefix, and the others intersect. An `or` must
remember which of its branches each prefix still satisfies: a row has to pass one whole branch, never half of one
and half of another.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from executor import group_kernels, kernels
from executor.batch import Batch, Column, concatenate, stack
from executor.extender import START, UNBOUNDED, Extender, RangeExtender, Ranges, expand
from planner.logical import STATE
from store.layout import TAG_BOOLEAN, code_of

ABSENT = code_of(TAG_BOOLEAN, 1 << 59)
"""The code of a variable local to one branch in the rows that another branch carries. No value has it."""

_NOTHING = np.empty(1, np.int64)
_KEPT_ROOM = 1 << 20
# The kernel is compiled for each number of ranges; those up to this one are when adalog is installed.
_MOST_COMPILED = 5
_buffers = threading.local()
_BITMAP_LIMIT = 1 << 28


_numbers = itertools.count()


def _row_name() -> str:
    """A column for the number of the prefix that a row extends; each extender has its own, since they nest."""
    return f"#row{next(_numbers)}"


def choose(ranges: list[Ranges]) -> NDArray[np.int64]:
    """Per prefix the least length among the ranges."""
    least = ranges[0].length
    for other in ranges[1:]:
        least = np.minimum(least, other.length)
    return least


def intersect_ranges(ranges: list[Ranges], least: NDArray[np.int64]) -> tuple[NDArray[np.int64], Column]:
    """(parent, value) of the intersection of k >= 2 ranges, the last changing most often."""
    if len(ranges) > _MOST_COMPILED:
        return _intersect_many(ranges)
    room = int(least.sum()) + 1
    parent, value = _scratch(room)
    total = int(_run_kernel(ranges, len(least), write=True, parent=parent, value=value).sum())
    return parent[:total].copy(), value[:total].copy()


def count_ranges(ranges: list[Ranges], n: int) -> NDArray[np.int64]:
    """Per prefix the size of the intersection, without writing it out."""
    if len(ranges) > _MOST_COMPILED:
        return np.bincount(_intersect_many(ranges)[0], minlength=n)
    return _run_kernel(ranges, n, write=False, parent=_NOTHING, value=_NOTHING)


def _intersect_many(ranges: list[Ranges]) -> tuple[NDArray[np.int64], Column]:
    """The same for any number of ranges: each prefix's shortest is written out, the others strike out of it."""
    winner = np.argmin(np.stack([each.length for each in ranges]), axis=0)
    pieces: list[tuple[NDArray[np.int64], Column]] = []
    for i, shortest in enumerate(ranges):
        rows = np.flatnonzero(winner == i)
        parent, value = expand(shortest.take(rows))
        parent = rows[parent]
        for j, other in enumerate(ranges):
            if j != i and len(parent):
                at = other.take(parent)
                kept = kernels.contains(at.base, at.over, at.src, at.lo, at.hi, value)
                parent, value = parent[kept], value[kept]
        pieces.append((parent, value))
    parents = np.concatenate([parent for parent, _ in pieces])
    order = np.argsort(parents, kind="stable")
    return parents[order], np.concatenate([value for _, value in pieces])[order]


def _run_kernel(
    ranges: list[Ranges], n: int, *, write: bool, parent: NDArray[np.int64], value: Column
) -> NDArray[np.int64]:
    bitmap, low = _bitmap(ranges, n)
    arrays: tuple[Column, ...] = ()
    for each in ranges:
        arrays += (each.base, each.over)
    return kernels.intersect(
        arrays,
        np.stack([each.src for each in ranges]),
        np.stack([each.lo for each in ranges]),
        np.stack([each.hi for each in ranges]),
        bitmap,
        low,
        write,
        parent,
        value,
    )


def _scratch(room: int) -> tuple[NDArray[np.int64], Column]:
    """Two columns to write into; a thread's own are kept, since fresh memory costs more than the work in it."""
    if room > _KEPT_ROOM:
        return np.empty(room, np.int64), np.empty(room, np.int64)
    kept: tuple[NDArray[np.int64], Column] | None = getattr(_buffers, "pair", None)
    if kept is None or len(kept[0]) < room:
        size = min(_KEPT_ROOM, max(1024, 2 * room))
        kept = _buffers.pair = (np.empty(size, np.int64), np.empty(size, np.int64))
    return kept


def _bitmap(ranges: list[Ranges], n: int) -> tuple[NDArray[np.uint64], int]:
    """A zeroed bitmap over the kept ranges' values, or none where marking cannot pay."""
    if n >= 64:
        low, high = ranges[0].span()
        if high - low < _BITMAP_LIMIT:
            return np.zeros(((high - low) >> 6) + 1, np.uint64), low
    return np.zeros(0, np.uint64), 0


class Conjunction:
    """Extenders that must all accept: the body of a query, of a branch, of a `not`."""

    def __init__(self, parts: Sequence[Extender]) -> None:
        self.parts = tuple(parts)
        self._row = _row_name()
        self._at: dict[str, tuple[list[RangeExtender], list[Extender]]] = {}

    def participates(self, variable: str) -> bool:
        return any(part.participates(variable) for part in self.parts)

    def at(self, variable: str) -> tuple[list[RangeExtender], list[Extender]]:
        """The parts that take part at a level: those with ranges, the oldest first, and the others."""
        found = self._at.get(variable)
        if found is None:
            taking = [part for part in self.parts if part.participates(variable)]
            ranged = [part for part in taking if isinstance(part, RangeExtender)]
            if variable != START:
                ranged.sort(key=lambda part: part.newest(variable))
            found = ranged, [part for part in taking if not isinstance(part, RangeExtender)]
            self._at[variable] = found
        return found

    def narrowed(self, batch: Batch, variable: str) -> tuple[list[Ranges], list[RangeExtender]]:
        """The ranges to intersect at a level, and the extenders that only check. At least one range if any can."""
        ranged, _ = self.at(variable)
        narrow: list[Ranges] = []
        checks: list[RangeExtender] = []
        smallest: Column | None = None
        proposer: RangeExtender | None = None
        for part in ranged:
            whole = part.whole(batch, variable)
            if whole is None:
                narrow.append(part.ranges(batch, variable))
            elif smallest is None or len(whole) < len(smallest):
                if proposer is not None:
                    checks.append(proposer)
                smallest, proposer = whole, part
            else:
                checks.append(part)
        if proposer is not None and smallest is not None:
            if narrow:
                checks.append(proposer)
            else:
                narrow.append(Ranges.constant(smallest, batch.size))
        return narrow, checks

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        ranged, others = self.at(variable)
        least = np.full(batch.size, UNBOUNDED, np.int64)
        for part in (*ranged, *others):
            least = np.minimum(least, part.count(batch, variable))
        return least

    def propose(self, batch: Batch, variable: str) -> Batch:
        narrow, checks = self.narrowed(batch, variable)
        _, others = self.at(variable)
        counts = [part.count(batch, variable) for part in others]
        proposers = [i for i, count in enumerate(counts) if count.min(initial=UNBOUNDED) < UNBOUNDED]
        if not proposers:
            return self.accept(self._from_ranges(batch, variable, narrow), variable, (*checks, *others))
        # Prefix by prefix: which of the parts proposes the least. 0 stands for the ranges.
        table = np.stack([choose(narrow) if narrow else np.full(batch.size, UNBOUNDED, np.int64), *counts])
        winner = np.argmin(table, axis=0)
        pieces: list[Batch] = []
        numbered = batch.having(self._row, np.arange(batch.size))
        for i in range(len(table)):
            rows = np.flatnonzero(winner == i)
            if not len(rows):
                continue
            mine = numbered if len(rows) == batch.size else numbered.take(rows)
            if i == 0:
                piece = self._from_ranges(mine, variable, [each.take(rows) for each in narrow])
                piece = self.accept(piece, variable, (*checks, *others))
            else:
                piece = others[i - 1].propose(mine, variable)
                rest = [part for j, part in enumerate(others) if j != i - 1]
                piece = self.accept(piece, variable, (*self.at(variable)[0], *rest))
            pieces.append(piece)
        whole = _align(pieces)
        if len(pieces) > 1:
            whole = whole.take(np.argsort(whole.columns[self._row], kind="stable"))
        return Batch(whole.size, {name: c for name, c in whole.columns.items() if name != self._row})

    def _from_ranges(self, batch: Batch, variable: str, narrow: list[Ranges]) -> Batch:
        if len(narrow) == 1:
            parent, value = expand(narrow[0])
        else:
            parent, value = intersect_ranges(narrow, choose(narrow))
        return batch.extend(parent, variable, value)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        ranged, others = self.at(variable)
        return self.accept(batch, variable, (*ranged, *others))

    @staticmethod
    def accept(batch: Batch, variable: str, parts: Sequence[Extender]) -> Batch:
        """What all the parts accept."""
        for part in parts:
            if batch.size:
                batch = part.intersect(batch, variable)
        return batch


def _align(pieces: list[Batch]) -> Batch:
    """Concatenates batches whose `or` states may differ: a state not begun yet is one with every branch alive."""
    names = {name for piece in pieces for name in piece.columns}
    return concatenate(
        [
            piece
            if len(piece.columns) == len(names)
            else Batch(
                piece.size, {name: piece.columns.get(name, np.full(piece.size, -1, np.int64)) for name in names}
            )
            for piece in pieces
        ]
    )


class OrExtender:
    """`or` / `or-join`: rows that satisfy at least one whole branch.

    A column of the batch, named `state`, holds the branches that a prefix still satisfies, one bit each. A variable
    local to one branch is a level like any other: at it the other branches carry their rows on with ABSENT.
    """

    def __init__(self, state: str, branches: Sequence[Conjunction], local_to: dict[str, int]) -> None:
        self.state = state
        self.branches = tuple(branches)
        self.local_to = local_to
        self._row = _row_name()

    def participates(self, variable: str) -> bool:
        return variable in self.local_to or any(branch.participates(variable) for branch in self.branches)

    def _alive(self, batch: Batch, branch: int) -> NDArray[np.int64]:
        """Positions of the rows for which the branch is alive."""
        state = batch.columns.get(self.state)
        if state is None:
            return np.arange(batch.size)
        return np.flatnonzero((state >> branch) & 1)

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        total = np.zeros(batch.size, np.int64)
        owner = self.local_to.get(variable)
        for i, branch in enumerate(self.branches):
            rows = self._alive(batch, i)
            if owner is not None and owner != i:
                total[rows] += 1
            elif len(rows):
                total[rows] += branch.count(batch.take(rows), variable)
            # Saturate: the sum of two filters must not wrap around.
            np.minimum(total, UNBOUNDED, out=total)
        return total

    def propose(self, batch: Batch, variable: str) -> Batch:
        owner = self.local_to.get(variable)
        numbered = batch.having(self._row, np.arange(batch.size))
        pieces = []
        for i, branch in enumerate(self.branches):
            rows = self._alive(batch, i)
            if not len(rows):
                continue
            mine = numbered.take(rows)
            if owner is not None and owner != i:
                piece = mine.having(variable, np.full(len(rows), ABSENT, np.int64))
            else:
                piece = branch.propose(mine, variable)
            pieces.append(piece.having(self.state, np.full(piece.size, 1 << i, np.int64)))
        if not pieces:
            return batch.take(np.empty(0, np.int64)).having(variable, np.empty(0, np.int64))
        rows_of_all = _align(pieces)
        return self._merge(rows_of_all, variable, ordered=len(pieces) == 1)

    def _merge(self, batch: Batch, variable: str, *, ordered: bool) -> Batch:
        """One row for each (prefix, value), with the bits of all branches that proposed it."""
        if not ordered:
            row, value = batch.columns[self._row], batch.columns[variable]
            batch = batch.take(np.lexsort((value, row)))
            row, value = batch.columns[self._row], batch.columns[variable]
            fresh = np.ones(batch.size, np.bool_)
            fresh[1:] = (row[1:] != row[:-1]) | (value[1:] != value[:-1])
            starts = np.flatnonzero(fresh)
            merged = batch.take(starts)
            columns = dict(merged.columns)
            for name, column in batch.columns.items():
                if name == self.state:
                    columns[name] = np.bitwise_or.reduceat(column, starts) if len(starts) else column
                elif name.startswith(STATE):
                    # An inner state matters only where its branch is alive: elsewhere it is -1, all ones, and
                    # the branch that owns it has its own value, which the conjunction of the two keeps.
                    columns[name] = np.bitwise_and.reduceat(column, starts) if len(starts) else column
            batch = Batch(merged.size, columns)
        return Batch(batch.size, {name: c for name, c in batch.columns.items() if name != self._row})

    def intersect(self, batch: Batch, variable: str) -> Batch:
        bits = np.zeros(batch.size, np.int64)
        inner: dict[str, Column] = {}
        numbered = batch.having(self._row, np.arange(batch.size))
        for i, branch in enumerate(self.branches):
            rows = self._alive(batch, i)
            if not len(rows):
                continue
            if not branch.participates(variable):
                bits[rows] |= 1 << i
                continue
            kept = branch.intersect(numbered.take(rows), variable)
            at = kept.columns[self._row]
            bits[at] |= 1 << i
            for name, column in kept.columns.items():
                if name.startswith(STATE) and name != self.state:
                    target = inner.get(name)
                    if target is None:
                        known = batch.columns.get(name)
                        target = np.full(batch.size, -1, np.int64) if known is None else known.copy()
                        inner[name] = target
                    target[at] = column
        columns = {**batch.columns, **inner, self.state: bits}
        return Batch(batch.size, columns).keep(bits != 0)


class NotExtender:
    """`not` / `not-join`: strikes out the prefixes whose shared bindings the inner join extends to a match.

    It never proposes, and acts where the last of its shared variables is bound. `matches` runs the inner join from
    a batch of shared bindings and returns a mask of those that have a match. `distinct`: give it each binding once,
    which pays where the inner join has variables of its own, and costs more than it saves where it only looks up.
    """

    def __init__(
        self,
        shared: Sequence[str],
        matches: Callable[[Batch], NDArray[np.bool_]],
        rank: dict[str, int],
        *,
        distinct: bool,
    ) -> None:
        self.distinct = distinct
        self.shared = tuple(shared)
        self.matches = matches
        last = max(shared, key=rank.__getitem__)
        self.level = START if rank[last] < 0 else last

    def participates(self, variable: str) -> bool:
        return variable == self.level

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        return np.full(batch.size, UNBOUNDED, np.int64)

    def propose(self, batch: Batch, variable: str) -> Batch:
        raise AssertionError("the planner never lets a not propose")

    def intersect(self, batch: Batch, variable: str) -> Batch:
        shared = batch.only(frozenset(self.shared))
        if not self.distinct:
            return batch.keep(~self.matches(shared))
        group, first = group_kernels.group_rows(stack(shared.columns.values()))
        return batch.keep(~self.matches(shared.take(first))[group])
