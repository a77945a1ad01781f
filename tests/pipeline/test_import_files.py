"""Files as people write them: nothing is misread in silence, and what cannot be read is said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.pipeline.importing.read.mapping_reader import read_mapping
from adalog.pipeline.importing.write.loading import ImportOutcome, load
from adalog.store.database import Database
from tests.pipeline.pipeline_in_process import InProcess

SCHEMA = """[
 {:db/ident :p/id :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :p/long :db/valueType :db.type/long} {:db/ident :p/bigint :db/valueType :db.type/bigint}
 {:db/ident :p/bigdec :db/valueType :db.type/bigdec}]"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        yield database


def source(path: str, *names: str, **more: Any) -> dict[str, Any]:
    attributes = {f"p/{name}": name for name in names}
    return {"path": path, "entity": {"attribute": "p/id", "column": "id"}, "attributes": attributes, **more}


def imported(database: Database, folder: Path, sources: dict[str, Any], max_errors: int = 0) -> ImportOutcome:
    (folder / "mapping.yaml").write_text(json.dumps({"sources": sources}))
    plan = read_mapping(folder / "mapping.yaml", {})
    return load(database, InProcess(), plan, max_errors=max_errors, quarantine=folder / "quarantine")


def facts(database: Database) -> dict[str, dict[str, Any]]:
    """By :p/id, what is said of each, lists of what there is several of."""
    snapshot = database.snapshot()
    found: dict[int, dict[str, Any]] = {}
    for datom in snapshot.datoms("EAVT"):
        if datom.a.namespace == "p":
            found.setdefault(datom.e, {}).setdefault(datom.a.local, []).append(datom.v)
    return {
        each["id"][0]: {name: own[0] if len(own) == 1 else own for name, own in each.items() if name != "id"}
        for each in found.values()
    }


HEADER = {"header": True}


def test_csv_as_others_write_it(database: Database, tmp_path: Path) -> None:
    (tmp_path / "quotes.csv").write_text(
        'id,name,note\r\na,"say ""hi"", ok",n\r\nb,"C:\\",n\r\nc,"a\\"\r\nd,5" pipe,n\r\n', newline=""
    )
    (tmp_path / "breaks.csv").write_text('id,name,note\ne,"two\nlines",n\nf,F,"x\r\ny"\n', newline="")
    (tmp_path / "others.csv").write_text("id|name|note\ng|'it''s|\nme'|n\n")
    (tmp_path / "old.csv").write_text('id,name,note\nh,"say \\"hi\\", ok\nme",n\n')
    (tmp_path / "wide.csv").write_bytes("id,name,note\ni,ä€,n\n".encode("utf-16-le"))
    (tmp_path / "latin.csv").write_bytes("id,name,note\nj,ä,n\n".encode("latin-1"))
    (tmp_path / "odd [x].csv").write_text("\ufeffid,na`me,note\nk,K,n\n")
    odd = source("odd [x].csv", "note", options=HEADER)
    odd["attributes"]["p/name"] = "na`me"
    names = ("name", "note")
    sources = {
        "quotes": source("quotes.csv", *names, options=HEADER),
        "breaks": source("breaks.csv", *names, options=HEADER),
        "others": source("others.csv", *names, options={**HEADER, "sep": "|", "quote": "'"}),
        "old": source("old.csv", *names, options={**HEADER, "escape": "\\"}),
        "wide": source("wide.csv", *names, options={**HEADER, "encoding": "UTF-16LE"}),
        "latin": source("latin.csv", *names, options={**HEADER, "encoding": "ISO-8859-1"}),
        "odd": odd,
    }
    outcome = imported(database, tmp_path, sources)
    assert outcome.rejected == 0
    assert facts(database) == {
        "a": {"name": 'say "hi", ok', "note": "n"},
        "b": {"name": "C:\\", "note": "n"},
        "c": {"name": "a\\"},
        "d": {"name": '5" pipe', "note": "n"},
        "e": {"name": "two\nlines", "note": "n"},
        "f": {"name": "F", "note": "x\r\ny"},
        "g": {"name": "it's|\nme", "note": "n"},
        "h": {"name": 'say "hi", ok\nme', "note": "n"},
        "i": {"name": "ä€", "note": "n"},
        "j": {"name": "ä", "note": "n"},
        "k": {"name": "K", "note": "n"},
    }


def test_lines_that_are_not_what_the_format_says(database: Database, tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text("id,name\na,A\nb,B,more\nc\nd,,\n")
    (tmp_path / "bad.jsonl").write_text('{"id": "e", "name": "E"}\n{bad\n"text"\n{"id": "f"}\n')
    sources = {"csv": source("long.csv", "name", options=HEADER), "json": source("bad.jsonl", "name")}
    outcome = imported(database, tmp_path, sources, max_errors=3)
    assert (outcome.rows, outcome.rejected) == (8, 3)
    assert facts(database) == {"a": {"name": "A"}, "c": {}, "d": {}, "e": {"name": "E"}, "f": {}}
    told = [
        (each["line"], each["reason"].split(" ")[:3])
        for file in sorted((tmp_path / "quarantine").iterdir())
        for each in map(json.loads, file.read_text().splitlines())
    ]
    more, json_ = ["the", "line", "has"], ["the", "line", "is"]
    assert told == [(3, more), (2, json_), (3, json_)]


def test_a_part_of_many_need_not_have_every_key(database: Database, tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text('{"id": "a", "name": "A"}\n{"id": "b", "nick": null}\n')
    (tmp_path / "2.jsonl").write_text('{bad\n{"name": "nobody"}\n')
    (tmp_path / "3.jsonl").write_text('{"id": "c", "nick": 5}\n')
    (tmp_path / "mapping.yaml").write_text(json.dumps({"sources": {"x": source("*.jsonl", "name", "nick")}}))
    plan = read_mapping(tmp_path / "mapping.yaml", {})
    rejected = 0
    for number in (1, 2, 3):
        part = plan.of_files({"x": [str(tmp_path / f"{number}.jsonl")]})
        rejected += load(database, InProcess(), part, max_errors=2, quarantine=tmp_path / "quarantine").rejected
    assert rejected == 2
    assert facts(database) == {"a": {"name": "A"}, "b": {}, "c": {"nick": 5}}


def test_numbers_of_json_are_exact(database: Database, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(
        '{"id": "a", "long": 9007199254740993, "bigint": 1234567890123456789012345678901234567890, "bigdec": 0.1}\n'
        '{"id": "b", "long": 1.0, "bigint": 1e3, "bigdec": 12345678901234567.25}\n'
        '{"id": "c", "long": 0.5, "bigint": 1, "bigdec": 1}\n'
    )
    outcome = imported(database, tmp_path, {"x": source("x.jsonl", "long", "bigint", "bigdec")}, 1)
    assert outcome.rejected == 1
    assert facts(database) == {
        "a": {"long": 2**53 + 1, "bigint": 1234567890123456789012345678901234567890, "bigdec": Decimal("0.1")},
        "b": {"long": 1, "bigint": 1000, "bigdec": Decimal("12345678901234567.25")},
    }


def test_moments_that_nothing_can_show_are_rejected(database: Database, tmp_path: Path) -> None:
    moments = pa.array([0, 300_000_000_000_000_000, -300_000_000_000_000_000, -1000], pa.timestamp("us"))
    pq.write_table(pa.table({"id": ["a", "b", "c", "d"], "at": moments}), tmp_path / "x.parquet")
    outcome = imported(database, tmp_path, {"x": source("x.parquet", "at")}, 2)
    assert outcome.rejected == 2
    assert facts(database) == {
        "a": {"at": datetime(1970, 1, 1, tzinfo=UTC)},
        "d": {"at": datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)},
    }


def test_moments_as_spark_writes_them(database: Database, tmp_path: Path) -> None:
    """INT96, far from 1970."""
    moments = [datetime(1, 1, 1, tzinfo=UTC), datetime(1600, 2, 29, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)]
    finer = datetime(2024, 1, 1, 0, 0, 0, 1, UTC)
    table = pa.table({"id": ["a", "b", "c", "d"], "at": pa.array([*moments, finer], pa.timestamp("us", "UTC"))})
    pq.write_table(table, tmp_path / "x.parquet", use_deprecated_int96_timestamps=True, store_schema=False)
    assert imported(database, tmp_path, {"x": source("x.parquet", "at")}, 1).rejected == 1
    assert facts(database) == {name: {"at": at} for name, at in zip("abc", moments, strict=True)}


def test_times_as_pandas_has_them(database: Database, tmp_path: Path) -> None:
    times = pa.array([1_500_000_999, None, -1], pa.timestamp("ns"))
    zoned = pa.array([0, -1_000_000, -1_000_001], pa.timestamp("ns", "Europe/Berlin"))
    table = pa.table({"id": ["a", "b", "c"], "at": times, "on": zoned, "n": [1, 2, 3]})
    pq.write_table(table, tmp_path / "x.parquet")
    keys = pa.array([bytes(range(16))], pa.binary(16))
    pq.write_table(pa.table({"id": ["d"], "key": keys}), tmp_path / "y.parquet")
    database.transact("[{:db/ident :p/key :db/valueType :db.type/uuid}]")
    sources = {"x": source("x.parquet", "at", "on", "n"), "y": source("y.parquet", "key")}
    assert imported(database, tmp_path, sources, 9).rejected == 2
    assert set(facts(database)) == {"b", "d"}
    sources["x"]["attributes"] = {f"p/{name}": {"column": name, "round": "milliseconds"} for name in ("at", "on")}
    assert imported(database, tmp_path, sources).rejected == 0
    first = datetime(1970, 1, 1, tzinfo=UTC)
    ms = timedelta(milliseconds=1)
    assert facts(database) == {
        "a": {"at": first + 1500 * ms, "on": first},
        "b": {"on": first - ms, "n": 2},
        "c": {"at": first, "on": first - ms},
        "d": {"key": UUID(bytes=bytes(range(16)))},
    }


def test_files_of_a_folder_may_differ(database: Database, tmp_path: Path) -> None:
    """In columns, in the width of numbers, in how texts are stored; columns that are not mapped do not matter."""
    folder = tmp_path / "in"
    folder.mkdir()
    times = pa.array([1], pa.time64("us"))
    tables: list[dict[str, Any]] = [
        {"id": ["a"], "long": pa.array([1], pa.int32()), "double": pa.array([0.5], pa.float32()), "odd": times},
        {"long": pa.array([2**40], pa.int64()), "id": pa.array(["b"]).dictionary_encode(), "name": ["B"]},
        {"id": ["c"], "double": pa.array([2], pa.uint16()), "long": pa.array([Decimal(3)]), "odd": ["x"]},
        {"id": ["d"], "long": pa.nulls(1), "name": pa.nulls(1), "double": pa.array([0.25], pa.float64())},
        {"id": ["e"], "long": ["5"], "odd": pa.array([{"x": 1}])},
    ]
    for number, columns in enumerate(tables):
        pq.write_table(pa.table(columns), folder / f"{number}.parquet")
    database.transact("[{:db/ident :p/double :db/valueType :db.type/double}]")
    outcome = imported(database, tmp_path, {"x": source("in", "long", "double", "name", format="parquet")})
    assert outcome.rejected == 0
    assert facts(database) == {
        "a": {"long": 1, "double": 0.5},
        "b": {"long": 2**40, "name": "B"},
        "c": {"long": 3, "double": 2.0},
        "d": {"double": 0.25},
        "e": {"long": 5},
    }


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"ID": ["a"]}, "2.parquet has no column id (did you mean ID?)"),
        ({"id": ["a"], "name": pa.array([1], pa.time32("s"))}, "column name of"),
    ],
)
def test_columns_that_cannot_be_read_are_named(
    database: Database, tmp_path: Path, columns: dict[str, Any], why: str
) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"id": ["z"], "name": ["Z"]}), tmp_path / "in" / "1.parquet")
    pq.write_table(pa.table(columns), tmp_path / "in" / "2.parquet")
    with pytest.raises(AdalogError) as caught:
        imported(database, tmp_path, {"x": source("in", "name", format="parquet")})
    assert why in caught.value.message
    twice = pa.table([["a"], ["A"], ["B"]], names=["id", "name", "name"])
    pq.write_table(twice, tmp_path / "in" / "2.parquet")
    with pytest.raises(AdalogError, match="has several columns name; give them names of their own"):
        imported(database, tmp_path, {"x": source("in", "name", format="parquet")})
    assert imported(database, tmp_path, {"x": source("in", format="parquet")}).rejected == 0


@pytest.mark.parametrize(
    ("files", "options", "why"),
    [
        (
            {"1.csv": b"id,name\na,A\n", "2.csv": b"id,nam\nB,b\n"},
            HEADER,
            "2.csv has no column name (did you mean nam?); its columns are id, nam",
        ),
        ({"1.csv": b"id,name,name\na,A,B\n"}, HEADER, "1.csv has several columns name"),
        (
            {"1.csv": b"id,Name\na,A\n"},
            HEADER,
            "source x has no column name (did you mean Name?); its columns are id, Name",
        ),
        (
            {"1.csv": b"id,name\na,A\n"},
            {},
            "its columns are _c0, _c1; if the first line has the names, write options: {header: true}",
        ),
        (
            {"1.csv": b"id,name\na,A\n", "2.csv": b"ID,name\nB,b\n"},
            HEADER,
            "2.csv has no column id (did you mean ID?); its columns are ID, name",
        ),
        ({"1.csv": "id,name\na,ä\n".encode("latin-1")}, HEADER, "1.csv is not UTF-8; say how it is encoded"),
        (
            {"1.csv": "id,name\na,ä\n".encode("utf-16")},
            HEADER,
            "say how it is encoded, as `options: {encoding: utf-16}`",
        ),
        (
            {"1.csv": b"id,name\na,\x81\n"},
            {**HEADER, "encoding": "windows-1252"},
            "1.csv is not cp1252; say how it is encoded",
        ),
        ({"1.csv.gz": b"\x1f\x8b\x08garbage"}, HEADER, "1.csv.gz cannot be read"),
        ({"1.jsonl": b'[{"id": "a",\n"name": "A"}]\n'}, {}, "say `options: {multiLine: true}`"),
        ({"1.parquet": b"PAR1garbagePAR1"}, {}, "1.parquet cannot be read"),
        ({"_1.csv": b"id,name\na,A\n"}, HEADER, "whose names begin with _ or . do not count"),
    ],
)
def test_what_cannot_be_read_is_refused(
    database: Database, tmp_path: Path, files: dict[str, bytes], options: Any, why: str
) -> None:
    (tmp_path / "in").mkdir()
    for name, content in files.items():
        (tmp_path / "in" / name).write_bytes(content)
    form = next(iter(files)).removesuffix(".gz").rpartition(".")[2]
    with pytest.raises(AdalogError) as caught:
        imported(database, tmp_path, {"x": source("in", "name", format=form, options=options)})
    assert caught.value.code is Code.ARG_INVALID
    assert why in caught.value.message
    assert not (tmp_path / "data" / "importing").exists()
