"""The tables of the docs: what each type takes of texts, of JSON, of Parquet, of EDN and in transactions; nulls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adalog.datalog.errors import AdalogError
from adalog.pipeline.importing.files.content import FileSplit, SourceFile
from adalog.pipeline.importing.files.csv_files import CsvFiles
from adalog.pipeline.importing.files.json_lines import JsonFiles
from adalog.pipeline.importing.files.options import FileFormat
from adalog.pipeline.importing.files.parquet_files import ParquetFiles
from adalog.pipeline.importing.files.rows import FileColumn
from adalog.pipeline.importing.read.edn_columns import TupleShape, values_of
from adalog.pipeline.importing.read.typed_columns import TypedColumn, typed
from adalog.store.database import Database

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "import-formats.md"
NOTATIONS = ("text", "JSON", "Parquet", "EDN")
MOMENT = datetime(2024, 5, 1, 10, tzinfo=UTC)
COLUMNS: Final = {
    **{
        str(kind): (1, kind)
        for kind in (pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64())
    },
    "halffloat": (np.float16(1), pa.float16()),
    "decimal": (Decimal("3.0"), pa.decimal128(20, 4)),
    "bool": (True, pa.bool_()),
    "binary": (b"abc", pa.binary()),
    "uuid": (bytes(range(16)), pa.binary(16)),
    "date32": (MOMENT.date(), pa.date32()),
    "date64": (MOMENT.date(), pa.date64()),
    "timestamp[s]": (MOMENT, pa.timestamp("s")),
    "timestamp[ns, UTC]": (MOMENT, pa.timestamp("ns", "UTC")),
    "timestamp[us] 0.0001": (MOMENT.replace(microsecond=100), pa.timestamp("us")),
    "duration[s]": (timedelta(hours=3), pa.duration("s")),
    "duration[us]": (timedelta(hours=3), pa.duration("us")),
    "duration[us] 0.0001": (timedelta(microseconds=100), pa.duration("us")),
    "2e60": (2.0**60, pa.float64()),
    "2^63": (2**63, pa.uint64()),
    "2^63-1": (2**63 - 1, pa.int64()),
}
"""A value and the type of its column, by what the table calls them."""


def table() -> Iterator[tuple[str, list[str]]]:
    """Type, and the cells of its row."""
    text = DOCS.read_text().split("## Values")[1].split("Instants without a zone")[0]
    for line in re.findall(r"^\| (.*) \|$", text, re.MULTILINE)[2:]:
        types, *cells = line.split(" | ")
        yield from ((kind, cells) for kind in types.split(", "))


def cases() -> Iterator[tuple[str, str, str, bool]]:
    """Type, notation, what stands in a file, and whether it is taken."""
    for kind, cells in table():
        for notation, cell in zip(NOTATIONS, cells, strict=True):
            taken, _, refused = cell.partition("not ")
            yield from ((kind, notation, each, True) for each in re.findall("`(.+?)`", taken))
            yield from ((kind, notation, each, False) for each in re.findall("`(.+?)`", refused))


def read(form: FileFormat, file: Path, content: str, kind: str) -> TypedColumn | None:
    """None where the row breaks its format."""
    file.write_text(content)
    [rows] = form.rows(FileSplit(SourceFile(0, str(file), file.name, len(content))), ("v",), {"v"})
    return None if len(rows.malformed) else typed(rows.columns["v"], kind, kind)


def is_value(column: TypedColumn | None) -> bool:
    return column is not None and not len(column.bad) and bool(column.parts)


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database.open(":memory:") as database:
        kinds = dict.fromkeys(kind for kind, _ in table())
        forms = (f"{{:db/ident :v/{kind} :db/valueType :db.type/{kind}}}" for kind in kinds)
        database.transact(f"[{' '.join(forms)}]")
        yield database


def is_transacted(database: Database, kind: str, written: str) -> bool:
    try:
        database.transact(f"[{{:v/{kind} {written}}}]")
    except AdalogError:
        return False
    return True


@pytest.mark.parametrize(("kind", "notation", "written", "taken"), list(cases()))
def test_what_a_type_takes(
    database: Database, kind: str, notation: str, written: str, taken: bool, tmp_path: Path
) -> None:
    file = tmp_path / "x"
    if notation == "JSON":
        assert is_value(read(JsonFiles(), file, f'{{"v": {written}}}\n', kind)) is taken
    elif notation == "EDN":
        column = values_of(pa.array([written]), np.zeros(1, np.int32), kind, TupleShape(), lambda _: None)
        assert is_value(column) is taken
        assert is_transacted(database, kind, written) is taken
    elif notation == "Parquet":
        value, type_ = COLUMNS[written]
        pq.write_table(pa.table({"v": pa.array([value], type_)}), file)
        split = FileSplit(SourceFile(0, str(file), file.name, file.stat().st_size))
        [rows] = ParquetFiles().rows(split, ("v",), ())
        assert is_value(typed(rows.columns["v"], kind, kind)) is taken
    else:
        assert is_value(read(CsvFiles(header=True), file, f"v\n{written}\n", kind)) is taken
        assert is_value(read(JsonFiles(), file, f'{{"v": "{written}"}}\n', kind)) is taken
        assert is_value(typed(FileColumn.of(pa.array([written])), kind, kind)) is taken


def test_the_table_is_read() -> None:
    types = {"long", "bigint", "double", "float", "bigdec", "boolean", "string", "instant", "keyword", "symbol"}
    assert {kind for kind, *_ in cases()} == types | {"uuid", "uri", "bytes", "duration"}


NULLS: Final[dict[str, list[tuple[FileFormat, str]]]] = {
    "CSV: nothing between": [
        (CsvFiles(header=True, null="NA"), text) for text in ("v,w\n,1\n", "w,v\n1\n", "v,w\nNA,1\n")
    ],
    "JSON: `null`": [(JsonFiles(), f"{{{text}}}\n") for text in ('"v": null', '"w": 1', '"v": []', '"v": [null]')],
    '`""` in CSV': [(CsvFiles(header=True), 'v\n""\n'), (JsonFiles(), '{"v": ""}\n')],
    "blanks": [(CsvFiles(header=True), "v,w\n  ,1\n"), (JsonFiles(), '{"v": "  "}\n')],
    "`nullValue` in quotes": [
        (CsvFiles(header=True, null="NA"), 'v\n"NA"\n'),
        (CsvFiles(header=True), "v\nnull\n"),
        (JsonFiles(), '{"v": "null"}\n'),
    ],
}
OF_PARQUET: Final = {
    "JSON: `null`": [pa.array([None], pa.string()), pa.array([[]], pa.list_(pa.string())), pa.nulls(1)],
    '`""` in CSV': [pa.array([""])],
    "blanks": [pa.array(["  "])],
    "`nullValue` in quotes": [pa.array(["null"])],
}


def meaning(column: TypedColumn) -> str:
    if len(column.bad):
        return "rejected"
    texts = [key.decode() for part in column.parts for key in part.keys.take(pa.array(part.index)).to_pylist()]
    return "no value" if not texts else "the empty text" if texts == [""] else "the text"


def test_what_means_no_value(tmp_path: Path) -> None:
    table = DOCS.read_text().split("What means no value:")[1]
    lines = re.findall(r"^\| (.*) \| (.*) \| (.*) \|$", table, re.MULTILINE)[2:7]
    assert len(lines) == len(NULLS)
    for (said, text, other), (begins, files) in zip(lines, NULLS.items(), strict=True):
        assert said.startswith(begins)
        wanted: dict[str, Any] = {
            "string": "the text" if text == "the blanks" else text,
            "long": "rejected" if "rejected" in other else other,
        }
        for kind, meant in wanted.items():
            for form, content in files:
                column = read(form, tmp_path / "x", content, kind)
                assert column is not None
                assert meaning(column) == meant, (said, kind, content)
            for values in OF_PARQUET.get(begins, ()):
                assert meaning(typed(FileColumn.of(values), kind, kind)) == meant, (said, kind, values)
