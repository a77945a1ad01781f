"""What a value means in the places that it stands in: coerced where nothing is lost, and found out where nothing
fits.

A literal, an argument as EDN and one as JSON differ only in how much is read into them: text from JSON may stand
for a keyword or an instant, since JSON has none. Only the schema is looked at, never data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from adalog.datalog.edn.writer import write
from adalog.datalog.errors import invalid_argument
from adalog.datalog.values import NUMERIC, EdnList, EdnMap, Keyword, identity, type_name
from adalog.planner.model.places import PlaceKind, VariablePlace
from adalog.planner.scope.pending_warnings import UnknownName
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.attribute import TX_BASE, Attribute
from adalog.store.values.coercion import coerced
from adalog.store.values.scalars import WRITTEN, from_json, integer, keyword, lookup_ref_meant
from adalog.store.values.schema import item_types

PlaceContent = Attribute | PlaceKind
"""What a place holds: the values of an attribute, or entities, attributes, transactions."""


@dataclass(frozen=True, slots=True)
class ValueFault:
    """A value that nothing in its places can equal, or (`ambiguous`) that means different things in them, or
    (`unknown`) that names what is not there."""

    value: Any
    ambiguous: bool = False
    unknown: UnknownName | None = None


@dataclass(frozen=True, slots=True)
class Interpretation:
    """How values are read in some places: `held` is what these hold, each with its database.

    `compared`: they are only compared with what stands there. `json`: they came as JSON.
    """

    held: tuple[tuple[PlaceContent, Snapshot], ...]
    compared: bool
    json: bool

    @staticmethod
    def of(
        places: Sequence[VariablePlace], databases: Mapping[str, Snapshot], *, json: bool
    ) -> Interpretation | None:
        """How values are read in these places; None where they mean what they are."""
        held: list[tuple[PlaceContent, Snapshot]] = []
        for place in places:
            kind = place.kind_in(databases)
            # A schema has one object for each attribute.
            if kind is not None and place.source in databases and not any(kind is known for known, _ in held):
                held.append((kind, databases[place.source]))
        if not held:
            return None
        return Interpretation(tuple(held), all(place.compared for place in places), json)

    def __call__(self, value: Any) -> tuple[Any, ValueFault | None]:
        """(the value as it is meant, what is wrong with it)."""
        if self.compared:
            return self._compared(value)
        readings = [read for held, database in self.held if (read := _as(held, database, value, json=self.json))]
        if not readings:
            return value, ValueFault(value)
        if len(readings) == 1 or len({identity(read.value) for read in readings}) == 1:
            return readings[0].value, self._unknown(readings[0].value)
        # As it is written where that fits, else as the first place in the text has it.
        chosen = next((read for read in readings if read.plain), readings[0])
        return chosen.value, ValueFault(value, ambiguous=True)

    def keeps_all(self, values: Sequence[Any]) -> bool:
        """Whether all of these values mean what they are, since nothing but attributes of their type is held."""
        names = {type_name(value) for value in {type(value): value for value in values}.values()}
        fits = (isinstance(held, Attribute) and names == {held.kind.value_type} for held, _ in self.held)
        return names != {"tuple"} and all(fits)

    def _unknown(self, value: Any) -> ValueFault | None:
        """What is wrong with a name: of an attribute, of one in a lookup ref, of an entity."""
        unknown = [_unknown(held, database, value) for held, database in self.held]
        return None if None in unknown else ValueFault(value, unknown=unknown[0])

    def _compared(self, value: Any) -> tuple[Any, ValueFault | None]:
        held, database = self.held[0]
        if self.json:
            read = _as(held, database, value, json=True)
            if read is not None:
                return read.value, None
        return value, None if comparable(held, value) else ValueFault(value)


@dataclass(frozen=True, slots=True)
class _Read:
    """A value as it is meant; `plain`: that is what was written."""

    value: Any
    plain: bool


def type_of(held: PlaceContent) -> str | None:
    """The type that equal values have in common: an entity equals the long that is its id."""
    if isinstance(held, PlaceKind):
        return "keyword" if held is PlaceKind.ATTRIBUTE else "long"
    return held.kind.value_type


def comparable(held: PlaceContent, value: Any) -> bool:
    """Whether what stands in a place has an order in common with a value."""
    name = type_name(value)
    wanted = type_of(held)
    return name == wanted or (name in NUMERIC and wanted in NUMERIC)


def _as(held: PlaceContent, database: Snapshot, value: Any, *, json: bool) -> _Read | None:
    """The value as what is held; None where nothing held can equal it."""
    if isinstance(held, Attribute):
        if type_name(value) == held.kind.value_type and held.kind.value_type != "tuple":
            return _Read(value, plain=True)
        made = _as_value(held, database, value, json=json)
    elif held is PlaceKind.ENTITY:
        made = _as_entity(database, value, json=json)
    elif held is PlaceKind.ATTRIBUTE:
        made = value if isinstance(value, Keyword) else keyword(value) if json and type(value) is str else None
    else:
        made = _as_transaction(value, json=json)
    return None if made is None else _Read(made, plain=made is value)


def _unknown(held: PlaceContent, database: Snapshot, value: Any) -> UnknownName | None:
    if isinstance(held, Attribute) or held is PlaceKind.TRANSACTION or type(value) is int:
        return None
    if held is PlaceKind.ENTITY and isinstance(value, Keyword):
        return UnknownName(value, database, ident=True) if database.entid(value) is None else None
    name = value[0] if type(value) is tuple else value
    return UnknownName(name, database) if database.attribute(name) is None else None


def _as_value(attribute: Attribute, database: Snapshot, value: Any, *, json: bool) -> Any | None:
    assert attribute.kind.value_type is not None
    if attribute.kind.value_type != "tuple":
        return from_json(attribute.kind.value_type, value) if json else coerced(attribute.kind.value_type, value)
    if type(value) is not tuple:
        return None
    types = item_types(attribute, len(value), database.schema.by_ident)
    if types is None:
        return value
    if len(types) != len(value):
        return None
    items = []
    for name, item in zip(types, value, strict=True):
        read = item
        if item is not None:
            if name == "ref":
                read = _as_entity(database, item, json=json)
            else:
                read = from_json(name, item) if json else coerced(name, item)
            if read is None:
                return None
        items.append(read)
    return tuple(items)


def _as_entity(database: Snapshot, value: Any, *, json: bool) -> Any | None:
    """A number, an ident, or a lookup ref whose value is read as its attribute wants it."""
    if type(value) is int or isinstance(value, Keyword):
        return value
    if json and type(value) is str:
        return keyword(value) if value.startswith(":") else integer(value)
    if json and isinstance(value, EdnMap):
        # What a pull showed: {":db/id": 7}, whatever else is in it.
        number = value.get(":db/id")
        return number if type(number) is int else None
    if type(value) is not tuple or len(value) != 2:
        return None
    name = keyword(value[0]) if json and type(value[0]) is str else value[0]
    if not isinstance(name, Keyword):
        return None
    attribute = database.attribute(name)
    if attribute is None or attribute.kind.value_type is None:
        return (name, value[1])
    if attribute.is_ref:
        meant = _as_entity(database, value[1], json=json)
    else:
        read = _as(attribute, database, value[1], json=json)
        meant = None if read is None else read.value
    return None if meant is None else (name, meant)


def _as_transaction(value: Any, *, json: bool) -> int | None:
    number = integer(value) if json and type(value) is str else value
    if type(number) is not int:
        return None
    return number if number >= TX_BASE or number < 0 else number + TX_BASE


# What to say

_STANDING: Final[Mapping[PlaceKind, tuple[str, str]]] = {
    PlaceKind.ENTITY: (
        'a number, an ident such as :status/open, or a lookup ref such as [:user/email "ada@example.org"]',
        'a number, an ident such as ":status/open", or a lookup ref such as [":user/email", "ada@example.org"]',
    ),
    PlaceKind.ATTRIBUTE: ("a keyword such as :user/name", 'a keyword such as ":user/name"'),
    PlaceKind.TRANSACTION: ("its number or its entity id", "its number or its entity id"),
}


def holding(held: PlaceContent) -> str:
    """What a place holds, for a message: `:issue/status holds keywords`."""
    if isinstance(held, Attribute):
        return f"{held.ident} holds {held.kind.value_type}s"
    return f"{'a' if held is PlaceKind.TRANSACTION else 'an'} {held.value} stands there"


def entity_named(database: Snapshot, value: Any) -> Any:
    """What is written for an entity, as its lookup ref's attribute wants it; one whose attribute is text is JSON.

    Raises ARG_INVALID for a value that the attribute cannot have.
    """
    if type(value) is not tuple or len(value) != 2:
        return value
    meant_ref = lookup_ref_meant(value)
    if meant_ref is not None and not isinstance(value[0], Keyword) and value[0] != str(meant_ref[0]):
        raise invalid_argument(f"nothing can be named by {write(value)}; did you mean {write(meant_ref)}?")
    read = _as_entity(database, value, json=type(value[0]) is str)
    if read is None and (isinstance(value[0], Keyword) or (type(value[0]) is str and value[0].startswith(":"))):
        probably = _as_entity(database, value, json=True)
        attribute = database.attribute(value[0]) if isinstance(value[0], Keyword) else None
        if probably is not None:
            hint = f"; did you mean {write(probably)}?"
        elif attribute is not None:
            kind = PlaceKind.ENTITY if attribute.is_ref else attribute
            hint = f": {holding(kind)}, {expected(attribute, json=False)}"
        else:
            hint = ""
        raise invalid_argument(f"nothing can be named by {write(value)}{hint}")
    return value if read is None else read


def unknown_entity(database: Snapshot, value: Any) -> UnknownName | None:
    """The name for which an ident or a lookup ref names no entity; None where it is a value that nothing has."""
    if isinstance(value, Keyword):
        return UnknownName(value, database, ident=True) if database.entid(value) is None else None
    if type(value) is not tuple or len(value) != 2 or not isinstance(value[0], Keyword):
        return None
    attribute = database.attribute(value[0])
    if attribute is None:
        return UnknownName(value[0], database)
    return unknown_entity(database, value[1]) if attribute.is_ref else None


def expected(held: PlaceContent, *, json: bool) -> str:
    if isinstance(held, Attribute):
        written = WRITTEN.get(str(held.kind.value_type))
        return "a vector of the right length and types" if written is None else f"a value such as {written[json]}"
    return _STANDING[held][json]


def meant(held: PlaceContent, database: Snapshot, value: Any) -> Any | None:
    """What a literal that does not fit was probably meant to be: the same text as JSON would have it read."""
    if isinstance(value, EdnList):
        return None
    read = _as(held, database, value, json=True)
    return None if read is None else read.value
