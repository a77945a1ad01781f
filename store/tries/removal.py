"""A relation without some datoms, as though they had never been asserted: part by part, so that runs stay runs.

Costs a copy of the parts' arrays and what the touched keys have, not a fold. Makes new parts beside the old ones:
snapshots that were taken before keep what they have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from adalog.store.tries.base import Base, ClosedDatoms, joined, settle
from adalog.store.tries.columns import Columns
from adalog.store.tries.relation import Relation
from adalog.store.tries.run import Run, split
from adalog.store.tries.signed import NOTHING_SIGNED, among, replaced, rows_among
from adalog.store.tries.trie import Csr, Trie, TrieSize, distinct
from adalog.store.values.arrays import CodeColumn, Int64s, RowColumn, are_of

# Pairs whose places are looked up one by one; those of more by the rows of their keys.
_FEW: Final = 4096


@dataclass(frozen=True, eq=False)
class RemovedDatoms:
    """Datoms to remove from one relation, which has all their keys. now: the current ones. ended: the retracted
    ones, with their retractions."""

    now: Columns
    ended: ClosedDatoms

    @cached_property
    def entities(self) -> CodeColumn:
        """Distinct and in order, as `values`."""
        return distinct(np.sort(np.concatenate((self.now.e, self.ended.e))))

    @cached_property
    def values(self) -> CodeColumn:
        return distinct(np.sort(np.concatenate((self.now.v, self.ended.v))))

    @cached_property
    def _events(self) -> tuple[CodeColumn, CodeColumn, Int64s]:
        ended = self.ended
        e, v = (np.concatenate((own, past, past)) for own, past in ((self.now.e, ended.e), (self.now.v, ended.v)))
        return e, v, np.concatenate((self.now.t, ended.added, ended.retracted))

    def left(self, events: Columns) -> Columns:
        """The events that do not go."""
        candidates = np.flatnonzero(are_of(events.e, self.entities))
        if not len(candidates):
            return events
        own = events.take(candidates)
        gone = rows_among((own.e, own.v, own.t), self._events)
        stays = np.ones(len(events), np.bool_)
        stays[candidates[gone]] = False
        return events.take(stays)

    def of_relation(self, relation: Relation) -> Relation:
        """The relation without them."""
        made = Relation(self._of_base(relation.base))
        for number in range(len(relation.runs) - 1, -1, -1):
            above = self._of_run(Relation(relation.base, relation.runs[number:]), made)
            if len(above):
                made = Relation(made.base, (above, *made.runs))
        return made

    def _of_base(self, base: Base) -> Base:
        ended, now = self.ended, self.now
        early = now.t <= base.t
        # Of these the base has the assertion, and a run the retraction.
        open_ = (ended.added <= base.t) & (ended.retracted > base.t)
        e, v = np.concatenate((now.e[early], ended.e[open_])), np.concatenate((now.v[early], ended.v[open_]))
        past = ended.take(ended.retracted <= base.t)
        left = base
        if len(past.e):
            closed = base.closed
            candidates = np.flatnonzero(are_of(closed.e, self.entities))
            own = closed.take(candidates)
            stays = np.ones(len(closed.e), np.bool_)
            stays[candidates[rows_among((own.e, own.v, own.added), (past.e, past.v, past.added))]] = False
            left = replace(left, closed=closed.take(stays), segment=None)
        return without_pairs(left, e, v) if len(e) else left

    def _of_run(self, old: Relation, below: Relation) -> Run:
        """The newest run of a relation, above what is left of the parts below it."""
        run = old.runs[0]
        own = run.events_of(self.entities)
        ev, ve, stamps, past = run.ev, run.ve, run.stamps, run.past
        if len(own):
            own = self.left(own).sorted()
            fresh, _ = below.ev.difference(own.e, own.v, own.added)
            latest, earlier = split(own, keep_history=True)
            # Transactions take the way of the values, pair by pair.
            stamped = replaced(replace(ev, values=stamps), self.entities, replace(fresh, values=latest))
            ev, stamps = replaced(ev, self.entities, fresh), stamped.values
            if len(past):
                past = Columns.concat([past.take(~are_of(past.e, self.entities)), earlier]).sorted()
        else:
            fresh = NOTHING_SIGNED
        if (ve.find(self.values) >= 0).any():
            keys, values, added = ve.pairs_of(self.values)
            others = ~are_of(values, self.entities)
            e, v, signs = fresh.pairs()
            again = are_of(v, self.values)
            changed, _ = below.ve.difference(
                np.concatenate((keys[others], v[again])),
                np.concatenate((values[others], e[again])),
                np.concatenate((added[others], signs[again])),
            )
            ve = replaced(ve, self.values, changed)
        made = replace(run, ev=ev, ve=ve, stamps=stamps, past=past, segment=None)
        after = Relation(below.base, (made, *below.runs))
        sizes = self._size(old.ev, after.ev, self.entities), self._size(old.ve, after.ve, self.values)
        return replace(made, sizes=sizes)

    @staticmethod
    def _size(old: Trie, new: Trie, keys: CodeColumn) -> TrieSize:
        """The size of a trie whose rows differ in these keys alone from an old one's."""
        before, after = old.counts(keys), new.counts(keys)
        rows = int(np.count_nonzero(after)) - int(np.count_nonzero(before))
        return TrieSize(old.pairs + int((after - before).sum()), old.rows + rows, old.size.longest)


def history_of(relation: Relation, entities: CodeColumn, young: Columns) -> tuple[Columns, ClosedDatoms]:
    """What holds for some entities, sorted and distinct, after young events, and what has ended."""
    base = relation.base
    events = [*(run.events_of(entities) for run in relation.runs), young.take(are_of(young.e, entities))]
    above = Columns.concat(events)
    now, closed = base.current_of(entities), base.closed.take(are_of(base.closed.e, entities))
    if not len(above):
        return now, closed
    now, later = settle(now, base.current_of(distinct(np.sort(above.e))), above)
    return now, joined(closed, later)


def without_pairs(base: Base, e: CodeColumn, v: CodeColumn) -> Base:
    """A base without some of the pairs that hold in it."""
    places = _places(base.ev, e, v)
    return replace(
        base,
        ev=_without(base.ev, e, places),
        ve=_without(base.ve, v, _places(base.ve, v, e)),
        since=_deleted(base.since, places),
        segment=None,
    )


def _places(rows: Csr, keys: CodeColumn, values: CodeColumn) -> RowColumn:
    """Where in the rows' values some of their pairs are."""
    if len(keys) <= _FEW:
        places = np.empty(len(keys), np.int64)
        at = rows.keys.searchsorted(keys).tolist()
        for number, (row, value) in enumerate(zip(at, values.tolist(), strict=True)):
            start, stop = int(rows.offsets[row]), int(rows.offsets[row + 1])
            places[number] = start + int(rows.values[start:stop].searchsorted(value))
    else:
        asked = distinct(np.sort(keys))
        sizes, every = rows.places(asked)
        places = every[among(np.repeat(asked, sizes), rows.values[every], keys, values)]
    assert len(places) == len(keys), "pairs of the rows"
    return places


def _without(rows: Csr, keys: CodeColumn, places: RowColumn) -> Csr:
    """The rows without the pairs at some places. keys: of these pairs, in any order."""
    touched, counts = np.unique(rows.keys.searchsorted(keys), return_counts=True)
    emptied = touched[rows.offsets[touched + 1] - rows.offsets[touched] == counts]
    offsets = _shifted(rows.offsets, touched, counts, emptied)
    return Csr(_deleted(rows.keys, emptied), offsets, _deleted(rows.values, places))


def _shifted(offsets: RowColumn, touched: RowColumn, counts: Int64s, emptied: RowColumn) -> RowColumn:
    """Offsets of rows after so many of their values went. touched: the rows that lose some, in order. emptied:
    those that lose all, which are left out."""
    if len(touched) > _FEW:
        sizes = np.diff(offsets)
        sizes[touched] -= counts
        sizes = np.delete(sizes, emptied)
        return np.concatenate((offsets[:1], offsets[0] + np.cumsum(sizes)))
    left = np.empty(len(offsets) - len(emptied), np.int64)
    gone, start, at, lost = set(emptied.tolist()), 0, 0, 0
    for row, count in (*zip(touched.tolist(), counts.tolist(), strict=True), (len(offsets) - 1, 0)):
        # An emptied row begins where the next one does.
        piece = offsets[start : row if row in gone else row + 1]
        np.subtract(piece, lost, out=left[at : at + len(piece)])
        start, at, lost = row + 1, at + len(piece), lost + count
    return left


def _deleted(column: Int64s, places: RowColumn) -> Int64s:
    """A copy of a column without some places. One of a single number stays without memory for each place."""
    if column.strides == (0,):
        return np.broadcast_to(column[:1], len(column) - len(places))
    if len(places) > _FEW:
        return np.delete(column, places)
    # Slices between a few places are copied faster than with a mask of all, and touch less memory.
    cuts = sorted(places.tolist())
    starts, stops = [0, *(cut + 1 for cut in cuts)], [*cuts, len(column)]
    return np.concatenate([column[start:stop] for start, stop in zip(starts, stops, strict=True)])
