"""GenericJoin: binds one variable after another, a chunk of prefixes at a time, depth first.

For each prefix the extender with the fewest extensions proposes them and the others intersect, which makes the join
worst-case optimal. Counts are known before anything is extended, so a chunk is cut where its extensions would pass
the budget, and memory stays bounded however many rows there are. A variable that nothing later needs is dropped at
once: rows that become equal are merged, or their weights summed when the variable is counted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.disjunction import OrExtender
from adalog.executor.join.level import BUDGET, BoundLevel, Level, LevelCounts, chunks
from adalog.executor.join.protocol import START
from adalog.executor.join.shortcuts.all_ranges import extend_by_ranges
from adalog.executor.join.shortcuts.one_prefix import extend_one
from adalog.executor.join.shortcuts.unread_values import weigh
from adalog.executor.join.small.program import Program, program_of
from adalog.executor.join.small.running import SmallJoin
from adalog.executor.join.small.settled import SettledJoin
from adalog.executor.kernels.small_join import MOST_ROWS


class States:
    """When the state of each nest of `or`s is a column: from the first level that it takes part in to the last.
    `kept`: the columns that a level keeps, states among them (None: all but the states that end there)."""

    def __init__(self, body: Conjunction, levels: Sequence[Level]) -> None:
        self._begin: dict[int, tuple[str, ...]] = {}
        self._end: dict[int, frozenset[str]] = {}
        self.kept: list[frozenset[str] | None] = [level.keep for level in levels]
        nests = [part for part in body.parts if isinstance(part, OrExtender)]
        places = {START: -1} | {level.variable: i for i, level in enumerate(levels)} if nests else {}
        for part in nests:
            first, last = places[part.levels[0]], places[part.last]
            columns = part.nest.columns
            self._begin[first] = (*self._begin.get(first, ()), *columns)
            self._end[last] = self._end.get(last, frozenset()).union(columns)
            for i in range(max(first, 0), last):
                kept = self.kept[i]
                self.kept[i] = None if kept is None else kept.union(columns)

    def begun(self, batch: Batch, depth: int) -> Batch:
        """The batch with the states that begin at a level, every branch alive."""
        for name in self._begin.get(depth, ()):
            batch = batch.having(name, np.full(batch.size, -1, np.int64))
        return batch

    def ended(self, batch: Batch, depth: int) -> Batch:
        """The batch without the states that end at a level."""
        names = self._end.get(depth)
        return batch if names is None else batch.without(names)


@dataclass
class GenericJoin:
    """One conjunction and the order in which to bind its variables. Safe to run from several threads at once.
    `check` is called within the levels that make one batch of very many extensions, or none of very many, and may
    raise."""

    body: Conjunction
    levels: Sequence[Level]
    weighted: bool = False
    budget: int = BUDGET
    check: Callable[[], None] = lambda: None
    counts: list[LevelCounts] = field(init=False)
    _states: States = field(init=False)
    _bound: list[BoundLevel] = field(init=False)
    _small: SmallJoin | None = field(init=False)

    def __post_init__(self) -> None:
        self.counts = [LevelCounts() for _ in self.levels]
        self._states = States(self.body, self.levels)
        self._bound = [
            BoundLevel(level, self.body.at(level.variable), kept, counts, self.budget, self.check)
            for level, kept, counts in zip(self.levels, self._states.kept, self.counts, strict=True)
        ]

        has_states = any(isinstance(part, OrExtender) for part in self.body.parts)
        # A budget below that of small joins is kept to in columns.
        is_small = not has_states and self.budget >= MOST_ROWS
        self._small = SmallJoin(self.body, self.levels) if is_small else None

    def count_anew(self) -> None:
        """Begins the counts again, for another run of the same join."""
        self.counts = [LevelCounts() for _ in self.levels]
        for level, counts in zip(self._bound, self.counts, strict=True):
            level.counts = counts

    def begun(self, batch: Batch, *, counted: bool = True) -> tuple[Batch, int] | None:
        """As `extended`, from the first batch on, which is checked before."""
        if self._small is None:
            return None
        return self._small.extend(self._weighted(batch), -1, self.counts if counted else None)

    def settled(self, names: Sequence[str]) -> SettledJoin | None:
        """The whole join of one prefix with columns of these names, over what its parts read now; None where
        `begun` did not make all rows of one before."""
        return None if self._small is None or self.weighted else self._small.settled(names)

    def program(self, names: Sequence[str]) -> Program | None:
        """The program of the whole join for one prefix with columns of these names; None if the kernel does not
        know all of it."""
        if self._small is None or self.weighted:
            return None
        program = program_of(self.body, self.levels, names, starts=True, weighted=False)
        done = -1 if program is None else program.records - program.checks_first
        return program if done == len(self.levels) else None

    def extended(self, batch: Batch, depth: int) -> tuple[Batch, int] | None:
        """(extensions of prefixes, how many levels bind them): of few at once, as far as that goes. What it leaves
        is for `extend`. None where it did nothing."""
        return None if self._small is None else self._small.extend(batch, depth, self.counts)

    def start(self, batch: Batch) -> Batch:
        """The first prefixes that pass what is bound already."""
        return self._checked(self._weighted(batch))

    def _weighted(self, batch: Batch) -> Batch:
        return Batch(batch.size, batch.columns, np.ones(batch.size, np.int64)) if self.weighted else batch

    def _checked(self, batch: Batch) -> Batch:
        batch = self._states.begun(batch, -1)
        return self._states.ended(self.body.intersect(batch, START), -1)

    def count(self, batch: Batch, depth: int) -> NDArray[np.int64]:
        """Per prefix an upper bound on its extensions by the variable at `depth`; UNBOUNDED where nothing says."""
        return self.body.count(self._states.begun(batch, depth), self.levels[depth].variable)

    def extend(self, batch: Batch, depth: int) -> Iterator[Batch]:
        """The extensions of prefixes by the variable at `depth`, chunk by chunk."""
        level = self._bound[depth]
        batch = self._states.begun(batch, depth)
        began = time.perf_counter()
        counts = level.counts
        counts.prefixes += batch.size
        extended: Iterable[Batch]
        if level.is_ranged:
            extended = (extend_one(level, batch),) if batch.size == 1 else extend_by_ranges(level, batch)
        elif level.others:
            extended = self._by_parts(level, batch)
        else:
            # Local to an `or` that constants decided: nothing constrains it, and nothing reads its value.
            extended = (batch.having(level.variable, np.zeros(batch.size, np.int64)),)
        for chunk in extended:
            rows = chunk.size
            chunk = self._project(chunk, depth)
            counts.rows += rows
            counts.seconds += time.perf_counter() - began
            if chunk.size:
                yield chunk
            else:
                self.check()
            began = time.perf_counter()
        counts.seconds += time.perf_counter() - began

    def _by_parts(self, level: BoundLevel, batch: Batch) -> Iterator[Batch]:
        """Proposals and intersections over whole batches, where an `or` or a function takes part."""
        offers = self.body.offers(batch, level.variable)
        sizes = offers.least
        level.counts.candidates += int(sizes.sum())
        if level.counts_alone:
            yield weigh(batch, sizes)
            return
        for start, stop in chunks(sizes, self.budget):
            yield self.body.proposed(batch.slice(start, stop), level.variable, offers.slice(start, stop))

    def _project(self, batch: Batch, depth: int) -> Batch:
        kept, level = self._states.kept[depth], self.levels[depth]
        size = len(batch.columns)
        batch = self._states.ended(batch, depth) if kept is None else batch.only(kept)
        if not level.merge:
            return batch
        if level.counted and len(batch.columns) == size:
            # The prefixes, with other weights.
            return batch
        if self.weighted and depth == len(self.levels) - 1 and batch.seems_distinct():
            # Whatever takes them adds up the weights of equal rows.
            return batch
        return batch.distinct(self.check)
