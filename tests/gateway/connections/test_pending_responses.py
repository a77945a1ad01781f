"""Responses that wait for the writer: past the app, in order, and whatever becomes of the connection meanwhile."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

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
