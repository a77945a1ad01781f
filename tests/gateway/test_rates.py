"""RequestLimits by what a principal's work costs, in every protocol: who is refused, when, and who is not."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from adalog.executor.bounds.client import ASKING, Client
from adalog.executor.bounds.meter import Buckets, Charge
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.gateway.opening import open_database, start_pool
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from tests.gateway.bounds import bounded
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway, served

# So slow that nothing is refilled while a test runs.
RATE = 0.001
LIGHT = "[:find ?n :where [_ :person/name ?n]]"
HEAVY = (
    "[:find (count ?a) . :where [?a :n ?x] [?b :n ?y] [?c :n ?z] [(< ?x ?y)] [(< ?y ?z)]"
    " [(+ ?x ?y) ?s] [(< ?s ?z)]]"
)
NUMBERS = "[" + " ".join(f"{{:n {number}}}" for number in range(300)) + "]"
Q = "query ($query: EDN!) { q(query: $query) { rows value } }"
LIVE = f'subscription {{ live(query: "{LIGHT}") {{ kind basisT }} }}'


@contextmanager
def limited(burst: float, **more: Any) -> Iterator[Gateway]:
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        settings = checked(bounded(patch, rate_units=RATE, rate_burst_units=burst, **more))
        opened = stack.enter_context(gateway(settings, SCHEMA, FAMILY, NUMBERS))
        # The time that something takes, on a machine that does other things beside, is no matter of most tests.
        buckets_of(opened).threads = 0
        yield opened


def buckets_of(opened: Gateway) -> Buckets:
    found: Buckets = opened.app.state.answering.buckets
    return found


def overdraw(opened: Gateway, name: str = "127.0.0.1") -> None:
    buckets_of(opened).take(name, 1e12)


def level(opened: Gateway, name: str = "127.0.0.1") -> float:
    buckets = buckets_of(opened)
    return buckets._level(name, buckets.clock())


def test_a_client_that_has_used_its_units_is_told_when_to_come_again() -> None:
    with limited(100_000) as opened:
        for _ in range(200):
            response = opened.post("{ __typename }")
            if response.status_code != 200:
                break
        assert response.status_code == 429
        error = response.json()["errors"][0]
        assert error["extensions"]["code"] == "RATE_LIMITED"
        assert error["extensions"]["retryable"] is True
        assert response.headers["retry-after"] == str(error["extensions"]["retryAfter"])
        assert "ADALOG_RATE_UNITS" in error["message"]
        assert "adalog_rate_refused_total 1.0" in opened.http.get("/metrics").text
        assert opened.http.get("/readyz").status_code == 200


def test_nothing_is_limited_by_default() -> None:
    with gateway(Settings(data=":memory:")) as opened:
        assert opened.app.state.answering.buckets is None
        assert "adalog_rate" not in opened.http.get("/metrics").text


def test_a_query_is_refused_for_what_it_would_cost_before_it_runs() -> None:
    with limited(1e6) as opened:
        assert opened.post(Q, query=LIGHT).json()["data"]["q"]["rows"]
        buckets_of(opened).take("127.0.0.1", 850_000)
        answer = opened.post(Q, query=HEAVY)
        error = answer.json()["errors"][0]
        assert (error["extensions"]["code"], error["path"]) == ("RATE_LIMITED", ["q"])
        assert answer.headers["retry-after"] == str(error["extensions"]["retryAfter"])
        assert opened.post(Q, query=LIGHT).json()["data"]["q"]["rows"]


def tenfold(charge: Charge, seconds: float) -> None:
    """Stands in for the processor time that was spent, which depends on the machine."""
    charge._spent = 10 * charge._expected


def test_what_a_query_did_is_paid_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Charge, "spend", tenfold)
    with limited(1e6) as opened:
        assert opened.post(Q, query=HEAVY).json()["data"]["q"]["value"] > 0
        assert level(opened) < 0
        assert opened.post(Q, query=LIGHT).status_code == 429


def test_an_answer_that_is_kept_costs_next_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Charge, "spend", tenfold)
    settings = bounded(monkeypatch, rate_units=RATE, rate_burst_units=1e9)
    with open_database(settings) as database:
        pool = start_pool(database, settings, spark=False)
        try:
            database.transact(NUMBERS)
            opened = Gateway(database, pool, settings)
            full = level(opened)
            first = opened.q(HEAVY.replace("(count ?a) .", "(count ?a)"))
            paid = full - level(opened)
            for _ in range(10):
                assert opened.q(HEAVY.replace("(count ?a) .", "(count ?a)")) == first
            assert full - level(opened) - paid <= 10 * 1_000
            assert paid > 200_000
            opened.http.close()
        finally:
            pool.close()


def test_transactions_cost_by_their_length_and_their_datoms() -> None:
    with limited(1e6) as opened:
        transact = "mutation ($tx: EDN!) { transact(tx: $tx) { t } }"
        long = "[" + " ".join(f'[:db/add {n} :name "{n}"]' for n in range(3_000)) + "]"
        before = opened.database.snapshot().t
        assert opened.post(transact, tx="[[:db/add 1 :t 1]]").json()["data"]
        spent = 1e6 - level(opened)
        assert 10_000 <= spent <= 20_000
        assert opened.post(transact, tx=long).json()["data"]
        assert level(opened) < 0
        refused = opened.post(transact, tx="[[:db/add 1 :t 2]]")
        assert refused.status_code == 429
        assert opened.database.snapshot().t == before + 2


def test_others_are_not_limited_by_one(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    lines = [f"{name}:write:{hashlib.sha256(name.encode()).hexdigest()}" for name in ("ann", "bob")]
    tokens.write_text("\n".join(lines))
    with limited(1e6, auth=str(tokens)) as opened:
        overdraw(opened, "ann")
        assert opened.post(Q, {"Authorization": "Bearer ann"}, query=LIGHT).status_code == 429
        assert opened.post(Q, {"Authorization": "Bearer bob"}, query=LIGHT).status_code == 200
        assert (
            "adalog_rate_principals 2.0"
            in opened.http.get("/metrics", headers={"Authorization": "Bearer bob"}).text
        )


def test_an_address_is_told_apart_where_there_are_no_tokens() -> None:
    with limited(1e6) as opened, served(opened.app, opened.settings) as address:
        assert httpx.post(f"{address}/graphql", json={"query": "{ __typename }"}).status_code == 200
        overdraw(opened)
        answer = httpx.post(f"{address}/graphql", json={"query": "{ __typename }"})
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "86400")


def test_a_websocket_stays_open_when_an_operation_is_refused() -> None:
    """And what was subscribed goes on."""
    with limited(1e7) as opened, served(opened.app, opened.settings) as address:
        url = address.replace("http", "ws", 1) + "/graphql"
        with connect(url, subprotocols=["graphql-transport-ws"]) as socket:  # type: ignore[list-item]

            def said() -> Any:
                return json.loads(socket.recv(20))

            socket.send(json.dumps({"type": "connection_init"}))
            assert said()["type"] == "connection_ack"
            socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": LIVE}}))
            assert said()["payload"]["data"]["live"]["kind"] == "SNAPSHOT"
            overdraw(opened)
            for name, query in (("2", LIVE), ("3", "{ __typename }")):
                socket.send(json.dumps({"id": name, "type": "subscribe", "payload": {"query": query}}))
                refused = said()
                assert (refused["id"], refused["type"]) == (name, "error")
                assert refused["payload"][0]["extensions"]["code"] == "RATE_LIMITED"
                assert refused["payload"][0]["extensions"]["retryAfter"] > 0
            opened.database.transact('[{:person/name "Eve"}]')
            event = said()
            assert (event["id"], event["payload"]["data"]["live"]["kind"]) == ("1", "DELTA")


def test_a_stream_of_events_is_refused_with_the_status() -> None:
    with limited(1e7) as opened, served(opened.app, opened.settings) as address:
        overdraw(opened)
        headers = {"Accept": "text/event-stream"}
        answer = httpx.post(f"{address}/graphql", json={"query": LIVE}, headers=headers)
        assert (answer.status_code, "retry-after" in answer.headers) == (429, True)


def test_one_who_has_no_units_spoils_nothing_for_those_who_ask_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ask the same question at once; the one that began it may not have it."""
    buckets = Buckets(RATE, 1e7, 2)
    buckets.take("poor", 9.9e6)

    asked = QueryRequest(HEAVY)
    entered, go = threading.Event(), threading.Event()

    async def ask(pool: Pool, name: str) -> Any:
        ASKING.set(Client(name, 1, buckets.of(name)))
        return await pool.arun(asked)

    async def both(pool: Pool) -> list[Any]:
        poor = asyncio.create_task(ask(pool, "poor"))
        await asyncio.to_thread(entered.wait, 20)
        rich = asyncio.create_task(ask(pool, "rich"))
        while pool.cache is not None and not pool.cache.tally.all().get(("query", "shared")):  # noqa: ASYNC110
            await asyncio.sleep(0)
        go.set()
        return await asyncio.gather(poor, rich, return_exceptions=True)

    with Database.open(":memory:") as database:
        database.transact(NUMBERS)
        pool = Pool(database, cache=CacheSettings())
        rows = pool.engine.rows

        def held(*args: Any) -> Any:
            entered.set()
            assert go.wait(20)
            return rows(*args)

        monkeypatch.setattr(pool.engine, "rows", held)
        try:
            poor, rich = asyncio.run(both(pool))
        finally:
            pool.close()
    assert len(rich) == 1
    assert poor.code == "RATE_LIMITED"


def test_waiting_for_a_turn_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a query waits for its turn costs nothing: of ten at once each pays for itself."""
    settings = bounded(monkeypatch, rate_units=RATE, rate_burst_units=1e12, timeout_ms=60_000)
    with gateway(settings, SCHEMA, NUMBERS) as opened:
        opened.post(Q, query=HEAVY)
        one = 1e12 - level(opened)
        fields = " ".join(f"a{n}: q(query: $query) {{ value }}" for n in range(4))
        opened.post(f"query ($query: EDN!) {{ {fields} }}", query=HEAVY)
        assert 1e12 - level(opened) - one < 30 * one
