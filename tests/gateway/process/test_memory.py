"""What queries hold together, over HTTP: who asks for too much is refused, and nobody beside it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest

from adalog.executor.pool import Pool, PoolSettings
from adalog.gateway.app import create_app
from adalog.gateway.opening import start_pool
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError, Settings
from adalog.gateway.settings.sources import settings_from
from adalog.store.database import Database
from tests.gateway.support import served

ASK = "query($q: EDN!, $ms: Int) { q(query: $q, timeoutMs: $ms) { value } }"
NUMBERS = "[" + " ".join(f"[:db/add {number} :n {number}]" for number in range(1, 1501)) + "]"
HEAVY = [
    "[:find (count-distinct ?z) . :where [?a :n ?x] [?b :n ?y] [(* ?x 10000) ?w] [(+ ?w ?y) ?z]]",
    "[:find ?x (rand 1000000 ?x) :where [_ :n ?x]]",
    "[:find (distinct ?z) :where [?a :n ?x] [?b :n ?y] [(* ?x 10000) ?w] [(+ ?w ?y) ?z]]",
]


def test_a_bystander_is_answered_while_others_ask_for_too_much() -> None:
    with Database.open(":memory:") as database:
        pool = Pool(database, PoolSettings(memory_bytes=16 << 20))
        database.transact(NUMBERS)
        with closing(pool), served(create_app(database, pool, Settings(data=":memory:"))) as url:

            def ask(query: str) -> tuple[str, bool]:
                body = {"query": ASK, "variables": {"q": query, "ms": 30_000}}
                answer = httpx.post(f"{url}/graphql", json=body, timeout=60).json()
                extensions = answer["errors"][0]["extensions"]
                return extensions["code"], extensions["retryable"]

            with ThreadPoolExecutor(len(HEAVY)) as attackers:
                running = [attackers.submit(ask, query) for query in HEAVY]
                while not all(each.done() for each in running):
                    assert httpx.get(f"{url}/healthz", timeout=60).status_code == 200
                    light = {"query": ASK, "variables": {"q": "[:find ?x . :where [7 :n ?x]]"}}
                    assert httpx.post(f"{url}/graphql", json=light, timeout=60).json()["data"] == {
                        "q": {"value": 7}
                    }
            assert {each.result() for each in running} <= {("LIMIT_EXCEEDED", False), ("RATE_LIMITED", True)}
            assert pool.memory.held == 0


def test_the_setting_reaches_the_pool() -> None:
    settings = settings_from({"ADALOG_MEMORY_BYTES": "64_000_000", "ADALOG_DATA": ":memory:"})
    with Database.open(":memory:") as database:
        pool = start_pool(database, settings, spark=False)
        assert pool.memory.total == 64_000_000
        pool.close()


def test_less_than_a_query_needs_is_refused() -> None:
    with pytest.raises(SettingError, match="ADALOG_MEMORY_BYTES"):
        checked(Settings(memory_bytes=1000))
