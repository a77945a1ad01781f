"""How many entities there are, kept from one question to the next: it costs what was written in between.

An entity had as many datoms as it has, less what came and plus what went. Where the attributes that were written do
not decide whether it had and has some, the others are asked whether they know it.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final

import numpy as np

from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.trie import distinct
from adalog.store.values.arrays import Bools, CodeColumn, Int64s
from adalog.store.values.attribute import FIRST_OWN_IDENT, SCHEMA_BASE, TX_BASE

# Entities that were touched from which on everything is counted again.
_MANY: Final = 1 << 17


@dataclass(frozen=True, slots=True)
class _Known:
    t: int
    schema: int
    entities: int
    excised: int


class EntityCounter:
    """Of one database's plain snapshots. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: _Known | None = None

    def entities(self, snapshot: Snapshot) -> int:
        """The entities with a datom, without those built in."""
        with self._lock:
            known = self._known
            count = None if known is None else _advanced(known, snapshot)
            if count is None:
                count = snapshot.entity_count
            if known is None or snapshot.t > known.t or snapshot.origin.excised > known.excised:
                self._known = _Known(snapshot.t, snapshot.schema.key, count, snapshot.origin.excised)
            return count


def _advanced(known: _Known, snapshot: Snapshot) -> int | None:
    """The number after the transactions since; None where counting everything is as well."""
    if snapshot.t < known.t or (snapshot.schema.key, snapshot.origin.excised) != (known.schema, known.excised):
        return None
    touched: dict[int, tuple[Int64s, Bools]] = {}
    for attribute in snapshot.attributes():
        data = snapshot.data_of(attribute.id)
        if data.last_touched(snapshot.t) <= known.t:
            continue
        if attribute.kind.no_history and known.t < data.relation.last:
            # Folding dropped what went.
            return None
        events = data.changes(known.t, snapshot.t)
        touched[attribute.id] = events.e, events.added
    if not touched:
        return known.entities
    every = distinct(np.concatenate([e for e, _ in touched.values()]))
    every = every[(every < SCHEMA_BASE) | (every >= FIRST_OWN_IDENT)]
    if len(every) > _MANY:
        return None
    now, before = np.zeros(len(every), np.int64), np.zeros(len(every), np.int64)
    for attribute_id, (e, added) in touched.items():
        counts = snapshot.trie(attribute_id, inverse=False).counts(every)
        now += counts
        before += counts
        own = (e < SCHEMA_BASE) | (e >= FIRST_OWN_IDENT)
        np.subtract.at(before, every.searchsorted(e[own]), np.where(added[own], 1, -1))
    undecided = (now == 0) | (before == 0)
    # Transactions apart from the others, so that most attributes have no keys near those that are looked for.
    for part in (undecided & (every < TX_BASE), undecided & (every >= TX_BASE)):
        known_elsewhere = _known_to_others(snapshot, frozenset(touched), every[part])
        now[part] += known_elsewhere
        before[part] += known_elsewhere
    return known.entities + int(np.count_nonzero(now)) - int(np.count_nonzero(before))


def _known_to_others(snapshot: Snapshot, touched: frozenset[int], entities: CodeColumn) -> Bools:
    """Mask of the entities, sorted and distinct, that have datoms of attributes that were not touched."""
    found = np.zeros(len(entities), np.bool_)
    for attribute in snapshot.attributes_of(entities) if len(entities) else ():
        if attribute.id not in touched and snapshot.has_data(attribute.id):
            found |= snapshot.data_of(attribute.id).ev(snapshot.t).has(entities)
    return found
