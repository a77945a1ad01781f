"""Responses that wait for the writer: past the app, in order, and whatever becomes of the connection meanwhile."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from adalog.executor.bounds.meter import Buckets
from adalog.gateway.app import create_app
from adalog.gateway.connections.connection import Connection
from adalog.gateway.connections.wire import Wire
from adalog.gateway.protocols.answering import Answering
from adalog.gateway.protocols.graphql import GraphQLEndpoint
from tests.gateway.connections.test_direct_requests import (
    APPLIED,
    NAMED,
    Server,
    body,
    complete,
    raw,
    server,
    without_names,
)
from tests.gateway.identity.signed_tokens import settings_for, token
from tests.gateway.support import SCHEMA, gateway, served
from tests.waiting import until

__all__ = ["server"]

TX = "mutation ($tx: EDN!) { transact(tx: $tx) { tempids datoms { e a v } } }"


def naming(name: str) -> bytes:
    return body(APPLIED, {"tx": f'[[:db/add 5000 :person/name "{name}"]]'})


@contextmanager
def waiting_for_the_writer(server: Server, sent: bytes) -> Iterator[socket.socket]:
    """A connection that has sent a request, whose transactions begin at the end."""
    database = server.opened.database
    with socket.create_connection(("127.0.0.1", server.port), 20) as connection, database.held(20):
        before = database.writer.waiting
        connection.sendall(sent)
        until(lambda: database.writer.waiting > before)
        yield connection


def answering_of(server: Server) -> Answering:
    found: Answering = server.wire.direct._answering  # type: ignore[union-attr]
    return found


def received(connection: socket.socket, most: int = 1) -> bytes:
    answer = b""
    while complete(answer) < most and (more := connection.recv(1 << 16)):
        answer += more
    return without_names(answer)


def test_a_long_report_comes_through_the_app(server: Server) -> None:
    forms = " ".join(f'[:db/add {6000 + number} :person/name "{number} {"x" * 100}"]' for number in range(900))
    answer = server.ask(raw("POST", [], body(TX, {"tx": f"[{forms}]"})))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.count(b":person/name") == 900


def test_what_is_sent_ahead_is_answered_in_order(server: Server) -> None:
    requests = [naming("one"), NAMED, naming("two"), body("{ __typename }"), naming("three"), NAMED]
    numbered = [raw("POST", [f"X-Request-Id: n{number}"], each) for number, each in enumerate(requests)]
    server.ask(raw("POST", [], naming("none")))
    answer = server.ask(b"".join(numbered), most=len(numbered))
    assert re.findall(rb"x-request-id: n(\d)", answer) == [b"0", b"1", b"2", b"3", b"4", b"5"]
    assert b'"three"' in answer
    assert b'"one"' in answer


def test_a_client_that_leaves(server: Server) -> None:
    server.ask(raw("POST", [], naming("before")))
    t = server.opened.database.snapshot().t
    with waiting_for_the_writer(server, raw("POST", [], naming("left"))) as connection:
        connection.close()
        until(lambda: not server.wire.connections)
    until(lambda: server.opened.database.snapshot().t == t + 1)
    until(lambda: server.wire.body_bytes == 0)
    assert b'"left"' in server.ask(raw("POST", [], NAMED))


def test_a_connection_that_is_to_end_says_so(server: Server) -> None:
    server.ask(raw("POST", [], naming("before")))
    until(lambda: not server.wire.connections)
    with waiting_for_the_writer(server, raw("POST", [], naming("last"))) as connection:
        [own] = server.wire.connections
        own.loop.call_soon_threadsafe(own.shutdown)  # type: ignore[attr-defined]
        time.sleep(0.05)
        connection.settimeout(20)
        kept = connection.dup()
    with kept:
        answer = received(kept)
        assert b"connection: close\r\n" in answer
        assert b'"tempids"' in answer
        assert kept.recv(1) == b""


def test_a_body_is_held_until_it_is_answered(server: Server) -> None:
    server.ask(raw("POST", [], naming("before")))
    request = naming("held")
    with waiting_for_the_writer(server, raw("POST", [], request)):
        assert server.wire.body_bytes == len(request)
    until(lambda: server.wire.body_bytes == 0)


KEYED = """mutation ($tx: EDN!, $k: String, $t: Long) {
  transact(tx: $tx, idempotencyKey: $k, expectedBasisT: $t) { tempids } }"""
REFUSED: list[tuple[list[str], bytes]] = [
    ([], naming("one")),
    (["Accept: application/graphql-response+json"], naming("one")),
    (["Connection: close"], naming("one")),
    ([], body(APPLIED, {"tx": "["})),
    ([], body(APPLIED, {"tx": "[[:db/add 5000 :person/none 1]]"})),
    ([], body(APPLIED, {"tx": 1})),
    ([], body(APPLIED)),
    ([], body(KEYED, {"tx": '[[:db/add 5000 :person/name "k"]]', "k": "same"})),
    ([], body(KEYED, {"tx": '[[:db/add 5000 :person/name "l"]]', "k": "same"})),
    ([], body(KEYED, {"tx": "[]", "k": ""})),
    ([], body(KEYED, {"tx": "[]", "t": 0})),
    ([], body(APPLIED, {"tx": "[]"}, operationName="Other")),
]


@pytest.mark.parametrize(("headers", "sent"), REFUSED)
def test_the_same_with_a_coroutine(
    server: Server, headers: list[str], sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.ask(raw("POST", [], body(KEYED, {"tx": '[[:db/add 5000 :person/name "k"]]', "k": "same"})))
    request = raw("POST", headers, sent)
    responses = [server.ask(request) for _ in range(3)]
    monkeypatch.setattr(Answering, "at_once", lambda *_: None)
    assert {*responses, server.ask(request)} == {responses[0]}


def test_a_transaction_needs_no_coroutine(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    request = raw("POST", [], naming("plain"))
    expected = server.ask(request)
    metrics = answering_of(server).metrics
    before = metrics.requests("transact", "OK"), metrics.requests("transact", "EDN_SYNTAX")
    monkeypatch.setattr(GraphQLEndpoint, "exchange", None)
    assert server.ask(request) == expected
    assert b"EDN_SYNTAX" in server.ask(raw("POST", [], body(APPLIED, {"tx": "["})))
    after = metrics.requests("transact", "OK"), metrics.requests("transact", "EDN_SYNTAX")
    assert after == (before[0] + 1, before[1] + 1)


@pytest.mark.parametrize("accept", ["application/json", "application/graphql-response+json"])
def test_a_transaction_that_is_cut(accept: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    request = raw("POST", [f"Accept: {accept}"], naming("cut"))
    server.ask(request)
    answering = answering_of(server)

    def cut() -> bytes:
        """The answer if the server stops while a transaction waits, and the loop has one more turn alone."""
        arrived = threading.Event()
        with waiting_for_the_writer(server, request) as connection:
            [own] = server.wire.connections
            assert isinstance(own, Connection)
            monkeypatch.setattr(answering.stop, "has_begun", True)

            def stop() -> None:
                own.shutdown()
                for task in list(own.tasks):
                    task.cancel(msg="the server is cut")
                own.loop.call_soon(arrived.wait, 20)

            own.loop.call_soon_threadsafe(stop)
            answer = received(connection)
            arrived.set()
            assert not connection.recv(1)
        monkeypatch.setattr(answering.stop, "has_begun", False)
        return answer

    until(lambda: not server.wire.connections)
    before = answering.metrics.requests("transact", "BACKEND_UNAVAILABLE")
    answer = cut()
    assert b"it is unknown whether it was applied" in answer
    assert b"\nconnection: close\r\n" in answer
    until(lambda: not server.wire.connections)
    monkeypatch.setattr(Answering, "at_once", lambda *_: None)
    assert cut() == answer
    assert answering.metrics.requests("transact", "BACKEND_UNAVAILABLE") == before + 2


def test_who_may_only_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_for(tmp_path, port=0)
    with gateway(settings, SCHEMA) as opened:
        wire = Wire(settings)
        app = create_app(opened.database, opened.pool, settings, wire=wire)
        with app.state.hub, served(app, settings) as address:
            server = Server(opened, wire, address)

            def ask(**claims: Any) -> bytes:
                return server.ask(raw("POST", [f"Authorization: Bearer {token(**claims)}"], naming("who")))

            ann, root = {"sub": "ann", "roles": ["read"]}, {"sub": "root", "roles": ["admin"]}
            assert b'"tempids"' in ask(**root)
            t = opened.database.snapshot().t
            refused = ask(**ann)
            assert b"FORBIDDEN" in refused
            assert opened.database.snapshot().t == t
            monkeypatch.setattr(Answering, "at_once", lambda *_: None)
            assert ask(**ann) == refused
        app.state.surfaces.close()


def test_a_transaction_costs_the_same(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    request, answering = raw("POST", [], naming("paid")), answering_of(server)
    server.ask(request)

    def spent(burst: float) -> tuple[float, int, bytes]:
        """(units that one transaction takes of a full bucket, refusals, the response)"""
        buckets = Buckets(1e-6, burst, 0)
        monkeypatch.setattr(answering, "buckets", buckets)
        answer = re.sub(rb"[0-9,]+ are left", b"? are left", server.ask(request))
        return round(burst - buckets._level("127.0.0.1", buckets.clock())), buckets.refused, answer

    # As much as is needed, as much as a request alone needs, and less than that.
    bursts = [1e6, 12_000.0, 1_500.0]
    for burst in bursts:
        once = spent(burst)
        with monkeypatch.context() as patched:
            patched.setattr(Answering, "at_once", lambda *_: None)
            assert spent(burst) == once
