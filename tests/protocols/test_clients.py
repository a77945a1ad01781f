"""`graphql-ws` and `graphql-sse` from npm: handshake, events, errors, and every way in which a connection ends."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from tests.gateway.connections.test_websocket import QUERY, WRITE
from tests.gateway.streams import LIVE, Live, live
from tests.protocols.node import SECONDS, Node
from tests.waiting import until


@pytest.fixture(scope="module")
def shared() -> Iterator[Live]:
    with live() as opened:
        yield opened


@pytest.fixture
def opened(shared: Live) -> Live:
    until(lambda: not any(shared.wire.streams.values()))
    shared.hub.streams.clear()
    return shared


def open_client(node: Node, opened: Live, kind: str, name: str = "it", **more: Any) -> None:
    url = opened.socket_address if kind == "ws" else f"{opened.address}/graphql"
    node.tell("open", client=name, kind=kind, url=url, **more)


def subscribe(node: Node, name: str, query: str = LIVE, client: str = "it", **more: Any) -> None:
    node.tell("subscribe", client=client, name=name, payload={"query": query}, **more)


both = pytest.mark.parametrize("kind", ["ws", "sse"])


@both
def test_events_and_their_end(node: Node, opened: Live, kind: str) -> None:
    open_client(node, opened, kind)
    subscribe(node, "a")
    opened.hub.expect(1)
    for number in range(3):
        opened.hub.tell({"basisT": number})
        assert node.expect(name="a")["value"] == {"data": {"live": {"basisT": number}}}
    opened.hub.end()
    assert node.expect(name="a") == {"name": "a", "event": "complete"}


@both
def test_queries_and_mutations(node: Node, opened: Live, kind: str) -> None:
    open_client(node, opened, kind)
    for query, data in (
        (QUERY, {"q": {"value": 1815}}),
        (WRITE, {"transact": {"t": opened.opened.database.snapshot().t + 1}}),
    ):
        subscribe(node, "a", query)
        assert node.expect(name="a")["value"] == {"data": data}
        assert node.expect(name="a")["event"] == "complete"


@both
def test_who_unsubscribes_frees_the_stream(node: Node, opened: Live, kind: str) -> None:
    open_client(node, opened, kind)
    subscribe(node, "a")
    subscribe(node, "b")
    streams = opened.hub.expect(2)
    opened.hub.tell()
    for name in ("a", "b"):
        node.expect(name=name, event="next")
    node.tell("unsubscribe", name="a")
    assert node.expect(name="a")["event"] == "complete"
    until(lambda: sum(stream.closed.is_set() for stream in streams) == 1)
    opened.hub.tell()
    node.expect(name="b", event="next")
    node.tell("dispose", client="it")
    for stream in streams:
        assert stream.closed.wait(SECONDS)


def test_many_subscriptions_on_one_connection(node: Node, opened: Live) -> None:
    open_client(node, opened, "ws")
    names = [f"number {number}" for number in range(100)]
    for name in names:
        subscribe(node, name)
    opened.hub.expect(100)
    assert opened.wire.streams["websocket"] == 1
    opened.hub.tell()
    for name in names:
        node.expect(name=name, event="next")


def test_errors_over_a_websocket(node: Node, opened: Live) -> None:
    open_client(node, opened, "ws")
    subscribe(node, "a", "subscription { nothing }")
    assert node.expect(name="a", event="error")["value"][0]["extensions"]["code"] == "QUERY_INVALID"
    subscribe(node, "b")
    opened.hub.expect(1)
    opened.hub.end(AdalogError(Code.TIMEOUT, "too slow"))
    assert node.expect(name="b", event="error")["value"][0]["extensions"]["code"] == "TIMEOUT"
    subscribe(node, "c", '{ q(query: "[:find") { value } }')
    assert node.expect(name="c")["value"]["errors"][0]["extensions"]["code"] == "EDN_SYNTAX"
    assert node.expect(name="c")["event"] == "complete"


def test_errors_as_events(node: Node, opened: Live) -> None:
    open_client(node, opened, "sse")
    subscribe(node, "a", "subscription { nothing }")
    assert node.expect(name="a")["value"]["errors"][0]["extensions"]["code"] == "QUERY_INVALID"
    assert node.expect(name="a")["event"] == "complete"
    subscribe(node, "b")
    opened.hub.expect(1)
    opened.hub.end(AdalogError(Code.TIMEOUT, "too slow"))
    assert node.expect(name="b")["value"]["errors"][0]["extensions"]["code"] == "TIMEOUT"
    assert node.expect(name="b")["event"] == "complete"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"fault": "4400"}, 4400),
        ({"fault": "binary"}, 4400),
        ({"fault": "4401"}, 4401),
        ({"fault": "4429"}, 4429),
        ({"subprotocol": "graphql-ws"}, 4406),
    ],
    ids=["4400", "binary", "4401", "4429", "4406"],
)
def test_codes_that_end_a_connection(node: Node, opened: Live, more: dict[str, str], code: int) -> None:
    if code == 4406:
        # `ws` itself refuses a handshake without the subprotocol that it asked for.
        open_client(node, opened, "ws", options={"retryAttempts": 0}, **more)
        subscribe(node, "a")
        node.expect(client="it", event="closed")
        node.expect(name="a", event="error")
        return
    # With 4401 before the client's own connection_init.
    options = {"retryAttempts": 0, "lazy": True}
    open_client(node, opened, "ws", options=options, slow=code == 4401, **more)
    subscribe(node, "a")
    assert node.expect(client="it", event="closed")["code"] == code
    assert node.expect(name="a", event="error")["code"] == code


def test_4408_where_the_initialisation_is_late(node: Node) -> None:
    with live(init_seconds=0.1) as opened:
        open_client(node, opened, "ws", options={"retryAttempts": 0}, slow=True)
        subscribe(node, "a")
        closed = node.expect(client="it", event="closed")
        assert (closed["code"], closed["reason"]) == (4408, "Connection initialisation timeout")


def test_a_message_that_is_too_large(node: Node) -> None:
    with live(request_bytes=50_000) as opened:
        open_client(node, opened, "ws", options={"retryAttempts": 0}, fault="large")
        subscribe(node, "a")
        assert node.expect(client="it", event="closed")["code"] == 1009


def test_a_message_in_fragments(node: Node, opened: Live) -> None:
    open_client(node, opened, "ws", options={"retryAttempts": 0}, fault="fragments")
    subscribe(node, "a", QUERY)
    assert node.expect(client="it", event="pong message")["value"] == {"parts": 3}
    assert node.expect(name="a")["value"] == {"data": {"q": {"value": 1815}}}


def test_pings_both_ways(node: Node) -> None:
    with live(ping_seconds=0.1) as opened:
        open_client(node, opened, "ws", options={"keepAlive": 50})
        subscribe(node, "a")
        opened.hub.expect(1)
        for _ in range(3):
            node.expect(client="it", event="pong message")
        # Those of the server are frames, which WebSockets answer by themselves.
        open_client(node, opened, "ws", name="silent")
        subscribe(node, "b", client="silent")
        for _ in range(3):
            node.expect(client="silent", event="frame ping")
        assert opened.wire.refused["ping_seconds"] == 0


def test_tokens(node: Node, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"reader:read:{hashlib.sha256(b'reader').hexdigest()}\n")
    tokens.chmod(0o600)
    with live(auth=str(tokens)) as opened:
        header = {"Authorization": "Bearer reader"}
        open_client(node, opened, "ws", "params", options={"connectionParams": {"authorization": "Bearer reader"}})
        open_client(node, opened, "ws", "header", headers=header)
        open_client(node, opened, "sse", "events", headers=header)
        for name in ("params", "header", "events"):
            subscribe(node, name, QUERY, client=name)
            assert node.expect(name=name, event="next")["value"] == {"data": {"q": {"value": 1815}}}
        open_client(node, opened, "ws", "nobody", options={"retryAttempts": 0})
        subscribe(node, "nobody", client="nobody")
        assert node.expect(client="nobody", event="closed")["code"] == 4403
        open_client(node, opened, "sse", "no header", options={"retryAttempts": 0})
        subscribe(node, "no header", client="no header")
        assert node.expect(name="no header", event="error")["status"] == 401


def test_the_single_connection_mode_is_refused_with_what_to_use(node: Node, opened: Live) -> None:
    open_client(node, opened, "sse", options={"singleConnection": True, "retryAttempts": 0})
    subscribe(node, "a")
    assert node.expect(name="a", event="error")["status"] == 405
    refusal = node.expect(client="it", event="refused")["text"]
    assert "without `singleConnection`" in refusal
    assert "WebSocket" in refusal


def test_clients_that_are_killed_free_their_streams(node: Node, opened: Live) -> None:
    for kind in ("ws", "sse"):
        open_client(node, opened, kind, kind)
        subscribe(node, kind, client=kind)
    streams = opened.hub.expect(2)
    opened.hub.tell()
    for kind in ("ws", "sse"):
        node.expect(name=kind, event="next")
    node.kill()
    for stream in streams:
        assert stream.closed.wait(SECONDS)
    until(lambda: not any(opened.wire.streams.values()))
