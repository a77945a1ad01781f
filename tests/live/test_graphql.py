"""Subscriptions as GraphQL: selections, encodings, refusals, and the log as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import orjson
import pytest

from adalog.executor.live.hub.hub import Hub
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.schema.documents.operations import OperationRequest, Operations
from adalog.schema.live.stream import RefusedError
from adalog.schema.request.context import Context, Services
from adalog.schema.request.cursor import Cursors
from adalog.schema.request.limits import RequestLimits
from adalog.schema.surface import build_schema
from adalog.store.database import Database
from tests.live.following import hub_over

AGES = "[:find ?name ?age :where [?e :name ?name] [?e :age ?age]]"


class Asking:
    """Subscribes to a database."""

    def __init__(self, database: Database, hub: Hub, limits: RequestLimits | None = None) -> None:
        self.database = database
        cursors = Cursors(b"k" * 32)
        self.services = Services(database, hub.pool, limits or RequestLimits(), cursors, None, hub)
        self.operations = Operations(build_schema(), RequestLimits())

    async def subscribe(self, document: str, **variables: Any) -> Subscription:
        prepared = self.operations.prepare(document)
        return await self.operations.subscribe(OperationRequest(prepared, Context(self.services), variables))

    async def refusal(self, document: str, **variables: Any) -> str:
        with pytest.raises(RefusedError) as refused:
            await self.subscribe(document, **variables)
        code: str = refused.value.errors[0]["extensions"]["code"]
        return code


@pytest.fixture
def asking() -> Iterator[Asking]:
    with Database.open(":memory:") as database, hub_over(database) as hub:
        database.transact('[{:name "Ada" :age 36}]')
        yield Asking(database, hub)


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await work()

    asyncio.run(whole())


async def told(stream: Subscription) -> Any:
    """The next event that is no PROGRESS."""
    while True:
        message = await anext(stream)
        if message.kind.value != "PROGRESS":
            return orjson.loads(message.payload)["data"]


def test_an_event_has_what_the_selection_asks_for(asking: Asking) -> None:
    async def work() -> None:
        stream = await asking.subscribe(
            """subscription ($q: EDN!, $no: Boolean!) {
              people: live(query: $q) {
                is: kind __typename ...Rows basisT @include(if: $no) columns { n: name __typename }
              }
            }
            fragment Rows on LiveEvent { rows entered: added retracted @skip(if: $no) }""",
            q=AGES,
            no=False,
        )
        assert await told(stream) == {
            "people": {
                "is": "SNAPSHOT",
                "__typename": "LiveEvent",
                "rows": [["Ada", 36]],
                "entered": None,
                "retracted": None,
                "columns": [{"n": "?name", "__typename": "Column"}, {"n": "?age", "__typename": "Column"}],
            }
        }
        asking.database.transact("[[:db/add 1 :age 37]]")
        change = (await told(stream))["people"]
        assert list(change) == ["is", "__typename", "rows", "entered", "retracted", "columns"]
        assert (change["entered"], change["retracted"], change["rows"]) == ([["Ada", 37]], [["Ada", 36]], None)
        stream.close()

    run(work)


def test_one_token_for_every_encoding(asking: Asking) -> None:
    document = """subscription ($q: EDN!, $as: Encoding, $resume: String) {
      live(query: $q, encoding: $as, resume: $resume) { rows added resume }
    }"""

    async def work() -> None:
        stream = await asking.subscribe(document, q="[:find ?k :where [_ :is ?k]]", **{"as": "EDN"})
        first = (await told(stream))["live"]
        assert first["rows"] == []
        asking.database.transact("[{:is :small}]")
        assert (await told(stream))["live"]["added"] == ["[:small]"]
        again = await asking.subscribe(
            document, q="[:find ?k :where [_ :is ?k]]", resume=first["resume"], **{"as": "TAGGED"}
        )
        assert (await told(again))["live"]["added"] == [[{"#kw": "small"}]]
        for each in (stream, again):
            each.close()

    run(work)


def test_what_is_refused_before_the_first_event(asking: Asking) -> None:
    live = """subscription ($q: EDN!, $resume: String, $t: Long) {
      live(query: $q, resume: $resume, fromT: $t) { kind }
    }"""

    async def work() -> None:
        assert await asking.refusal("subscription { nope }") == "QUERY_INVALID"
        assert await asking.refusal(live) == "ARG_INVALID"
        assert await asking.refusal(live, q="[:find") == "EDN_SYNTAX"
        assert await asking.refusal(live, q=AGES, resume="x") == "ARG_INVALID"
        assert await asking.refusal(live, q=AGES, t=9) == "BASIS_FUTURE"
        assert await asking.refusal("subscription { transactions(from: -1) { t } }") == "ARG_INVALID"
        assert await asking.refusal("{ database { basisT } }") == "QUERY_INVALID"

    run(work)


def test_every_transaction_from_the_log_and_then_live(asking: Asking) -> None:
    document = "subscription ($from: Long) { transactions(from: $from) { number: t datoms { a v } } }"
    database = asking.database

    async def work() -> None:
        for age in range(40, 44):
            database.transact(f"[[:db/add 1 :age {age}]]")
        past = await asking.subscribe(document, **{"from": 3})
        now = await asking.subscribe(document)
        later = await asking.subscribe(document, **{"from": 8})
        assert [(await told(past))["transactions"]["number"] for _ in range(3)] == [3, 4, 5]
        for age in range(50, 54):
            database.transact(f"[[:db/add 1 :age {age}]]")
        for stream, expected in ((past, [6, 7, 8, 9]), (now, [6, 7, 8, 9]), (later, [8, 9])):
            events = [(await told(stream))["transactions"] for _ in expected]
            assert [event["number"] for event in events] == expected
            assert {"a": ":age", "v": 53} in events[-1]["datoms"]
            stream.close()

    run(work)
