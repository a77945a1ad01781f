"""From pulled maps to the JSON of a selection: empty lists, `__typename`, names of enums, NaN as null, ids as text.

A `Shape` says for one selection where in the pulled maps each of its fields is. `JsonWriter` writes maps by it;
maps that rows share are written once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import orjson

from adalog.datalog.values import EdnMap, Keyword, type_name
from adalog.schema.typed.model import OTHER_ENTITY
from adalog.schema.writing.encoding import Encoding, encode
from adalog.schema.writing.longs import SAFE

Json = Any

DB_ID: Final = Keyword("db/id")
DB_IDENT: Final = Keyword("db/ident")
# Bytes that are worth weighing before they are written again.
_LONG: Final = 1_000


def json_value(value: Any) -> Json:
    """A value as the typed surface shows it: PLAIN, but null for what is no finite number."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int and -SAFE < value < SAFE:
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return encode(value, Encoding.PLAIN)


class JsonWriter:
    """Writes pulled maps. `weigh` is told of long ones that are written again, and may raise."""

    def __init__(self, weigh: Callable[[int], None] = lambda _: None) -> None:
        self._weigh = weigh
        # With the shape and the map, so that no others come to have their addresses.
        self._written: dict[tuple[int, int], tuple[Shape, Any, bytes]] = {}

    def text(self, shape: Shape, found: Any) -> bytes:
        """The JSON of one map."""
        known = self._written.get((id(shape), id(found)))
        if known is None:
            text = orjson.dumps(shape.read(found, self))
            self._written[id(shape), id(found)] = (shape, found, text)
            return text
        if len(known[2]) > _LONG:
            self._weigh(len(known[2]))
        return known[2]

    def piece(self, shape: Shape, found: Any) -> Json:
        """The same as a part of a value for `orjson.dumps`; null for nothing."""
        return None if found is None else orjson.Fragment(self.text(shape, found))

    def pieces(self, shape: Shape, found: Sequence[Any] | None) -> list[Json]:
        return [orjson.Fragment(self.text(shape, each)) for each in found or ()]


class Shape(Protocol):
    """What a selection is of a pulled value."""

    def read(self, found: Any, writer: JsonWriter) -> Json:
        """The value for `orjson.dumps`."""


@dataclass(frozen=True, slots=True)
class Constant:
    value: Json

    def read(self, found: Any, writer: JsonWriter) -> Json:
        return self.value


class TypeName(Constant):
    """`__typename`."""


@dataclass(frozen=True, slots=True)
class EntityId:
    """`id`."""

    def read(self, found: EdnMap, writer: JsonWriter) -> Json:
        return str(found[DB_ID])


def _several(value: Any) -> tuple[Any, ...]:
    """The values of an attribute, of which a past schema may have allowed one."""
    if value is None:
        return ()
    return value if type(value) is tuple else (value,)


def _one(value: Any) -> Any:
    """The value of an attribute; the first where a past schema allowed several."""
    return value[0] if type(value) is tuple else value


@dataclass(frozen=True, slots=True)
class ScalarField:
    """A value. type: of the values, as the attribute has it now; those of a past schema with another one are not
    shown. None: of any type."""

    key: str
    many: bool = False
    type: str | None = None

    def read(self, found: EdnMap, writer: JsonWriter) -> Json:
        value = found.get(self.key)
        if self.type is None:
            return list(map(json_value, _several(value))) if self.many else json_value(value)
        if self.many:
            return [json_value(each) for each in _several(value) if type_name(each) == self.type]
        value = _one(value)
        return json_value(value) if type_name(value) == self.type else None


@dataclass(frozen=True, slots=True)
class IdentField:
    """A ref that is shown by the ident of its target. names: those of the members of an enum; others are not shown.
    None: any ident, as text."""

    key: str
    many: bool
    names: Mapping[Keyword, str] | None

    def read(self, found: EdnMap, writer: JsonWriter) -> Json:
        value = found.get(self.key)
        if not self.many:
            return self._shown(_one(value))
        return [name for each in _several(value) if (name := self._shown(each)) is not None]

    def _shown(self, target: Any) -> Json:
        if not isinstance(target, EdnMap):
            return None
        ident = target.get(DB_IDENT)
        if self.names is None or ident is None:
            return json_value(ident)
        return self.names.get(ident)


@dataclass(frozen=True, slots=True)
class EntityField:
    """An entity, or a list of entities, that a field refers to."""

    key: str
    many: bool
    shape: Shape

    def read(self, found: EdnMap, writer: JsonWriter) -> Json:
        value = found.get(self.key)
        if self.many:
            return writer.pieces(self.shape, [each for each in _several(value) if isinstance(each, EdnMap)])
        value = _one(value)
        return writer.piece(self.shape, value) if isinstance(value, EdnMap) else None


@dataclass(frozen=True, slots=True)
class AttributesField:
    """All attributes of an entity, by their idents, but the hidden ones."""

    key: str
    hidden: frozenset[Keyword]

    def read(self, found: EdnMap, writer: JsonWriter) -> Json:
        value = found.get(self.key)
        return None if value is None else self._shown(value)

    def _shown(self, value: Any) -> Json:
        if isinstance(value, EdnMap):
            shown = ((key, each) for key, each in value.items() if key not in self.hidden)
            return {encode(key, Encoding.PLAIN): self._shown(each) for key, each in shown}
        return list(map(self._shown, value)) if type(value) is tuple else encode(value, Encoding.PLAIN)


@dataclass(frozen=True, slots=True)
class ObjectShape:
    """The fields that are selected of an object, by their response names."""

    fields: Mapping[str, Shape]

    def read(self, found: Any, writer: JsonWriter) -> Json:
        return {name: shape.read(found, writer) for name, shape in self.fields.items()}


@dataclass(frozen=True, slots=True)
class AnyEntityShape:
    """An entity of whatever type. types: each type that matters, in the order of declaration, with the keys of its
    anchors; the first of which one is there is the entity's. shapes: by type; `rest` is for all others."""

    types: Sequence[tuple[str, Sequence[str]]]
    shapes: Mapping[str, Shape]
    rest: ObjectShape

    def read(self, found: EdnMap, writer: JsonWriter) -> Json:
        name = next((name for name, keys in self.types if any(key in found for key in keys)), OTHER_ENTITY)
        shape = self.shapes.get(name)
        if shape is not None:
            return shape.read(found, writer)
        shown: dict[str, Json] = self.rest.read(found, writer)
        return shown | {key: name for key, each in self.rest.fields.items() if isinstance(each, TypeName)}
