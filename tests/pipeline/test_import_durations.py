"""Durations of files: Arrow's in Parquet, Parquet's own intervals, texts of CSV, JSON and EDN, also undeclared."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from adalog.datalog.durations import Duration
from adalog.datalog.errors import AdalogError
from adalog.store.database import Database
from tests.pipeline.exports_in_process import exported, held, loaded
from tests.pipeline.test_import_files import HEADER, facts, imported, source

# DuckDB's COPY of a: INTERVAL 1 month 2 days 3 hours, b: NULL, c: INTERVAL 100 years 5 milliseconds. PyArrow
# writes none.
INTERVALS = """
eNpNkM9Kw0AQxmdDGnpoKz3MsgtBopAQJYZWLXioYCUXxUPxLIQkm2Jo/kDa5tCTD+LRB+h7+Aq+i07iQZf9Zndnf9/OsMvF8xQBj/HUQ4M2BhoA
RzcMAKI2xG1I6GKPj/+IW3FC+UUPGgYvLaKR3j4/4KBDN3ok1OR8BmKodslaxeEmeU2LCHXAgQ1Cy5RNyAgFakLfVtXaPgduSFN6Dpg4kAiyhVDj
Br/jgdOfC5YIFnFwu3U8BmlSP1SGarWeUefp3upc74znztPDH8S/GDecPj8wsgrzty8/K7dp3UR5GOdVVYSrLKezGJZVXUR5tk/VRTMF4QZEB/dW
k9abrCqt5tKf+BPLjXdZriw1u07iOL1SqzPpmQA04Zu0pO/9AVCTQPs="""
SCHEMA = """[{:db/ident :p/id :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :p/text :db/valueType :db.type/string} {:db/ident :p/took :db/valueType :db.type/duration}]"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        yield database


def test_arrow_durations_of_each_unit(database: Database, tmp_path: Path) -> None:
    hours = timedelta(hours=-3, milliseconds=-7)
    units = {unit: pa.array([hours, None, timedelta()], pa.duration(unit)) for unit in ("ms", "us", "ns")}
    lists = pa.array([[timedelta(seconds=1), timedelta(days=2)], [], None], pa.list_(pa.duration("s")))
    table = pa.table({"id": ["a", "b", "c"], **units, "many": lists})
    pq.write_table(table, tmp_path / "in.parquet")
    names = (*units, "many")
    outcome = imported(database, tmp_path, {"x": source("in.parquet", *names, format="parquet")})
    assert outcome.rejected == 0
    found = facts(database)
    wanted = Duration(milliseconds=-10_800_007)
    days = [Duration(milliseconds=1000), Duration(milliseconds=172_800_000)]
    assert found["a"].pop("many") in (days, days[::-1])
    assert found == {
        "a": dict.fromkeys(units, wanted),
        "b": {},
        "c": dict.fromkeys(units, Duration()),
    }


def test_intervals_of_parquet(database: Database, tmp_path: Path) -> None:
    (tmp_path / "in.parquet").write_bytes(zlib.decompress(base64.b64decode(INTERVALS)))
    outcome = imported(database, tmp_path, {"x": source("in.parquet", "took", format="parquet")})
    assert outcome.rejected == 0
    assert facts(database) == {
        "a": {"took": Duration(1, 2, 10_800_000)},
        "b": {},
        "c": {"took": Duration(1200, 0, 5)},
    }


def test_durations_that_are_rejected(database: Database, tmp_path: Path) -> None:
    least = -(2**63) + 1
    fine = pa.array([1_000, 1_500, least], pa.duration("us"))
    large = pa.array([2**62, -(2**62), 1], pa.duration("s"))
    pq.write_table(pa.table({"id": ["a", "b", "c"], "took": fine, "long": large}), tmp_path / "in.parquet")
    outcome = imported(database, tmp_path, {"x": source("in.parquet", "took", format="parquet")}, max_errors=2)
    assert outcome.rejected == 2
    assert facts(database) == {"a": {"took": Duration(milliseconds=1)}}
    rejects = [
        json.loads(line)
        for path in (tmp_path / "quarantine").rglob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert {each["row"]["id"]: each["reason"] for each in rejects} == {
        each["row"]["id"]: f':p/took: "{each["row"]["took"]}" of column took has more than milliseconds; '
        "`round: milliseconds` reads it"
        for each in rejects
    }
    assert len(rejects) == 2
    assert all(each["row"]["took"].lstrip("-").startswith("PT") for each in rejects)
    outcome = imported(database, tmp_path, {"x": source("in.parquet", "long", format="parquet")}, max_errors=2)
    assert outcome.rejected == 2
    assert facts(database)["c"] == {"long": Duration(milliseconds=1000)}
    # A time is no text, nor a number.
    text = source("in.parquet", format="parquet") | {"attributes": {"p/text": "took"}}
    assert imported(database, tmp_path, {"x": text}, max_errors=3).rejected == 3


def test_durations_are_rounded_where_the_mapping_says_so(database: Database, tmp_path: Path) -> None:
    """Halves away from zero, so that a duration and its opposite stay opposites; as texts and in any unit."""
    least, most = -(2**63), 2**63 - 1
    ticks = [1_499, 1_500, -1_499, -1_500, -2_500, 0, most, least]
    microseconds = pa.array(ticks, pa.duration("us"))
    nanoseconds = pa.array([tick * 1000 if abs(tick) < 10**9 else tick for tick in ticks], pa.duration("ns"))
    texts = [
        "PT0.0014999S",
        "PT0.0015S",
        " -PT0.001499S",
        "P-1DT-0.0015S",
        "PT-2.9995S",
        "PT0.0000S",
        "",
        "PT9.9999999S",
    ]
    table = {"id": list("abcdefgh"), "us": microseconds, "ns": nanoseconds, "iso": texts}
    pq.write_table(pa.table(table), tmp_path / "in.parquet")
    given = source("in.parquet", format="parquet") | {
        "attributes": {
            f"p/{name}": {"column": name, "type": "duration", "round": "milliseconds"}
            for name in ("us", "ns", "iso")
        }
    }
    # The least integer has no opposite.
    assert imported(database, tmp_path, {"x": given}, max_errors=1).rejected == 1
    found = facts(database)
    assert [found[row]["us"].milliseconds for row in "abcdef"] == [1, 2, -1, -2, -3, 0]
    assert [found[row]["ns"].milliseconds for row in "abcdef"] == [1, 2, -1, -2, -3, 0]
    assert found["g"]["us"].milliseconds == round(Decimal(most) / 1000)
    assert found["g"]["ns"].milliseconds == round(Decimal(most) / 1000000)
    assert [str(found[row]["iso"]) for row in "abcdef"] == [
        "PT0.001S",
        "PT0.002S",
        "-PT0.001S",
        "-P1DT0.002S",
        "-PT3S",
        "PT0S",
    ]
    text = {"p/text": {"column": "iso", "round": "milliseconds"}}
    given = source("in.parquet", format="parquet") | {"attributes": text}
    with pytest.raises(AdalogError, match="has `round`, which goes with instants and durations, and is a string"):
        imported(database, tmp_path, {"x": given})


def test_texts_are_read_as_the_attribute_says(database: Database, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,took\na, P1M-2DT3H \nb,\nc,PT0.0001S\n")
    (tmp_path / "in.jsonl").write_text(
        '{"id": "d", "took": "P2W"}\n{"id": "e", "took": null}\n{"id": "f", "took": 5}\n'
    )
    outcome = imported(
        database,
        tmp_path,
        {"x": source("in.csv", "took", options=HEADER), "y": source("in.jsonl", "took")},
        max_errors=2,
    )
    assert outcome.rejected == 2
    assert facts(database) == {
        "a": {"took": Duration(1, -2, 10_800_000)},
        "b": {},
        "d": {"took": Duration(0, 14)},
        "e": {},
    }
    new = source("in.csv", options=HEADER) | {"attributes": {"p/new": {"column": "took", "type": "duration"}}}
    imported(database, tmp_path, {"x": new}, max_errors=1)
    assert facts(database)["a"]["new"] == Duration(1, -2, 10_800_000)


@pytest.mark.parametrize("form", ["edn", "parquet"])
def test_what_was_exported_is_imported(tmp_path: Path, form: str) -> None:
    with Database.open(str(tmp_path / "from")) as database:
        database.transact(
            '[{:db/id 1 :a/undeclared #duration "P1M"} {:db/id 2 :a/many #{#duration "PT1S" #duration "P1D"}}]'
        )
        database.transact(
            '[[:db/retract 1 :a/undeclared #duration "P1M"] [:db/add 1 :a/tuple [1 #duration "-P1D"]]]'
        )
        exported(database.at(history=True), tmp_path / "out", form)
        wanted = held(database.snapshot())
    with Database.open(str(tmp_path / "to")) as database:
        given = {"path": str(tmp_path / "out"), "format": "adalog", "ids": "keep"}
        outcome, rejected = loaded(database, tmp_path, given)
        assert rejected == []
        assert outcome.datoms
        assert held(database.snapshot()) == wanted
        database.compact()
        assert held(database.snapshot()) == wanted
