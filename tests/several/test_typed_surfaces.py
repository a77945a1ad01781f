"""The typed surface of two workers behind one port, and of two gateways on one PostgreSQL log: what one of them
answered the other has with its next answer, its schema too."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import postgres_servers
from tests.several.fleet import serving
from tests.several.gateway import Gateway
from tests.spark_processes import alive
from tests.waiting import until

SCHEMA = """[{:db/ident :issue/number :db/valueType :db.type/long :db/unique :db.unique/identity}
  {:db/ident :issue/title :db/valueType :db.type/string}
  {:db/ident :issue/status :db/valueType :db.type/ref :graphql/enum :status} {:db/ident :status/open}
  {:db/ident :issue/labels :db/valueType :db.type/ref :db/cardinality :db.cardinality/many :graphql/type :label}
  {:db/ident :label/name :db/valueType :db.type/string :db/unique :db.unique/identity}]"""
TRANSACT = "mutation ($tx: EDN!) { transact(tx: $tx) { t } }"
CREATE = """mutation ($input: IssueCreateInput!, $key: String) {
  createIssue(input: $input, idempotencyKey: $key) { t issue { id number title labels { name } } } }"""
READ = "query ($n: Long, $basis: BasisInput) { issue(number: $n, basis: $basis) { title labels { name } } }"


@dataclass
class Processes:
    """urls: of each, or the one of all. kill: ends one of them, and waits until it is there again."""

    urls: list[str]
    kill: Callable[[], None]

    @contextmanager
    def clients(self) -> Iterator[list[httpx.Client]]:
        """Four, each with a connection of its own: no process has all of them."""
        with ExitStack() as opened:
            urls = [self.urls[number % len(self.urls)] for number in range(4)]
            clients = [opened.enter_context(httpx.Client(base_url=url, timeout=60)) for url in urls]
            for client in clients:
                ask(client, "{ database { basisT } }")
            yield clients


def ask(client: httpx.Client, document: str, seen: int = 0, **variables: Any) -> Any:
    """seen: the transaction that the client has seen, which another gateway may not have read yet."""
    asked = {"query": document, "variables": variables, "extensions": {"minBasisT": seen}}
    answer = client.post("/graphql", json=asked).json()
    assert "errors" not in answer, answer["errors"]
    return answer["data"]


@contextmanager
def workers(folder: Path) -> Iterator[Processes]:
    with serving(folder, 2) as fleet:
        fleet.until_ready(2)

        def kill() -> None:
            first = fleet.workers()[0]
            os.kill(first, signal.SIGKILL)
            until(lambda: not alive(first))
            fleet.until_ready(2)

        yield Processes([fleet.url], kill)


@contextmanager
def gateways(_: Path) -> Iterator[Processes]:
    with postgres_servers.running() as postgres, ExitStack() as opened:
        address = postgres.new_database()
        found = [Gateway({"ADALOG_DATA": address}) for _ in range(2)]
        for each in found:
            opened.callback(each.kill)
        assert all(each.wait() for each in found)
        yield Processes([each.url for each in found], lambda: found[0].begin_again(threading.Event()))


@pytest.fixture(scope="module", params=[workers, gateways], ids=["workers", "gateways"])
def processes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    with request.param(tmp_path_factory.mktemp("surfaces") / "data") as opened:
        with httpx.Client(base_url=opened.urls[0], timeout=60) as client:
            ask(client, TRANSACT, tx=SCHEMA)
        yield opened


def pairs(clients: list[httpx.Client]) -> Iterator[tuple[int, httpx.Client, httpx.Client]]:
    """(a number, who writes, who reads)"""
    for number in range(12):
        yield number, clients[number % 4], clients[(number + 1 + number // 4) % 4]


def test_what_one_created_another_reads_at_its_basis(processes: Processes) -> None:
    with processes.clients() as clients:
        for number, writer, reader in pairs(clients):
            given = {"number": number, "title": f"{number}", "labels": {"create": [{"name": f"l{number}"}]}}
            made = ask(writer, CREATE, input=given, key=f"create {number}")
            t, issue = made["createIssue"]["t"], made["createIssue"]["issue"]
            expected = {"title": f"{number}", "labels": [{"name": f"l{number}"}]}
            assert ask(reader, READ, n=number, basis={"t": t}) == {"issue": expected}
            seen = {"query": READ, "variables": {"n": number}, "extensions": {"minBasisT": t}}
            assert reader.post("/graphql", json=seen).json() == {"data": {"issue": expected}}
            # The other one knows the key, too.
            assert ask(reader, CREATE, input=given, key=f"create {number}") == made
            update = "mutation ($by: IssueUnique!) { updateIssue(by: $by, set: {title: null}) { issue { title } } }"
            assert ask(reader, update, by={"id": issue["id"]})["updateIssue"]["issue"] == {"title": None}
        document = (
            "{ issuesConnection(orderBy: [{number: DESC}], first: 5) { nodes { number } pageInfo { endCursor } } }"
        )
        page = ask(clients[0], document)["issuesConnection"]
        more = document.replace("first: 5", f'first: 5, after: "{page["pageInfo"]["endCursor"]}"')
        for client in clients:
            nodes = ask(client, more)["issuesConnection"]["nodes"]
            assert [each["number"] for each in nodes] == [
                page["nodes"][-1]["number"] - each for each in range(1, 6)
            ]


def test_what_one_declared_another_answers_with_the_next_request(processes: Processes) -> None:
    with processes.clients() as clients:
        for number, writer, reader in pairs(clients):
            name = f"f{number}"
            ask(writer, TRANSACT, tx=f"[{{:db/ident :issue/{name} :db/valueType :db.type/long}}]")
            assert ask(reader, f"{{ issues(first: 1, where: {{{name}: {{gt: 1}}}}) {{ {name} }} }}") == {
                "issues": []
            }
            name = f"g{number}"
            t = ask(writer, TRANSACT, tx=f"[{{:db/ident :issue/{name} :db/valueType :db.type/long}}]")["transact"][
                "t"
            ]
            document = f"query ($b: BasisInput) {{ issues(basis: $b, where: {{{name}: {{gt: 1}}}}) {{ {name} }} }}"
            assert ask(reader, document, b={"t": t}) == {"issues": []}
            ask(writer, TRANSACT, tx=f"[{{:db/ident :issue/h{number} :db/valueType :db.type/long}}]")
            given = {"number": 100 + number, f"h{number}": number}
            assert ask(reader, CREATE, input=given)["createIssue"]["issue"]["number"] == 100 + number
            ask(writer, TRANSACT, tx=f"[{{:db/ident :status/s{number}}}]")
            listed = "query ($where: IssueWhere) { issues(where: $where) { number } }"
            assert ask(reader, listed, where={"status": {"eq": f"S{number}"}}) == {"issues": []}
            ask(writer, TRANSACT, tx=f"[{{:db/ident :n{number}/a :db/valueType :db.type/long}}]")
            assert f"type N{number} " in reader.get("/graphql/schema").text
            ask(writer, TRANSACT, tx=f"[{{:db/ident :m{number}/a :db/valueType :db.type/long}}]")
            shown = ask(reader, f'{{ __type(name: "M{number}") {{ name }} }}')
            assert shown == {"__type": {"name": f"M{number}"}}


class Listener(threading.Thread):
    """One subscription by SSE, until it is told to stop."""

    def __init__(self, url: str, document: str, **variables: Any) -> None:
        super().__init__(daemon=True)
        self._request = {"url": f"{url}/graphql", "json": {"query": document, "variables": variables}}
        self._changed = threading.Condition()
        self._events: list[Any] = []
        self._stopped = False
        self.start()

    def run(self) -> None:
        accept = {"accept": "text/event-stream"}
        # Its server may be killed.
        with (
            suppress(httpx.HTTPError),
            httpx.stream("POST", **self._request, headers=accept, timeout=60) as response,  # type: ignore[arg-type]
        ):
            for line in response.iter_lines():
                if line.startswith("data:") and line[5:].strip():
                    with self._changed:
                        self._events.append(json.loads(line[5:]))
                        self._changed.notify_all()
                if self._stopped:
                    return

    def until(self, holds: Callable[[list[Any]], bool]) -> list[Any]:
        with self._changed:
            assert self._changed.wait_for(lambda: holds(self._events), 60), self._events
            return list(self._events)

    def stop(self) -> None:
        self._stopped = True


def accumulated(events: list[Any]) -> dict[int, Any]:
    rows: dict[str, Any] = {}
    for each in (event["data"]["issuesLive"] for event in events):
        if each["kind"] == "RESET":
            rows = {}
        rows |= {row["id"]: row for row in (*each["added"], *each["changed"])}
        rows = {key: row for key, row in rows.items() if key not in each["removed"]}
    return {row["number"]: [label["name"] for label in row["labels"]] for row in rows.values()}


def test_streams_of_one_are_fed_by_the_others_and_outlive_one_that_is_killed(processes: Processes) -> None:
    live = """subscription ($resume: String) { issuesLive(where: {number: {gte: 1000}}, resume: $resume) {
        kind resume basisT added { id number labels { name } } changed { id number labels { name } } removed } }"""
    listeners = [Listener(processes.urls[number % len(processes.urls)], live) for number in range(4)]
    schemas = [Listener(each, "subscription { schemaChanged }") for each in processes.urls * 2]
    for each in (*listeners, *schemas):
        each.until(bool)
    with processes.clients() as clients:
        for number, writer, other in pairs(clients):
            given = {"number": 1000 + number, "labels": {"create": [{"name": f"live {number}"}]}}
            ask(writer, CREATE, input=given)
            rename = "mutation ($n: String, $to: String) { updateLabel(by: {name: $n}, set: {name: $to}) { t } }"
            ask(other, rename, n=f"live {number}", to=f"renamed {number}")
        ask(clients[0], "mutation { deleteIssue(by: {number: 1000}) { t } }")
        expected = {1000 + number: [f"renamed {number}"] for number in range(1, 12)}
        for each in listeners:
            each.until(lambda events: accumulated(events) == expected)
        tx = "[{:db/ident :issue/at-last :db/valueType :db.type/long}]"
        t = ask(clients[1], TRANSACT, tx=tx)["transact"]["t"]
        for each in schemas:
            each.until(lambda events: any(event["data"]["schemaChanged"] == t for event in events))
    events = listeners[0].until(bool)
    processes.kill()
    with processes.clients() as clients:
        update = "mutation { updateIssue(by: {number: 1001}, set: {labels: null, atLast: 1}) { t } }"
        t = ask(clients[2], update)["updateIssue"]["t"]
        expected[1001] = []
        resume = events[-1]["data"]["issuesLive"]["resume"]
        for client in clients:
            assert ask(client, "{ issue(number: 1001) { atLast } }", t) == {"issue": {"atLast": 1}}
        for url in processes.urls * 2:
            again = Listener(url, live, resume=resume)
            more = again.until(lambda found: accumulated([*events, *found]) == expected)
            assert {each["data"]["issuesLive"]["kind"] for each in more} <= {"DELTA", "PROGRESS"}
            again.stop()
    for each in (*listeners, *schemas):
        each.stop()
