"""The table of the docs: what each type takes of texts, of JSON and of EDN."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from adalog.pipeline.importing.files.content import FileSplit, SourceFile
from adalog.pipeline.importing.files.csv_files import CsvFiles
from adalog.pipeline.importing.files.json_lines import JsonLines
from adalog.pipeline.importing.files.options import FileFormat
from adalog.pipeline.importing.files.rows import FileColumn
from adalog.pipeline.importing.read.edn_columns import TupleShape, values_of
from adalog.pipeline.importing.read.typed_columns import TypedColumn, typed

DOCS = Path(__file__).parents[2] / "docs" / "importing.md"
NOTATIONS = ("text", "JSON", "EDN")


def cases() -> Iterator[tuple[str, str, str, bool]]:
    """Type, notation, what stands in a file, and whether it is taken."""
    table = DOCS.read_text().split("### Values")[1].split("Instants without a zone")[0]
    for line in re.findall(r"^\| (.*) \|$", table, re.MULTILINE)[2:]:
        types, *cells = line.split(" | ")
        for kind in types.split(", "):
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


@pytest.mark.parametrize(("kind", "notation", "written", "taken"), list(cases()))
def test_what_a_type_takes(kind: str, notation: str, written: str, taken: bool, tmp_path: Path) -> None:
    file = tmp_path / "x"
    if notation == "JSON":
        assert is_value(read(JsonLines(), file, f'{{"v": {written}}}\n', kind)) is taken
    elif notation == "EDN":
        column = values_of(pa.array([written]), np.zeros(1, np.int32), kind, TupleShape(), lambda _: None)
        assert is_value(column) is taken
    else:
        assert is_value(read(CsvFiles(header=True), file, f"v\n{written}\n", kind)) is taken
        assert is_value(read(JsonLines(), file, f'{{"v": "{written}"}}\n', kind)) is taken
        assert is_value(typed(FileColumn.of(pa.array([written])), kind, kind)) is taken


def test_the_table_is_read() -> None:
    assert {kind for kind, *_ in cases()} >= {"long", "bigint", "double", "boolean", "instant", "uuid"}
