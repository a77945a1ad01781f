"""What may come over the wire before there is a request, and how long it may take."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from adalog.gateway.connections.wire import Wire
from adalog.gateway.identity.peer import counted_address
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError, Settings
from adalog.gateway.settings.sources import settings_from
from tests.gateway.bounds import bounded
from tests.gateway.support import Gateway, gateway, served
from tests.waiting import until

ASK = b'{"query": "{ database { basisT } }"}'
HEAD = b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
SECONDS = 20.0


class Client:
    """A socket that sends bytes as they are."""

    def __init__(self, address: str, source: str = "127.0.0.1") -> None:
        host, port = address.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=SECONDS, source_address=(source, 0))
        self.file = self.socket.makefile("rb")

    def send(self, data: bytes) -> Client:
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(data)
        return self

    def answer(self) -> tuple[int, dict[str, str], bytes]:
        """The next answer: status, headers, body."""
        status = int(self.file.readline().split()[1])
        headers = {}
        while line := self.file.readline().strip():
            name, _, value = line.decode().partition(": ")
            headers[name.lower()] = value
        return status, headers, self.file.read(int(headers.get("content-length", 0)))

    def status(self) -> int:
        return self.answer()[0]

    def is_closed(self) -> bool:
        """Whether the server ends it without another word; waits for that."""
        try:
            return self.file.read() == b""
        except ConnectionError:
            return True

    def close(self) -> None:
        self.file.close()
        self.socket.close()


class Server:
    """A served gateway, and clients of it."""

    def __init__(self, opened: Gateway, address: str, stack: contextlib.ExitStack) -> None:
        self.wire: Wire = opened.app.state.wire
        self.address = address
        self._stack = stack

    def client(self) -> Client:
        opened = Client(self.address)
        self._stack.callback(opened.close)
        return opened

    def sent(self, data: bytes) -> Client:
        return self.client().send(data)

    def check_alive(self) -> None:
        assert httpx.get(f"{self.address}/healthz", timeout=SECONDS).status_code == 200


@contextlib.contextmanager
def wired(**limits: Any) -> Iterator[Server]:
    with contextlib.ExitStack() as stack:
        settings = bounded(stack.enter_context(pytest.MonkeyPatch.context()), **limits)
        opened = stack.enter_context(gateway(settings))
        address = stack.enter_context(served(opened.app, settings))
        yield Server(opened, address, stack)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One with the limits as they are."""
    with wired() as opened:
        yield opened


def refusal(client: Client, status: int, code: str) -> dict[str, str]:
    """The headers of a refusal in GraphQL's form, after which the connection is closed."""
    found, headers, body = client.answer()
    assert found == status, body
    (error,) = json.loads(body)["errors"]
    assert error["extensions"]["code"] == code
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["connection"] == "close"
    assert client.is_closed()
    return headers


# What is no request


def body(data: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(data), data)


@pytest.mark.parametrize(
    "data",
    [
        b"GET /healthz HTTP/1.1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHOST: evil.example\r\n\r\n",
        b"GET healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET ftp://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET http://user@localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n folded: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        HEAD + b"Content-Length: 36\r\nTransfer-Encoding: chunked\r\n\r\n24\r\n" + ASK + b"\r\n0\r\n\r\n",
        HEAD + b"Content-Length: 36\r\nContent-Length: 37\r\n\r\n" + ASK,
        HEAD + b"Content-Length: +36\r\n\r\n" + ASK,
        HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffff\r\n",
        HEAD + b'Transfer-Encoding: chunked\r\n\r\n3\r\n{"qtoolong\r\n',
        HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    ],
)
def test_what_is_no_http_is_400(server: Server, data: bytes) -> None:
    refusal(server.sent(data), 400, "ARG_INVALID")
    server.check_alive()


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://localhost/healthz", "localhost", 200),
        ("http://localhost:8080/healthz?a=b", "evil.example", 200),
        ("http://[::1]/healthz", "localhost", 200),
        ("http://localhost", "localhost", 200),
        ("http://evil.example/healthz", "localhost", 403),
        ("HTTP://evil.example:80/healthz", "localhost", 403),
    ],
)
def test_the_host_of_an_absolute_target_counts(server: Server, target: str, host: str, status: int) -> None:
    request = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"
    assert server.sent(request.encode()).status() == status


def test_http_1_0_needs_no_host_and_is_closed() -> None:
    with wired(allowed_hosts="") as server:
        client = server.sent(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
        assert client.status() == 200
        assert client.is_closed()


def test_requests_of_one_connection(server: Server) -> None:
    client = server.client()
    for _ in range(3):
        assert client.send(body(ASK)).status() == 200
    client.send(body(ASK) + HEALTH + body(ASK))
    assert [client.status() for _ in range(3)] == [200] * 3
    client.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    for letter in ASK:
        client.send(b"1\r\n%c\r\n" % letter)
    assert client.send(b"0\r\n\r\n").status() == 200


def test_a_trailer_is_no_header(server: Server) -> None:
    client = server.sent(HEAD + b"Transfer-Encoding: chunked\r\n\r\n24\r\n" + ASK + b"\r\n0\r\nHost: evil\r\n\r\n")
    assert client.status() == 200
    assert client.send(HEALTH).status() == 200


def test_another_protocol_is_not_begun(server: Server) -> None:
    client = server.sent(
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n" + HEALTH
    )
    assert client.status() == 200
    assert client.is_closed()


# How large it may be


def fields(size: int, count: int = 1) -> bytes:
    """Headers that come to so many bytes."""
    each = size // count
    return b"".join(b"X-%04d: %b\r\n" % (number, b"a" * (each - 10)) for number in range(count))


@pytest.mark.parametrize("count", [1, 40])
def test_headers_up_to_64_kib(server: Server, count: int) -> None:
    start = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    assert server.sent(start + fields(65_000, count) + b"\r\n").status() == 200
    headers = refusal(server.sent(start + fields(65_536, count) + b"\r\n"), 431, "LIMIT_EXCEEDED")
    assert "retry-after" not in headers


def test_the_target_counts_too(server: Server) -> None:
    end = b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert server.sent(b"GET /healthz?" + b"a" * 65_000 + end).status() == 200
    refusal(server.sent(b"GET /healthz?" + b"a" * 65_536 + end), 431, "LIMIT_EXCEEDED")


@pytest.mark.parametrize(
    ("start", "more", "status", "code"),
    [
        (b"GET /healthz?", b"a", 431, "LIMIT_EXCEEDED"),
        (b"GET /healthz HTTP/1.1\r\nX: ", b"a", 431, "LIMIT_EXCEEDED"),
        (b"GET /healthz HTTP/1.1\r\nX", b"a", 431, "LIMIT_EXCEEDED"),
        (b"", b"\r\n", 431, "LIMIT_EXCEEDED"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a", 400, "ARG_INVALID"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"a", 400, "ARG_INVALID"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: a\r\n", 431, "LIMIT_EXCEEDED"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n", 400, "ARG_INVALID"),
    ],
    ids=["target", "value", "name", "lines", "extension", "trailer", "trailers", "chunks"],
)
def test_what_never_ends_is_refused_early(
    server: Server, start: bytes, more: bytes, status: int, code: str
) -> None:
    client = server.sent(start)
    # More than the sockets' buffers hold: it can only be sent to somebody who reads it, or has gone.
    with contextlib.suppress(OSError):
        for _ in range(64):
            client.socket.sendall(more * (262_144 // len(more)))
    server.check_alive()
    assert server.wire.body_bytes == 0
    # The answer may be lost where the client never stops sending; it ends in any case.
    with contextlib.suppress(ConnectionError, IndexError):
        assert client.status() == status
    assert client.is_closed()


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (CHUNKED + b"1;", b"a"),
        (CHUNKED, b"1;" + b"a" * 60_000 + b"\r\n \r\n"),
        (CHUNKED, b"1;a=b\r\n \r\n"),
        (CHUNKED, b"0"),
        (CHUNKED + b"0\r\n", b"X: a\r\n"),
        (CHUNKED + b"0\r\nX: ", b"a"),
        (b"GET /healthz HTTP/1.1\r\nX: ", b"a"),
        (b"\x16\x03\x01\r\n\r\n", b"a"),
        (HEAD.replace(b"/graphql", b"/nope") + b"Content-Length: 1000000000000\r\n\r\n", b"a"),
        (
            HEAD.replace(b"localhost", b"evil.example") + b"Transfer-Encoding: chunked\r\n\r\n",
            b"400\r\n%b\r\n" % (b"a" * 1024),
        ),
    ],
    ids=[
        "extension",
        "extensions",
        "short ones",
        "zeros",
        "trailers",
        "trailer",
        "head",
        "none",
        "not found",
        "host",
    ],
)
def test_what_is_sent_after_a_refusal_is_bounded(start: bytes, more: bytes) -> None:
    """By bytes, not only by the time that the client has for reading the refusal."""
    with wired(request_bytes=1024 * 1024) as server:
        client, sent = server.sent(start), 0
        piece = more * max(1, 65_536 // len(more))
        with contextlib.suppress(OSError):
            while sent < 256_000_000:
                client.socket.sendall(piece)
                sent += len(piece)
        # What the buffers of two sockets hold is megabytes, too.
        assert sent < 32_000_000
        server.check_alive()


def test_many_headers_and_many_requests_at_once_are_refused(server: Server) -> None:
    refusal(
        server.sent(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"a:\r\n" * 300 + b"\r\n"), 431, "LIMIT_EXCEEDED"
    )
    before = server.wire.refused["pipelined"]
    client = server.sent(HEALTH * 200)
    client.is_closed()
    assert server.wire.refused["pipelined"] == before + 1


# How long it may take


@pytest.mark.parametrize("part", ["nothing", "head"])
def test_a_head_that_does_not_end_is_ended(part: str) -> None:
    with wired(head_seconds=0.2, idle_seconds=0.2) as server:
        client = server.client()
        if part == "nothing":
            assert client.is_closed()
        else:
            with drip(client, b"GET /healthz HTTP/1.1\r\nX-", b"a"):
                refusal(client, 408, "TIMEOUT")
        server.check_alive()


@pytest.mark.parametrize("framing", [b"Content-Length: 1000000", b"Transfer-Encoding: chunked"])
def test_a_body_that_does_not_end_is_ended(framing: bytes) -> None:
    with wired(body_seconds=0.2) as server:
        client = server.client()
        with drip(client, HEAD + framing + b"\r\n\r\n", b"1\r\n \r\n"):
            refusal(client, 408, "TIMEOUT")
        assert server.wire.body_bytes == 0
        server.check_alive()


def test_a_body_that_nobody_wants_is_ended_too(tmp_path: Any) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"ann:read:{'0' * 64}\n")
    with wired(body_seconds=0.2, auth=str(tokens)) as server:
        client = server.client()
        with drip(client, HEAD + b"Content-Length: 1000000\r\n\r\n", b"aa"):
            assert client.status() == 401
            assert server.wire.body_bytes == 0
            assert client.is_closed()


def test_an_idle_connection_is_closed() -> None:
    with wired(idle_seconds=0.2) as server:
        client = server.sent(HEALTH)
        assert client.status() == 200
        assert client.is_closed()
        assert not server.wire.refused


@contextlib.contextmanager
def drip(client: Client, start: bytes, more: bytes) -> Iterator[None]:
    """Sends a little again and again, from another thread, for as long as this lasts."""
    over = threading.Event()
    client.send(start)

    def dripping() -> None:
        with contextlib.suppress(OSError):
            while not over.wait(0.02):
                client.socket.sendall(more)

    thread = threading.Thread(target=dripping)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Streaming:
    """An app whose answers are streams, of events with long silence between them or without an end, or are late."""

    def __init__(self, settings: Settings) -> None:
        self.goes_on = threading.Event()
        self.ended = threading.Event()
        with gateway(settings) as opened:
            self.stop, self.wire = opened.app.state.stop, opened.app.state.wire
        routes = [
            Route("/events", self.events),
            Route("/flood", self.flood),
            Route("/late", self.late, methods=["POST"]),
        ]
        self.app = Starlette(routes=routes)
        self.app.state.stop, self.app.state.wire = self.stop, self.wire

    async def events(self, request: Request) -> StreamingResponse:
        async def lines() -> Any:
            yield b"data: 1\n\n"
            await asyncio.to_thread(self.goes_on.wait, SECONDS)
            yield b"data: 2\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    async def late(self, request: Request) -> Response:
        await request.body()
        await asyncio.to_thread(self.goes_on.wait, SECONDS)
        return Response()

    async def flood(self, request: Request) -> StreamingResponse:
        async def parts() -> Any:
            try:
                while True:
                    yield bytes(65_536)
                    await asyncio.sleep(0)
            finally:
                self.ended.set()

        return StreamingResponse(parts())


def test_a_stream_may_be_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = bounded(monkeypatch, head_seconds=0.1, body_seconds=0.1, idle_seconds=0.1, send_seconds=0.1)
    streaming = Streaming(settings)
    with served(streaming.app, settings) as address, contextlib.closing(Client(address)) as client:
        client.send(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while b"data: 1" not in client.file.readline():
            pass
        # Idle connections, which came later, are ended meanwhile.
        for _ in range(3):
            with contextlib.closing(Client(address)) as idle:
                assert idle.is_closed()
        streaming.goes_on.set()
        while b"data: 2" not in client.file.readline():
            pass


def test_a_client_that_does_not_read_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = bounded(monkeypatch, send_seconds=0.2)
    streaming = Streaming(settings)
    with served(streaming.app, settings) as address, contextlib.closing(Client(address)) as client:
        client.send(b"GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert streaming.ended.wait(SECONDS)
        assert streaming.wire.refused["send_seconds"] == 1


def test_a_client_that_reads_too_slowly_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = bounded(monkeypatch, send_seconds=0.2, send_rate=1 << 40)
    streaming = Streaming(settings)
    with served(streaming.app, settings) as address, contextlib.closing(Client(address)) as client:
        client.send(b"GET /flood HTTP/1.1\r\nHost: localhost\r\n\r\n")
        patience = time.monotonic() + SECONDS
        # What the system has of the answer by then is megabytes, and takes many seconds to read so.
        with contextlib.suppress(ConnectionError):
            while not streaming.ended.wait(0.001) and time.monotonic() < patience and client.socket.recv(1):
                pass
        assert streaming.ended.wait(SECONDS)
        assert streaming.wire.refused["send_seconds"] == 1


# How much of it there may be


def test_connections_of_one_address() -> None:
    with wired(connections_per_address=3) as server:
        busy = [server.sent(HEAD) for _ in range(3)]
        until(lambda: len(server.wire.connections) == 3)
        headers = refusal(server.client(), 503, "RATE_LIMITED")
        assert headers["retry-after"] == "1"
        busy[0].close()
        until(lambda: len(server.wire.connections) == 2)
        server.check_alive()
        # Those who were there first go on.
        assert busy[1].send(b"Content-Length: 36\r\n\r\n" + ASK).status() == 200


def test_connections_in_all_and_idle_ones_make_room() -> None:
    with wired(connections=2) as server:
        idle = server.sent(HEALTH)
        assert idle.status() == 200
        busy = server.sent(HEAD)
        until(lambda: sum(each.is_idle for each in server.wire.connections) == 1)
        another = server.sent(HEAD)
        assert idle.is_closed()
        until(lambda: not any(each.is_idle for each in server.wire.connections))
        refusal(server.client(), 503, "RATE_LIMITED")
        for client in (busy, another):
            assert client.send(b"Content-Length: 36\r\n\r\n" + ASK).status() == 200
        assert server.wire.refused == {"idle": 1, "connections": 1}


def test_unfinished_bodies_in_all_and_the_largest_loses() -> None:
    with wired(bodies_bytes=100_000, request_bytes=1_000_000) as server:
        small = server.sent(HEAD + b"Content-Length: 36\r\n\r\n" + ASK[:30])
        until(lambda: server.wire.body_bytes == 30)
        large = server.sent(HEAD + b"Content-Length: 900000\r\n\r\n" + b" " * 90_000)
        until(lambda: server.wire.body_bytes == 90_030)
        other = server.sent(HEAD + b"Content-Length: 30000\r\n\r\n" + b" " * 20_000)
        headers = refusal(large, 503, "RATE_LIMITED")
        assert headers["retry-after"] == "1"
        assert small.send(ASK[30:]).status() == 200
        assert other.send(b" " * 9_964 + ASK).status() == 200
        until(lambda: server.wire.body_bytes == 0)


def _late(size: int) -> bytes:
    return b"POST /late HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % size


def test_bodies_count_patiencethey_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = bounded(monkeypatch, bodies_bytes=100_000)
    streaming = Streaming(settings)
    with served(streaming.app, settings) as address, contextlib.ExitStack() as stack:
        asking, newer = (stack.enter_context(contextlib.closing(Client(address))) for _ in range(2))
        asking.send(_late(50_000) + bytes(50_000) + _late(40_000) + bytes(40_000))
        until(lambda: streaming.wire.body_bytes == 90_000)
        # Of one address the one that is on the way loses, whatever the others hold.
        refusal(newer.send(_late(20_000) + bytes(19_000)), 503, "RATE_LIMITED")
        assert streaming.wire.body_bytes == 90_000
        streaming.goes_on.set()
        assert [asking.status(), asking.status()] == [200, 200]
        until(lambda: streaming.wire.body_bytes == 0)


def test_whoever_holds_most_loses_what_waits_for_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = bounded(monkeypatch, bodies_bytes=100_000)
    streaming = Streaming(settings)
    with served(streaming.app, settings) as address, contextlib.ExitStack() as stack:
        heavy = stack.enter_context(contextlib.closing(Client(address)))
        light = stack.enter_context(contextlib.closing(Client(address, "127.0.0.2")))
        heavy.send(_late(90_000) + bytes(90_000))
        until(lambda: streaming.wire.body_bytes == 90_000)
        light.send(_late(20_000) + bytes(20_000))
        assert heavy.is_closed()
        assert streaming.wire.body_bytes == 20_000
        streaming.goes_on.set()
        assert light.status() == 200


def test_the_metrics_count_what_was_refused() -> None:
    with wired(connections_per_address=2) as server:
        busy = [server.sent(HEAD), server.client()]
        until(lambda: len(server.wire.connections) == 2)
        busy[1].send(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
        refusal(busy[1], 400, "ARG_INVALID")
        busy[1].close()
        until(lambda: len(server.wire.connections) == 1)
        text = httpx.get(f"{server.address}/metrics").text
        assert re.search(r'^adalog_connections_refused_total\{why="host"\} 1.0$', text, re.MULTILINE)
        assert re.search(r"^adalog_connections 2.0$", text, re.MULTILINE)


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::1"),
        ("", ""),
    ],
)
def test_what_connections_are_counted_by(address: str, counted: str) -> None:
    assert counted_address(address) == counted


# Settings


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ADALOG_IDLE_SECONDS", "0"),
        ("ADALOG_IDLE_SECONDS", "nan"),
        ("ADALOG_IDLE_SECONDS", "long"),
        ("ADALOG_CONNECTIONS", "0"),
        ("ADALOG_TRUSTED_PROXIES", "proxy.example"),
        ("ADALOG_TRUSTED_PROXIES", "*"),
        ("ADALOG_TRUSTED_PROXIES", "10.0.0.1/8"),
    ],
)
def test_wrong_limits_are_named(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=name):
        checked(settings_from({name: value}))


# Addresses from proxies


@pytest.mark.parametrize(
    ("trusted", "forwarded", "seen"),
    [("", "203.0.113.9", "127.0.0.1"), ("127.0.0.1", "203.0.113.9", "203.0.113.9"),
     ("127.0.0.0/8,10.0.0.0/8", "1.1.1.1, 203.0.113.9, 10.1.1.1", "203.0.113.9"),
     ("10.0.0.0/8", "203.0.113.9", "127.0.0.1")],
)  # fmt: skip
def test_forwarded_addresses_are_believed_of_trusted_proxies(trusted: str, forwarded: str, seen: str) -> None:
    settings = Settings(data=":memory:", port=0, trusted_proxies=trusted, connections_per_address=1)
    found = []

    async def look(request: Request) -> StreamingResponse:
        assert request.client is not None
        found.append(request.client.host)
        return StreamingResponse(iter(()))

    streaming = Streaming(settings)
    streaming.app.router.routes.append(Route("/look", look))
    with served(streaming.app, settings) as address:
        httpx.get(f"{address}/look", headers={"X-Forwarded-For": forwarded})
        assert found == [seen]
        if "127" in trusted:
            # A proxy has as many connections as it likes.
            with contextlib.closing(Client(address)), contextlib.closing(Client(address)):
                assert httpx.get(f"{address}/look").status_code == 200
