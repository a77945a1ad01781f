"""The schema as a transaction will leave it, known before its other forms are read.

A transaction is a set: an attribute declared anywhere in it, or by its first use under an open schema, has its type
everywhere in it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final, cast

from adalog.datalog.edn.writer import write
from adalog.datalog.errors import Code
from adalog.datalog.hints import proposed
from adalog.datalog.values import LONG_MAX, LONG_MIN, EdnList, EdnMap, EdnSet, Keyword, Symbol, type_name
from adalog.store.state.permission import ADMINS_DECLARE
from adalog.store.state.state import DatabaseState
from adalog.store.transact.operations import Add, Path, RefusedTransaction, Tempid, invalid
from adalog.store.transact.suspicions import Suspicions
from adalog.store.values import bootstrap
from adalog.store.values.attribute import (
    FIRST_OWN_IDENT,
    MERGED,
    PLAIN,
    TX_BASE,
    VALUE_TYPES,
    Attribute,
    AttributeKind,
    Uniqueness,
    shared,
)
from adalog.store.values.scalars import keyword
from adalog.store.values.schema_policy import SchemaPolicy

_DESCRIBING = {
    Keyword("db/valueType"),
    Keyword("db/cardinality"),
    Keyword("db/unique"),
    Keyword("db/isComponent"),
    Keyword("db/tupleAttrs"),
    Keyword("db/tupleTypes"),
    Keyword("db/tupleType"),
}
_IDENT = Keyword("db/ident")
_ID = Keyword("db/id")
_ADD = Keyword("db/add")


class Declarations:
    """Attributes and idents by name: the head's, under what this transaction declares."""

    def __init__(self, state: DatabaseState, policy: SchemaPolicy, suspects: Suspicions) -> None:
        self._state = state
        self._policy = policy
        # New ones.
        self._declared = 0
        self._suspects = suspects
        self._attributes: dict[Keyword, Attribute] = {}
        self._idents: dict[Keyword, int] = {}
        self._next_ident = state.next_ident
        # Tempids of entities with an ident: their ids are chosen first, as values are read by their attributes.
        self.ids: dict[Tempid, int] = {}
        self.implied: list[Add] = []
        # Those built in later that this transaction is the first to use.
        self.built_in: list[int] = []
        # Attributes that had no type before this transaction used them.
        self._typed_by_use: set[int] = set()
        # Attributes that a form gives a set: undeclared ones get cardinality many.
        self._given_sets: set[Keyword] = set()

    def scan(self, forms: list[tuple[Any, Path]]) -> None:
        """Find the declarations among the forms, which may come before or after their first use."""
        described: dict[Any, dict[Keyword, Any]] = {}
        places: dict[Any, Path] = {}
        for form, path in forms:
            for entity, key, value in _descriptions(form, path):
                described.setdefault(entity, {})[key] = value
                places.setdefault(entity, path)
            self._given_sets.update(_given_sets(form))
        for entity, facts in described.items():
            if isinstance(facts.get(_IDENT), Keyword):
                self._named(entity, facts[_IDENT])
        for entity, facts in described.items():
            id_ = self._id_of(entity, facts.get(_IDENT))
            if id_ is not None and facts.keys() & _DESCRIBING:
                self._described(id_, facts, places[entity])

    def _named(self, entity: Any, ident: Keyword) -> None:
        if isinstance(entity, int) and entity >= 0:
            self._idents[ident] = entity
            return
        id_ = self.ident(ident)
        if isinstance(entity, str | int):
            tempid = Tempid(entity)
            id_ = self.ids.get(tempid, self._new_ident_id()) if id_ is None else id_
            self.ids[tempid] = id_
        if id_ is not None:
            self._idents[ident] = id_

    def _id_of(self, entity: Any, ident: Any) -> int | None:
        if isinstance(ident, Keyword):
            return self._idents.get(ident)
        if isinstance(entity, Keyword):
            return self.ident(entity)
        return entity if isinstance(entity, int) and entity >= 0 else None

    def _described(self, id_: int, facts: Mapping[Keyword, Any], path: Path) -> None:
        known = self._state.schema.get(id_)
        ident = facts.get(_IDENT) or next(iter(self._state.values(bootstrap.IDENT, id_)), None)
        if not isinstance(ident, Keyword):
            return
        if known is None and ident not in self._attributes:
            self._count(ident, path)
        attribute = known or Attribute(id_, ident, self._state.codes.intern(ident))
        cardinality, given = attribute.kind.cardinality, facts.get(Keyword("db/cardinality"))
        if given is not None:
            cardinality = "many" if given in (Keyword("db.cardinality/many"), bootstrap.MANY) else "one"
        value_type = _named_type(facts.get(Keyword("db/valueType"))) or attribute.kind.value_type
        component = facts.get(Keyword("db/isComponent"), attribute.kind.component)
        self._attributes[ident] = replace(
            attribute,
            ident=ident,
            ident_code=self._state.codes.intern(ident),
            kind=replace(
                attribute.kind,
                value_type="ref" if component and value_type is None else value_type,
                cardinality=cardinality,
                unique=_named_uniqueness(facts.get(Keyword("db/unique"))) or attribute.kind.unique,
                component=bool(component),
                tuple_attrs=_keywords(facts.get(Keyword("db/tupleAttrs"))) or attribute.kind.tuple_attrs,
                tuple_types=_named_types(facts.get(Keyword("db/tupleTypes"))) or attribute.kind.tuple_types,
                tuple_type=_named_type(facts.get(Keyword("db/tupleType"))) or attribute.kind.tuple_type,
            ),
        )

    def _count(self, ident: Keyword, path: Path) -> None:
        """One more is new: a transaction of too many is refused before the work on them is done."""
        self._declared += 1
        if self._policy.at_once is not None and self._declared > self._policy.at_once:
            raise too_many_at_once(ident, self._policy.at_once, path)

    def _new_ident_id(self) -> int:
        id_ = self._next_ident
        if id_ >= TX_BASE:
            raise RefusedTransaction(
                Code.LIMIT_EXCEEDED, "no ids are left for new attributes and other entities with an ident"
            )
        self._next_ident += 1
        return id_

    def ident(self, ident: Keyword) -> int | None:
        """The entity that has, or will have, this ident."""
        known = self._idents.get(ident) or self._state.ident_holder(ident) or bootstrap.LATER_TYPES.get(ident)
        if known is None and ident in bootstrap.MADE_BY_USE:
            known = self._idents[ident] = self._new_ident_id()
            code = self._state.codes.intern(ident)
            self.implied.append(Add(known, self._built_in(bootstrap.IDENT), code, ()))
        return known

    def exists(self, e: int) -> bool:
        """Whether an id that no client may choose was given to an entity before."""
        if e == MERGED:
            return self._state.has_merged()
        return bootstrap.is_built_in(e) or FIRST_OWN_IDENT <= e < self._state.next_ident

    def find(self, key: Any) -> Attribute | None:
        """The attribute of an ident or an entity id, where one is declared."""
        if isinstance(key, Keyword):
            return self._attributes.get(key) or self._state.schema.get(key) or self._built_in_later(key)
        return self._state.schema.get(key) if type(key) is int else None

    def _built_in_later(self, key: Keyword) -> Attribute | None:
        """The attribute that was built in later, which its first use declares. In a database of an earlier version
        another entity may have its ident."""
        id_ = bootstrap.DECLARED_BY_USE.get(key)
        if id_ is None or (self._idents.get(key) or self._state.whole.ident_holder(key)) is not None:
            return None
        if self._state.whole is not self._state:
            # As a hidden one: that it was used already is not told.
            return None
        self.built_in.append(id_)
        attribute = Attribute(id_, key, self._state.codes.intern(key), shared(bootstrap.LATER_ATTRIBUTES[id_]))
        self._attributes[key] = attribute
        self._idents[key] = id_
        return attribute

    def attributes(self) -> Mapping[Keyword, Attribute]:
        known = self._state.whole.schema.by_ident
        return ChainMap(self._attributes, cast("dict[Keyword, Attribute]", known)) if self._attributes else known

    def composites(self) -> list[Attribute]:
        known = [each for each in self._state.whole.schema.composites if each.ident not in self._attributes]
        return [*known, *(each for each in self._attributes.values() if each.kind.tuple_attrs)]

    def used_with(self, key: Any, value_type: str | None, path: Path) -> Attribute:
        """The attribute, declared now if this is its first use and the schema is open. value_type: the type that
        the use implies, None where it implies none."""
        attribute = self.find(key)
        if attribute is not None and attribute.kind.value_type is not None:
            return attribute
        if attribute is None:
            self.check_may_declare(key, path)
        if self._state.whole is not self._state:
            hint = self._state.schema.names.hint(key)
            raise RefusedTransaction(Code.FORBIDDEN, f"no attribute {key}{hint}; {ADMINS_DECLARE}", path)
        if value_type not in VALUE_TYPES:
            wanted = "declare it with a :db/valueType first"
            raise RefusedTransaction(Code.UNKNOWN_ATTRIBUTE, f"no value says which type {key} has; {wanted}", path)
        return self._declared_by_use(key, attribute, value_type, path)

    def takes_several(self, attribute: Attribute) -> bool:
        """Whether a vector or set given to it is several values whatever is in it (dialect 27): its cardinality is
        many, and it had no type before this transaction."""
        return attribute.is_many and (attribute.kind.value_type is None or self.is_typed_by_use(attribute))

    def is_typed_by_use(self, attribute: Attribute) -> bool:
        """Whether it had no type before this transaction used it."""
        return attribute.id in self._typed_by_use

    def is_given_sets(self, key: Any) -> bool:
        """Whether the transaction gives an attribute of this name a set: its first use then declares it as many."""
        return isinstance(key, Keyword) and key in self._given_sets

    def unknown(self, key: Any, path: Path) -> None:
        """A retraction of an undeclared attribute: nothing holds of it, and a strict schema says so."""
        self.check_may_declare(key, path)
        self._suspects.unknown.append((key, path))

    def suspect_lookup_ref(self, key: Keyword, value: Any, path: Path) -> None:
        """The first use of an attribute gives it a tuple that may be meant for a lookup ref."""
        self._suspects.lookup_refs.append((key, value, path))

    def check_may_declare(self, key: Any, path: Path) -> None:
        """Refuse what is no attribute and could not become one by being used."""
        if not isinstance(key, Keyword):
            wanted = as_keyword(key) or "; write a keyword such as :person/name"
            raise invalid(f"{write(key)} is not an attribute{wanted}", path)
        reserved = key.namespace is not None and (key.namespace == "db" or key.namespace.startswith("db."))
        if not reserved and self._policy.mode != "strict":
            return
        if key == bootstrap.PRINCIPAL_IDENT:
            raise invalid(f"{key} is built in: {bootstrap.WRITTEN_BY_SERVERS}", path)
        if key.name in _NOT_HERE:
            raise RefusedTransaction(Code.UNKNOWN_ATTRIBUTE, f"no attribute {key}: {_NOT_HERE[key.name]}", path)
        meant = _OTHER_NAMES.get(key.name)
        hint = self._state.schema.names.hint(key) if meant is None else proposed(meant)
        why = "names in db are built in" if reserved else "the schema is strict, so declare it first"
        raise RefusedTransaction(Code.UNKNOWN_ATTRIBUTE, f"no attribute {key}{hint}; {why}", path)

    def _declared_by_use(self, key: Keyword, known: Attribute | None, value_type: str, path: Path) -> Attribute:
        ident_code = self._state.codes.intern(key)
        if known is None:
            self._count(key, path)
            self._suspects.declared.append((key, path))
            id_ = self._idents.get(key) or self._state.ident_holder(key) or self._new_ident_id()
            many = self.is_given_sets(key)
            known = Attribute(id_, key, ident_code, shared(AttributeKind(cardinality="many")) if many else PLAIN)
            cardinality = bootstrap.MANY if many else bootstrap.ONE
            self.implied.append(Add(id_, self._built_in(bootstrap.IDENT), ident_code, path))
            self.implied.append(Add(id_, self._built_in(bootstrap.CARDINALITY), cardinality, path))
        self._typed_by_use.add(known.id)
        type_id = bootstrap.TYPE_IDS[value_type]
        self.implied.append(Add(known.id, self._built_in(bootstrap.VALUE_TYPE), type_id, path))
        attribute = self._attributes[key] = replace(known, kind=shared(replace(known.kind, value_type=value_type)))
        self._idents[key] = attribute.id
        return attribute

    def _built_in(self, id_: int) -> Attribute:
        attribute = self._state.schema.get(id_)
        assert attribute is not None
        return attribute


_NOT_HERE: Final[Mapping[str, str]] = {
    "db/fulltext": 'there is no index of words; leave it out, and search by [(includes? ?text "word")]',
    "db/excise": "an excision is a form of its own, {:db/excise entity-or-attribute}",
    "db/id": "the id of an entity is none; it stands in the entity's place, or in a map as {:db/id 1 …}",
    "db/lang": "a function is a stored query: :db/fn is its text",
    "db/code": "a function is a stored query: :db/fn is its text",
    "db/maxLength": "a predicate restricts values: :db.attr/preds names an entity with a :db/fn",
    **dict.fromkeys(
        (
            "db.secondary/type",
            "db.secondary/attrs",
            "db.secondary/only",
            "db.secondary/config",
            "db.secondary/status",
        ),
        "attributes are indexed by entity and by value, and there are no other indexes; leave it out",
    ),
    **dict.fromkeys(
        ("db.valid/from", "db.valid/to"),
        "there is one time, of transactions; another one is an attribute of your own, such as :valid/from",
    ),
    "db.install/attribute": "leave it out, or write :db.part/db for its partition",
    "db.alter/attribute": "leave it out, or write :db.part/db for its partition",
}
"""What Datomic has, and what to write here."""

_OTHER_NAMES: Final = {
    "db/type": ":db/valueType",
    "db/name": ":db/ident",
    "db/primaryKey": ":db/unique",
    "db/many": ":db/cardinality",
    "db/component": ":db/isComponent",
}


def too_many_at_once(ident: Keyword, most: int, path: Path) -> RefusedTransaction:
    """The refusal of a transaction that declares more attributes than one may; `ident`: the first of those."""
    return RefusedTransaction(
        Code.LIMIT_EXCEEDED,
        f"{ident} is one attribute too many: a transaction declares at most {most:,} of them; declare them in "
        "several",
        path,
    )


def as_keyword(key: Any) -> str:
    """`; write :person/name` for the symbol or string of that name, where an attribute is wanted."""
    name = key.name if isinstance(key, Symbol) else key
    named = keyword(f":{name.removeprefix(':')}") if type(name) is str else None
    return "" if named is None else f"; write {named}"


def implied_type(value: Any) -> str | None:
    """The type that a value gives to an attribute declared by its use; None where no attribute can hold it."""
    if type(value) is int and not LONG_MIN <= value <= LONG_MAX:
        return None
    if type(value) is tuple and any(isinstance(item, EdnMap) for item in value):
        return None
    name = "ref" if isinstance(value, EdnMap | Tempid) else type_name(value)
    return name if name in VALUE_TYPES else None


def unnamed(path: Path) -> str:
    """The name of a map's entity where the map gives none: its place."""
    return "\0" + ".".join(map(str, path))


def _descriptions(form: Any, path: Path) -> Iterator[tuple[Any, Keyword, Any]]:
    """(entity, key, value) of what a form says of an entity's ident or attribute nature."""
    if isinstance(form, EdnMap):
        entity = form.get(_ID, unnamed(path))
        for key, value in form.items():
            if key == _IDENT or key in _DESCRIBING:
                yield entity, key, value
    elif isinstance(form, tuple) and len(form) == 4 and form[0] == _ADD:
        _, entity, key, value = form
        if isinstance(key, Keyword) and (key == _IDENT or key in _DESCRIBING):
            yield entity, key, value


def _given_sets(form: Any) -> Iterator[Keyword]:
    """The attributes that a form, or a map within it, gives a set or a list."""
    if isinstance(form, EdnMap):
        entries: Iterable[tuple[Any, Any]] = form.items()
    elif type(form) is tuple and len(form) == 4 and isinstance(form[0], Keyword):
        entries = ((form[2], form[3]),)
    else:
        return
    for key, value in entries:
        if isinstance(value, EdnSet | EdnList):
            if isinstance(key, Keyword):
                yield key
            yield from chain.from_iterable(map(_given_sets, value))
        elif isinstance(value, EdnMap):
            yield from _given_sets(value)
        elif type(value) is tuple and any(isinstance(item, EdnMap) for item in value):
            yield from chain.from_iterable(_given_sets(item) for item in value if isinstance(item, EdnMap))


def _named_type(value: Any) -> str | None:
    if isinstance(value, int):
        return bootstrap.TYPES.get(value)
    name = value.local if isinstance(value, Keyword) and value.namespace == "db.type" else None
    return name if name in VALUE_TYPES else None


def _keywords(value: Any) -> tuple[Keyword, ...] | None:
    if type(value) is tuple and all(isinstance(item, Keyword) for item in value):
        return value
    return None


def _named_types(value: Any) -> tuple[str, ...] | None:
    names = [_named_type(item) for item in _keywords(value) or ()]
    known = tuple(name for name in names if name is not None)
    return known if known and len(known) == len(names) else None


def _named_uniqueness(value: Any) -> Uniqueness | None:
    if isinstance(value, int):
        return bootstrap.UNIQUENESS.get(value)
    named: dict[Keyword, Uniqueness] = {
        Keyword("db.unique/value"): "value",
        Keyword("db.unique/identity"): "identity",
    }
    return named.get(value) if isinstance(value, Keyword) else None
