"""The contract's three scalars: EDN text, any JSON value, and Long, a 64-bit integer that JavaScript can read."""

from __future__ import annotations

from typing import Any, NewType

import strawberry
from graphql import GraphQLError

from adalog.schema.writing.longs import write_long

EDN = NewType("EDN", str)
JSON = NewType("JSON", object)
Long = NewType("Long", int)

_MIN, _MAX = -(2**63), 2**63 - 1


def read_long(value: Any) -> int:
    """A JSON integer, or a string that holds one."""
    number: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    elif isinstance(value, str) and len(value) <= 20 and value.lstrip("-").isdecimal() and value.isascii():
        number = int(value) if value.count("-") <= 1 else None
    if number is None:
        raise GraphQLError(f"Long is a 64-bit integer, as a number or a string of digits; got {_quote(value)}")
    if not _MIN <= number <= _MAX:
        raise GraphQLError(f"Long is a 64-bit integer; {_quote(value)} does not fit")
    return number


def read_edn(value: Any) -> str:
    """EDN travels as a JSON string."""
    if not isinstance(value, str):
        example = f'"{value}"' if type(value) is int else '"[:find ?e :where …]"'
        raise GraphQLError(f"EDN is text in a string, such as {example}; got {_quote(value)}")
    return value


def _quote(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


SCALARS: dict[object, Any] = {
    EDN: strawberry.scalar(
        name="EDN",
        serialize=lambda value: value,
        parse_value=read_edn,
    ),
    JSON: strawberry.scalar(name="JSON", serialize=lambda value: value, parse_value=lambda value: value),
    Long: strawberry.scalar(
        name="Long",
        serialize=write_long,
        parse_value=read_long,
    ),
}
