"""Turns as clients see them: lanes and waits in answers and metrics, refusals, `with` and its deadline."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.client import ASKING, Client
from adalog.gateway.identity.auth import address_of
from adalog.gateway.settings.config import Settings
from tests.gateway.support import Gateway, gateway

STATS = "query($query: EDN!) { q(query: $query) { rows stats { lane waitedMs cache } } }"
NUMBERS = "[" + " ".join(f"[:db/add {number} :n/value {number}]" for number in range(1, 401)) + "]"
LIGHT = "[:find ?v . :where [1 :n/value ?v]]"
HEAVY = (
    "[:find (count ?a) . :with ?b ?c :where [?a :n/value ?v] [?b :n/value ?w] [?c :n/value ?x] [(+ ?v ?w ?x) ?s]"
    " [(< ?s 0)]]"
)


@pytest.fixture
def numbers() -> Iterator[Gateway]:
    with gateway(Settings(data=":memory:", timeout_ms=60_000), NUMBERS) as opened:
        yield opened


def test_an_answer_says_where_it_ran(numbers: Gateway) -> None:
    # The first of its kind computes longer: kernels are loaded.
    numbers.q("[:find ?v . :where [2 :n/value ?v]]")
    stats = numbers.data(STATS, query=LIGHT)["q"]["stats"]
    assert stats["lane"] == "LIGHT"
    assert stats["waitedMs"] >= 0
    again = numbers.data(STATS, query=LIGHT)["q"]["stats"]
    assert again["cache"] in ("HIT", "BYPASS")


def test_what_is_expected_to_be_heavy_runs_in_that_lane(numbers: Gateway) -> None:
    query = "[:find (count ?a) . :with ?b :where [?a :n/value ?v] [?b :n/value ?w] [(+ ?v ?w) ?s] [_ :n/value ?s]]"
    assert numbers.data(STATS, query=query)["q"]["stats"]["lane"] == "HEAVY"
    assert 'adalog_lane_moves_total{reason="expected"} 1.0' in numbers.http.get("/metrics").text


def test_the_metrics_tell_of_lanes(numbers: Gateway) -> None:
    numbers.q(LIGHT)
    text = numbers.http.get("/metrics").text
    assert 'adalog_lane_running{lane="HEAVY"} 0.0' in text
    assert 'adalog_lane_waiting{lane="LIGHT"} 0.0' in text
    assert 'adalog_lane_wait_seconds_count{lane="LIGHT"}' in text
    assert 'adalog_lane_refused_total{lane="HEAVY"} 0.0' in text
    assert "adalog_transactions_waiting 0.0" in text


class Full:
    """A pool that has no room."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    async def arun(self, request: Any) -> Any:
        raise AdalogError(Code.RATE_LIMITED, "too many", retry_after=7)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


def test_a_refusal_says_when_to_come_back(numbers: Gateway) -> None:
    full = Gateway(numbers.database, Full(numbers.pool), numbers.settings)
    answer = full.post(STATS, query=LIGHT)
    full.http.close()
    assert answer.headers["Retry-After"] == "7"
    extensions = answer.json()["errors"][0]["extensions"]
    assert extensions == {"code": "RATE_LIMITED", "retryable": True, "retryAfter": 7}


def test_with_obeys_the_timeout(numbers: Gateway) -> None:
    numbers.database.transact(f'[{{:db/ident :my/slow :db/fn "{HEAVY}"}}]')
    document = "query($query: EDN!, $with: EDN) { q(query: $query, with: $with, timeoutMs: 200) { rows } }"
    error = numbers.error(document, query=LIGHT, **{"with": "[[:my/slow]]"})
    assert error["extensions"]["code"] == "TIMEOUT"


class Asked:
    """A pool that remembers who asked."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self.clients: list[Client] = []
        self.lock = threading.Lock()

    async def arun(self, request: Any) -> Any:
        self.clients.append(ASKING.get())
        return await self._pool.arun(request)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


def test_fields_of_one_request_are_one_clients(numbers: Gateway) -> None:
    pool = Asked(numbers.pool)
    asked = Gateway(numbers.database, pool, numbers.settings)
    document = "query($q: EDN!) { a: q(query: $q) { rows } b: q(query: $q) { rows } }"
    asked.data(document, q=LIGHT)
    asked.data(document, q=LIGHT)
    asked.http.close()
    first, second, third, fourth = pool.clients
    assert first == second
    assert third == fourth
    assert (first.principal, third.principal) == ("127.0.0.1", "127.0.0.1")
    assert first.request != third.request


@pytest.mark.parametrize(
    ("host", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
    ],
)
def test_addresses(host: str, network: str) -> None:
    assert address_of({"client": (host, 1)}) == network
