"""Introspection as JSON: what a document selects of `__schema` or `__type`, without graphql-core's executor.

A schema of a thousand attributes mentions its types many thousand times. The text of a type is written once for
each place of the selection, and what reads a field is put together once for each place. What fields tell is
graphql-core's own: its resolvers of introspection are called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, Final

import orjson
from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLLeafType,
    GraphQLList,
    GraphQLObjectType,
    GraphQLSchema,
    get_named_type,
    get_nullable_type,
    is_leaf_type,
)

from adalog.executor.bounds.cancel import Cancel
from adalog.schema.typed.selection import Selected

Write = Callable[[Any], bytes]

_NULL: Final = b"null"
_TYPE: Final = "__Type"


class IntrospectionWriter:
    """Writes parts of one schema."""

    def __init__(self, schema: GraphQLSchema, cancel: Cancel) -> None:
        self._cancel = cancel
        self._info: Any = SimpleNamespace(schema=schema)

    def text(self, field: GraphQLField, chosen: Selected) -> bytes:
        """The JSON of a root field."""
        return self._field(field, chosen)(None)

    def _field(self, field: GraphQLField, chosen: Selected) -> Write:
        """What writes a field of a given object."""
        resolve, info, arguments = field.resolve, self._info, chosen.arguments
        assert resolve is not None, "fields of introspection have resolvers"
        kind: Any = get_named_type(field.type)
        write = _leaf(kind) if is_leaf_type(kind) else self._object(kind, chosen.of(kind.name))
        if not isinstance(get_nullable_type(field.type), GraphQLList):
            return lambda source: write(resolve(source, info, **arguments))

        def items(source: Any) -> bytes:
            found: Iterable[Any] | None = resolve(source, info, **arguments)
            return _NULL if found is None else b"[" + b",".join(map(write, found)) + b"]"

        return items

    def _object(self, kind: GraphQLObjectType, fields: tuple[Selected, ...]) -> Write:
        """What writes an object of a type of introspection."""
        parts = [(orjson.dumps(each.key) + b":", self._member(kind, each)) for each in fields]
        known: dict[int, bytes] = {}

        def write(found: Any) -> bytes:
            if found is None:
                return _NULL
            self._cancel.check()
            return b"{" + b",".join([key + member(found) for key, member in parts]) + b"}"

        def write_once(found: Any) -> bytes:
            # The schema holds its types, so that no others come to have their addresses.
            text = known.get(id(found))
            if text is None:
                text = known[id(found)] = write(found)
            return text

        return write_once if kind.name == _TYPE else write

    def _member(self, kind: GraphQLObjectType, chosen: Selected) -> Write:
        if chosen.field == "__typename":
            name = orjson.dumps(kind.name)
            return lambda _: name
        return self._field(kind.fields[chosen.field], chosen)


def _leaf(kind: GraphQLLeafType) -> Write:
    """What writes a string, a boolean, or a member of an enum; each may be null."""
    if not isinstance(kind, GraphQLEnumType):
        return orjson.dumps
    names = {each.value: orjson.dumps(name) for name, each in kind.values.items()}
    return names.__getitem__
