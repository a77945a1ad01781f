"""The folded part of one attribute: a large base and a few runs of what came since, each smaller than the next.

A value; what came after its last transaction is a `Delta`. A fold adds a run and merges it with its neighbours of
like size; what has become large beside the base is folded into it. So each datom is written again a logarithmic
number of times, however large the attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np

from adalog.store.files.segment import Segment
from adalog.store.tries.base import Base, ClosedDatoms, settle
from adalog.store.tries.columns import NO_COLUMNS, Columns
from adalog.store.tries.run import Run
from adalog.store.tries.trie import Trie, distinct
from adalog.store.values.arrays import CodeColumn

# Runs become part of the base when they have this share of it, or when it is smaller than a run is worth.
_SHARE: Final = 0.5
_LEAST: Final = 4096

# Neighbours are merged until the older one has so many times the events of the newer.
_RATIO: Final = 2


Tries = tuple[Trie, Trie]
Part = Base | Run


@dataclass(frozen=True, eq=False)
class Relation:
    """A base and the runs above it, the newest first."""

    base: Base = field(default_factory=Base)
    runs: tuple[Run, ...] = ()

    @property
    def t(self) -> int:
        """It has the events up to this transaction."""
        return self.runs[0].t if self.runs else self.base.t

    @property
    def last(self) -> int:
        """The last transaction that touched the attribute; 0 where none did."""
        return self.runs[0].last if self.runs else self.base.last

    @cached_property
    def ev(self) -> Trie:
        return _trie(self.base, self.runs, inverse=False)

    @cached_property
    def ve(self) -> Trie:
        return _trie(self.base, self.runs, inverse=True)

    @property
    def count(self) -> int:
        return self.ev.pairs

    @property
    def parts(self) -> tuple[Part, ...]:
        """The base, then the runs, the newest first."""
        return (self.base, *self.runs)

    @property
    def segments(self) -> list[Segment]:
        return [part.segment for part in self.parts if part.segment is not None]

    def current(self) -> Columns:
        """What holds, sorted by (e, v)."""
        return self._settled(self._above())

    def with_events(self, events: Columns) -> Columns:
        """What holds after more events, sorted by (e, v)."""
        return self._settled(Columns.concat([self._above(), events]))

    def current_of(self, entities: CodeColumn, later: Columns = NO_COLUMNS) -> Columns:
        """What holds for some entities, sorted and distinct, after later events of them; sorted by (e, v)."""
        held = self.base.current_of(entities)
        events = Columns.concat([*(run.events_of(entities) for run in self.runs), later])
        return settle(held, self.base.current_of(distinct(events.e)), events)[0] if len(events) else held

    def at(self, t: int) -> Columns:
        """What held after transaction t, which is at most `self.t`; sorted by (e, v)."""
        if t < self.base.last:
            return self.base.at(t)
        above = self._above()
        return self._settled(above.take(above.t <= t))

    def events(self, since: int = -1) -> Columns:
        """Every assertion and retraction after transaction `since`; in no order. Costs the parts that have any."""
        parts = [part.events() for part in self.parts if part.last > since]
        every = Columns.concat(parts) if parts else NO_COLUMNS
        return every.take(every.t > since)

    def other_events_between(self, low: int, high: int) -> Columns:
        """All events of the entities from `low` to before `high` that are not current in the base, in no order."""
        parts = [run.events_between(low, high) for run in self.runs]
        return Columns.concat([self.base.ended_between(low, high), *parts])

    def _above(self) -> Columns:
        return Columns.concat([run.events() for run in self.runs]) if self.runs else NO_COLUMNS

    def _settled(self, events: Columns) -> Columns:
        current = self.base.current()
        if not len(events):
            return current
        return settle(current, self.base.current_of(distinct(events.e)), events)[0]

    def until(self, t: int, current: Columns, *, keep_history: bool = True) -> Relation:
        """As it was after transaction t, when `current` held: as though nothing had happened since."""
        later, above = ClosedDatoms(), self._above()
        if len(above):
            _, later = settle(self.base.current(), self.base.current_of(distinct(above.e)), above)
        return Relation(self.base.until(t, current, later, keep_history=keep_history))

    def tries(self, t: int) -> Tries | None:
        """Both directions after transaction t, which is at most `self.t`, where that costs no more than a run."""
        if t < self.base.last:
            return None
        newer = [run for run in self.runs if run.last > t]
        below = Relation(self.base, self.runs[len(newer) :])
        if not newer:
            return below.ev, below.ve
        events = newer[-1].events()
        events = events.take(events.t <= t)
        events = events.take(np.argsort(events.t, kind="stable"))
        return (
            below.ev.advanced(events.e, events.v, events.added),
            below.ve.advanced(events.v, events.e, events.added),
        )

    def fold_size(self, events: int) -> int:
        """About how many pairs a fold of so many events goes through."""
        above = events + sum(map(len, self.runs))
        if self.base.count <= _LEAST or above >= _SHARE * self.base.count:
            return self.base.count + above
        merged = events
        for run in self.runs:
            if len(run) >= _RATIO * merged:
                break
            merged += len(run)
        return merged

    def folded(self, events: Columns, t: int, *, keep_history: bool = True) -> Relation:
        """With the events after `self.t` up to t, which are oldest first and each of which changes something."""
        if not len(events):
            return self
        above = len(events) + sum(map(len, self.runs))
        if self.base.count <= _LEAST or above >= _SHARE * self.base.count:
            return Relation(self.collapsed(events, t, keep_history=keep_history))
        run, runs = Run.of(events, t, (self.ev, self.ve), keep_history=keep_history), self.runs
        while runs and len(runs[0]) < _RATIO * len(run):
            run, runs = runs[0].merged(run, keep_history=keep_history), runs[1:]
        return Relation(self.base, (run, *runs))

    def collapsed(self, events: Columns, t: int, *, keep_history: bool = True) -> Base:
        """The same as one base."""
        if not len(events) and not self.runs:
            return self.base
        ve = (self.ve.advanced(events.v, events.e, events.added) if len(events) else self.ve).merged
        every = Columns.concat([self._above(), events])
        return self.base.folded(every, ve, t, keep_history=keep_history)

    def prepare(self) -> None:
        """Makes what would be made when first asked for, so that no reader has to."""
        self.base.prepare()
        for run in self.runs:
            run.prepare()

    def nbytes(self) -> int:
        return self.base.nbytes() + sum(run.nbytes() for run in self.runs)


NO_RELATION: Final = Relation()
"""Of an attribute of which nothing was folded yet; one for all."""


def parts_in_files(relations: Iterable[Relation]) -> dict[Segment, Part]:
    """The parts of relations that are mapped from files, by file."""
    parts = (part for relation in relations for part in relation.parts)
    return {part.segment: part for part in parts if part.segment is not None}


def _trie(base: Base, runs: Sequence[Run], *, inverse: bool) -> Trie:
    bottom = base.ve if inverse else base.ev
    if not runs:
        return Trie(bottom)
    levels = tuple(run.ve if inverse else run.ev for run in runs)
    return Trie(bottom, tuple(level for level in levels if len(level)), runs[0].sizes[inverse])
