"""Subscribers who read on an event loop: one that has no room for all at once, and one that is closed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence

import pytest

from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.live.hub.hub import Hub
from adalog.executor.live.subscribers import delivery
from adalog.executor.live.subscribers.changes import LiveChange, ValuesForm
from adalog.executor.live.subscribers.event import EventKind, Message
from adalog.executor.live.subscribers.resume import StreamStart
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from tests.live.following import eventually, hub_over

OLDER = "[:find ?name :in $ ?least :where [?e :name ?name] [?e :age ?age] [(>= ?age ?least)]]"
PEOPLE = '[{:name "Ada" :age 36} {:name "Grace" :age 85}]'


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(":memory:") as opened:
        opened.transact(PEOPLE)
        yield opened


class Listener:
    """A subscriber that is called for each message, and takes it while it is open."""

    def __init__(self, hub: Hub, least: int) -> None:
        self.names: set[str] = set()
        self.t = -1
        self.open = True
        self._heard = asyncio.Event()
        asked = hub.asked(QueryRequest(OLDER, (least,)), Cancel())
        self.subscription = hub.follow(asked, ValuesForm(str(least), hub._tokens), StreamStart())
        self.subscription.listen(self._deliver, self._ended)

    def _deliver(self, messages: Sequence[Message]) -> int:
        if not self.open:
            return 0
        for message in messages:
            self._apply(message.payload)
        return len(messages)

    def _apply(self, change: LiveChange) -> None:
        if change.kind is EventKind.RESET:
            self.names = set()
        self.names -= {name for (name,) in change.retracted or ()}
        self.names |= {name for (name,) in (*(change.rows or ()), *(change.added or ()))}
        self.t = change.basis_t
        self._heard.set()

    def _ended(self, error: AdalogError | None) -> None:
        raise AssertionError(error)

    async def until(self, t: int) -> None:
        """Waits until it has heard of a transaction."""
        while self.t < t:
            self._heard.clear()
            await self._heard.wait()


def test_one_transaction_that_changes_more_than_an_event_loop_takes(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "_MOST_MESSAGES", 3)

    async def follow(hub: Hub) -> None:
        listeners = [Listener(hub, least) for least in range(8)]
        for t, name in ((2, "Kurt"), (3, "Emmy")):
            for listener in listeners:
                await listener.until(t - 1)
            database.transact(f'[{{:name "{name}" :age 50}}]')
            for listener in listeners:
                await listener.until(t)
                assert listener.names >= {"Ada", "Grace", name}
        for listener in listeners:
            listener.subscription.close()

    with hub_over(database) as hub:
        asyncio.run(follow(hub))
        assert hub.figures.overflows > 0


def test_who_read_on_an_event_loop_that_is_closed_is_let_go(database: Database) -> None:
    async def follow(hub: Hub) -> None:
        for least in (0, 50):
            listener = Listener(hub, least)
            await listener.until(1)
            listener.open = False
        late = Listener(hub, 0)
        await late.until(1)

    with hub_over(database) as hub:
        asyncio.run(follow(hub))
        for t in (2, 3):
            database.transact(f'[{{:name "{t}" :age 90}}]')
            # Two turns of the hub: in the first it notices.
            for _ in range(2):
                eventually(hub, lambda: True)
        assert (hub.figures.subscriptions, hub.figures.feeds) == (0, 0)
        assert (hub.mail.held, hub._loops) == (0, {})


def test_an_event_loop_that_is_closed_before_the_hub_knows_its_subscribers(database: Database) -> None:
    async def follow(hub: Hub) -> None:
        Listener(hub, 0)

    with hub_over(database) as hub:
        free = threading.Event()
        hub._jobs.put(lambda: bool(free.wait()))
        asyncio.run(follow(hub))
        free.set()
        for _ in range(2):
            eventually(hub, lambda: True)
        assert (hub.figures.subscriptions, hub.figures.feeds, hub._loops) == (0, 0, {})
