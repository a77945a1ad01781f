"""A client that goes away takes its query with it; a server that stops waits for none."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import orjson
import pytest

from gateway.config import Settings
from schema.limits import Limits
from tests.gateway.support import Gateway, gateway, served

NUMBERS = "[" + " ".join(f"[:db/add {number} :n/value {number}]" for number in range(1, 1001)) + "]"
ENDLESS = "[:find (count ?a) . :with ?b ?c ?d :where [?a :n/value ?v] [?b :n/value ?w] [?c :n/value ?x] "
ENDLESS += "[?d :n/value ?y] [(+ ?v ?w ?x ?y) ?s] [(< ?s 0)]]"


class Watched:
    """A pool that tells when a query begins and how it ends."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self.began = threading.Event()
        self.ended = threading.Event()
        self.cancelled = False

    async def arun(self, request: Any) -> Any:
        self.began.set()
        try:
            return await self._pool.arun(request)
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        finally:
            self.ended.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


def ask(address: str) -> socket.socket:
    host, port = address.removeprefix("http://").split(":")
    body = orjson.dumps({"query": "query($q: EDN!) { q(query: $q) { value } }", "variables": {"q": ENDLESS}})
    connection = socket.create_connection((host, int(port)))
    head = [
        "POST /graphql HTTP/1.1",
        f"Host: {host}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    ]
    connection.sendall("\r\n".join([*head, "", ""]).encode() + body)
    return connection


@pytest.fixture
def watched() -> Any:
    settings = Settings(data=":memory:", port=0, limits=Limits(rows=10**12, timeout_ms=600_000))
    with gateway(settings, NUMBERS) as opened:
        pool = Watched(opened.pool)
        again = Gateway(opened.database, pool, settings)
        yield again
        again.http.close()


def test_a_client_that_goes_away_cancels_its_query(watched: Gateway) -> None:
    with served(watched.app) as address:
        connection = ask(address)
        assert watched.pool.began.wait(20)
        assert not watched.pool.ended.is_set()
        connection.close()
        assert watched.pool.ended.wait(20)
        assert watched.pool.cancelled


def test_a_server_that_stops_cancels_what_runs(watched: Gateway) -> None:
    with served(watched.app) as address:
        connection = ask(address)
        assert watched.pool.began.wait(20)
    assert watched.pool.ended.wait(20)
    assert watched.pool.cancelled
    connection.close()
