"""Facts that are maintained from moment to moment: rows that come and go, each with the time of its derivation.

A row is entered once and keeps its place, so its number refers to it. Marks beside the rows say what holds: a
version is the rows with some mark. It is read through sorted parts that hold all rows, and a look at the marks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.executor.extenders.patterns import Bound, rows_extender
from adalog.executor.extenders.relation import RelationExtender, UnionExtender
from adalog.executor.facts.facts import FactRows, RowTable, SortedParts, Take, resized
from adalog.executor.facts.grouped import without_nil
from adalog.executor.join.batch import ORIGIN, Batch, Column, Mask
from adalog.executor.join.protocol import START
from adalog.executor.kernels import kept_kernels
from adalog.executor.kernels.range_kernels import Ints
from adalog.executor.kernels.seed import SEED
from adalog.planner.model.version import Version
from adalog.store.tries.trie import distinct

Marks = NDArray[np.uint8]
Ranks = Callable[[Column], Column]

NOW: Final = 1
"""The mark of a row that holds now."""
BEFORE: Final = 2
"""The mark of a row that held at the first of two moments."""
LEAVING: Final = 4
"""The mark of a row that holds no more, while what was derived from it is looked for."""

# A part of rows is sorted again with the one before it when it has come to so large a share of that.
_SHARE: Final = 8
# Fewer rows that hold no more are not worth clearing away.
_FEW: Final = 1024

_OTHERS: Final = np.uint8(~(NOW | BEFORE | LEAVING) & 255)

_MARKS: Final = {Version.OLD: BEFORE, Version.NEW: NOW, Version.EARLIER: NOW}


@dataclass(slots=True)
class DerivationClock:
    """The time of the newest derivation, for all relations of a stratum."""

    time: int = 0

    def tick(self) -> int:
        self.time += 1
        return self.time


class MaintainedFacts(RowTable):
    """The rows of one relation. `size`: how many hold now. `recent`: the numbers of those that the last round
    added. Between `settle` and the next, OLD are the rows that held then, NEW those that hold now. A fact that
    `add` takes holds at once, with a time later than all facts that it can have been derived from."""

    # A time and marks.
    beside = 9

    def __init__(self, arity: int, clock: DerivationClock | None = None, take: Take = lambda _: None) -> None:
        """`take` is told how many bytes are about to be held, and may refuse them."""
        super().__init__(arity, arity, take)
        self.size = 0
        self.clock = clock or DerivationClock()
        self.recent = _NONE
        self._times: Ints = np.empty(64, np.int64)
        self._marks: Marks = np.zeros(64, np.uint8)
        self._places = np.arange(arity)
        self._pending: list[Column] = []
        self._touched: list[Column] = []
        self._changed: tuple[Column, Column] | None = None
        self._parts = SortedParts(_SHARE)
        self._shown = NOW
        self._limits = np.empty(0, np.int64)
        self._numbered = 0
        # Rows up to here have the database's codes alone.
        self._plain = 0

    def __len__(self) -> int:
        return self.size

    @property
    def extent(self) -> tuple[int, int]:
        """What numbers stand for: another one when rows have been numbered anew, or more of them have a number."""
        return self._numbered, self.count

    def nbytes(self) -> int:
        parts = sum(
            each.nbytes for part in self._parts for levels in part.made() for each in levels.values + levels.offsets
        )
        return self.rows.nbytes + self._times.nbytes + self._marks.nbytes + self.table.nbytes + parts

    # Rows by number

    def find(self, columns: Sequence[Column]) -> Column:
        """int64[n]: the number of each row, -1 of one that never was."""
        return kept_kernels.find(self.table, self.rows, self._places, _stacked(columns), SEED)

    def enter(self, columns: Sequence[Column]) -> Column:
        """int64[n]: the number of each row; one that never was is given a number."""
        keys = _stacked(columns)
        self.reserve(keys.shape[1])
        found = np.empty(keys.shape[1], np.int64)
        before = self.count
        self.count = kept_kernels.enter(self.table, self.rows, before, keys, found, SEED)
        self._marks[before : self.count] = 0
        return found

    def columns_of(self, rows: Column) -> list[Column]:
        return [column[rows] for column in self.rows]

    def times_of(self, rows: Column) -> Column:
        """When each of these rows was derived: facts that it was derived from have earlier times."""
        return self._times[rows]

    def holding(self, rows: Column) -> Column:
        """Those of some rows by number, each once, that hold now."""
        rows = rows[(rows >= 0) & self._marked(rows, NOW)]
        return distinct(rows) if len(rows) > 1 else rows

    def missing(self, rows: Column) -> Column:
        return rows[~self._marked(rows, NOW)]

    def _marked(self, rows: Column, mark: int) -> Mask:
        """Which rows have one of some marks."""
        marked: Mask = (self._marks[rows] & mark).view(np.bool_) if mark == NOW else self._marks[rows] & mark != 0
        return marked

    def all_holding(self) -> Column:
        return np.flatnonzero(self._marks[: self.count] & NOW)

    # What holds

    def add(self, columns: Sequence[Column]) -> None:
        if len(columns[0]):
            self.hold(self.missing(distinct(self.enter(columns))))

    def hold(self, rows: Column) -> None:
        time = self.clock.tick()
        if len(rows):
            self._marks[rows] |= NOW
            self._times[rows] = time
            self.size += len(rows)
            self._pending.append(rows)
            self._touch(rows)

    def turn(self) -> int:
        """Ends a round: the rows added since the last one are the recent ones. Returns their number."""
        self.recent, self._pending = joined(self._pending), []
        return len(self.recent)

    def remove(self, rows: Column) -> None:
        if len(rows):
            self._marks[rows] &= ~np.uint8(NOW)
            self.size -= len(rows)
            self._touch(rows)

    def clear(self) -> None:
        self.remove(self.all_holding())
        self._pending = []

    def leave(self, rows: Column) -> None:
        """Has rows be read with those that hold, until `forget`."""
        self._marks[rows] |= LEAVING
        self._shown = NOW | LEAVING

    def forget(self, rows: Column) -> None:
        self._marks[rows] &= ~np.uint8(LEAVING)
        self._shown = NOW

    def _touch(self, rows: Column) -> None:
        self._touched.append(rows)
        self._changed = None

    # Between two moments

    @property
    def is_touched(self) -> bool:
        """Whether rows came or went, if only to go or come again."""
        return bool(self._touched)

    def settle(self) -> None:
        """Makes what holds now what held before."""
        if not self._touched:
            return
        rows = joined(self._touched)
        marks = self._marks[rows]
        holds = marks & NOW
        self._marks[rows] = (marks & _OTHERS) | holds | holds << 1
        self._touched, self._pending, self.recent = [], [], _NONE
        self._changed = None
        if self.count - self.size > max(_FEW, self.size):
            self._compact()

    def came(self) -> Column:
        """The numbers of the rows that hold now and did not before."""
        return self._difference()[0]

    def went(self) -> Column:
        """The numbers of the rows that held before and do not now."""
        return self._difference()[1]

    def _difference(self) -> tuple[Column, Column]:
        if not self._touched:
            return _NONE, _NONE
        if self._changed is None:
            rows = distinct(joined(self._touched))
            marks = self._marks[rows] & (NOW | BEFORE)
            self._changed = rows[marks == NOW], rows[marks == BEFORE]
        return self._changed

    # Room

    def resize(self, capacity: int) -> None:
        super().resize(capacity)
        self._times = resized(self._times, self.count, capacity)
        self._marks = resized(self._marks, self.count, capacity)

    def _compact(self) -> None:
        """Clears away the rows without a mark. Numbers change."""
        kept = np.flatnonzero(self._marks[: self.count])
        self.count = len(kept)
        self.rows, self._times, self._marks = self.rows[:, kept], self._times[kept], self._marks[kept]
        self.resize(max(64, len(kept) + len(kept) // 4))
        self._plain = 0
        self.table = np.zeros(128, np.int64)
        self._renumber()

    def recode(self, is_own: Callable[[Column], Mask], change: Callable[[Column], Column]) -> None:
        """Gives those codes in its rows others of which `is_own` says that they are not the database's."""
        assert not self._touched, "between two moments"
        young = self.rows[:, self._plain : self.count]
        masks = [is_own(column) for column in young]
        if not any(mask.any() for mask in masks):
            self._plain = self.count
            return
        for column, mask in zip(young, masks, strict=True):
            column[mask] = change(column[mask])
        self._renumber()

    def _renumber(self) -> None:
        """Makes all that refers to rows by their numbers or their values anew."""
        self._numbered += 1
        self._parts = SortedParts(_SHARE)
        self.index(0)

    # Reading

    def parts(self, version: Version) -> list[FactRows]:
        numbers = self.recent
        if version is not Version.RECENT:
            numbers = np.flatnonzero(self._marks[: self.count] & _MARKS[version])
        return [FactRows(self.columns_of(numbers))]

    def since(self, limits: Column) -> None:
        """Says from which time on a row is none of EARLIER, for each of the facts that a batch's ORIGIN numbers."""
        self._limits = limits

    def extender(self, terms: Sequence[str | None], version: Version, rank: dict[str, int]) -> Bound:
        names = [term for term in terms if term is not None]
        if len(set(names)) < len(terms):
            assert version is not Version.EARLIER, "the planner names every place"
            return rows_extender(terms, self.parts(version)[0].columns, rank)
        return MaintainedExtender(self, names, version, rank)

    def accepts(self, columns: Sequence[Column], version: Version, batch: Batch) -> Mask:
        """Which rows are of a version; of EARLIER for the fact that each row of the batch belongs to."""
        if version is Version.EARLIER:
            rows = self.find(columns)
            limits = self._limits[batch.columns[ORIGIN]]
            return (rows >= 0) & self._marked(rows, NOW) & (self._times[rows] < limits)
        mark = self._shown if version is Version.NEW else _MARKS[version]
        accepted: Mask = kept_kernels.marked(
            self.table, self.rows, self._places, self._marks, mark, _stacked(columns), SEED
        )
        return accepted

    def sorted_parts(self) -> list[FactRows]:
        """Every row that ever was, in disjoint parts, of which there is one at least."""
        start = self._parts.stop
        if start < self.count or not self.count:
            self._parts.append(self.rows, FactRows(self.range(start, self.count)))
        return list(self._parts)


class BestMaintained(MaintainedFacts):
    """Of each group the row with the best value, where a recursion goes through `min` or `max`. `place`: the
    value's column. `ranks`: numbers in the order of the values of codes, where the least is the best."""

    def __init__(
        self,
        arity: int,
        place: int,
        ranks: Ranks,
        clock: DerivationClock | None = None,
        take: Take = lambda _: None,
    ) -> None:
        super().__init__(arity, clock, take)
        self._place = place
        self._ranks = ranks
        self._keys = np.array([i for i in range(arity) if i != place], np.int64)
        self._groups = np.zeros(128, np.int64)
        self._known = 0
        self._displaced: list[Column] = []

    def nbytes(self) -> int:
        return super().nbytes() + self._groups.nbytes

    def turn(self) -> int:
        super().turn()
        self.recent = self.holding(self.recent)
        return len(self.recent)

    def displaced(self) -> Column:
        """The numbers of the rows that have given way to better ones since the last call."""
        rows, self._displaced = joined(self._displaced), []
        return rows

    def clear(self) -> None:
        super().clear()
        self._displaced = []

    def add(self, columns: Sequence[Column]) -> None:
        columns = without_nil(columns)
        if not len(columns[0]):
            return
        keys = [columns[i] for i in self._keys]
        held = kept_kernels.find(self._groups, self.rows, self._keys, _stacked(keys, len(columns[0])), SEED)
        is_held = (held >= 0) & (self._marks[held] & NOW != 0)
        value = columns[self._place]
        ranks = self._ranks(np.concatenate((value, np.where(is_held, self.rows[self._place][held], value))))
        own, others = ranks[: len(value)], ranks[len(value) :]
        best = np.lexsort((own, *keys))
        first = np.ones(len(best), np.bool_)
        first[1:] = np.logical_or.reduce([key[best][1:] != key[best][:-1] for key in keys])
        best = best[first]
        best = best[~is_held[best] | (own[best] < others[best])]
        displaced = held[best][is_held[best]]
        self.remove(displaced)
        self._displaced.append(displaced)
        rows = self.enter([column[best] for column in columns])
        self.hold(rows)
        self._put(rows)

    def _put(self, rows: Column) -> None:
        if 2 * (self._known + len(rows)) > len(self._groups):
            size = len(self._groups)
            while size < 2 * (self._known + len(rows)):
                size *= 2
            self._groups = np.zeros(size, np.int64)
            self._known = kept_kernels.put(self._groups, self.rows, self._keys, self.all_holding(), SEED)
        self._known += kept_kernels.put(self._groups, self.rows, self._keys, rows, SEED)

    def _renumber(self) -> None:
        super()._renumber()
        self._groups = np.zeros(128, np.int64)
        self._known = 0
        self._put(self.all_holding())


class MaintainedExtender(UnionExtender):
    """A pattern with a variable in each place over a version of maintained facts. Sorted parts propose, of rows
    that hold and rows that do not; where the last variable is bound the marks decide."""

    def __init__(
        self, facts: MaintainedFacts, names: Sequence[str], version: Version, rank: dict[str, int]
    ) -> None:
        self.facts = facts
        self.names = tuple(names)
        self.version = version
        self.rank = rank
        self.variables = frozenset(names)
        self.order = sorted(names, key=rank.__getitem__)
        self.last = self.order[-1] if rank[self.order[-1]] >= 0 else START
        self._extenders: list[RelationExtender] = []
        self._extent = (-1, -1)

    def participates(self, variable: str) -> bool:
        return self.last == START if variable == START else variable in self.variables

    def forget(self) -> None:
        """Lets go of parts that are none of the facts any more."""
        if self._extenders and self._extent != self.facts.extent:
            self._extenders, self._extent = [], (-1, -1)

    @property
    def parts(self) -> Sequence[RelationExtender]:
        if self._extent != self.facts.extent:
            self._extent = self.facts.extent
            places = tuple(self.names.index(name) for name in self.order)
            self._extenders = [
                RelationExtender(self.order, part.levels(places), self.rank) for part in self.facts.sorted_parts()
            ]
        return self._extenders

    def known(self, batch: Batch) -> Batch:
        """The rows of a first batch for which there is a row, or may be: the bound variables come first."""
        bound = [name for name in self.order if self.rank[name] < 0]
        return self._accepted(batch) if len(bound) == len(self.order) else super().intersect(batch, bound[-1])

    def propose(self, batch: Batch, variable: str) -> Batch:
        extended = super().propose(batch, variable)
        return self._accepted(extended) if variable == self.last else extended

    def intersect(self, batch: Batch, variable: str) -> Batch:
        return self._accepted(batch) if variable == self.last else super().intersect(batch, variable)

    def _accepted(self, batch: Batch) -> Batch:
        if not batch.size:
            return batch
        return batch.keep(self.facts.accepts([batch.columns[name] for name in self.names], self.version, batch))


_NONE: Final = np.empty(0, np.int64)


def _stacked(columns: Sequence[Column], size: int | None = None) -> NDArray[np.int64]:
    if not columns:
        return np.empty((0, size or 0), np.int64)
    return np.array(columns)


def joined(parts: Sequence[Column]) -> Column:
    """Rows by number, of which there are seldom any."""
    parts = [rows for rows in parts if len(rows)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else _NONE
