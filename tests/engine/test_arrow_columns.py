"""Columns of codes as Arrow: each value that there is once, nil as null, types as told."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.edn import write
from adalog.datalog.values import BigInt, Char, Float, Keyword, Symbol, Uri
from adalog.executor.answer.arrow_columns import arrow_column
from adalog.store.values.codes import Codes, Scratch

TEXT = pa.dictionary(pa.int32(), pa.string())
KINDS: dict[str, tuple[pa.DataType, list[Any], Any]] = {
    "long": (pa.int64(), [1, -5, 2**63 - 1, -(2**63)], int),
    "double": (pa.float64(), [1.5, 0.0, -2.0], float),
    "float": (pa.float32(), [Float(1.5), Float(-2)], float),
    "boolean": (pa.bool_(), [True, False], bool),
    "instant": (pa.timestamp("ms", "UTC"), [datetime(2024, 1, 2, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)], None),
    "bytes": (pa.large_binary(), [b"", b"a"], None),
    "bigdec": (pa.decimal128(38, 2), [Decimal("1.55"), Decimal(7)], None),
    "string": (TEXT, ["a", "", "bé"], str),
    "keyword": (TEXT, [Keyword("a"), Keyword("a/b")], lambda each: f":{each.name}"),
    "symbol": (TEXT, [Symbol("a")], lambda each: each.name),
    "uri": (TEXT, [Uri("http://a")], str),
    "uuid": (TEXT, [UUID(int=7), UUID(int=8)], str),
    "bigint": (TEXT, [BigInt(10**40), BigInt(1)], str),
    "mixed": (TEXT, [1, "a", Keyword("a"), Char("a"), (1, "x"), 1.5, True], write),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("own", [False, True])
@given(st.data())
def test_a_column(kind: str, own: bool, data: st.DataObject) -> None:
    wanted, values, shown = KINDS[kind]
    shown = shown or (lambda each: each)
    nil = data.draw(st.sampled_from([[], [None]]))
    rows = [*values, *data.draw(st.lists(st.sampled_from([*values, *nil]), max_size=20))]
    coder = Scratch(Codes()) if own else Codes()
    column = arrow_column(np.array([coder.intern(each) for each in rows], np.int64), coder)
    assert column.type == wanted
    assert column.to_pylist() == [None if each is None else shown(each) for each in rows]
    column.validate(full=True)
    if wanted == TEXT:
        assert len(column.dictionary) == len(values)


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_without_rows_has_the_same_type(kind: str) -> None:
    if kind == "mixed":
        return
    codes, wanted = Codes(), KINDS[kind][0]
    column = arrow_column(np.empty(0, np.int64), codes, kind)
    # Digits behind the point are those of the values.
    assert column.type == (pa.decimal128(38, 0) if kind == "bigdec" else wanted)
    column.validate(full=True)


@pytest.mark.parametrize("rows", [0, 3])
def test_no_values(rows: int) -> None:
    codes = Codes()
    column = arrow_column(np.full(rows, codes.intern(None), np.int64), codes)
    assert column.to_pylist() == [None] * rows
    assert column.type == pa.null()
