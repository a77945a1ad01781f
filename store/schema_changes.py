"""What a transaction may do to the schema: nothing that makes it meaningless or that old data contradicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from datalog.errors import Code
from store import bootstrap, layout
from store.attribute import Attribute
from store.changes import Effect
from store.declarations import SchemaMode
from store.head import Head
from store.operations import Path, Refused
from store.schema import attribute_from
from store.trie import Csr

# Where each effect's (attribute, entity, value code) was written.
Paths = Mapping[tuple[int, int, int], Path]

_UNSUPPORTED = {
    bootstrap.TUPLE_ATTRS: ":db/tupleAttrs",
    bootstrap.ATTR_PREDS: ":db.attr/preds",
    bootstrap.ENSURE: ":db/ensure",
}
_ALLOWED = {
    bootstrap.VALUE_TYPE: (frozenset(bootstrap.TYPES), "a :db.type/… such as :db.type/string"),
    bootstrap.CARDINALITY: (
        frozenset({bootstrap.ONE, bootstrap.MANY}),
        ":db.cardinality/one or :db.cardinality/many",
    ),
    bootstrap.UNIQUE: (frozenset(bootstrap.UNIQUENESS), ":db.unique/value or :db.unique/identity"),
}


def check(effects: Sequence[Effect], paths: Paths, head: Head, mode: SchemaMode) -> None:
    """Raises TX_INVALID, naming the offending entity where there is one. paths: where each datom was written."""
    touched: set[int] = set()
    for effect in effects:
        if effect.a not in bootstrap.SCHEMA_ATTRIBUTES:
            continue
        touched.add(effect.e)
        path = paths.get((effect.a, effect.e, effect.v), ())
        if effect.added and effect.a in _UNSUPPORTED:
            raise Refused(Code.TX_INVALID, f"{_UNSUPPORTED[effect.a]} is not supported by this version", path)
        allowed, wanted = _ALLOWED.get(effect.a, (None, ""))
        if effect.added and allowed is not None and effect.v not in allowed:
            ident = head.snapshot().ident(effect.a)
            raise Refused(Code.TX_INVALID, f"{ident} cannot be {effect.v}; it is {wanted}", path)
    for entity in touched:
        _check_entity(entity, effects, paths, head, mode)


def _check_entity(entity: int, effects: Sequence[Effect], paths: Paths, head: Head, mode: SchemaMode) -> None:
    old = head.schema.get(entity)
    new = attribute_from(entity, _Reader(effects, head), head.codes)
    if new is not None:
        _check_sense(new, mode, paths)
    if old is not None and new != old:
        try:
            _check_old_data(old, new, head)
        except Refused as refusal:
            written = [
                paths[e.a, e.e, e.v] for e in effects if e.e == entity and e.a in bootstrap.SCHEMA_ATTRIBUTES
            ]
            raise Refused(refusal.code, refusal.message, min(written)) from None


def _check_sense(attribute: Attribute, mode: SchemaMode, paths: Paths) -> None:
    name = attribute.ident
    if attribute.value_type is None and mode == "strict":
        raise Refused(Code.TX_INVALID, f"{name} needs a :db/valueType under a strict schema")
    if attribute.component and attribute.value_type not in (None, "ref"):
        path = paths.get((bootstrap.IS_COMPONENT, attribute.id, layout.TRUE), ())
        raise Refused(Code.TX_INVALID, f"{name} is a component, so its type has to be :db.type/ref", path)


def _check_old_data(old: Attribute, new: Attribute | None, head: Head) -> None:
    data = head.live(old.id)
    if not len(data.delta) and not data.relation.count:
        return
    by_entity = head.data[old.id].ev(head.t).merged
    if not len(by_entity.keys):
        return
    holder = int(by_entity.keys[0])
    if new is None:
        raise Refused(Code.TX_INVALID, f"{old.ident} cannot go while entity {holder} has a value of it")
    if old.value_type is not None and new.value_type != old.value_type:
        raise Refused(
            Code.TX_INVALID,
            f"{old.ident} cannot become a {new.value_type}: entity {holder} has a {old.value_type}",
        )
    if old.is_many and not new.is_many:
        _refuse_longer_rows(by_entity, f"{old.ident} cannot become cardinality one: entity {{}} has several values")
    if new.unique is not None and old.unique is None:
        by_value = head.data[old.id].ve(head.t).merged
        several = np.flatnonzero(np.diff(by_value.offsets) > 1)
        if len(several):
            first, second = by_value.values[by_value.offsets[several[0]] :][:2]
            raise Refused(
                Code.TX_INVALID, f"{old.ident} cannot become unique: entities {first} and {second} share a value"
            )


def _refuse_longer_rows(by_entity: Csr, message: str) -> None:
    several = np.flatnonzero(np.diff(by_entity.offsets) > 1)
    if len(several):
        raise Refused(Code.TX_INVALID, message.format(by_entity.keys[several[0]]))


class _Reader:
    """An entity's values after the effects; called as `Schema` wants to read."""

    def __init__(self, effects: Iterable[Effect], head: Head) -> None:
        self._head = head
        self._changes: dict[tuple[int, int], list[Effect]] = {}
        for effect in effects:
            self._changes.setdefault((effect.a, effect.e), []).append(effect)

    def __call__(self, attribute: int, entity: int) -> list[Any]:
        codes = set(self._head.live(attribute).values(entity))
        changes = self._changes.get((attribute, entity), [])
        codes -= {change.v for change in changes if not change.added}
        codes |= {change.v for change in changes if change.added}
        return [self._head.codes.decode(code) for code in codes]
