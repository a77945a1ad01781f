"""While the database is opened the port answers: that the process lives, how far it is, and when to ask again."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from adalog.datalog.errors import AdalogError
from adalog.gateway import startup
from adalog.gateway.settings.config import Settings
from adalog.gateway.startup import Startup
from adalog.store.database import Database
from tests.gateway.process.test_shutdown import Log
from tests.gateway.support import served
from tests.waiting import until

QUERY = '{ q(query: "[:find ?n . :where [1 :n ?n]]") { value } }'
COUNT = 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    with Database.open(str(path)) as database:
        for number in range(COUNT):
            database.transact(f"[[:db/add 1 :n {number}]]")
    return path


class Gate:
    """Lets so many transactions of a replay pass, and says when the next one waits."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, passing: int) -> None:
        from adalog.store.state.head import Head

        self.waits, self.opened = threading.Event(), threading.Event()
        replay = Head.replay

        def gated(head: Head, t: int, *rest: Any) -> None:
            if t > passing:
                self.waits.set()
                self.opened.wait()
            replay(head, t, *rest)

        monkeypatch.setattr(Head, "replay", gated)


@contextlib.contextmanager
def started(folder: Path, gate: Gate) -> Iterator[tuple[Startup, threading.Event, str]]:
    """A start under way, what tells of its end, and where it is served."""
    settings = Settings(data=str(folder), port=0, spark=False)
    start, over = Startup(settings, lambda: None), threading.Event()
    try:
        with served(start.front, settings) as address:  # type: ignore[arg-type]
            start.begin(address, over.set, over.set)
            yield start, over, address
    finally:
        gate.opened.set()
        start.close()


def test_the_port_waits_for_no_large_library() -> None:
    code = "import sys, adalog.gateway.server, adalog.gateway.cli.existence; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numba", "numpy", "pyarrow", "pyspark", "sqlalchemy", "strawberry"}.intersection(loaded)


def ask(address: str, **more: Any) -> httpx.Response:
    return httpx.post(f"{address}/graphql", json={"query": QUERY}, timeout=60, **more)


def test_a_client_that_prefers_not_to_wait_is_answered_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startup, "_PATIENCE_SECONDS", 600.0)
    gate = Gate(monkeypatch, 3)
    with started(folder, gate) as (_, over, address):
        assert gate.waits.wait(60)
        for prefer in ("wait=0", "respond-async, Wait = 0", "handling=lenient; x, wait=0"):
            answer = httpx.post(f"{address}/graphql", headers={"Prefer": prefer}, timeout=60)
            assert (answer.status_code, "Retry-After" in answer.headers) == (503, True)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{address}/graphql", headers={"Prefer": "await=0"}, timeout=0.5)
        gate.opened.set()
        assert over.wait(60)


def test_what_is_answered_meanwhile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "_PATIENCE_SECONDS", 0.0)
    gate = Gate(monkeypatch, 3)
    with started(folder, gate) as (_, over, address):
        assert gate.waits.wait(60)
        health, ready, asked = httpx.get(f"{address}/healthz"), httpx.get(f"{address}/readyz"), ask(address)
        assert (health.status_code, health.json()) == (200, {"status": "alive"})
        assert ready.status_code == 503
        told = ready.json()
        assert (told["status"], told["transactions"], told["ofTransactions"]) == ("starting", 3, COUNT)
        # The first transaction made the attribute, too.
        done, of = told["datoms"], told["ofDatoms"]
        assert 6 < done < of
        assert re.fullmatch(rf"replaying the log: {done} of about {of} datoms, about \d+ s left", told["why"])
        assert told["secondsLeft"] >= 0
        assert asked.status_code == 503
        (error,) = asked.json()["errors"]
        assert error["extensions"]["code"] == "BACKEND_UNAVAILABLE"
        assert error["extensions"]["retryable"] is True
        assert asked.headers["Retry-After"] == str(error["extensions"]["retryAfter"])
        assert f"replaying the log: {done} of about" in error["message"]
        assert asked.headers["X-Content-Type-Options"] == "nosniff"
        for path in ("/", "/metrics", "/import", "/nothing"):
            answer = httpx.get(address + path, headers={"X-Request-Id": "r1"})
            assert (answer.status_code, answer.headers["X-Request-Id"]) == (503, "r1")
        assert re.fullmatch("[0-9a-f]{16}", asked.headers["X-Request-Id"])
        assert httpx.get(f"{address}/readyz", headers={"Host": "evil.example"}).status_code == 403
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(f"{address.replace('http', 'ws')}/graphql", proxy=None),
        ):
            pass
        assert refused.value.response.status_code == 503
        gate.opened.set()
        assert over.wait(60)
        assert ask(address).json() == {"data": {"q": {"value": COUNT - 1}}}
        while (ready := httpx.get(f"{address}/readyz")).status_code != 200:
            assert "the first ones take longer" in ready.json()["why"]
        assert "adalog_clock_behind_seconds 0.0" in httpx.get(f"{address}/metrics").text


def test_who_asks_while_it_is_opened_has_an_answer_when_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startup, "_PATIENCE_SECONDS", 60.0)
    gate = Gate(monkeypatch, 3)
    with started(folder, gate) as (start, over, address):
        assert gate.waits.wait(60)
        answers: list[httpx.Response] = []
        asking = threading.Thread(target=lambda: answers.append(ask(address)))
        asking.start()
        until(lambda: start.front._waiting)
        gate.opened.set()
        asking.join()
        assert answers[0].json() == {"data": {"q": {"value": COUNT - 1}}}
        assert over.is_set() or over.wait(60)


def test_a_start_that_is_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = Gate(monkeypatch, 3)
    with started(folder, gate) as (start, over, _):
        assert gate.waits.wait(60)
        start.front.state.stop.begin()
        gate.opened.set()
    assert start.failure is None
    assert not over.is_set()
    with Database.open(str(folder)) as database:
        assert database.snapshot().t == COUNT


# As a process

SLOW = """
import os, time
from pathlib import Path
from adalog.datalog.errors import AdalogError
from adalog.gateway import startup
from adalog.store.state.head import Head

replay = Head.replay
startup._PATIENCE_SECONDS = startup._FIRST_WORD_SECONDS = 0.0

def slow(head, t, *rest):
    while t > 3 and not os.path.exists(os.environ["GATE"]):
        time.sleep(0.01)
    replay(head, t, *rest)

Head.replay = slow
from adalog.gateway.cli import main
main()
"""


@contextlib.contextmanager
def process(folder: Path, gate: Path) -> Iterator[tuple[subprocess.Popen[str], Log, str]]:
    """A server that waits for the file within its replay."""
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, "serve", "--port", "0", "--data", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "ADALOG_SPARK": "off", "GATE": str(gate), "NO_COLOR": "1"},
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        said = Log(running.stderr)
        try:
            said.wait_for("/readyz says how far it is", 60)
            found = re.search(r"http://\S+?:\d+", "".join(said._lines))
            assert found is not None
            yield running, said, found[0]
        finally:
            running.kill()
            running.wait()
            said.whole()


def test_a_server_says_where_it_is_and_serves_in_the_end(folder: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with process(folder, gate) as (running, _, address):
        assert httpx.get(f"{address}/healthz").json() == {"status": "alive"}
        assert json.loads(httpx.get(f"{address}/readyz").text)["status"] == "starting"
        gate.touch()
        assert running.stdout is not None
        assert running.stdout.readline().startswith(f"adalog serves {folder}")
        assert ask(address).json() == {"data": {"q": {"value": COUNT - 1}}}
        with pytest.raises(AdalogError, match=f"ask that one with --url {re.escape(address)}"):
            Database.open(str(folder))
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_start(folder: Path, tmp_path: Path, number: int) -> None:
    with process(folder, tmp_path / "gate") as (running, said, _):
        running.send_signal(number)
        assert running.wait(30) == 0
        assert "Traceback" not in said.whole()
    Database.open(str(folder)).close()


def test_a_folder_that_is_damaged_or_taken_ends_the_process(folder: Path) -> None:
    def served_in_vain() -> tuple[int, str]:
        ended = subprocess.run(
            [sys.executable, "-m", "adalog.gateway.cli", "serve", "--port", "0", "--data", str(folder)],
            env={**os.environ, "ADALOG_SPARK": "off"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.stdout == ""
        (line,) = ended.stderr.splitlines()
        return ended.returncode, line

    with Database.open(str(folder)):
        code, line = served_in_vain()
        assert code == 3
        assert "in use by another adalog process" in line
    (folder / "log.sqlite").write_bytes(b"no database, " * 500)
    code, line = served_in_vain()
    assert code == 1
    assert "log.sqlite is damaged" in line
