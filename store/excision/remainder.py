"""An attribute without the datoms that an excision takes, as though nobody had ever asserted them.

Makes a new relation beside the old one: snapshots that were taken before keep what they have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from adalog.store.tries.attribute_data import AttributeData
from adalog.store.tries.base import Base, ClosedDatoms
from adalog.store.tries.columns import Columns
from adalog.store.tries.relation import Relation
from adalog.store.tries.removal import RemovedDatoms, history_of, without_pairs
from adalog.store.tries.trie import distinct
from adalog.store.values.arrays import Bools, CodeColumn, Int64s, are_of
from adalog.store.values.attribute import Attribute
from adalog.store.values.changes import Excision, Scope


@dataclass(frozen=True, eq=False)
class Remainder:
    """What an excision leaves of an attribute, and what it takes. relation: the data that is left. entities,
    values, times: of the removed datoms, each distinct and in order. ended: the retracted ones among them. count:
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
    young = live.delta.events(0, len(live.delta))
    scopes = [
        scope
        for scope in excision.scopes
        if scope.has(id_) and _may_take(scope, live.relation, young, is_ref=is_ref)
    ]
    if not scopes:
        return None
    keep_history = attribute is None or not attribute.kind.no_history
    # What keeps no history may still have pairs that ended, until it is folded: these are gone by now.
    entities = _entities(scopes, live.relation, young, is_ref=is_ref) if keep_history else None
    base = live.relation.base
    if entities is None:
        base = live.relation.collapsed(young, t, keep_history=keep_history)
        now, closed = base.current(), base.closed
    else:
        now, closed = history_of(live.relation, entities, young)
    gone = excision.takes(id_, now.e, now.v, now.t, is_ref=is_ref)
    ended = excision.takes(id_, closed.e, closed.v, closed.added, closed.retracted, is_ref=is_ref)
    if gone is None and ended is None and (keep_history or not (live.relation.runs or len(live.delta))):
        return None
    gone = np.zeros(len(now), np.bool_) if gone is None else gone
    ended = np.zeros(len(closed.e), np.bool_) if ended is None else ended
    removal = RemovedDatoms(now.take(gone), closed.take(ended))
    if entities is None:
        left = Relation(_without(base, removal.now, ended))
    else:
        left = removal.of_relation(live.relation).folded(removal.left(young), t)
    times = (removal.now.t, removal.ended.added, removal.ended.retracted)
    return Remainder(
        _dated(left, t),
        removal.ended,
        removal.entities,
        removal.values,
        distinct(np.sort(np.concatenate(times))),
        len(removal.now) + 2 * len(removal.ended.e),
    )


def _dated(relation: Relation, t: int) -> Relation:
    """The relation as one of transaction t. That is later than all that is left, so that caches by attribute and
    transaction do not take it for what it was."""
    if not relation.runs:
        return Relation(replace(relation.base, t=t, last=t, segment=None))
    newest, *older = relation.runs
    return Relation(relation.base, (replace(newest, t=t, last=t, segment=None), *older))


def _may_take(scope: Scope, relation: Relation, young: Columns, *, is_ref: bool) -> bool:
    """False if an attribute has nothing of a scope, whenever that was asserted."""
    entities, base = scope.entities, relation.base
    if entities is None:
        return relation.last > 0 or len(young) > 0
    # The longer column is in order, but for what is young or ended, by value.
    of_entities = [
        base.ev.keys,
        base.closed.e,
        *(own for run in relation.runs for own in (run.ev.keys, run.past.e)),
    ]
    if any(bool(are_of(entities, column).any()) for column in of_entities):
        return True
    if bool(are_of(young.e, entities).any()):
        return True
    return scope.with_refs and is_ref and len(_referring(entities, relation, young)) > 0


def _entities(scopes: Sequence[Scope], relation: Relation, young: Columns, *, is_ref: bool) -> CodeColumn | None:
    """The entities of which scopes take something, distinct and in order; None if they may be all."""
    found = []
    for scope in scopes:
        if scope.entities is None:
            return None
        found.append(scope.entities)
        if scope.with_refs and is_ref:
            found.append(_referring(scope.entities, relation, young))
    return distinct(np.sort(np.concatenate(found)))


def _referring(entities: CodeColumn, relation: Relation, young: Columns) -> CodeColumn:
    """The entities that refer, or once referred, to some others; in no order."""
    base = relation.base
    found = [base.ve.values[base.ve.places(entities)[1]], base.closed.e[are_of(base.closed.v, entities)]]
    for run in relation.runs:
        found += [run.ve.pairs_of(entities)[1], run.past.e[are_of(run.past.v, entities)]]
    return np.concatenate([*found, young.e[are_of(young.v, entities)]])


def referring(live: AttributeData, entities: CodeColumn) -> Int64s:
    """The entities that refer, or once referred, to some others by an attribute; distinct and in order."""
    found = _referring(entities, live.relation, live.delta.events(0, len(live.delta)))
    return distinct(found.astype(np.int64))


def _without(base: Base, gone: Columns, ended: Bools) -> Base:
    """The base without some pairs that hold, and some of those that ended."""
    left = without_pairs(base, gone.e, gone.v) if len(gone) else base
    return replace(left, closed=base.closed.take(~ended))


def has_values(live: AttributeData | Relation, values: Int64s) -> Bools:
    """Which of the value codes, distinct and in order, are or were those of a datom."""
    found = np.zeros(len(values), np.bool_)
    relation = live.relation if isinstance(live, AttributeData) else live
    unordered = [relation.base.closed.v, *(run.past.v for run in relation.runs)]
    if isinstance(live, AttributeData):
        unordered.append(live.delta.events(0, len(live.delta)).v)
    for part in unordered:
        found |= np.isin(values, part)
    for keys in (relation.base.ve.keys, *(run.ve.keys for run in relation.runs)):
        found |= are_of(values, keys)
    return found
