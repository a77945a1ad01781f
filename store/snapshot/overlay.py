"""One more transaction on top of a snapshot's data, which it leaves alone: for `with`, and to check a transaction.

The data below goes on growing with the database, so everything read of it stops at the basis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from adalog.store.tries.attribute_data import AttributeData, advanced
from adalog.store.tries.base import settle
from adalog.store.tries.columns import NO_COLUMNS, Columns
from adalog.store.tries.delta import Delta
from adalog.store.tries.relation import Relation
from adalog.store.tries.trie import Trie, distinct
from adalog.store.values.arrays import CodeColumn, are_of
from adalog.store.values.changes import Effect

if TYPE_CHECKING:
    from adalog.store.snapshot.snapshot import Snapshot


class OverlaidData(AttributeData):
    """One attribute's datoms as the basis has them, and the events of the transaction after it. basis: a snapshot
    without `since` and `history`."""

    def __init__(self, basis: Snapshot, attribute: int, events: Columns) -> None:
        self._basis = basis
        self._below = basis.data_of(attribute)
        self._attribute = attribute
        self._events = events
        super().__init__(self._below.relation, Delta())

    def ev(self, t: int) -> Trie:
        return self._forward if t > self._basis.t else self._below.ev(t)

    def ve(self, t: int) -> Trie:
        return self._backward if t > self._basis.t else self._below.ve(t)

    @cached_property
    def _forward(self) -> Trie:
        return advanced(self._basis.trie(self._attribute, inverse=False), self._events, inverse=False)

    @cached_property
    def _backward(self) -> Trie:
        return advanced(self._basis.trie(self._attribute, inverse=True), self._events, inverse=True)

    def columns(self, t: int) -> Columns:
        if t <= self._basis.t:
            return self._below.columns(t)
        current = self._basis.columns_of(self._attribute)
        if not len(self._events):
            return current
        touched = current.take(are_of(current.e, distinct(self._events.e)))
        return settle(current, touched, self._events)[0]

    def columns_of(self, entities: CodeColumn, t: int) -> Columns:
        if t <= self._basis.t:
            return self._below.columns_of(entities, t)
        current = self._basis.columns_of_entities(self._attribute, entities)
        events = self._events.take(are_of(self._events.e, entities))
        if not len(events):
            return current
        touched = current.take(are_of(current.e, distinct(events.e)))
        return settle(current, touched, events)[0]

    def events(self, since: int, until: int) -> Columns:
        below = self._below.events(since, min(until, self._basis.t))
        own = self._events.take((self._events.t > since) & (self._events.t <= until))
        return Columns.concat([below, own]).sorted() if len(own) else below

    def changes(self, since: int, until: int) -> Columns:
        return self.events(since, until)

    def shipped(self, t: int) -> tuple[Relation, Columns]:
        relation, events = self._below.shipped(self._basis.t)
        if self._basis.is_past:
            # The relation may know what came after the basis, and the other process could not tell.
            keep = self._attribute not in self._basis.origin.forgetful
            relation = relation.until(self._basis.t, self._basis.columns_of(self._attribute), keep_history=keep)
            events = NO_COLUMNS
        return relation, Columns.concat([events, self._events]) if t > self._basis.t else events

    def last_touched(self, t: int) -> int:
        if t > self._basis.t and len(self._events):
            return int(self._events.t[-1])
        return self._below.last_touched(min(t, self._basis.t))

    def few(self, t: int) -> list[tuple[int, int]] | None:
        return self._below.few(t) if t <= self._basis.t else None

    def nbytes(self) -> int:
        return self._below.nbytes()


class Overlay(Mapping[int, AttributeData]):
    """The data of a basis with a transaction on top; an attribute's part is made when it is read."""

    def __init__(self, basis: Snapshot, effects: Iterable[Effect]) -> None:
        self._basis = basis
        self._events: dict[int, list[Effect]] = {}
        for effect in effects:
            self._events.setdefault(effect.a, []).append(effect)
        self._made: dict[int, AttributeData] = {}

    def __getitem__(self, attribute: int) -> AttributeData:
        found = self._made.get(attribute)
        if found is None:
            if attribute not in self:
                raise KeyError(attribute)
            events = _columns(self._events.get(attribute, ()), self._basis.t + 1)
            # Two readers may both make it; either is right.
            found = self._made.setdefault(attribute, OverlaidData(self._basis, attribute, events))
        return found

    def __contains__(self, attribute: object) -> bool:
        return attribute in self._events or self._basis.has_data(attribute)

    def __iter__(self) -> Iterator[int]:
        return iter({*self._basis.data(), *self._events})

    def __len__(self) -> int:
        return len({*self._basis.data(), *self._events})


def _columns(effects: Iterable[Effect], t: int) -> Columns:
    # As in a delta, retractions before assertions.
    rows = sorted(effects, key=lambda effect: effect.added)
    return Columns(
        np.array([effect.e for effect in rows], np.int64),
        np.array([effect.v for effect in rows], np.int64),
        np.full(len(rows), t, np.int64),
        np.array([effect.added for effect in rows], np.bool_),
    )
