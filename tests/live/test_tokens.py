"""Resume tokens and the disk: those of recent transactions do without it, others keep nobody waiting for it."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
import sqlalchemy as sa

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.live.hub import views as views_module
from adalog.executor.live.hub.feed import Feed
from adalog.executor.live.hub.hub import Hub
from adalog.executor.live.settings import LiveSettings
from adalog.executor.live.subscribers.changes import ValuesForm
from adalog.executor.live.subscribers.event import EventKind, Message, StreamPosition
from adalog.executor.live.subscribers.resume import ResumeTokens, StreamName
from adalog.store.database import Database
from adalog.store.log.log import Log
from tests.live.following import Reader, hub_over, on_hub
from tests.live.test_graphql import Asking

YOUNGER = "[:find ?name :in $ ?most :where [?e :name ?name] [?e :age ?age] [(< ?age ?most)]]"
AGES = "[:find ?name ?age :where [?e :name ?name] [?e :age ?age]]"


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, str]]:
    """The transactions whose checksums were read from the disk, and on which thread."""
    found: list[tuple[int, str]] = []
    checksum_at = Log.checksum_at

    def noted(log: Log, t: int) -> int | None:
        found.append((t, threading.current_thread().name))
        return checksum_at(log, t)

    monkeypatch.setattr(Log, "checksum_at", noted)
    return found


def test_what_was_just_committed_is_told_without_the_disk(tmp_path: Path, looked_up: list[tuple[int, str]]) -> None:
    with Database.open(str(tmp_path)) as database, hub_over(database) as hub:
        database.transact('[{:name "Ada" :age 36}]')
        reader = Reader(database, hub.pool, AGES)
        reader.until(1)
        for age in range(5):
            database.transact(f"[[:db/add 1 :age {age}]]")
            reader.until(2 + age)
        while reader.read().kind is not EventKind.PROGRESS:
            pass
        again = Reader(database, hub.pool, AGES, resume=reader.resume)
        again.rows = set(reader.rows)
        again.read()
        assert looked_up == []


def test_a_token_of_long_ago_is_read_on_the_threads_of_the_pool(
    tmp_path: Path, looked_up: list[tuple[int, str]]
) -> None:
    live = "subscription ($q: EDN!, $resume: String) { live(query: $q, resume: $resume) { kind resume } }"

    async def first(database: Database, resume: str | None) -> Any:
        with hub_over(database) as hub:
            stream = await Asking(database, hub).subscribe(live, q=AGES, resume=resume)
            event = orjson.loads((await anext(stream)).payload)["data"]["live"]
            stream.close()
            return event

    with Database.open(str(tmp_path)) as database:
        database.transact('[{:name "Ada" :age 36}]')
        old = asyncio.run(first(database, None))["resume"]
        database.transact("[[:db/add 1 :age 37]]")
        new = asyncio.run(first(database, None))["resume"]
        # What is in a checkpoint is not read from the log when the database is opened.
        database.compact()
    with Database.open(str(tmp_path)) as database:
        looked_up.clear()
        assert asyncio.run(first(database, new))["kind"] == "PROGRESS"
        assert looked_up == []
        assert asyncio.run(first(database, old))["kind"] == "DELTA"
        assert [t for t, _ in looked_up] == [1]
        assert threading.current_thread().name not in {thread for _, thread in looked_up}


def test_idleness_that_cannot_be_told_is_not_due_again_at_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    message = ValuesForm.message

    def broken(form: ValuesForm, event: Any, cancel: Any) -> Any:
        if event.kind is EventKind.PROGRESS:
            raise RuntimeError("a mistake")
        return message(form, event, cancel)

    monkeypatch.setattr(ValuesForm, "message", broken)
    with Database.open(":memory:") as database, hub_over(database, progress_seconds=3_600.0) as hub:
        database.transact('[{:name "Ada" :age 36}]')
        reader = Reader(database, hub.pool, AGES)
        reader.until(1)
        views = hub._views

        def due() -> float | None:
            feeds: list[Feed] = list(views._idle)
            assert len(feeds) == 1
            views._idle[feeds[0]] = 0.0
            views.idle()
            return views.idle_at

        at = on_hub(hub, due)
        assert at is None or at > time.monotonic()
        with pytest.raises(AdalogError) as ended:
            reader.read()
        assert ended.value.code is Code.INTERNAL
    assert "a mistake" in caplog.text


def test_the_idleness_of_many_is_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Feeds that are due one after the other wait for the same turn, and none longer than till it is due again."""
    with Database.open(":memory:") as database, hub_over(database, progress_seconds=3_600.0) as hub:
        database.transact("[" + " ".join(f'{{:name "{age}" :age {age}}}' for age in range(60)) + "]")
        readers = [Reader(database, hub.pool, YOUNGER, (age,)) for age in range(60)]
        for reader in readers:
            reader.until(1)
        views = hub._views
        told: list[tuple[float, Feed]] = []
        clock = {"now": 1_000.0}

        def turns(until: float) -> set[float]:
            """When PROGRESS was sent, where the hub comes as soon as it is due."""
            del told[:]
            while (at := views.idle_at) is not None and at <= until:
                clock["now"] = max(clock["now"], at)
                views.idle()
            return {at for at, _ in told}

        def measure() -> None:
            with monkeypatch.context() as patched:
                patched.setattr(views_module.time, "monotonic", lambda: clock["now"])
                patched.setattr(
                    views, "_tell", lambda feed, event: (told.append((clock["now"], feed)), views.told(feed))
                )
                for number, feed in enumerate(list(views._idle)):
                    views._idle[feed] = 1_001.0 + 0.001 * number
                assert 7 <= len(turns(1_002.0)) <= 9, "once in eight milliseconds"
                assert len(told) == len({feed for _, feed in told}) == 60
                # More than a turn may tell of are due at once, and often.
                patched.setattr(
                    views, "_parts", replace(views._parts, settings=LiveSettings(progress_seconds=0.01))
                )
                for feed in list(views._idle):
                    views._idle[feed] = 1_003.0
                clock["now"] = 1_003.0
                turns(1_004.0)
                assert len(told) > 60 * 80, "each of them gets it as often as it should"

        on_hub(hub, measure)


def test_a_token_is_signed_only_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    signed: list[int] = []
    text = ResumeTokens.text

    def noted(tokens: ResumeTokens, name: StreamName, position: StreamPosition, mark: str) -> str:
        signed.append(position.t)
        return text(tokens, name, position, mark)

    monkeypatch.setattr(ResumeTokens, "text", noted)

    async def first(hub: Hub, shown: str) -> Message:
        document = f"subscription ($q: EDN!) {{ live(query: $q) {{ {shown} }} }}"
        stream = await Asking(hub.database, hub).subscribe(document, q=AGES)
        message = await anext(stream)
        stream.close()
        return message

    with Database.open(":memory:") as database, hub_over(database) as hub:
        database.transact('[{:name "Ada" :age 36}]')
        plain = asyncio.run(first(hub, "kind basisT"))
        assert signed == []
        # Such as the id of an event over server-sent events, the same for all of its readers.
        assert plain.resume == plain.resume
        assert signed == [1]
        shown = asyncio.run(first(hub, "kind resume"))
        assert orjson.loads(shown.payload)["data"]["live"]["resume"] == shown.resume == plain.resume
        assert signed == [1, 1]


def test_a_log_that_cannot_be_read_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Database.open(str(tmp_path)) as database:
        database.transact('[{:name "Ada"}]')
        log = database.log

        def closed() -> Any:
            raise sa.exc.OperationalError("SELECT", {}, OSError("unable to open database file"))

        with monkeypatch.context() as patched:
            patched.setattr(log, "_connection", closed)
            with pytest.raises(AdalogError) as refused:
                log.checksum_at(1)
            assert refused.value.code is Code.BACKEND_UNAVAILABLE
            assert database.history_mark(1), "it is remembered"
