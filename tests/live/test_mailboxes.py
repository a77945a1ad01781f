"""One subscriber's mailbox: what passes through, what waits, what is merged, and who pays for it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from datalog.errors import AdalogError, Code
from executor.live import outlet
from executor.live.event import Event, Form, Kind, Message, Position
from executor.live.holding import Holding, Holdings
from executor.live.outlet import Channel, LoopOutlet, ThreadOutlet
from executor.live.settings import LiveSettings
from executor.live.subscription import Subscription

SETTINGS = LiveSettings(mailbox_events=3, mailbox_bytes=100)


class Desk:
    """A hub that notes what it is told."""

    def __init__(self) -> None:
        self.asked: list[Position | None] = []
        self.gone: list[bool] = []
        self.overflows = 0
        self.held = 0
        self.most = 10_000

    def wanted(self, subscription: Subscription, position: Position | None) -> None:
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

    def deliver(self, message: Message) -> bool:
        if self.open:
            self.taken.append(message.t)
        return self.open


def message(t: int, kind: Kind = Kind.DELTA, size: int = 10) -> Message:
    return Message(kind, Position(t), b"", size, "")


class NoForm:
    key = None

    def message(self, event: Event, cancel: Any) -> Message:
        raise NotImplementedError


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def channel() -> Channel:
    form: Form = NoForm()
    return Channel(ThreadOutlet(), form)


@pytest.fixture
def subscription(desk: Desk, channel: Channel) -> Subscription:
    made = Subscription(desk, SETTINGS, Position(0))
    made.joined(channel, ())
    return made


def tell(channel: Channel, *messages: Message) -> None:
    for each in messages:
        ThreadOutlet().tell(channel, each)


def test_what_is_taken_is_not_kept(desk: Desk, channel: Channel, subscription: Subscription) -> None:
    socket = Socket(subscription)
    tell(channel, message(1), message(2))
    assert (socket.taken, desk.held, subscription.position) == ([1, 2], 0, Position(2))


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
    assert (socket.taken, desk.asked) == ([1], [Position(1)])
    subscription.pump()
    assert desk.asked == [Position(1)], "it is asked once"


def test_all_mailboxes_are_bounded_together(desk: Desk, channel: Channel, subscription: Subscription) -> None:
    desk.most = 15
    tell(channel, message(1), message(2))
    assert (desk.overflows, desk.held) == (1, 0)


def test_a_snapshot_that_was_begun_is_kept(desk: Desk, channel: Channel) -> None:
    subscription = Subscription(desk, SETTINGS, None)
    chunks = [message(5, Kind.RESET), message(5, Kind.SNAPSHOT, 500), message(5, Kind.SNAPSHOT, 500)]
    subscription.filled(chunks, None, behind=False)
    subscription.joined(channel, ())
    tell(channel, *(message(t) for t in range(6, 12)))
    socket = Socket(subscription)
    assert socket.taken == [5, 5, 5]
    assert desk.asked == [Position(5)]


def test_a_snapshot_that_waits_is_paid_for_whatever_comes_behind_it(desk: Desk) -> None:
    subscription, holdings = Subscription(desk, SETTINGS, None), Holdings(1_000)
    subscription.filled([message(5, Kind.SNAPSHOT, 100)], Holding(holdings, 100), behind=False)
    subscription.filled([message(6), message(7)], None, behind=False)
    assert (holdings.held, desk.held) == (100, 20)
    Socket(subscription)
    assert (holdings.held, desk.held) == (0, 0)


@pytest.mark.parametrize("taking", [True, False])
def test_whom_an_event_loop_has_no_room_for_asks_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, taking: bool
) -> None:
    monkeypatch.setattr(outlet, "_MOST_POSTS", 2)

    async def work() -> Socket:
        posts = LoopOutlet(asyncio.get_running_loop())
        channel = Channel(posts, NoForm())
        subscription = Subscription(desk, SETTINGS, Position(0))
        socket = Socket(subscription)
        socket.open = taking
        subscription.joined(channel, ())
        for t in range(1, 6):
            posts.tell(channel, message(t))
        posts.flush()
        await asyncio.sleep(0)
        assert (desk.overflows, desk.gone) == (1, [False])
        assert desk.asked == ([Position(2)] if taking else []), "who cannot take more has time"
        socket.open = True
        subscription.pump()
        return socket

    socket = asyncio.run(work())
    assert socket.taken == ([1, 2] if taking else [])
    assert desk.asked == [Position(2 if taking else 0)], "once"


def test_progress_is_for_those_who_wait_for_nothing(channel: Channel, subscription: Subscription) -> None:
    socket = Socket(subscription)
    tell(channel, message(1, Kind.PROGRESS))
    socket.open = False
    tell(channel, message(2), message(3, Kind.PROGRESS))
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

    def deliver(told: Message) -> bool:
        taken.append(told.t)
        subscription.close()
        return True

    subscription.listen(deliver, lambda _: None)
    tell(channel, message(1), message(2))
    assert (taken, desk.gone) == ([1], [True])


def test_a_reader_that_fails_is_let_go(
    desk: Desk, channel: Channel, subscription: Subscription, caplog: pytest.LogCaptureFixture
) -> None:
    def deliver(_: Message) -> bool:
        raise RuntimeError("a mistake")

    other = Subscription(desk, SETTINGS, Position(0))
    other.joined(channel, ())
    subscription.listen(deliver, lambda _: None)
    socket = Socket(other)
    tell(channel, message(1))
    assert socket.taken == [1], "the others never notice"
    assert subscription.closed
    assert "a mistake" in caplog.text


def test_members_that_lost_a_message_are_told_some_at_a_time(desk: Desk, channel: Channel) -> None:
    for _ in range(200):
        Subscription(desk, SETTINGS, Position(0)).joined(channel, ())
    turns = list(channel.lose())
    assert len(turns) >= 3
    assert not channel.members
    assert desk.gone == [False] * 200
