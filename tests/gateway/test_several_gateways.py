"""Gateways with the data on a PostgreSQL server: what one answered the others know, by HTTP and by command."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from adalog.datalog.errors import AdalogError
from adalog.executor.pool import Pool
from adalog.gateway.app import create_app
from adalog.gateway.cli import main
from adalog.gateway.opening import open_database
from adalog.gateway.settings.config import SettingError, Settings
from adalog.gateway.settings.sources import settings_from
from adalog.schema.documents.operations import OperationRequest
from adalog.schema.request.context import Context
from adalog.store.database import Database
from tests.postgres_servers import PostgresServer


class Gateway:
    """One of several, in this process."""

    def __init__(self, address: str) -> None:
        self.settings = Settings(data=address, spark=False)
        self.database: Database = open_database(self.settings)
        self.pool = Pool(self.database)
        self.app = create_app(self.database, self.pool, self.settings)

    def close(self) -> None:
        self.app.state.hub.close()
        self.pool.close()
        self.database.close()

    async def ask(self, document: str, seen: Any = None, **variables: Any) -> dict[str, Any]:
        transport = httpx.ASGITransport(app=self.app)
        extensions = {} if seen is None else {"minBasisT": seen}
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:
            body = {"query": document, "variables": variables, "extensions": extensions}
            answered = await client.post("/graphql", json=body)
            found: dict[str, Any] = answered.json()
            return found

    async def get(self, path: str) -> httpx.Response:
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:
            return await client.get(path)


@pytest.fixture
def gateways(postgres: PostgresServer) -> Iterator[list[Gateway]]:
    address = postgres.new_database()
    opened = [Gateway(address), Gateway(address)]
    yield opened
    for each in opened:
        each.close()


TRANSACT = "mutation ($tx: EDN!) { transact(tx: $tx) { t } }"
VALUES = """query ($b: BasisInput, $ms: Int) {
  q(query: "[:find [?v ...] :where [_ :n ?v]]", basis: $b, timeoutMs: $ms) { rows basisT } }"""
PULL = '{ pull(pattern: "[:n]", eid: "1") }'
PAGED = """query ($after: String) {
  q(query: "[:find ?v :where [_ :n ?v]]", first: 1, after: $after) { rows pageInfo { endCursor } } }"""
BESIDE = """query ($args: [JSON!]) {
  q(query: "[:find [?v ...] :in $ $old :where [$old _ :n ?v]]", args: $args) { rows } }"""


def code(answer: dict[str, Any]) -> str:
    found: str = answer["errors"][0]["extensions"]["code"]
    return found


async def written(gateway: Gateway, tx: str) -> int:
    return int((await gateway.ask(TRANSACT, tx=tx))["data"]["transact"]["t"])


def test_a_basis_that_another_gateway_answered(gateways: list[Gateway]) -> None:
    async def scenario() -> None:
        a, b = gateways
        for n in range(10):
            t = await written(a, f"[[:db/add {n + 1} :n {n}]]")
            found = (await b.ask(VALUES, b={"t": t}))["data"]["q"]
            assert len(found["rows"]) == n + 1
            assert int(found["basisT"]) == t
            beside = await b.ask(BESIDE, args=[{"basis": {"asOf": t}}])
            assert len(beside["data"]["q"]["rows"]) == n + 1

    asyncio.run(scenario())


def test_a_basis_to_come_is_waited_for_until_the_deadline(gateways: list[Gateway]) -> None:
    async def scenario() -> None:
        a, b = gateways
        t = await written(a, "[[:db/add 1 :n 1]]")
        late = await b.ask(VALUES, b={"t": t + 5}, ms=200)
        assert code(late) == "BASIS_FUTURE"
        assert late["errors"][0]["extensions"]["retryable"]
        waiting = asyncio.ensure_future(b.ask(VALUES, b={"t": t + 1}, ms=20_000))
        # The event loop is not held up meanwhile.
        assert (await b.get("/healthz")).status_code == 200
        assert not waiting.done()
        await written(a, "[[:db/add 1 :n 2]]")
        assert (await waiting)["data"]["q"]["rows"] == [[2]]

    asyncio.run(scenario())


def test_what_the_client_has_seen_is_waited_for(gateways: list[Gateway]) -> None:
    async def scenario() -> None:
        a, b = gateways
        t = await written(a, "[[:db/add 1 :n 1]]")
        asked = [b.ask(VALUES, t + 1), b.ask(PULL, str(t + 1)), b.ask("{ database { basisT } }", t + 1)]
        waiting = [asyncio.ensure_future(each) for each in asked]
        assert (await b.get("/healthz")).status_code == 200
        assert not any(each.done() for each in waiting)
        await written(a, "[[:db/add 1 :n 2]]")
        found, pulled, database = [(await each)["data"] for each in waiting]
        assert found["q"] == {"rows": [[2]], "basisT": t + 1}
        assert (pulled["pull"], database["database"]["basisT"]) == ({":n": 2}, t + 1)
        # Newer than that, too: the basis is no other one.
        later = await written(b, "[[:db/add 1 :n 3]]")
        assert (await b.ask(VALUES, t))["data"]["q"] == {"rows": [[3]], "basisT": later}

    asyncio.run(scenario())


def test_what_the_client_has_seen_and_nothing_has_is_named(
    gateways: list[Gateway], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client forgets a transaction that was lost by a restore."""
    monkeypatch.setattr("adalog.schema.request.transaction_wait._PATIENCE", 0.05)

    async def scenario() -> None:
        a, _ = gateways
        t = await written(a, "[[:db/add 1 :n 1]]")
        [refusal] = (await a.ask(VALUES, t + 5))["errors"]
        assert refusal["extensions"] == {"code": "BACKEND_UNAVAILABLE", "retryable": True, "minBasisT": t + 5}

    asyncio.run(scenario())


def test_a_live_query_begins_with_what_the_client_has_seen(gateways: list[Gateway]) -> None:
    async def scenario() -> None:
        a, b = gateways
        t = await written(a, "[[:db/add 1 :n 1]]")
        answering = b.app.state.answering
        operations = answering.operations
        prepared = operations.prepare('subscription { live(query: "[:find ?v :where [_ :n ?v]]") { rows basisT } }')
        asked = OperationRequest(prepared, Context(answering.services, t + 1))
        assert operations.subscribe_at_once(asked) is None
        begun = asyncio.ensure_future(operations.subscribe(asked))
        assert (await b.get("/healthz")).status_code == 200
        assert not begun.done()
        await written(a, "[[:db/add 1 :n 2]]")
        stream = await begun
        stream.close()

    asyncio.run(scenario())


def test_a_cursor_of_another_gateway(gateways: list[Gateway]) -> None:
    async def scenario() -> None:
        a, b = gateways
        await written(a, "[[:db/add 1 :n 1] [:db/add 2 :n 2]]")
        first = (await a.ask(PAGED))["data"]["q"]
        second = (await b.ask(PAGED, after=first["pageInfo"]["endCursor"]))["data"]["q"]
        assert sorted([*first["rows"], *second["rows"]]) == [[1], [2]]

    asyncio.run(scenario())


def test_a_stream_goes_on_at_another_gateway(gateways: list[Gateway]) -> None:
    a, b = gateways
    a.database.transact("[[:db/add 1 :n 1]]")
    query = "[:find ?v :where [_ :n ?v]]"
    stream = a.database.live(query)
    first = next(stream)
    stream.close()
    t = a.database.transact("[[:db/add 2 :n 2]]").t
    resumed = b.database.live(query, resume=first.resume)
    event = next(resumed)
    resumed.close()
    assert (event.kind, event.basis_t, [tuple(row) for row in event.added]) == ("DELTA", t, [(2,)])
    ahead = b.database.live(query, from_t=a.database.transact("[[:db/add 3 :n 3]]").t)
    a.database.transact("[[:db/add 4 :n 4]]")
    changes = [event for event in itertools.islice(ahead, 2) if event.kind == "DELTA"]
    assert [tuple(row) for row in changes[0].added] == [(4,)]
    ahead.close()


def test_the_server_is_away(postgres: PostgresServer, gateways: list[Gateway]) -> None:
    a, _ = gateways
    ready = asyncio.run(a.get("/readyz"))
    assert (ready.status_code, "behind" in ready.json()) == (200, False)


def test_addresses(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    address = postgres.new_database()
    settings = settings_from({"ADALOG_DATA": address})
    assert "s3cret" not in repr(settings)
    for wrong in ("postgresql://ada:s3cret@of@db/x", "postgres://ada:s3cret@db:port/x", "postgresql://a?s3cret=1"):
        with pytest.raises(SettingError) as refused:
            settings_from({"ADALOG_DATA": wrong})
        assert "s3cret" not in str(refused.value)
    with pytest.raises(AdalogError) as away:
        Database.open("postgresql+psycopg://ada:s3cret@127.0.0.1:1/none")
    assert "s3cret" not in away.value.message
    assert "postgresql://ada@127.0.0.1:1/none" in away.value.message
    assert not list(tmp_path.iterdir())


def test_commands(postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.new_database()

    def run(*command: str) -> tuple[int, str]:
        ended = CliRunner().invoke(main, [*command, "--data", address])
        assert "s3cret" not in ended.output
        return ended.exit_code, ended.output

    query = "[:find ?v :where [_ :n ?v]]"
    status, output = run("query", query)
    assert (status, "there is no database to read" in output) == (3, True)
    status, output = run("transact", "[[:db/add 1 :n 41]]")
    assert (status, "creating a new database in postgresql://ada@" in output) == (0, True)
    assert run("transact", "[[:db/add 1 :n 42]]")[0] == 0
    status, output = run("query", query, "--format", "json")
    assert (status, output) == (0, "[[42]]\n")
    assert run("explain", query)[0] == 0
    (tmp_path / "a.csv").write_text("n\n1\n")
    (tmp_path / "m.yaml").write_text("a: b\n")
    status, output = run("import", str(tmp_path / "a.csv"), "--mapping", str(tmp_path / "m.yaml"))
    assert status != 0
