"""Streams end when the JSON Web Token expires that they were opened with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from tests.gateway.clock import Clock
from tests.gateway.identity.signed_tokens import LIVE, settings_for, token
from tests.gateway.support import FAMILY, SCHEMA, gateway, served


@pytest.fixture
def short_lived(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr("adalog.gateway.identity.jwt_tokens.CLOCK_SKEW_SECONDS", 0.0)
    settings = settings_for(tmp_path, port=0)
    with gateway(settings, SCHEMA, FAMILY) as opened, served(opened.app, settings) as address:
        yield address


def test_a_stream_of_events_ends_when_its_token_expires(short_lived: str, clock: Clock) -> None:
    text = token(iat=None)
    headers = {"Authorization": f"Bearer {text}", "Accept": "text/event-stream"}
    with httpx.stream(
        "POST", f"{short_lived}/graphql", json={"query": LIVE}, headers=headers, timeout=20
    ) as response:
        lines = []
        for line in response.iter_lines():
            if line.startswith(("event", "data: {")):
                lines.append(line)
            if '"SNAPSHOT"' in line:
                clock.now += 700
    assert '"SNAPSHOT"' in lines[1]
    assert lines[-1] == "event: complete"
    last = json.loads(lines[-2].removeprefix("data: "))
    assert last["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    assert "expired" in last["errors"][0]["message"]
    response = httpx.post(f"{short_lived}/graphql", json={"query": LIVE}, headers=headers)
    assert response.status_code == 401


@pytest.mark.parametrize("place", ["header", "payload"])
def test_a_websocket_is_closed_when_its_token_expires(short_lived: str, clock: Clock, place: str) -> None:
    given = {"Authorization": f"Bearer {token(iat=None)}"}
    url = short_lived.replace("http", "ws", 1) + "/graphql"
    headers = given if place == "header" else None
    with connect(url, subprotocols=["graphql-transport-ws"], additional_headers=headers) as socket:  # type: ignore[list-item]
        socket.send(json.dumps({"type": "connection_init", "payload": None if headers else given}))
        assert json.loads(socket.recv(20))["type"] == "connection_ack"
        socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": LIVE}}))
        assert "SNAPSHOT" in str(socket.recv(20))
        clock.now += 700
        with pytest.raises(ConnectionClosedError, match=r"4401 .* token has expired"):
            list(socket)


def test_an_expired_token_opens_no_websocket(short_lived: str) -> None:
    url = short_lived.replace("http", "ws", 1) + "/graphql"
    text = token(exp=1_000)
    with connect(url, subprotocols=["graphql-transport-ws"]) as socket:  # type: ignore[list-item]
        socket.send(json.dumps({"type": "connection_init", "payload": {"authorization": f"Bearer {text}"}}))
        with pytest.raises(ConnectionClosedError, match=r"4403 .* token has expired"):
            socket.recv(20)
    answer = httpx.get(
        f"{short_lived}/graphql",
        headers={
            "Authorization": f"Bearer {text}",
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        },
    )
    assert answer.status_code == 401
