"""Imports that a server runs for a client: who may ask for which, what is told, and what others see of it."""

from __future__ import annotations

import hashlib
import json
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from adalog.cluster.tasks import JobProgress
from adalog.executor.pool import Pool
from adalog.gateway.cli import main
from adalog.gateway.jobs.imports import Imports
from adalog.gateway.jobs.jobs import Jobs
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError, Settings
from adalog.pipeline.importing.read import runner
from adalog.store.database import Database
from tests.gateway.process.test_shutdown import serving
from tests.gateway.streams import Live
from tests.gateway.support import Gateway, served
from tests.gateway.test_live import LOG, as_events, payloads
from tests.pipeline.pipeline_in_process import InProcess
from tests.pipeline.test_importing import SCHEMA, facts, mapping

T = TypeVar("T")
R = TypeVar("R")

SECONDS = 30.0
PEOPLE = pa.table({"id": ["a", "b", None], "name": ["Ada", "Bob", "nobody"]})
NAMES = "[:find ?n :where [_ :person/name ?n]]"
FOLLOW = f'subscription {{ live(query: "{NAMES}") {{ kind basisT resume rows added retracted last }} }}'


class Stepwise(InProcess):
    """A runner that waits before each stage until it may go on, where that is wanted."""

    def __init__(self, told: JobProgress, gate: Gate) -> None:
        super().__init__()
        self._told = told
        self._gate = gate

    def each(
        self, stage: str, work: Callable[[T], R], items: Sequence[T], rows: Callable[[], int] = lambda: 0
    ) -> list[R]:
        self._told.stage(stage)
        self._gate.pass_(self._told)
        made = super().each(stage, work, items, rows)
        self._told.tasks(len(items), len(items), 3)
        return made


class Gate:
    """Where an import waits; open unless it is closed."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.ended = threading.Event()
        self._open = threading.Event()
        self._open.set()

    def close(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()

    def pass_(self, told: JobProgress) -> None:
        self.reached.set()
        try:
            while not self._open.wait(0.01):
                told.tasks(0, 0, 0)
        except BaseException:
            self.ended.set()
            raise


class Importing:
    """A gateway over a folder that imports tables without Spark."""

    def __init__(self, opened: Gateway, address: str, inbox: Path) -> None:
        self.opened = opened
        self.database = opened.database
        self.address = address
        self.inbox = inbox
        self.gate = Gate()
        imports: Imports = opened.app.state.imports
        imports.runner = lambda told, _: Stepwise(told, self.gate)

    def wish(self, path: str = "people.parquet", **more: Any) -> dict[str, Any]:
        return wish(self.inbox, path, **more)

    def ask(self, wish: dict[str, Any], **more: Any) -> httpx.Response:
        return httpx.post(f"{self.address}/import", json=wish, timeout=SECONDS, **more)

    def events(self, wish: dict[str, Any]) -> list[tuple[str, Any]]:
        response = self.ask(wish)
        assert response.headers["content-type"].startswith("text/event-stream"), response.text
        return list(read(response.text))


def wish(inbox: Path, path: str = "people.parquet", **more: Any) -> dict[str, Any]:
    said = mapping({"person/name": "name"}, **more.pop("source", {}))
    said["sources"]["people"]["path"] = path
    return {"mapping": json.dumps(said), "file": str(inbox / "mapping.yaml"), "maxErrors": 1, **more}


def read(text: str) -> Iterator[tuple[str, Any]]:
    for block in text.split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if line and not line.startswith(":"))
        if lines:
            yield lines["event"], json.loads(lines["data"])


@contextmanager
def importing(tmp_path: Path, **settings: Any) -> Iterator[Importing]:
    inbox = tmp_path / "in"
    inbox.mkdir()
    pq.write_table(PEOPLE, inbox / "people.parquet")
    given = Settings(**{"data": str(tmp_path / "data"), "port": 0, "import_folders": str(inbox), **settings})
    with Database.open(given.data) as database:
        database.transact(SCHEMA)
        pool = Pool(database)
        opened = Gateway(database, pool, given)
        try:
            with opened.app.state.hub, served(opened.app, given) as address:
                yield Importing(opened, address, inbox)
            opened.http.close()
        finally:
            opened.app.state.imports.jobs.join()
            pool.close()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Importing]:
    with importing(tmp_path) as found:
        yield found


def test_what_is_told(server: Importing) -> None:
    events = server.events(server.wish())
    assert [kind for kind, _ in events if kind != "progress"] == ["rejected", "done"]
    stages = [said["stage"] for kind, said in events if kind == "progress"]
    # Of those that nobody had taken yet the latest is told.
    files = {f"{what} people" for what in ("dividing", "looking at", "reading", "writing rejected rows of")}
    assert set(stages) <= {*files, "keys", "values", "attributes"}
    assert stages[-1] == "writing rejected rows of people"
    [rejected] = [said for kind, said in events if kind == "rejected"]
    assert rejected["file"] == "people-0.jsonl"
    assert json.loads(rejected["text"])["row"] == {"name": "nobody"}
    done = events[-1][1]
    assert {name: done[name] for name in ("t", "rows", "entities", "datoms", "rejected", "accepted")} == {
        "t": 2,
        "rows": 3,
        "entities": 2,
        "datoms": 4,
        "rejected": 1,
        "accepted": True,
    }
    assert {e for e, _, _ in facts(server.database)} == {"a", "b"}
    assert not (Path(server.opened.settings.data) / "importing").exists()


def test_refused_rows_and_dry_runs_import_nothing(server: Importing) -> None:
    assert server.events({**server.wish(), "maxErrors": 0})[-1][1]["accepted"] is False
    assert server.events({**server.wish(), "dryRun": True})[-1][1]["datoms"] == 4
    assert server.database.snapshot().t == 1


def test_what_comes_with_the_same_key_is_done_once(server: Importing) -> None:
    files = {"people": [str(server.inbox / "people.parquet")]}
    wish = {**server.wish("elsewhere.parquet"), "files": files, "idempotencyKey": "batch 1"}
    assert server.events(wish)[-1][1]["datoms"] == 4
    server.database.transact('[{:person/id "a" :person/name "Newer"}]')
    again = server.events(wish)[-1][1]
    assert (again["t"], again["datoms"], again["accepted"]) == (2, 0, True)
    assert server.database.snapshot().t == 3
    assert server.events({**wish, "idempotencyKey": " "})[-1][0] == "error"
    assert server.ask({**wish, "files": {"people": ["/etc/hostname"]}}).status_code == 403
    assert server.ask({**wish, "files": {"people": []}}).status_code == 400


# Others


def test_queries_live_ones_and_the_log_see_it(server: Importing) -> None:
    server.database.transact('[{:person/id "b" :person/name "Bert"}]')
    document = "query($q: EDN!) { q(query: $q) { rows basisT stats { cache } } }"

    def asked() -> Any:
        body = {"query": document, "variables": {"q": NAMES}}
        return httpx.post(f"{server.address}/graphql", json=body, timeout=SECONDS).json()["data"]["q"]

    before = asked()
    assert before["rows"] == asked()["rows"] == [["Bert"]]
    live = Live(None, server.opened, server.address)  # type: ignore[arg-type]
    with as_events(live, FOLLOW) as messages, as_events(live, LOG, **{"from": 3}) as log:
        events = payloads(messages)
        held = {tuple(row) for row in next(events)["rows"]}
        server.gate.close()
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(server.events(server.wish())))
        thread.start()
        assert server.gate.reached.wait(SECONDS)
        # While it runs, and so its base moves.
        server.database.transact('[{:person/id "z" :person/name "Zed"}]')
        event = next(events)
        assert (event["added"], event["retracted"]) == ([["Zed"]], [])
        held.add(("Zed",))
        server.gate.open()
        thread.join(SECONDS)
        done = results[0][-1][1]
        assert done["t"] == 4
        event = next(events)
        assert event["basisT"] == 4
        held = (held - {tuple(row) for row in event["retracted"]}) | {tuple(row) for row in event["added"]}
        assert [next(log)["data"]["transactions"]["t"] for _ in range(2)] == [3, 4]
    now = asked()
    assert now["basisT"] == 4
    assert {tuple(row) for row in now["rows"]} == held == {("Ada",), ("Bob",), ("Zed",)}
    body = {"query": "query($q: EDN!) { q(query: $q, basis: {t: 3}) { rows } }", "variables": {"q": NAMES}}
    past = httpx.post(f"{server.address}/graphql", json=body, timeout=SECONDS).json()["data"]["q"]
    assert sorted(past["rows"]) == [["Bert"], ["Zed"]]


def test_one_at_a_time_and_none_is_left_when_the_client_goes(server: Importing) -> None:
    server.gate.close()
    with httpx.stream("POST", f"{server.address}/import", json=server.wish(), timeout=SECONDS) as first:
        assert first.status_code == 200
        assert server.gate.reached.wait(SECONDS)
        with httpx.stream("POST", f"{server.address}/import", json=server.wish(), timeout=SECONDS) as second:
            lines = second.iter_lines()
            assert next(line for line in lines if line.startswith("event")) == "event: waiting"
            said = json.loads(next(lines).removeprefix("data: "))
            assert (said["running"], said["ahead"]) == ("an import of people", 1)
    assert server.gate.ended.wait(SECONDS)
    server.opened.app.state.imports.jobs.join()
    assert server.database.snapshot().t == 1
    assert not (Path(server.opened.settings.data) / "importing").exists()
    server.gate.open()
    assert server.events(server.wish())[-1][0] == "done"


def test_imports_take_their_turns(server: Importing) -> None:
    server.gate.close()
    with ExitStack() as streams:
        lines = []
        for ahead, name in enumerate(("person/one", "person/two", "person/three")):
            asked = server.wish()
            asked["mapping"] = asked["mapping"].replace("person/name", name)
            stream = httpx.stream("POST", f"{server.address}/import", json=asked, timeout=SECONDS)
            lines.append(streams.enter_context(stream).iter_lines())
            if not ahead:
                assert server.gate.reached.wait(SECONDS)
            else:
                assert next(line for line in lines[-1] if line.startswith("event")) == "event: waiting"
                assert json.loads(next(lines[-1]).removeprefix("data: "))["ahead"] == ahead
        server.gate.open()
        ends = [list(read("\n".join(own)))[-1] for own in lines]
    assert [(kind, said["t"]) for kind, said in ends] == [("done", 2), ("done", 3), ("done", 4)]


def test_too_many_that_wait_are_refused(server: Importing) -> None:
    server.opened.app.state.imports.jobs = Jobs("import")
    server.gate.close()
    with httpx.stream("POST", f"{server.address}/import", json=server.wish(), timeout=SECONDS):
        assert server.gate.reached.wait(SECONDS)
        second = server.ask(server.wish())
        assert second.status_code == 429
        assert second.json()["errors"][0]["extensions"]["code"] == "RATE_LIMITED"
        assert "retry-after" in second.headers
    assert server.gate.ended.wait(SECONDS)


def test_a_server_that_stops_says_so(tmp_path: Path) -> None:
    with importing(tmp_path) as server:
        server.gate.close()
        with httpx.stream("POST", f"{server.address}/import", json=server.wish(), timeout=SECONDS) as stream:
            assert server.gate.reached.wait(SECONDS)
            server.opened.app.state.imports.jobs.close(_stopping())
            events = list(read("".join(stream.iter_text())))
        assert events[-1][0] == "error"
        assert events[-1][1]["errors"][0]["extensions"]["code"] == "BACKEND_UNAVAILABLE"


def _stopping() -> Any:
    from adalog.executor.bounds.cancel import stopping

    return stopping()


def test_what_is_wrong_with_the_rows_is_told(server: Importing) -> None:
    pq.write_table(pa.table({"id": ["a"], "other": ["x"]}), server.inbox / "people.parquet")
    kind, said = server.events(server.wish())[-1]
    assert kind == "error"
    [error] = said["errors"]
    assert error["extensions"]["code"] == "ARG_INVALID"
    assert "source people has no column name; its columns are id, other" in error["message"]


_SERVER = """
from adalog.gateway.jobs.imports import Imports
from adalog.gateway.jobs.jobs import Jobs
from tests.gateway.jobs.test_imports import Gate, Stepwise

made = Imports.__init__

def without_spark(self, *given):
    made(self, *given)
    gate = Gate()
    gate.close()
    self.runner = lambda told, _: Stepwise(told, gate)

Imports.__init__ = without_spark
from adalog.gateway.cli import main
main()
"""


def test_a_server_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    inbox, data = tmp_path / "in", tmp_path / "data"
    inbox.mkdir()
    pq.write_table(PEOPLE, inbox / "people.parquet")
    with Database.open(str(data)) as database:
        database.transact(SCHEMA)
    root = str(Path(__file__).parents[3])
    with (
        serving(data, _SERVER, ADALOG_IMPORT_FOLDERS=str(inbox), PYTHONPATH=root) as server,
        httpx.stream("POST", f"{server.address}/import", json=wish(inbox), timeout=SECONDS) as stream,
    ):
        lines = stream.iter_lines()
        assert any('"stage":"dividing people"' in line for line in lines)
        assert server.transact('[{:person/id "z"}]').json()["data"]["transact"]["t"] == 2
        assert len(list((data / "importing").iterdir())) == 2
        server.stop(signal.SIGKILL)
        with pytest.raises(httpx.HTTPError):
            list(lines)
    with Database.open(str(data)) as database:
        assert facts(database) == {("z", ":person/id", "z")}
        assert not (data / "importing").exists()


# Who, and from where


def test_roles(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    lines = [f"{role}:{role}:{hashlib.sha256(role.encode()).hexdigest()}" for role in ("read", "write", "admin")]
    tokens.write_text("\n".join(lines))
    tokens.chmod(0o600)
    with importing(tmp_path, auth=str(tokens)) as server:
        assert server.ask(server.wish()).status_code == 401
        for role in ("read", "write"):
            refused = server.ask(server.wish(), headers={"Authorization": f"Bearer {role}"})
            assert refused.status_code == 403
            assert "needs the role admin" in refused.json()["errors"][0]["message"]
        allowed = server.ask(server.wish(), headers={"Authorization": "Bearer admin"})
        kind, done = list(read(allowed.text))[-1]
        assert kind == "done"
        [report] = server.database.transactions(done["t"], done["t"] + 1, 1)
        assert [each.v for each in report.datoms if str(each.a) == ":db/principal"] == ["admin"]
        body = {"query": 'mutation { transact(tx: "[[:db/add 1 :a/b 1]]") { t } }'}
        wrote = httpx.post(f"{server.address}/graphql", json=body, headers={"Authorization": "Bearer admin"})
        assert "errors" not in wrote.json()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"path": "/etc/passwd", "source": {"format": "csv"}}, "imports nothing from /etc/passwd"),
        ({"path": "../data/*.parquet"}, "imports nothing from"),
        ({"path": "file:///etc/passwd", "source": {"format": "csv"}}, "imports nothing from file:///etc/passwd"),
        ({"path": "s3a://bucket/people.parquet"}, "imports nothing from s3a://bucket/people.parquet"),
        (
            {"source": {"options": {"parquet.crypto.factory.class": "x"}}},
            "does not hand the option parquet.crypto.factory.class",
        ),
    ],
)
def test_places_and_options(server: Importing, changed: dict[str, Any], message: str) -> None:
    refused = server.ask(server.wish(**changed))
    assert refused.status_code == 403
    assert message in refused.json()["errors"][0]["message"]


def test_a_link_leads_nowhere_else(server: Importing, tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "secret.parquet")
    (server.inbox / "linked.parquet").symlink_to(tmp_path / "secret.parquet")
    (server.inbox / "folder").mkdir()
    (server.inbox / "folder" / "inner").symlink_to(tmp_path)
    for path in ("linked.parquet", "*.parquet", "folder"):
        refused = server.ask(server.wish(path, source={"format": "parquet"}))
        assert (path, refused.status_code) == (path, 403)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", "the request is not JSON"),
        (b'{"mapping": "a", "mapping": "b"}', '"mapping" stands twice'),
        (b'{"mapping": "a", "paths": {"p": "/a", "p": "/b"}}', '"p" stands twice'),
        (b"[]", "with `mapping`"),
        (b'{"mapping": 1}', "`mapping` is the text of a mapping"),
        (b'{"mapping": "", "data": "x"}', "an import has no 'data'"),
        (b'{"mapping": "sources: [", "maxErrors": 1}', "/mapping.yaml, line 1"),
        (b'{"mapping": "", "maxErrors": -1}', "`maxErrors` is 0 or more"),
        (
            b'{"mapping": "schema: x.edn\\nsources: {a: {path: a.csv, entity: {attribute: a/b, column: c}}}"}',
            "send its",
        ),
    ],
)
def test_requests_that_are_none(server: Importing, body: bytes, message: str) -> None:
    headers = {"Content-Type": "application/json"}
    refused = httpx.post(f"{server.address}/import", content=body, headers=headers, timeout=SECONDS)
    assert refused.status_code == 400
    assert message in refused.json()["errors"][0]["message"]


MAPPING = "sources: {a: {path: a.csv, entity: {attribute: a/b, column: c}}}"


@pytest.mark.parametrize("path", ["/a\0b", "file:///a%00b", "file://[::1/a", "s3a://bucket/a\0b", "a\0b.csv"])
def test_paths_that_are_none(server: Importing, path: str) -> None:
    """A path with a NUL among them, wherever it stands."""
    quoted = json.dumps(path)
    for wish in (
        {"mapping": MAPPING, "paths": {"a": path}},
        {"mapping": MAPPING, "files": {"a": [path]}},
        {"mapping": MAPPING.replace("a.csv", quoted)},
    ):
        refused = server.ask(wish)
        (error,) = refused.json()["errors"]
        assert (refused.status_code, error["extensions"]["code"]) == (400, "ARG_INVALID"), wish
        assert (
            "source a" in error["message"]
            or "no path or address" in error["message"]
            or "no address" in error["message"]
        )


def test_pages_and_other_methods_are_refused(server: Importing) -> None:
    assert server.ask(server.wish(), headers={"Origin": "http://localhost"}).status_code == 403
    got = httpx.get(f"{server.address}/import")
    assert (got.status_code, got.headers["allow"]) == (405, "POST")
    plain = httpx.post(f"{server.address}/import", content=b"{}", headers={"Content-Type": "text/plain"})
    assert plain.status_code == 400


def test_by_default_the_servers_own_user_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with importing(tmp_path, import_folders=None) as server:
        assert server.events(server.wish())[-1][0] == "done"
        assert server.ask(server.wish(), headers={"X-Forwarded-For": "10.0.0.1"}).status_code == 403
        monkeypatch.setattr("os.geteuid", lambda: 1 << 20)
        assert server.ask(server.wish()).status_code == 403


def test_off_is_off(tmp_path: Path) -> None:
    with importing(tmp_path, import_folders="off") as server:
        assert server.ask(server.wish()).status_code == 403


def test_places_that_are_none() -> None:
    with pytest.raises(SettingError, match="ADALOG_IMPORT_FOLDERS: 'in' is neither an absolute path nor"):
        checked(Settings(import_folders="/srv/in, in"))
    assert checked(Settings(import_folders="/srv/in,s3a://bucket/in"))


def test_without_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with importing(tmp_path) as server:
        imports: Imports = server.opened.app.state.imports
        imports.runner = imports._runner
        assert server.events(server.wish())[-1][0] == "done"
        monkeypatch.setattr(runner, "SMALL_BYTES", 1)
        refused = server.ask(server.wish())
        assert refused.status_code == 503
        assert "this server has no Spark" in refused.json()["errors"][0]["message"]


# The command

# The order of new entities is a matter of hashes.
SAMPLES = ('"a" + "a"', '"b" + "b"')
NICKS = ('"a" + "Ada"', '"b" + "Bob"')


def test_the_command(server: Importing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = {"schema": "more.edn", **mapping({"person/nick": "name"})}
    said["sources"]["people"]["path"] = "people.parquet"
    (server.inbox / "more.edn").write_text(
        "[{:db/ident :person/nick :db/valueType :db.type/string :db/cardinality :db.cardinality/one}]"
    )
    (server.inbox / "m.yaml").write_text(json.dumps(said))
    command = ["import", "--url", server.address, "--mapping", "in/m.yaml"]
    refused = CliRunner().invoke(main, command)
    assert refused.exit_code == 1, refused.output
    assert "1 rows were rejected; quarantine has them" in refused.stderr
    assert json.loads((tmp_path / "quarantine" / "people-0.jsonl").read_text())["row"] == {"name": "nobody"}
    dry = CliRunner().invoke(main, [*command, "--max-errors", "1", "--dry-run"])
    # Stages are told if they take a second.
    assert dry.stderr[dry.stderr.index("attribute ") :].splitlines() == [
        "attribute     come  change  go  rejected  samples",
        ":person/id       2       0   0         1  "
        + next(way for way in SAMPLES if way in dry.stderr)
        + "; rejected: there is no value for :person/id, which names the entity",
        ":person/nick     2       0   0         0  " + next(way for way in NICKS if way in dry.stderr),
        "a dry run: nothing was imported",
    ]
    assert set(json.loads(dry.stdout.splitlines()[-1])) == {
        "t",
        "rows",
        "entities",
        "datoms",
        "rejected",
        "seconds",
    }
    done = CliRunner().invoke(main, [*command, "--max-errors", "1", "people=in/people.parquet"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["t"], told["datoms"], told["rejected"]) == (2, 4 + 3, 1)
    outside = CliRunner().invoke(main, [*command, "people=/etc/passwd.csv"])
    assert (outside.exit_code, "imports nothing from /etc/passwd.csv" in outside.stderr) == (1, True)


def test_an_import_that_another_process_does_is_told_and_ended_as_ones_own(server: Importing) -> None:
    front: Imports = server.opened.app.state.imports
    owner = Imports(server.database, server.opened.pool, server.opened.settings, front.runner)
    owner.jobs = Jobs("import")

    def elsewhere(wish: Any) -> Generator[Any]:
        """As a worker asks another one: closing it is hanging up."""
        gone = threading.Event()
        try:
            said = owner.served(gone.is_set, wish)
            yield None
            yield from said
        finally:
            gone.set()
            for _ in said:
                pass

    front._elsewhere = elsewhere
    server.gate.close()
    with httpx.stream("POST", f"{server.address}/import", json=server.wish(), timeout=SECONDS) as first:
        assert first.status_code == 200
        assert server.gate.reached.wait(SECONDS)
        # Refusals are those of the one that does it.
        assert server.ask(server.wish()).status_code == 429
        server.gate.open()
        events = list(read("".join(first.iter_text())))
    assert [kind for kind, _ in events][-2:] == ["rejected", "done"]
    assert events[-1][1]["t"] == 2
    assert server.database.snapshot().t == 2
