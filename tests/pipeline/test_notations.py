"""Numbers and times as a column writes them: `format`, `zone`, `decimal` and `grouping` of a mapping."""

from __future__ import annotations

import json
import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from adalog.datalog.errors import AdalogError
from adalog.pipeline.importing.files.notation import Notation
from adalog.pipeline.importing.files.rows import FileColumn
from adalog.pipeline.importing.read.mapping_reader import read_mapping
from adalog.pipeline.importing.read.typed_columns import typed
from adalog.pipeline.importing.write.loading import load
from adalog.store.database import Database
from adalog.store.values import layout
from adalog.store.values.keys import value_of_key
from tests.pipeline.pipeline_in_process import InProcess


def values(texts: pa.Array | list[Any], kind: str, *, rounded: bool = False, **given: Any) -> list[Any]:
    """What each row of a column means; None where it cannot be read."""
    column = typed(FileColumn.of(pa.array(texts)), kind, kind, rounded=rounded, notation=Notation(**given))
    found: list[Any] = [None] * len(texts)
    for part in column.parts:
        keys = part.keys.tolist() if part.domain == 0 else part.keys.to_pylist()
        for row, index in zip(part.rows.tolist(), part.index.tolist(), strict=True):
            found[row] = keys[index] if part.domain == 0 else value_of_key(part.domain, keys[index])
    assert sorted(column.bad.tolist()) == [row for row, value in enumerate(found) if value is None]
    if kind == "instant":
        first, bias = datetime(1970, 1, 1, tzinfo=UTC), layout.code_of(layout.TAG_INSTANT, 0) + layout.INSTANT_BIAS
        return [None if each is None else first + timedelta(milliseconds=each - bias) for each in found]
    return found


def at(*numbers: int) -> datetime:
    return datetime(*numbers, tzinfo=UTC)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "text", "wanted"),
    [
        ("dd/MM/yyyy", "31/01/2024", at(2024, 1, 31)),
        ("dd/MM/yyyy", " 31/01/2024 ", at(2024, 1, 31)),
        ("dd/MM/yyyy", "1/1/2024", None),
        ("dd/MM/yyyy", "31/02/2024", None),
        ("dd/MM/yyyy", "31/01/2024x", None),
        ("d/M/yyyy", "1/12/2024", at(2024, 12, 1)),
        ("d.M.yy", "1.2.99", at(2099, 2, 1)),
        ("yyyyMMdd", "20240501", at(2024, 5, 1)),
        ("MMM d, yyyy", "May 3, 2024", at(2024, 5, 3)),
        ("d MMMM yyyy", "3 DECEMBER 2024", at(2024, 12, 3)),
        ("EEE, dd MMM yyyy HH:mm:ss Z", "Wed, 01 May 2024 10:00:00 +0200", at(2024, 5, 1, 8)),
        ("EEE, dd MMM yyyy", "Thu, 01 May 2024", None),
        ("yyyy-MM-dd'T'HH:mm[:ss[.SSS]]", "2024-05-01T10:20", at(2024, 5, 1, 10, 20)),
        ("yyyy-MM-dd'T'HH:mm[:ss[.SSS]]", "2024-05-01T10:20:30.125", at(2024, 5, 1, 10, 20, 30, 125000)),
        ("yyyy-MM-dd HH:mm:ss.SSSSSS", "2024-05-01 10:20:30.125000", at(2024, 5, 1, 10, 20, 30, 125000)),
        ("yyyy-MM-dd HH:mm:ss.SSSSSS", "2024-05-01 10:20:30.125001", None),
        ("MM/dd/yyyy hh:mm a", "05/01/2024 12:05 am", at(2024, 5, 1, 0, 5)),
        ("MM/dd/yyyy h:mm a", "05/01/2024 1:05 PM", at(2024, 5, 1, 13, 5)),
        ("MM/dd/yyyy h:mm a", "05/01/2024 0:05 PM", None),
        ("yyyy-MM-dd HH:mmXXX", "2024-05-01 10:00-03:30", at(2024, 5, 1, 13, 30)),
        ("yyyy-MM-dd HH:mmX", "2024-05-01 10:00Z", at(2024, 5, 1, 10)),
        ("yyyy 'o''clock' ''", "2024 o'clock '", at(2024, 1, 1)),
        ("yyyy", "0000", None),
        ("yyyy-MM-dd HH", "2024-05-01 24", None),
    ],
)
def test_patterns(pattern: str, text: str, wanted: datetime | None) -> None:
    assert values([text], "instant", pattern=pattern) == [wanted]


def test_patterns_read_what_python_writes() -> None:
    """strftime writes, in the C locale; random days from year 1 to 9999."""
    chance = random.Random(5)
    pairs = (
        ("dd.MM.yyyy", "%d.%m.%Y"),
        ("EEEE MMMM dd yyyy", "%A %B %d %Y"),
        ("yyyy-MM-dd hh:mm:ss a", "%Y-%m-%d %I:%M:%S %p"),
        ("EEE MMM dd HH:mm:ss yyyy Z", "%a %b %d %H:%M:%S %Y %z"),
        ("yyyyMMddHHmmssSSSSSS", "%Y%m%d%H%M%S%f"),
    )
    for pattern, form in pairs:
        moments = [at(1, 1, 1) + timedelta(seconds=chance.randrange(315_000_000_000)) for _ in range(300)]
        texts = [moment.strftime(form.replace("%Y", f"{moment.year:04}")) for moment in moments]
        exact = (
            moments
            if "HH" in pattern or "hh" in pattern
            else [each.replace(hour=0, minute=0, second=0) for each in moments]
        )
        assert values(texts, "instant", pattern=pattern) == exact


def test_finer_instants_are_rejected_or_rounded() -> None:
    texts = ["2024-05-01 00:00:00.123499999", "2024-05-01 00:00:00.123500000", "2024-05-01 00:00:00.999999999"]
    pattern = "yyyy-MM-dd HH:mm:ss.SSSSSSSSS"
    assert values(texts, "instant", pattern=pattern) == [None] * 3
    wanted = [at(2024, 5, 1, 0, 0, 0, 123000), at(2024, 5, 1, 0, 0, 0, 124000), at(2024, 5, 1, 0, 0, 1)]
    assert values(texts, "instant", pattern=pattern, rounded=True) == wanted


def test_whole_numbers_are_read_by_a_pattern() -> None:
    assert values([20240501, 20241301], "instant", pattern="yyyyMMdd") == [at(2024, 5, 1), None]


@pytest.mark.parametrize(
    ("local", "wanted"),
    [
        ("2024-01-31 12:00", at(2024, 1, 31, 11)),
        # The gap of spring: 02:30 becomes 03:30. The overlap of autumn: the earlier 02:30, of summer.
        ("2024-03-31 02:30", at(2024, 3, 31, 1, 30)),
        ("2024-10-27 02:30", at(2024, 10, 27, 0, 30)),
        ("2024-10-27 03:00", at(2024, 10, 27, 2)),
    ],
)
def test_local_times(local: str, wanted: datetime) -> None:
    zone = "Europe/Berlin"
    assert values([local], "instant", zone=zone) == [wanted]
    assert values([local], "instant", zone=zone, pattern="yyyy-MM-dd HH:mm") == [wanted]
    naive = datetime.fromisoformat(local)
    for unit in ("s", "ms", "us", "ns"):
        assert values(pa.array([naive], pa.timestamp(unit)), "instant", zone=zone) == [wanted]
    assert values([f"{local}+00:00"], "instant", zone=zone) == [naive.replace(tzinfo=UTC)]
    assert values(pa.array([naive], pa.timestamp("us", "UTC")), "instant", zone=zone) == [naive.replace(tzinfo=UTC)]


def test_values_that_are_split_have_the_notation() -> None:
    column = FileColumn.of(pa.array(["1.5.2024; 2.5.2024", "3.5.2024;x"]))
    found = typed(column, "instant", "instant", ";", notation=Notation("d.M.yyyy"))
    assert [part.rows.tolist() for part in found.parts] == [[0, 0, 1]]
    assert found.bad.tolist() == [1]


def test_the_first_and_last_local_times() -> None:
    ends = pa.array([datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59)], pa.timestamp("ms"))  # noqa: DTZ001
    assert values(ends, "instant", zone="America/New_York") == [at(1, 1, 1, 4, 56, 2), None]
    assert values(ends, "instant", zone="Asia/Tokyo") == [None, at(9999, 12, 31, 14, 59)]
    texts = ["0001-01-01", "9999-12-31 23:59"]
    for given in ({}, {"pattern": "yyyy-MM-dd[ HH:mm]"}):
        assert values(texts, "instant", zone="America/New_York", **given) == [at(1, 1, 1, 4, 56, 2), None]
        assert values(texts, "instant", zone="Asia/Tokyo", **given) == [None, at(9999, 12, 31, 14, 59)]


def test_a_date_is_midnight_in_the_zone() -> None:
    assert values([date(2024, 5, 1)], "instant", zone="America/New_York") == [at(2024, 5, 1, 4)]
    assert values(["2024-05-01"], "instant", zone="America/New_York") == [at(2024, 5, 1, 4)]


def test_local_times_as_arrow_reads_them() -> None:
    """PyArrow's own conversion, outside of gaps, which it has other rules for."""
    chance = random.Random(7)
    moments = [datetime(1970, 1, 1) + timedelta(minutes=chance.randrange(60 * 24 * 365 * 60)) for _ in range(400)]  # noqa: DTZ001
    for zone in ("Europe/Berlin", "America/Sao_Paulo", "Asia/Kathmandu", "Australia/Lord_Howe"):
        kept = [
            each
            for each in moments
            if each.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
            == each
        ]
        assert len(kept) > 390
        wanted = pc.assume_timezone(pa.array(kept, pa.timestamp("ms")), zone, ambiguous="earliest")
        assert values(pa.array(kept), "instant", zone=zone) == [each.astimezone(UTC) for each in wanted.to_pylist()]


@pytest.mark.parametrize(
    ("given", "text", "wanted"),
    [
        ({"decimal": ","}, "1,5", 1.5),
        ({"decimal": ","}, "1.5", None),
        ({"decimal": ",", "grouping": "."}, "-1.234.567,25", -1234567.25),
        ({"decimal": ",", "grouping": "."}, "1.23", None),
        ({"decimal": ",", "grouping": "."}, "1234567,25", 1234567.25),
        ({"grouping": ","}, "12,34,567.5", 1234567.5),
        ({"grouping": ","}, "1,2345", None),
        ({"grouping": ","}, ",123", None),
        ({"grouping": " "}, "1\u202f234\u00a0567", 1234567.0),
        ({"grouping": "'"}, "1\u2019234", 1234.0),
        ({"grouping": "_"}, "1_000e3", 1e6),
        ({"decimal": ","}, ",5", 0.5),
        ({"decimal": ","}, ",", None),
        ({"decimal": ","}, "-Infinity", float("-inf")),
        ({"decimal": ","}, "1e999", None),
    ],
)
def test_numbers(given: dict[str, str], text: str, wanted: float | None) -> None:
    assert values([text], "double", **given) == [wanted]


def test_long_and_exact_numbers_have_commas_too() -> None:
    given = {"decimal": ",", "grouping": "."}
    assert values(["9.007.199.254.740.993", "7,0", "7,5"], "long", **given) == [2**53 + 1, 7, None]
    [value] = values(["12.345.678.901.234.567,25"], "bigdec", **given)
    assert str(value) == "12345678901234567.25"
    # Numbers of JSON and Parquet are numbers already.
    assert values([1.5], "double", **given) == [1.5]


def test_an_import_reads_them(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id;on;price;at\na;1.5.2024;1.234,50;2024-07-01 12:00\nb;;;\nc;32.5.2024;1;\n")
    mapping = tmp_path / "m.yaml"
    mapping.write_text(
        """
schema: s.edn
sources:
  x:
    path: x.csv
    options: {header: true, sep: ";"}
    entity: {attribute: p/id, column: id}
    attributes:
      p/on: {column: "on", format: d.M.yyyy}
      p/price: {column: price, decimal: ",", grouping: ".", type: bigdec}
      p/at: {column: at, zone: Europe/Berlin}
"""
    )
    (tmp_path / "s.edn").write_text(
        "[{:db/ident :p/id :db/valueType :db.type/string :db/unique :db.unique/identity}]"
    )
    with Database.open(str(tmp_path / "data")) as database:
        outcome = load(database, InProcess(), read_mapping(mapping, {}), max_errors=1, quarantine=tmp_path / "q")
        assert (outcome.rows, outcome.rejected) == (3, 1)
        [rejected] = map(json.loads, (tmp_path / "q" / "x-0.jsonl").read_text().splitlines())
        assert rejected["reason"] == (
            ':p/on: "32.5.2024" of column on cannot be read as an instant of the form d.M.yyyy'
        )
        found = {str(datom.a): datom.v for datom in database.snapshot().datoms("EAVT") if datom.a.namespace == "p"}
    assert found[":p/on"] == at(2024, 5, 1)
    assert str(found[":p/price"]) == "1234.5"
    assert found[":p/at"] == at(2024, 7, 1, 10)


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (
            "{column: c, format: dd/mm/yyyy}",
            "11, column 33: `format` has d without M; mm are minutes, and MM months",
        ),
        ("{column: c, format: DD/MM/YYYY}", "`format` has DD, which it does not know (did you mean dd/MM/yyyy?)"),
        ("{column: c, format: '%d/%m/%Y'}", "and no % (did you mean dd/MM/yyyy?)"),
        (
            "{column: c, format: 'yyyy QQ'}",
            "`format` has QQ, which it does not know; the letters are y M d E H h a m s S X Z",
        ),
        ("{column: c, format: 'yyyy YYYY'}", "`format` has YYYY, which it does not know (did you mean yyyy yyyy?)"),
        ("{column: c, format: yyyy yyyy}", "`format` has y twice"),
        ("{column: c, format: 'HH:mm'}", "`format` has no year, yyyy"),
        ("{column: c, format: dMyyyy}", "cannot tell their digits apart; write dd"),
        ("{column: c, format: 'd[M]yyyy'}", "cannot tell their digits apart; write dd"),
        ("{column: c, format: 'd[-]Myyyy'}", "`format` has d right before M"),
        ("{column: c, format: '[yyyy-]MM'}", "`format` has no year, yyyy, that is always there"),
        ("{column: c, format: 'dd[.MM].yyyy'}", "`format` has d without M"),
        ('{column: c, format: "yyyy \'"}', "`format` has a quote that does not end"),
        ("{column: c, format: '[yyyy'}", "`format` has a [ without ]"),
        ("{column: c, format: 'yyyy]'}", "`format` has brackets that do not match"),
        ("{column: c, format: 'yyyy-MM-dd hh:mm'}", "`format` has h without a"),
        ("{column: c, format: yyyy XX, zone: UTC}", "`format` has an offset, XX, and `zone` would mean nothing"),
        (
            "{column: c, zone: Europe/Berln}",
            "11, column 31: `zone` is the name of a time zone, and not Europe/Berln (did you mean Europe/Berlin?)",
        ),
        ("{column: c, zone: CET+1}", "`zone` is the name of a time zone, and not CET+1"),
        ("{column: c, decimal: ;}", "`decimal` is a point or a comma, and not ';'"),
        ("{column: c, grouping: .}", "`grouping` and `decimal` are both '.'; is `decimal` ','?"),
        ("{column: c, grouping: ab}", "`grouping` is one character"),
        ("{value: c, format: yyyy}", "`format` goes with `column`"),
        ("{columns: [c, d], zone: UTC}", "`zone` does not go with `columns`, whose texts are joined"),
    ],
)
def test_mistakes(tmp_path: Path, column: str, why: str) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(
        "schema: s.edn\n\n\nsources:\n  x:\n    path: x.csv\n    options: {header: true}\n"
        f"    entity: {{attribute: p/id, column: id}}\n\n    attributes:\n      p/on: {column}\n"
    )
    with pytest.raises(AdalogError) as caught:
        read_mapping(file, {})
    assert why in caught.value.message, caught.value.message
