"""What a transaction may do to the schema: nothing that makes it meaningless or that old data contradicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adalog.datalog.errors import Code
from adalog.datalog.values import Keyword
from adalog.store.state.speculation import ChangedValues
from adalog.store.state.state import DatabaseState
from adalog.store.transact.declarations import too_many_at_once
from adalog.store.transact.operations import Path, Paths, RefusedTransaction, invalid
from adalog.store.values import bootstrap
from adalog.store.values.attribute import Attribute
from adalog.store.values.changes import Effect
from adalog.store.values.schema import Schema, attribute_from
from adalog.store.values.schema_policy import SchemaMode, SchemaPolicy

_ALLOWED = {
    bootstrap.VALUE_TYPE: (frozenset(bootstrap.TYPES), "a :db.type/… such as :db.type/string"),
    bootstrap.CARDINALITY: (
        frozenset({bootstrap.ONE, bootstrap.MANY}),
        ":db.cardinality/one or :db.cardinality/many",
    ),
    bootstrap.UNIQUE: (frozenset(bootstrap.UNIQUENESS), ":db.unique/value or :db.unique/identity"),
}
_ITEM_TYPES = frozenset(Keyword(f"db.type/{name}") for name in bootstrap.TYPE_IDS if name != "tuple")
_ADVICE = "; if misspelt names declared them by their use, set ADALOG_SCHEMA=strict, which refuses such names"
_TUPLE = (bootstrap.TUPLE_ATTRS, bootstrap.TUPLE_TYPES, bootstrap.TUPLE_TYPE)


def check(effects: Sequence[Effect], paths: Paths, state: DatabaseState, policy: SchemaPolicy) -> None:
    """Raises TX_INVALID, naming the offending entity where there is one, and LIMIT_EXCEEDED for too many
    attributes. paths: where each datom was written."""
    changes: dict[int, list[Effect]] = {}
    for effect in effects:
        if effect.a in bootstrap.SCHEMA_ATTRIBUTES:
            changes.setdefault(effect.e, []).append(effect)
            if effect.added:
                _check_value(effect, paths, state)
    if not changes:
        return
    read = ChangedValues(effects, state)
    after = {entity: attribute_from(entity, read, state.codes) for entity in changes}
    _check_number(after, changes, paths, state.schema, policy)
    named = _Named(after, state.schema)
    for entity, attribute in after.items():
        old = state.schema.get(entity)
        try:
            if attribute is not None:
                _check_sense(attribute, policy.mode)
                _check_tuple(attribute, named)
            if old is not None and attribute != old:
                _check_old_data(old, attribute, state)
                _check_composites_of(old, attribute, named)
        except _Senseless as fault:
            raise invalid(fault.message, _blamed(changes[entity], paths, fault.about)) from None


def _check_number(
    after: Mapping[int, Attribute | None],
    changes: Mapping[int, Sequence[Effect]],
    paths: Paths,
    schema: Schema,
    policy: SchemaPolicy,
) -> None:
    """Refuses new attributes where there would be more than there may be. Those that are there may stay."""
    new = [attribute for entity, attribute in after.items() if attribute and schema.get(entity) is None]
    gone = sum(1 for entity, attribute in after.items() if not attribute and schema.get(entity) is not None)
    room = max(policy.attributes - schema.declared + gone, 0)
    at_once = len(new) if policy.at_once is None else policy.at_once
    if len(new) <= min(room, at_once):
        return
    written = sorted((_blamed(changes[each.id], paths, ()), each.id, each) for each in new)
    path, _, first = written[min(room, at_once)]
    if at_once < room:
        raise too_many_at_once(first.ident, at_once, path)
    advice = "" if policy.mode == "strict" else _ADVICE
    raise RefusedTransaction(
        Code.LIMIT_EXCEEDED,
        f"{first.ident} is one attribute too many: there are {schema.declared:,} besides the built-in ones, and at "
        f"most {policy.attributes:,} are allowed (ADALOG_ATTRIBUTES){advice}",
        path,
    )


class _Named:
    """The attributes by the idents that the transaction leaves them. after: those that it touches."""

    def __init__(self, after: Mapping[int, Attribute | None], schema: Schema) -> None:
        self._after = after
        self._schema = schema
        self._new = {each.ident: each for each in after.values() if each is not None}

    def get(self, ident: Keyword) -> Attribute | None:
        new = self._new.get(ident)
        old = self._schema.get(ident) if new is None else None
        return old if old is not None and old.id not in self._after else new

    def composites(self) -> list[Attribute]:
        old = [each for each in self._schema.composites if each.id not in self._after]
        return [*old, *(each for each in self._new.values() if each.kind.tuple_attrs)]


class _Senseless(Exception):
    """A schema that cannot be; about: the schema attributes whose change may be to blame."""

    def __init__(self, message: str, *about: int) -> None:
        super().__init__(message)
        self.message = message
        self.about = about


def _blamed(changes: Sequence[Effect], paths: Paths, about: Sequence[int]) -> Path:
    """Where the blamed change was written, or the first."""
    written = {effect.a: paths((effect.a, effect.e, effect.v)) for effect in changes}
    return min([written[id_] for id_ in about if id_ in written] or written.values())


def _check_value(effect: Effect, paths: Paths, state: DatabaseState) -> None:
    path = paths((effect.a, effect.e, effect.v))
    allowed, wanted = _ALLOWED.get(effect.a, (None, ""))
    if allowed is not None and effect.v not in allowed:
        ident = state.snapshot().ident(effect.a)
        raise invalid(f"{ident} cannot be {effect.v}; it is {wanted}", path)
    if effect.a not in _TUPLE:
        return
    value = state.codes.decode(effect.v)
    if effect.a == bootstrap.TUPLE_TYPE:
        if value not in _ITEM_TYPES:
            raise invalid(f"{value} is no type of a tuple's items; one is :db.type/long", path)
        return
    wanted = "attributes" if effect.a == bootstrap.TUPLE_ATTRS else "types such as :db.type/long"
    fits = all(isinstance(item, Keyword) for item in value) and 2 <= len(value) <= 8
    if effect.a == bootstrap.TUPLE_TYPES:
        fits = fits and all(item in _ITEM_TYPES for item in value)
    if not fits:
        raise invalid(f"a tuple's declaration is a vector of 2 to 8 {wanted}", path)


def _check_sense(attribute: Attribute, mode: SchemaMode) -> None:
    name = attribute.ident
    if attribute.kind.value_type is None and mode == "strict":
        raise _Senseless(f"{name} needs a :db/valueType under a strict schema")
    if attribute.kind.component and attribute.kind.value_type not in (None, "ref"):
        raise _Senseless(f"{name} is a component, so its type has to be :db.type/ref", bootstrap.IS_COMPONENT)


def _check_tuple(attribute: Attribute, named: _Named) -> None:
    name, kind = attribute.ident, attribute.kind
    given = [each for each in kind.tuple_of if each]
    if not given:
        return
    if kind.value_type != "tuple":
        raise _Senseless(f"{name} declares a tuple, so its :db/valueType has to be :db.type/tuple", *_TUPLE)
    if len(given) > 1:
        raise _Senseless(f"{name} has more than one of :db/tupleAttrs, :db/tupleTypes and :db/tupleType", *_TUPLE)
    if kind.tuple_attrs is None:
        return
    if attribute.is_many:
        raise _Senseless(f"{name} is a composite tuple, so its cardinality has to be one", *_TUPLE)
    for component in kind.tuple_attrs:
        found = named.get(component)
        if found is None or found.kind.value_type is None:
            raise _Senseless(f"the tuple {name} is made of {component}, which is not declared", *_TUPLE)
        if found.is_many:
            raise _Senseless(f"the tuple {name} is made of {component}, which has cardinality many", *_TUPLE)
        if found.kind.tuple_attrs is not None:
            raise _Senseless(f"the tuple {name} is made of {component}, which is a composite itself", *_TUPLE)


def _check_composites_of(old: Attribute, new: Attribute | None, named: _Named) -> None:
    for composite in named.composites():
        if old.ident not in (composite.kind.tuple_attrs or ()):
            continue
        if new is None or new.ident != old.ident:
            raise _Senseless(f"{old.ident} has to stay what it is called: {composite.ident} is made of it")
        if new.is_many:
            raise _Senseless(f"{old.ident} has to keep cardinality one: {composite.ident} is made of it")


def _check_old_data(old: Attribute, new: Attribute | None, state: DatabaseState) -> None:
    snapshot = state.snapshot()
    if old.kind.no_history and (new is None or not new.kind.no_history) and snapshot.has_data(old.id):
        raise _Senseless(
            f"{old.ident} has forgotten values under :db/noHistory, so it cannot begin to have a history"
        )
    by_entity = snapshot.trie(old.id, inverse=False)
    if not by_entity.rows:
        return
    holder = int(by_entity.keys[0])
    if new is None:
        raise _Senseless(f"{old.ident} cannot go while entity {holder} has a value of it")
    if old.kind.value_type is not None and new.kind.value_type != old.kind.value_type:
        become = "lose its type" if new.kind.value_type is None else f"become a {new.kind.value_type}"
        raise _Senseless(f"{old.ident} cannot {become}: entity {holder} has a {old.kind.value_type}")
    if old.kind.tuple_of != new.kind.tuple_of:
        raise _Senseless(f"{old.ident} cannot hold other tuples: entity {holder} has one as declared before")
    if old.is_many and not new.is_many:
        several = np.flatnonzero(np.diff(by_entity.merged.offsets) > 1)
        if len(several):
            holder = by_entity.merged.keys[several[0]]
            raise _Senseless(f"{old.ident} cannot become cardinality one: entity {holder} has several values")
    if new.kind.unique is not None and old.kind.unique is None:
        by_value = snapshot.trie(old.id, inverse=True).merged
        several = np.flatnonzero(np.diff(by_value.offsets) > 1)
        if len(several):
            first, second = by_value.values[by_value.offsets[several[0]] :][:2]
            raise _Senseless(f"{old.ident} cannot become unique: entities {first} and {second} share a value")
