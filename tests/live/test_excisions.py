"""Streams and excisions: what was told before one is never gone on from as though that were left of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

import adalog
from adalog.datalog.errors import AdalogError, Code
from adalog.executor.live.hub.hub import Hub
from adalog.executor.live.subscribers.event import EventKind, Message
from adalog.executor.live.subscribers.resume import ResumeTokens
from adalog.store.database import Database
from tests.live.following import HeldPool, NewestReader, hub_over, on_hub
from tests.live.test_graphql import Asking

AGES = "[:find ?name ?age :where [?e :name ?name] [?e :age ?age]]"
PEOPLE = '[{:db/id 1 :name "Ada" :age 36} {:db/id 2 :name "Bob" :age 40}]'
EXCISE = "[{:db/excise 1}]"


class Stream(NewestReader):
    """One that can be subscribed to again."""

    def ended(self) -> None:
        """Reads until the stream is ended, with an error after which to subscribe again."""
        with pytest.raises(AdalogError) as ended:
            self.until(1 << 60)
        assert ended.value.code is Code.BACKEND_UNAVAILABLE

    def again(self, hub: Hub) -> Stream:
        """A stream that goes on after this one, or starts over."""
        made = Stream(self.database, hub.pool, self.query, resume=self.resume)
        made.rows, made.whole = set(self.rows), self.whole
        return made


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as made:
        made.transact(PEOPLE)
        yield made


def test_what_is_told_after_an_excision_of_a_state_before_it_is_of_before_it(database: Database) -> None:
    with hub_over(database, progress_seconds=3_600.0) as hub:
        reader = Stream(database, hub.pool, AGES)
        reader.until(1)
        held, excised = at_work(database, hub), threading.Event()

        def idle() -> None:
            """Tells the state before the transactions, once the hub is behind the excision."""
            excised.wait()
            for feed in list(hub._views._idle):
                hub._views._idle[feed] = 0.0
            hub._views.idle()

        hub._jobs.put(idle)
        t = database.transact(EXCISE).t
        excised.set()
        assert reader.read().kind is EventKind.PROGRESS
        reader.ended()
        held.let_go()
        again = reader.again(hub)
        assert "an excision" in str(again.read().reason)
        again.until(t)
        assert again.rows == {("Bob", 41)}


def test_so_is_an_answer_that_is_written_after_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    gate, reached = threading.Event(), threading.Event()
    write = ResumeTokens.write

    def slow(tokens: ResumeTokens, *of: Any) -> str:
        if threading.current_thread().name != "adalog-live":
            reached.set()
            gate.wait()
        return write(tokens, *of)

    with hub_over(database) as hub:
        reader = Stream(database, hub.pool, AGES)
        monkeypatch.setattr(ResumeTokens, "write", slow)
        reached.wait()
        t = database.transact(EXCISE).t
        gate.set()
        assert reader.read().basis_t == 1
        assert ("Ada", 36) in reader.rows
        reader.close()
        again = reader.again(hub)
        assert "an excision" in str(again.read().reason)
        again.until(t)
        assert again.rows == {("Bob", 40)}


@pytest.mark.parametrize("is_busy", [False, True])
@pytest.mark.parametrize(
    ("query", "args"),
    [('[:find ?e :where [?e :name "Ada"]]', ()), ("[:find ?e :in $ ?n :where [?e :name ?n]]", ("Ada",))],
)
def test_a_value_that_comes_again_after_its_excision_is_told(
    database: Database, query: str, args: tuple[str, ...], is_busy: bool
) -> None:
    """It has another code by then."""
    with hub_over(database) as hub:
        reader = NewestReader(database, hub.pool, query, args)
        for again in range(3):
            reader.until(database.snapshot().t)
            assert reader.rows == {(1,)}
            held = HeldPool(hub.pool)
            if is_busy:
                # The step of the excision is under way when the value comes.
                on_hub(hub, lambda: make_heavy(hub))
            database.transact(EXCISE)
            if not is_busy:
                held.let_go()
                reader.until(database.snapshot().t)
                assert reader.rows == set()
            database.transact('[[:db/add 1 :name "Ada"]]')
            database.transact(f"[[:db/add 2 :age {again}]]")
            held.let_go()


def test_the_rest_of_an_answer_does_not_follow_what_was_excised(database: Database) -> None:
    with hub_over(database, chunk_rows=1) as hub:
        reader = Stream(database, hub.pool, AGES)
        reader.read()
        reader.close()
        held = HeldPool(hub.pool)
        again = reader.again(hub)
        on_hub(hub, lambda: None)
        t = database.transact(EXCISE).t
        held.let_go()
        assert "an excision" in str(again.read().reason)
        again.until(t)
        assert again.kinds() == ["RESET", "SNAPSHOT"]


def test_the_log_is_told_from_before_an_excision(database: Database) -> None:
    database.transact(EXCISE)

    async def told() -> list[Any]:
        with hub_over(database) as hub:
            stream = await Asking(database, hub).subscribe("subscription { transactions(from: 1) { t } }")
            found = [transaction(await anext(stream)) for _ in range(2)]
            database.transact('[{:name "Later"}]')
            found.append(transaction(await anext(stream)))
            stream.close()
            return found

    assert asyncio.run(told()) == [1, 2, 3]


def test_the_log_tells_all_that_a_process_reads_together_with_an_excision(tmp_path: Path) -> None:
    with (
        Database.open(str(tmp_path), shared=True) as first,
        Database.open(str(tmp_path), shared=True) as second,
        hub_over(second) as hub,
    ):
        first.transact(PEOPLE)
        second.writer.look().result()
        assert second._following is not None
        second._following.close()
        reader = Stream(second, hub.pool, AGES)
        reader.until(1)
        # Of the first of these it takes something, so that it is applied before they are.
        first.transact("[[:db/add 1 :age 37] [:db/add 2 :age 41]]")
        first.transact('[{:name "Cid" :age 7}]')
        first.transact(EXCISE)

        async def told() -> list[Any]:
            stream = await Asking(second, hub).subscribe("subscription { transactions { t } }")
            on_hub(hub, lambda: None)
            second.writer.look().result()
            found = [transaction(await anext(stream)) for _ in range(3)]
            stream.close()
            return found

        assert asyncio.run(told()) == [2, 3, 4]
        reader.ended()
        again = reader.again(hub)
        again.until(4)
        assert again.rows == {("Bob", 41), ("Cid", 7)}


def transaction(message: Message) -> Any:
    return orjson.loads(message.payload)["data"]["transactions"]["t"]


def make_heavy(hub: Hub) -> None:
    """Has the pool make the next steps. On the hub's thread."""
    for followed in hub._views.known.values():
        followed.heavy = True


def at_work(database: Database, hub: Hub) -> HeldPool:
    """The pool, which holds back a step of all views."""
    held = HeldPool(hub.pool)
    on_hub(hub, lambda: make_heavy(hub))
    database.transact("[[:db/add 2 :age 41]]")
    assert on_hub(hub, lambda: all(each.busy for each in hub._views.known.values()))
    return held


def test_a_stream_over_a_database_that_was_given_ends() -> None:
    """It would show for ever what it was given."""
    with adalog.connect(":memory:") as db:
        db.transact("[{:db/ident :name :db/valueType :db.type/string}]")
        db.transact('[{:db/id 1 :name "Ada"}]')
        with db.live("[:find ?n :in $ $then :where [$then _ :name ?n]]", db.history()) as changes:
            assert next(changes).added == [("Ada",)]
            db.transact("[{:db/excise 1}]")
            with pytest.raises(adalog.Error, match="an excision took away what this stream began with"):
                next(changes)
        with db.live("[:find ?n :in $ $then :where [$then _ :name ?n]]", db.history()) as changes:
            assert next(changes).added == []
