"""Streams end when the JSON Web Token expires that they were opened with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def test_a_ping_renews_the_token_of_a_websocket(short_lived: str, clock: Clock) -> None:
    with connect(
        short_lived.replace("http", "ws", 1) + "/graphql", subprotocols=["graphql-transport-ws"]
    ) as socket:  # type: ignore[list-item]

        def ask(**message: Any) -> Any:
            socket.send(json.dumps(message))
            return json.loads(socket.recv(20))

        def renew(**claims: Any) -> Any:
            payload = {"Authorization": f"Bearer {token(iat=None, **claims)}", "nonce": 1}
            answer = ask(type="ping", payload=payload)
            assert answer["type"] == "pong"
            return answer["payload"]

        early = renew()
        assert "connection_init first" in early["errors"][0]["message"]
        first = {"Authorization": f"Bearer {token(iat=None)}"}
        assert ask(type="connection_init", payload=first)["type"] == "connection_ack"
        assert "SNAPSHOT" in str(ask(id="1", type="subscribe", payload={"query": LIVE}))
        for _ in range(3):
            clock.now += 400
            assert renew(exp=clock.now + 600) == {"expires": clock.now + 600}
        # What is refused leaves the present token as it is.
        other = renew(sub="somebody else", exp=clock.now + 900)["errors"][0]
        assert other["extensions"]["code"] == "FORBIDDEN"
        assert "open another connection" in other["message"]
        assert renew(exp=1_000)["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
        assert ask(type="ping") == {"type": "pong"}
        assert ask(type="ping", payload={"a": 1}) == {"type": "pong", "payload": {"a": 1}}
        clock.now += 601
        with pytest.raises(ConnectionClosedError, match=r"4401 .* token has expired"):
            list(socket)


def test_the_streams_of_an_array_end_when_the_token_expires(short_lived: str, clock: Clock) -> None:
    headers = {"Authorization": f"Bearer {token(iat=None)}", "Accept": "text/event-stream"}
    told: list[Any] = []
    with httpx.stream(
        "POST", f"{short_lived}/graphql", json=[{"query": LIVE}] * 2, headers=headers, timeout=20
    ) as response:
        for line in response.iter_lines():
            if line.startswith("data: "):
                told.append(json.loads(line.removeprefix("data: ")))
            if len(told) == 2:
                clock.now += 700
    failed = [each for each in told[2:] if "payload" in each]
    codes = {each["id"]: each["payload"]["errors"][0]["extensions"]["code"] for each in failed}
    assert codes == {"0": "UNAUTHENTICATED", "1": "UNAUTHENTICATED"}


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
