"""WebSocket streams across an excision and a run of retention: what they retract and resume, as tokens expire."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection, connect

from tests.gateway.clock import Clock
from tests.gateway.identity.signed_tokens import settings_for, token
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway, served

LIVE = """subscription ($query: EDN!, $args: [JSON!], $resume: String, $fromT: Long) {
  live(query: $query, args: $args, resume: $resume, fromT: $fromT) {
    kind basisT resume rows last added retracted reason } }"""
NAMES = "[:find ?n :where [?e :person/name ?n]]"
TRANSACT = "mutation ($tx: EDN!) { transact(tx: $tx) { t } }"
EXCISION = '[{:db/excise [:person/name "Ada"] :db.excise/attrs [:person/name :person/born :person/child]}]'


class Served:
    def __init__(self, opened: Gateway, address: str) -> None:
        self.opened = opened
        self.address = address

    @contextmanager
    def socket(self, **claims: Any) -> Iterator[ClientConnection]:
        given = {"Authorization": f"Bearer {token(iat=None, **claims)}"}
        url = self.address.replace("http", "ws", 1) + "/graphql"
        with connect(url, subprotocols=["graphql-transport-ws"]) as socket:  # type: ignore[list-item]
            socket.send(json.dumps({"type": "connection_init", "payload": given}))
            assert json.loads(socket.recv(20))["type"] == "connection_ack"
            yield socket

    def post(self, tx: str, *roles: str) -> Any:
        headers = {"Authorization": f"Bearer {token(iat=None, roles=roles)}"}
        body = {"query": TRANSACT, "variables": {"tx": tx}}
        return httpx.post(f"{self.address}/graphql", json=body, headers=headers, timeout=20).json()

    def transact(self, tx: str) -> int:
        return int(self.post(tx, "admin")["data"]["transact"]["t"])


@pytest.fixture
def family(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    monkeypatch.setattr("adalog.gateway.identity.jwt_tokens.CLOCK_SKEW_SECONDS", 0.0)
    settings = settings_for(tmp_path, port=0)
    with gateway(settings, SCHEMA, FAMILY) as opened, served(opened.app, settings) as address:
        yield Served(opened, address)


def subscribe(socket: ClientConnection, id_: str, **variables: Any) -> None:
    payload = {"query": LIVE, "variables": {"query": NAMES, **variables}}
    socket.send(json.dumps({"id": id_, "type": "subscribe", "payload": payload}))


def event(socket: ClientConnection, id_: str) -> Any:
    while True:
        message = json.loads(socket.recv(20))
        if message["type"] == "ping":
            continue
        assert message["id"] == id_, message
        assert message["type"] == "next", message
        assert "errors" not in message["payload"], message
        found = message["payload"]["data"]["live"]
        if found["kind"] != "PROGRESS":
            return found


def names(found: Any) -> set[str]:
    return {name for (name,) in found}


def test_a_stream_retracts_what_is_excised_and_its_old_tokens_are_reset(family: Served) -> None:
    with family.socket() as socket:
        subscribe(socket, "1")
        first = event(socket, "1")
        assert (first["kind"], len(first["rows"])) == ("SNAPSHOT", 4)
        family.transact('[{:person/name "Eve"}]')
        before = event(socket, "1")
        assert names(before["added"]) == {"Eve"}
        assert family.post(EXCISION, "write")["errors"][0]["extensions"]["code"] == "FORBIDDEN"
        t = family.transact(EXCISION)
        gone = event(socket, "1")
        assert (gone["kind"], gone["basisT"], gone["added"], names(gone["retracted"])) == ("DELTA", t, [], {"Ada"})
        family.transact('[{:person/name "Fay"}]')
        assert names(event(socket, "1")["added"]) == {"Fay"}
        for number, resume in enumerate((first["resume"], before["resume"])):
            id_ = f"old{number}"
            with family.socket() as other:
                subscribe(other, id_, resume=resume)
                reset = event(other, id_)
                assert reset["kind"] == "RESET"
                assert "excis" in reset["reason"]
                again = event(other, id_)
                assert again["kind"] == "SNAPSHOT"
                assert names(again["rows"]) == {"Byron", "Anne", "Ralph", "Eve", "Fay"}
        with family.socket() as other:
            subscribe(other, "new", resume=gone["resume"])
            after = event(other, "new")
            assert (after["kind"], names(after["added"])) == ("DELTA", {"Fay"})
        with family.socket() as other:
            subscribe(other, "past", fromT=2)
            seen = event(other, "past")
            while "Fay" not in json.dumps(seen):
                assert "Ada" not in json.dumps(seen)
                seen = event(other, "past")


def failure(socket: ClientConnection, id_: str) -> Any:
    message = json.loads(socket.recv(20))
    assert (message["id"], message["type"]) == (id_, "error"), message
    (error,) = message["payload"]
    return error


@pytest.mark.parametrize("content", [{"history": True}, {"t": 2}, {"since": 1}])
def test_a_stream_that_reads_another_moment_starts_over(family: Served, content: dict[str, Any]) -> None:
    query = "[:find ?n :in $ $then :where [$then _ :person/name ?n]]"
    read = {"query": query, "args": [{"basis": content}]}
    left = {"Ada", "Byron", "Anne", "Ralph"}
    with family.socket() as socket:
        for name in ("Ada", "Byron"):
            subscribe(socket, name, **read)
            first = event(socket, name)
            assert names(first["rows"]) == left
            family.transact(f'[{{:db/excise [:person/name "{name}"] :db.excise/attrs [:person/name]}}]')
            left -= {name}
            error = failure(socket, name)
            assert error["extensions"] == {"code": "BACKEND_UNAVAILABLE", "retryable": True}
            assert "excision" in error["message"]
            subscribe(socket, f"{name} again", resume=first["resume"], **read)
            assert event(socket, f"{name} again")["kind"] == "RESET"
            assert names(event(socket, f"{name} again")["rows"]) == left
            socket.send(json.dumps({"id": f"{name} again", "type": "complete"}))


def test_the_log_is_told_from_its_beginning_after_an_excision(family: Served) -> None:
    document = "subscription { transactions(from: 1) { t datoms { a v } } }"
    t = family.transact(EXCISION)
    with family.socket() as socket:
        for id_ in ("1", "2"):
            socket.send(json.dumps({"id": id_, "type": "subscribe", "payload": {"query": document}}))
            told = []
            while len(told) < t:
                message = json.loads(socket.recv(20))
                assert message["type"] == "next", message
                told.append(message["payload"]["data"]["transactions"])
            assert [each["t"] for each in told] == list(range(1, t + 1))
            values = {datom["v"] for each in told for datom in each["datoms"] if datom["a"] == ":person/name"}
            assert values == {"Byron", "Anne", "Ralph"}
            socket.send(json.dumps({"id": id_, "type": "complete"}))


def test_a_token_that_expires_meanwhile(family: Served, clock: Clock) -> None:
    with family.socket() as socket:
        subscribe(socket, "1")
        first = event(socket, "1")
        family.transact(EXCISION)
        gone = event(socket, "1")
        clock.now += 700
        with pytest.raises(ConnectionClosedError, match=r"4401 .* token has expired"):
            list(socket)
    with family.socket(exp=clock.now + 600) as socket:
        subscribe(socket, "1", resume=first["resume"])
        assert [event(socket, "1")["kind"] for _ in range(2)] == ["RESET", "SNAPSHOT"]
    with family.socket(exp=clock.now + 600) as socket:
        subscribe(socket, "2", resume=gone["resume"])
        family.opened.database.transact('[{:person/name "Fay"}]')
        assert names(event(socket, "2")["added"]) == {"Fay"}


def test_retention_changes_no_stream_of_the_present(family: Served) -> None:
    for year in (1816, 1817, 1818):
        family.transact(f'[{{:person/name "Ada" :person/born {year}}}]')
    family.transact("[{:db/ident :person/born :db/retainTransactions 1}]")
    with family.socket() as socket:
        subscribe(socket, "1", query="[:find ?b :where [_ :person/born ?b]]")
        first = event(socket, "1")
        assert first["rows"] == [[1818]]
        family.opened.database.retain()
        family.transact('[{:person/name "Ada" :person/born 1819}]')
        step = event(socket, "1")
        assert (step["kind"], step["added"], step["retracted"]) == ("DELTA", [[1819]], [[1818]])
        with family.socket() as other:
            subscribe(other, "2", query="[:find ?b :where [_ :person/born ?b]]", resume=first["resume"])
            assert event(other, "2")["kind"] == "RESET"
            assert event(other, "2")["rows"] == [[1819]]
