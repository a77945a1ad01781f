"""The schema of one moment: its attributes, by name and by entity id. Made from datoms, like everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any

from datalog.values import Keyword
from store import bootstrap
from store.attribute import Attribute
from store.codes import Codes

# The values that an entity has for an attribute, decoded; refs as entity ids.
Reader = Callable[[int, int], list[Any]]


class Schema:
    """An immutable set of attributes."""

    def __init__(self, attributes: Iterable[Attribute]) -> None:
        self._by_id = {attribute.id: attribute for attribute in attributes}
        self._by_ident: Mapping[Keyword, Attribute] = {each.ident: each for each in self._by_id.values()}
        # Those with :db/noHistory.
        self.forgetful = frozenset(each.id for each in self._by_id.values() if each.no_history)
        self.has_predicates = any(each.preds for each in self._by_id.values())

    def get(self, key: Keyword | int) -> Attribute | None:
        """The attribute of an ident or an entity id."""
        return self._by_id.get(key) if isinstance(key, int) else self._by_ident.get(key)

    @cached_property
    def key(self) -> int:
        """Equal for equal schemas."""
        return hash(self.all())

    def by_ident(self) -> Mapping[Keyword, Attribute]:
        """Every attribute by its ident."""
        return self._by_ident

    def item_types(self, attribute: Attribute, length: int) -> tuple[str, ...] | None:
        """The types of the items of an attribute's tuples of this length; None where any will do."""
        return item_types(attribute, length, self._by_ident)

    def all(self) -> tuple[Attribute, ...]:
        """Every attribute, in the order of their declaration."""
        return tuple(self._by_id[id_] for id_ in sorted(self._by_id))

    def updated(self, entities: Iterable[int], read: Reader, codes: Codes) -> Schema:
        """With the attributes among these entities read again."""
        by_id = dict(self._by_id)
        for entity in entities:
            attribute = attribute_from(entity, read, codes)
            if attribute is None:
                by_id.pop(entity, None)
            else:
                by_id[entity] = attribute
        return Schema(by_id.values())


def attribute_from(entity: int, read: Reader, codes: Codes) -> Attribute | None:
    """The attribute that an entity's datoms describe; None where they describe none."""

    def one(attribute: int) -> Any:
        values = read(attribute, entity)
        return values[0] if values else None

    ident = one(bootstrap.IDENT)
    value_type, cardinality, unique = (
        one(bootstrap.VALUE_TYPE),
        one(bootstrap.CARDINALITY),
        one(bootstrap.UNIQUE),
    )
    component = one(bootstrap.IS_COMPONENT)
    tuple_attrs, tuple_types, tuple_type = (
        one(bootstrap.TUPLE_ATTRS),
        one(bootstrap.TUPLE_TYPES),
        one(bootstrap.TUPLE_TYPE),
    )
    describing = (value_type, cardinality, unique, component, tuple_attrs, tuple_types, tuple_type)
    if ident is None or all(each is None for each in describing):
        return None
    ident_code = codes.lookup(ident)
    assert ident_code is not None
    preds = read(bootstrap.ATTR_PREDS, entity)
    return Attribute(
        id=entity,
        ident=ident,
        ident_code=ident_code,
        value_type=None if value_type is None else bootstrap.TYPES[value_type],
        cardinality="many" if cardinality == bootstrap.MANY else "one",
        unique=None if unique is None else bootstrap.UNIQUENESS[unique],
        component=bool(component),
        doc=one(bootstrap.DOC),
        index=bool(one(bootstrap.INDEX)),
        no_history=bool(one(bootstrap.NO_HISTORY)),
        tuple_types=None if tuple_types is None else tuple(map(_type_name, tuple_types)),
        tuple_type=None if tuple_type is None else _type_name(tuple_type),
        tuple_attrs=tuple_attrs,
        preds=tuple(sorted(preds, key=str)),
    )


def item_types(
    attribute: Attribute, length: int, attributes: Mapping[Keyword, Attribute]
) -> tuple[str, ...] | None:
    """`Schema.item_types` among these attributes."""
    if attribute.tuple_attrs is not None:
        return tuple(str(attributes[name].value_type) for name in attribute.tuple_attrs if name in attributes)
    return attribute.tuple_types or (None if attribute.tuple_type is None else (attribute.tuple_type,) * length)


def _type_name(type_ident: Keyword) -> str:
    return str(type_ident.local)
