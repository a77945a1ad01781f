"""GenericJoin: binds one variable after another, a chunk of prefixes at a time, depth first.

For each prefix the extender with the fewest extensions proposes them and the others intersect, which is what makes
the join worst-case optimal. Counts are known before anything is extended, so a chunk is cut where its extensions
would pass the budget, and memory stays bounded however many rows there are. A variable that nothing later needs
is dropped at once: rows that become equal are merged, or their weights summed when the variable is counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch, check_total
from adalog.executor.join.connectives import ABSENT, Conjunction, OrExtender
from adalog.executor.join.extender import START, Check, Extender, Ranges, expand
from adalog.executor.join.step import choose, common, count_ranges, intersect_ranges, is_worth_writing, written
from adalog.executor.kernels import range_kernels
from adalog.planner.model.logical import WEIGHT

BUDGET = 1 << 19
"""Extensions that one chunk may make, unless a single prefix makes more."""

# Sums by value are kept in an array where it is at most so many times as long as the list of values.
_DENSE = 4
# Extensions that are summed between two looks at the deadline.
_SCATTERED = 1 << 24


def _unchecked() -> None:
    """The check of a join that nobody cancels."""


@dataclass(frozen=True, slots=True)
class Level:
    """What binding one variable comes to.

    `keep`: the columns needed afterwards (None: all). `merge`: rows may be equal after dropping, so make them
    distinct. `counted`: the variable itself is only counted, so its values need not be written out.
    """

    variable: str
    keep: frozenset[str] | None = None
    merge: bool = False
    counted: bool = False


@dataclass(slots=True)
class LevelCounts:
    """What explain analyze shows of a level: rows in, candidates looked at, rows out, seconds. skipped: extensions
    that were counted and not written out, as one of each prefix is enough."""

    prefixes: int = 0
    candidates: int = 0
    rows: int = 0
    seconds: float = 0.0
    skipped: int = 0


class States:
    """When the state of each nest of `or`s is a column: from the first level that it takes part in to the last.

    `kept`: the columns that a level keeps, states among them (None: all but the states that end there).
    """

    def __init__(self, body: Conjunction, levels: Sequence[Level]) -> None:
        places = {START: -1} | {level.variable: i for i, level in enumerate(levels)}
        self._begin: dict[int, tuple[str, ...]] = {}
        self._end: dict[int, frozenset[str]] = {}
        self.kept: list[frozenset[str] | None] = [level.keep for level in levels]
        for part in body.parts:
            if not isinstance(part, OrExtender):
                continue
            first, last = places[part.levels[0]], places[part.last]
            columns = part.nest.columns
            self._begin[first] = (*self._begin.get(first, ()), *columns)
            self._end[last] = self._end.get(last, frozenset()).union(columns)
            for i in range(max(first, 0), last):
                kept = self.kept[i]
                self.kept[i] = None if kept is None else kept.union(columns)

    def begun(self, batch: Batch, depth: int) -> Batch:
        """The batch with the states that begin at a level, every branch alive."""
        names = self._begin.get(depth)
        if names is None:
            return batch
        return Batch(batch.size, {**batch.columns, **{name: np.full(batch.size, -1, np.int64) for name in names}})

    def ended(self, batch: Batch, depth: int) -> Batch:
        """The batch without the states that end at a level."""
        names = self._end.get(depth)
        return batch if names is None else batch.without(names)


@dataclass
class GenericJoin:
    """One conjunction and the order in which to bind its variables. Safe to run from several threads at once.

    `check` is called within the levels that make one batch of very many extensions, and may raise.
    """

    body: Conjunction
    levels: Sequence[Level]
    weighted: bool = False
    budget: int = BUDGET
    check: Callable[[], None] = _unchecked
    counts: list[LevelCounts] = field(default_factory=list)
    states: States = field(init=False)

    def __post_init__(self) -> None:
        if not self.counts:
            self.counts = [LevelCounts() for _ in self.levels]
        self.states = States(self.body, self.levels)

    def start(self, batch: Batch) -> Batch:
        """The first prefixes that pass what is bound already."""
        if self.weighted:
            batch = batch.having(WEIGHT, np.ones(batch.size, np.int64))
        batch = self.states.begun(batch, -1)
        return self.states.ended(self.body.intersect(batch, START), -1)

    def count(self, batch: Batch, depth: int) -> NDArray[np.int64]:
        """Per prefix an upper bound on its extensions by the variable at `depth`; UNBOUNDED where nothing says."""
        return self.body.count(self.states.begun(batch, depth), self.levels[depth].variable)

    def extend(self, batch: Batch, depth: int) -> Iterator[Batch]:
        """The extensions of prefixes by the variable at `depth`, chunk by chunk."""
        level = self.levels[depth]
        batch = self.states.begun(batch, depth)
        ranged, others = self.body.at(level.variable)
        began = time.perf_counter()
        counts = self.counts[depth]
        counts.prefixes += batch.size
        produced: Iterable[Batch]
        if ranged and all(isinstance(part, Check) for part in others):
            if batch.size == 1:
                produced = (self._by_rows(batch, level, depth),)
            else:
                produced = self._by_ranges(batch, level, depth, bool(others))
        elif others:
            produced = self._by_parts(batch, level, depth)
        else:
            # Local to an `or` that constants decided: nothing constrains it and nothing asks for it.
            produced = (batch.having(level.variable, np.full(batch.size, ABSENT, np.int64)),)
        for chunk in produced:
            rows = chunk.size
            chunk = self._project(chunk, depth)
            counts.rows += rows
            counts.seconds += time.perf_counter() - began
            if chunk.size:
                yield chunk
            began = time.perf_counter()
        counts.seconds += time.perf_counter() - began

    @staticmethod
    def _cuts(sizes: NDArray[np.int64], most: int) -> Iterator[tuple[int, int]]:
        """Row ranges whose sizes add up to at most so many, each at least one row."""
        ends = np.cumsum(sizes)
        start, n = 0, len(sizes)
        while start < n:
            before = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, before + most, "right")))
            if int(ends[stop - 1]) > before:
                yield start, stop
            start = stop

    def _only_asks(self, batch: Batch, depth: int, checks: Sequence[Extender]) -> bool:
        """Whether a level only asks if there is a value: nothing looks at it, here or later, and nothing counts."""
        kept = self.states.kept[depth]
        dropped = kept is not None and self.levels[depth].variable not in kept
        return dropped and not checks and WEIGHT not in batch.columns

    def _by_rows(self, batch: Batch, level: Level, depth: int) -> Batch:
        """The extensions of a single prefix, of which there are so many in small queries and in live ones: its
        candidates are a few sorted rows."""
        rows, checks = self.body.rows(batch, level.variable)
        shortest, *longer = (row for row, _ in rows)
        self.counts[depth].candidates += len(shortest)
        if not (longer or checks):
            if level.counted:
                return self._weigh(batch, np.array([len(shortest)]))
            if self._only_asks(batch, depth, checks):
                return self._having_any(batch, np.array([len(shortest)]), depth)
        first = value = written(shortest)
        for row, (_, owner) in zip(longer, rows[1:], strict=True):
            if not len(value):
                break
            if is_worth_writing(row, len(value)):
                value = common(value, written(row))
            else:
                checks.append(owner)
        if level.counted and not checks:
            return self._weigh(batch, np.array([len(value)]))
        if value is first:
            # A part of a trie's column would keep all of it.
            value = value.copy()
        columns = {name: column.repeat(len(value)) for name, column in batch.columns.items()}
        columns[level.variable] = value
        extended = Batch(len(value), columns)
        return self.body.accept(extended, level.variable, checks) if checks else extended

    def _by_ranges(self, batch: Batch, level: Level, depth: int, has_others: bool) -> Iterator[Batch]:
        """All who propose have ranges: the compiled intersection. `has_others`: there are some who do not."""
        narrow, checks = self.body.narrowed(batch, level.variable)
        counting = level.counted and not checks
        asking = self._only_asks(batch, depth, checks)
        if asking and len(narrow) == 1:
            self.counts[depth].candidates += batch.size
            yield self._having_any(batch, narrow[0].length, depth)
            return
        if len(narrow) == 1 and (counting or WEIGHT not in batch.columns) and narrow[0].total <= self.budget:
            # What most levels of a small query are: one range for each prefix, in one chunk.
            self.counts[depth].candidates += narrow[0].total
            yield self._by_range(batch, level, narrow[0], checks)
            return
        least = choose(narrow)
        self.counts[depth].candidates += int(least.sum())
        if counting and len(narrow) == 1:
            yield self._weigh(batch, least)
            return
        # Others may look at variables that are not kept.
        summed = None if has_others else self._summed(batch, depth, narrow, least)
        if summed is not None:
            yield self.body.accept(summed, level.variable, checks)
            return
        for start, stop in self._cuts(least, self.budget):
            part = batch.slice(start, stop)
            ranges = narrow if stop - start == batch.size else [each.slice(start, stop) for each in narrow]
            if counting:
                yield self._weigh(part, count_ranges(ranges, stop - start))
                continue
            if asking:
                yield self._having_any(part, count_ranges(ranges, stop - start), depth)
                continue
            if len(ranges) == 1:
                yield self._by_range(part, level, ranges[0], checks)
                continue
            parent, value = intersect_ranges(ranges, least[start:stop])
            extended = part.extend(parent, level.variable, value)
            yield self.body.accept(extended, level.variable, checks)

    def _by_range(self, batch: Batch, level: Level, ranges: Ranges, checks: Sequence[Extender]) -> Batch:
        """The extensions where nobody but one has ranges."""
        if level.counted and not checks:
            return self._weigh(batch, ranges.length)
        single = ranges.singles()
        if single is not None:
            extended = batch.having(level.variable, single)
        else:
            parent, value = expand(ranges)
            extended = batch.extend(parent, level.variable, value)
        return self.body.accept(extended, level.variable, checks) if checks else extended

    def _summed(self, batch: Batch, depth: int, narrow: list[Ranges], least: NDArray[np.int64]) -> Batch | None:
        """The values of a level that keeps nothing but them and their weights, summed without writing rows out."""
        variable = self.levels[depth].variable
        weight = batch.columns.get(WEIGHT)
        if (
            weight is None
            or len(narrow) > 1
            or self.states.kept[depth] != frozenset((variable, WEIGHT))
            or narrow[0].src.any()
        ):
            return None
        low, high = narrow[0].span()
        if high - low >= _DENSE * (int(least.sum()) + 1024):
            return None
        check_total(weight, least)
        total = np.zeros(high - low + 1, np.int64)
        base, lo, hi = narrow[0].base, narrow[0].lo, narrow[0].hi
        for start, stop in self._cuts(least, _SCATTERED):
            self.check()
            range_kernels.scatter(base, lo[start:stop], hi[start:stop], weight[start:stop], total, low)
        places = np.flatnonzero(total)
        return Batch(len(places), {variable: places + low, WEIGHT: total[places]})

    def _having_any(self, batch: Batch, count: NDArray[np.int64], depth: int) -> Batch:
        """The prefixes with an extension, where nothing asks for its value."""
        found = batch.keep(count > 0)
        self.counts[depth].skipped += int(count.sum()) - found.size
        return found

    @staticmethod
    def _weigh(batch: Batch, count: NDArray[np.int64]) -> Batch:
        weight = batch.columns[WEIGHT]
        check_total(weight, count)
        return batch.having(WEIGHT, weight * count).keep(count > 0)

    def _by_parts(self, batch: Batch, level: Level, depth: int) -> Iterator[Batch]:
        """Some who take part are `or` or functions: proposals and intersections over whole batches."""
        offers = self.body.offers(batch, level.variable)
        sizes = offers.least
        self.counts[depth].candidates += int(sizes.sum())
        for start, stop in self._cuts(sizes, self.budget):
            yield self.body.proposed(batch.slice(start, stop), level.variable, offers.slice(start, stop))

    def _project(self, batch: Batch, depth: int) -> Batch:
        kept = self.states.kept[depth]
        batch = self.states.ended(batch, depth) if kept is None else batch.only(kept)
        return batch.distinct(self.check) if self.levels[depth].merge else batch
