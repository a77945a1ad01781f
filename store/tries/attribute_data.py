"""One attribute's datoms, folded and young, as any moment saw them.

Shared by all snapshots between two folds. The tries of the newest moments asked for are kept and advanced from one
moment to the next, so the cost of a read after transactions grows with their datoms, and writes alone cost nothing.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

import numpy as np

from adalog.store.tries.columns import Columns
from adalog.store.tries.delta import Delta
from adalog.store.tries.relation import NO_RELATION, Relation
from adalog.store.tries.trie import FEW_EVENTS, Csr, Trie, distinct
from adalog.store.values.arrays import CodeColumn, are_of


@dataclass(frozen=True, slots=True)
class AttributeStatistics:
    """Of one attribute: the datoms that hold, the entities that have one, and the distinct values."""

    count: int
    entities: int
    values: int


# The newest moments whose tries are at hand; they share all but their youngest level.
_KEPT: Final = 4
# Of these, those that are likely to be read again.
_READ: Final = 2
# Of a part, how many events are looked at to find where the next one begins.
_SAMPLES: Final = 64


class _Advancing:
    """One direction's tries at some lengths of the delta, the newest last. below: that of the relation."""

    __slots__ = ("lock", "tries")

    def __init__(self, below: Trie) -> None:
        self.tries = [(0, below)]
        self.lock = threading.Lock()

    @property
    def newest(self) -> Trie:
        return self.tries[-1][1]

    def at(self, length: int, delta: Delta, *, inverse: bool) -> Trie:
        """The trie after so many events: one that is kept, or the one before it advanced."""
        with self.lock:
            place = len(self.tries) - 1
            if self.tries[place][0] > length:
                place = bisect_right(self.tries, length, key=itemgetter(0)) - 1
            known, trie = self.tries[place]
            if known < length:
                if length - known > FEW_EVENTS:
                    trie = advanced(trie, delta.events(known, length), inverse=inverse)
                else:
                    few = delta.listed(known, length)
                    trie = trie.advanced_by_few([(v, e, added) for e, v, added in few] if inverse else few)
                if place == len(self.tries) - 1:
                    self.tries.append((length, trie))
                    # The first one stays: whatever is older than the others begins there.
                    del self.tries[1:-_KEPT]
                    for _, older in self.tries[1:-_READ]:
                        older.forget()
            return trie


# Held while the first trie of an attribute is asked for; each has a lock of its own only from then on.
_MAKING: Final = threading.Lock()


class AttributeData:
    """A relation and the delta on top of it. Small where nothing was read of it: a database has thousands."""

    __slots__ = ("_tries", "delta", "relation")

    def __init__(self, relation: Relation, delta: Delta) -> None:
        self.relation = relation
        self.delta = delta
        self._tries: tuple[_Advancing, _Advancing] | None = None

    # What holds at this moment, row by row, for the writer

    def holds(self, e: int, v: int) -> bool:
        touched = self.delta.values(e).get(v)
        return self.relation.ev.holds(e, v) if touched is None else touched

    def values(self, e: int) -> list[int]:
        return _overlaid(self.relation.ev.row(e).tolist(), self.delta.values(e))

    def entities(self, v: int) -> list[int]:
        return _overlaid(self.relation.ve.row(v).tolist(), self.delta.entities(v))

    def mentions(self, e: int) -> bool:
        """Whether the entity has, or lately had, a value; maps no more of the relation's files than that needs."""
        return self.relation.ev.mentions(e) or self.delta.mentions(e)

    # What held at any moment

    def _at(self, t: int, *, inverse: bool) -> Trie:
        if t < self.relation.last:
            past = self.relation.tries(t)
            if past is not None:
                return past[inverse]
            held = self.relation.at(t)
            return Trie(Csr.from_pairs(held.v, held.e) if inverse else Csr.from_sorted(held.e, held.v))
        length = self.delta.length_at(t)
        if not length:
            return self.relation.ve if inverse else self.relation.ev
        tries = self._tries
        if tries is None:
            with _MAKING:
                tries = self._tries
                if tries is None:
                    tries = self._tries = (_Advancing(self.relation.ev), _Advancing(self.relation.ve))
        return tries[inverse].at(length, self.delta, inverse=inverse)

    def ev(self, t: int) -> Trie:
        """Entity to values, after transaction t."""
        return self._at(t, inverse=False)

    def ve(self, t: int) -> Trie:
        """Value to entities, after transaction t."""
        return self._at(t, inverse=True)

    def columns(self, t: int) -> Columns:
        """What held after transaction t, sorted by (e, v)."""
        if t < self.relation.last:
            return self.relation.at(t)
        return self.relation.with_events(self.delta.events(0, self.delta.length_at(t)))

    def columns_of(self, entities: CodeColumn, t: int) -> Columns:
        """What held for some entities, sorted and distinct, after transaction t; sorted by (e, v)."""
        if t < self.relation.last:
            held = self.columns(t)
            return held.take(are_of(held.e, entities))
        later = self.delta.events(0, self.delta.length_at(t))
        return self.relation.current_of(entities, later.take(are_of(later.e, entities)))

    def events(self, since: int, until: int) -> Columns:
        """Every assertion and retraction with since < t <= until, sorted by (e, v, t)."""
        every = Columns.concat([self.relation.events(since), self.delta.events(0, self.delta.length_at(until))])
        return every.take((every.t > since) & (every.t <= until)).sorted()

    def events_between(self, low: int, high: int, until: int) -> Columns:
        """Every assertion and retraction up to transaction `until` of the entities from `low` to before `high`,
        sorted by (e, v, t). Costs what these ever had, and what is young."""
        current = self.relation.base.current_between(low, high)
        young = self.delta.events(0, self.delta.length_at(until))
        young = young.take((young.e >= low) & (young.e < high))
        others = Columns.concat([self.relation.other_events_between(low, high), young])
        every = Columns.concat([current, others]).sorted() if len(others) else current
        return every if until >= self.relation.last else every.take(every.t <= until)

    def cuts(self, size: int) -> list[int]:
        """Entities that cut its events into parts of about so many: each begins the next part."""
        base, length = self.relation.base, len(self.delta)
        count = base.count + 2 * len(base.closed.e) + sum(map(len, self.relation.runs)) + length
        parts = -(-count // size)
        if parts < 2:
            return []
        step = max(size // _SAMPLES, 1)
        places = np.arange(step // 2, base.count, step)
        columns = [base.closed.e, base.closed.e, *(run.past.e for run in self.relation.runs)]
        columns += [np.repeat(run.ev.keys, np.diff(run.ev.offsets)) for run in self.relation.runs]
        columns.append(self.delta.events(0, length).e)
        sampled = [column[::step] for column in columns]
        sampled.append(base.ev.keys[base.ev.offsets.searchsorted(places, side="right") - 1])
        sample = np.sort(np.concatenate(sampled))
        cuts: list[int] = distinct(sample[len(sample) * np.arange(1, parts) // parts]).tolist()
        return cuts

    def changes(self, since: int, until: int) -> Columns:
        """The same in no order; costs what there is of them, and the runs of the relation that have some."""
        young = self.delta.events(self.delta.length_at(since), self.delta.length_at(until))
        if since >= self.relation.last:
            return young
        every = Columns.concat([self.relation.events(since), young])
        return every.take(every.t <= until)

    def few_changes(self, since: int, until: int) -> list[tuple[int, int, bool]] | None:
        """The same, oldest first, as (entity, value, whether added); None where they are many, or not young."""
        return None if since < self.relation.last else self.delta.few_between(since, until)

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
        few = self.few(t)
        if few is not None:
            return AttributeStatistics(len(few), len({e for e, _ in few}), len({v for _, v in few}))
        return statistics_of(self.ev(t), self.ve(t))

    def few(self, t: int) -> list[tuple[int, int]] | None:
        """The pairs that hold after transaction t, in no order, where they are told sooner without tries; None
        otherwise."""
        return self.delta.few(t) if self.relation is NO_RELATION else None

    def nbytes(self) -> int:
        levels = 0 if self._tries is None else sum(each.newest.nbytes() for each in self._tries)
        return self.relation.nbytes() + self.delta.nbytes() + levels


NO_DATA: Final = AttributeData(NO_RELATION, Delta())
"""Of an attribute of which nothing was ever written; one for all, to be read only."""


def _overlaid(base: list[int], touched: dict[int, bool]) -> list[int]:
    if not touched:
        return base
    kept = [item for item in base if item not in touched]
    return kept + [item for item, holds in touched.items() if holds]


def advanced(trie: Trie, events: Columns, *, inverse: bool) -> Trie:
    if inverse:
        return trie.advanced(events.v, events.e, events.added)
    return trie.advanced(events.e, events.v, events.added)


def statistics_of(ev: Trie, ve: Trie) -> AttributeStatistics:
    """What two tries count, at no cost."""
    return AttributeStatistics(ev.pairs, ev.rows, ve.rows)
