"""Imports through Spark: files of all formats, rejected rows with their lines, one session for all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from datalog.errors import AdalogError, Code
from executor.spark.pipeline.loading import Outcome, load
from executor.spark.pipeline.mapping import read_mapping
from executor.spark.pipeline.reading import SparkRunner
from executor.spark.session import Session
from store.database import Database
from tests.executor.test_importing import SCHEMA, facts

pytestmark = [
    pytest.mark.spark,
    # What py4j's threads have to say when Java is killed under them.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

MAPPING = """
sources:
  people:
    path: PATH
    options: {header: true, comment: "#"}
    entity: {attribute: person/id, column: id}
    attributes:
      person/name: name
      person/age: age
      person/tag: {column: tags, split: ";"}
      person/boss: {column: boss, ref: person/id}
      person/born: born
"""


class Silent:
    """Nobody is told anything; but what the stages were is kept."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, name: str) -> None:
        self.stages.append(name)

    def tasks(self, done: int, total: int, rows: int) -> None:
        assert done <= total
        assert rows >= 0


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    session = Session("local[2]")
    session.start()
    try:
        assert session.wait(240), session.state
        yield session
    finally:
        session.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(str(tmp_path / "data")) as database:
        database.transact(SCHEMA)
        yield database


def imported(database: Database, session: Session, folder: Path, path: str, max_errors: int = 0) -> Outcome:
    file = folder / "mapping.yaml"
    file.write_text(MAPPING.replace("PATH", path))
    watching = Silent()
    runner = SparkRunner(session.live(), watching)
    outcome = load(
        database, runner, read_mapping(file, {}), max_errors=max_errors, quarantine=folder / "quarantine"
    )
    assert watching.stages[0] == "looking at people"
    return outcome


def test_csv_with_rejected_rows(database: Database, session: Session, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text(
        'id,name,age,tags,boss,born\na,"A, B",1,x;y,b,\n\n# none\nb,B,,,,\n,nobody,,,,\n'
    )
    (tmp_path / "in" / "2.csv").write_text(
        "id,name,age,tags,boss,born\nc,C,three,,,\nd,D,4,,nobody,\na,other,,,,\ne,E,,x,a,2024-05-01\n"
    )
    outcome = imported(database, session, tmp_path, "in/*.csv", max_errors=4)
    assert (outcome.rows, outcome.entities, outcome.rejected) == (7, 3, 4)
    known = facts(database)
    assert {(e, a, str(v)) for e, a, v in known} == {
        *((e, ":person/id", e) for e in "abe"),
        ("a", ":person/name", "A, B"),
        ("b", ":person/name", "B"),
        ("e", ":person/name", "E"),
        ("a", ":person/age", "1"),
        ("a", ":person/tag", ":x"),
        ("a", ":person/tag", ":y"),
        ("e", ":person/tag", ":x"),
        ("a", ":person/boss", "b"),
        ("e", ":person/boss", "a"),
        ("e", ":person/born", "2024-05-01 00:00:00+00:00"),
    }
    written = [
        json.loads(line)
        for file in sorted((tmp_path / "quarantine").iterdir())
        for line in file.read_text().splitlines()
    ]
    told = {(Path(each["file"]).name, each["line"]): (each["row"]["name"], each["reason"]) for each in written}
    assert told == {
        ("1.csv", 6): ("nobody", "there is no value for :person/id, which names the entity"),
        ("2.csv", 2): ("C", ":person/age: a value cannot be read as a long"),
        ("2.csv", 3): ("D", ":person/boss: no entity has this :person/id, in the database or in this import"),
        ("2.csv", 4): (
            "other",
            ":person/name has cardinality one, and an earlier row gives this entity another value",
        ),
    }
    assert all(each["source"] == "people" for each in written)


def test_formats_agree(database: Database, session: Session, tmp_path: Path) -> None:
    rows = [
        {
            "id": f"p{i}",
            "name": f"n{i % 7}",
            "age": i,
            "tags": ["x", "y"] if i % 3 else None,
            "boss": f"p{i // 2}",
            "born": f"2024-05-01T00:00:{i % 60:02}Z",
        }
        for i in range(500)
    ]
    (tmp_path / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    table = pa.Table.from_pylist(rows)
    born = pa.array([datetime.fromisoformat(row["born"]) for row in rows], pa.timestamp("us", "UTC"))
    pq.write_table(table.set_column(5, "born", born), tmp_path / "people.parquet", row_group_size=100)
    first = imported(database, session, tmp_path, "people.jsonl")
    assert (first.entities, first.rejected) == (500, 0)
    assert first.datoms == 500 * 5 + 2 * len([row for row in rows if row["tags"]])
    again = imported(database, session, tmp_path, "people.parquet")
    assert (again.datoms, again.t) == (0, first.t)


def test_files_that_cannot_be_read_are_refused(database: Database, session: Session, tmp_path: Path) -> None:
    with pytest.raises(AdalogError) as caught:
        imported(database, session, tmp_path, "none.csv")
    assert caught.value.code is Code.ARG_INVALID
    assert "source people cannot be read" in caught.value.message
    (tmp_path / "few.csv").write_text("id,name\na,A\n")
    with pytest.raises(AdalogError, match="source people has no column age; its columns are id, name"):
        imported(database, session, tmp_path, "few.csv")
    assert not (tmp_path / "data" / "importing").exists()
