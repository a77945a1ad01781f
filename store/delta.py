"""The young part of one attribute: the events since its relation was folded, oldest first.

Only the writer appends. Readers never look past the events of the transaction they know, so nothing here is locked:
what they may see is complete before they are told its number.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from store.columns import Columns, Int64s
from store.relation import Relation


class Delta:
    """Events, and for the writer, once asked for, the last event of each touched pair by entity and by value."""

    __slots__ = ("_by_entity", "_by_value", "_e", "_stamp", "_v")

    def __init__(self) -> None:
        self._e = array("q")
        self._v = array("q")
        # 2t + added: sorted, as transactions are numbered, so that it also finds a transaction's place.
        self._stamp = array("q")
        # Each knows the events up to some number of them; the writer asks for few of the attributes it writes.
        self._by_entity = _Touched()
        self._by_value = _Touched()

    @staticmethod
    def of(e: Int64s, v: Int64s, t: Int64s, added: NDArray[np.bool_]) -> Delta:
        """From events in their order."""
        delta = Delta()
        delta._e.frombytes(np.ascontiguousarray(e, np.int64).tobytes())
        delta._v.frombytes(np.ascontiguousarray(v, np.int64).tobytes())
        delta._stamp.frombytes((2 * np.asarray(t, np.int64) + added).tobytes())
        return delta

    def __len__(self) -> int:
        return len(self._stamp)

    def append(self, e: int, v: int, t: int, added: bool) -> None:
        """One more event; t never falls. Within one transaction retractions come before assertions."""
        self._e.append(e)
        self._v.append(v)
        self._stamp.append(2 * t + added)

    def length_at(self, t: int) -> int:
        """How many events belong to transactions up to t."""
        return bisect_right(self._stamp, 2 * t + 1)

    def last_at(self, t: int) -> int:
        """The last transaction up to t with an event, or 0."""
        length = self.length_at(t)
        return self._stamp[length - 1] >> 1 if length else 0

    def events(self, start: int, stop: int) -> Columns:
        """Events number start to stop."""
        # A slice of an array is a copy, so the buffer that numpy holds never keeps the array from growing.
        stamp = np.frombuffer(self._stamp[start:stop], np.int64)
        e = np.frombuffer(self._e[start:stop], np.int64)
        v = np.frombuffer(self._v[start:stop], np.int64)
        return Columns(e, v, stamp >> 1, (stamp & 1).astype(np.bool_))

    def copy(self, start: int, stop: int) -> Delta:
        """A delta of events number start to stop."""
        copy = Delta()
        copy._e, copy._v, copy._stamp = self._e[start:stop], self._v[start:stop], self._stamp[start:stop]
        return copy

    def values(self, e: int) -> dict[int, bool]:
        """The entity's touched values, and whether each holds. For the writer."""
        touched = self._by_entity
        if touched.length < len(self._stamp):
            touched.learn(self._e, self._v, self._stamp)
        return touched.rows.get(e, _UNTOUCHED)

    def entities(self, v: int) -> dict[int, bool]:
        """The value's touched entities, and whether each holds it. For the writer."""
        touched = self._by_value
        if touched.length < len(self._stamp):
            touched.learn(self._v, self._e, self._stamp)
        return touched.rows.get(v, _UNTOUCHED)

    def mentions(self, e: int) -> bool:
        """Whether any event is of the entity; a look at all of them that keeps nothing."""
        return e in self._e

    def nbytes(self) -> int:
        """Bytes held, dictionaries by estimate."""
        return 24 * len(self) + 240 * (self._by_entity.length + self._by_value.length)


class _Touched:
    """The last event of each pair, by one of its sides, as far as events were looked at."""

    __slots__ = ("length", "rows")

    def __init__(self) -> None:
        self.length = 0
        self.rows: dict[int, dict[int, bool]] = {}

    def learn(self, keys: array[int], items: array[int], stamps: array[int]) -> None:
        """Look at the events since."""
        rows, start = self.rows, self.length
        for key, item, stamp in zip(keys[start:], items[start:], stamps[start:], strict=True):
            row = rows.get(key)
            if row is None:
                row = rows[key] = {}
            row[item] = bool(stamp & 1)
        self.length = len(stamps)


_UNTOUCHED: dict[int, bool] = {}


class Live:
    """What holds of one attribute at this moment, for the writer: the relation under its delta, row by row."""

    __slots__ = ("delta", "relation")

    def __init__(self, relation: Relation, delta: Delta) -> None:
        self.relation = relation
        self.delta = delta

    def holds(self, e: int, v: int) -> bool:
        """Whether the entity has the value."""
        touched = self.delta.values(e).get(v)
        return self.relation.ev.holds(e, v) if touched is None else touched

    def values(self, e: int) -> list[int]:
        """The entity's value codes."""
        return _overlaid(self.relation.ev.row(e).tolist(), self.delta.values(e))

    def mentions(self, e: int) -> bool:
        """Whether the entity has, or lately had, a value; maps no more of the relation's files than that needs."""
        return self.relation.ev.mentions(e) or self.delta.mentions(e)

    def entities(self, v: int) -> list[int]:
        """The entities that have the value."""
        return _overlaid(self.relation.ve.row(v).tolist(), self.delta.entities(v))


def _overlaid(base: list[int], touched: dict[int, bool]) -> list[int]:
    if not touched:
        return base
    kept = [item for item in base if item not in touched]
    return kept + [item for item, holds in touched.items() if holds]
