"""A client that goes away takes its query with it; a server that stops waits for none."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import httpx
import orjson
import pytest

from adalog.datalog.errors import AdalogError
from adalog.gateway.settings.config import Settings
from adalog.schema.fields import fields
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


QUERY = {"query": "query($q: EDN!) { q(query: $q) { value } }", "variables": {"q": ENDLESS}}


def ask(address: str, request: dict[str, Any] = QUERY) -> socket.socket:
    host, port = address.removeprefix("http://").split(":")
    body = orjson.dumps(request)
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
    settings = Settings(data=":memory:", port=0, rows=10**12, timeout_ms=600_000)
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


class Stuck:
    """Spans of an index that go on until somebody says that they are no longer wanted."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.ended = threading.Event()
        self.code = ""

    def spans(self, *given: Any) -> Any:
        check = given[-1]
        self.began.set()
        try:
            while True:
                check()
        except AdalogError as error:
            self.code = error.code.value
            raise
        finally:
            self.ended.set()
        yield


@pytest.mark.parametrize("field", ["datoms", "transactions"])
def test_a_client_that_goes_away_ends_what_it_read_raw(
    watched: Gateway, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = Stuck()
    if field == "datoms":
        monkeypatch.setattr(fields, "datom_spans", stuck.spans)
        document = "{ datoms(index: EAVT) { datoms { e } } }"
    else:
        # A log without end: each transaction is looked at, and the flag with it.
        report = next(watched.database.transactions(1, 2, 1))

        def told(*_: Any) -> Any:
            stuck.began.set()
            try:
                while True:
                    yield report
            finally:
                stuck.ended.set()

        monkeypatch.setattr(watched.database, "transactions", told)
        document = "{ transactions { t } }"
    with served(watched.app) as address:
        connection = ask(address, {"query": document})
        assert stuck.began.wait(20)
        assert httpx.get(address + "/healthz").status_code == 200
        assert not stuck.ended.is_set()
        connection.close()
        assert stuck.ended.wait(20)
        if field == "datoms":
            assert stuck.code == "CANCELLED"


def test_a_server_that_stops_cancels_what_runs(watched: Gateway) -> None:
    with served(watched.app) as address:
        connection = ask(address)
        assert watched.pool.began.wait(20)
    assert watched.pool.ended.wait(20)
    assert watched.pool.cancelled
    connection.close()
