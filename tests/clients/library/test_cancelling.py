"""Tasks that are cancelled, and connections that are closed under their readers."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from typing import Any

import pytest

import adalog
from adalog.executor.pool import Pool
from tests.gateway.support import gateway, served

LONG = """[:find (count ?e) . :with ?a ?b ?c ?d :in $ [?a ...] [?b ...] [?c ...] [?d ...]
           :where [(+ ?a ?b ?c ?d) ?e]]"""
NUMBERS = list(range(300))
# The query cannot end by itself: whenever the signal comes after it has begun, it is interrupted.
INTERRUPTED = f"""
import os, signal, sys, threading
import adalog
with adalog.connect(sys.argv[1]) as db:
    assert db.q("[:find ?x . :in $ ?x]", 1).value == 1
    # Its kernels are loaded, or compiled, before: Python drops an interrupt within LLVM's callbacks.
    few, numbers = list(range(40)), list(range(300))
    db.q({LONG!r}, few, few, few, few)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        db.q({LONG!r}, numbers, numbers, numbers, numbers)
    except KeyboardInterrupt:
        print("interrupted")
    print(db.q("[:find ?x . :in $ ?x]", 1).value)
"""


def test_a_cancelled_task_ends_its_query(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()
    own = adalog.Database.q

    def watched(*args: object, **more: object) -> object:
        begun.set()
        try:
            return own(*args, **more)  # type: ignore[arg-type]
        except adalog.Error as error:
            if error.code == "CANCELLED":
                ended.set()
            raise

    monkeypatch.setattr(adalog.Database, "q", watched)

    async def main() -> None:
        async with adalog.aconnect(":memory:") as db:
            task = asyncio.create_task(db.q(LONG, NUMBERS, NUMBERS, NUMBERS, NUMBERS))
            await asyncio.to_thread(begun.wait, 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(ended.wait, 30)
            assert (await db.q("[:find ?x . :in $ ?x]", 1)).value == 1

    asyncio.run(main())


def test_a_cancelled_task_ends_its_query_on_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()
    own = Pool.arun

    async def watched(*args: Any, **more: Any) -> Any:
        begun.set()
        try:
            return await own(*args, **more)
        except asyncio.CancelledError:
            ended.set()
            raise

    monkeypatch.setattr(Pool, "arun", watched)

    async def main(url: str) -> None:
        async with adalog.aconnect(url) as db:
            # Once the connection is another call's, cancelling this one does not concern it.
            done = asyncio.create_task(db.attributes())
            await done
            task = asyncio.create_task(db.q(LONG, NUMBERS, NUMBERS, NUMBERS, NUMBERS))
            await asyncio.to_thread(begun.wait, 30)
            done.cancel()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(ended.wait, 30)
            assert (await db.q("[:find ?x . :in $ ?x]", 1)).value == 1

    with gateway() as opened, served(opened.app) as url:
        asyncio.run(main(url))


@pytest.mark.parametrize("kind", ["memory", "http"])
def test_ctrl_c_ends_a_query_and_not_the_connection(kind: str) -> None:
    """The program is interrupted while its query runs, and asks again."""
    with gateway() as opened, served(opened.app) as url:
        place = ":memory:" if kind == "memory" else url
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED, place], capture_output=True, text=True, check=False, timeout=120
        )
        assert (done.stdout, done.returncode) == ("interrupted\n1\n", 0), done.stderr


@pytest.mark.parametrize("kind", ["memory", "http"])
def test_closing_ends_a_reader_that_waits(kind: str) -> None:
    with gateway() as opened, served(opened.app) as url:
        db = adalog.connect(":memory:" if kind == "memory" else url)
        db.transact([{"n/x": 1}])
        changes = db.live("[:find ?x :where [_ :n/x ?x]]")
        assert next(changes).added == [(1,)]
        found: list[object] = []
        reader = threading.Thread(target=lambda: found.append(next(changes, None)))
        reader.start()
        changes.close()
        # Sooner than the server says something of its own, which is every 15 seconds.
        reader.join(10)
        assert found == [None]
        db.close()


@pytest.mark.parametrize("kind", ["memory", "http"])
def test_a_reader_may_be_cancelled(kind: str) -> None:
    async def main(url: str) -> None:
        async with adalog.aconnect(":memory:" if kind == "memory" else url) as db:
            changes = db.live("[:find ?x :where [_ :n/x ?x]]")
            assert (await anext(changes)).added == []
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(anext(changes), 0.01)
            assert repr(changes).endswith("SNAPSHOT at transaction 0: 0 added, 0 retracted, closed>")
            await db.transact([{"n/x": 1}])
            async with db.live("[:find ?x :where [_ :n/x ?x]]") as again:
                assert "<td>none</td>" in again._repr_html_()
                async for change in again:
                    assert change.added == [(1,)]
                    break

    with gateway() as opened, served(opened.app) as url:
        asyncio.run(main(url))
