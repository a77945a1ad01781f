"""Proposed mappings: they import as they stand, and what they import are the files' values."""

from __future__ import annotations

import csv
import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from adalog.datalog.durations import Duration
from adalog.datalog.errors import AdalogError
from adalog.gateway.cli import main
from adalog.pipeline.importing.propose import evidence
from adalog.pipeline.importing.propose.proposal import proposed_mapping
from adalog.pipeline.importing.propose.tables import plain_name
from adalog.pipeline.importing.read.mapping_reader import read_mapping
from adalog.pipeline.importing.write.loading import load
from adalog.store.database import Database
from tests.pipeline.pipeline_in_process import InProcess


def proposed(folder: Path, *paths: str) -> str:
    text = proposed_mapping([str(folder / path) for path in paths], folder)
    (folder / "proposed.yaml").write_text(text)
    return text


def imported(folder: Path) -> Database:
    database = Database.open(str(folder / "data"))
    outcome = load(database, InProcess(), read_mapping(folder / "proposed.yaml", {}), quarantine=folder / "q")
    assert outcome.rejected == 0, [path.read_text() for path in (folder / "q").iterdir()]
    return database


def count(database: Database, attribute: str) -> int:
    return sum(str(datom.a) == attribute for datom in database.snapshot().datoms("AEVT"))


def test_each_guess_has_its_evidence(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(
        "id;name;born;zip;height;city;boss_id;note\n"
        "1;Ada;13/01/1980;01234;1,75;bonn;;\n2;Bob;02/02/1990;50000;1,8;köln;1;\n3;Cay;03/03/2000;;;bonn;1;\n"
    )
    (tmp_path / "cities.jsonl").write_text(
        '{"name": "bonn", "spots": [{"x": 1, "y": 2.5}], "tags": ["a", "b"], "odd": 1}\n'
        '{"name": "köln", "spots": [], "mixed": {"a": 1}, "odd": "x"}\n'
    )
    stays = pa.table({"who": [1, 1, 2], "day": ["2024-01-01", "2024-01-02", "2024-01-01"], "nights": [1, 2, 1]})
    pq.write_table(stays, tmp_path / "stays.parquet")
    text = proposed(tmp_path, "people.csv", "cities.jsonl", "stays.parquet")
    for line in (
        '    options: {sep: ";", header: true}',
        "    entity: {attribute: people/id, column: id}  # unique in 3 rows; so are name, born",
        "      people/born: {column: born, format: dd/MM/yyyy}  # dates as dd/MM/yyyy in all 3 values",
        "      people/zip: zip  # string in all 2 values",
        '      people/height: {column: height, decimal: ","}  # decimal commas in all 2 values',
        "      people/city: {column: city, ref: cities/name}  # of 3 values each is in cities/name",
        "      people/boss_id: {column: boss_id, ref: people/id}  # of 2 values each is in people/id",
        "      # note is left out: no values",
        "    entity: {attribute: cities/name, column: name}  # unique in 2 rows",
        "      cities/spots:  # lists of structs, as components",
        '          cities.spots/y: "y"  # double in 1 value',
        "      cities/tags: tags  # string in all 2 values; lists",
        "      # odd is left out: values of several types: text (x), whole (1)",
        "    entity: {attribute: stays/key, columns: [who, day]}  # unique together in 3 rows",
    ):
        assert line in text.splitlines(), text
    with imported(tmp_path) as database:
        # Nothing would come a second time.
        plan = read_mapping(tmp_path / "proposed.yaml", {})
        assert load(database, InProcess(), plan).datoms == 0
        assert count(database, ":people/id") == 3


def test_the_command_writes_a_file_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,a\n1,2\n")
    told = CliRunner().invoke(
        main, ["import", "--propose", str(tmp_path / "x.csv"), "--output", str(tmp_path / "x.yaml")]
    )
    assert (told.exit_code, told.stdout) == (0, "")
    assert "x/id" in (tmp_path / "x.yaml").read_text()
    shown = CliRunner().invoke(main, ["import", "--propose", str(tmp_path / "x.csv")])
    assert shown.stdout.startswith("# Proposed")
    for arguments in (
        ["--propose"],
        ["--propose", "x.csv", "--mapping", "m.yaml"],
        [],
        ["--mapping", "m", "--output", "x"],
    ):
        assert CliRunner().invoke(main, ["import", *arguments]).exit_code == 2
    again = CliRunner().invoke(
        main, ["import", "--propose", str(tmp_path / "x.csv"), "--output", str(tmp_path / "x.yaml")]
    )
    assert again.exit_code == 1
    assert "exists; --output names a new file" in again.stderr


def test_a_file_without_rows_or_of_no_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,a\n")
    (tmp_path / "x.bin").write_text("id,a\n")
    for name, message in (("x.csv", "has no rows"), ("x.bin", "unknown format"), ("no.csv", "there are no files")):
        with pytest.raises(AdalogError) as refused:
            proposed(tmp_path, name)
        assert message in refused.value.message


def test_keys_of_large_files_are_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "MOST_KEYS", 1000)
    for part in range(3):
        start = part * 1000
        table = pa.table({"id": range(start, start + 1000), "x": [1] * 1000})
        (tmp_path / "large").mkdir(exist_ok=True)
        pq.write_table(table, tmp_path / "large" / f"{part}.parquet")
    text = proposed(tmp_path, "large")
    assert "    entity: {attribute: large/id, column: id}  # unique in the first 1,000 rows" in text.splitlines()
    with imported(tmp_path) as database:
        assert count(database, ":large/id") == 3000


@pytest.mark.parametrize(
    ("content", "line"),
    [
        # What pandas writes: an index without a name.
        (",name\n0,Ann\n1,Bob\n", 'column: name}  # unique in 2 rows; so is ""'),
        ("id,x,x\n1,a,b\n2,c,d\n", "# x is left out: several columns have this name"),
        ("id,x,x\na,b,c\n", "# the first row is one of values: some are numbers, or the same"),
        ("番号,数量\n1,2\n2,1\n3,3\n", 't/数量: "数量"  # long in all 3 values'),
        ("id,x\na,9223372036854775807\n", "x  # long in 1 value"),
        ("id,x\na,9223372036854775808\n", "x  # bigint in 1 value"),
        # Programs write doubles with up to 17 digits.
        ("id,x\na,0.30000000000000004\nb,0.10000000000000001\n", "x  # double in all 2 values"),
        ("id,x\na,123456789012345.123456789\n", "x  # bigdec in 1 value"),
        (
            'id,x\na,"1,234"\nb,"5,678"\n',
            "# decimal commas in all 2 values; they could be commas between thousands, too",
        ),
        ('id,x\na,"1,234,567"\nb,12\n', 'grouping: ","}  # commas between thousands in all 2 values'),
        ("id,x\na,P1M2D\nb,-PT0.5S\nc,\n", "x  # duration in all 2 values"),
        (
            "id,x\na,PT1S\nb,PT0.1234S\n",
            "round: milliseconds}  # duration in all 2 values; some have more than mill",
        ),
        ("id,x\na,P1\nb,PT\n", "x  # string in all 2 values"),
        (
            "id,x\na,2024-05-01 10:00\nb,2024-05-01T10:00:00.123456Z\n",
            "# instant in all 2 values; some have more than mill",
        ),
        ('{"x": "P2W"}\n{"x": "+P1Y"}\n', "x  # duration in all 2 values"),
        ('{"x": "P2W"}\n{"x": ""}\n', "x  # string in all 2 values"),
        # Doubles of programs have up to 17 digits; others have more than a double keeps.
        ('{"x": 0.30000000000000004}\n{"x": 1}\n', "x  # double in all 2 values"),
        ('{"x": 12345678901234567.25}\n{"x": 1}\n', "x  # bigdec in all 2 values"),
        ('{"s": [{"x": 0.1000000000000000055}]}\n', "t.s/x: x  # bigdec in 1 value"),
        ('{"x": [1e3, 12345678901234567.25]}\n', "x  # bigdec in all 2 values; lists"),
    ],
)
def test_odd_columns(tmp_path: Path, content: str, line: str) -> None:
    name = "t.jsonl" if content.startswith("{") else "t.csv"
    (tmp_path / name).write_text(content)
    text = proposed(tmp_path, name)
    assert any(line in each for each in text.splitlines()), text
    imported(tmp_path).close()


@pytest.mark.parametrize(
    ("values", "line", "others"),
    [
        (
            [*map(str, range(1000)), *["n/a", "?"] * 5],
            "t/x: x  # long in 1,000 of 1,010 values",
            '10 would be rejected: the first are "n/a", "?"',
        ),
        (
            [f"{1 + day % 28:02}/07/2024" for day in range(100)] + ["31/06/2024"],
            "t/x: {column: x, format: dd/MM/yyyy}  # dates as dd/MM/yyyy in 100 of 101 values",
            '1 would be rejected: "31/06/2024"',
        ),
        (
            ["1.5", "0.25"] * 300 + ["none", "1e999", "2.5.1", "", " "],
            "t/x: x  # double in 600 of 603 values",
            '3 would be rejected: "none", "2.5.1", "1e999"',
        ),
        # Too many, or too few that fit.
        ([*map(str, range(1000)), *["n/a"] * 11], "t/x: x  # string in all 1,011 values", ""),
        ([*map(str, range(99)), "n/a"], "t/x: x  # string in all 100 values", ""),
        (["n/a"] * 21 + [*map(str, range(9000))], "t/x: x  # string in all 9,021 values", ""),
        # Codes, of which some begin with a zero.
        ([*map(str, range(1000, 2000)), "0123"], "t/x: x  # string in all 1,001 values", ""),
        # Another type that all have.
        ([*map(str, range(1000)), "1.5"], "t/x: x  # double in all 1,001 values", ""),
    ],
)
def test_columns_of_which_nearly_all_values_have_a_type(
    tmp_path: Path, values: list[str], line: str, others: str
) -> None:
    rows = [f"{number},{value}\n" for number, value in enumerate(values)]
    (tmp_path / "t.csv").write_text(f"id,x\n{''.join(rows)}")
    text = proposed(tmp_path, "t.csv")
    [said] = [each.strip() for each in text.splitlines() if "t/x: " in each]
    assert said == (f"{line}; rows with the other {others}" if others else line)
    if not others:
        imported(tmp_path).close()
        return
    count = int(others.split(" ")[0])
    plan = read_mapping(tmp_path / "proposed.yaml", {})
    with Database.open(str(tmp_path / "data")) as database:
        outcome = load(database, InProcess(), plan, max_errors=count, quarantine=tmp_path / "q")
        assert (outcome.accepted, outcome.rejected) == (True, count)


def test_a_key_and_what_refers_to_it_have_the_type_of_all_their_values(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n" + "".join(f"{number}\n" for number in range(1, 500)) + "X1\n")
    (tmp_path / "b.csv").write_text("id,a_id\n" + "".join(f"{n},{n}\n" for n in range(1, 500)) + "500,X1\n")
    text = proposed(tmp_path, "a.csv", "b.csv")
    assert "{:db/ident :a/id :db/valueType :db.type/string :db/unique :db.unique/identity}" in text
    assert "b/a_id: {column: a_id, ref: a/id}  # of 500 values each is in a/id" in text
    imported(tmp_path).close()


def test_durations_of_parquet_are_proposed_rounded_if_some_are_finer(tmp_path: Path) -> None:
    fine = pa.array([timedelta(seconds=1), timedelta(microseconds=1_500)], pa.duration("us"))
    pq.write_table(pa.table({"exact": fine.slice(0, 1).take([0, 0]), "fine": fine}), tmp_path / "t.parquet")
    lines = proposed(tmp_path, "t.parquet").splitlines()
    assert "      t/exact: exact  # duration in all 2 values" in lines
    wanted = "{column: fine, round: milliseconds}  # duration in all 2 values; some have more than milliseconds"
    assert f"      t/fine: {wanted}" in lines
    with imported(tmp_path) as database:
        found = {datom.v for datom in database.snapshot().datoms("AEVT") if str(datom.a) == ":t/fine"}
    assert found == {Duration(milliseconds=1000), Duration(milliseconds=2)}


@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz"])
@pytest.mark.parametrize(
    "content", [b"id,a\n1,2\n", gzip.compress(b"id,a\n1,2\n" * 1000)[:-9]], ids=["plain", "cut"]
)
def test_a_corrupt_archive_cannot_be_read(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    told = CliRunner().invoke(main, ["import", "--propose", str(tmp_path / name)])
    assert told.exit_code == 1
    assert f"{name} cannot be read: " in told.stderr
    assert told.stdout == ""


def test_a_file_without_a_column_to_map(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"a": []}\n')
    assert "schema" not in proposed(tmp_path, "t.jsonl")
    imported(tmp_path).close()


NAMES = ("a", "b c", "on", "x: y", "#n", "größe", "x.y", "1st", "'q'", "a/b", "{", "é", "no", "tab\tle")


class RandomTable:
    """Columns by name, each with values of one kind for all rows; None where there is none."""

    def __init__(self, rng: Random, form: str) -> None:
        self.rng, self.form, self.size = rng, form, rng.randrange(1, 30)
        kinds = ["long", "big", "double", "text", "zeros", "moment", "day", "flag", "uuid"]
        if form != "csv":
            kinds += ["list", "structs"]
        self.columns = {
            name: (kind, [self._value(kind) for _ in range(self.size)])
            for name in rng.sample(NAMES, rng.randrange(1, 7))
            for kind in [rng.choice(kinds)]
        }

    def _value(self, kind: str) -> Any:
        rng = self.rng
        if rng.random() < 0.2:
            return None
        if kind == "structs":
            return [{"p": rng.randrange(5), "q": rng.choice(["s", "t"])} for _ in range(rng.randrange(3))]
        if kind == "list":
            return [rng.choice("xyz") for _ in range(rng.randrange(3))]
        moment = datetime(2000, 1, 1, tzinfo=UTC) + timedelta(seconds=rng.randrange(10**9))
        return {
            "long": rng.choice([0, -5, 2**53 + 1, 2**63 - 1]),
            "big": rng.choice([2**64, -(10**30), 7]) if self.form != "parquet" else 7,
            "double": rng.choice([0.5, -1e300, 3.0, 1e-7]),
            "text": rng.choice(["word", "two words", 'ä,"b"', " padded ", "line\nbreak", "NULL", "#"]),
            "zeros": rng.choice(["007", "01", "5"]),
            "moment": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "day": moment.strftime("%d/%m/%Y"),
            "flag": rng.random() < 0.5,
            "uuid": str(UUID(int=rng.getrandbits(128))),
        }[kind]

    def rows(self) -> list[dict[str, Any]]:
        own = [{"key": f"k{at}"} for at in range(self.size)]
        return [
            row | {name: values[at] for name, (_, values) in self.columns.items()} for at, row in enumerate(own)
        ]

    def write(self, folder: Path) -> str:
        rows = self.rows()
        if self.form == "jsonl":
            (folder / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        elif self.form == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), folder / "t.parquet")
        else:
            with (folder / "t.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(rows[0])
                writer.writerows([_cell(value) for value in row.values()] for row in rows)
        return f"t.{self.form}"


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def expected(table: RandomTable) -> list[dict[str, list[Any]]]:
    """By row, what there should be of each column."""
    found: list[dict[str, list[Any]]] = []
    for row in table.rows():
        own: dict[str, list[Any]] = {}
        for name, value in row.items():
            every = value if isinstance(value, list) else [] if value is None else [value]
            own[name] = [tuple(sorted(each.items())) if isinstance(each, dict) else each for each in every]
        found.append(own)
    return found


def found_in(database: Database, table: RandomTable) -> list[dict[str, list[Any]]]:
    """The same as the database has it: texts of instants and uuids as the file wrote them."""
    snapshot = database.snapshot()
    own: dict[int, dict[str, list[Any]]] = {}
    for datom in snapshot.datoms("EAVT"):
        own.setdefault(datom.e, {}).setdefault(str(datom.a), []).append(datom.v)
    keys = {each[":t/key"][0]: each for each in own.values() if ":t/key" in each}
    refs = {str(each.ident) for each in snapshot.attributes() if each.is_ref}
    found = []
    for at in range(table.size):
        entity = keys.get(f"k{at}", {})
        row: dict[str, list[Any]] = {"key": entity.get(":t/key", [])}
        for name, (kind, _) in table.columns.items():
            values = entity.get(f":t/{plain_name(name)}", [])
            if f":t/{plain_name(name)}" in refs:
                values = [
                    tuple(sorted((a.rsplit("/", 1)[1], v[0]) for a, v in own[value].items())) for value in values
                ]
            row[name] = [_said(value, kind) for value in values]
        found.append(row)
    return found


def _said(value: Any, kind: str) -> Any:
    if isinstance(value, datetime):
        return value.strftime("%d/%m/%Y" if kind == "day" else "%Y-%m-%dT%H:%M:%SZ")
    return str(value) if isinstance(value, UUID) else value


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_what_is_proposed_imports_the_values_of_the_file(tmp_path: Path, form: str) -> None:
    rng = Random(form)
    for number in range(8):
        folder = tmp_path / str(number)
        folder.mkdir()
        table = RandomTable(rng, form)
        text = proposed(folder, table.write(folder))
        with imported(folder) as database:
            found = found_in(database, table)
        for row, there in zip(expected(table), found, strict=True):
            for name, values in row.items():
                once = values if any(isinstance(each, tuple) for each in values) else set(values)
                assert sorted(there[name], key=repr) == sorted(once, key=repr), (name, text)
