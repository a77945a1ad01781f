"""Derived relations with aggregates in a recursion: one row for each group, bettered as tuples come.

Aggregates that may be part of a recursion are idempotent: the value known so far and a new tuple's make the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.aggregates import AGGREGATES, aggregate
from adalog.datalog.ast import FindAggregate, FindVar, Var
from adalog.datalog.values import sort_key
from adalog.executor.answer.aggregates import aggregated
from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.facts.facts import MOST_ROWS, STRIDE, FactRows, RowTable, check_size, resized
from adalog.executor.join.batch import Batch, Column, stack
from adalog.executor.kernels import row_kernels
from adalog.executor.kernels.seed import SEED
from adalog.planner.model.version import Version
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import LONG_MAX, LONG_MIN, NIL, TAG_DOUBLE, tags_of

# Rows between two looks at the deadline where each is merged by itself, and bytes that one takes.
_LOOK = 1024
_ROW = 300


def number_ranks(codes: Column, values: Scratch) -> tuple[bool, Column] | None:
    """(whether they are doubles, int64[n] in the order of the numbers) of codes, at least one; None where they are
    neither all longs nor all doubles."""
    if int(codes.min()) >= LONG_MIN and int(codes.max()) <= LONG_MAX:
        return False, codes
    if not (tags_of(codes) == TAG_DOUBLE).all():
        return None
    numbers = values.doubles(codes)
    if np.isnan(numbers).any():
        return None
    bits = numbers.view(np.int64)
    return True, np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)


def value_ranks(codes: Column, values: Scratch) -> Column:
    """int64[n]: numbers in the order of the values that the codes stand for."""
    numbers = number_ranks(codes, values) if len(codes) else (False, codes)
    if numbers is not None:
        return numbers[1]
    each, which = np.unique(codes, return_inverse=True)
    decoded = values.decode_many(each)
    order = sorted(range(len(each)), key=lambda i: sort_key(decoded[i]))
    ranks = np.empty(len(each), np.int64)
    ranks[order] = np.arange(len(each))
    return ranks[which]


def aggregated_head(
    aggregates: Sequence[str | None], columns: Sequence[Column], values: Scratch, cancel: Cancel
) -> list[Column]:
    """The rows of a head with aggregates, over the distinct tuples of its variables. Aggregates skip nil, and a
    row with nil is none."""
    batch = Batch.of(columns)
    elements = [
        FindVar(Var(name)) if each is None else FindAggregate(each, (), Var(name), may_be_nil=has_nil(column))
        for (name, column), each in zip(batch.columns.items(), aggregates, strict=True)
    ]
    return without_nil(aggregated(batch, elements, values, cancel))


def has_nil(column: Column) -> bool:
    return bool((column == NIL).any())


def without_nil(columns: Sequence[Column]) -> list[Column]:
    """The rows that have no nil."""
    if not any(map(has_nil, columns)):
        return list(columns)
    there = np.logical_and.reduce([column != NIL for column in columns])
    return [column[there] for column in columns]


class BestFacts:
    """The least or greatest value of each group, as in `(p ?x (min ?d))` in a recursion: of longs or of doubles. A
    better value replaces the one before it. `place` is the value's column; what is compared is its rank, a number
    in the values' order, kept beside it."""

    def __init__(self, arity: int, place: int, sign: int, values: Scratch, cancel: Cancel) -> None:
        self.arity = arity
        self._place = place
        self._order = [*(i for i in range(arity) if i != place), place]
        self._back = np.argsort(self._order)
        self._sign = sign
        self._values = values
        self._doubles: bool | None = None
        self._store = RowTable(arity + 1, arity - 1, cancel.budget.take, cancel.check)
        self._current = np.zeros(self._store.rows.shape[1], np.bool_)
        self._from = 0
        self._recent = self._of(0, 0)
        self._whole: FactRows | None = None

    def __len__(self) -> int:
        return int(self._current[: self._store.count].sum())

    def ranks(self, codes: Column) -> Column | None:
        """int64[n] in the order of the values; None where they are not all longs or all doubles as those before."""
        numbers = number_ranks(codes, self._values)
        if numbers is None:
            return None
        doubles, ranks = numbers
        if self._doubles is None:
            self._doubles = doubles
        return ranks if self._doubles == doubles else None

    def add(self, columns: Sequence[Column]) -> None:
        ranks = self.ranks(columns[self._place])
        assert ranks is not None, "asked before"
        self._whole = None
        rows = stack([*(columns[i] for i in self._order), ranks])
        for start in range(0, rows.shape[1], STRIDE):
            stop = min(start + STRIDE, rows.shape[1])
            self._reserve(stop - start)
            store = self._store
            store.check()
            store.count = row_kernels.improve(
                store.table, store.rows, self._current, store.count, rows, store.keys, start, stop, self._sign, SEED
            )

    def _reserve(self, more: int) -> None:
        """Makes room, for as many again as there are, and leaves behind what was bettered."""
        store = self._store
        if store.count + more > store.rows.shape[1] or not store.has_room(more):
            self._compact()
            room = max(more, min(store.count, MOST_ROWS - store.count))
            store.reserve_rows(room)
            store.index(room)
            self._current = resized(self._current, store.count, store.rows.shape[1])
            self._current[store.count :] = False

    def _compact(self) -> None:
        store = self._store
        keep = np.flatnonzero(self._current[: store.count])
        self._from = int(np.searchsorted(keep, self._from))
        store.rows[:, : len(keep)] = store.rows[:, keep]
        store.count = len(keep)
        self._current[:] = False
        self._current[: len(keep)] = True

    def _of(self, start: int, stop: int) -> FactRows:
        """The rows of a range that are still the best of their groups."""
        which = start + np.flatnonzero(self._current[start:stop])
        return FactRows([self._store.rows[i][which] for i in self._back])

    def turn(self) -> int:
        self._recent = self._of(self._from, self._store.count)
        self._from = self._store.count
        return len(self._recent)

    def parts(self, version: Version) -> list[FactRows]:
        return [self._recent if version is Version.RECENT else self.whole()]

    def whole(self) -> FactRows:
        if self._whole is None:
            self._whole = self._of(0, self._store.count)
        return self._whole


class MergedFacts:
    """One row for each group, its aggregates merged as tuples come: any idempotent aggregate over any values."""

    def __init__(self, aggregates: Sequence[str | None], values: Scratch, cancel: Cancel) -> None:
        self.arity = len(aggregates)
        self._aggregates = tuple(aggregates)
        self._values = values
        self._cancel = cancel
        self._held = Held(cancel.budget)
        self._known: dict[tuple[int, ...], tuple[int, ...]] = {}
        self._changed: dict[tuple[int, ...], None] = {}
        self._recent = _columns_of([], self.arity)

    def __len__(self) -> int:
        return len(self._known)

    def add(self, columns: Sequence[Column]) -> None:
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for number, row in enumerate(rows):
            if number % _LOOK == 0:
                self._cancel.check()
                self._held.become(_ROW * len(self._known))
            group = tuple(code for code, name in zip(row, self._aggregates, strict=True) if name is None)
            known = self._known.get(group)
            better = self._merged(known, row)
            if better != known:
                self._known[group] = better
                self._changed[group] = None
        check_size(len(self._known))

    def _merged(self, known: tuple[int, ...] | None, row: tuple[int, ...]) -> tuple[int, ...]:
        decode, intern = self._values.decode, self._values.intern
        made: list[int] = []
        for place, (code, name) in enumerate(zip(row, self._aggregates, strict=True)):
            if name is None:
                made.append(code)
            else:
                earlier: list[Any] = [] if known is None else [decode(known[place])]
                there = [value for value in (*earlier, decode(code)) if value is not None]
                made.append(intern(aggregate(name, (), there)) if there else NIL)
        return tuple(made)

    def turn(self) -> int:
        self._recent = _columns_of([self._known[group] for group in self._changed], self.arity)
        self._changed = {}
        return len(self._recent)

    def parts(self, version: Version) -> list[FactRows]:
        return [self._recent if version is Version.RECENT else self.whole()]

    def whole(self) -> FactRows:
        return _columns_of(list(self._known.values()), self.arity)


def _columns_of(rows: Sequence[tuple[int, ...]], arity: int) -> FactRows:
    table: NDArray[np.int64] = np.array(rows, np.int64).reshape(len(rows), arity)
    return FactRows(without_nil([np.ascontiguousarray(table[:, i]) for i in range(arity)]))


class GroupFacts:
    """A relation with aggregates in a recursion: longs or doubles by the compiled loop while nothing else comes."""

    def __init__(self, aggregates: Sequence[str | None], values: Scratch, cancel: Cancel) -> None:
        self.arity = len(aggregates)
        self._aggregates = tuple(aggregates)
        self._values = values
        self._cancel = cancel
        places = [i for i, name in enumerate(aggregates) if name is not None]
        self._place = places[0]
        self._facts: BestFacts | MergedFacts
        better = AGGREGATES[str(aggregates[places[0]])].better
        if len(places) == 1 and better:
            self._facts = BestFacts(self.arity, places[0], -better, values, cancel)
        else:
            self._facts = MergedFacts(aggregates, values, cancel)

    def __len__(self) -> int:
        return len(self._facts)

    def add(self, columns: Sequence[Column]) -> None:
        if isinstance(self._facts, BestFacts):
            columns = without_nil(columns)
        if not len(columns[0]):
            return
        if isinstance(self._facts, BestFacts) and self._facts.ranks(columns[self._place]) is None:
            self._facts = self._moved(self._facts)
        self._facts.add(columns)

    def _moved(self, best: BestFacts) -> MergedFacts:
        """The same rows where any value may be merged; those of this round stay to be turned."""
        facts = MergedFacts(self._aggregates, self._values, self._cancel)
        facts.add(best.whole().columns)
        return facts

    def turn(self) -> int:
        return self._facts.turn()

    def parts(self, version: Version) -> list[FactRows]:
        return self._facts.parts(version)

    def whole(self) -> FactRows:
        return self._facts.whole()
