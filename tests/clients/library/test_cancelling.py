"""Tasks that are cancelled, and connections that are closed under their readers."""

from __future__ import annotations

import asyncio
import threading

import pytest

import adalog
from tests.gateway.support import gateway, served

LONG = """[:find (count ?e) . :with ?a ?b ?c ?d :in $ [?a ...] [?b ...] [?c ...] [?d ...]
           :where [(+ ?a ?b ?c ?d) ?e]]"""
NUMBERS = list(range(300))


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
        reader.join(30)
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
            await db.transact([{"n/x": 1}])
            async with db.live("[:find ?x :where [_ :n/x ?x]]") as again:
                async for change in again:
                    assert change.added == [(1,)]
                    break

    with gateway() as opened, served(opened.app) as url:
        asyncio.run(main(url))
