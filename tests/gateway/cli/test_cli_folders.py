"""Which database a command works on: reading makes none, and a new one is announced."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from adalog.store.database import Database
from adalog.store.files.progress import Progress
from tests.gateway.cli.command_line import adalog, command, environ
from tests.support import QUICK

COUNT = "[:find (count ?n) . :where [_ :person/name ?n]]"
READING = [
    ("query", COUNT),
    ("explain", COUNT),
    ("why", "--row", "[1]", COUNT),
    ("pull", "[*]", "1"),
    ("attributes",),
]
EVE = '[{:person/name "Eve"}]'


@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
def test_reading_makes_nothing(words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    there = sorted(tmp_path.rglob("*"))
    for name, why in (("dada", "does not exist"), ("empty", "holds none"), ("file", "is no folder")):
        result = adalog(words[0], "--data", name, *words[1:])
        assert result.exit_code == 3
        assert result.stdout == ""
        for part in (str(tmp_path / name), why, "adalog transact", "adalog sample", "--url"):
            assert part in result.stderr
    assert adalog(*words).exit_code == 3
    assert adalog(*words, ADALOG_DATA="elsewhere").exit_code == 3
    assert sorted(tmp_path.rglob("*")) == there


@pytest.mark.parametrize("words", READING, ids=lambda words: words[0])
def test_reading_memory(words: tuple[str, ...]) -> None:
    assert adalog(words[0], "--data", ":memory:", *words[1:]).exit_code == 0


def test_a_new_database_is_announced(tmp_path: Path) -> None:
    path = str(tmp_path / "new")
    result = adalog("transact", "--data", path, EVE)
    assert result.exit_code == 0
    assert result.stderr == f"creating a new database in {path}\n"
    assert result.stdout.startswith("t 1 · ")
    assert adalog("transact", "--data", path, EVE).stderr == ""
    assert adalog("query", "--data", path, "--format", "json", COUNT).stdout == "1\n"


def test_what_is_not_made_is_not_announced(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    result = adalog("transact", "--data", str(file), EVE)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"BACKEND_UNAVAILABLE the data folder {file} cannot be used: it is a file\n"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = adalog("serve", "--data", str(tmp_path / "new"), "--port", str(port))
    assert (result.exit_code, result.stdout) == (3, "")
    own = f"process {os.getpid()} ({Path('/proc/self/comm').read_text().strip()})"
    where = (
        f"127.0.0.1:{port}: Address already in use by {own}; --port (ADALOG_PORT) takes another one, 0 any free one"
    )
    assert result.stderr == f"BACKEND_UNAVAILABLE cannot listen on {where}\n"
    assert sorted(tmp_path.iterdir()) == [file]


def test_a_wrong_file_of_tokens_makes_no_database(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ann:owner:{'0' * 64}\n")
    result = adalog("serve", "--data", str(tmp_path / "new"), "--port", "0", "--auth", str(tokens))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (f"adalog: {tokens}, line 1: the role 'owner' of 'ann' is not read, write or admin\n")
    assert list(tmp_path.iterdir()) == [tokens]


def test_memory_is_not_announced() -> None:
    assert adalog("transact", "--data", ":memory:", EVE).stderr == ""


def test_a_report_as_json(folder: str) -> None:
    result = adalog("transact", "--data", folder, "--format", "json", '[{:db/id "e" :person/name "Eve"}]')
    report = json.loads(result.stdout)
    assert (report["t"], report["basisBefore"]) == (3, 2)
    eve = report["tempids"]["e"]
    assert [
        (d["v"], d["t"], d["added"]) for d in report["datoms"] if (d["e"], d["a"]) == (eve, ":person/name")
    ] == [("Eve", 3, True)]


def test_a_condition_on_the_basis(folder: str) -> None:
    say = ("transact", "--data", folder, "--expected-basis-t")
    refused = adalog(*say, "1", EVE)
    assert refused.exit_code == 1
    assert refused.stderr.startswith("BASIS_CONFLICT")
    assert adalog(*say, "2", EVE).exit_code == 0


def test_an_idempotency_key(folder: str) -> None:
    say = ("transact", "--data", folder, "--idempotency-key", "k", '[{:person/nick "Eve"}]')
    first, second = adalog(*say), adalog(*say)
    assert first.stdout == second.stdout
    query = "[:find (count ?p) . :where [?p :person/nick]]"
    assert adalog("query", "--data", folder, "--format", "json", query).stdout == "1\n"


def test_a_plan_as_json(folder: str) -> None:
    result = adalog("explain", "--data", folder, "--format", "json", "--analyze", COUNT)
    plan = json.loads(result.stdout)
    assert plan["engine"] == "LOCAL"
    assert plan["rows"] == 1


def test_why_a_row(folder: str) -> None:
    query = "[:find ?n ?b :in $ ?y :where [?p :person/name ?n] [?p :person/born ?b] [(< ?b ?y)]]"
    say = ("why", "--data", folder, "--arg", "1900")
    found = adalog(*say, "--row", '["Ada" 1815]', query)
    assert (found.exit_code, found.stdout.splitlines()[0]) == (0, "the row is in the answer")
    assert ':person/name "Ada"], transaction ' in found.stdout
    assert "  [(< 1815 1900)]" in found.stdout
    found = adalog(*say, "--format", "json", "--row", '["Ada" 1816]', query)
    assert json.loads(found.stdout)["clause"] == "[?p :person/born ?b]"
    assert "no row passes" in adalog(*say, "--as-of", "1", "--row", '["Ada" 1815]', query).stdout
    for row, said in (("[1", "is never closed"), ("1", "a row is a vector"), ("[1]", "row has 1 cells")):
        refused = adalog(*say, "--row", row, query)
        assert (refused.exit_code, said in refused.stderr) == (1, True), refused.stderr


def test_a_format_of_another_command_in_the_environment(folder: str) -> None:
    assert adalog("pull", "--data", folder, "[:person/born]", "1", ADALOG_FORMAT="csv").exit_code == 0
    assert adalog("transact", "--data", folder, EVE, ADALOG_FORMAT="table").stdout.startswith("t 3")
    assert adalog("query", "--data", folder, COUNT, ADALOG_FORMAT="text").exit_code == 0
    assert adalog("query", "--data", folder, COUNT, ADALOG_FORMAT="yaml").exit_code == 2


@pytest.mark.spark
@pytest.mark.slow
def test_spark_is_started_and_stopped(folder: str) -> None:
    # The time that it takes to start is not the query's.
    words = command("query", "--data", folder, "--engine", "spark", "--timeout", "60s", COUNT)
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env=environ(ADALOG_SPARK_CONF=json.dumps(QUICK)),
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith("· SPARK")


def test_spark_that_is_switched_off(folder: str) -> None:
    result = adalog("query", "--data", folder, "--engine", "spark", COUNT, ADALOG_SPARK="off")
    assert result.exit_code == 3
    assert "Spark" in result.stderr


def test_a_folder_in_use_names_the_server(folder: str) -> None:
    with Database.open(folder):
        assert "--url and the address that it printed" in adalog("query", "--data", folder, COUNT).stderr
    with Database.open(folder, address="http://127.0.0.1:4711"):
        result = adalog("query", "--data", folder, COUNT)
        assert result.exit_code == 3
        assert "in use by another adalog process; ask that one with --url http://127.0.0.1:4711\n" in result.stderr
    assert adalog("query", "--data", folder, COUNT).exit_code == 0


def test_a_folder_in_use_names_the_server_that_is_starting(folder: str) -> None:
    class Starting(Progress):
        """Has the command run while the log is about to be replayed."""

        def begin(self, *given: int) -> None:
            said.append(adalog("query", "--data", folder, COUNT).stderr)
            super().begin(*given)

    said: list[str] = []
    Database.open(folder, address="http://127.0.0.1:4711", progress=Starting()).close()
    assert ["ask that one with --url http://127.0.0.1:4711\n" in each for each in said] == [True]


def test_the_address_of_a_server_that_was_killed_is_not_named(folder: str) -> None:
    with Database.open(folder):
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        Path(folder, "lock").write_text(f"{ended.pid} http://127.0.0.1:4711\n")
        assert "4711" not in adalog("query", "--data", folder, COUNT).stderr
        Path(folder, "lock").write_bytes(b"1 http://[\xff")
        assert "--url and the address that it printed" in adalog("query", "--data", folder, COUNT).stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--data", "d", "query", COUNT), "--data follows the command, as in adalog query --data …"),
        (("query", "--limit", "3", COUNT), "No such option '--limit': it is a section of the query: :limit 10"),
        (("query", "--db", "d", COUNT), "the folder is --data DIR"),
        (("query", "--param", "3", COUNT), "arguments are --arg JSON or --arg-edn EDN"),
        (("query", "--json", COUNT), "write --format json, csv or edn"),
        (("query", "--at", "3", COUNT), "a past state is --as-of T"),
        (("query", "SELECT title FROM issue"), "this is SQL; a query is EDN Datalog"),
        (("transact", "INSERT INTO issue VALUES (1)"), "this is SQL; data is added as EDN"),
        (("qurey", COUNT), "Did you mean 'query'?"),
        (("query", "--arg", "Ada", COUNT), "--arg '\"Ada\"'"),
    ],
)
def test_a_mistake_on_the_command_line(words: tuple[str, ...], says: str) -> None:
    result = adalog(*words)
    assert result.exit_code == 2
    assert says in result.stderr
