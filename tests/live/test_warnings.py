"""What a live query says of itself on its first event, whichever that is, and on no other."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import orjson
import pytest

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.live.hub.hub import Hub
from adalog.executor.live.subscribers.event import Message
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.executor.pool import Pool
from adalog.executor.question.question import Question
from adalog.store.database import Database
from tests.live.following import hub_over
from tests.live.test_graphql import Asking, run, told

MISSPELT = "[:find ?n :where [?e :nmae ?n]]"
LIVE = """subscription ($q: EDN!, $args: [JSON!], $edn: [EDN!], $resume: String, $fromT: Long, $as: Encoding) {
  live(query: $q, args: $args, argsEdn: $edn, resume: $resume, fromT: $fromT, encoding: $as) {
    kind rows added resume warnings { code line column } last
  }
}"""
SILENT = "subscription ($q: EDN!, $resume: String) { live(query: $q, resume: $resume) { kind resume } }"


def at(line: int, column: int, code: str = "UNKNOWN_ATTRIBUTE") -> list[dict[str, Any]]:
    return [{"code": code, "line": line, "column": column}]


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        opened.transact('[{:name "Ada" :age 36} {:db/ident :kind/bug} {:db/ident :is :db/valueType :db.type/ref}]')
        opened.transact('[{:name "Bo" :age 7 :is :kind/bug}]')
        yield opened


@pytest.fixture
def hub(database: Database) -> Iterator[Hub]:
    with hub_over(database, chunk_rows=1) as made:
        yield made


@pytest.fixture
def asking(database: Database, hub: Hub) -> Asking:
    return Asking(database, hub)


async def first(stream: Subscription) -> Any:
    """The very next event, be it PROGRESS."""
    return orjson.loads((await anext(stream)).payload)["data"]["live"]


def test_they_come_once(asking: Asking) -> None:
    async def work() -> None:
        stream = await asking.subscribe(LIVE, q=MISSPELT)
        event = (await told(stream))["live"]
        assert (event["kind"], event["rows"], event["warnings"]) == ("SNAPSHOT", [], at(1, 22))
        assert (await first(stream))["warnings"] is None
        asking.database.transact('[{:nmae "x"}]')
        event = (await told(stream))["live"]
        assert (event["kind"], event["added"], event["warnings"]) == ("DELTA", [["x"]], None)
        stream.close()

    run(work)


@pytest.mark.parametrize("encoding", ["PLAIN", "TAGGED", "EDN"])
def test_of_a_snapshot_in_chunks_the_first_has_them(asking: Asking, encoding: str) -> None:
    query = "[:find ?n :where [?e :name ?n] (not [?e :nmae ?n])]"

    async def work() -> None:
        stream = await asking.subscribe(LIVE, q=query, **{"as": encoding})
        events = [(await told(stream))["live"] for _ in range(2)]
        assert [event["last"] for event in events] == [False, True]
        assert [event["warnings"] for event in events] == [at(1, 41), None]
        stream.close()

    run(work)


def test_a_query_without_any_says_so(asking: Asking) -> None:
    async def work() -> None:
        stream = await asking.subscribe(LIVE, q="[:find ?a :where [_ :age ?a]]")
        assert [(await told(stream))["live"]["warnings"] for _ in range(2)] == [[], None]
        stream.close()

    run(work)


def test_they_stand_where_the_selection_has_them(asking: Asking) -> None:
    document = """subscription ($q: EDN!) { people: live(query: $q) {
      warnings { code } last why: warnings { __typename column is: code } rows }
    }"""

    async def work() -> None:
        stream = await asking.subscribe(document, q=MISSPELT)
        event = (await told(stream))["people"]
        assert list(event) == ["warnings", "last", "why", "rows"]
        assert event["warnings"] == [{"code": "UNKNOWN_ATTRIBUTE"}]
        assert event["why"] == [{"__typename": "Warning", "column": 22, "is": "UNKNOWN_ATTRIBUTE"}]
        stream.close()

    run(work)


def test_each_has_those_of_its_own_text_and_arguments(asking: Asking) -> None:
    by_kind = "[:find ?n :in $ ?kind :where [?e :name ?n] [?e :is ?kind]]"
    other_text = "[:find ?n\n :in $ ?kind\n :where [?e :name ?n] [?e :is ?kind]]"

    async def work() -> None:
        streams = [
            await asking.subscribe(LIVE, q=text, args=[kind])
            for text in (by_kind, other_text)
            for kind in (":kind/bug", ":kind/bgu", ":kind/bug", ":kind/bgu")
        ]
        events = [(await told(stream))["live"] for stream in streams]
        unknown = [at(1, 17, "UNKNOWN_IDENT"), at(2, 8, "UNKNOWN_IDENT")]
        assert [event["warnings"] for event in events] == [
            [], unknown[0], [], unknown[0], [], unknown[1], [], unknown[1]
        ]  # fmt: skip
        for stream in streams:
            stream.close()

    run(work)


def test_who_joins_is_told_by_the_schema_of_that_moment(asking: Asking) -> None:
    async def work() -> None:
        early = await asking.subscribe(LIVE, q=MISSPELT)
        assert (await told(early))["live"]["warnings"] == at(1, 22)
        same = await asking.subscribe(LIVE, q=MISSPELT)
        assert (await told(same))["live"]["warnings"] == at(1, 22)
        asking.database.transact("[{:db/ident :nmae :db/valueType :db.type/string}]")
        late = await asking.subscribe(LIVE, q=MISSPELT)
        assert (await told(late))["live"]["warnings"] == []
        for stream in (early, same, late):
            stream.close()

    run(work)


def test_whatever_a_resumed_stream_begins_with(asking: Asking) -> None:
    query = "[:find ?n :where [?e :name ?n] (not [?e :nmae ?n])]"

    async def work() -> None:
        old = await asking.subscribe(LIVE, q=query)
        tokens = [(await told(old))["live"]["resume"] for _ in range(2)]
        for token, kind in zip(tokens, ("SNAPSHOT", "PROGRESS"), strict=True):
            stream = await asking.subscribe(LIVE, q=query, resume=token)
            event = await first(stream)
            assert (event["kind"], event["warnings"]) == (kind, at(1, 41))
            assert (await first(stream))["warnings"] is None
            stream.close()
        following = await asking.subscribe(LIVE, q=query, resume=tokens[1])
        await first(following)
        asking.database.transact('[{:name "Cy"}]')
        late = await asking.subscribe(LIVE, q=query, resume=tokens[1])
        event = (await told(late))["live"]
        assert (event["kind"], event["added"], event["warnings"]) == ("DELTA", [["Cy"]], at(1, 41))
        for stream in (old, following):
            event = (await told(stream))["live"]
            assert (event["kind"], event["added"], event["warnings"]) == ("DELTA", [["Cy"]], None)
        for stream in (old, following, late):
            stream.close()

    run(work)


def test_a_replay_and_a_reset(asking: Asking) -> None:
    async def work() -> None:
        past = await asking.subscribe(LIVE, q=MISSPELT, fromT=1)
        event = (await told(past))["live"]
        assert (event["kind"], event["warnings"]) == ("SNAPSHOT", at(1, 22))
        with Database.open(":memory:") as other, hub_over(other) as elsewhere:
            foreign = Asking(other, elsewhere)
            stream = await foreign.subscribe(LIVE, q=MISSPELT, resume=event["resume"])
            events = [(await told(stream))["live"] for _ in range(2)]
            assert [(each["kind"], each["warnings"]) for each in events] == [
                ("RESET", at(1, 22)), ("SNAPSHOT", None)
            ]  # fmt: skip
            stream.close()
        past.close()

    run(work)


def test_a_reader_without_room_is_offered_them_again(asking: Asking) -> None:
    async def work() -> None:
        stream = await asking.subscribe(LIVE, q="[:find ?n :where [?e :name ?n] (not [?e :nmae ?n])]")
        offered: list[list[Any]] = []
        room = [0, 1, 0, 5]
        tried = asyncio.Event()

        def deliver(messages: Sequence[Message]) -> int:
            offered.append([orjson.loads(each.payload)["data"]["live"]["warnings"] for each in messages])
            tried.set()
            return min(room.pop(0) if room else 5, len(messages))

        stream.listen(deliver, lambda error: None)
        await asyncio.wait_for(tried.wait(), 20)
        while room:
            stream.pump()
        assert offered[0][0] == offered[1][0] == at(1, 41)
        assert [warning for some in offered[2:] for warning in some if warning is not None] == []
        stream.close()

    run(work)


def test_they_are_looked_for_on_the_pool_and_only_where_somebody_asks(
    asking: Asking, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[tuple[str, bool]] = []
    look = Pool.diagnostics

    def recorded(pool: Pool, question: Question, cancel: Cancel | None = None) -> Any:
        assert cancel is not None
        looked.append((threading.current_thread().name, cancel.deadline is not None))
        return look(pool, question, cancel)

    monkeypatch.setattr(Pool, "diagnostics", recorded)

    async def work() -> None:
        streams = [await asking.subscribe(SILENT, q=MISSPELT) for _ in range(3)]
        for stream in streams:
            assert "warnings" not in (await told(stream))["live"]
        assert looked == []
        streams += [await asking.subscribe(LIVE, q=MISSPELT) for _ in range(3)]
        for stream in streams[3:]:
            assert (await told(stream))["live"]["warnings"] == at(1, 22)
        assert len(looked) == 1
        assert looked[0][1]
        assert looked[0][0] != threading.current_thread().name
        for stream in streams:
            stream.close()

    run(work)


def test_of_a_pattern_that_is_an_argument_and_of_a_source_in_the_future(asking: Asking) -> None:
    pulled = "[:find (pull ?e ?p) :in $ ?p :where [?e :age]]"
    ahead = "[:find ?n :in $ $later :where [$later ?e :name ?n]]"

    async def work() -> None:
        for _ in range(2):
            stream = await asking.subscribe(LIVE, q=pulled, edn=["[:nmae]"])
            event = (await told(stream))["live"]
            assert [each["code"] for each in event["warnings"]] == ["UNKNOWN_ATTRIBUTE"]
            stream.close()
            stream = await asking.subscribe(LIVE, q=ahead, args=[{"basis": {"asOf": "2199-01-01"}}])
            assert (await told(stream))["live"]["warnings"] == at(1, 17, "BASIS_FUTURE")
            stream.close()

    run(work)
