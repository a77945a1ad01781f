"""A stream ends when the token that its connection has now lets the client see something else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from tests.gateway.identity.signed_tokens import settings_for, token
from tests.gateway.support import gateway, served
from tests.permissions.issues import DATA, POLICIES, SCHEMA
from tests.permissions.test_live import TITLES

FREE = "[[:db/add :policy/enforcement :policy/enforced false]]"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    settings = settings_for(tmp_path, port=0)
    with gateway(settings, SCHEMA, DATA, POLICIES) as opened, served(opened.app, settings) as address:
        yield address.replace("http", "ws", 1) + "/graphql"


class Socket:
    def __init__(self, socket: Any) -> None:
        self._socket = socket

    def say(self, **message: Any) -> None:
        self._socket.send(json.dumps(message))

    def hear(self, kind: str) -> Any:
        """The next message of a kind."""
        while (said := json.loads(self._socket.recv(20)))["type"] != kind:
            pass
        return said

    def subscribe(self, name: str) -> Any:
        self.say(id=name, type="subscribe", payload={"query": TITLES})
        return sorted(self.hear("next")["payload"]["data"]["live"]["rows"])

    def renew(self, **claims: Any) -> Any:
        self.say(type="ping", payload={"Authorization": f"Bearer {token(sub='ann', **claims)}"})


def test_a_stream_ends_with_its_role(address: str) -> None:
    with connect(address, subprotocols=["graphql-transport-ws"]) as opened:  # type: ignore[list-item]
        socket = Socket(opened)
        first = token(sub="ann", roles=["member", "read"])
        socket.say(type="connection_init", payload={"Authorization": f"Bearer {first}"})
        socket.hear("connection_ack")
        assert socket.subscribe("1") == [["one"], ["two"]]
        # Only the token is another one.
        socket.renew(roles=["member", "read"], iat=1_000, jti="another")
        assert "errors" not in socket.hear("pong")["payload"]
        for number, claims in enumerate(({"roles": ["read"]}, {"roles": ["read"], "team": 7}), 2):
            socket.renew(**claims)
            ended = socket.hear("error")
            assert ended["payload"][0]["extensions"] == {"code": "BACKEND_UNAVAILABLE", "retryable": True}
            assert "other roles or claims" in ended["payload"][0]["message"]
            assert socket.subscribe(str(number)) == []


def test_a_stream_ends_with_its_role_while_nothing_is_enforced(address: str) -> None:
    """Under policies again it would show what the earlier token let the client see."""
    http = address.replace("ws", "http", 1)
    with connect(address, subprotocols=["graphql-transport-ws"]) as opened:  # type: ignore[list-item]
        socket = Socket(opened)
        first = token(sub="ann", roles=["member", "read"])
        socket.say(type="connection_init", payload={"Authorization": f"Bearer {first}"})
        socket.hear("connection_ack")
        assert len(socket.subscribe("1")) == 2
        body = {"query": f'mutation {{ transact(tx: "{FREE}") {{ t }} }}'}
        headers = {"Authorization": f"Bearer {token(roles=['admin'])}"}
        assert "errors" not in httpx.post(http, json=body, headers=headers, timeout=20).json()
        assert socket.hear("next")["payload"]["data"]["live"]["added"] == [["three"]]
        socket.renew(roles=["read"])
        assert socket.hear("error")["id"] == "1"


def test_a_stream_of_an_admin_ends_with_the_role(address: str) -> None:
    with connect(address, subprotocols=["graphql-transport-ws"]) as opened:  # type: ignore[list-item]
        socket = Socket(opened)
        first = token(sub="ann", roles=["admin"])
        socket.say(type="connection_init", payload={"Authorization": f"Bearer {first}"})
        socket.hear("connection_ack")
        assert socket.subscribe("1") == [["one"], ["three"], ["two"]]
        socket.renew(roles=["member", "read"])
        assert socket.hear("error")["id"] == "1"
        assert socket.subscribe("2") == [["one"], ["two"]]
