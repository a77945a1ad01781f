"""Resume tokens and the disk: those of recent transactions do without it, others keep nobody waiting for it."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import orjson
import pytest
import sqlalchemy as sa

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.live.hub.feed import Feed
from adalog.executor.live.subscribers.changes import ValuesForm
from adalog.executor.live.subscribers.event import EventKind
from adalog.store.database import Database
from adalog.store.log.log import Log
from tests.live.following import Reader, hub_over, on_hub
from tests.live.test_graphql import Asking

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
