"""`adalog query --output`: the rows as Parquet in a folder of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.gateway.cli.command_line import adalog

NAMES = "[:find ?p ?n :where [?p :person/name ?n]]"


def test_rows_are_written_and_counted(folder: str, tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    result = adalog("query", "--data", folder, "--output", str(out), NAMES)
    assert result.exit_code == 0, result.stderr
    said = json.loads(result.stdout)
    (file,) = out.iterdir()
    table = pq.read_table(file)
    assert said == {"rows": len(table), "files": 1}
    assert table.column_names == ["?p", "?n"]
    shown = adalog("query", "--data", folder, "--format", "json", NAMES)
    assert sorted(map(list, zip(*table.to_pydict().values(), strict=True))) == sorted(json.loads(shown.stdout))


def test_warnings_are_printed(folder: str, tmp_path: Path) -> None:
    query = "[:find ?p :where [?p :person/nmae]]"
    result = adalog("query", "--data", folder, "--output", str(tmp_path / "out"), "--as-of", "2199-01-01", query)
    assert json.loads(result.stdout)["rows"] == 0
    warned = [line.split()[:2] for line in result.stderr.splitlines()]
    assert warned == [["warning", "BASIS_FUTURE"], ["warning", "UNKNOWN_ATTRIBUTE"]]


def test_arguments_and_moments_count_as_ever(folder: str, tmp_path: Path) -> None:
    query = "[:find ?n :in $ [?n ...] :where [_ :person/name ?n]]"
    for number, more in enumerate((("--as-of", "1"), ("--since", "9"))):
        out = tmp_path / str(number)
        words = ("--data", folder, *more, "--arg", '["Ada", "Eve"]', query)
        written = adalog("query", "--output", str(out), *words)
        shown = adalog("query", "--format", "json", *words)
        assert json.loads(written.stdout)["rows"] == len(json.loads(shown.stdout))


@pytest.mark.parametrize("there", ["file in it", "a file itself"])
def test_nothing_of_others_is_touched(folder: str, tmp_path: Path, there: str) -> None:
    out = tmp_path / "out"
    if there == "a file itself":
        out.write_text("mine")
    else:
        out.mkdir()
        (out / "mine").write_text("mine")
    result = adalog("query", "--data", folder, "--output", str(out), NAMES)
    assert result.exit_code != 0
    assert "is not empty" in result.stderr or "cannot be written" in result.stderr
    assert (out if out.is_file() else out / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (["--output", "people.csv"], "for a file of csv write --format csv > people.csv"),
        (["--format", "json", "--output", "people"], "for a file of json write --format json > people.json"),
    ],
)
def test_a_file_of_another_format_is_not_a_folder_of_parquet(folder: str, words: list[str], advice: str) -> None:
    result = adalog("query", "--data", folder, *words, NAMES)
    assert result.exit_code == 2
    assert advice in " ".join(result.stderr.split())
    assert not Path(words[-1]).exists()


@pytest.mark.parametrize(
    "query",
    [
        "[:find ?p ?n ?a :where [?p :person/name ?n] [(get-else $ ?p :person/born -1) ?a] :order-by ?n]",
        "[:find (count ?p) . :where [?p :person/name]]",
        "[:find [?n ...] :where [_ :person/name ?n] :order-by ?n]",
        "[:find ?v :in [?v ...]]",
        "[:find ?x ?y ?z ?k ?u :in [[?x ?y ?z ?k ?u]] :order-by ?x]",
        "[:find ?n :where [_ :person/name ?n] [(= ?n 1)]]",
    ],
)
def test_a_servers_answer_is_written_as_a_folders(folder: str, tmp_path: Path, query: str, address: str) -> None:
    arguments = ["--arg-edn", '[1 1.5 2.50M "a" :b nil #inst "2024-05-01"]'] if "?v ..." in query else []
    if "[[?x" in query:
        arguments = ["--arg-edn", '[[1 2.50M #inst "2024-05-01" :k true] [2 -31.125M #inst "2025-01-01" :l false]]']
    tables = []
    for number, place in enumerate((("--data", folder), ("--url", address))):
        out = tmp_path / str(number)
        result = adalog("query", *place, "--output", str(out), *arguments, query)
        assert result.exit_code == 0, result.stderr
        files = sorted(each.name for each in out.iterdir())
        tables.append((json.loads(result.stdout), files, pq.read_table(out) if files else None))
    assert tables[0] == tables[1]


def test_a_query_that_is_wrong_says_where(folder: str, tmp_path: Path) -> None:
    result = adalog("query", "--data", folder, "--output", str(tmp_path / "out"), "[:find ?x :where [?y]]")
    assert result.exit_code == 1
    assert "?x" in result.stderr


@pytest.mark.parametrize("place", ["", "s3://bucket/answer", "file:///tmp/answer"])
def test_what_is_no_folder_is_refused(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = adalog("query", "--data", folder, "--output", place, NAMES)
    assert result.exit_code == 1, result.output
    assert "--output names a folder" in result.stderr
    assert not (tmp_path / "s3:").exists()
