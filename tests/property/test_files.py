"""Rows of files mean the same alone and among others, and the same as other programs read them."""

from __future__ import annotations

import codecs
import json
import math
import os
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from adalog.pipeline.importing.files import content
from adalog.pipeline.importing.files.content import FileSplit, SourceFile, is_divisible
from adalog.pipeline.importing.files.csv_files import CsvFiles
from adalog.pipeline.importing.files.json_lines import JsonFiles
from adalog.pipeline.importing.files.options import FileFormat
from adalog.pipeline.importing.files.parquet_files import ParquetFiles
from adalog.pipeline.importing.read.typed_columns import TypedColumn, spelt_key, typed
from adalog.store.values.coercion import coerced

TYPES = (
    "string",
    "long",
    "bigint",
    "double",
    "float",
    "bigdec",
    "boolean",
    "instant",
    "keyword",
    "uuid",
    "bytes",
    "duration",
)
ROWS = int(os.environ.get("ADALOG_ROWS", "2000"))
# Rows that are read alone.
ALONE = ROWS if "ADALOG_ROWS" in os.environ else 80
COLUMNS = ("a", "b", "c")

JSON_VALUES = (
    *(
        '"x"',
        '""',
        '" "',
        '"5"',
        '"1.0"',
        '":k"',
        '"P1M2D"',
        '"2024-05-01"',
        '"2024-05-01T00:00:00.1234Z"',
        '"\\ud83d\\ude00"',
    ),
    *("5", "-0", "1.0", "1e3", "0.1", "1E-7", "9007199254740993", "9007199254740993.0", "18446744073709551616"),
    *("-9223372036854775809", "12345678901234567.25", "1e999", '"\\ud83d\\ude00"', "true", "false", "null", "{}"),
    *(
        "[]",
        '["a", "b"]',
        '[1, 2.5, "c"]',
        "[[1]]",
        '[1, {"d": 2}]',
        "[0.1, 18446744073709551616]",
        '"\\ud800"',
        "NaN",
        "01",
        "",
    ),
)
CSV_CELLS = (
    *(
        "",
        '""',
        "x",
        " x ",
        '"x"',
        '"a\nb"',
        '"a\r\nb"',
        '"say ""hi"""',
        "5",
        "007",
        "1.0",
        "1.",
        ".5",
        "1e3",
        "##Inf",
    ),
    *(
        "9007199254740993",
        "true",
        "TRUE",
        "2024-05-01",
        "2024-05-01 10:00:00.1234",
        ":k",
        'x"y',
        '"x"y',
        "é",
        "NaN",
    ),
)


def numbers(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def lines_of_json(count: int) -> list[str]:
    chance = numbers(1)
    lines = []
    for _ in range(count):
        members = [f'"{name}": {chance.choice(JSON_VALUES)}' for name in COLUMNS if chance.random() < 0.9]
        lines.append("{" + ", ".join(members) + "}" if chance.random() < 0.98 else str(chance.choice(JSON_VALUES)))
    return [line if line.strip() else "{}" for line in lines]


def lines_of_csv(count: int) -> list[str]:
    chance = numbers(2)
    sizes = chance.choice([3, 3, 3, 3, 3, 3, 3, 3, 2, 4], count)
    return [",".join(chance.choice(CSV_CELLS, size)) for size in sizes]


def read(form: FileFormat, path: Path, written: bytes, size: int) -> list[tuple[Any, ...]]:
    """For each row what it means by column and type, or that it is malformed; by splits of about this size."""
    path.write_bytes(written)
    file = SourceFile(0, str(path), path.name, len(written))
    starts = [*form.starts(file, size), None]
    found: list[tuple[Any, ...]] = []
    for start, stop in pairwise(starts):
        assert start is not None
        for rows in form.rows(FileSplit(file, start, stop), COLUMNS, set(COLUMNS)):
            meanings = [
                meanings_of(typed(rows.columns[name], kind, kind), rows.size) for name in COLUMNS for kind in TYPES
            ]
            malformed = set(rows.malformed.tolist())
            found += [
                ("malformed",) if number in malformed else tuple(each[number] for each in meanings)
                for number in range(rows.size)
            ]
    return found


def meanings_of(column: TypedColumn, size: int) -> list[Any]:
    """The keys of each row's values, or "bad"."""
    found: list[Any] = [[] for _ in range(size)]
    for part in column.parts:
        keys = part.keys.tolist() if isinstance(part.keys, np.ndarray) else part.keys.to_pylist()
        for row, index in zip(part.rows.tolist(), part.index.tolist(), strict=True):
            found[row].append((part.domain, keys[index]))
    for row in column.bad.tolist():
        found[row] = ["bad"]
    return [tuple(sorted(each, key=repr)) for each in found]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_row_means_the_same_alone(form: str, tmp_path: Path) -> None:
    reader: FileFormat = CsvFiles(header=True) if form == "csv" else JsonFiles()
    lines = lines_of_csv(ROWS) if form == "csv" else lines_of_json(ROWS)
    head = b"a,b,c\n" if form == "csv" else b""
    # A line of nothing is no row.
    alone = [
        read(reader, tmp_path / "x", head + line.encode() + b"\n", 1 << 30) for line in dict.fromkeys(lines[:ALONE])
    ]
    each = dict(zip(dict.fromkeys(lines[:ALONE]), alone, strict=True))
    few = read(reader, tmp_path / "x", head + "".join(f"{line}\n" for line in lines[:ALONE]).encode(), 1 << 30)
    assert few == [row for line in lines[:ALONE] for row in each[line]]
    every = head + "".join(f"{line}\n" for line in lines).encode()
    whole = read(reader, tmp_path / "x", every, 1 << 30)
    assert whole[: len(few)] == few
    for size in (5_000, 30_000):
        assert read(reader, tmp_path / "x", every, size) == whole
    backwards = head + "".join(f"{line}\n" for line in reversed(lines)).encode()
    assert read(reader, tmp_path / "x", backwards, 1 << 30)[::-1] == whole


@pytest.mark.parametrize("form", ["csv", "json"])
@pytest.mark.parametrize(
    ("encoding", "letter", "is_divided"),
    [
        ("cp1252", "\u20ac", True),
        ("koi8-r", "\u0436", True),
        ("utf-8-sig", "\u20ac", True),
        ("utf-16", "\U0001f600", False),
        ("shift_jis", "\u8868", False),
    ],
)
def test_an_encoding_means_the_same_in_any_splits(
    form: str, encoding: str, letter: str, is_divided: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As UTF-8 does."""
    monkeypatch.setattr(content, "PIECE", 1_500)
    lines = [line for line in lines_of_csv(300) if '"y' not in line] if form == "csv" else lines_of_json(200)
    lines = [line.replace("x", letter).replace("\xe9", letter) for line in lines]
    text = ("a,b,c\n" if form == "csv" else "") + "".join(f"{line}\n" for line in lines)
    name = codecs.lookup("utf-8" if encoding == "utf-8-sig" else encoding).name
    in_utf8: FileFormat = CsvFiles(header=True) if form == "csv" else JsonFiles()
    reader: FileFormat = CsvFiles(header=True, encoding=name) if form == "csv" else JsonFiles(encoding=name)
    wanted = read(in_utf8, tmp_path / "x", text.encode(), 1 << 30)
    encoded = text.encode(encoding)
    for size in (1 << 30, 2_000):
        assert read(reader, tmp_path / "x", encoded, size) == wanted
    file = SourceFile(0, str(tmp_path / "x"), "x", len(encoded))
    assert (len(list(reader.starts(file, 2_000))) > 1) is is_divided


def test_encodings_of_several_bytes_are_not_divided(tmp_path: Path) -> None:
    file = SourceFile(0, str(tmp_path / "x"), "x", 9)
    assert all(is_divisible(file, name) for name in ("utf-8", "cp1252", "iso8859-1", "koi8-r", "mac-roman"))
    several = ("utf-16", "utf-32", "shift_jis", "gb18030", "big5", "iso2022_jp", "hz", "utf-7", "cp500", "euc_jp")
    assert not any(is_divisible(file, name) for name in several)


def test_parquet_means_the_same_alone_and_in_any_row_groups(tmp_path: Path) -> None:
    chance = numbers(3)
    times = chance.choice([0, 1_000, 1_500_000, 1_000_001_000, -1_000], ROWS)
    table = pa.table(
        {
            "a": pa.array(times, pa.timestamp("us"), mask=times == 0),
            "b": pa.array([[f"{n}", None] if n % 3 else None for n in range(ROWS)], pa.list_(pa.string())),
            "c": pa.array(chance.choice([0.5, 1.0, float("nan"), 2.0**60], ROWS)),
        }
    )
    reader, found = ParquetFiles(), []
    for size in (ROWS, 7):
        pq.write_table(table, tmp_path / "x.parquet", row_group_size=size)
        written = (tmp_path / "x.parquet").read_bytes()
        found += [read(reader, tmp_path / "x", written, bytes_) for bytes_ in (1 << 30, 3000)]
    assert found[0] == found[1] == found[2] == found[3]
    alone = [tmp_path / "one.parquet"]
    for number in range(ALONE):
        pq.write_table(table.slice(number, 1), alone[0])
        assert read(reader, tmp_path / "x", alone[0].read_bytes(), 1 << 30) == [found[0][number]]


def meant(kind: str, value: Any) -> Any:
    """A value of Python's JSON reader, with exact numbers, as a type; None if it is none."""
    if kind == "string":
        return value if type(value) is str else None
    if kind == "boolean":
        return value if type(value) is bool else None
    if type(value) not in (int, Decimal):
        return None
    if kind == "double":
        return coerced("double", value) if type(value) is int else finite(float(value))
    if kind == "bigdec":
        return Decimal(value) if abs(Decimal(value).adjusted()) < 400 else None
    return coerced(kind, Decimal(value)) if value == int(value) else None


def finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def refused(constant: str) -> Any:
    raise ValueError(constant)


def test_json_is_what_python_reads(tmp_path: Path) -> None:
    # Python takes half a surrogate pair for a text.
    lines = [line for line in lines_of_json(ROWS) if "ud800" not in line]
    (tmp_path / "x").write_text("".join(f"{line}\n" for line in lines))
    split = FileSplit(SourceFile(0, str(tmp_path / "x"), "x", 1))
    [rows] = JsonFiles().rows(split, COLUMNS, set(COLUMNS))
    found = {
        (name, kind): meanings_of(typed(rows.columns[name], kind, kind), rows.size)
        for name in COLUMNS
        for kind in EXACT
    }
    malformed = []
    for number, line in enumerate(lines):
        try:
            row = json.loads(line, parse_float=Decimal, parse_constant=refused)
        except ValueError:
            row = None
        if type(row) is not dict:
            malformed.append(number)
            continue
        for name, kind in found:
            given = row.get(name)
            values = [each for each in (given if type(given) is list else [given]) if each is not None]
            if kind != "string" and any(type(each) is str for each in values):
                # The table of the docs says what is read from texts.
                continue
            wanted = [meant(kind, each) for each in values]
            keys = ["bad"] if None in wanted else sorted(map(spelt_key, wanted), key=repr)
            assert found[name, kind][number] == tuple(keys), (line, name, kind)
    assert rows.malformed.tolist() == malformed


EXACT = ("string", "boolean", "long", "bigint", "bigdec", "double")
NATIVE: dict[str, pa.DataType] = {
    "long": pa.int32(),
    "bigint": pa.uint64(),
    "double": pa.float64(),
    "bigdec": pa.decimal128(38, 10),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "bytes": pa.binary(),
    "instant": pa.timestamp("us", "UTC"),
}


def cell(chance: np.random.Generator, kind: str) -> Any:
    number = int(chance.integers(-(2**31), 2**31))
    match kind:
        case "bigint":
            return [0, 2**53 + 1, 2**63, 2**64 - 1][number % 4]
        case "double":
            return [0.0, 0.1, float("inf"), 2.0**60, number / 7][number % 5]
        case "bigdec":
            return Decimal(number).scaleb(-(number % 11))
        case "boolean":
            return number % 2 == 0
        case "string":
            return ["", "x", "a\r\nb", "é😀", str(number)][number % 5]
        case "bytes":
            return [b"", b"\0\xff", str(number).encode()][number % 3]
        case "instant":
            return datetime(1, 1, 1, tzinfo=UTC) + timedelta(milliseconds=(number + 2**31) * 73_000)
    return number


def test_cells_of_parquet_are_those_that_other_readers_find(tmp_path: Path) -> None:
    """PyArrow, and DuckDB where it is installed."""
    chance = numbers(4)
    table = pa.table(
        {
            kind: pa.array([None if chance.random() < 0.1 else cell(chance, kind) for _ in range(ROWS)], type_)
            for kind, type_ in NATIVE.items()
        }
    )
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=333)
    readers = [table.to_pydict()]
    with suppress(ImportError):
        import duckdb

        duckdb.sql("SET timezone = 'UTC'")
        query = f"SELECT * REPLACE (instant::TIMESTAMP AS instant) FROM '{tmp_path / 'x.parquet'}'"
        columns = dict(zip(NATIVE, map(list, zip(*duckdb.sql(query).fetchall(), strict=True)), strict=True))
        columns["instant"] = [each and each.replace(tzinfo=UTC) for each in columns["instant"]]
        readers.append(columns)
    found: dict[str, list[Any]] = {kind: [] for kind in NATIVE}
    split = FileSplit(SourceFile(0, str(tmp_path / "x.parquet"), "x", 1))
    for rows in ParquetFiles().rows(split, tuple(NATIVE), ()):
        for kind, own in found.items():
            own += meanings_of(typed(rows.columns[kind], kind, kind), rows.size)
    for reader in readers:
        for kind, values in reader.items():
            wanted = [() if each is None else (spelt_key(coerced(kind, each)),) for each in values]
            assert found[kind] == wanted


def test_cells_are_those_that_other_readers_find(tmp_path: Path) -> None:
    """PyArrow on the whole file, and DuckDB where it is installed."""
    lines = [line for line in lines_of_csv(ROWS) if line.count(",") == 2 and 'x"y' not in line and "é" not in line]
    path = tmp_path / "x.csv"
    path.write_text("a,b,c\n" + "".join(f"{line}\n" for line in lines), newline="")
    file = SourceFile(0, str(path), path.name, path.stat().st_size)
    form = CsvFiles(header=True)
    for rows_of in (form._fast, form._slow):
        [(piece, _)] = form._pieces(FileSplit(file))
        found = rows_of(piece, COLUMNS, COLUMNS).columns
        table = pa.table({name: found[name].values for name in COLUMNS})
        other = pyarrow.csv.read_csv(
            path,
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(COLUMNS, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        assert table.to_pylist() == other.to_pylist()
    duckdb = pytest.importorskip("duckdb")
    options = "all_varchar=true, header=true, quote='\"', escape='\"', allow_quoted_nulls=false"
    query = f"SELECT * FROM read_csv('{path}', {options})"
    assert [tuple(row.values()) for row in table.to_pylist()] == duckdb.sql(query).fetchall()
