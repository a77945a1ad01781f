"""Runs: what happened to one attribute between two folds, as sorted columns that lie above those of before.

A value, written once by a fold and never changed; its arrays may be memory-mapped. Runs of like size are merged, so
that each event is written again a logarithmic number of times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adalog.store.files.segment import Segment
from adalog.store.tries.columns import NO_COLUMNS, Columns
from adalog.store.tries.signed import Signed, order_of, run_starts, runs, united
from adalog.store.tries.trie import Trie, TrieSize
from adalog.store.values.arrays import CodeColumn, Int64s


@dataclass(frozen=True, eq=False)
class Run:
    """Every event after the run below it up to transaction t.

    ev, ve: the pairs that hold and did not before, or the other way round. sizes: of the tries in both directions,
    with this run. stamps: int64[n], the transaction of each pair's last event, in the order of `ev`. past: all
    other events, sorted by (e, v, t). last: the last transaction with an event.
    """

    ev: Signed
    ve: Signed
    sizes: tuple[TrieSize, TrieSize]
    stamps: Int64s
    past: Columns
    t: int
    last: int
    segment: Segment | None = None

    def __len__(self) -> int:
        return len(self.ev) + len(self.past)

    @staticmethod
    def of(events: Columns, t: int, below: tuple[Trie, Trie], *, keep_history: bool = True) -> Run:
        """From events, oldest first, each of which changes something, above the tries of both directions."""
        ev, forward = below[0].difference(events.e, events.v, events.added)
        ve, backward = below[1].difference(events.v, events.e, events.added)
        stamps, past = split(events.take(order_of(events.e, events.v)), keep_history=keep_history)
        return Run(ev, ve, (forward, backward), stamps, past, t, int(events.t[-1]))

    def merged(self, newer: Run, *, keep_history: bool = True) -> Run:
        every = Columns.concat([self.events(), newer.events()])
        stamps, past = split(every.sorted(), keep_history=keep_history)
        ev, ve = united(newer.ev, self.ev), united(newer.ve, self.ve)
        assert len(stamps) == len(ev), "a run is not the difference that its events make"
        return Run(ev, ve, newer.sizes, stamps, past, newer.t, newer.last)

    def events(self) -> Columns:
        """Its events; those of one pair in order of time where `past` is empty, in no order otherwise."""
        e, v, added = self.ev.pairs()
        latest = Columns(e, v, self.stamps, added)
        return Columns.concat([latest, self.past]) if len(self.past) else latest

    def events_of(self, entities: CodeColumn) -> Columns:
        """Its events of some entities, which are sorted and distinct; in no order."""
        at = self.ev.find(entities)
        at = at[at >= 0]
        starts = self.ev.offsets[at]
        sizes = self.ev.offsets[at + 1] - starts
        places = runs(starts, sizes)
        latest = Columns(
            np.repeat(self.ev.keys[at], sizes), self.ev.values[places], self.stamps[places], self.ev.added[places]
        )
        if not len(self.past):
            return latest
        starts = self.past.e.searchsorted(entities)
        sizes = self.past.e.searchsorted(entities, side="right") - starts
        return Columns.concat([latest, self.past.take(runs(starts, sizes))])

    def events_between(self, low: int, high: int) -> Columns:
        """Its events of the entities from `low` to before `high`; in no order."""
        first, last = self.ev.keys.searchsorted([low, high]).tolist()
        offsets = self.ev.offsets[first : last + 1]
        which = slice(int(offsets[0]), int(offsets[-1]))
        e = np.repeat(self.ev.keys[first:last], np.diff(offsets))
        latest = Columns(e, self.ev.values[which], self.stamps[which], self.ev.added[which])
        past = slice(*self.past.e.searchsorted([low, high]).tolist())
        return Columns.concat([latest, self.past.take(past)])

    def prepare(self) -> None:
        """Makes what would be made when first asked for, so that no reader has to."""
        _ = self.ev.filter, self.ve.filter

    def nbytes(self) -> int:
        past = sum(column.nbytes for column in (self.past.e, self.past.v, self.past.t, self.past.added))
        return self.ev.nbytes() + self.ve.nbytes() + self.stamps.nbytes + past


def split(events: Columns, *, keep_history: bool) -> tuple[Int64s, Columns]:
    """(when each pair changed that holds now and did not before, or the other way round; all other events).

    events: sorted by (e, v, t). Those of one pair alternate. Where no history is kept a pair keeps only what says
    since when it holds.
    """
    if not len(events):
        return events.t, NO_COLUMNS
    starts = np.flatnonzero(run_starts(events.e, events.v))
    ends = np.append(starts[1:], len(events)) - 1
    changed = events.added[starts] == events.added[ends]
    other = np.ones(len(events), np.bool_)
    other[ends[changed]] = False
    if not keep_history:
        again = ends[~changed & events.added[ends]]
        other[:] = False
        other[again] = other[again - 1] = True
    return events.t[ends[changed]], events.take(other)
