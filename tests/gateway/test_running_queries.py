"""The queries that run: admins see what all clients ask, and end it for all that wait for the answer."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from adalog.executor.cache.settings import CacheSettings
from adalog.gateway.settings.config import Settings
from tests.gateway.identity.test_auth import digest
from tests.gateway.support import gateway, served
from tests.waiting import until

# An expression over each of 125,000,000,000 rows.
TRIPLES = "[?a :n ?x] [?b :n ?y] [?c :n ?z]"
SLOW = f"[:find (count ?a) . :with ?b ?c :where {TRIPLES} [(+ (* ?x ?y) ?z) ?s] [(= ?s 7000003)]]"
NUMBERS = f"[{' '.join(f'{{:n {number}}}' for number in range(5_000))}]"
LIST = "{ runningQueries { id text principal requestId started elapsedMs waitedMs lane isRunning } }"
CANCEL = "mutation($id: ID!) { cancelQuery(id: $id) }"
ASK = "query($query: EDN!) { q(query: $query) { rows } }"


def post(address: str, document: str, **variables: Any) -> Any:
    body = {"query": document, "variables": variables}
    return httpx.post(f"{address}/graphql", json=body, timeout=60).json()


def listed(address: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = post(address, LIST)["data"]["runningQueries"]
    return found


@pytest.fixture(params=[None, CacheSettings()], ids=["computed", "cached"])
def numbers(request: pytest.FixtureRequest) -> Iterator[str]:
    with gateway(None, NUMBERS, cache=request.param) as opened, served(opened.app) as address:
        yield address


def test_a_query_is_listed_while_it_runs_and_cancelled_for_all_that_wait(numbers: str) -> None:
    assert listed(numbers) == []
    with ThreadPoolExecutor(2) as clients:
        answers: list[Future[Any]] = [clients.submit(post, numbers, ASK, query=SLOW) for _ in range(2)]
        until(lambda: any(each["isRunning"] for each in listed(numbers)))
        running = listed(numbers)
        assert {each["text"] for each in running} == {SLOW}
        assert {each["principal"] for each in running} == {"127.0.0.1"}
        assert all(each["elapsedMs"] >= 0 and each["started"].endswith("Z") for each in running)
        for each in running:
            assert post(numbers, CANCEL, id=each["id"]) == {"data": {"cancelQuery": True}}
        until(lambda: all(each.done() for each in answers) or _cancelled(numbers))
        for answer in answers:
            (error,) = answer.result()["errors"]
            assert error["extensions"]["code"] == "CANCELLED"
            assert error["message"] == "an admin cancelled the query"
    assert listed(numbers) == []
    assert post(numbers, CANCEL, id=running[0]["id"]) == {"data": {"cancelQuery": False}}


def _cancelled(address: str) -> bool:
    """Cancels what came since; never the end."""
    for each in listed(address):
        post(address, CANCEL, id=each["id"])
    return False


def test_others_than_admins_neither_see_nor_end_what_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    roles = {"ann": "read", "bob": "write", "eve": "admin"}
    path.write_text("".join(f"{name}:{role}:{digest(name)}\n" for name, role in roles.items()))
    with gateway(Settings(data=":memory:", auth=str(path))) as opened:
        for name in ("ann", "bob"):
            refused = opened.post(LIST, {"Authorization": f"Bearer {name}"}).json()["errors"][0]
            assert refused["extensions"]["code"] == "FORBIDDEN"
            assert refused["message"] == "`runningQueries` shows what others ask, which needs the role admin"
        refused = opened.post(CANCEL, {"Authorization": "Bearer bob"}, id="x").json()["errors"][0]
        assert refused["extensions"]["code"] == "FORBIDDEN"
        assert opened.post(LIST, {"Authorization": "Bearer eve"}).json() == {"data": {"runningQueries": []}}
