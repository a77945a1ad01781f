"""A server that is killed and started again under 100 subscribers: each goes on where it was."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.cli.command_line import command, environ
from tests.protocols.node import SECONDS, Node
from tests.waiting import until

SUBSCRIBERS = 100
NAMES = """
subscription ($resume: String) {
  live(query: "[:find ?n :where [_ :person/name ?n]]", resume: $resume) { kind resume rows added retracted reason }
}
"""


class Server:
    """A served folder; `start` again after `stop` serves at the same address."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.settings = settings
        self.port = 0
        self.process: subprocess.Popen[str] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/graphql"

    def start(self) -> None:
        serve = ("serve", "--data", str(self.folder), "--port", str(self.port))
        self.process = subprocess.Popen(
            self.command(*serve),
            env=environ(ADALOG_SPARK="off", PYTHONPATH=str(Path(__file__).parents[2]), **self.settings),
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = re.search(r":(\d+)/graphql", line)
        assert found is not None, line
        self.port = int(found[1])

    def stop(self, number: int) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        self.process.send_signal(number)
        self.process.wait(SECONDS)
        self.process.stdout.close()
        self.process = None

    def transact(self, tx: str) -> None:
        body = {"query": "mutation ($tx: EDN!) { transact(tx: $tx) { t } }", "variables": {"tx": tx}}
        answer = httpx.post(self.address, json=body, headers=self.headers(), timeout=SECONDS).json()
        assert "errors" not in answer, answer

    def headers(self) -> dict[str, str]:
        """Of requests to it."""
        return {}

    def command(self, *arguments: str) -> Sequence[str]:
        """The words of its process."""
        return command(*arguments)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    opened = Server(tmp_path / "data")
    opened.start()
    yield opened
    if opened.process is not None:
        opened.stop(signal.SIGKILL)


class Follower:
    """The rows of one subscriber, as its events make them."""

    def __init__(self) -> None:
        self.rows: set[str] = set()
        self.kinds: list[str] = []

    def take(self, event: dict[str, Any]) -> None:
        self.kinds.append(event["kind"])
        added = {row for (row,) in (event["rows"] or []) + (event["added"] or [])}
        retracted = {row for (row,) in event["retracted"] or []}
        assert not added & self.rows, f"twice: {added & self.rows}"
        assert retracted <= self.rows, f"never there: {retracted - self.rows}"
        self.rows = (self.rows | added) - retracted


@pytest.mark.slow
def test_all_go_on_and_none_loses_or_repeats_a_change(node: Node, server: Server) -> None:
    server.transact("[{:db/ident :person/name :db/valueType :db.type/string :db/unique :db.unique/identity}]")
    followers: dict[str, Follower] = {}
    forever = {"retryAttempts": 10_000}
    url = server.address
    node.tell("open", client="sse", kind="sse", url=url, options=forever)
    for number in range(5):
        node.tell("open", client=f"ws {number}", kind="ws", url=url.replace("http", "ws", 1), options=forever)
    for number in range(SUBSCRIBERS):
        name, client = f"follower {number}", "sse" if number % 2 else f"ws {number % 5}"
        followers[name] = Follower()
        node.tell("subscribe", client=client, name=name, payload={"query": NAMES}, resuming=True)

    def follow(expected: set[str]) -> None:
        """Takes events until everybody has these rows."""
        while any(follower.rows != expected for follower in followers.values()):
            event = node.expect(event="next")
            followers[event["name"]].take(event["value"]["data"]["live"])

    expected: set[str] = set()

    def write(name: str) -> None:
        server.transact(f'[{{:person/name "{name}"}}]')
        expected.add(name)

    for number in range(5):
        write(f"before {number}")
    follow(expected)
    for number in range(5):
        write(f"just before {number}")
    server.stop(signal.SIGKILL)
    server.start()
    for number in range(5):
        write(f"after {number}")
    server.transact('[[:db/retractEntity [:person/name "just before 0"]]]')
    expected.remove("just before 0")
    follow(expected)
    for follower in followers.values():
        assert follower.kinds.count("SNAPSHOT") == 1
        assert "RESET" not in follower.kinds
    assert not node.unexpected(event="complete")
    assert not [each for each in node.unexpected(event="error") if "name" in each]
    with contextlib.closing(httpx.Client()) as client:
        for name in followers:
            node.tell("unsubscribe", name=name)
        metrics = server.address.replace("graphql", "metrics")
        until(lambda: 'adalog_streams{protocol="events"} 0.0' in client.get(metrics).text)
