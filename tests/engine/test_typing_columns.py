"""Columns of files as codes and keys: the short ways give what one value after the other gives."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from adalog.datalog.durations import Duration
from adalog.datalog.values import BigInt, Float, Keyword, Symbol, Uri
from adalog.pipeline.importing.files.rows import FileColumn
from adalog.pipeline.importing.read.typed_columns import INLINE, typed
from adalog.store.values import layout
from adalog.store.values.keys import inline_value, value_of_key
from adalog.store.values.scalars import from_file


def values(array: pa.Array, value_type: str, read_as: str | None = None, split: str | None = None) -> list[Any]:
    """(row, value) of all that can be read, then the rows that cannot, in order of rows."""
    found = typed(FileColumn.of(array), read_as or value_type, value_type, split)
    made = []
    for part in found.parts:
        for row, index in zip(part.rows.tolist(), part.index.tolist(), strict=True):
            key = part.keys[index]
            if part.domain == INLINE:
                code = int(key)
                tag = layout.tag_of(code)
                value = code if tag == 0 else inline_value(tag, code & layout.PAYLOAD_MASK)
            else:
                value = value_of_key(part.domain, key.as_py())
            made.append((row, value))
    return [*sorted(made, key=lambda pair: (pair[0], str(pair[1]))), *found.bad.tolist()]


DAY = datetime(2024, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("raw", "value_type", "value"),
    [
        (" 12 ", "long", 12),
        ("9223372036854775807", "long", 2**63 - 1),
        ("9223372036854775808", "long", None),
        ("1.0", "long", 1),
        ("12", "bigint", BigInt(12)),
        ("1e3", "double", 1000.0),
        ("-Infinity", "double", float("-inf")),
        ("1_0", "double", None),
        ("0.5", "float", Float(0.5)),
        ("1.50", "bigdec", Decimal("1.50")),
        ("1e999999", "bigdec", None),
        ("TRUE", "boolean", True),
        ("yes", "boolean", None),
        ("2024-05-01", "instant", DAY),
        ("2024-05-01T02:00:00+02:00", "instant", DAY),
        ("May 1", "instant", None),
        (" -P1Y14M ", "duration", Duration(-26)),
        ("P1,5D", "duration", None),
        ("a/b", "keyword", Keyword("a/b")),
        (":a", "keyword", Keyword("a")),
        ("a b", "keyword", None),
        ("a", "symbol", Symbol("a")),
        (" http://x ", "uri", Uri("http://x")),
        ("http://x/a b", "uri", None),
        ("<http://x>", "uri", None),
        ("eA==", "bytes", b"x"),
        ("f81d4fae-7dec-11d0-a765-00a0c91e6bf", "uuid", None),
        (3, "double", 3.0),
        (3.5, "long", None),
        (True, "long", None),
        (0, "instant", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_what_values_are_read_as(raw: Any, value_type: str, value: Any) -> None:
    found = from_file(value_type, raw)
    assert found == value
    assert type(found) is type(value)


def test_short_ways_are_as_long_ones() -> None:
    assert values(pa.array(["1", None, "-5"]), "long") == [(0, 1), (2, -5)]
    assert values(pa.array(["1", "+5", "x", ""]), "long") == [(0, 1), (1, 5), 2]
    assert values(pa.array([1, 2**62]), "long") == [(0, 1), (1, 2**62)]
    assert values(pa.array([0.5, None, 0.5]), "double") == [(0, 0.5), (2, 0.5)]
    assert values(pa.array(["0.5", "-0"]), "double") == [(0, 0.5), (1, 0.0)]
    assert values(pa.array(["a", "", None]), "string") == [(0, "a"), (1, "")]
    assert values(pa.array([True, False]), "boolean") == [(0, True), (1, False)]
    ticks = pa.array([-1000, 1000], pa.timestamp("us", "UTC"))
    assert values(ticks, "instant") == [
        (0, datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)),
        (1, datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)),
    ]


def test_several_values_in_one_column() -> None:
    assert values(pa.array(["a; b;", None, ";", "b"]), "string", split=";") == [(0, "a"), (0, "b"), (3, "b")]
    assert values(pa.array([["x", None], [], None, ["y"]]), "keyword") == [(0, Keyword("x")), (3, Keyword("y"))]
    assert values(pa.array(["1,x", "2"]), "long", split=",") == [(0, 1), (1, 2), 0]


def test_texts_that_mean_one_value_have_one_key() -> None:
    found = typed(FileColumn.of(pa.array(["1.0", "1.00", "1"])), "bigdec", "bigdec")
    [part] = found.parts
    assert len(part.keys) == 1
    assert part.index.tolist() == [0, 0, 0]


def test_read_as_one_type_and_kept_as_another() -> None:
    assert values(pa.array(["1.0", "1.5"]), "long", read_as="double") == [(0, 1), 1]


def test_dates_and_moments_that_python_does_not_have_cannot_be_read() -> None:
    days = pa.array([10**7, -(10**7), 0], pa.int32()).cast(pa.date32())
    assert values(days, "instant") == [(2, datetime(1970, 1, 1, tzinfo=UTC)), 0, 1]
    assert values(days, "long") == [0, 1, 2]
    last = pa.array([datetime(9999, 12, 31, 23, 59)], pa.timestamp("ms", "Europe/Berlin"))  # noqa: DTZ001
    assert values(last, "string") == [0]


def test_lists_of_a_fixed_size_may_be_null() -> None:
    lists = pa.array([None, [1, 2], [3, None]], pa.list_(pa.int32(), 2)).cast(pa.list_(pa.int32()))
    assert values(lists, "long") == [(1, 1), (1, 2), (2, 3)]
