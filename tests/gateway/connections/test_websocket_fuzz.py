"""Messages that nobody would send, in any order: each is answered or ends the connection as the protocol has it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed

from adalog.gateway.settings.config import Settings
from tests.gateway.connections.test_websocket import QUERY, client_of
from tests.gateway.streams import Live
from tests.gateway.support import FAMILY, SCHEMA, gateway, served
from tests.waiting import until

CODES = {1002, 1007, 1009, 4400, 4401, 4409, 4429}
SUBSCRIPTION = 'subscription { live(query: "[:find ?n :where [_ :person/name ?n]]") { kind rows } }'

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)
)
documents = st.sampled_from([QUERY, SUBSCRIPTION, "{", "{ nothing }", "subscription { nothing }", ""]) | st.text(
    max_size=20
)
payloads = anything | st.fixed_dictionaries(
    {"query": documents}, optional={"variables": anything, "operationName": anything, "extensions": anything}
)
kinds = st.sampled_from(
    ["connection_init", "ping", "pong", "subscribe", "subscribe", "subscribe", "complete", "next"]
)
messages = st.one_of(
    st.fixed_dictionaries({"type": kinds}, optional={"id": st.sampled_from("abc") | scalars, "payload": payloads}),
    st.fixed_dictionaries({"type": st.just("subscribe"), "id": st.sampled_from("abc"), "payload": payloads}),
    st.fixed_dictionaries({"type": st.just("complete"), "id": st.sampled_from("abc")}),
)
texts = messages.map(json.dumps) | anything.map(json.dumps) | st.text(max_size=10) | st.binary(max_size=10)


@pytest.fixture(scope="module")
def opened() -> Iterator[Live]:
    limits = Settings(data=":memory:", port=0)
    with gateway(limits, SCHEMA, FAMILY) as found, served(found.app, limits) as address:
        yield Live(None, found, address)  # type: ignore[arg-type]


@given(sent=st.lists(texts, max_size=12), begins=st.booleans())
def test_every_message_is_answered_or_ends_the_connection(opened: Live, sent: list[Any], begins: bool) -> None:
    with client_of(opened) as client:
        if begins:
            client.begun()
        with contextlib.suppress(ConnectionClosed):
            for message in sent:
                client.socket.send(message)
            client.send(type="ping", payload={"over": True})
            while (answer := client.read()) != {"type": "pong", "payload": {"over": True}}:
                assert answer["type"] in ("next", "error", "complete", "pong", "connection_ack")
                assert "INTERNAL" not in json.dumps(answer)
        close = client.socket.protocol.close_rcvd
        assert close is None or close.code in CODES, close
    until(lambda: not opened.wire.streams["websocket"])
    assert opened.wire.body_bytes == 0
    until(lambda: not opened.opened.app.state.hub.figures.subscriptions)
