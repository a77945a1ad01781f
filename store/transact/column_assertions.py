"""The short way for a long transaction of plain assertions, as loads are made of: by the column.

Every form is `[:db/add id :attribute value]`, of an entity by its number and an attribute whose values nothing but
their type restricts. Whatever is otherwise, or would be refused, goes the long way of `store.transact.resolve`,
which reports errors; both ways have the same effects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import Keyword
from adalog.store.snapshot.free_ids import Interval
from adalog.store.state.state import DatabaseState
from adalog.store.transact.operations import Term
from adalog.store.transact.plain_values import reader_of
from adalog.store.tries.trie import Trie, distinct
from adalog.store.values.arrays import Bools, Int64s
from adalog.store.values.attribute import FIRST_OWN_IDENT, SCHEMA_BASE, Attribute
from adalog.store.values.changes import Effect
from adalog.store.values.schema import Schema

# Fewer forms are not worth columns: `store.transact.small_assertions` is for them.
LEAST: Final = 256

# The values of touched entities that are looked through for each assertion, at most.
_SHARE: Final = 16

_ADD: Final = Keyword("db/add")


@dataclass(slots=True)
class _Column:
    """The assertions of one attribute: the place of each form, entity, value code."""

    attribute: Attribute
    places: list[int] = field(default_factory=list)
    e: list[int] = field(default_factory=list)
    v: list[Term] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AssertionEffects:
    """The effects in the order written, a replaced value before its successor. new: ids that nothing has yet, which
    begin with those of new entities. tempids: the entities that the user's names stand for."""

    effects: list[Effect]
    new: Interval
    tempids: dict[str, int] = field(default_factory=dict)


def plain_adds(forms: Sequence[Any], state: DatabaseState) -> AssertionEffects | None:
    """What the forms change; None where they have to go the long way."""
    columns = _columns(forms, state)
    if columns is None:
        return None
    new = _new(columns, state)
    if new is None:
        return None
    snapshot = state.snapshot()
    effects: list[Effect | None] = [None] * len(forms)
    replaced: list[tuple[int, Effect]] = []
    for column in columns:
        id_ = column.attribute.id
        found = _changes(column, snapshot.trie(id_, inverse=False))
        if found is None:
            return None
        fresh, old = found
        for place, e, v in zip(
            *(_chosen(items, fresh) for items in (column.places, column.e, column.v)), strict=True
        ):
            effects[place] = Effect(e, id_, v, True)
        replaced += [(place, Effect(e, id_, v, False)) for place, e, v in old]
    if not replaced:
        return AssertionEffects([effect for effect in effects if effect is not None], new)
    before: dict[int, list[Effect]] = {}
    for place, effect in replaced:
        before.setdefault(place, []).append(effect)
    ordered: list[Effect] = []
    for place, asserted in enumerate(effects):
        ordered += before.get(place, ())
        if asserted is not None:
            ordered.append(asserted)
    return AssertionEffects(ordered, new)


def _columns(forms: Sequence[Any], state: DatabaseState) -> list[_Column] | None:
    """The forms by attribute; None where one is not plain."""
    # By the keyword object: a reader makes one for each name.
    known: dict[int, tuple[_Column, Callable[[Any], Term | None]]] = {}
    columns: dict[int, _Column] = {}
    for place, form in enumerate(forms):
        if type(form) is not tuple or len(form) != 4:
            return None
        operation, e, key, value = form
        if (operation is not _ADD and operation != _ADD) or type(e) is not int or not 0 <= e < SCHEMA_BASE:
            return None
        found = known.get(id(key))
        if found is None:
            attribute = state.schema.get(key) if type(key) is Keyword else None
            if attribute is None:
                return None
            read = _reader(attribute, state)
            if read is None:
                return None
            found = known[id(key)] = (columns.setdefault(attribute.id, _Column(attribute)), read)
        column, read = found
        code = read(value)
        if code is None:
            return None
        column.places.append(place)
        column.e.append(e)
        column.v.append(code)
    return list(columns.values())


def _reader(attribute: Attribute, state: DatabaseState) -> Callable[[Any], Term | None] | None:
    if attribute.kind.unique is not None or not is_free(attribute, state.schema):
        return None
    return _id if attribute.is_ref else reader_of(attribute, state.codes.intern)


def is_free(attribute: Attribute, schema: Schema) -> bool:
    """Whether a user's attribute has no predicates and is part of no tuple: its values come and go alone."""
    if attribute.id < FIRST_OWN_IDENT or attribute.kind.preds:
        return False
    return not any(attribute.ident in (each.kind.tuple_attrs or ()) for each in schema.composites)


def _id(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < SCHEMA_BASE else None


def _new(columns: Sequence[_Column], state: DatabaseState) -> Interval | None:
    """The ids that are left for new entities; None where the forms may not choose theirs."""
    named = [np.array(column.e, np.int64) for column in columns]
    named += [np.array(column.v, np.int64) for column in columns if column.attribute.is_ref]
    chosen = state.free.among_sorted(distinct(np.concatenate(named)))
    try:
        state.free.check_chosen(chosen)
    except AdalogError:
        return None
    return state.free.without(chosen).next(0)


def _changes(column: _Column, held: Trie) -> tuple[Bools, list[tuple[int, int, int]]] | None:
    """(which assertions are new, the values that they replace: place, entity, code); None for contradictions, and
    where looking through what the entities have costs too much."""
    e, v = np.array(column.e, np.int64), np.array(column.v, np.int64)
    order = np.lexsort((v, e))
    e, v = e[order], v[order]
    same_e = e[1:] == e[:-1]
    again = same_e & (v[1:] == v[:-1])
    single = not column.attribute.is_many
    if single and (same_e & ~again).any():
        return None
    entities = distinct(e)
    sizes = held.counts(entities)
    if int(sizes.sum()) > _SHARE * len(e):
        return None
    fresh = np.ones(len(e), np.bool_)
    # Of equal assertions the first one written counts, and the sort is stable.
    fresh[1:] = ~again
    old: list[tuple[int, int, int]] = []
    if sizes.any():
        entities = entities[sizes > 0]
        keys, values = held.pairs_of(entities)
        known = _among(keys, values, e, v)
        if single:
            at = np.minimum(entities.searchsorted(e), len(entities) - 1)
            replacing = fresh & ~known & (entities[at] == e)
            old = [
                (column.places[place], entity, value)
                for place, entity, value in zip(
                    order[replacing].tolist(), e[replacing].tolist(), values[at[replacing]].tolist(), strict=True
                )
            ]
        fresh &= ~known
    written = np.empty(len(e), np.bool_)
    written[order] = fresh
    return written, old


def _among(keys: Int64s, values: Int64s, e: Int64s, v: Int64s) -> Bools:
    """Which of the sorted pairs (e, v) are among the sorted pairs (keys, values)."""
    order = np.lexsort((np.concatenate((values, v)), np.concatenate((keys, e))))
    both_e, both_v = np.concatenate((keys, e))[order], np.concatenate((values, v))[order]
    follows = np.zeros(len(order), np.bool_)
    follows[1:] = (both_e[1:] == both_e[:-1]) & (both_v[1:] == both_v[:-1])
    # A held pair comes before the assertions of it, and each of these follows it or another such.
    first = np.flatnonzero(~follows)
    held = order[np.repeat(first, np.diff(np.append(first, len(order))))] < len(keys)
    found = np.empty(len(order), np.bool_)
    found[order] = held
    return found[len(keys) :]


def _chosen(items: Sequence[Any], which: Bools) -> Sequence[Any]:
    if which.all():
        return items
    return [items[place] for place in np.flatnonzero(which).tolist()]
