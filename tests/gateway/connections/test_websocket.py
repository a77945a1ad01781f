"""graphql-transport-ws over a WebSocket: https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import socket
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.server import ServerState
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin, Subprotocol

from adalog.datalog.errors import AdalogError, Code
from adalog.gateway.connections import wire
from adalog.gateway.connections.guards import SECURITY_HEADERS
from adalog.gateway.connections.websocket import WebSocket
from adalog.gateway.connections.wire import Wire
from adalog.gateway.identity.principal import ANYONE
from adalog.gateway.protocols.answering import Answering
from adalog.gateway.protocols.negotiation import GraphQLRequest
from adalog.gateway.settings import origins
from adalog.gateway.settings.config import Settings
from tests.gateway.streams import LIVE, SECONDS, Hub, Live, Message, Stream, live
from tests.gateway.support import gateway
from tests.waiting import until

SPOKEN = [Subprotocol("graphql-transport-ws")]
QUERY = '{ q(query: "[:find ?b . :where [_ :person/born ?b]]") { value } }'
WRITE = 'mutation { transact(tx: "[{:person/name \\"Grace\\"}]") { t } }'


class Client:
    """A connection that speaks JSON."""

    def __init__(self, opened: Live, **more: Any) -> None:
        more = {"subprotocols": SPOKEN, "proxy": None, "max_queue": 1, "max_size": None} | more
        self.socket: ClientConnection = connect(opened.socket_address, **more)

    def send(self, **message: Any) -> Client:
        self.socket.send(json.dumps(message))
        return self

    def read(self) -> Any:
        return json.loads(self.socket.recv(SECONDS))

    def begun(self, **payload: Any) -> Client:
        """The connection once it is acknowledged."""
        self.send(type="connection_init", payload=payload)
        assert self.read() == {"type": "connection_ack"}
        return self

    def subscribe(self, name: str, query: str = LIVE, **more: Any) -> Client:
        return self.send(id=name, type="subscribe", payload={"query": query, **more})

    def closed(self) -> tuple[int, str]:
        """How the server ends it."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                self.socket.recv(SECONDS)
        assert self.socket.protocol.close_rcvd is not None
        return self.socket.protocol.close_rcvd.code, self.socket.protocol.close_rcvd.reason


@pytest.fixture(scope="module")
def shared() -> Iterator[Live]:
    with live() as opened:
        yield opened


@pytest.fixture
def opened(shared: Live) -> Live:
    """One with nobody connected and the limits as they are."""
    until(lambda: not shared.wire.streams["websocket"])
    shared.hub.streams.clear()
    shared.hub.failure = None
    return shared


@pytest.fixture
def connected(opened: Live) -> Iterator[Callable[..., Client]]:
    with contextlib.ExitStack() as stack:
        yield lambda **more: _kept(stack, Client(opened, **more))


def _kept(stack: contextlib.ExitStack, client: Client) -> Client:
    stack.enter_context(client.socket)
    return client


@contextlib.contextmanager
def client_of(opened: Live, **more: Any) -> Iterator[Client]:
    client = Client(opened, **more)
    with client.socket:
        yield client


# Operations


def test_events_and_their_end(opened: Live, connected: Callable[..., Client]) -> None:
    client = connected().begun().subscribe("1")
    opened.hub.expect(1)
    for number in (1, 2):
        opened.hub.tell({"kind": "DELTA", "basisT": number})
        payload = {"data": {"live": {"kind": "DELTA", "basisT": number}}}
        assert client.read() == {"id": "1", "type": "next", "payload": payload}
    opened.hub.end()
    assert client.read() == {"id": "1", "type": "complete"}
    assert opened.hub.streams[0].closed.wait(SECONDS)


def test_an_event_is_at_hand_before_the_connection_is_read_on(
    opened: Live, connected: Callable[..., Client]
) -> None:
    """Events of every length: the head of a frame has three forms."""
    client = connected().begun().subscribe("1")
    opened.hub.expect(1)
    for size in (0, 1, 20, 30, 100, 1000, 65_400, 65_536, 70_000, 300_000):
        opened.hub.tell("x" * size)
        assert client.read()["payload"]["data"]["live"] == "x" * size


def test_many_subscriptions_on_one_connection(opened: Live, connected: Callable[..., Client]) -> None:
    client = connected().begun()
    names = [str(number) for number in range(200)]
    for name in names:
        client.subscribe(name)
    streams = opened.hub.expect(200)
    opened.hub.tell()
    assert sorted(client.read()["id"] for _ in names) == sorted(names)
    client.send(id="7", type="complete")
    until(lambda: sum(stream.closed.is_set() for stream in streams) == 1)
    opened.hub.tell()
    names.remove("7")
    assert sorted(client.read()["id"] for _ in names) == sorted(names)
    client.socket.close()
    for stream in streams:
        assert stream.closed.wait(SECONDS)


class CountedWrites:
    """A transport that counts what is written to it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.writes = 0

    def write(self, data: bytes) -> None:
        self.writes += 1
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


def test_what_concerns_many_operations_of_a_connection_is_written_at_once(
    opened: Live, connected: Callable[..., Client]
) -> None:
    client = connected().begun()
    names = [str(number) for number in range(50)]
    for name in names:
        client.subscribe(name)
    streams = opened.hub.expect(50)
    until(lambda: all(stream.listening for stream in streams))
    (socket,) = (each for each in opened.wire.connections if isinstance(each, WebSocket))
    counted = CountedWrites(socket.transport)
    socket.transport = counted  # type: ignore[assignment]
    message = Message(b'{"data":null}', "token")

    def tell() -> None:
        for stream in streams:
            stream.told(message)
        # In order also where no more than one is left.
        for stream in streams[1:]:
            stream.end(None)

    streams[0].loop.call_soon_threadsafe(tell)
    told = [client.read() for _ in range(99)]
    assert [each["type"] for each in told] == ["next"] * 50 + ["complete"] * 49
    events, ends = ([each["id"] for each in some] for some in (told[:50], told[50:]))
    assert sorted(events) == sorted(names)
    assert ends == events[1:]
    assert counted.writes <= 2


def test_an_id_may_be_used_again_once_it_is_complete(opened: Live, connected: Callable[..., Client]) -> None:
    client = connected().begun().subscribe("a").send(id="a", type="complete").subscribe("a")
    client.send(id="b", type="complete").send(type="ping")
    assert client.read() == {"type": "pong"}
    assert opened.hub.expect(1)
    until(lambda: not opened.hub.streams[-1].closed.is_set())
    opened.hub.tell(to=opened.hub.streams[-1])
    assert client.read()["id"] == "a"


def test_queries_and_mutations(opened: Live, connected: Callable[..., Client]) -> None:
    client = connected().begun().subscribe("1", QUERY)
    assert client.read() == {"id": "1", "type": "next", "payload": {"data": {"q": {"value": 1815}}}}
    assert client.read() == {"id": "1", "type": "complete"}
    before = opened.opened.database.snapshot().t
    client.subscribe("1", WRITE)
    assert client.read()["payload"] == {"data": {"transact": {"t": before + 1}}}
    assert client.read() == {"id": "1", "type": "complete"}
    client.subscribe("2", "query A { __typename } query B { database { basisT } }", operationName="B")
    assert client.read()["payload"] == {"data": {"database": {"basisT": before + 1}}}
    assert client.read()["type"] == "complete"


def test_an_answer_that_is_long(opened: Live, connected: Callable[..., Client]) -> None:
    client = connected(max_size=None).begun()
    query, args = "[:find [?x ...] :in [?x ...]]", [list(range(100_000))]
    client.subscribe(
        "1", "query($q: EDN!, $a: [JSON!]) { q(query: $q, args: $a) { value } }", variables={"q": query, "a": args}
    )
    assert client.read()["payload"]["data"]["q"]["value"] == args[0]
    assert client.read()["type"] == "complete"


def test_errors_of_a_field_are_in_the_result(connected: Callable[..., Client]) -> None:
    client = connected().begun().subscribe("1", '{ q(query: "[:find") { value } }')
    answer = client.read()
    assert answer["type"] == "next"
    assert answer["payload"]["data"] is None
    assert answer["payload"]["errors"][0]["extensions"]["code"] == "EDN_SYNTAX"
    assert client.read()["type"] == "complete"


@pytest.mark.parametrize(
    ("query", "code"),
    [("{", "QUERY_INVALID"), ("{ nothing }", "QUERY_INVALID"), ("subscription { nothing }", "QUERY_INVALID")],
)
def test_a_refused_document_is_an_error(connected: Callable[..., Client], query: str, code: str) -> None:
    client = connected().begun().subscribe("1", query)
    answer = client.read()
    assert (answer["id"], answer["type"]) == ("1", "error")
    assert answer["payload"][0]["extensions"]["code"] == code
    client.send(type="ping")
    assert client.read() == {"type": "pong"}


def test_a_subscription_that_does_not_begin_is_an_error(opened: Live, connected: Callable[..., Client]) -> None:
    client = connected().begun()
    opened.hub.failure = AdalogError(Code.UNBOUND_VARIABLE, "?x is not bound")
    assert client.subscribe("1").read()["payload"][0]["extensions"]["code"] == "UNBOUND_VARIABLE"


def test_an_error_ends_its_subscription_alone(opened: Live, connected: Callable[..., Client]) -> None:
    client = connected().begun().subscribe("1")
    opened.hub.expect(1)
    opened.hub.end(AdalogError(Code.LIMIT_EXCEEDED, "too many rows"))
    answer = client.read()
    assert (answer["type"], answer["payload"][0]["extensions"]["code"]) == ("error", "LIMIT_EXCEEDED")
    client.subscribe("1")
    opened.hub.expect(2)
    opened.hub.tell()
    assert client.read()["type"] == "next"


def test_parameters_of_wrong_types_are_an_error(connected: Callable[..., Client]) -> None:
    client = connected().begun().subscribe("1", variables=[1])
    assert client.read()["payload"][0]["extensions"]["code"] == "ARG_INVALID"


# Pings


def test_a_ping_is_answered_before_and_after_the_connection_begins(connected: Callable[..., Client]) -> None:
    client = connected().send(type="ping", payload={"n": 1})
    assert client.read() == {"type": "pong", "payload": {"n": 1}}
    client.begun().send(type="pong").send(type="ping")
    assert client.read() == {"type": "pong"}


def test_the_server_pings_and_cuts_who_is_silent() -> None:
    with (
        live(ping_seconds=0.1) as opened,
        client_of(opened) as client,
        contextlib.closing(_raw(opened)) as silent,
    ):
        client.begun().subscribe("1")
        opened.hub.expect(1)
        _until_closed(silent)
        # The other client answers pings, on a thread of its own.
        assert opened.wire.refused["ping_seconds"] == 1
        opened.hub.tell()
        assert client.read()["type"] == "next"


# How the server ends a connection


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("[", "the message is not JSON"),
        ("", "the message is not JSON"),
        ('"text"', "a message is a JSON object"),
        ("[]", "a message is a JSON object"),
        ("{}", "Unknown message type: none"),
        ('{"type": 1}', "Unknown message type: none"),
        ('{"type": "start"}', "Unknown message type: start"),
        ('{"type": "next", "id": "1", "payload": {}}', "Unknown message type: next"),
        ('{"type": "connection_init", "payload": 1}', "`payload` must be an object"),
        ('{"type": "ping", "payload": "x"}', "`payload` must be an object"),
        ('{"type": "pong", "payload": []}', "`payload` must be an object"),
        ('{"type": "subscribe", "payload": {"query": "{ __typename }"}}', "`id` must be a string"),
        ('{"type": "subscribe", "id": 1, "payload": {"query": "{ __typename }"}}', "`id` must be a string"),
        ('{"type": "subscribe", "id": "", "payload": {"query": "{ __typename }"}}', "`id` must be a string"),
        ('{"type": "subscribe", "id": "%s", "payload": {"query": ""}}' % ("x" * 129), "`id` must be a string"),
        ('{"type": "subscribe", "id": "1"}', "`payload` of subscribe must be an object"),
        ('{"type": "subscribe", "id": "1", "payload": {}}', "`query` of subscribe must be a string"),
        ('{"type": "subscribe", "id": "1", "payload": {"query": 1}}', "`query` of subscribe must be a string"),
        ('{"type": "complete"}', "`id` must be a string"),
        (b"{}", "messages are text, not binary"),
    ],
)
def test_4400_for_what_is_no_message(connected: Callable[..., Client], message: str | bytes, reason: str) -> None:
    client = connected().begun()
    client.socket.send(message)
    code, said = client.closed()
    assert code == 4400
    assert said.startswith(reason)


def test_4401_before_the_connection_is_acknowledged(connected: Callable[..., Client]) -> None:
    assert connected().subscribe("1").closed() == (4401, "Unauthorized")


def test_4406_for_another_subprotocol(connected: Callable[..., Client]) -> None:
    for offered in (["graphql-ws"], None):
        code, reason = connected(subprotocols=offered).closed()
        assert code == 4406
        assert reason.startswith("Subprotocol not acceptable")


def test_4408_where_nothing_comes() -> None:
    with live(init_seconds=0.1) as opened, client_of(opened) as client:
        assert client.closed() == (4408, "Connection initialisation timeout")
        with client_of(opened) as late:
            late.begun()
            until(lambda: opened.wire.closed["4408"] == 1)


def test_the_clock_looks_at_some_connections_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that it comes to in another turn are ended likewise."""
    monkeypatch.setattr(wire, "_CHECKED_AT_ONCE", 2)
    with live(init_seconds=0.2) as opened, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(client_of(opened)) for _ in range(5)]
        assert [client.closed()[0] for client in clients] == [4408] * 5


@pytest.mark.parametrize("query", [LIVE, QUERY])
def test_4409_for_an_id_in_use(opened: Live, connected: Callable[..., Client], query: str) -> None:
    client = connected().begun().subscribe("é").subscribe("é", query)
    assert client.closed() == (4409, "Subscriber for é already exists")


def test_4429_for_a_second_initialisation(connected: Callable[..., Client]) -> None:
    client = connected().begun().send(type="connection_init")
    assert client.closed() == (4429, "Too many initialisation requests")


def test_a_reason_is_cut_to_what_a_frame_takes(connected: Callable[..., Client]) -> None:
    name = "é" * 64
    code, reason = connected().begun().subscribe(name).subscribe(name).closed()
    assert code == 4409
    assert len(reason.encode()) <= 123


def test_codes_and_messages_are_counted() -> None:
    with live() as opened:
        with client_of(opened) as client:
            client.begun().subscribe("1", QUERY)
            assert [client.read()["type"] for _ in range(2)] == ["next", "complete"]
            until(lambda: opened.wire.streams["websocket"] == 1)
            assert client.subscribe("1").subscribe("1").closed()[0] == 4409
        until(lambda: opened.wire.streams["websocket"] == 0)
        text = httpx.get(f"{opened.address}/metrics").text
        for line in (
            'adalog_websocket_closed_total{code="4409"} 1.0',
            'adalog_websocket_messages_total{message="received subscribe"} 3.0',
            'adalog_websocket_messages_total{message="sent next"} 1.0',
            'adalog_streams{protocol="websocket"} 0.0',
            'adalog_requests_total{code="OK",field="q"} 1.0',
        ):
            assert line in text


# Frames


def _raw(opened: Live) -> socket.socket:
    """A connection past its handshake, without anybody who answers pings."""
    host, port = opened.address.removeprefix("http://").split(":")
    raw = socket.create_connection((host, int(port)), timeout=SECONDS)
    raw.sendall(HANDSHAKE)
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += raw.recv(1)
    assert head.startswith(b"HTTP/1.1 101 "), head
    assert b"permessage-deflate" not in head.lower()
    return raw


HANDSHAKE = (
    b"GET /graphql HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Protocol: graphql-transport-ws\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
)


def _frame(data: bytes, opcode: Opcode = Opcode.TEXT, *, fin: bool = True, mask: bool = True) -> bytes:
    return Frame(opcode, data, fin).serialize(mask=mask)


def _until_closed(raw: socket.socket) -> bytes:
    """What comes until the server ends the connection."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while piece := raw.recv(65536):
            found += piece
    return found or b"\x00"


def _code(answer: bytes) -> int:
    """The code of the closing frame at the end."""
    at = answer.index(b"\x88")
    (code,) = struct.unpack("!H", answer[at + 2 : at + 4])
    return int(code)


INIT = b'{"type":"connection_init"}'


def test_a_message_in_several_frames(opened: Live) -> None:
    with contextlib.closing(_raw(opened)) as raw:
        ping = _frame(b"in between", Opcode.PING)
        parts = [_frame(INIT[:5], fin=False), ping, _frame(INIT[5:9], Opcode.CONT, fin=False)]
        raw.sendall(b"".join(parts) + _frame(INIT[9:], Opcode.CONT))
        ack = b'{"type":"connection_ack"}'
        expected = b"\x8a\x0ain between" + b"\x81" + bytes([len(ack)]) + ack
        found = b""
        while len(found) < len(expected):
            found += raw.recv(65536)
        assert found == expected


FAULTY = {
    "text that is no UTF-8": (_frame(b"\xff\xfe"), 1007),
    "without a mask": (_frame(INIT, mask=False), 1002),
    "a continuation of nothing": (_frame(INIT, Opcode.CONT), 1002),
    "a message within another": (_frame(b"{", fin=False) + _frame(b"}"), 1002),
    "an unknown opcode": (b"\x83\x80\x00\x00\x00\x00", 1002),
    "a reserved bit": (b"\xc1\x80\x00\x00\x00\x00", 1002),
    "a long ping": (b"\x89\xfe\x00\x7e" + b"\x00" * 130, 1002),
    "too long": (b"\x81\xff" + struct.pack("!Q", 1 << 40), 1009),
    "tiny frames": (_frame(b"{", fin=False) + _frame(b" ", Opcode.CONT, fin=False) * 2000, 1008),
    "wrong, with much after it": (_frame(INIT, mask=False) + _frame(b" " * 50_000), 1002),
    "closing": (_frame(struct.pack("!H", 4321), Opcode.CLOSE), 4321),
}


@pytest.mark.parametrize("fault", FAULTY)
def test_frames_that_end_the_connection(opened: Live, fault: str) -> None:
    sent, code = FAULTY[fault]
    before = opened.wire.body_bytes
    with contextlib.closing(_raw(opened)) as raw:
        raw.sendall(sent)
        raw.shutdown(socket.SHUT_WR)
        assert _code(_until_closed(raw)) == code
    until(lambda: opened.wire.body_bytes == before)


def test_many_small_frames_are_read_a_few_at_a_time(opened: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each costs some microseconds, for which nobody else is served."""
    read: list[int] = []

    def receive(protocol: ServerProtocol, data: bytes) -> None:
        read.append(len(data))
        original(protocol, data)

    original = ServerProtocol.receive_data
    monkeypatch.setattr(ServerProtocol, "receive_data", receive)
    with contextlib.closing(_raw(opened)) as raw:
        raw.sendall((_frame(b"", Opcode.PING) + _frame(b'{"type":"ping"}')) * 5000 + _frame(INIT))
        found = b""
        while not found.endswith(b'{"type":"connection_ack"}'):
            found += raw.recv(65536)
        assert found.count(b'{"type":"pong"}') == 5000
        assert found.count(b"\x8a\x00") == 5000
    assert max(read) <= 4096
    assert sum(read) > 5000 * 27


def test_messages_have_the_size_of_requests() -> None:
    with live(request_bytes=1000) as opened, client_of(opened) as client:
        client.begun().subscribe("1", QUERY + " " * 800)
        assert client.read()["type"] == "next"
        client.subscribe("2", QUERY + " " * 1000)
        assert client.closed()[0] == 1009


def test_values_of_a_long_message_are_counted() -> None:
    with live(request_values=10_000) as opened, client_of(opened) as client:
        client.begun().subscribe("1", QUERY, variables={"x": [1] * 30_000})
        code, reason = client.closed()
        assert code == 4400
        assert "too many JSON values" in reason


def test_bytes_on_the_way_are_counted_and_the_heaviest_loses() -> None:
    with live(bodies_bytes=1000) as opened, contextlib.closing(_raw(opened)) as raw:
        raw.sendall(b"\x81\xfe" + struct.pack("!H", 5000) + b"\x00" * 4 + b"x" * 800)
        until(lambda: opened.wire.body_bytes >= 800)
        raw.sendall(b"x" * 800)
        raw.shutdown(socket.SHUT_WR)
        assert _code(_until_closed(raw)) == 1013
        assert opened.wire.refused["body_bytes"] == 1
        until(lambda: opened.wire.body_bytes == 0)


# What there may be of it


def test_operations_of_a_connection() -> None:
    with live(operations_per_connection=2) as opened, client_of(opened) as client:
        client.begun().subscribe("1").subscribe("2")
        opened.hub.expect(2)
        answer = client.subscribe("3").read()
        assert (answer["id"], answer["type"]) == ("3", "error")
        refused = answer["payload"][0]["extensions"]
        assert (refused["code"], refused["retryable"], refused["retryAfter"]) == ("RATE_LIMITED", True, 1)
        assert "has 2 operations already" in answer["payload"][0]["message"]
        client.send(id="1", type="complete").subscribe("3")
        opened.hub.expect(3)


def test_a_connection_that_asks_nothing_ends_and_one_that_follows_stays() -> None:
    with live(idle_seconds=0.1) as opened, client_of(opened) as following:
        following.begun().subscribe("1")
        opened.hub.expect(1)
        with client_of(opened) as idle:
            assert idle.begun().closed()[0] == 1000
        opened.hub.tell()
        assert following.read()["type"] == "next"


def test_one_that_asks_nothing_makes_room() -> None:
    with live(connections=2) as opened, client_of(opened) as following:
        following.begun().subscribe("1")
        opened.hub.expect(1)
        with client_of(opened) as idle:
            idle.begun()
            assert httpx.get(f"{opened.address}/healthz").status_code == 200
            assert idle.closed()[0] == 1013
        opened.hub.tell()
        assert following.read()["type"] == "next"


def test_who_does_not_read_is_not_written_to_and_is_cut_in_the_end() -> None:
    with live(send_seconds=0.5) as opened, contextlib.closing(_raw(opened)) as raw:
        body = json.dumps({"id": "1", "type": "subscribe", "payload": {"query": LIVE}}).encode()
        raw.sendall(_frame(INIT) + _frame(body))
        (stream,) = opened.hub.expect(1)
        with client_of(opened) as other:
            other.begun().subscribe("1")
            opened.hub.expect(2)
            while not stream.refused:
                opened.hub.tell("x" * 50_000)
                assert other.read()["type"] == "next"
            taken = stream.taken
            for _ in range(20):
                opened.hub.tell("x" * 50_000)
                assert other.read()["type"] == "next"
            # What does not fit is the mailbox's affair.
            assert stream.taken == taken
            assert stream.closed.wait(SECONDS)
            assert opened.wire.refused["send_seconds"] == 1


def test_who_reads_late_gets_everything_in_order(opened: Live, connected: Callable[..., Client]) -> None:
    client = connected(max_queue=1).begun().subscribe("1")
    (stream,) = opened.hub.expect(1)
    told = 0
    while not stream.refused:
        opened.hub.tell({"n": told, "pad": "x" * 20_000})
        told += 1
        until(lambda told=told: stream.taken == told or stream.refused)  # type: ignore[misc]
    for number in range(told):
        assert client.read()["payload"]["data"]["live"]["n"] == number


def test_who_sends_and_does_not_read_is_not_read_on(opened: Live) -> None:
    """Its pongs would pile up."""
    with contextlib.closing(_raw(opened)) as raw:
        until(lambda: opened.wire.streams["websocket"])
        (websocket,) = opened.wire.connections
        assert isinstance(websocket, WebSocket)
        raw.setblocking(False)
        pings = memoryview(_frame(json.dumps({"type": "ping", "payload": {"x": "x" * 1000}}).encode()) * 1000)
        sent = 0
        while not websocket.read_paused:
            with contextlib.suppress(BlockingIOError):
                sent += raw.send(pings[sent % len(pings) :])
        assert websocket.transport.get_write_buffer_size() < 1 << 20


# Who may


def test_a_token_in_the_handshake_or_in_the_first_message(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    roles = [("reader", "read"), ("writer", "write")]
    tokens.write_text("".join(f"{n}:{r}:{hashlib.sha256(n.encode()).hexdigest()}\n" for n, r in roles))
    tokens.chmod(0o600)
    with live(auth=str(tokens)) as opened:
        for more, payload in (
            ({"additional_headers": {"Authorization": "Bearer reader"}}, {}),
            ({}, {"authorization": "Bearer reader"}),
            ({}, {"Authorization": "Bearer reader"}),
            ({"additional_headers": {"Authorization": "Bearer writer"}}, {"authorization": "Bearer reader"}),
        ):
            with client_of(opened, **more) as client:
                client.begun(**payload).subscribe("1", QUERY)
                assert client.read()["payload"] == {"data": {"q": {"value": 1815}}}
                assert client.read()["type"] == "complete"
                refused = client.subscribe("1", WRITE).read()
                assert (refused["type"], refused["payload"][0]["extensions"]["code"]) == ("error", "FORBIDDEN")
        for payload in ({}, {"authorization": "Bearer nobody"}, {"authorization": 7}):
            with client_of(opened) as client:
                code, reason = client.send(type="connection_init", payload=payload).closed()
                assert code == 4403
                assert reason.startswith("Forbidden")
        with pytest.raises(InvalidStatus) as refusal:
            Client(opened, additional_headers={"Authorization": "Bearer nobody"})
        assert refusal.value.response.status_code == 401
        assert refusal.value.response.headers["www-authenticate"] == "Bearer"
        with client_of(opened) as client:
            client.send(type="connection_init", payload={"authorization": "Bearer writer"})
            assert client.read() == {"type": "connection_ack"}
            assert client.subscribe("1", WRITE).read()["type"] == "next"
            # What is left unread holds up this client's end for ten seconds.
            assert client.read()["type"] == "complete"


def test_pages_of_other_origins_are_refused() -> None:
    with live(allowed_origins="https://app.example.org") as opened:
        own = opened.address
        for origin in ("https://app.example.org", own, own.replace("127.0.0.1", "localhost"), None):
            more: dict[str, Any] = {"origin": origin and Origin(origin)}
            if origin and "localhost" in origin:
                more["additional_headers"] = None
                address = opened.socket_address.replace("127.0.0.1", "localhost")
                with connect(address, subprotocols=SPOKEN, proxy=None, origin=Origin(origin)):
                    continue
            with client_of(opened, **more) as client:
                client.begun()
        for origin in ("https://evil.example", "http://127.0.0.1:1", "null", "http://127.0.0.1", "https://"):
            with pytest.raises(InvalidStatus) as refusal:
                Client(opened, origin=Origin(origin))
            response = refusal.value.response
            assert response.status_code == 403
            assert json.loads(response.body)["errors"][0]["extensions"]["code"] == "FORBIDDEN"
            assert response.headers["x-content-type-options"] == "nosniff"


def test_a_refused_handshake_is_no_error_of_the_server(caplog: pytest.LogCaptureFixture) -> None:
    origins._LOGGED.clear()
    with live(allowed_origins="https://app.example.org") as opened, caplog.at_level(logging.WARNING):
        for _ in range(2):
            with pytest.raises(InvalidStatus):
                Client(opened, origin=Origin("https://evil.example"))
    (line,) = [(each.levelname, each.getMessage()) for each in caplog.records]
    assert line[0] == "WARNING"
    assert "ADALOG_ALLOWED_ORIGINS=https://evil.example" in line[1]


@pytest.mark.parametrize("ends", ["the client", "the server"])
@pytest.mark.parametrize("status", [None, 503])
def test_a_handshake_that_is_over_before_its_answer_is_no_error(
    caplog: pytest.LogCaptureFixture, ends: str, status: int | None
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        arrived.set()
        await over.wait()
        if status is None:
            await send({"type": "websocket.accept"})
            assert (await receive())["type"] == "websocket.disconnect"
        else:
            await JSONResponse({}, status)(scope, receive, send)

    async def main() -> None:
        loop, state = asyncio.get_running_loop(), ServerState()
        config = Config(app, log_config=None)
        config.load()
        wire = Wire(Settings())
        server = await loop.create_server(lambda: WebSocket(wire, config, state, {}, loop), "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(HANDSHAKE)
            await arrived.wait()
            (task,), (connection,) = state.tasks, state.connections
            if ends == "the server":
                # The app goes on before the protocol is told that the connection is lost.
                over.set()
                connection.shutdown()
            else:
                writer.transport.abort()
                while state.connections:  # noqa: ASYNC110 - the protocol has no event for it
                    await asyncio.sleep(0)
                over.set()
            await asyncio.wait_for(task, SECONDS)
            if ends == "the server":
                assert await reader.readuntil(b"\r\n") == b"HTTP/1.1 500 Internal Server Error\r\n"
                writer.close()

    arrived, over = asyncio.Event(), asyncio.Event()
    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    assert caplog.messages == []


# Handshakes


HANDSHAKES = [
    ((b"Host: localhost", b"Host: evil.example"), 403),
    ((b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Version: 8"), 400),
    ((b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", b""), 400),
    ((b"dGhlIHNhbXBsZSBub25jZQ==", b"short"), 400),
    ((b"Host: localhost", b"Host: localhost\r\nX-Long: " + b"x" * 10_000), 431),
    ((b"GET /graphql", b"GET /nothing"), 403),
    # What is no handshake is answered as HTTP.
    ((b"GET /graphql HTTP/1.1", b"POST /graphql HTTP/1.1\r\nContent-Length: 0"), 415),
    ((b"GET /graphql HTTP/1.1", b"GET /graphql HTTP/1.1\r\nContent-Length: 2"), 400),
    ((b"GET /graphql HTTP/1.1", b"GET /graphql HTTP/1.0"), 400),
]


@pytest.mark.parametrize("number", range(len(HANDSHAKES)))
def test_handshakes_that_are_refused(opened: Live, number: int) -> None:
    change, status = HANDSHAKES[number]
    host, port = opened.address.removeprefix("http://").split(":")
    with contextlib.closing(socket.create_connection((host, int(port)), timeout=SECONDS)) as raw:
        raw.sendall(HANDSHAKE.replace(*change))
        found = b""
        while b"\r\n\r\n" not in found:
            found += raw.recv(65536)
        head, _, body = found.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 %d " % status), found
        headers = [line.partition(b": ")[::2] for line in head.split(b"\r\n")[1:]]
        headers = [(name.lower(), value) for name, value in headers]
        for header in SECURITY_HEADERS:
            assert headers.count(header) == 1, header
        size = int(dict(headers)[b"content-length"])
        while len(body) < size:
            body += raw.recv(65536)
        assert set(json.loads(body)["errors"][0]) == {"message", "extensions"}


def test_a_client_that_was_told_its_end_may_not_send_for_ever(opened: Live) -> None:
    with contextlib.closing(_raw(opened)) as raw, contextlib.suppress(OSError):
        sent = 0
        raw.sendall(_frame(b"no JSON"))
        while sent < 256_000_000:
            raw.sendall(_frame(b" " * 60_000))
            sent += 60_000
    # What the buffers of two sockets hold is megabytes, too.
    assert sent < 32_000_000


# The end


def test_a_server_that_stops_ends_streams_and_answers_what_runs() -> None:
    with contextlib.ExitStack() as stack:
        with live() as opened:
            clients = [stack.enter_context(client_of(opened)) for _ in range(3)]
            for client in clients:
                client.begun()
            clients[0].subscribe("1")
            (stream,) = opened.hub.expect(1)
            clients[1].subscribe("1", WRITE)
        assert stream.closed.is_set()
        assert clients[0].closed()[0] == 1012
        assert [clients[1].read()["type"] for _ in range(2)] == ["next", "complete"]
        assert [client.closed()[0] for client in clients[1:]] == [1012, 1012]


def test_a_subscription_that_begins_as_its_client_leaves_is_ended() -> None:
    class Leaving(Hub):
        async def subscribe(self, *_: object) -> Stream:  # type: ignore[override]
            waiting.cancel()
            self.streams.append(Stream(None))
            return self.streams[0]

    async def leave(answering: Answering) -> None:
        nonlocal waiting
        asked = await answering.read(GraphQLRequest(LIVE), ANYONE)
        waiting = asyncio.ensure_future(answering.subscribe(asked))
        with pytest.raises(asyncio.CancelledError):
            await waiting

    waiting: asyncio.Future[Any]
    hub = Leaving()
    with gateway() as opened:
        opened.app.state.answering.operations.subscribe_at_once = lambda *_: None
        opened.app.state.answering.operations.subscribe = hub.subscribe
        asyncio.run(leave(opened.app.state.answering))
    assert hub.streams[0].closed.is_set()


def test_a_client_that_is_gone_frees_its_streams_at_once(opened: Live) -> None:
    raw = _raw(opened)
    body = json.dumps({"id": "1", "type": "subscribe", "payload": {"query": LIVE}}).encode()
    raw.sendall(_frame(INIT) + _frame(body))
    (stream,) = opened.hub.expect(1)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()
    assert stream.closed.wait(SECONDS)
    until(lambda: not opened.wire.streams["websocket"])
