"""The facts of one derived relation: what every table of facts offers, and the set of rows that only grows.

Rows lie in the order in which they came, so each version is a range of them. Older rows lie in a few sorted parts
whose sizes grow geometrically: a round sorts what it adds, and a row is sorted again a logarithmic number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.errors import limit_exceeded
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

T = TypeVar("T", bound=np.generic)
Take = Callable[[int], None]


class Facts(Protocol):
    """The rows of one derived relation, which a semi-naive evaluation adds to and reads. A row that `add` takes is
    pending until `turn`, then recent for one round, and older after that."""

    arity: int

    def __len__(self) -> int:
        """How many rows are known."""

    def add(self, columns: Sequence[Column]) -> None:
        """Takes rows that a rule derived; those already known are dropped."""

    def turn(self) -> int:
        """Ends a round: pending rows become the recent ones. Returns their number."""

    def parts(self, version: Version) -> Sequence[FactRows]:
        """The rows of a version, in disjoint parts."""


@dataclass(frozen=True, slots=True)
class RecursiveRule:
    """`derive` adds to the rule's facts. `delta`: the relation whose recent rows it reads, if any."""

    delta: str | None
    derive: Callable[[], None]


def rounds(facts: Mapping[str, Facts], rules: Sequence[RecursiveRule], check: Callable[[], None]) -> Iterator[int]:
    """The semi-naive evaluation: runs rules round by round until a round adds nothing. Yields how many rows each
    round added, first those that were pending; between two rounds the caller may publish the new versions. `check`
    raises when the evaluation should stop."""
    while True:
        recent = {name: each.turn() for name, each in facts.items()}
        added = sum(recent.values())
        yield added
        if not added or not rules:
            return
        check()
        for rule in rules:
            if rule.delta is None or recent[rule.delta]:
                rule.derive()


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


Relations = Mapping[str, Sequence[Column] | DerivedRelation]
"""What the join of a plan reads: columns of its inputs, and what its rules derive."""


def whole(held: Sequence[Column] | DerivedRelation) -> list[Column]:
    """The columns of a relation, of a derived one in one piece."""
    if not isinstance(held, DerivedRelation):
        return list(held)
    parts = (part.columns for part in held.versions[Version.ALL])
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def check_size(rows: int) -> None:
    """Refuses a relation of more rows than memory is likely to have room for."""
    if rows > MOST_ROWS:
        raise limit_exceeded(
            f"a rule derives more than {MOST_ROWS:,} rows; bind more of its arguments, or bound its counting"
        )


class SortedParts:
    """The rows of growing columns in disjoint parts, each with its own sorted levels. A part takes in those before
    it that are at most `share` times as long, so there are few."""

    def __init__(self, share: int) -> None:
        self._share = share
        self._parts: list[tuple[int, FactRows]] = []
        self.stop = 0

    def __iter__(self) -> Iterator[FactRows]:
        return (rows for _, rows in self._parts)

    def append(self, columns: Ints, rows: FactRows) -> None:
        """Takes `rows`, which follow those before them in `columns`."""
        first = start = self.stop
        self.stop += len(rows)
        while self._parts and self._share * (self.stop - start) >= len(self._parts[-1][1]):
            start, _ = self._parts.pop()
        self._parts.append((start, rows if start == first else FactRows(list(columns[:, start : self.stop]))))


class RowTable:
    """Rows in growing columns, found by a hash of their first `keys` columns. `take` is told how many bytes are
    about to be held, and may refuse them. `beside`: bytes of a row that are not of its columns."""

    beside = 0

    def __init__(self, arity: int, keys: int, take: Take, check: Callable[[], None] = lambda: None) -> None:
        self.arity = arity
        self.keys = keys
        self.check = check
        self.count = 0
        self._take = take
        self.rows = np.empty((arity, 64), np.int64)
        self.table = np.zeros(128, np.int64)
        self._taken = 2 * self.rows.nbytes + self.table.nbytes + 64 * self.beside

    def has_room(self, more: int) -> bool:
        return 2 * (self.count + more) <= len(self.table)

    def reserve_rows(self, more: int) -> None:
        """Makes room for so many more rows, not in the table."""
        wanted = self.count + more
        check_size(wanted)
        if wanted > self.rows.shape[1]:
            capacity = max(wanted, 2 * self.rows.shape[1])
            self._hold(capacity, len(self.table))
            self.resize(capacity)

    def resize(self, capacity: int) -> None:
        self.rows = resized(self.rows, self.count, capacity)

    def reserve(self, more: int) -> None:
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
            self.check()
            stop = min(start + STRIDE, self.count)
            row_kernels.rehash(self.table, self.rows, self.keys, start, stop, SEED)

    def _hold(self, capacity: int, places: int) -> None:
        """Counts what it holds; the rows twice, as they and their sorted levels, or they and those before them."""
        nbytes = (16 * self.arity + self.beside) * capacity + 8 * places
        if nbytes > self._taken:
            self._take(nbytes - self._taken)
            self._taken = nbytes

    def range(self, start: int, stop: int) -> list[Column]:
        return [column[start:stop] for column in self.rows]


def resized(array: NDArray[T], count: int, capacity: int) -> NDArray[T]:
    """An array of another length with the first `count` elements of this one."""
    copy: NDArray[T] = np.empty((*array.shape[:-1], capacity), array.dtype)
    copy[..., :count] = array[..., :count]
    return copy


class RowFacts:
    def __init__(self, arity: int, cancel: Cancel) -> None:
        self.arity = arity
        self._cancel = cancel
        self._store = RowTable(arity, arity, cancel.budget.take, cancel.check)
        self._bits = Held(cancel.budget)
        # Known rows as bits, where these take less room than the store's table, which is then not kept up.
        self._dense: DenseRows | None = None
        self._older = SortedParts(2)
        self._recent = FactRows(self._store.range(0, 0))

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
        if len(self._recent):
            self._older.append(self._store.rows, self._recent)
        self._recent = FactRows(self._store.range(self._older.stop, self._store.count))
        return len(self._recent)

    def parts(self, version: Version) -> list[FactRows]:
        if version is Version.RECENT:
            return [self._recent]
        older = list(self._older)
        return older if version is Version.OLDER or not len(self._recent) else [*older, self._recent]

    def whole(self) -> FactRows:
        count = self._store.count
        known = next((rows for rows in self.parts(Version.ALL) if len(rows) == count), None)
        return FactRows(self._store.range(0, count)) if known is None else known

    def follow(self, step: Trie, moving: int, at_once: int) -> None:
        """Closes pairs along a step: whatever (x, y) there is, (x, z) for every step from y to z. A row comes after
        the one that it follows from."""
        store = self._store
        if self._dense is not None:
            self._dense = None
            self._bits.become(0)
            store.index(0)
        done = touched = 0
        over, limit = EMPTY, 0
        while done < store.count:
            self._cancel.check()
            room = step.size.longest + min(store.count + 64, at_once)
            store.reserve(room)
            if done >= limit:
                # The few rows that the last transactions touched are written out for one frontier at a time.
                touched += 1
                apart = bool(step.levels) and touched <= _MOST_FRONTIERS
                limit = store.count if apart else MOST_ROWS
                over = touched_rows(step, distinct(store.rows[moving, done:limit])) if apart else step.over
            graph = *step.base.arrays, over.keys, over.offsets, over.values
            rows = store.table, store.rows, done, limit, store.count, store.count + room
            done, store.count = row_kernels.walk(*graph, moving, *rows, at_once, SEED)
        self.turn()

    def replace(self, columns: Sequence[Column]) -> None:
        """Takes rows that are distinct and contain all that is known, in its place. Nothing can be added after."""
        rows = FactRows(columns)
        self._older = SortedParts(2)
        self._older.append(self._store.rows, rows)
        self._store.count = len(rows)
        self._recent = FactRows([column[:0] for column in columns])
