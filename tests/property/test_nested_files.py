"""Nested values mean the same alone and among other rows, in any splits of the file."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from adalog.pipeline.importing.files.content import FileSplit, SourceFile
from adalog.pipeline.importing.files.json_lines import JsonFiles
from adalog.pipeline.importing.files.options import FileFormat
from adalog.pipeline.importing.files.parquet_files import ParquetFiles
from adalog.pipeline.importing.files.rows import FileColumn, FileRows, FileStructs, NestedColumns
from adalog.pipeline.importing.read.typed_columns import typed
from tests.property.test_files import ALONE, meanings_of

ROWS = int(os.environ.get("ADALOG_ROWS", "1000"))
TYPES = ("string", "long", "bigdec", "double")
PATHS = ("s.x", "s.y.z", "l.x", "m.k", "s.y")
INNER = NestedColumns("inner", "in", {"z": "z"})
NESTED = (
    NestedColumns("structs", "s", {"sx": "x", "sz": "y.z"}, frozenset({"x"})),
    NestedColumns("lists", "l", {"lx": "x", "lt": "t"}, frozenset({"x"}), nested=(INNER,)),
    NestedColumns("map", "m", {"mk": "key", "mv": "value"}, entries=True),
)


def meanings(rows: FileRows) -> list[Any]:
    """What each row has at the paths, and its structs."""
    found = [_columns({name: rows.columns[name] for name in PATHS}, rows.size)]
    found += [_structs(rows.structs[each.key], each, rows.size) for each in NESTED]
    malformed = set(rows.malformed.tolist())
    return ["malformed" if at in malformed else own for at, own in enumerate(zip(*found, strict=True))]


def _columns(columns: dict[str, FileColumn], size: int) -> list[Any]:
    every = [
        meanings_of(typed(column, kind, kind), size) for _, column in sorted(columns.items()) for kind in TYPES
    ]
    return [tuple(own) for own in zip(*every, strict=True)] if size else []


def _structs(structs: FileStructs, wanted: NestedColumns, size: int) -> list[Any]:
    count = len(structs.owners)
    every = [_columns({name: structs.columns[name] for name in wanted.names}, count)]
    every += [_structs(structs.nested[each.key], each, count) for each in wanted.nested]
    of_owner: list[list[Any]] = [[] for _ in range(size)]
    for at, owner in enumerate(structs.owners.tolist()):
        of_owner[owner].append(tuple(own[at] for own in every))
    for owner in structs.bad.tolist():
        of_owner[owner] = ["bad"]
    lists = set(structs.lists.tolist())
    return [(at in lists, *own) for at, own in enumerate(of_owner)]


def read(form: FileFormat, path: Path, size: int) -> list[Any]:
    file = SourceFile(0, str(path), path.name, path.stat().st_size)
    found: list[Any] = []
    for start, stop in pairwise([*form.starts(file, size), None]):
        assert start is not None
        for rows in form.rows(FileSplit(file, start, stop), PATHS, {"s.x", "l.x"}, NESTED):
            found += meanings(rows)
    return found


def any_value(rng: Random, depth: int) -> Any:
    """Anything that JSON has; names of the paths are likely."""
    if depth and rng.random() < 0.6:
        if rng.random() < 0.3:
            return [any_value(rng, depth - 1) for _ in range(rng.randrange(4))]
        names = ("x", "y", "z", "y.z", "t", "in", "k", "key")
        return {name: any_value(rng, depth - 1) for name in rng.sample(names, rng.randrange(5))}
    return rng.choice([None, 1, 2**70, 0.5, 1e300, 12345678901234567, True, "a", "", "5", "é"])


def line(rng: Random) -> bytes:
    row = {name: any_value(rng, 4) for name in ("s", "l", "m", "s.x", "l.x") if rng.random() < 0.8}
    # Exact numbers, which a double would change.
    return json.dumps(row).replace("12345678901234567", "12345678901234567.25").encode() + b"\n"


def test_nested_json_means_the_same_alone(tmp_path: Path) -> None:
    rng, path = Random(5), tmp_path / "x.jsonl"
    lines = [line(rng) for _ in range(ROWS)]
    path.write_bytes(b"".join(lines))
    whole = read(JsonFiles(), path, 1 << 30)
    assert len(whole) == ROWS
    for size in (5_000, 30_000):
        assert read(JsonFiles(), path, size) == whole
    path.write_bytes(b"".join(reversed(lines)))
    assert read(JsonFiles(), path, 1 << 30)[::-1] == whole
    for at in range(ALONE):
        path.write_bytes(lines[at])
        assert read(JsonFiles(), path, 1 << 30) == whole[at : at + 1], lines[at]


SCHEMA = pa.schema(
    {
        "s": pa.struct([("x", pa.decimal128(20, 2)), ("y", pa.struct([("z", pa.string())]))]),
        "l": pa.list_(
            pa.struct([("x", pa.int64()), ("t", pa.list_(pa.string())), ("in", pa.struct([("z", pa.float64())]))])
        ),
        "m": pa.map_(pa.string(), pa.int64()),
    }
)


def row(rng: Random) -> dict[str, Any]:
    def some(value: Any) -> Any:
        return None if rng.random() < 0.2 else value

    def struct() -> dict[str, Any]:
        return {
            "x": some(rng.randrange(5)),
            "t": some([some(rng.choice("ab")) for _ in range(rng.randrange(3))]),
            "in": some({"z": some(rng.random())}),
        }

    return {
        "s": some({"x": some(rng.randrange(9)), "y": some({"z": some(rng.choice("pq"))})}),
        "l": some([some(struct()) for _ in range(rng.randrange(4))]),
        "m": some([(key, some(rng.randrange(3))) for key in rng.sample("klm", rng.randrange(3))]),
    }


def test_nested_parquet_means_the_same_alone_and_as_json(tmp_path: Path) -> None:
    rng, path = Random(6), tmp_path / "x.parquet"
    rows = [row(rng) for _ in range(ROWS)]
    table = pa.Table.from_pylist(rows, SCHEMA)

    def parquet(own: pa.Table, group: int) -> list[Any]:
        pq.write_table(own, path, row_group_size=group)
        return read_plain(ParquetFiles(), path)

    whole = parquet(table, 1 << 20)
    assert len(whole) == ROWS
    assert parquet(table, 37) == whole
    for at in range(ALONE):
        assert parquet(table.slice(at, 1), 1) == whole[at : at + 1]
    lines = [json.dumps(each | {"m": None if each["m"] is None else dict(each["m"])}) for each in rows]
    (tmp_path / "x.jsonl").write_text("".join(f"{each}\n" for each in lines))
    assert read_plain(JsonFiles(), tmp_path / "x.jsonl") == whole


PLAIN = ("s.x", "s.y.z", "l.x", "m.k")


def read_plain(form: FileFormat, path: Path) -> list[Any]:
    """As `read`, without the path that ends with a struct, which Parquet refuses."""
    found: list[Any] = []
    file = SourceFile(0, str(path), path.name, path.stat().st_size)
    for rows in form.rows(FileSplit(file), PLAIN, {"s.x"}, NESTED):
        own = [_columns({name: rows.columns[name] for name in PLAIN}, rows.size)]
        own += [_structs(rows.structs[each.key], each, rows.size) for each in NESTED]
        found += zip(*own, strict=True)
    return found
