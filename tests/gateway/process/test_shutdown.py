"""A server that is told to stop answers those who wait, and is gone within seconds whatever runs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from adalog.store.database import Database
from adalog.store.files.private_folder import remove_abandoned
from tests.spark_processes import alive, busy_worker, descendants
from tests.support import QUICK
from tests.waiting import until

NUMBERS = "[" + " ".join(f"[:db/add {number} :n/value {number}]" for number in range(1, 1501)) + "]"
JOIN = "[:find (count ?a) . :with ?b ?c ?d :where [?a :n/value ?v] [?b :n/value ?w] [?c :n/value ?x] "
JOIN += "[?d :n/value ?y] [(+ ?v ?w ?x ?y) ?s] [(< ?s 0)]]"
# A transaction that takes as long as its stored queries may.
SLOW = JOIN.replace("(count ?a) . :with ?b ?c ?d", "?op ?a ?at ?s").replace(
    "[(< ?s 0)]", "[(< ?s 0)] [(ground :db/add) ?op] [(ground :n/value) ?at]"
)
# The server is gone within 5; a machine that runs other tests beside may be slower than its clock.
GONE_SECONDS = 15.0
SERVE = "from adalog.gateway.cli import main; main()"
ON_SPARK = {"ADALOG_SPARK": "on", "ADALOG_SPARK_CONF": json.dumps(QUICK)}


class Log:
    """What a process says, line by line."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._ended = False
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        for line in self._stream:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()
        self._stream.close()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, text: str, seconds: float) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: text in "".join(self._lines) or self._ended, seconds), text
            assert text in "".join(self._lines), "".join(self._lines)

    def whole(self) -> str:
        """All of it, once the process has ended."""
        self._thread.join(30)
        return "".join(self._lines)


@dataclass
class Served:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    address: str
    said: Log

    def post(self, query: str, *, media: str = "application/json", **variables: Any) -> httpx.Response:
        body = {"query": query, "variables": variables}
        return httpx.post(f"{self.address}/graphql", json=body, headers={"Accept": media}, timeout=60)

    def q(self, query: str, **more: Any) -> httpx.Response:
        document = "query($q: EDN!, $e: Engine) { q(query: $q, engine: $e) { value } }"
        media = more.pop("media", "application/json")
        return self.post(document, media=media, q=query, e=more.get("engine", "LOCAL"))

    def transact(self, tx: str, key: str | None = None) -> httpx.Response:
        return self.post(
            "mutation($tx: EDN!, $k: String) { transact(tx: $tx, idempotencyKey: $k) { t } }", tx=tx, k=key
        )

    def metric(self, name: str) -> float:
        found = re.search(rf"^{name} (\S+)$", httpx.get(f"{self.address}/metrics").text, re.MULTILINE)
        assert found is not None
        return float(found[1])

    def until(self, name: str, value: float) -> None:
        """Waits until a metric has a value."""
        until(lambda: self.metric(name) == value, 30)

    def stop(self, number: int = signal.SIGTERM) -> float:
        """Sends a signal; the seconds until the process was gone."""
        started = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(30)
        return time.monotonic() - started

    def log(self) -> str:
        return self.said.whole()


@contextlib.contextmanager
def serving(folder: Path | str, program: str = SERVE, **environment: str) -> Iterator[Served]:
    settings = {"ADALOG_SPARK": "off", "ADALOG_TIMEOUT_MS": "600000", "ADALOG_LOG_LEVEL": "info"}
    process = subprocess.Popen(
        [sys.executable, "-c", program, "serve", "--port", "0", "--data", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **settings, **environment, "NO_COLOR": "1"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    said = Log(process.stderr)
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+?:\d+", line)
        assert found is not None, line
        yield Served(process, found[0], said)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        said.whole()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    with Database.open(str(path)) as database:
        database.transact(NUMBERS)
        database.transact([{_kw("db/ident"): _kw("slow"), _kw("db/fn"): SLOW}])
    return path


def _kw(name: str) -> Any:
    from adalog.datalog.values import Keyword

    return Keyword(name)


@pytest.fixture
def server(folder: Path) -> Iterator[Served]:
    with serving(folder) as opened:
        yield opened


@pytest.fixture
def clients() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as pool:
        yield pool


def error_of(answer: Future[httpx.Response]) -> tuple[int, dict[str, Any]]:
    response = answer.result(30)
    assert response.headers["content-type"].startswith("application/")
    (error,) = response.json()["errors"]
    return response.status_code, error


def check_quiet(server: Served) -> None:
    assert server.process.returncode == 0, server.log()
    assert "Traceback" not in server.log()
    assert "Exception" not in server.log()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_queries_that_run_and_wait_are_answered(server: Served, clients: ThreadPoolExecutor, number: int) -> None:
    graphql = "application/graphql-response+json"
    answers = [clients.submit(server.q, JOIN, media=media) for media in ["application/json", graphql] * 3]
    # All ask the same, so that one runs for all of them; another one runs beside it.
    other = clients.submit(server.q, JOIN.replace("0)]", "-1)]"))
    server.until("adalog_queries_running", 2)
    # The seven, and the one that asks for this figure.
    server.until("adalog_connections", len(answers) + 2)
    assert server.stop(number) < GONE_SECONDS
    for place, answer in enumerate([*answers, other]):
        status, error = error_of(answer)
        assert error["extensions"]["code"] == "BACKEND_UNAVAILABLE"
        assert error["extensions"]["retryable"] is True
        assert "shutting down" in error["message"]
        # Whoever's query notices first has an answer with an error; the others have none.
        assert status == 200 or (status == 503 and place % 2)
    check_quiet(server)


def test_idle_and_half_sent_connections_are_closed(server: Served) -> None:
    host, port = server.address.removeprefix("http://").split(":")
    head = f"POST /graphql HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n"
    with contextlib.ExitStack() as stack:
        idle, half_head, half_body = (
            stack.enter_context(socket.create_connection((host, int(port)), timeout=30)) for _ in range(3)
        )
        idle.sendall(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b'{"status":"alive"}'):
            answer += idle.recv(4096)
        half_head.sendall(head.encode())
        half_body.sendall(head.encode() + b"\r\n{")
        assert httpx.get(f"{server.address}/healthz").status_code == 200
        assert server.stop() < GONE_SECONDS
        assert b"shutting down" in half_body.recv(65536)
        assert idle.recv(4096) == b""
    check_quiet(server)


def test_a_transaction_that_runs_is_answered_with_the_truth(
    server: Served, clients: ThreadPoolExecutor, folder: Path
) -> None:
    running = clients.submit(server.transact, "[[:slow] [:db/add 1 :slow/done true]]")
    server.until("adalog_transactions_waiting", 1)
    behind = [clients.submit(server.transact, f"[[:db/add {n} :behind {n}]]") for n in range(1, 6)]
    # A slow one holds nobody up.
    assert all("errors" not in answer.result(60).json() for answer in behind)
    assert server.stop() < GONE_SECONDS
    _, error = error_of(running)
    assert error["extensions"]["code"] == "BACKEND_UNAVAILABLE"
    assert error["extensions"]["retryable"] is True
    assert "shutting down" in error["message"]
    check_quiet(server)
    with Database.open(str(folder)) as database:
        assert database.snapshot().t == 7


def test_transactions_answered_while_it_stops_are_there(
    server: Served, clients: ThreadPoolExecutor, folder: Path
) -> None:
    def write(worker: int) -> list[int]:
        told = []
        with contextlib.suppress(httpx.TransportError):
            while True:
                answer = server.transact(f'[[:db/add "a" :worker {worker}]]').json()
                if "errors" in answer:
                    return told
                told.append(answer["data"]["transact"]["t"])
        return told

    writers = [clients.submit(write, worker) for worker in range(6)]
    until(lambda: server.metric("adalog_basis_t") >= 30)
    assert server.stop() < GONE_SECONDS
    told = [t for writer in writers for t in writer.result(30)]
    check_quiet(server)
    with Database.open(str(folder)) as database:
        assert len(told) > 20
        assert len(set(told)) == len(told)
        assert max(told) <= database.snapshot().t


LIVE = 'subscription { live(query: "[:find ?text :where [_ :text ?text]]") { kind rows last } }'


def follow(server: Served) -> socket.socket:
    """A stream of events that has begun."""
    host, port = server.address.removeprefix("http://").split(":")
    body = json.dumps({"query": LIVE}).encode()
    head = f"POST /graphql HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    stream = socket.socket()
    stream.settimeout(30)
    # What the system takes for a client that does not read is soon enough.
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    stream.connect((host, int(port)))
    stream.sendall(head.encode() + body)
    assert stream.recv(15) == b"HTTP/1.1 200 OK"
    return stream


def confirm_nothing(server: Served) -> socket.socket:
    """A WebSocket whose client answers no frame."""
    host, port = server.address.removeprefix("http://").split(":")
    stream = socket.create_connection((host, int(port)), timeout=30)
    stream.sendall(
        f"GET /graphql HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n".encode()
    )
    assert stream.recv(12) == b"HTTP/1.1 101"
    return stream


@pytest.mark.parametrize("texts", [1, 8])
def test_streams_end_in_order_whether_their_clients_read_or_not(server: Served, texts: int) -> None:
    for number in range(texts):
        text = f"{number}" + "x" * 900_000
        assert "errors" not in server.transact(f'[[:db/add "a" :text "{text}"]]').json()
    with contextlib.ExitStack() as stack:
        reading, _ = (stack.enter_context(contextlib.closing(follow(server))) for _ in range(2))
        stack.enter_context(contextlib.closing(confirm_nothing(server)))
        seen = b""
        while b'"last":true' not in seen[-200:]:
            seen += reading.recv(1 << 20)
        assert server.stop() < GONE_SECONDS
        # Without `complete`: there is something to go on with.
        assert reading.recv(1 << 20) in (b"", b"0\r\n\r\n")
    check_quiet(server)
    assert "Cancel" not in server.log()


# Loaded by the server's interpreter as it starts: no query notices that it should stop, as in a kernel that runs on
# for a minute.
HOLDING = """
import threading
from adalog.executor.join import driver
driver.Driver.run = lambda *_: threading.Event().wait()
"""


@pytest.fixture
def holding(folder: Path, tmp_path: Path) -> Iterator[Served]:
    """A server whose queries hold their threads."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(HOLDING)
    path = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", os.getcwd())])
    with serving(folder, PYTHONPATH=path) as server:
        yield server


def test_a_thread_that_does_not_look_holds_nobody_up(
    holding: Served, clients: ThreadPoolExecutor, folder: Path
) -> None:
    answer = clients.submit(holding.q, JOIN)
    holding.until("adalog_queries_running", 1)
    assert holding.stop() < GONE_SECONDS
    _, error = error_of(answer)
    assert error["extensions"]["code"] == "BACKEND_UNAVAILABLE"
    check_quiet(holding)
    assert "without waiting" in holding.log()
    Database.open(str(folder)).close()


def test_a_second_signal_ends_it_at_once(holding: Served, clients: ThreadPoolExecutor) -> None:
    clients.submit(holding.q, JOIN)
    holding.until("adalog_queries_running", 1)
    holding.process.send_signal(signal.SIGINT)
    with contextlib.suppress(httpx.TransportError):
        # Nobody new is let in once it stops.
        while True:
            httpx.get(f"{holding.address}/healthz")
    holding.stop(signal.SIGINT)
    assert holding.process.returncode == 128 + signal.SIGINT


# Spark


def children_of(session: int) -> list[int]:
    """The processes whose parent's parent … is a server's Java: those of its session."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.getsid(int(name)) == session and "zombie" not in Path(f"/proc/{name}/status").read_text():
                found.append(int(name))
    return found


def java_of(server: Served) -> int | None:
    """The server's child that leads a session."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == server.process.pid and os.getsid(int(name)) == int(name):
                return int(name)
    return None


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder whose name is short: a Unix socket's path has some 100 bytes."""
    with tempfile.TemporaryDirectory(prefix="adalog-") as name:
        yield Path(name)


@pytest.mark.spark
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
@pytest.mark.parametrize("moment", ["launching", "running"])
def test_spark_is_gone_with_the_server(
    folder: Path, temporary: Path, clients: ThreadPoolExecutor, moment: str
) -> None:
    with serving(folder, **ON_SPARK, TMPDIR=str(temporary)) as server:
        java = until(lambda: java_of(server))
        assert java is not None
        if moment == "running":
            server.said.wait_for("Spark is ready", 120)
        answer = clients.submit(server.q, JOIN, engine="SPARK")
        server.until("adalog_queries_running", 1)
        if moment == "running":
            busy_worker(java)
        assert server.stop() < GONE_SECONDS
        assert children_of(java) == []
        _, error = error_of(answer)
        assert error["extensions"]["code"] == "BACKEND_UNAVAILABLE"
        check_quiet(server)
        assert list(temporary.glob("adalog-spark-*")) == []


@pytest.mark.spark
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
def test_spark_is_gone_with_a_server_that_is_killed(
    folder: Path, temporary: Path, clients: ThreadPoolExecutor
) -> None:
    with serving(folder, **ON_SPARK, TMPDIR=str(temporary)) as server:
        server.said.wait_for("Spark is ready", 120)
        java = java_of(server)
        assert java is not None
        answer = clients.submit(server.q, JOIN, engine="SPARK")
        busy_worker(java)
        its = descendants(server.process.pid)
        assert java in its
        server.stop(signal.SIGKILL)
        assert until(lambda: not any(map(alive, its)), 20)
        assert answer.exception(30) is not None
    (left,) = temporary.glob("adalog-spark-*")
    # What the next start does.
    remove_abandoned("adalog-spark-", temporary)
    assert not left.exists()
