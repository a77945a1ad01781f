"""`adalog live`: a folder's history replayed, and a served database followed."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.pool import Pool
from adalog.gateway.app import create_app
from adalog.gateway.cli.backend import RemoteBackend
from adalog.gateway.cli.live import Printer, followed
from adalog.gateway.cli.output.console import Terminal
from adalog.gateway.cli.output.formats import ShownWarning
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from tests.gateway.cli.command_line import adalog, command, environ
from tests.gateway.support import served
from tests.protocols.test_restart import Server

AGES = "[:find ?name ?age :where [?p :name ?name] [?p :age ?age]]"
OLDER = "[:find ?name :in $ ?least :where [?p :name ?name] [?p :age ?age] [(>= ?age ?least)]]"


@pytest.fixture
def folder(tmp_path: Path) -> str:
    data = str(tmp_path / "data")
    with Database.open(data) as database:
        database.transact('[{:name "Ada" :age 36}]')
        database.transact('[{:name "Grace, H." :age 85}]')
        database.transact("[[:db/add 1 :age 37]]")
    return data


def test_a_folder_shows_what_there_is(folder: str) -> None:
    shown = adalog("live", "--data", folder, AGES)
    assert shown.exit_code == 0, shown.output
    assert "Ada" in shown.stdout
    assert "2 rows · t 3" in shown.stdout


def test_a_past_is_replayed_as_lines_of_a_table(folder: str) -> None:
    shown = adalog("live", "--data", folder, "--from-t", "1", AGES)
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["+", "Grace,", "H.", "85"] in lines
    assert lines[-2:] == [["-", "Ada", "36"], ["+", "Ada", "37"]]


@pytest.mark.parametrize("form", ["table", "json", "edn", "csv"])
def test_warnings_of_a_folder(folder: str, form: str) -> None:
    shown = adalog("live", "--data", folder, "--from-t", "1", "--format", form, "[:find ?n :where [?p :nmae ?n]]")
    assert shown.exit_code == 0, shown.output
    [warning] = [line for line in shown.stderr.splitlines() if line.startswith("warning")]
    assert warning.startswith("warning UNKNOWN_ATTRIBUTE no attribute :nmae is declared (did you mean :name?)")
    assert warning.endswith("(1:22)")


def test_warnings_are_printed_below_the_rows_and_once() -> None:
    misspelt = {"code": "UNKNOWN_ATTRIBUTE", "message": "no attribute :nmae", "line": 1, "column": 2}
    none = {"columns": [], "rows": [], "added": [], "retracted": [], "reason": "x", "basisT": 1, "warnings": None}
    printed: list[Any] = []
    printer = Printer("json", Terminal(), lambda what: None, warn=printed.append)
    printer._write = lambda text: printed.append(json.loads(text)["kind"])  # type: ignore[method-assign]

    def event(kind: str, warnings: Any = None, last: bool | None = None) -> None:
        printer.event({**none, "kind": kind, "warnings": warnings, "last": last})

    event("SNAPSHOT", [misspelt], last=False)
    event("SNAPSHOT", last=True)
    event("DELTA", [misspelt])
    event("PROGRESS", [])
    event("RESET", [misspelt])
    event("SNAPSHOT", last=True)
    warned = [ShownWarning(**misspelt)]
    assert printed == ["SNAPSHOT", "SNAPSHOT", warned, "DELTA", [], "RESET", "SNAPSHOT", warned]


def test_a_past_is_replayed_as_csv(folder: str) -> None:
    shown = adalog("live", "--data", folder, "--from-t", "0", "--format", "csv", AGES)
    assert shown.stdout.splitlines() == [
        "t,change,?name,?age",
        "1,+,Ada,36",
        '2,+,"Grace, H.",85',
        "3,-,Ada,36",
        "3,+,Ada,37",
    ]


def test_a_past_is_replayed_as_json_and_edn(folder: str) -> None:
    shown = adalog("live", "--data", folder, "--from-t", "2", "--format", "json", "--arg", "80", OLDER)
    assert [json.loads(line) for line in shown.stdout.splitlines()] == [
        {"kind": "SNAPSHOT", "t": 2, "rows": [["Grace, H."]], "last": True},
    ]
    shown = adalog("live", "--data", folder, "--from-t", "2", "--format", "edn", AGES)
    assert shown.stdout.splitlines()[1:] == ['{:kind :delta, :t 3, :added [["Ada" 37]], :retracted [["Ada" 36]]}']


def test_a_past_that_is_forgotten_ends_with_what_there_is(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with Database.open(data) as database:
        database.transact("[{:db/ident :seen :db/valueType :db.type/long :db/noHistory true}]")
        database.transact("[[:db/add 1 :seen 1]]")
        database.transact("[[:db/add 1 :seen 2]]")
    shown = adalog("live", "--data", data, "--from-t", "2", "--format", "json", "[:find ?v :where [_ :seen ?v]]")
    assert [json.loads(line) for line in shown.stdout.splitlines() if "SNAPSHOT" in line] == [
        {"kind": "SNAPSHOT", "t": 3, "rows": [[2]], "last": True}
    ]


def test_rows_of_a_snapshot_that_was_given_up_are_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    printer = Printer("table", Terminal(), lambda what: None)
    nothing = dict.fromkeys(("added", "retracted", "rows", "last", "reason", "columns"))
    columns = [{"name": "?n", "type": "string"}]
    chunk = {**nothing, "kind": "SNAPSHOT", "basisT": 1, "columns": columns}
    printer.event({**chunk, "rows": [["Ada"]], "last": False})
    printer.event({**nothing, "kind": "RESET", "basisT": 2, "reason": "it is forgotten"})
    printer.event({**chunk, "rows": [["Grace"]], "last": True})
    shown = capsys.readouterr().out
    assert "Grace" in shown
    assert "Ada" not in shown


def test_what_is_wrong_with_a_query_is_shown_in_it(folder: str) -> None:
    shown = adalog("live", "--data", folder, "[:find ?x :where [(> ?x 1)]]")
    assert shown.exit_code == 1
    assert "UNBOUND_VARIABLE" in shown.stderr


def test_no_server_is_said_at_once() -> None:
    shown = adalog("live", "--url", "http://127.0.0.1:9", AGES)
    assert shown.exit_code == 3
    assert "adalog serve" in shown.stderr


@pytest.fixture
def url() -> Iterator[tuple[Database, str]]:
    with Database.open(":memory:") as database:
        database.transact('[{:name "Ada" :age 36}]')
        with closing(Pool(database)) as pool:
            app = create_app(database, pool, Settings(data=":memory:"))
            with app.state.hub, served(app) as address:
                yield database, address


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_a_served_database_is_followed(url: tuple[Database, str]) -> None:
    database, address = url
    arguments = command("live", "--url", address, "--format", "json", AGES)
    with subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ(),
        text=True,
        # A suite in the background of a shell has it ignored, and so would what it starts.
        preexec_fn=_interruptible,
    ) as run:
        assert run.stdout is not None
        try:
            assert json.loads(run.stdout.readline())["rows"] == [["Ada", 36]]
            database.transact("[[:db/add 1 :age 37]]")
            change = json.loads(run.stdout.readline())
            assert change == {"kind": "DELTA", "t": 2, "added": [["Ada", 37]], "retracted": [["Ada", 36]]}
        finally:
            run.send_signal(2)
        assert run.stderr is not None
        assert run.wait() == 130
        assert run.stderr.read() == ""


def test_a_refusal_by_the_server_is_shown(url: tuple[Database, str]) -> None:
    _, address = url
    shown = adalog("live", "--url", address, "[:find ?x :where [(> ?x 1)]]")
    assert shown.exit_code == 1
    assert "UNBOUND_VARIABLE" in shown.stderr
    assert shown.stderr.splitlines()[1].endswith("[:find ?x :where [(> ?x 1)]]")


class Breaking(RemoteBackend):
    """A server whose streams break off after what is given for each attempt."""

    def __init__(self, *attempts: list[Any]) -> None:
        super().__init__("nowhere", None)
        self.attempts = list(attempts)
        self.asked: list[Mapping[str, Any]] = []

    def events(self, document: str, variables: Mapping[str, Any], silence: float) -> Iterator[dict[str, Any]]:
        self.asked.append(variables)
        for each in self.attempts.pop(0):
            if isinstance(each, AdalogError):
                raise each
            if isinstance(each, dict):
                yield each
                continue
            yield {"data": {"live": {"kind": "PROGRESS", "basisT": 1, "resume": each}}}


def test_a_stream_that_breaks_off_goes_on_where_it_was() -> None:
    gone = AdalogError(Code.BACKEND_UNAVAILABLE, "gone")
    remote = Breaking(["a", "b", gone], [gone], ["c"], [AdalogError(Code.ARG_INVALID, "no")])
    told: list[str] = []
    waits: list[float] = []
    events = followed(remote, {"fromT": 3}, told.append, 60, waits.append)
    assert [next(events)["resume"] for _ in range(3)] == ["a", "b", "c"]
    with pytest.raises(AdalogError, match="no"):
        next(events)
    assert [each.get("resume") for each in remote.asked] == [None, "b", "b", "c"]
    assert [each["fromT"] for each in remote.asked] == [3, None, None, None]
    assert waits == [0.5, 1.0, 0.5]
    assert told[:3] == [
        "gone; trying again",
        "gone; trying again",
        "connected again, and going on after transaction 1",
    ]


def test_who_is_told_that_a_stream_starts_over_is_not_told_that_it_goes_on() -> None:
    reset = {"data": {"live": {"kind": "RESET", "basisT": 9, "resume": "c"}}}
    remote = Breaking(["a"], [reset], [AdalogError(Code.ARG_INVALID, "no")])
    told: list[str] = []
    events = followed(remote, {}, told.append, 60, lambda _: None)
    assert [next(events)["kind"] for _ in range(2)] == ["PROGRESS", "RESET"]
    with pytest.raises(AdalogError, match="no"):
        next(events)
    assert told == ["the stream ended; trying again"] * 2


def test_a_server_that_is_gone_for_too_long_is_given_up() -> None:
    gone = AdalogError(Code.BACKEND_UNAVAILABLE, "no adalog answers at nowhere")
    remote = Breaking(["a"], *([gone] for _ in range(20)))
    waits: list[float] = []
    events = followed(remote, {}, lambda _: None, 60, waits.append, lambda: sum(waits))
    assert next(events)["resume"] == "a"
    with pytest.raises(AdalogError, match=r"nowhere\. It has been so for 1 min, and .* transaction 1;") as given_up:
        next(events)
    assert given_up.value.code is Code.BACKEND_UNAVAILABLE
    assert waits == [0.5, 1, 2, 4, 8, 15, 15, 14.5]


def test_time_without_events_is_no_time_without_the_server() -> None:
    now = [0.0]

    def quiet() -> Iterator[Any]:
        for token in "ab":
            yield token
            now[0] += 1000

    gone = AdalogError(Code.BACKEND_UNAVAILABLE, "gone")
    remote = Breaking(quiet(), [gone], ["c"])  # type: ignore[arg-type]
    events = followed(remote, {}, lambda _: None, 60, lambda _: None, lambda: now[0])
    assert [next(events)["resume"] for _ in range(3)] == ["a", "b", "c"]


class Following:
    """`adalog live` in a process of its own: its events, and what it says beside them."""

    def __init__(self, address: str, query: str) -> None:
        self.process = subprocess.Popen(
            command("live", "--url", address, "--format", "json", query),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ(),
            text=True,
            preexec_fn=_interruptible,
        )

    def event(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def said(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.readline()


def test_a_server_that_is_killed_and_comes_back_then_goes_for_good(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    server.start()
    query = "[:find ?n :where [_ :person/name ?n]]"
    try:
        server.transact("[{:db/ident :person/name :db/valueType :db.type/string}]")
        server.transact('[{:person/name "Ada"}]')
        run = Following(server.address, query)
        with run.process:
            try:
                assert run.event()["rows"] == [["Ada"]]
                server.transact('[{:person/name "Byron"}]')
                assert run.event()["added"] == [["Byron"]]
                server.stop(signal.SIGKILL)
                assert "trying again" in run.said()
                server.start()
                server.transact('[{:person/name "Anne"}]')
                while "connected again" not in (line := run.said()):
                    assert "trying again" in line
                assert "after transaction 3" in line
                server.transact('[{:person/name "Ralph"}]')
                assert [run.event() for _ in range(2)] == [
                    {"kind": "DELTA", "t": t, "added": [[name]], "retracted": []}
                    for t, name in ((4, "Anne"), (5, "Ralph"))
                ], "each once"
                server.stop(signal.SIGTERM)
                for _ in range(2):
                    assert "trying again" in run.said()
            finally:
                run.process.send_signal(signal.SIGINT)
            assert run.process.wait() == 130
    finally:
        if server.process is not None:
            server.stop(signal.SIGKILL)
