"""Columns are read by Arrow where their texts are plain, others one by one: one table of cases for both ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from adalog.pipeline.importing.files.rows import FileColumn
from adalog.pipeline.importing.read import edn_columns, typed_columns
from adalog.pipeline.importing.read.edn_columns import TupleShape
from adalog.pipeline.importing.read.typed_columns import TypedColumn

FILE = {
    "string": ("", " a ", "é", '"'),
    "long": ("0", "-0", "7", "-12", "0012", "99999999999999999", "12345678901234567"),
    "double": ("0", "-0.0", "0.1", "2.50", "-123456789012345.123456789012345", "100"),
    "bigdec": (
        *("0", "-0", "0.0", "-0.00", "100", "-1.50", "0.000001", "-0.0000010", "12345678901234567890.125000000"),
        *("0.0000001", "1e3", "007", ".5", "10.0100"),
    ),
}
EDN = {
    "string": ('""', '"a b"', '"é"'),
    "keyword": (":a", ":a/b", ":a.b/c-d", ":*x?"),
    "long": ("0", "7", "-12", "12345678901234567"),
    "double": ("0.0", "-0.5", "1e3", "1.5E-3", "12345678901234567.25"),
    "boolean": ("true", "false"),
    "instant": ('#inst "2024-05-01T12:30:00.125-00:00"', '#inst "0001-01-01T00:00:00.000-00:00"'),
    "uuid": ('#uuid "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"',),
}


def keys(column: TypedColumn) -> list[tuple[int, Any]]:
    """(domain, key) of the one value."""
    return [(part.domain, pa.scalar(part.keys[int(part.index[0])]).as_py()) for part in column.parts]


@pytest.mark.parametrize(("value_type", "text"), [(kind, text) for kind, texts in FILE.items() for text in texts])
def test_texts_of_files_mean_the_same_by_the_column_and_one_by_one(value_type: str, text: str) -> None:
    array = pa.array([text])
    rows = typed_columns.typed(FileColumn.of(array), value_type, value_type)
    single = typed_columns.one_by_one(
        array, np.zeros(1, np.int32), lambda raw: typed_columns.constant(raw, value_type, value_type)
    )
    assert keys(rows) == keys(single)


@pytest.mark.parametrize(("value_type", "text"), [(kind, text) for kind, texts in EDN.items() for text in texts])
def test_edn_texts_mean_the_same_by_the_column_and_one_by_one(value_type: str, text: str) -> None:
    array = pa.array([text])
    pattern, read = edn_columns._SHORT[value_type]
    assert pc.match_substring_regex(array, pattern)[0].as_py()
    single = edn_columns._reader(value_type, TupleShape(), lambda _: None)(text)
    part = read(array, np.zeros(1, np.int32))
    assert keys(TypedColumn([part], part.rows[:0])) == [single]
