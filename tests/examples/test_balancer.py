"""examples/balancer: two gateways behind nginx and HAProxy restart in turn, and no client notices.

`ADALOG_BALANCER_SECONDS=300` restarts them for five minutes, one every ten seconds; the suite restarts each once.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.postgres_servers import PostgresServer
from tests.several.gateway import Gateway
from tests.waiting import until

EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "balancer"
SECONDS: Final = float(os.environ.get("ADALOG_BALANCER_SECONDS", "0"))
PERIOD: Final = 10.0
CLIENTS: Final = 4
# Between two requests of a client: the machine restarts a gateway at the same time.
PAUSE: Final = 0.02
SCHEMA: Final = "[{:db/ident :n :db/valueType :db.type/long :db/unique :db.unique/value}]"
Q: Final = 'query($n: JSON!) { q(query: "[:find ?e . :in $ ?n :where [?e :n ?n]]", args: [$n]) { value } }'
TRANSACT: Final = "mutation($tx: EDN!) { transact(tx: $tx) { t } }"
LIVE: Final = (
    'subscription($resume: String) { live(query: "[:find ?n :where [_ :n ?n]]", resume: $resume) '
    "{ kind resume rows added } }"
)


@contextmanager
def balanced(program: str, folder: Path, gateways: list[Gateway]) -> Iterator[str]:
    """The address of the balancer, with the example's file and other ports."""
    name = {"nginx": "nginx.conf", "haproxy": "haproxy.cfg"}[program]
    port = free_port()
    text = (EXAMPLE / name).read_text()
    for given, used in ((8080, port), *zip((8081, 8082), (each.address[1] for each in gateways), strict=True)):
        text = text.replace(f"127.0.0.1:{given}", f"127.0.0.1:{used}")
    file = folder / name
    file.write_text(text)
    command = {
        "nginx": ["-p", str(folder), "-c", str(file), "-g", f"daemon off; {nginx_user()}"],
        "haproxy": ["-db", "-f", str(file)],
    }[program]
    # A pipe would be full of refused connections.
    log = folder / "log"
    with log.open("wb") as errors:
        process = subprocess.Popen([str(program_path(program)), *command], stdout=subprocess.DEVNULL, stderr=errors)
    try:
        url = f"http://127.0.0.1:{port}"
        until(lambda: process.poll() is not None or is_ready(url), 30)
        assert process.poll() is None, log.read_text()
        yield url
    finally:
        process.terminate()
        process.wait(30)


def program_path(program: str) -> str | None:
    """Debian has them where only root looks."""
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def nginx_user() -> str:
    """Root's nginx has other users for its work, who may not enter the test's folder."""
    return "user root;" if os.geteuid() == 0 else ""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def is_ready(url: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{url}/readyz", timeout=10).status_code == 200
    return False


@dataclass
class Load:
    """Clients of the balancer, until `stop`. `answers`: how many of each kind; `written`: what they transacted."""

    url: str
    answers: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self, client: int) -> None:
        host, port = self.url.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=60)
        number = client * 1_000_000
        while not self.stop.wait(PAUSE):
            number += 1
            if number % 5:
                body = {"query": Q, "variables": {"n": number - 1}}
            else:
                body = {"query": TRANSACT, "variables": {"tx": f"[{{:n {number}}}]"}}
            started = time.perf_counter()
            kind = ask(connection, body)
            self.seconds.append(time.perf_counter() - started)
            self.answers[kind] += 1
            if kind == "200" and not number % 5:
                self.written.append(number)
        connection.close()


def ask(connection: http.client.HTTPConnection, body: dict[str, Any]) -> str:
    """The status, or what else there was; `200` is an answer without errors."""
    try:
        connection.request("POST", "/graphql", json.dumps(body), {"Content-Type": "application/json"})
        response = connection.getresponse()
        content = response.read()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        return type(error).__name__
    if response.status != 200:
        return str(response.status)
    errors = json.loads(content).get("errors")
    return "200" if not errors else f"200 with {errors[0]['extensions']['code']}: {errors[0]['message']}"


class Follower:
    """A live query, resumed when its stream ends. `values`: what it was told; `refusals`: of attempts to resume."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.values: set[int] = set()
        self.resume: str | None = None
        self.streams = 0
        self.refusals: Counter[str] = Counter()
        self.stop = threading.Event()

    def take(self, answer: dict[str, Any]) -> None:
        event = answer["data"]["live"]
        assert event["kind"] in ("SNAPSHOT", "DELTA", "PROGRESS"), event
        for row in event["rows"] or event["added"] or ():
            assert row[0] not in self.values, "told twice"
            self.values.add(row[0])
        self.resume = event["resume"]

    def run(self) -> None:
        while not self.stop.is_set():
            self.streams += 1
            self.follow()

    def follow(self) -> None:
        """One stream, to its end."""
        raise NotImplementedError


class EventsFollower(Follower):
    def follow(self) -> None:
        body = {"query": LIVE, "variables": {"resume": self.resume}}
        headers = {"Accept": "text/event-stream"}
        with httpx.stream("POST", f"{self.url}/graphql", json=body, headers=headers, timeout=60) as response:
            if response.status_code != 200:
                self.refusals[str(response.status_code)] += 1
                return
            # A stream that is cut off instead of ended raises RemoteProtocolError.
            for line in response.iter_lines():
                if line.startswith("data: {"):
                    self.take(json.loads(line[6:]))
                if self.stop.is_set():
                    return


class SocketFollower(Follower):
    def follow(self) -> None:
        url = self.url.replace("http", "ws", 1) + "/graphql"
        with connect(url, subprotocols=["graphql-transport-ws"]) as websocket:  # type: ignore[list-item]
            payload = {"query": LIVE, "variables": {"resume": self.resume}}
            websocket.send(json.dumps({"type": "connection_init"}))
            websocket.send(json.dumps({"id": "1", "type": "subscribe", "payload": payload}))
            try:
                while not self.stop.is_set():
                    with suppress(TimeoutError):
                        message = json.loads(websocket.recv(timeout=1))
                        if message["type"] == "next":
                            self.take(message["payload"])
            except ConnectionClosed as closed:
                code = 1006 if closed.rcvd is None else closed.rcvd.code
                if code != 1012:
                    self.refusals[str(code)] += 1


def restart(gateway: Gateway) -> float:
    """SIGTERM, the end, and a new process, as an orchestrator does. Returns the seconds until it is ready."""
    started = time.monotonic()
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.process.wait(60) == 0
    assert gateway.process.stdout is not None
    gateway.process.stdout.close()
    gateway.said += gateway.log.whole()
    gateway.start()
    assert gateway.wait(), gateway.log.whole()
    until(lambda: is_ready(gateway.url), 120)
    return time.monotonic() - started


@pytest.mark.timeout(SECONDS + 300)
@pytest.mark.parametrize("program", ["nginx", "haproxy"])
def test_restarts_behind_a_balancer(program: str, tmp_path: Path, postgres: PostgresServer) -> None:
    if program_path(program) is None:
        pytest.skip(f"there is no {program} here: sudo apt-get install {program}")
    environment = {"ADALOG_DATA": postgres.new_database(), "ADALOG_DRAIN_SECONDS": "2"}
    gateways: list[Gateway] = []
    try:
        gateways += (Gateway(environment) for _ in range(2))
        assert all(each.wait() for each in gateways)
        until(lambda: all(is_ready(each.url) for each in gateways), 120)
        with balanced(program, tmp_path, gateways) as url:
            httpx.post(f"{url}/graphql", json={"query": TRANSACT, "variables": {"tx": SCHEMA}}).raise_for_status()
            check(url, gateways)
    finally:
        for each in gateways:
            each.kill()
    for each in gateways:
        assert "Traceback" not in each.said


def check(url: str, gateways: list[Gateway]) -> None:
    load, followers = Load(url), [EventsFollower(url), SocketFollower(url)]
    threads = [threading.Thread(target=load.run, args=(client,)) for client in range(1, CLIENTS + 1)]
    threads += [threading.Thread(target=each.run) for each in followers]
    for thread in threads:
        thread.start()
    took: list[float] = []
    try:
        until(lambda: all(each.values for each in followers))
        end = time.monotonic() + SECONDS
        while len(took) < len(gateways) or time.monotonic() < end:
            took.append(restart(gateways[len(took) % len(gateways)]))
            if SECONDS:
                time.sleep(max(0.0, PERIOD - took[-1]))
        load.stop.set()
        for thread in threads[:CLIENTS]:
            thread.join(120)
        written = set(load.written)
        until(lambda: all(written <= each.values for each in followers))
    finally:
        load.stop.set()
        for each in followers:
            each.stop.set()
        # Ends the wait of those that have nothing more to be told.
        httpx.post(f"{url}/graphql", json={"query": TRANSACT, "variables": {"tx": "[{:n -1}]"}})
        for thread in threads:
            thread.join(60)
    total = load.answers.total()
    slow = sorted(load.seconds)
    print(
        f"{total} answers, {len(took)} restarts of {max(took):.1f} s at most: {dict(load.answers)}; p50 "
        f"{1000 * slow[total // 2]:.0f} ms, p99 {1000 * slow[total * 99 // 100]:.0f} ms, longest {slow[-1]:.2f} s; "
        f"streams {[each.streams for each in followers]}"
    )
    assert load.answers.keys() == {"200"}, load.answers
    assert total > 100
    for each in followers:
        assert each.streams > 1
        assert not each.refusals
        assert written <= each.values
