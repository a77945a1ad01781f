"""What rules have derived so far: rows that only grow, read as all, as older, or as what the last round added.

Rows lie in the order in which they came, so each version is a range of them. What is older is kept as a few sorted
runs whose sizes grow geometrically: a round sorts what it adds, and a row is sorted again a logarithmic number of
times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from datalog.aggregates import merged
from datalog.errors import AdalogError, Code
from executor import row_kernels
from executor.batch import Column, stack
from executor.relation import Levels
from store.codes import Scratch
from store.layout import LONG_MAX, LONG_MIN
from store.trie import Csr, Trie

MOST_ROWS = 200_000_000
"""Rows that one relation may come to."""

# Rows between two looks at the table's size.
_STRIDE = 1 << 20

Run = tuple[int, int]


class Facts(Protocol):
    """The rows of one derived relation."""

    arity: int

    def add(self, columns: Sequence[Column]) -> None:
        """Takes rows that a rule derived; those already known are dropped."""

    def turn(self) -> int:
        """Ends a round: the rows taken since the last turn become the recent ones. How many they are."""

    def all(self) -> list[Columns]:
        """What is known, in parts."""

    def older(self) -> list[Columns]:
        """What was known before the last round."""

    def recent(self) -> Columns:
        """What the last round added."""


class Columns:
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


@dataclass(frozen=True, slots=True)
class Parts:
    """A version of a derived relation, as a join reads it."""

    parts: Sequence[Columns]

    def __len__(self) -> int:
        return sum(map(len, self.parts))


def whole(held: Sequence[Column] | Parts) -> list[Column]:
    """The columns of a relation, of a derived one in one piece."""
    if not isinstance(held, Parts):
        return list(held)
    return [np.concatenate(columns) for columns in zip(*(part.columns for part in held.parts), strict=True)]


class _Store:
    """Rows in growing columns, found by a hash of their first `keys` columns."""

    def __init__(self, arity: int, keys: int) -> None:
        self.arity = arity
        self.keys = keys
        self.count = 0
        self.rows = np.empty((arity, 64), np.int64)
        self.table = np.zeros(128, np.int64)

    def reserve(self, more: int) -> None:
        """Makes room for so many more rows."""
        wanted = self.count + more
        if wanted > MOST_ROWS:
            raise AdalogError(
                Code.LIMIT_EXCEEDED,
                f"a rule derives more than {MOST_ROWS:,} rows; bind more of its arguments, or bound what it counts up",
            )
        if wanted > self.rows.shape[1]:
            grown = np.empty((self.arity, max(wanted, 2 * self.rows.shape[1])), np.int64)
            grown[:, : self.count] = self.rows[:, : self.count]
            self.rows = grown
        if 2 * wanted > len(self.table):
            size = len(self.table)
            while size < 2 * wanted:
                size *= 2
            self.table = np.zeros(size, np.int64)
            self.reindex()

    def reindex(self) -> None:
        row_kernels.rehash(self.table, self.rows, self.keys, 0, self.count)

    def range(self, start: int, stop: int) -> list[Column]:
        return [column[start:stop] for column in self.rows]


class RowFacts:
    """A set of rows."""

    def __init__(self, arity: int) -> None:
        self.arity = arity
        self._store = _Store(arity, arity)
        self._older: list[tuple[Run, Columns]] = []
        self._recent = (0, 0)
        self._recent_columns = Columns(self._store.range(0, 0))

    def __len__(self) -> int:
        return self._store.count

    def add(self, columns: Sequence[Column]) -> None:
        rows = stack(columns)
        for start in range(0, rows.shape[1], _STRIDE):
            stop = min(start + _STRIDE, rows.shape[1])
            self._store.reserve(stop - start)
            store = self._store
            store.count = row_kernels.insert(store.table, store.rows, store.count, rows, start, stop)

    def turn(self) -> int:
        if self._recent[1] > self._recent[0]:
            self._older.append((self._recent, self._recent_columns))
        while len(self._older) > 1 and 2 * _length(self._older[-1]) >= _length(self._older[-2]):
            (_, stop), _ = self._older.pop()
            (start, _), _ = self._older.pop()
            self._older.append(((start, stop), Columns(self._store.range(start, stop))))
        self._recent = (self._recent[1], self._store.count)
        self._recent_columns = Columns(self._store.range(*self._recent))
        return self._recent[1] - self._recent[0]

    def all(self) -> list[Columns]:
        return [*self.older(), self._recent_columns] if len(self._recent_columns) else self.older()

    def older(self) -> list[Columns]:
        return [columns for _, columns in self._older]

    def recent(self) -> Columns:
        return self._recent_columns

    def whole(self) -> Columns:
        """Every row, in one part."""
        if len(self._older) == 1 and not len(self._recent_columns):
            return self._older[0][1]
        return Columns(self._store.range(0, self._store.count))

    def follow(self, step: Trie, moving: int, check: Callable[[], None], at_once: int) -> None:
        """Closes pairs along a step: whatever (x, y) there is, (x, z) for every step from y to z."""
        base, over, store = step.base, step.over, self._store
        done = 0
        while done < store.count:
            check()
            store.reserve(max(_longest(base), _longest(over)) + min(store.count + 64, at_once))
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
                store.count,
                store.rows.shape[1],
            )
        self.turn()

    def replace(self, columns: Sequence[Column]) -> None:
        """Takes rows that are distinct and contain all that is known, in its place. Nothing can be added after."""
        self._older = [((0, len(columns[0])), Columns(columns))]
        self._store.count = len(columns[0])
        self._recent = (self._store.count, self._store.count)
        self._recent_columns = Columns([column[:0] for column in columns])


def _longest(csr: Csr) -> int:
    return int(np.diff(csr.offsets).max()) if len(csr.keys) else 0


def _length(part: tuple[Run, Columns]) -> int:
    return part[0][1] - part[0][0]


class BestFacts:
    """The least or greatest value of each group, of numbers that are their own codes: `(p ?x (min ?d))` in a recursion.

    A better value replaces the one before it; `place` is the value's column.
    """

    def __init__(self, arity: int, place: int, sign: int) -> None:
        self.arity = arity
        self._order = [*(i for i in range(arity) if i != place), place]
        self._back = np.argsort(self._order)
        self._sign = sign
        self._store = _Store(arity, arity - 1)
        self._current = np.zeros(self._store.rows.shape[1], np.bool_)
        self._from = 0
        self._recent_columns = self._of(0, 0)

    def __len__(self) -> int:
        return int(self._current[: self._store.count].sum())

    def add(self, columns: Sequence[Column]) -> None:
        rows = stack([columns[i] for i in self._order])
        for start in range(0, rows.shape[1], _STRIDE):
            stop = min(start + _STRIDE, rows.shape[1])
            self._reserve(stop - start)
            store = self._store
            store.count = row_kernels.improve(
                store.table, store.rows, self._current, store.count, rows, start, stop, self._sign
            )

    def _reserve(self, more: int) -> None:
        """Makes room; when rows move, those that were bettered are left behind, the recent ones excepted."""
        store = self._store
        if store.count + more > store.rows.shape[1] or 2 * (store.count + more) > len(store.table):
            self._compact()
            store.reserve(more)
            grown = np.zeros(store.rows.shape[1], np.bool_)
            grown[: store.count] = self._current[: store.count]
            self._current = grown
            store.table[:] = 0
            store.reindex()

    def _compact(self) -> None:
        store = self._store
        keep = np.flatnonzero(self._current[: store.count])
        self._from = int(np.searchsorted(keep, self._from))
        store.rows[:, : len(keep)] = store.rows[:, keep]
        store.count = len(keep)
        self._current[:] = False
        self._current[: len(keep)] = True

    def _of(self, start: int, stop: int) -> Columns:
        """The rows of a range that are still the best of their groups."""
        which = start + np.flatnonzero(self._current[start:stop])
        return Columns([self._store.rows[i][which] for i in self._back])

    def turn(self) -> int:
        self._recent_columns = self._of(self._from, self._store.count)
        self._from = self._store.count
        return len(self._recent_columns)

    def all(self) -> list[Columns]:
        return [self.whole()]

    def older(self) -> list[Columns]:
        return self.all()

    def recent(self) -> Columns:
        return self._recent_columns

    def whole(self) -> Columns:
        return self._of(0, self._store.count)


class MergedFacts:
    """One row for each group, its aggregates merged as tuples come: any idempotent aggregate over any values."""

    def __init__(self, aggregates: Sequence[str | None], values: Scratch) -> None:
        self.arity = len(aggregates)
        self._aggregates = tuple(aggregates)
        self._values = values
        self._known: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._changed: dict[tuple[int, ...], None] = {}
        self._recent_columns = _columns_of([], self.arity)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, columns: Sequence[Column]) -> None:
        for row in zip(*(column.tolist() for column in columns), strict=True):
            group = tuple(code for code, name in zip(row, self._aggregates, strict=True) if name is None)
            known = self._known.get(group)
            better = self._merged(known, row)
            if better != known:
                self._known[group] = better
                self._changed[group] = None
        if len(self._known) > MOST_ROWS:
            raise AdalogError(Code.LIMIT_EXCEEDED, f"a rule derives more than {MOST_ROWS:,} rows")

    def _merged(self, known: tuple[int, ...] | None, row: tuple[int, ...]) -> tuple[int, ...]:
        decode, intern = self._values.decode, self._values.intern
        made: list[int] = []
        for place, (code, name) in enumerate(zip(row, self._aggregates, strict=True)):
            if name is None:
                made.append(code)
            else:
                earlier: list[Any] = [] if known is None else [decode(known[place])]
                made.append(intern(merged(name, [*earlier, decode(code)])))
        return tuple(made)

    def turn(self) -> int:
        self._recent_columns = _columns_of([self._known[group] for group in self._changed], self.arity)
        self._changed = {}
        return len(self._recent_columns)

    def all(self) -> list[Columns]:
        return [self.whole()]

    def older(self) -> list[Columns]:
        return self.all()

    def recent(self) -> Columns:
        return self._recent_columns

    def whole(self) -> Columns:
        return _columns_of(list(self._known.values()), self.arity)


def _columns_of(rows: Sequence[tuple[int, ...]], arity: int) -> Columns:
    table: NDArray[np.int64] = np.array(rows, np.int64).reshape(len(rows), arity)
    return Columns([np.ascontiguousarray(table[:, i]) for i in range(arity)])


class Aggregating:
    """A relation with aggregates in a recursion: numbers by the compiled loop as long as there are only numbers."""

    def __init__(self, aggregates: Sequence[str | None], values: Scratch) -> None:
        self.arity = len(aggregates)
        self._aggregates = tuple(aggregates)
        self._values = values
        places = [i for i, name in enumerate(aggregates) if name is not None]
        self._place = places[0]
        self._facts: BestFacts | MergedFacts
        if len(places) == 1 and aggregates[places[0]] in ("min", "max"):
            self._facts = BestFacts(self.arity, places[0], 1 if aggregates[places[0]] == "min" else -1)
        else:
            self._facts = MergedFacts(aggregates, values)

    def __len__(self) -> int:
        return len(self._facts)

    def add(self, columns: Sequence[Column]) -> None:
        if isinstance(self._facts, BestFacts):
            codes = columns[self._place]
            if len(codes) and (int(codes.min()) < LONG_MIN or int(codes.max()) > LONG_MAX):
                self._facts = self._moved(self._facts)
        self._facts.add(columns)

    def _moved(self, best: BestFacts) -> MergedFacts:
        """The same rows where any value may be merged; those of this round stay to be turned."""
        facts = MergedFacts(self._aggregates, self._values)
        facts.add(best.whole().columns)
        return facts

    def turn(self) -> int:
        return self._facts.turn()

    def all(self) -> list[Columns]:
        return self._facts.all()

    def older(self) -> list[Columns]:
        return self._facts.older()

    def recent(self) -> Columns:
        return self._facts.recent()

    def whole(self) -> Columns:
        return self._facts.whole()
