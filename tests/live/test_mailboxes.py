"""One subscriber's mailbox: what passes through, what waits, what is merged, and who pays for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.live.hub.memory import LiveMemory, MemoryShare
from adalog.executor.live.settings import LiveSettings
from adalog.executor.live.subscribers import delivery
from adalog.executor.live.subscribers.delivery import Channel, LoopDelivery, ThreadDelivery
from adalog.executor.live.subscribers.event import Event, EventKind, Message, MessageForm, StreamPosition
from adalog.executor.live.subscribers.subscription import Subscription

SETTINGS = LiveSettings(mailbox_events=3, mailbox_bytes=100)


class Desk:
    """A hub that notes what it is told."""

    def __init__(self) -> None:
        self.asked: list[StreamPosition | None] = []
        self.gone: list[bool] = []
        self.overflows = 0
        self.held = 0
        self.most = 10_000

    def wanted(self, subscription: Subscription, position: StreamPosition | None) -> None:
        self.asked.append(position)

    def left(self, subscription: Subscription, *, closed: bool) -> None:
        self.gone.append(closed)

    def overflowed(self) -> None:
        self.overflows += 1

    def room(self, nbytes: int, *, always: bool = False) -> bool:
        if nbytes > 0 and not always and self.held + nbytes > self.most:
            return False
        self.held += nbytes
        return True


class Socket:
    """Takes what it is given, while it is open."""

    def __init__(self, subscription: Subscription) -> None:
        self.open = True
        self.taken: list[int] = []
        self.ends: list[AdalogError | None] = []
        subscription.listen(self.deliver, self.ends.append)

    def deliver(self, messages: Sequence[Message]) -> int:
        if not self.open:
            return 0
        self.taken += [message.t for message in messages]
        return len(messages)


def message(t: int, kind: EventKind = EventKind.DELTA, size: int = 10) -> Message:
    return Message(kind, StreamPosition(t), b"", size, "")


class NoForm:
    key = None

    def message(self, event: Event, cancel: Any) -> Message:
        raise NotImplementedError


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def channel() -> Channel:
    form: MessageForm = NoForm()
    return Channel(ThreadDelivery(), form)


@pytest.fixture
def subscription(desk: Desk, channel: Channel) -> Subscription:
    made = Subscription(desk, SETTINGS, StreamPosition(0))
    made.joined(channel, ())
    return made


def tell(channel: Channel, *messages: Message) -> None:
    for each in messages:
        ThreadDelivery().tell(channel, each)


def test_what_is_taken_is_not_kept(desk: Desk, channel: Channel, subscription: Subscription) -> None:
    socket = Socket(subscription)
    tell(channel, message(1), message(2))
    assert (socket.taken, desk.held, subscription.position) == ([1, 2], 0, StreamPosition(2))


def test_what_is_not_taken_waits_in_order(desk: Desk, channel: Channel, subscription: Subscription) -> None:
    socket = Socket(subscription)
    socket.open = False
    tell(channel, message(1), message(2))
    assert (socket.taken, desk.held) == ([], 20)
    socket.open = True
    tell(channel, message(3))
    assert socket.taken == [], "what came later does not overtake"
    subscription.pump()
    assert (socket.taken, desk.held, desk.asked) == ([1, 2, 3], 0, [])


@pytest.mark.parametrize("sizes", [(10, 10, 10, 10), (60, 60), (1, 200)])
def test_a_full_mailbox_remembers_only_where_it_was(
    desk: Desk, channel: Channel, subscription: Subscription, sizes: tuple[int, ...]
) -> None:
    socket = Socket(subscription)
    tell(channel, message(1))
    socket.open = False
    tell(channel, *(message(2 + i, size=size) for i, size in enumerate(sizes)))
    assert (desk.overflows, desk.held, desk.gone) == (1, 0, [False])
    assert not channel.members
    assert desk.asked == [], "nobody reads yet"
    socket.open = True
    subscription.pump()
    assert (socket.taken, desk.asked) == ([1], [StreamPosition(1)])
    subscription.pump()
    assert desk.asked == [StreamPosition(1)], "it is asked once"


def test_all_mailboxes_are_bounded_together(desk: Desk, channel: Channel, subscription: Subscription) -> None:
    desk.most = 15
    tell(channel, message(1), message(2))
    assert (desk.overflows, desk.held) == (1, 0)


def test_a_snapshot_that_was_begun_is_kept(desk: Desk, channel: Channel) -> None:
    subscription = Subscription(desk, SETTINGS, None)
    chunks = [message(5, EventKind.RESET), message(5, EventKind.SNAPSHOT, 500), message(5, EventKind.SNAPSHOT, 500)]
    subscription.filled(chunks, None, behind=False)
    subscription.joined(channel, ())
    tell(channel, *(message(t) for t in range(6, 12)))
    socket = Socket(subscription)
    assert socket.taken == [5, 5, 5]
    assert desk.asked == [StreamPosition(5)]


def test_a_snapshot_that_waits_is_paid_for_whatever_comes_behind_it(desk: Desk) -> None:
    subscription, holdings = Subscription(desk, SETTINGS, None), LiveMemory(1_000)
    subscription.filled([message(5, EventKind.SNAPSHOT, 100)], MemoryShare(holdings, 100), behind=False)
    subscription.filled([message(6), message(7)], None, behind=False)
    assert (holdings.held, desk.held) == (100, 20)
    Socket(subscription)
    assert (holdings.held, desk.held) == (0, 0)


@pytest.mark.parametrize("taking", [True, False])
def test_whom_an_event_loop_has_no_room_for_asks_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, taking: bool
) -> None:
    monkeypatch.setattr(delivery, "_MOST_MESSAGES", 2)

    async def work() -> Socket:
        posts = LoopDelivery(asyncio.get_running_loop())
        channel = Channel(posts, NoForm())
        subscription = Subscription(desk, SETTINGS, StreamPosition(0))
        socket = Socket(subscription)
        socket.open = taking
        subscription.joined(channel, ())
        for t in range(1, 6):
            posts.tell(channel, message(t))
        posts.flush()
        await asyncio.sleep(0)
        assert (desk.overflows, desk.gone) == (1, [False])
        assert desk.asked == ([StreamPosition(2)] if taking else []), "who cannot take more has time"
        socket.open = True
        subscription.pump()
        return socket

    socket = asyncio.run(work())
    assert socket.taken == ([1, 2] if taking else [])
    assert desk.asked == [StreamPosition(2 if taking else 0)], "once"


def test_progress_is_for_those_who_wait_for_nothing(channel: Channel, subscription: Subscription) -> None:
    socket = Socket(subscription)
    tell(channel, message(1, EventKind.PROGRESS))
    socket.open = False
    tell(channel, message(2), message(3, EventKind.PROGRESS))
    socket.open = True
    subscription.pump()
    assert socket.taken == [1, 2]


def test_the_end_comes_after_what_waits(channel: Channel, subscription: Subscription) -> None:
    socket = Socket(subscription)
    socket.open = False
    tell(channel, message(1))
    why = AdalogError(Code.TIMEOUT, "too long")
    subscription.end(why)
    assert socket.ends == []
    socket.open = True
    subscription.pump()
    subscription.pump()
    assert (socket.taken, socket.ends) == ([1], [why])
    assert not channel.members


def test_who_closes_hears_no_more(desk: Desk, channel: Channel, subscription: Subscription) -> None:
    socket = Socket(subscription)
    socket.open = False
    tell(channel, message(1))
    subscription.close()
    subscription.close()
    subscription.end(None)
    subscription.pump()
    assert (socket.taken, socket.ends, desk.gone, desk.held) == ([], [], [True], 0)
    assert not channel.members


def test_a_reader_that_closes_while_it_is_told(desk: Desk, channel: Channel, subscription: Subscription) -> None:
    taken = []

    def deliver(told: Sequence[Message]) -> int:
        taken.extend(each.t for each in told)
        subscription.close()
        return len(told)

    subscription.listen(deliver, lambda _: None)
    tell(channel, message(1), message(2))
    assert (taken, desk.gone) == ([1], [True])


def test_a_reader_that_fails_is_let_go(
    desk: Desk, channel: Channel, subscription: Subscription, caplog: pytest.LogCaptureFixture
) -> None:
    def deliver(_: Sequence[Message]) -> int:
        raise RuntimeError("a mistake")

    other = Subscription(desk, SETTINGS, StreamPosition(0))
    other.joined(channel, ())
    subscription.listen(deliver, lambda _: None)
    socket = Socket(other)
    tell(channel, message(1))
    assert socket.taken == [1], "the others never notice"
    assert subscription.closed
    assert "a mistake" in caplog.text


def test_members_that_lost_a_message_are_told_some_at_a_time(desk: Desk, channel: Channel) -> None:
    for _ in range(200):
        Subscription(desk, SETTINGS, StreamPosition(0)).joined(channel, ())
    turns = list(channel.lose())
    assert len(turns) >= 3
    assert not channel.members
    assert desk.gone == [False] * 200


def test_what_an_event_loop_has_not_come_to_is_delivered_together(desk: Desk) -> None:
    told: list[list[int]] = []

    def deliver(messages: Sequence[Message]) -> int:
        told.append([each.t for each in messages])
        return len(messages)

    async def work() -> None:
        posts = LoopDelivery(asyncio.get_running_loop())
        channel, other = Channel(posts, NoForm()), Channel(posts, NoForm())
        first, late = (Subscription(desk, SETTINGS, StreamPosition(0)) for _ in range(2))
        for subscription in (first, late):
            subscription.listen(deliver, lambda _: None)
        posts.post(first.joined, channel, ())
        for t in (1, 2):
            posts.tell(channel, message(t))
            posts.tell(other, message(t))
        # Who joins here is not told what came before.
        posts.post(late.joined, channel, ())
        for t in (3, 4):
            posts.tell(channel, message(t))
        posts.flush()
        await asyncio.sleep(0)
        assert (first.position, late.position) == (StreamPosition(4), StreamPosition(4))

    asyncio.run(work())
    assert told == [[1, 2], [3, 4], [3, 4]]


def test_one_member_that_fails_harms_no_other(
    desk: Desk, channel: Channel, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Subscription):
        def take(self, messages: Sequence[Message]) -> None:
            raise RuntimeError("a mistake")

    broken, sound = Broken(desk, SETTINGS, StreamPosition(0)), Subscription(desk, SETTINGS, StreamPosition(0))
    for each in (broken, sound):
        channel.members[each] = None
        each.channel = channel
    socket = Socket(sound)
    tell(channel, message(1))
    assert socket.taken == [1]
    assert "a mistake" in caplog.text


def test_of_what_is_delivered_together_the_rest_waits(
    desk: Desk, channel: Channel, subscription: Subscription
) -> None:
    taken: list[int] = []
    room = iter((2, 1, 5))

    def deliver(messages: Sequence[Message]) -> int:
        some = messages[: next(room)]
        taken.extend(each.t for each in some)
        return len(some)

    subscription.listen(deliver, lambda _: None)
    for _ in channel.take([message(t) for t in range(1, 5)]):
        pass
    assert (taken, subscription.position, desk.held) == ([1, 2], StreamPosition(2), 20)
    subscription.pump()
    assert (taken, subscription.position, desk.held) == ([1, 2, 3], StreamPosition(3), 10)
    subscription.pump()
    assert (taken, subscription.position, desk.held) == ([1, 2, 3, 4], StreamPosition(4), 0)
