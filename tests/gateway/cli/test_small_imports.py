"""`adalog import` and `adalog export` of what one process can hold: without Spark, all reasons at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner

from adalog.gateway.cli import exporting, importing, main
from adalog.gateway.cli.output import stages

MAPPING = """
schema: schema.edn
sources:
  people:
    path: people.csv
    options: {header: true}
    entity: {attribute: person/id, column: id}
    attributes:
      person/age: age
      person/boss: {column: boss, ref: person/id}
"""
SCHEMA = """[
 {:db/ident :person/id :db/valueType :db.type/string :db/unique :db.unique/identity}
 {:db/ident :person/age :db/valueType :db.type/long} {:db/ident :person/boss :db/valueType :db.type/ref}]"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    @contextmanager
    def none(_: Any) -> Iterator[Any]:
        raise AssertionError("Spark was started")
        yield

    monkeypatch.setattr(importing, "started_session", none)
    monkeypatch.setattr(exporting, "started_session", none)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mapping.yaml").write_text(MAPPING)
    (tmp_path / "schema.edn").write_text(SCHEMA)
    return tmp_path


def run(*words: str) -> Any:
    return CliRunner().invoke(main, [*words, "--data", "data"])


def test_there_and_back(folder: Path) -> None:
    (folder / "people.csv").write_text("id,age,boss\n" + "".join(f"p{n},{n},p{n // 2}\n" for n in range(1000)))
    done = run("import", "--mapping", "mapping.yaml")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["rows"], told["entities"], told["rejected"]) == (1000, 1000, 0)
    again = run("import", "--mapping", "mapping.yaml")
    assert json.loads(again.stdout.splitlines()[-1])["datoms"] == 0
    out = run("export", "out")
    assert out.exit_code == 0, out.output
    assert json.loads(out.stdout.splitlines()[-1])["datoms"] == 3000


def test_all_reasons_come_at_once(folder: Path) -> None:
    rows = [f"p{n},{n},p{n // 2}" for n in range(1000)]
    rows[100] = "p100,many,p1"
    rows[200] = "p200,5,nobody"
    rows[300] = ",5,p1"
    rows[400] = "p1,6,p0"
    rows[900] = '"p\r\n900",x,p1'
    (folder / "people.csv").write_text("id,age,boss\n" + "".join(f"{row}\n" for row in rows), newline="")
    done = run("import", "--mapping", "mapping.yaml")
    assert done.exit_code == 1, done.output
    said = [json.loads(line) for path in Path("quarantine").iterdir() for line in path.read_text().splitlines()]
    reasons = {each["line"]: each["reason"].split(" ")[0] for each in said}
    assert {102: ":person/age:", 202: ":person/boss:", 302: "there", 402: ":person/age"}.items() <= reasons.items()
    assert reasons[902] == ":person/age:"
    [broken] = [each["row"] for each in said if each["line"] == 902]
    assert broken == {"id": "p\r\n900", "age": "x", "boss": "p1"}


@pytest.mark.parametrize("options", [(), ("--max-errors", "1", "--dry-run")])
@pytest.mark.parametrize("data", ["data", "new/data", "empty"])
def test_a_refused_import_leaves_no_new_folder(folder: Path, options: tuple[str, ...], data: str) -> None:
    (folder / "people.csv").write_text("id,age,boss\np1,1,p1\np2,many,p1\n")
    (folder / "empty").mkdir()
    (folder / "empty" / "notes.txt").write_text("mine")
    before = sorted(folder.rglob("*"))
    told = CliRunner().invoke(main, ["import", "--mapping", "mapping.yaml", "--data", data, *options])
    assert told.exit_code == (0 if options else 1), told.output
    assert [each for each in sorted(folder.rglob("*")) if "quarantine" not in str(each)] == before


def test_a_mapping_that_does_not_fit_leaves_no_new_folder(folder: Path) -> None:
    (folder / "people.csv").write_text("id,years,boss\np1,1,p1\n")
    told = run("import", "--mapping", "mapping.yaml")
    assert (told.exit_code, "has no column age" in told.stderr) == (1, True)
    assert not (folder / "data").exists()


def test_a_refused_import_leaves_a_database_that_was_there(folder: Path) -> None:
    (folder / "people.csv").write_text("id,age,boss\np1,1,p1\n")
    assert run("import", "--mapping", "mapping.yaml").exit_code == 0
    (folder / "people.csv").write_text("id,age,boss\np1,many,p1\n")
    assert run("import", "--mapping", "mapping.yaml").exit_code == 1
    found = run("query", "[:find ?age . :where [_ :person/age ?age]]")
    assert (found.exit_code, found.stdout.split()[2]) == (0, "1"), found.output


def test_an_import_that_fails_at_its_end_keeps_what_it_wrote(folder: Path) -> None:
    """Where the folder of rejected rows cannot be written after the transaction."""
    (folder / "people.csv").write_text("id,age,boss\np1,1,p1\np2,many,p1\n")
    (folder / "quarantine").write_text("a file")
    told = run("import", "--mapping", "mapping.yaml", "--max-errors", "1")
    assert told.exit_code != 0
    found = run("query", "[:find ?age . :where [_ :person/age ?age]]")
    assert (found.exit_code, found.stdout.split()[2]) == (0, "1"), found.output


def test_a_long_stage_is_told_on_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that begins before the next line is due, and has no news of its own."""
    told = Event()
    monkeypatch.setattr(stages, "_LINE_SECONDS", 0.5)
    monkeypatch.setattr(stages.err, "tell", lambda line: line == "a long one" and told.set())
    with stages.progress_bar() as shown:
        shown.stage("a short one")
        shown.stage("a long one")
        assert told.wait(30)


def test_progress_on_a_pipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_LINE_SECONDS", 0.0)
    (folder / "people.csv").write_text("id,age,boss\na,1,a\n")
    done = run("import", "--mapping", "mapping.yaml")
    lines = done.stderr.splitlines()
    assert [line for line in lines if line in ("looking at people", "reading people", "attributes")] == [
        "looking at people",
        "reading people",
        "attributes",
    ]
