"""The start of a gateway while PostgreSQL is away, hangs or refuses it: the port says what is waited for."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import httpx
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.gateway import startup
from adalog.gateway.settings.config import Settings
from adalog.gateway.startup import Startup
from adalog.store.database import Database
from adalog.store.log import server
from adalog.store.log.server import ServerLog
from tests.gateway.support import served
from tests.postgres_servers import PASSWORD, PostgresServer, running
from tests.waiting import until

QUERY = '{ q(query: "[:find ?v . :where [1 :n ?v]]") { value } }'


@pytest.fixture(scope="module")
def victim() -> Iterator[PostgresServer]:
    """A server that may be killed."""
    with running() as made:
        yield made


@pytest.fixture
def address(victim: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a database with one entity; whoever waits for its server looks often, and is not patient."""
    monkeypatch.setattr(startup, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(startup, "_LONGEST_PAUSE_SECONDS", 0.25)
    monkeypatch.setattr(server, "_DEFAULTS", {**server._DEFAULTS, "connect_timeout": "2"})
    found = victim.new_database()
    with Database.open(found) as database:
        database.transact("[[:db/add 1 :n 7]]")
    return found


@dataclass
class Starting:
    """One under way; `over` once it is done or has failed."""

    start: Startup
    address: str
    over: threading.Event

    def ready(self) -> httpx.Response:
        return httpx.get(f"{self.address}/readyz", timeout=60)

    def why(self) -> str:
        response = self.ready()
        assert response.status_code == 503
        found: str = response.json()["why"]
        return found


@contextlib.contextmanager
def started(data: str) -> Iterator[Starting]:
    settings = Settings(data=data, port=0, spark=False)
    start, over = Startup(settings, lambda: None), threading.Event()
    try:
        with served(start.front, settings) as address:  # type: ignore[arg-type]
            start.begin(address, over.set, over.set)
            yield Starting(start, address, over)
    finally:
        start.close()


@pytest.mark.parametrize("how", ["away", "hanging"])
def test_a_server_that_is_not_there_is_waited_for(
    how: str, victim: PostgresServer, address: str, caplog: pytest.LogCaptureFixture
) -> None:
    away, back = (
        (lambda: victim.stop(signal.SIGQUIT), victim.start) if how == "away" else (victim.freeze, victim.thaw)
    )
    away()
    try:
        with started(address) as found:
            until(lambda: "the PostgreSQL server" in found.why())
            why = found.why()
            assert httpx.get(f"{found.address}/healthz").status_code == 200
            asked = httpx.post(f"{found.address}/graphql", json={"query": QUERY})
            assert asked.status_code == 503
            (error,) = asked.json()["errors"]
            assert (error["extensions"]["code"], error["extensions"]["retryable"]) == ("BACKEND_UNAVAILABLE", True)
            assert why in error["message"]
            assert "Retry-After" in asked.headers
            for text in (why, asked.text):
                assert not [each for each in ("127.0.0.1", str(victim.port), "ada", "log_") if each in text]
            assert not found.over.is_set()
            back()
            assert found.over.wait(60)
            assert found.start.failure is None
            asked = httpx.post(f"{found.address}/graphql", json={"query": QUERY}, timeout=60)
            assert asked.json() == {"data": {"q": {"value": 7}}}
    finally:
        victim.stop()
        victim.start()
    # The log has the rest, but no password.
    assert str(victim.port) in caplog.text
    assert "s3cret" not in caplog.text


def test_a_server_that_goes_while_its_log_is_read(
    victim: PostgresServer, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    extent = ServerLog.extent

    def gone(log: ServerLog, after: int) -> tuple[int, int]:
        monkeypatch.setattr(ServerLog, "extent", extent)
        victim.stop(signal.SIGQUIT)
        return extent(log, after)

    monkeypatch.setattr(ServerLog, "extent", gone)
    with started(address) as found:
        until(lambda: "the PostgreSQL server" in found.why())
        victim.start()
        assert found.over.wait(60)
        assert found.start.failure is None


def _password(address: str) -> str:
    return address.replace("s3cret%2Fof%40ada", "wrong")


def _user(address: str) -> str:
    return address.replace("//ada:", "//nobody:")


def _database(address: str) -> str:
    return f"{address}_none"


@pytest.mark.parametrize("wrong", [_password, _user, _database])
def test_what_waiting_would_not_mend_ends_the_start(address: str, wrong: Callable[[str], str]) -> None:
    with started(wrong(address)) as found:
        assert found.over.wait(60)
        failure = found.start.failure
        assert isinstance(failure, AdalogError)
        assert (failure.code, failure.retryable) == (Code.BACKEND_UNAVAILABLE, False)
        assert "PostgreSQL says: " in failure.message
        assert PASSWORD not in failure.message


def test_a_start_that_waits_is_stopped_at_once(victim: PostgresServer, address: str) -> None:
    victim.stop(signal.SIGQUIT)
    try:
        with started(address) as found:
            until(lambda: "the PostgreSQL server" in found.why())
        assert not found.over.is_set()
        assert found.start.failure is None
    finally:
        victim.start()


def serving(data: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "adalog.gateway.cli", "serve", "--port", "0", "--spark", "off", "--data", data]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_the_command_waits_with_its_port_open(victim: PostgresServer, address: str) -> None:
    victim.stop(signal.SIGQUIT)
    try:
        with serving(address) as process:
            assert process.stderr is not None
            try:
                found = None
                for line in process.stderr:
                    assert "s3cret" not in line
                    found = re.search(r"the PostgreSQL server cannot be reached; (http://\S+)/readyz", line)
                    if found is not None:
                        break
                assert found is not None, "it says where it waits"
                ready = httpx.get(f"{found[1]}/readyz", timeout=60)
                assert (ready.status_code, ready.json()["status"]) == (503, "starting")
                victim.start()
                until(lambda: httpx.get(f"{found[1]}/readyz", timeout=60).status_code == 200)
            finally:
                process.terminate()
                _, error = process.communicate(timeout=60)
            assert (process.returncode, "Traceback" in error) == (0, False)
    finally:
        victim.stop()
        victim.start()


def test_the_command_ends_where_waiting_would_not_help(address: str) -> None:
    with serving(_password(address)) as process:
        _, error = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "password authentication failed" in error
