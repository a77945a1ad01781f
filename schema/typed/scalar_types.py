"""The scalars of the typed surface, beside those of the fixed one. Inputs become values of the database's types."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from graphql import (
    FloatValueNode,
    GraphQLError,
    GraphQLScalarType,
    IntValueNode,
    StringValueNode,
    ValueNode,
    print_ast,
)

from adalog.datalog.errors import quoted
from adalog.store.values.scalars import WRITTEN, from_json

_TYPES: Final = {
    "BigInt": ("bigint", "An integer of any size: a JSON number while |x| < 2^53, else a string."),
    "Decimal": ("bigdec", "An exact decimal, as text. A JSON number is read as the shortest decimal that it is."),
    "DateTime": ("instant", "A moment in milliseconds: ISO 8601, in UTC where it has no offset."),
    "Duration": ("duration", "An ISO 8601 duration, such as `P1M2DT3H`."),
    "UUID": ("uuid", "A UUID as text."),
    "URI": ("uri", "A URI as text."),
    "Bytes": ("bytes", "Bytes as base64."),
    "Keyword": ("keyword", "A keyword with its colon, such as `:status/open`."),
    "Symbol": ("symbol", "A symbol as text."),
}
# A part of a second below a millisecond.
_FINER: Final = re.compile(r"\.\d{3}0*[1-9]")
# Of JSON and of literals; no booleans, lists and objects.
_GIVEN: Final = frozenset({str, int, float, Decimal})


def _read(name: str, value_type: str) -> Callable[[Any], Any]:
    def read(given: Any) -> Any:
        found = from_json(value_type, given) if type(given) in _GIVEN else None
        if found is not None and name == "DateTime" and _FINER.search(str(given)):
            raise GraphQLError(f"DateTime has milliseconds, and {_shown(given)} has more digits; leave them out")
        if found is None:
            raise GraphQLError(f"{name} cannot be read from {_shown(given)}; write one as {WRITTEN[value_type][1]}")
        return found

    return read


def _shown(given: Any) -> str:
    return quoted(given if isinstance(given, str) else repr(given))


def _read_literal(name: str, read: Callable[[Any], Any]) -> Callable[..., Any]:
    """Of numbers every digit counts."""

    def read_literal(node: ValueNode, _: Any = None) -> Any:
        if isinstance(node, StringValueNode):
            return read(node.value)
        if isinstance(node, IntValueNode):
            return read(int(node.value))
        if isinstance(node, FloatValueNode):
            return read(Decimal(node.value))
        return read(print_ast(node))

    return read_literal


def scalar_types() -> dict[str, GraphQLScalarType]:
    """By name."""
    made = {}
    for name, (value_type, text) in _TYPES.items():
        read = _read(name, value_type)
        made[name] = GraphQLScalarType(
            name, parse_value=read, parse_literal=_read_literal(name, read), description=text
        )
    return made
