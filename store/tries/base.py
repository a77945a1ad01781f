"""The oldest part of one attribute: its datoms up to some transaction as sorted columns, with their whole history.

A value, written once by a fold and never changed; its arrays may be memory-mapped. What came since lies in runs
(`store.tries.run`) above it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from adalog.store.files.segment import Segment
from adalog.store.tries.columns import Columns
from adalog.store.tries.signed import run_starts
from adalog.store.tries.trie import EMPTY, Csr, distinct
from adalog.store.values.arrays import Bools, CodeColumn, Int64s, RowColumn, are_of


def _nothing() -> Int64s:
    return EMPTY.values


@dataclass(frozen=True, eq=False)
class ClosedDatoms:
    """Datoms that no longer hold: pair, the transaction that asserted it, the one that retracted it; sorted by
    (e, v, added)."""

    e: CodeColumn = field(default_factory=_nothing)
    v: CodeColumn = field(default_factory=_nothing)
    added: Int64s = field(default_factory=_nothing)
    retracted: Int64s = field(default_factory=_nothing)

    def take(self, which: RowColumn | Bools) -> ClosedDatoms:
        """The rows of a mask or of positions."""
        return ClosedDatoms(self.e[which], self.v[which], self.added[which], self.retracted[which])


@dataclass(frozen=True, eq=False)
class Base:
    """Datoms with t <= `t`. `since[i]` is the transaction that asserted pair i of `ev`; int64[n], where all are the
    same without memory for each.

    last: the last transaction that touched the attribute. segment: the file its arrays are mapped from, if any.
    """

    ev: Csr = EMPTY
    ve: Csr = EMPTY
    since: Int64s = field(default_factory=_nothing)
    closed: ClosedDatoms = field(default_factory=ClosedDatoms)
    t: int = 0
    last: int = 0
    segment: Segment | None = None

    @property
    def count(self) -> int:
        return len(self.ev.values)

    def prepare(self) -> None:
        """Makes what would be made when first asked for, so that no reader has to."""
        self.ev.prepare()
        self.ve.prepare()

    def current(self) -> Columns:
        """What holds, sorted by (e, v)."""
        e, v = self.ev.pairs()
        return Columns.asserted(e, v, np.ascontiguousarray(self.since))

    def current_of(self, entities: CodeColumn) -> Columns:
        """What holds for some entities, which are sorted and distinct; sorted by (e, v)."""
        sizes, places = self.ev.places(entities)
        return Columns.asserted(np.repeat(entities, sizes), self.ev.values[places], self.since[places])

    def current_between(self, low: int, high: int) -> Columns:
        """What holds for the entities from `low` to before `high`, sorted by (e, v)."""
        first, last = self.ev.keys.searchsorted([low, high]).tolist()
        offsets = self.ev.offsets[first : last + 1]
        which = slice(int(offsets[0]), int(offsets[-1]))
        e = np.repeat(self.ev.keys[first:last], np.diff(offsets))
        return Columns.asserted(e, self.ev.values[which], np.ascontiguousarray(self.since[which]))

    def ended_between(self, low: int, high: int) -> Columns:
        """Every assertion and retraction of what no longer holds, for these entities; in no order."""
        closed = self.closed
        which = slice(*closed.e.searchsorted([low, high]).tolist())
        e, v = closed.e[which], closed.v[which]
        gone = Columns(e, v, closed.retracted[which], np.zeros(len(e), np.bool_))
        return Columns.concat([Columns.asserted(e, v, closed.added[which]), gone])

    def at(self, t: int) -> Columns:
        """What held after transaction t, which is at most `self.t`; sorted by (e, v)."""
        now, closed = self.current(), self.closed
        then = (closed.added <= t) & (t < closed.retracted)
        held = Columns.asserted(closed.e[then], closed.v[then], closed.added[then])
        now = now.take(now.t <= t)
        return Columns.concat([now, held]).sorted() if len(held) else now

    def until(self, t: int, current: Columns, later: ClosedDatoms, *, keep_history: bool = True) -> Base:
        """As it was after transaction t, when `current` held: as though nothing had happened since. later: what
        ended in runs above it."""
        closed = joined(self.closed, later)
        then = (closed.retracted <= t) & keep_history
        return Base(
            ev=Csr.from_sorted(current.e, current.v),
            ve=Csr.from_pairs(current.v, current.e),
            since=current.t,
            closed=ClosedDatoms(closed.e[then], closed.v[then], closed.added[then], closed.retracted[then]),
            t=t,
            last=int(max(current.t.max(initial=0), closed.retracted[then].max(initial=0))),
        )

    def events(self) -> Columns:
        """Every assertion and retraction; in no order."""
        closed = self.closed
        gone = Columns(closed.e, closed.v, closed.retracted, np.zeros(len(closed.e), np.bool_))
        return Columns.concat([self.current(), Columns.asserted(closed.e, closed.v, closed.added), gone])

    def folded(self, events: Columns, ve: Csr, t: int, *, keep_history: bool = True) -> Base:
        """With all events after `self.t` up to t, in any order; ve: from value to entity after them."""
        held, newly_closed = settle(self.current(), self.current_of(distinct(events.e)), events)
        return Base(
            ev=Csr.from_sorted(held.e, held.v),
            ve=ve,
            since=held.t,
            closed=joined(self.closed, newly_closed) if keep_history else ClosedDatoms(),
            t=t,
            last=int(events.t.max()),
        )

    def nbytes(self) -> int:
        closed = self.closed
        columns = (self.since, closed.e, closed.v, closed.added, closed.retracted)
        return self.ev.nbytes() + self.ve.nbytes() + sum(column.nbytes for column in columns)


def settle(current: Columns, touched: Columns, events: Columns) -> tuple[Columns, ClosedDatoms]:
    """What holds after the events, sorted by (e, v), and what stopped holding.

    current: what held before. touched: its rows for the events' entities. Assertions and retractions of one pair
    alternate, so in the order of (e, v, t) a retraction closes the row before it.
    """
    rows = Columns.concat([touched, events]).sorted()
    again = np.append(~run_starts(rows.e, rows.v)[1:], False)
    ended = np.flatnonzero(rows.added & again)
    closed = ClosedDatoms(rows.e[ended], rows.v[ended], rows.t[ended], rows.t[ended + 1])
    fresh = rows.take(rows.added & ~again)
    untouched = current.take(~are_of(current.e, distinct(events.e))) if len(current) else current
    # Whole entities are replaced, so where an entity goes is decided by the entity alone.
    at = np.searchsorted(untouched.e, fresh.e)
    return (
        Columns(
            np.insert(untouched.e, at, fresh.e),
            np.insert(untouched.v, at, fresh.v),
            np.insert(untouched.t, at, fresh.t),
            np.ones(len(untouched) + len(fresh), np.bool_),
        ),
        closed,
    )


def joined(old: ClosedDatoms, new: ClosedDatoms) -> ClosedDatoms:
    """Both, in order."""
    if not len(new.e):
        return old
    e, v = np.concatenate((old.e, new.e)), np.concatenate((old.v, new.v))
    added, retracted = np.concatenate((old.added, new.added)), np.concatenate((old.retracted, new.retracted))
    order = np.lexsort((added, v, e))
    return ClosedDatoms(e[order], v[order], added[order], retracted[order])
