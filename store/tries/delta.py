"""The young part of one attribute: the events since its relation was folded, oldest first.

Only the writer appends. Readers never look past the events of the transaction they know, so nothing here is locked:
what they may see is complete before they are told its number.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.store.tries.columns import NO_COLUMNS, Columns
from adalog.store.values.arrays import CodeColumn, Int64s

# One event: entity, value code, 2t + added.
_EVENT: Final = struct.Struct("=qqq")
# So many events are kept as bytes, which take less than an array, and looked through without an index.
_FEW: Final = 8
_FEW_BYTES: Final = _FEW * _EVENT.size
# So many later ones are passed over on the way to the few that are asked for.
_FEW_LATER: Final = 64


class Delta:
    """Events, and for the writer, once asked for, the last event of each touched pair by entity and by value."""

    __slots__ = ("_by_entity", "_by_value", "_events")

    def __init__(self, events: bytes | array[int] = b"") -> None:
        # Stamps, 2t + added, are sorted, as transactions are numbered: they also find a transaction's place.
        self._events = events
        # Each knows the events up to some number of them; the writer asks for few of the attributes it writes.
        self._by_entity: _Touched | None = None
        self._by_value: _Touched | None = None

    @staticmethod
    def of(e: CodeColumn, v: CodeColumn, t: Int64s, added: NDArray[np.bool_]) -> Delta:
        stamp = 2 * np.asarray(t, np.int64) + added
        return Delta(_kept(np.column_stack((e, v, stamp)).astype(np.int64, copy=False).tobytes()))

    def __len__(self) -> int:
        return _length(self._events)

    def append(self, e: int, v: int, t: int, added: bool) -> None:
        """One more event; t never falls. Within one transaction retractions come before assertions."""
        events = self._events
        if isinstance(events, bytes):
            if len(events) < _FEW_BYTES:
                self._events = events + _EVENT.pack(e, v, 2 * t + added)
                return
            events = array("q", events)
            events.extend((e, v, 2 * t + added))
            self._events = events
        else:
            # A reader sees the event whole or not at all: no other thread runs within this call.
            events.extend((e, v, 2 * t + added))

    def length_at(self, t: int) -> int:
        """How many events belong to transactions up to t."""
        return _length_at(self._events, t)

    def last_at(self, t: int) -> int:
        """The last transaction up to t with an event, or 0."""
        events = self._events
        length = _length_at(events, t)
        return _stamp(events, length - 1) >> 1 if length else 0

    def events(self, start: int, stop: int) -> Columns:
        events = self._events
        if start >= stop:
            return NO_COLUMNS
        if isinstance(events, bytes):
            rows = np.frombuffer(events, np.int64, 3 * (stop - start), start * _EVENT.size)
        else:
            # A slice of an array is a copy, so the buffer that numpy holds never keeps the array from growing.
            rows = np.frombuffer(events[3 * start : 3 * stop], np.int64)
        e, v, stamp = (np.ascontiguousarray(column) for column in rows.reshape(-1, 3).T)
        return Columns(e, v, stamp >> 1, (stamp & 1).astype(np.bool_))

    def few_between(self, since: int, until: int) -> list[tuple[int, int, bool]] | None:
        """The events (entity, value, whether added) with since < t <= until, oldest first; None where they or later
        ones are many."""
        events, low, high = self._events, 2 * since + 1, 2 * until + 1
        if isinstance(events, bytes):
            rows = _EVENT.iter_unpack(events)
            return [(e, v, stamp & 1 == 1) for e, v, stamp in rows if low < stamp <= high]
        stop = len(events)
        last = max(stop - 3 * _FEW_LATER, 0)
        while stop > last and events[stop - 1] > high:
            stop -= 3
        if stop and events[stop - 1] > high:
            return None
        start = stop
        last = max(stop - 3 * _FEW, 0)
        while start > last and events[start - 1] > low:
            start -= 3
        if start and events[start - 1] > low:
            return None
        return self.listed(start // 3, stop // 3)

    def listed(self, start: int, stop: int) -> list[tuple[int, int, bool]]:
        """Some of the events, as (entity, value, whether added)."""
        events = self._events
        if isinstance(events, bytes):
            rows = _EVENT.iter_unpack(events[start * _EVENT.size : stop * _EVENT.size])
            return [(e, v, stamp & 1 == 1) for e, v, stamp in rows]
        few = events[3 * start : 3 * stop]
        return [(few[i], few[i + 1], few[i + 2] & 1 == 1) for i in range(0, len(few), 3)]

    def copy(self, start: int, stop: int) -> Delta:
        events = self._events
        if isinstance(events, bytes):
            return Delta(events[start * _EVENT.size : stop * _EVENT.size])
        return Delta(_kept(events[3 * start : 3 * stop].tobytes()))

    def values(self, e: int) -> dict[int, bool]:
        """The entity's touched values, and whether each holds. For the writer."""
        events = self._events
        if isinstance(events, bytes):
            return {v: bool(stamp & 1) for key, v, stamp in _EVENT.iter_unpack(events) if key == e}
        if self._by_entity is None:
            self._by_entity = _Touched()
        return self._by_entity.row(e, events, 0)

    def entities(self, v: int) -> dict[int, bool]:
        """The value's touched entities, and whether each holds it. For the writer."""
        events = self._events
        if isinstance(events, bytes):
            return {e: bool(stamp & 1) for e, key, stamp in _EVENT.iter_unpack(events) if key == v}
        if self._by_value is None:
            self._by_value = _Touched()
        return self._by_value.row(v, events, 1)

    def mentions(self, e: int) -> bool:
        """Whether any event is of the entity; a look at all of them that keeps nothing."""
        events = self._events
        if isinstance(events, bytes):
            return any(key == e for key, _, _ in _EVENT.iter_unpack(events))
        return e in events[::3]

    def few(self, t: int) -> list[tuple[int, int]] | None:
        """The pairs, entity and value, that hold by the events up to transaction t alone; None where events are
        many."""
        events = self._events
        if not isinstance(events, bytes):
            return None
        held: dict[tuple[int, int], None] = {}
        for e, v, stamp in _EVENT.iter_unpack(events):
            if stamp >> 1 > t:
                break
            if stamp & 1:
                held[e, v] = None
            else:
                held.pop((e, v), None)
        return list(held)

    def nbytes(self) -> int:
        """Bytes held, dictionaries by estimate."""
        touched = [each.length for each in (self._by_entity, self._by_value) if each is not None]
        return 24 * len(self) + 160 * sum(touched)


def _kept(events: bytes) -> bytes | array[int]:
    return events if len(events) <= _FEW_BYTES else array("q", events)


def _length(events: bytes | array[int]) -> int:
    return len(events) // (_EVENT.size if isinstance(events, bytes) else 3)


def _stamp(events: bytes | array[int], place: int) -> int:
    if isinstance(events, bytes):
        stamp: int = _EVENT.unpack_from(events, place * _EVENT.size)[2]
        return stamp
    return events[3 * place + 2]


def _length_at(events: bytes | array[int], t: int) -> int:
    length = _length(events)
    # Nearly always the newest moment is asked for.
    if not length or _stamp(events, length - 1) >> 1 <= t:
        return length
    return bisect_right(range(length), 2 * t + 1, key=partial(_stamp, events))


class _Touched:
    """The last event of each pair, by one of its sides, as far as events were looked at."""

    __slots__ = ("_rows", "length")

    def __init__(self) -> None:
        self.length = 0
        # Most keys have one pair, which a tuple holds in a third of a dictionary's room.
        self._rows: dict[int, tuple[int, bool] | dict[int, bool]] = {}

    def row(self, key: int, events: array[int], side: int) -> dict[int, bool]:
        """The other sides of the key's pairs, and whether each pair holds. side: the key's place in an event."""
        length = len(events) // 3
        if self.length < length:
            self._learn(events[3 * self.length : 3 * length], side)
            self.length = length
        row = self._rows.get(key)
        if row is None:
            return _UNTOUCHED
        return {row[0]: row[1]} if isinstance(row, tuple) else row

    def _learn(self, events: array[int], side: int) -> None:
        rows = self._rows
        for key, item, stamp in zip(events[side::3], events[1 - side :: 3], events[2::3], strict=True):
            holds = bool(stamp & 1)
            row = rows.get(key)
            if row is None or (isinstance(row, tuple) and row[0] == item):
                rows[key] = (item, holds)
            elif isinstance(row, tuple):
                rows[key] = {row[0]: row[1], item: holds}
            else:
                row[item] = holds


_UNTOUCHED: Final[dict[int, bool]] = {}
