"""Scalars of the typed surface: what inputs are read as, and what is refused with which example."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from graphql import GraphQLError, parse_value

from adalog.datalog.durations import Duration
from adalog.datalog.values import BigInt, Keyword, Symbol
from adalog.schema.typed.scalar_types import scalar_types

SCALARS = scalar_types()
ID = "6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21"


@pytest.mark.parametrize(
    ("name", "literal", "value"),
    [
        ("BigInt", "123456789012345678901234567890", BigInt(123456789012345678901234567890)),
        ("BigInt", '"-5"', BigInt(-5)),
        ("Decimal", "9.990000000000000000000000001", Decimal("9.990000000000000000000000001")),
        ("Decimal", '"1.50"', Decimal("1.50")),
        ("Decimal", "7", Decimal(7)),
        ("DateTime", '"2024-05-01T12:00:00Z"', datetime(2024, 5, 1, 12, tzinfo=UTC)),
        ("Duration", '"P1M2DT3H"', Duration.read("P1M2DT3H")),
        ("UUID", f'"{ID}"', UUID(ID)),
        ("Bytes", '"AQID"', b"\1\2\3"),
        ("Keyword", '":status/open"', Keyword("status/open")),
        ("Symbol", '"open"', Symbol("open")),
    ],
)
def test_inputs(name: str, literal: str, value: Any) -> None:
    found = SCALARS[name].parse_literal(parse_value(literal))
    assert found == value
    assert type(found) is type(value)
    if literal.startswith('"'):
        assert SCALARS[name].parse_value(literal[1:-1]) == value


@pytest.mark.parametrize(
    ("name", "given", "example"),
    [
        ("BigInt", 1.5, '5 or "5"'),
        ("BigInt", "1.0", '5 or "5"'),
        ("BigInt", True, '5 or "5"'),
        ("Decimal", "1,5", '9.99 or "9.99"'),
        ("Decimal", float("nan"), '9.99 or "9.99"'),
        ("DateTime", 5, '"2024-05-01T12:00:00Z"'),
        ("DateTime", "yesterday", '"2024-05-01T12:00:00Z"'),
        ("Duration", "1 day", '"P1M2DT3H"'),
        ("UUID", "6f1c", ID),
        ("Bytes", "not base64!", '"AQID"'),
        ("Keyword", "open", '":open"'),
        ("Keyword", [":open"], '":open"'),
        ("Decimal", {"a": 1}, '9.99 or "9.99"'),
        ("Bytes", None, '"AQID"'),
        ("Symbol", ":open", '"open"'),
    ],
)
def test_what_is_refused_comes_with_an_example(name: str, given: Any, example: str) -> None:
    with pytest.raises(GraphQLError) as refused:
        SCALARS[name].parse_value(given)
    assert refused.value.message.startswith(f"{name} cannot be read from")
    assert example in refused.value.message


@pytest.mark.parametrize(("name", "literal"), [("Keyword", "OPEN"), ("UUID", "{a: 1}"), ("DateTime", "[5]")])
def test_literals_of_other_kinds_are_refused(name: str, literal: str) -> None:
    with pytest.raises(GraphQLError, match=f"{name} cannot be read from"):
        SCALARS[name].parse_literal(parse_value(literal))
