"""The way from the hub's thread to where subscribers read: to an event loop in one call for each tick, to threads
directly. What the hub posts to one delivery arrives in the order in which it was posted.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from adalog.executor.live.subscribers.event import Message, MessageForm

_LOGGER: Final = logging.getLogger("adalog.live")

Act = Callable[..., Iterator[None] | None]

# Subscribers that are told before the time is looked at, and seconds for which the event loop is kept.
_AT_ONCE: Final = 64
_TURN_SECONDS: Final = 0.005
# Messages that may wait for an event loop that is busy, and their bytes.
_MOST_MESSAGES: Final = 8_192
_MOST_BYTES: Final = 32 << 20


class Delivery(Protocol):
    """Where some subscribers read. `key`: equal for deliveries that are one. `closed`: its subscribers are gone.
    `post`: has something done there, after all that was posted before. `tell`: posts a message to all members of a
    channel. `flush`: what was posted is to be done now."""

    key: Hashable

    @property
    def closed(self) -> bool: ...
    def post(self, act: Act, *args: Any) -> None: ...
    def tell(self, channel: Channel, message: Message) -> None: ...
    def flush(self) -> None: ...


class ChannelMember(Protocol):
    """A subscription, as a channel sees it."""

    channel: Channel | None

    def take(self, messages: Sequence[Message]) -> None: ...
    def lose(self) -> None: ...


@dataclass(eq=False, slots=True)
class Channel:
    """The subscriptions that follow one feed through one delivery in one form. `members` belong to the delivery's
    thread. `following`: how many they are, or will be when what was posted is done, as the hub counts them. `lost`:
    the delivery had no room, and all members are to be told."""

    delivery: Delivery
    form: MessageForm
    following: int = 0
    lost: bool = False
    members: dict[ChannelMember, None] = field(default_factory=dict)

    def take(self, messages: Sequence[Message]) -> Iterator[None]:
        """Gives messages to all members, some members at a time. On the delivery's thread."""
        for number, subscription in enumerate(tuple(self.members), 1):
            # Meanwhile it may have left.
            if subscription.channel is self:
                try:
                    subscription.take(messages)
                except Exception:
                    # The others are told all the same.
                    _LOGGER.exception("telling a subscriber failed")
            if number % _AT_ONCE == 0:
                yield

    def lose(self) -> Iterator[None]:
        """Messages were lost: each member asks for what it missed once it has read the rest. Some at a time."""
        for number, subscription in enumerate(tuple(self.members), 1):
            if subscription.channel is self:
                subscription.lose()
            if number % _AT_ONCE == 0:
                yield


class LoopDelivery:
    """An event loop's. Where the loop does not come to the messages of a channel one by one, each member gets them
    together: the system is asked once for all of them, so that a loop that falls behind has less to do."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.key: Hashable = id(loop)
        self.loop = loop
        self._posts: list[tuple[Act, tuple[Any, ...]]] = []
        # Messages among them, and their bytes.
        self._told = 0
        self._nbytes = 0
        # Messages that wait, behind which nothing but messages of other channels does: more are put there.
        self._open: dict[Channel, list[Message]] = {}
        self._called = False
        # What is being done, where it takes several turns of the loop.
        self._steps: Iterator[None] | None = None
        self._lock = threading.Lock()

    @property
    def closed(self) -> bool:
        return self.loop.is_closed()

    def post(self, act: Act, *args: Any) -> None:
        with self._lock:
            self._open.clear()
            self._posts.append((act, args))

    def tell(self, channel: Channel, message: Message) -> None:
        with self._lock:
            if channel.lost:
                return
            if self._told >= _MOST_MESSAGES or (self._posts and self._nbytes + message.nbytes > _MOST_BYTES):
                # The loop does not come to it: what it misses is asked for again by each subscriber.
                channel.lost = True
                self._open.clear()
                self._posts.append((channel.lose, ()))
                return
            messages = self._open.get(channel)
            if messages is None:
                messages = self._open[channel] = []
                self._posts.append((channel.take, (messages,)))
            messages.append(message)
            self._told += 1
            self._nbytes += message.nbytes

    def flush(self) -> None:
        with self._lock:
            if not self._posts or self._called:
                return
            self._called = True
        try:
            self.loop.call_soon_threadsafe(self._run)
        except RuntimeError:
            # The loop is closed, and its subscribers are gone.
            with self._lock:
                self._taken()
                self._called = False

    def _taken(self) -> list[tuple[Act, tuple[Any, ...]]]:
        posts, self._posts, self._open, self._told, self._nbytes = self._posts, [], {}, 0, 0
        return posts

    def _run(self) -> None:
        until = time.monotonic() + _TURN_SECONDS
        if self._steps is None:
            with self._lock:
                posts = self._taken()
            self._steps = _done(posts)
        for _ in self._steps:
            if time.monotonic() > until:
                self.loop.call_soon(self._run)
                return
        self._steps = None
        with self._lock:
            more = self._called = bool(self._posts)
        if more:
            self.loop.call_soon(self._run)


def _done(posts: list[tuple[Act, tuple[Any, ...]]]) -> Iterator[None]:
    """Does what was posted, a part at a time."""
    for act, args in posts:
        try:
            yield from act(*args) or ()
        except Exception:
            _LOGGER.exception("telling subscribers failed")
        yield


class ThreadDelivery:
    """For subscribers that read on threads of their own: what is posted is done at once, on the hub's thread."""

    key: Hashable = None
    closed = False

    def post(self, act: Act, *args: Any) -> None:
        for _ in _done([(act, args)]):
            pass

    def tell(self, channel: Channel, message: Message) -> None:
        for _ in channel.take((message,)):
            pass

    def flush(self) -> None:
        pass
