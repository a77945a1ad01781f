"""Values as plain JSON and back: what an answer shows can be handed back, and nothing else is read into text."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adalog.datalog.values import identity, type_name
from adalog.schema.writing.encoding import Encoding, decode, encode
from adalog.store.values.attribute import VALUE_TYPES
from adalog.store.values.scalars import from_json
from tests.datalog.strategies import scalars

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(scalars)
def test_what_plain_json_shows_is_read_back(value: Any) -> None:
    kind = type_name(value)
    assume(kind in VALUE_TYPES)
    shown = orjson.loads(orjson.dumps(encode(value, Encoding.PLAIN)))
    assert identity(from_json(kind, decode(shown))) == identity(value), shown


@given(st.sampled_from(sorted(VALUE_TYPES - {"ref", "tuple"})), JSON)
def test_a_reading_has_the_type_and_is_read_again_as_itself(kind: str, value: Any) -> None:
    read = from_json(kind, decode(value))
    if read is not None:
        assert type_name(read) == kind
        assert identity(from_json(kind, read)) == identity(read)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("keyword", "open"),
        ("keyword", ":"),
        ("keyword", ":a b"),
        ("keyword", ":a ;b"),
        ("keyword", ":a]"),
        ("keyword", "#_ :a"),
        ("keyword", " :a"),
        ("instant", "yesterday"),
        ("instant", "2024-13-01"),
        ("instant", '2024-05-01" #_ "'),
        ("instant", "1714564800000"),
        ("uuid", "6f1c3b9e"),
        ("uuid", "{6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21}"),
        ("uuid", '6f1c3b9e-0d7e-4c7a-9a53-0b8c2a3f6e21" "'),
        ("long", "3.0"),
        ("long", "9223372036854775808"),
        ("long", "1e3"),
        ("long", "٣"),
        ("long", "0x10"),
        ("long", ""),
        ("bigint", "3.5"),
        ("bigdec", "1e300000000"),
        ("bigdec", "NaN"),
        ("bigdec", "9,99"),
        ("bigdec", "9.99M"),
        ("double", "2.5"),
        ("boolean", "true"),
        ("symbol", "true"),
        ("symbol", "a b"),
        ("symbol", "12"),
        ("bytes", "AQI"),
        ("bytes", "A Q I D"),
        ("uri", ""),
    ],
)
def test_text_that_is_none(kind: str, text: str) -> None:
    assert from_json(kind, text) is None


@pytest.mark.parametrize(("value", "digits"), [(9.99, "9.99"), (0.1, "0.1"), (1e22, "1E+22"), (10, "10")])
def test_a_number_is_the_bigdec_that_was_written(value: float, digits: str) -> None:
    assert from_json("bigdec", value) == Decimal(digits)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_no_bigdec_is_infinite(value: float) -> None:
    assert from_json("bigdec", value) is None
