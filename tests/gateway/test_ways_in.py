"""Every shape of an argument by every way in, with each kind of cache: the same rows, and never INTERNAL."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from adalog.gateway.opening import start_pool
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database
from tests.gateway.cli.command_line import adalog
from tests.gateway.explorer.tracker import DATA, LATER, REFUSALS, SCHEMA, WAYS, Refusal, Way
from tests.gateway.support import Gateway, served
from tests.redis_servers import RedisServer

Q = """query ($query: EDN!, $args: [JSON!], $argsEdn: [EDN!], $basis: BasisInput) {
  answer: q(query: $query, args: $args, argsEdn: $argsEdn, basis: $basis) {
    rows value stats { cache } warnings { code message line column } } }"""
EXPLAIN = """query ($query: EDN!, $args: [JSON!], $argsEdn: [EDN!]) {
  answer: explain(query: $query, args: $args, argsEdn: $argsEdn, analyze: true) {
    text plan warnings { code message line column } } }"""


@pytest.fixture(scope="module", params=["without a cache", "in process", "through Redis"])
def tracker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    settings = Settings(data=":memory:", cache_bytes=0 if request.param == "without a cache" else 1 << 20)
    server = None
    if request.param == "through Redis":
        server = RedisServer("redis", Path(tmp_path_factory.mktemp("redis")))
        server.start()
        # Nothing stays in this process: what comes twice comes from Redis.
        settings = Settings(data=":memory:", cache_bytes=1, redis_url=SecretStr(server.url))
    try:
        with Database.open(":memory:") as database:
            pool = start_pool(database, settings, spark=False)
            try:
                for text in (SCHEMA, DATA, LATER):
                    database.transact(text)
                opened = Gateway(database, pool, settings)
                yield opened
                opened.http.close()
            finally:
                pool.close()
    finally:
        if server is not None:
            server.stop()


def forms(way: Way | Refusal) -> list[dict[str, Any]]:
    """The arguments as JSON and as EDN, where they can be said so."""
    given: list[dict[str, Any]] = []
    if way.json is not None:
        given.append({"args": way.json})
    if way.edn is not None:
        given.append({"argsEdn": way.edn})
    return given


def posted(gateway: Gateway, document: str, variables: dict[str, Any]) -> Any:
    return gateway.post(document, **variables).json()


def got(gateway: Gateway, document: str, variables: dict[str, Any]) -> Any:
    params = {"query": document, "variables": json.dumps(variables)}
    return gateway.http.get("/graphql", params=params).json()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_the_same_rows_by_every_way(tracker: Gateway, way: Way) -> None:
    # Twice by each: the second answer may come from the cache.
    for given, ask, _ in itertools.product(forms(way), (posted, got), range(2)):
        variables = {"query": way.query, **given}
        answer = ask(tracker, Q, variables)
        assert "errors" not in answer, (given, answer)
        assert sorted(answer["data"]["answer"]["rows"], key=json.dumps) == way.rows, given
        codes = [warning["code"] for warning in answer["data"]["answer"]["warnings"]]
        assert codes == ([way.warned] if way.warned else []), answer
        explained = ask(tracker, EXPLAIN, variables)
        assert "errors" not in explained, (given, explained)
        plan = explained["data"]["answer"]
        assert plan["plan"]["rows"] == len(way.rows), given
        assert [warning["code"] for warning in plan["warnings"]] == codes


@pytest.fixture(scope="module")
def address(tracker: Gateway) -> Iterator[str]:
    with served(tracker.app) as url:
        yield url


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_the_same_rows_on_the_command_line(address: str, way: Way) -> None:
    for given in forms(way):
        said = [f"--arg={json.dumps(value)}" for value in given.get("args", ())]
        said += [f"--arg-edn={text}" for text in given.get("argsEdn", ())]
        result = adalog("query", "--url", address, "--format", "json", *said, way.query)
        assert result.exit_code == 0, result.output
        value = json.loads(result.stdout)
        rows = value if isinstance(value, list) else [[value]]
        assert sorted(rows, key=json.dumps) == way.rows, (said, rows)
        assert (way.warned or "") in result.stderr
        assert bool(way.warned) == ("warning" in result.stderr), result.stderr


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.name)
def test_the_same_refusal_by_every_way(tracker: Gateway, refusal: Refusal) -> None:
    for given, ask, document in itertools.product(forms(refusal), (posted, got), (Q, EXPLAIN)):
        answer = ask(tracker, document, {"query": refusal.query, **given})
        (error,) = answer["errors"]
        assert error["extensions"]["code"] in refusal.code.split(), (given, error)


def test_what_came_out_goes_back_in(tracker: Gateway) -> None:
    """A PLAIN value of any type finds what it came from."""
    attributes = [
        str(each.ident) for each in tracker.database.snapshot().attributes() if "issue/" in str(each.ident)
    ]
    for attribute in attributes:
        shown = tracker.q(f"[:find ?i ?v :where [?i {attribute} ?v]]")
        assert shown, attribute
        for entity, value in shown:
            found = tracker.q(f"[:find ?i :in $ ?v :where [?i {attribute} ?v]]", value)
            assert [entity] in found, (attribute, value)


def test_a_cached_answer_is_not_that_of_another_reading(tracker: Gateway) -> None:
    """`":open"` as JSON and as EDN are two arguments, and a change of the schema changes what one means."""
    query = "[:find ?i :in $ ?v :where [?i :issue/status ?v]]"
    assert tracker.q(query, ":open") == [[11], [12], [13]]
    document = "query($query: EDN!, $args: [EDN!]) { q(query: $query, argsEdn: $args) { rows } }"
    assert tracker.data(document, query=query, args=['":open"'])["q"]["rows"] == []
    assert tracker.q(query, ":open") == [[11], [12], [13]]
