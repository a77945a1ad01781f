"""The schema of one moment: its attributes, by name and by entity id. Made from datoms, like everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from operator import attrgetter
from typing import Any, Final

from adalog.datalog.values import Keyword
from adalog.store.values import bootstrap
from adalog.store.values.attribute import Attribute, AttributeKind, shared
from adalog.store.values.codes import Codes
from adalog.store.values.layered import Layered
from adalog.store.values.name_index import NameIndex

# The values that an entity has for an attribute, decoded; refs as entity ids.
Reader = Callable[[int, int], list[Any]]
_id: Final = attrgetter("id")
_DESCRIBING: Final = (
    *(bootstrap.VALUE_TYPE, bootstrap.CARDINALITY, bootstrap.UNIQUE, bootstrap.IS_COMPONENT),
    *(bootstrap.TUPLE_ATTRS, bootstrap.TUPLE_TYPES, bootstrap.TUPLE_TYPE),
)

_UNDECLARED: Final = tuple(
    Attribute(id_, ident, -1, shared(bootstrap.LATER_ATTRIBUTES[id_]))
    for ident, id_ in ((bootstrap.PRINCIPAL_IDENT, bootstrap.PRINCIPAL), *bootstrap.DECLARED_BY_USE.items())
)
UNDECLARED: Final[Mapping[object, Attribute]] = {key: each for each in _UNDECLARED for key in (each.id, each.ident)}
"""Built-in attributes until their first value declares them: nothing has them, and no keyword has their code."""


class Schema:
    """An immutable set of attributes; one that differs in a few is made at the cost of those."""

    def __init__(self, attributes: Iterable[Attribute] = ()) -> None:
        self._by_id: Layered[int, Attribute] = Layered({each.id: each for each in attributes})
        self.by_ident: Layered[Keyword, Attribute] = Layered({each.ident: each for each in self._by_id.values()})
        every = tuple(self._by_id.values())
        # Those with :db/noHistory, those with predicates, and the composite tuples in their order.
        self.forgetful = frozenset(each.id for each in every if each.kind.no_history)
        self.checked = frozenset(each.id for each in every if each.kind.preds)
        self.composites = tuple(sorted((each for each in every if each.kind.tuple_attrs), key=_id))
        # How many there are besides the built-in ones.
        self.declared = sum(1 for each in every if not bootstrap.is_built_in(each.id))
        # Equal for equal schemas.
        self.key = sum(map(hash, every))

    def get(self, key: Keyword | int) -> Attribute | None:
        return self._by_id.get(key) if isinstance(key, int) else self.by_ident.get(key)

    def all(self) -> tuple[Attribute, ...]:
        return self._all

    @cached_property
    def by_ident_code(self) -> Mapping[int, Attribute]:
        return {each.ident_code: each for each in self._all}

    @cached_property
    def components(self) -> tuple[Attribute, ...]:
        """Those whose values are parts of their entities, in the order of their declaration."""
        return tuple(each for each in self._all if each.kind.component)

    @cached_property
    def _all(self) -> tuple[Attribute, ...]:
        return tuple(sorted(self._by_id.values(), key=_id))

    @cached_property
    def names(self) -> NameIndex:
        """The idents of all attributes, to find the one that a misspelt one meant."""
        return NameIndex(each.ident for each in self._all)

    def updated(self, entities: Iterable[int], read: Reader, codes: Codes) -> Schema:
        """With the attributes among these entities read again."""
        new = {entity: attribute_from(entity, read, codes) for entity in entities}
        old = {entity: self._by_id.get(entity) for entity in new}
        names: dict[Keyword, Attribute | None] = {each.ident: None for each in old.values() if each is not None}
        names |= {each.ident: each for each in new.values() if each is not None}
        schema = Schema()
        schema._by_id, schema.by_ident = self._by_id.changed(new), self.by_ident.changed(names)
        schema.key = self.key + sum(hash(each) for each in new.values() if each is not None)
        schema.key -= sum(hash(each) for each in old.values() if each is not None)
        schema.declared = self.declared + sum(
            (each is not None) - (old[id_] is not None)
            for id_, each in new.items()
            if not bootstrap.is_built_in(id_)
        )
        forgetful = {id_ for id_, each in new.items() if each and each.kind.no_history}
        schema.forgetful = _among(self.forgetful, forgetful, new)
        schema.checked = _among(self.checked, {id_ for id_, each in new.items() if each and each.kind.preds}, new)
        schema.composites = self.composites
        if any(each is not None and each.kind.tuple_attrs for each in (*old.values(), *new.values())):
            kept = [each for each in self.composites if each.id not in new]
            made = [each for each in new.values() if each is not None and each.kind.tuple_attrs]
            schema.composites = tuple(sorted((*kept, *made), key=_id))
        return schema


def _among(known: frozenset[int], now: set[int], touched: Iterable[int]) -> frozenset[int]:
    """The set with those of the touched ids that are in it now; the same one where nothing changes."""
    gone = {id_ for id_ in touched if id_ in known} - now
    return known if not gone and now <= known else (known - gone) | now


def attribute_from(entity: int, read: Reader, codes: Codes) -> Attribute | None:
    """The attribute that an entity's datoms describe; None where they describe none."""

    def one(attribute: int) -> Any:
        values = read(attribute, entity)
        return values[0] if values else None

    ident = one(bootstrap.IDENT)
    describing = tuple(map(one, _DESCRIBING))
    value_type, cardinality, unique, component, tuple_attrs, tuple_types, tuple_type = describing
    if ident is None or all(each is None for each in describing):
        return None
    ident_code = codes.lookup(ident)
    assert ident_code is not None
    preds = read(bootstrap.ATTR_PREDS, entity)
    return Attribute(
        id=entity,
        ident=ident,
        ident_code=ident_code,
        kind=shared(
            AttributeKind(
                value_type=None if value_type is None else bootstrap.TYPES[value_type],
                cardinality="many" if cardinality == bootstrap.MANY else "one",
                unique=None if unique is None else bootstrap.UNIQUENESS[unique],
                component=bool(component),
                index=bool(one(bootstrap.INDEX)),
                no_history=bool(one(bootstrap.NO_HISTORY)),
                tuple_types=None if tuple_types is None else tuple(map(_type_name, tuple_types)),
                tuple_type=None if tuple_type is None else _type_name(tuple_type),
                tuple_attrs=tuple_attrs,
                preds=tuple(sorted(preds, key=str)),
            )
        ),
        doc=one(bootstrap.DOC),
    )


def item_types(
    attribute: Attribute, length: int, attributes: Mapping[Keyword, Attribute]
) -> tuple[str, ...] | None:
    """The types of the items of an attribute's tuples of this length; None where any will do. attributes: its
    components are among them."""
    if attribute.kind.tuple_attrs is not None:
        return tuple(
            str(attributes[name].kind.value_type) for name in attribute.kind.tuple_attrs if name in attributes
        )
    return attribute.kind.tuple_types or (
        None if attribute.kind.tuple_type is None else (attribute.kind.tuple_type,) * length
    )


def _type_name(type_ident: Keyword) -> str:
    return str(type_ident.local)
