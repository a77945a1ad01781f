"""One attribute's datoms, folded and young, as any moment saw them.

Shared by all snapshots between two folds. The tries of the newest moment asked for are kept and advanced from one
moment to the next, so reading after a transaction costs what was written since, and nobody who only writes pays.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from store.delta import Delta
from store.relation import Columns, Relation, settle
from store.trie import Csr, Trie, distinct


@dataclass(frozen=True, slots=True)
class AttributeStatistics:
    """count: datoms that hold. max_*: upper bounds of the longest row of each direction."""

    count: int
    entities: int
    values: int
    max_per_entity: int
    max_per_value: int


class _Advancing:
    """One direction's trie at some length of the delta."""

    __slots__ = ("length", "lock", "trie")

    def __init__(self, base: Csr) -> None:
        self.length = 0
        self.trie = Trie(base)
        self.lock = threading.Lock()


class AttributeData:
    """A relation and the delta on top of it."""

    def __init__(self, relation: Relation, delta: Delta) -> None:
        self.relation = relation
        self.delta = delta
        self._ev = _Advancing(relation.ev)
        self._ve = _Advancing(relation.ve)

    def ev(self, t: int) -> Trie:
        """Entity to values, after transaction t."""
        if t < self.relation.last:
            held = self.relation.at(t)
            return Trie(Csr.from_sorted(held.e, held.v))
        return self._advanced(self._ev, t, inverse=False)

    def ve(self, t: int) -> Trie:
        """Value to entities, after transaction t."""
        if t < self.relation.last:
            held = self.relation.at(t)
            return Trie(Csr.from_pairs(held.v, held.e))
        return self._advanced(self._ve, t, inverse=True)

    def _advanced(self, kept: _Advancing, t: int, *, inverse: bool) -> Trie:
        length = self.delta.length_at(t)
        with kept.lock:
            if length < kept.length:
                base = self.relation.ve if inverse else self.relation.ev
                return advanced(Trie(base), self.delta.events(0, length), inverse=inverse)
            if length > kept.length:
                events = self.delta.events(kept.length, length)
                kept.trie = advanced(kept.trie, events, inverse=inverse)
                kept.length = length
            return kept.trie

    def columns(self, t: int) -> Columns:
        """What held after transaction t, sorted by (e, v)."""
        if t < self.relation.last:
            return self.relation.at(t)
        events = self.delta.events(0, self.delta.length_at(t))
        current = self.relation.current()
        if not len(events):
            return current
        held, _ = settle(current, self.relation.current_of(distinct(events.e)), events)
        return held

    def events(self, since: int, until: int) -> Columns:
        """Every assertion and retraction with since < t <= until, sorted by (e, v, t)."""
        young = self.delta.events(0, self.delta.length_at(until))
        every = Columns.concat([self.relation.events(), young])
        return every.take((every.t > since) & (every.t <= until)).sorted()

    def changes(self, since: int, until: int) -> Columns:
        """The same in no order; costs what there is of them where they are young."""
        if since < self.relation.last:
            return self.events(since, until)
        return self.delta.events(self.delta.length_at(since), self.delta.length_at(until))

    def shipped(self, t: int) -> tuple[Relation, Columns]:
        """What another process makes the same data from: a relation and the events since, up to t."""
        return self.relation, self.delta.events(0, self.delta.length_at(t))

    def last_touched(self, t: int) -> int:
        """The last transaction up to t that touched the attribute; 0 where none did."""
        if t >= self.relation.last:
            return self.delta.last_at(t) or self.relation.last
        events = self.relation.events().t
        return int(events[events <= t].max(initial=0))

    def statistics(self, t: int) -> AttributeStatistics:
        """Counts after transaction t, at the cost of the overlay."""
        ev, ve = self.ev(t), self.ve(t)
        return AttributeStatistics(
            count_of(ev), rows_of(ev), rows_of(ve), self._longest(ev, 0), self._longest(ve, 1)
        )

    def _longest(self, trie: Trie, direction: int) -> int:
        base = self.relation.largest_rows[direction] if trie.base in (self.relation.ev, self.relation.ve) else None
        if base is None:
            base = int(np.diff(trie.base.offsets).max(initial=0))
        return max(base, int(np.diff(trie.over.offsets).max(initial=0)))

    def nbytes(self) -> int:
        """Bytes held."""
        overlays = self._ev.trie.over.nbytes() + self._ve.trie.over.nbytes()
        return self.relation.nbytes() + self.delta.nbytes() + overlays


def advanced(trie: Trie, events: Columns, *, inverse: bool) -> Trie:
    """The trie after the events."""
    if inverse:
        return trie.advanced(events.v, events.e, events.added)
    return trie.advanced(events.e, events.v, events.added)


def count_of(trie: Trie) -> int:
    """Pairs of a trie, at the cost of its overlay."""
    replaced, _ = trie.base.places(trie.over.keys)
    return len(trie.base.values) - int(replaced.sum()) + len(trie.over.values)


def rows_of(trie: Trie) -> int:
    """Keys of a trie that have values, at the cost of its overlay."""
    replaced = trie.base.find(trie.over.keys) >= 0
    live = np.diff(trie.over.offsets) > 0
    return len(trie.base.keys) - int(replaced.sum()) + int(live.sum())
