"""A server that is told to stop by SIGTERM serves on for a while, and then loses no request of any client."""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import select
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from adalog.gateway.process.backlog import is_readable, refuse_new
from adalog.gateway.process.shutdown import ShutdownStep, after_signal
from tests.gateway.process.test_shutdown import GONE_SECONDS, Served, check_quiet, follow, serving
from tests.several.fleet import serving as serving_workers
from tests.waiting import until

# Only a second signal ends this.
LONG = "600"
QUERY = json.dumps({"query": "{ database { basisT } }"})
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path / "data", ADALOG_DRAIN_SECONDS=LONG) as opened:
        yield opened


def drain(server: Served) -> None:
    """Returns when it has begun."""
    server.process.send_signal(signal.SIGTERM)
    until(lambda: "the server stops soon" in httpx.get(f"{server.address}/readyz").text, 30)
    assert httpx.get(f"{server.address}/readyz").status_code == 503


def test_everything_is_answered_while_it_drains(server: Served) -> None:
    host, port = server.address.removeprefix("http://").split(":")
    with contextlib.closing(http.client.HTTPConnection(host, int(port))) as kept:
        kept.request("POST", "/graphql", QUERY, JSON)
        before = kept.getresponse()
        assert (before.status, before.getheader("Connection")) == (200, None)
        before.read()
        drain(server)
        kept.request("POST", "/graphql", QUERY, JSON)
        last = kept.getresponse()
        assert (last.status, last.getheader("Connection")) == (200, "close")
        assert json.loads(last.read())["data"]["database"]["basisT"] >= 0
    assert httpx.get(f"{server.address}/healthz").status_code == 200
    assert server.transact("[[:db/add 1 :n 1]]").json()["data"]["transact"]["t"] > 0
    assert server.process.poll() is None
    # The next signal skips the rest.
    assert server.stop() < GONE_SECONDS
    check_quiet(server)


def test_streams_go_on_while_it_drains_and_are_to_be_resumed_elsewhere(server: Served) -> None:
    url = server.address.replace("http", "ws", 1) + "/graphql"
    with (
        connect(url, subprotocols=["graphql-transport-ws"]) as websocket,  # type: ignore[list-item]
        contextlib.closing(follow(server)) as events,
    ):
        websocket.send(json.dumps({"type": "connection_init"}))
        assert json.loads(websocket.recv())["type"] == "connection_ack"
        drain(server)
        server.transact('[[:db/add 1 :text "while it drains"]]')
        seen = b""
        while b"DELTA" not in seen:
            piece = events.recv(65536)
            assert piece, seen
            seen += piece
        websocket.send(json.dumps({"type": "ping"}))
        assert json.loads(websocket.recv())["type"] == "pong"
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(ConnectionClosed) as closed:
            websocket.recv(timeout=30)
        # Service restart: clients connect again.
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012
        rest = b""
        while piece := events.recv(65536):
            rest += piece
        # The last chunk, and no `complete`: there is something to go on with.
        assert rest.endswith(b"0\r\n\r\n")
        assert b"complete" not in seen + rest
    server.process.wait(30)
    check_quiet(server)


def test_a_request_on_its_way_when_the_server_stops_is_answered(server: Served) -> None:
    host, port = server.address.removeprefix("http://").split(":")
    drain(server)
    head = f"POST /graphql HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    with socket.create_connection((host, int(port)), timeout=30) as late, follow(server) as stream:
        assert server.metric("adalog_connections") >= 2
        server.process.send_signal(signal.SIGTERM)
        # The stream's end shows that the server stops.
        while stream.recv(65536):
            pass
        late.sendall(f"{head}Content-Length: {len(QUERY)}\r\n\r\n{QUERY}".encode())
        answer = b""
        while piece := late.recv(65536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in answer
    server.process.wait(30)
    check_quiet(server)


def test_an_interrupt_stops_at_once(server: Served) -> None:
    assert server.stop(signal.SIGINT) < GONE_SECONDS
    check_quiet(server)
    assert "stops soon" not in server.log()


def test_the_drain_ends_by_itself(tmp_path: Path) -> None:
    with serving(tmp_path / "data", ADALOG_DRAIN_SECONDS="0.1") as server:
        assert 0.1 < server.stop() < GONE_SECONDS
        check_quiet(server)
        assert "stops soon" in server.log()


def test_workers_drain_together(tmp_path: Path) -> None:
    with serving_workers(tmp_path / "data", 2, ADALOG_DRAIN_SECONDS=LONG) as fleet:
        fleet.until_ready(2)
        fleet.process.send_signal(signal.SIGTERM)
        fleet.said.wait_for("the server stops soon", times=2)
        # The connections go to both.
        with contextlib.ExitStack() as stack:
            clients = [stack.enter_context(httpx.Client(base_url=fleet.url)) for _ in range(4)]
            assert [each.get("/readyz").status_code for each in clients] == [503] * 4
            answers = [each.post("/graphql", content=QUERY, headers=JSON) for each in clients]
            assert [(each.status_code, each.headers["connection"]) for each in answers] == [(200, "close")] * 4
        assert fleet.stop() < GONE_SECONDS
        assert fleet.process.returncode == 0
        assert "Traceback" not in fleet.said.whole()


@pytest.mark.skipif(sys.platform != "linux", reason="filters of sockets are Linux's")
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_port_that_is_closed_lets_nothing_new_in_and_loses_nothing(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f"this machine has no {host}")
    address = listener.getsockname()[:2]
    with contextlib.ExitStack() as stack:
        stack.enter_context(listener)
        waiting = [stack.enter_context(socket.create_connection(address)) for _ in range(3)]
        refuse_new(listener)
        late = stack.enter_context(socket.socket(family))
        late.setblocking(False)
        with pytest.raises(BlockingIOError):
            late.connect(address)
        for client in waiting:
            client.sendall(b"a request")
            assert is_readable(listener.fileno())
            server, _ = listener.accept()
            with server:
                assert server.recv(100) == b"a request"
        assert not is_readable(listener.fileno())
        listener.close()
        # Its next attempt is refused.
        poll = select.poll()
        poll.register(late, select.POLLOUT)
        assert poll.poll(30_000)
        assert late.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED


def test_the_steps_of_the_end() -> None:
    term, interrupt = signal.SIGTERM, signal.SIGINT
    assert after_signal(ShutdownStep.SERVING, term, drains=True) is ShutdownStep.DRAINING
    assert after_signal(ShutdownStep.SERVING, term, drains=False) is ShutdownStep.STOPPING
    assert after_signal(ShutdownStep.SERVING, interrupt, drains=True) is ShutdownStep.STOPPING
    assert after_signal(ShutdownStep.DRAINING, term, drains=True) is ShutdownStep.STOPPING
    assert after_signal(ShutdownStep.DRAINING, interrupt, drains=True) is ShutdownStep.STOPPING
    assert after_signal(ShutdownStep.STOPPING, term, drains=True) is ShutdownStep.ENDING
