"""What rules have derived so far: rows that only grow, read as all, as older, or as what the last round added.

Rows lie in the order in which they came, so each version is a range of them. What is older is kept as a few sorted
runs whose sizes grow geometrically: a round sorts what it adds, and a row is sorted again a logarithmic number of
times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.pairs import touched_rows
from adalog.executor.extenders.relation import Levels
from adalog.executor.join.batch import Column, stack
from adalog.executor.kernels import row_kernels
from adalog.executor.kernels.dense_rows import DenseRows
from adalog.executor.kernels.range_kernels import Ints
from adalog.executor.kernels.seed import SEED
from adalog.planner.model.version import Version
from adalog.store.tries.trie import EMPTY, Trie, distinct

MOST_ROWS = 200_000_000
"""Rows that one relation may come to."""

# Rows between two looks at the table's size and at the deadline.
STRIDE = 1 << 18

# After so many frontiers of a closure all touched rows are written out at once.
_MOST_FRONTIERS = 32

Run = tuple[int, int]


class Facts(Protocol):
    """The rows of one derived relation."""

    arity: int

    def __len__(self) -> int:
        """How many rows are known."""

    def add(self, columns: Sequence[Column]) -> None:
        """Takes rows that a rule derived; those already known are dropped."""

    def turn(self) -> int:
        """Ends a round: the rows taken since the last turn become the recent ones. How many they are."""

    def all(self) -> list[FactRows]:
        """What is known, in parts."""

    def older(self) -> list[FactRows]:
        """What was known before the last round."""

    def recent(self) -> FactRows:
        """What the last round added."""

    def whole(self) -> FactRows:
        """What is known, in one part."""


class FactRows:
    """Equally long columns, with their sorted levels for each order of columns that was asked for."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        self._levels: dict[tuple[int, ...], Levels] = {}

    def __len__(self) -> int:
        return len(self.columns[0])

    def levels(self, order: tuple[int, ...]) -> Levels:
        """The rows' columns in this order, sorted and nested."""
        known = self._levels.get(order)
        if known is None:
            known = self._levels[order] = Levels([self.columns[i] for i in order])
        return known

    def made(self) -> list[Levels]:
        """The levels that were asked for so far."""
        return list(self._levels.values())


@dataclass(frozen=True, slots=True)
class DerivedRelation:
    """A derived relation, as joins read it: the rows of each version that there is, in disjoint parts."""

    versions: Mapping[Version, Sequence[FactRows]]

    @staticmethod
    def of(parts: Sequence[FactRows], *versions: Version) -> DerivedRelation:
        """The same rows for some versions; without any, for ALL."""
        return DerivedRelation(dict.fromkeys(versions or (Version.ALL,), parts))

    def __len__(self) -> int:
        return sum(map(len, self.versions[Version.ALL]))


def whole(held: Sequence[Column] | DerivedRelation) -> list[Column]:
    """The columns of a relation, of a derived one in one piece."""
    if not isinstance(held, DerivedRelation):
        return list(held)
    return [
        np.concatenate(columns)
        for columns in zip(*(part.columns for part in held.versions[Version.ALL]), strict=True)
    ]


def check_size(rows: int) -> None:
    """Refuses a relation of more rows than memory is likely to have room for."""
    if rows > MOST_ROWS:
        raise AdalogError(
            Code.LIMIT_EXCEEDED,
            f"a rule derives more than {MOST_ROWS:,} rows; bind more of its arguments, or bound its counting",
        )


class RowTable:
    """Rows in growing columns, found by a hash of their first `keys` columns; of the query's budget."""

    def __init__(self, arity: int, keys: int, cancel: Cancel) -> None:
        self.arity = arity
        self.keys = keys
        self.cancel = cancel
        self.count = 0
        self._held = Held(cancel.budget)
        self.rows = np.empty((arity, 64), np.int64)
        self.table = np.zeros(128, np.int64)

    def has_room(self, more: int) -> bool:
        """Whether so many more rows leave the table as it is."""
        return 2 * (self.count + more) <= len(self.table)

    def reserve_rows(self, more: int) -> None:
        """Makes room for so many more rows, not in the table."""
        wanted = self.count + more
        check_size(wanted)
        if wanted > self.rows.shape[1]:
            capacity = max(wanted, 2 * self.rows.shape[1])
            self._hold(capacity, len(self.table))
            grown = np.empty((self.arity, capacity), np.int64)
            grown[:, : self.count] = self.rows[:, : self.count]
            self.rows = grown

    def reserve(self, more: int) -> None:
        """Makes room for so many more rows."""
        self.reserve_rows(more)
        if not self.has_room(more):
            self.index(more)

    def index(self, more: int) -> None:
        """A new table for the rows there are, with room for more."""
        size = len(self.table)
        while size < 2 * (self.count + more):
            size *= 2
        self.table = np.empty(0, np.int64)
        self._hold(self.rows.shape[1], size)
        self.table = np.zeros(size, np.int64)
        for start in range(0, self.count, STRIDE):
            self.cancel.check()
            stop = min(start + STRIDE, self.count)
            row_kernels.rehash(self.table, self.rows, self.keys, start, stop, SEED)

    def _hold(self, capacity: int, places: int) -> None:
        """Counts what it holds; the rows twice, as they and their sorted levels, or they and those before them."""
        self._held.become(16 * self.arity * capacity + 8 * places)

    def range(self, start: int, stop: int) -> list[Column]:
        return [column[start:stop] for column in self.rows]


class RowFacts:
    """A set of rows."""

    def __init__(self, arity: int, cancel: Cancel) -> None:
        self.arity = arity
        self._cancel = cancel
        self._store = RowTable(arity, arity, cancel)
        self._bits = Held(cancel.budget)
        # Known rows as bits, where these take less room than the store's table, which is then not kept up.
        self._dense: DenseRows | None = None
        self._older: list[tuple[Run, FactRows]] = []
        self._recent = (0, 0)
        self._recent_columns = FactRows(self._store.range(0, 0))

    def __len__(self) -> int:
        return self._store.count

    def add(self, columns: Sequence[Column]) -> None:
        rows = stack(columns)
        for start in range(0, rows.shape[1], STRIDE):
            if start:
                self._cancel.check()
            self._insert(np.ascontiguousarray(rows[:, start : start + STRIDE]))

    def _insert(self, rows: Ints) -> None:
        store, more = self._store, rows.shape[1]
        if self._dense is None:
            if not store.has_room(more):
                self._dense = DenseRows.over(store.rows, store.count, rows)
        elif not self._dense.covers(rows):
            self._dense = DenseRows.over(store.rows, store.count, rows, ahead=True)
            if self._dense is None:
                store.index(more)
        self._bits.become(0 if self._dense is None else self._dense.nbytes)
        if self._dense is not None:
            store.reserve_rows(more)
            store.count = self._dense.insert(store.rows, store.count, rows)
        else:
            store.reserve(more)
            store.count = row_kernels.insert(store.table, store.rows, store.count, rows, SEED)

    def turn(self) -> int:
        if self._recent[1] > self._recent[0]:
            self._older.append((self._recent, self._recent_columns))
        while len(self._older) > 1 and 2 * _length(self._older[-1]) >= _length(self._older[-2]):
            (_, stop), _ = self._older.pop()
            (start, _), _ = self._older.pop()
            self._older.append(((start, stop), FactRows(self._store.range(start, stop))))
        self._recent = (self._recent[1], self._store.count)
        self._recent_columns = FactRows(self._store.range(*self._recent))
        return self._recent[1] - self._recent[0]

    def all(self) -> list[FactRows]:
        return [*self.older(), self._recent_columns] if len(self._recent_columns) else self.older()

    def older(self) -> list[FactRows]:
        return [columns for _, columns in self._older]

    def recent(self) -> FactRows:
        return self._recent_columns

    def whole(self) -> FactRows:
        """Every row, in one part."""
        if len(self._older) == 1 and not len(self._recent_columns):
            return self._older[0][1]
        return FactRows(self._store.range(0, self._store.count))

    def follow(self, step: Trie, moving: int, at_once: int) -> None:
        """Closes pairs along a step: whatever (x, y) there is, (x, z) for every step from y to z."""
        base, store = step.base, self._store
        if self._dense is not None:
            self._dense = None
            self._bits.become(0)
            store.index(0)
        done = frontiers = 0
        over, limit = EMPTY, 0
        while done < store.count:
            self._cancel.check()
            room = step.size.longest + min(store.count + 64, at_once)
            store.reserve(room)
            if done >= limit:
                # The few rows that the last transactions touched are written out for one frontier at a time.
                frontiers += 1
                if not step.levels or frontiers > _MOST_FRONTIERS:
                    over, limit = step.over, MOST_ROWS
                else:
                    limit = store.count
                    over = touched_rows(step, distinct(store.rows[moving, done:limit]))
            done, store.count = row_kernels.walk(
                base.keys,
                base.dense,
                base.offsets,
                base.values,
                over.keys,
                over.offsets,
                over.values,
                moving,
                store.table,
                store.rows,
                done,
                limit,
                store.count,
                store.count + room,
                at_once,
                SEED,
            )
        self.turn()

    def replace(self, columns: Sequence[Column]) -> None:
        """Takes rows that are distinct and contain all that is known, in its place. Nothing can be added after."""
        self._older = [((0, len(columns[0])), FactRows(columns))]
        self._store.count = len(columns[0])
        self._recent = (self._store.count, self._store.count)
        self._recent_columns = FactRows([column[:0] for column in columns])


def _length(part: tuple[Run, FactRows]) -> int:
    return part[0][1] - part[0][0]
