"""Events as they are written for one selection: what that costs, and that it fails, concerns nobody else."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import orjson
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import StartAgain
from adalog.executor.live.hub import subscriber_queue
from adalog.executor.live.hub.hub import Hub
from adalog.executor.live.hub.view_update import BriefCancel
from adalog.executor.live.subscribers.event import EventKind, Message
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.schema.live.stream import LiveForm, LogForm
from adalog.schema.request.limits import RequestLimits
from adalog.store.database import Database
from tests.live.following import HeldPool, eventually, hub_over, is_cancelled, on_hub
from tests.live.test_graphql import Asking, told

AGES = "[:find ?name ?age :where [?e :name ?name] [?e :age ?age]]"
NUMBERS = "subscription { transactions { t } }"
DATOMS = "subscription { transactions { t datoms { e a v } again: datoms { e a v } } }"


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        opened.transact('[{:name "Ada" :age 36}]')
        yield opened


@pytest.fixture
def hub(database: Database) -> Iterator[Hub]:
    with hub_over(database) as made:
        yield made


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await work()

    asyncio.run(whole())


def people(count: int) -> str:
    """A transaction of two datoms for each."""
    return "[" + " ".join(f'{{:name "{i}" :age {i}}}' for i in range(count)) + "]"


async def ended(stream: Subscription) -> Code:
    """What a stream ends with."""
    try:
        async for _ in stream:
            pass
    except AdalogError as error:
        return error.code
    raise AssertionError("it ended without an error")


async def numbers(stream: Subscription, count: int) -> list[int]:
    """The next transactions that a stream tells of."""
    return [orjson.loads((await anext(stream)).payload)["data"]["transactions"]["t"] for _ in range(count)]


def test_a_transaction_too_large_for_one_selection_ends_that_one_only(database: Database, hub: Hub) -> None:
    asking = Asking(database, hub, RequestLimits(result_bytes=4_000))

    async def work() -> None:
        small, large = [await asking.subscribe(each) for each in (NUMBERS, DATOMS)]
        database.transact(people(1))
        assert await numbers(small, 1) == await numbers(large, 1) == [2]
        database.transact(people(50))
        assert await ended(large) is Code.LIMIT_EXCEEDED
        database.transact(people(1))
        assert await numbers(small, 2) == [3, 4]
        small.close()

    run(work)


def test_a_change_too_large_for_one_selection_ends_that_one_only(database: Database, hub: Hub) -> None:
    asking = Asking(database, hub, RequestLimits(result_bytes=4_000))

    async def work() -> None:
        live = "subscription ($q: EDN!) { live(query: $q) { kind %s } }"
        small = await asking.subscribe(live % "", q=AGES)
        large = await asking.subscribe(live % "added", q=AGES)
        for stream in (small, large):
            assert (await told(stream))["live"]["kind"] == "SNAPSHOT"
        database.transact(people(500))
        assert await ended(large) is Code.LIMIT_EXCEEDED
        assert (await told(small))["live"]["kind"] == "DELTA"
        database.transact('[{:name "later" :age 1}]')
        assert (await told(small))["live"]["kind"] == "DELTA"
        small.close()

    run(work)


def test_a_form_that_breaks_harms_those_only_who_asked_for_it(
    database: Database, hub: Hub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asking = Asking(database, hub)
    message = LogForm.message

    def broken(form: LogForm, event: Any, cancel: Any) -> Any:
        if len(form.shape.fields) > 1:
            raise RuntimeError("a mistake")
        return message(form, event, cancel)

    monkeypatch.setattr(LogForm, "message", broken)

    async def work() -> None:
        sound, wrong = [await asking.subscribe(each) for each in (NUMBERS, DATOMS)]
        eventually(hub, lambda: hub.figures.feeds == 1)
        database.transact(people(1))
        assert await ended(wrong) is Code.INTERNAL
        database.transact(people(1))
        assert await numbers(sound, 2) == [2, 3]
        sound.close()

    run(work)
    assert "a mistake" in caplog.text


def test_a_long_transaction_is_written_by_the_pool(
    database: Database, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = Asking(database, hub)
    message = LogForm.message
    written: list[tuple[int, str]] = []

    def noted(form: LogForm, event: Any, cancel: Any) -> Any:
        written.append((event.t, threading.current_thread().name))
        return message(form, event, cancel)

    monkeypatch.setattr(LogForm, "message", noted)

    async def work() -> None:
        stream = await asking.subscribe(DATOMS)
        on_hub(hub, lambda: None)
        for count in (1, 1_000, 1):
            database.transact(people(count))
        assert await numbers(stream, 3) == [2, 3, 4]
        stream.close()

    run(work)
    assert [t for t, _ in written] == [2, 3, 4], "each is written once"
    threads = dict(written)
    assert (threads[2] == "adalog-live", threads[3] == "adalog-live") == (True, False)


def test_others_go_on_while_the_pool_writes_the_log(database: Database, hub: Hub) -> None:
    asking = Asking(database, hub)
    numbered = "subscription ($from: Long) { transactions(from: $from) { t } }"

    async def work() -> None:
        first = await asking.subscribe(DATOMS)
        live = await asking.subscribe("subscription ($q: EDN!) { live(query: $q) { basisT } }", q=AGES)
        assert (await told(live))["live"]["basisT"] == 1
        pool = HeldPool(hub.pool)
        database.transact(people(1_000))
        on_hub(hub, lambda: None)
        assert len(pool.held) >= 1
        for count in range(1, 4):
            database.transact(people(count))
        late = [await asking.subscribe(numbered, **given) for given in ({}, {"from": 2}, {"from": 7})]
        on_hub(hub, lambda: None)
        pool.let_go()
        assert await numbers(first, 4) == [2, 3, 4, 5]
        for count in range(1, 4):
            database.transact(people(count))
        assert await numbers(first, 3) == [6, 7, 8]
        for stream, expected in zip(late, ([6, 7, 8], [2, 3, 4, 5, 6, 7, 8], [7, 8]), strict=True):
            assert await numbers(stream, len(expected)) == expected
        for stream in (first, live, *late):
            stream.close()

    run(work)


def test_who_leaves_while_the_pool_writes_the_log_takes_the_work_along(database: Database, hub: Hub) -> None:
    asking = Asking(database, hub)

    async def work() -> None:
        stream = await asking.subscribe(DATOMS)
        pool = HeldPool(hub.pool)
        on_hub(hub, lambda: None)
        database.transact(people(1_000))
        eventually(hub, lambda: len(pool.held) == 1)
        stream.close()
        eventually(hub, lambda: hub.figures.subscriptions == 0)
        assert is_cancelled(pool.held[0][1])
        pool.let_go()
        again = await asking.subscribe(NUMBERS)
        on_hub(hub, lambda: None)
        database.transact(people(1))
        assert await numbers(again, 1) == [3]
        again.close()

    run(work)


LIVE = "subscription ($q: EDN!) { %s: live(query: $q) { kind added } }"


def written(hub: Hub) -> int:
    """The bytes of all messages that recent events are kept with."""

    def count() -> int:
        events = [event for feed in hub._views._feeds.values() for event in feed.recent]
        messages = [each for event in events for each in event.written.values()]
        return sum(each.nbytes for each in messages if isinstance(each, Message))

    return on_hub(hub, count)


def test_recent_events_are_kept_within_their_bound_in_however_many_forms(database: Database) -> None:
    most = 40_000
    with hub_over(database, recent_bytes=most) as hub:
        asking = Asking(database, hub)

        async def work() -> None:
            early = [await asking.subscribe(LIVE % f"early{i}", q=AGES) for i in range(10)]
            for stream in early:
                await told(stream)
            for round_ in range(3):
                database.transact(people(300 * (round_ + 1)))
            for stream in early:
                while (await anext(stream)).t < 4:
                    pass
            assert written(hub) <= most
            # Those who come to a position behind have what is kept written in their forms, too.
            pool = HeldPool(hub.pool, heavy=1.0)
            late = [await asking.subscribe(LIVE % f"late{i}", q=AGES) for i in range(40)]
            eventually(hub, lambda: sum(len(feed.asked) for feed in hub._views._feeds.values()) == 40)
            for age in range(3):
                database.transact("[" + " ".join(f'{{:name "new {age} {i}" :age {i}}}' for i in range(20)) + "]")
            pool.let_go()
            for stream in late:
                # A first answer that was made after them has them in its snapshot.
                while (await anext(stream)).t < 7:
                    pass
            assert written(hub) <= most
            for stream in (*early, *late):
                stream.close()

        run(work)


@pytest.fixture
def changes_written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The aliases for which a change was written, and on which thread."""
    message = LiveForm.message
    found: list[tuple[str, str]] = []

    def noted(form: LiveForm, event: Any, cancel: Any) -> Any:
        if event.kind is EventKind.DELTA:
            found.append((form.alias, threading.current_thread().name))
        return message(form, event, cancel)

    monkeypatch.setattr(LiveForm, "message", noted)
    return found


def join_behind(hub: Hub, database: Database, transactions: int) -> None:
    """Has somebody join under another alias when so many transactions have passed since his snapshot."""
    asking = Asking(database, hub)

    async def work() -> None:
        early = await asking.subscribe(LIVE % "early", q=AGES)
        await told(early)
        database.transact("[{:unrelated 1}]")
        pool = HeldPool(hub.pool, heavy=1.0)
        late = await asking.subscribe(LIVE % "late", q=AGES)
        eventually(hub, lambda: bool(pool.held))
        for age in range(transactions):
            database.transact(f"[[:db/add 1 :age {age}]]")
            await told(early)
        on_hub(hub, lambda: None)
        pool.let_go()
        rows: set[tuple[Any, ...]] = set()
        assert (await told(late))["late"]["kind"] == "SNAPSHOT"
        while ("Ada", transactions - 1) not in rows:
            rows |= {tuple(row) for row in (await told(late))["late"]["added"]}
        for stream in (early, late):
            stream.close()

    run(work)


def test_more_than_a_mailbox_holds_is_not_written_for_who_joins(
    database: Database, changes_written: list[tuple[str, str]]
) -> None:
    with hub_over(database, mailbox_events=4) as hub:
        join_behind(hub, database, 6)
    # Four of them are told as a gap, the others when it has read these.
    assert changes_written.count(("late", "adalog-live")) == 2


def test_what_is_long_to_write_for_who_joins_is_written_by_the_pool(
    database: Database, changes_written: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoTime(BriefCancel):
        def check(self) -> None:
            raise StartAgain

    monkeypatch.setattr(subscriber_queue, "BriefCancel", NoTime)
    with hub_over(database) as hub:
        join_behind(hub, database, 3)
    assert ("late", "adalog-live") not in changes_written
    assert "late" in dict(changes_written)


def test_transactions_that_are_handed_over_later_count_as_such(database: Database, hub: Hub) -> None:
    asking = Asking(database, hub)

    async def work() -> None:
        now = await asking.subscribe(NUMBERS)
        on_hub(hub, lambda: None)
        for count in (1, 2):
            database.transact(people(count))
        assert await numbers(now, 2) == [2, 3]
        past = await asking.subscribe("subscription { transactions(from: 2) { t } }")
        assert await numbers(past, 2) == [2, 3]
        assert on_hub(hub, lambda: dict(hub.figures.events)) == {"TRANSACTION": 4}
        for stream in (now, past):
            stream.close()

    run(work)
