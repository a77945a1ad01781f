"""An index of the views that a transaction can touch: by attribute, and by entity or value for views that name
one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Generic, TypeVar

import numpy as np

from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.view import Interest
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.arrays import Int64s
from adalog.store.values.datom import TxReport

V = TypeVar("V")

# Up to so many datoms their attributes are looked up one by one; beyond, each attribute of interest is checked.
_FEW_DATOMS: Final = 512
# Codes that are looked up one by one.
_FEW_CODES: Final = 2_000


class Interests(Generic[V]):
    """Belongs to the hub's thread."""

    def __init__(self) -> None:
        self._all: dict[V, None] = {}
        self._of: dict[int, _Attribute[V]] = {}
        self._put: dict[V, Sequence[Interest]] = {}

    def __len__(self) -> int:
        return len(self._put)

    def put(self, view: V, interests: Sequence[Interest]) -> None:
        before = self._put.get(view)
        if before is not None:
            if list(before) == list(interests):
                return
            self.remove(view)
        self._put[view] = interests
        for each in interests:
            if each.attribute is None:
                self._all[view] = None
            else:
                self._of.setdefault(each.attribute, _Attribute()).put(view, each)

    def forget_values(self, view: V) -> bool:
        """Has any value of their attributes touch a view whose interests name values, which may have other codes
        after an excision; whether some do."""
        before = self._put.get(view, ())
        names_values = any(each.value is not None for each in before)
        if names_values:
            self.put(view, list(dict.fromkeys(replace(each, value=None) for each in before)))
        return names_values

    def remove(self, view: V) -> None:
        for each in self._put.pop(view, ()):
            if each.attribute is None:
                self._all.pop(view, None)
            elif each.attribute in self._of and self._of[each.attribute].remove(view, each):
                del self._of[each.attribute]

    def attributes(self, reports: Sequence[TxReport], new: Snapshot) -> list[int]:
        """The attributes of interest that transactions touched. `new`: after the last."""
        first = reports[0].t
        # An excision does not tell what it took.
        told = new.origin.excised < first
        if told and sum(len(report.datoms) for report in reports) <= _FEW_DATOMS:
            found = []
            for ident in {datom.a for report in reports for datom in report.datoms}:
                attribute = new.attribute(ident)
                if attribute is None:
                    break
                if attribute.id in self._of:
                    found.append(attribute.id)
            else:
                return found
        return [each for each in self._of if new.data_of(each).last_touched(new.t) >= first]

    def renames(self, view: V, attributes: Sequence[int]) -> bool:
        """Whether a view's interests may be others once these attributes were touched."""
        interests = self._put.get(view, ())
        return any((each.names or each.learns) and each.attribute in attributes for each in interests)

    @property
    def wants_all(self) -> bool:
        return bool(self._all)

    def touched(self, attributes: Iterable[int], tick: Moments) -> Iterator[V]:
        found = dict(self._all)
        for attribute in attributes:
            of = self._of.get(attribute)
            if of is not None:
                of.touched(attribute, tick, found)
        return iter(found)


class _Attribute(Generic[V]):
    """The views that one attribute can touch: by all its datoms, or by those with an entity or a value."""

    def __init__(self) -> None:
        self.all: dict[V, None] = {}
        self.entity: dict[int, dict[V, None]] = {}
        self.value: dict[int, dict[V, None]] = {}

    def _place(self, each: Interest) -> tuple[dict[int, dict[V, None]], int] | None:
        if each.entity is not None:
            return self.entity, each.entity
        return None if each.value is None else (self.value, each.value)

    def put(self, view: V, each: Interest) -> None:
        place = self._place(each)
        if place is None:
            self.all[view] = None
        else:
            place[0].setdefault(place[1], {})[view] = None

    def remove(self, view: V, each: Interest) -> bool:
        """Whether no view is left."""
        place = self._place(each)
        if place is None:
            self.all.pop(view, None)
        else:
            views = place[0].get(place[1], {})
            views.pop(view, None)
            if not views:
                place[0].pop(place[1], None)
        return not self.all and not self.entity and not self.value

    def touched(self, attribute: int, tick: Moments, found: dict[V, None]) -> None:
        found.update(self.all)
        if not self.entity and not self.value:
            return
        change = tick.changed(attribute)
        for place, wanted in ((0, self.entity), (1, self.value)):
            if wanted:
                codes = np.concatenate((change.added[place], change.removed[place]))
                for code in _common(codes, wanted):
                    found.update(wanted[code])


def _common(codes: Int64s, wanted: dict[int, dict[V, None]]) -> Iterable[int]:
    if len(codes) <= _FEW_CODES:
        return {code for code in codes.tolist() if code in wanted}
    keys = np.fromiter(wanted, np.int64, len(wanted))
    return [int(each) for each in keys[np.isin(keys, codes)]]


def touching(interests: Sequence[Interest], since: int, new: Snapshot) -> list[int] | None:
    """The transactions after `since`, up to a moment, that touched an interest, in order; None: any may have."""
    found = [np.empty(0, np.int64)]
    for each in interests:
        if each.attribute is None:
            return None
        events = new.data_of(each.attribute).changes(since, new.t)
        kept = np.ones(len(events), np.bool_)
        if each.entity is not None:
            kept &= events.e == each.entity
        if each.value is not None:
            kept &= events.v == each.value
        found.append(np.asarray(events.t[kept], np.int64))
    times: list[int] = np.unique(np.concatenate(found)).tolist()
    return times
