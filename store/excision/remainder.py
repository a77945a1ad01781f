"""An attribute without the datoms that an excision takes, as though nobody had ever asserted them.

Makes a new relation beside the old one: snapshots that were taken before keep what they have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from adalog.store.tries.attribute_data import AttributeData
from adalog.store.tries.base import Base, ClosedDatoms
from adalog.store.tries.columns import Columns
from adalog.store.tries.relation import Relation
from adalog.store.tries.trie import Csr, distinct
from adalog.store.values.arrays import Bools, CodeColumn, Int64s, are_of
from adalog.store.values.attribute import Attribute
from adalog.store.values.changes import Excision, Scope

# Pairs that are taken from a column one by one; of more it is made anew.
_FEW: Final = 4096


@dataclass(frozen=True, eq=False)
class Remainder:
    """What an excision leaves of an attribute, and what it takes. relation: the data that is left. entities,
    values, times: of the datoms that go, each distinct and in order. ended: those that were retracted. count:
    assertions and retractions that go."""

    relation: Relation
    ended: ClosedDatoms
    entities: Int64s
    values: Int64s
    times: Int64s
    count: int


def remainder(
    live: AttributeData, attribute: Attribute | None, id_: int, excision: Excision, t: int
) -> Remainder | None:
    """What an excision leaves of an attribute after transaction t, the newest; None where it takes nothing."""
    is_ref = attribute is not None and attribute.is_ref
    if not any(scope.has(id_) and _may_take(scope, live, is_ref=is_ref) for scope in excision.scopes):
        return None
    keep_history = attribute is None or not attribute.kind.no_history
    base = live.relation.collapsed(live.delta.events(0, len(live.delta)), t, keep_history=keep_history)
    now, closed = base.current(), base.closed
    gone = excision.takes(id_, now.e, now.v, now.t, is_ref=is_ref)
    ended = excision.takes(id_, closed.e, closed.v, closed.added, closed.retracted, is_ref=is_ref)
    if gone is None and ended is None and (keep_history or not (live.relation.runs or len(live.delta))):
        return None
    # What keeps no history may still have pairs that ended, until it is folded: these are gone by now.
    stays = gone is None
    gone = np.zeros(len(now), np.bool_) if gone is None else gone
    ended = np.zeros(len(closed.e), np.bool_) if ended is None else ended
    went, past = now.take(gone), _chosen(closed, ended)
    left = replace(base, closed=_chosen(closed, ~ended))
    left = left if stays else _without(left, now, gone)
    return Remainder(
        # Later than all that is left, so that caches by attribute and transaction do not take it for what it was.
        Relation(replace(left, t=t, last=t, segment=None)),
        past,
        distinct(np.sort(np.concatenate((went.e, past.e)))),
        distinct(np.sort(np.concatenate((went.v, past.v)))),
        distinct(np.sort(np.concatenate((went.t, past.added, past.retracted)))),
        len(went) + 2 * len(past.e),
    )


def _chosen(closed: ClosedDatoms, which: Bools) -> ClosedDatoms:
    return ClosedDatoms(*(column[which] for column in (closed.e, closed.v, closed.added, closed.retracted)))


def _may_take(scope: Scope, live: AttributeData, *, is_ref: bool) -> bool:
    """False if an attribute has nothing of a scope, whenever that was asserted."""
    entities = scope.entities
    if entities is None:
        return live.relation.last > 0 or len(live.delta) > 0
    relation, young = live.relation, live.delta.events(0, len(live.delta))
    by_entity = [relation.base.ev.keys, relation.base.closed.e, young.e]
    by_value = [relation.base.ve.keys, relation.base.closed.v, young.v]
    for run in relation.runs:
        by_entity += [run.ev.keys, run.past.e]
        by_value += [run.ve.keys, run.past.v]
    columns = by_entity + by_value if scope.with_refs and is_ref else by_entity
    return any(bool(are_of(column, entities).any()) for column in columns)


def _without(base: Base, now: Columns, gone: Bools) -> Base:
    """The base without some of its current pairs."""
    left, went = now.take(~gone), now.take(gone)
    return replace(
        base,
        ev=Csr.from_sorted(left.e, left.v),
        ve=_fewer(base.ve, went.v, went.e) if len(went) <= _FEW else Csr.from_pairs(left.v, left.e),
        since=left.t,
    )


def _fewer(rows: Csr, keys: CodeColumn, values: CodeColumn) -> Csr:
    """The rows without some pairs that are in them."""
    at = rows.keys.searchsorted(keys)
    places = np.empty(len(keys), np.int64)
    for number, (row, value) in enumerate(zip(at.tolist(), values.tolist(), strict=True)):
        start, stop = int(rows.offsets[row]), int(rows.offsets[row + 1])
        places[number] = start + int(rows.values[start:stop].searchsorted(value))
    sizes = np.diff(rows.offsets)
    np.subtract.at(sizes, at, 1)
    full = sizes > 0
    offsets = np.zeros(int(np.count_nonzero(full)) + 1, np.int64)
    np.cumsum(sizes[full], out=offsets[1:])
    return Csr(np.ascontiguousarray(rows.keys[full]), offsets, np.delete(rows.values, places))


def has_values(live: AttributeData | Relation, values: Int64s) -> Bools:
    """Which of the value codes, distinct and in order, are or were those of a datom."""
    found = np.zeros(len(values), np.bool_)
    relation = live.relation if isinstance(live, AttributeData) else live
    parts = [relation.base.ve.keys, relation.base.closed.v]
    if isinstance(live, AttributeData):
        parts.append(live.delta.events(0, len(live.delta)).v)
    for run in relation.runs:
        parts += [run.ve.keys, run.past.v]
    for part in parts:
        found |= np.isin(values, part)
    return found
