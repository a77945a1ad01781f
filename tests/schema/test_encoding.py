"""Values as JSON: PLAIN to read, TAGGED to lose nothing, EDN as text, and JSON arguments back as values."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog import edn
from adalog.datalog.values import BigInt, Keyword, identity
from adalog.schema.writing.encoding import Encoding, TagError, decode, encode, encode_column, encode_rows

CASES: list[tuple[str, Any, Any]] = [
    ("nil", None, None),
    ("true", True, True),
    ("42", 42, 42),
    ("9007199254740991", 9007199254740991, 9007199254740991),
    ("9007199254740992", "9007199254740992", {"#long": "9007199254740992"}),
    ("-9007199254740993", "-9007199254740993", {"#long": "-9007199254740993"}),
    ("7N", 7, {"#bigint": "7"}),
    (
        "123456789012345678901234567890N",
        "123456789012345678901234567890",
        {"#bigint": "123456789012345678901234567890"},
    ),
    ("1.5", 1.5, 1.5),
    ("##Inf", "Infinity", {"#double": "Infinity"}),
    ("1.10M", "1.10", {"#dec": "1.10"}),
    ('"Ada"', "Ada", "Ada"),
    (":person/name", ":person/name", {"#kw": "person/name"}),
    ("person/name", "person/name", {"#sym": "person/name"}),
    ("\\a", "a", {"#char": "a"}),
    ('#inst "1815-12-10T01:02:03.004Z"', "1815-12-10T01:02:03.004Z", {"#inst": "1815-12-10T01:02:03.004Z"}),
    (
        '#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"',
        "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        {"#uuid": "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"},
    ),
    ('#bytes "AQL/"', "AQL/", {"#bytes": "AQL/"}),
    ('#uri "http://a.b/c"', "http://a.b/c", {"#uri": "http://a.b/c"}),
    ('[1 "a" :b]', [1, "a", ":b"], [1, "a", {"#kw": "b"}]),
    ("(1 2)", [1, 2], {"#list": [1, 2]}),
    ("#{2 1}", [1, 2], {"#set": [1, 2]}),
    ('{"a" 1}', {"a": 1}, {"a": 1}),
    ("{:a 1}", {":a": 1}, {"#map": [[{"#kw": "a"}, 1]]}),
    ('{"#kw" 1}', {"#kw": 1}, {"#map": [["#kw", 1]]}),
]


@pytest.mark.parametrize(("text", "plain", "tagged"), CASES, ids=[case[0] for case in CASES])
def test_each_kind_of_value(text: str, plain: Any, tagged: Any) -> None:
    value = edn.read(text)
    assert encode(value, Encoding.PLAIN) == plain
    assert encode(value, Encoding.TAGGED) == tagged
    assert identity(edn.read(encode(value, Encoding.EDN))) == identity(value)
    assert identity(decode(orjson.loads(orjson.dumps(tagged)))) == identity(value)


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers().map(BigInt),
    st.floats(),
    st.decimals(allow_nan=False, allow_infinity=False, places=6),
    st.text(st.characters(exclude_categories=("Cs",))),
    st.from_regex(r"[a-z][a-z0-9]{0,5}(/[a-z]{1,5})?", fullmatch=True).map(Keyword),
    st.datetimes(datetime(1, 1, 2), datetime(9998, 1, 1)).map(  # noqa: DTZ001
        lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=UTC)
    ),
    st.uuids(),
    st.binary(),
)
nested = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=12)


@given(nested)
def test_tagged_loses_nothing(value: Any) -> None:
    wire = orjson.dumps(encode(value, Encoding.TAGGED))
    assert identity(decode(orjson.loads(wire))) == identity(value)


@given(nested)
def test_edn_loses_nothing(value: Any) -> None:
    assert identity(edn.read(encode(value, Encoding.EDN))) == identity(value)


COLUMNS: list[tuple[str, list[Any]]] = [
    ("long", [1, -5, 2**53, 2**62]),
    ("long", []),
    ("ref", [1, 2, 3]),
    ("string", ["a", "ü", ""]),
    ("boolean", [True, False]),
    ("double", [1.0, -0.5, math.inf]),
    ("keyword", [Keyword("a/b"), Keyword("a/b"), Keyword("c")]),
    ("instant", [datetime(2024, 5, 1, tzinfo=UTC)]),
    ("uuid", [UUID(int=5)]),
    ("bigdec", [Decimal("1.50")]),
    ("any", [1, 1.0, True, "1", Keyword("x"), (1, "a")]),
]


@pytest.mark.parametrize("encoding", list(Encoding))
@pytest.mark.parametrize(("kind", "column"), COLUMNS)
def test_a_column_is_its_values(kind: str, column: list[Any], encoding: Encoding) -> None:
    assert list(encode_column(column, kind, encoding)) == [encode(value, encoding) for value in column]


def test_rows_under_edn_are_one_text_each() -> None:
    rows = encode_rows([[1, 2], ["a", "b"]], ["long", "string"], Encoding.EDN)
    assert [edn.read(row) for row in rows] == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ({"#nope": 1}, "#nope"),
        ({"#kw": 1}, "#kw"),
        ({"#kw": "a b"}, "a b"),
        ({"#kw": "a] ["}, "a] ["),
        ({"#uuid": "x"}, "#uuid"),
        ({"#inst": "yesterday"}, "yesterday"),
        ({"#long": "9223372036854775808"}, "64 bits"),
        ({"#long": 1.5}, "integer"),
        ({"#bytes": "*"}, "#bytes"),
        ({"#dec": "one"}, "#dec"),
        ({"#set": [1, 1]}, "#set"),
        ({"#set": 1}, "list"),
        ([{"#bigint": None}], "#bigint"),
    ],
)
def test_a_wrong_tag_is_refused_with_its_content(argument: Any, says: str) -> None:
    with pytest.raises(TagError) as caught:
        decode(argument)
    assert says in str(caught.value)


def test_plain_arguments_stay_what_they_are() -> None:
    assert identity(decode([1, 1.0, "x", ":x", True, None])) == identity((1, 1.0, "x", ":x", True, None))
    assert identity(decode(2**70)) == identity(BigInt(2**70))
