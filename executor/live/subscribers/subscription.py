"""One subscriber's end of a stream: a bounded mailbox between the hub, which never waits, and a reader.

Three ways to read, of which a subscription takes one:

- `listen(deliver, ended)`: `deliver(messages)` is called on the event loop's thread with messages in order and
  returns how many of them it took. While it takes all, messages pass through without being queued. The others
  wait here; `pump()` tries again, and is to be called whenever there is room (a socket's buffer has drained).
  `ended(error)` is called once, after the last message: None where the subscription was closed by the hub in order.
- `async for message in subscription`: raises what the query was ended with.
- `for message in subscription`, of a `BlockingSubscription`, on a thread of one's own.

`close()` ends it from the reader's side, at any time; nothing is called after it. Every method but `close` of a
blocking one belongs to one thread: that of the event loop on which it was made.

A mailbox that is full is emptied: only the position of the last message that was handed over is remembered, and the
subscription no longer follows the feed. When the reader has taken what is left and comes again, the hub fills the
gap between that position and now. Chunks of a snapshot that wait are kept.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Protocol

from adalog.datalog.errors import AdalogError
from adalog.executor.live.settings import LiveSettings
from adalog.executor.live.subscribers.delivery import Channel
from adalog.executor.live.subscribers.event import EventKind, Message, StreamPosition

Deliver = Callable[[Sequence[Message]], int]
Ended = Callable[[AdalogError | None], None]

_LOGGER: Final = logging.getLogger("adalog.live")
# Messages that wait, of which so many are delivered at once.
_AT_ONCE: Final = 64
_OF_A_SNAPSHOT: Final = (EventKind.SNAPSHOT, EventKind.RESET)


class SubscriptionHub(Protocol):
    """The hub, as a subscription sees it. Its methods only queue what they are told. Thread-safe. `wanted`: the
    subscription has come to a position, has room, and does not follow its feed. `left`: it no longer follows; with
    `closed` it never will again. `overflowed`: a mailbox was full. `room`: takes or gives back bytes of all
    mailboxes; whether there was room for them; with `always` even beyond."""

    def wanted(self, subscription: Subscription, position: StreamPosition | None) -> None: ...
    def left(self, subscription: Subscription, *, closed: bool) -> None: ...
    def overflowed(self) -> None: ...
    def room(self, nbytes: int, *, always: bool = False) -> bool: ...


FirstMessage = Callable[[Message], Message]
"""What makes the first message of a stream its own, which others may share."""


@dataclass(eq=False, slots=True, weakref_slot=True)
class Subscription:
    """See the module. `position`: that of the last message that was handed over, or where the stream begins."""

    _desk: SubscriptionHub
    _settings: LiveSettings
    position: StreamPosition | None
    # Of the message that is handed over first, whichever it is; None once it was.
    _first: FirstMessage | None = None
    channel: Channel | None = field(default=None, init=False)
    closed: bool = field(default=False, init=False)
    _queue: deque[Message] = field(default_factory=deque, init=False)
    _nbytes: int = field(default=0, init=False)
    # Whether the hub is to be asked for what follows once the queue is empty.
    _behind: bool = field(default=False, init=False)
    # What the messages that wait are paid with, let go of when all of them are gone.
    _held: list[object] = field(default_factory=list, init=False)
    _deliver: Deliver | None = field(default=None, init=False)
    _ended: Ended | None = field(default=None, init=False)
    _end: AdalogError | None = field(default=None, init=False)
    _finished: bool = field(default=False, init=False)
    _waiter: asyncio.Future[None] | None = field(default=None, init=False)

    # For the reader

    def listen(self, deliver: Deliver, ended: Ended) -> None:
        """Takes the direct way; what waits is delivered at once."""
        self._deliver, self._ended = deliver, ended
        self.pump()

    def pump(self) -> None:
        """Delivers what waits, as long as it is taken."""
        queue = self._queue
        while self._deliver is not None:
            some = list(islice(queue, _AT_ONCE))
            taken = self._taken(self._deliver, some) if some else 0
            for _ in range(min(taken, len(queue))):
                self._next()
            if taken < len(some):
                return
            if not queue:
                self._emptied()
                return

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._forget()
            self._wake()
            self._desk.left(self, closed=True)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Message:
        while not self._queue:
            if self._finished or self.closed:
                if self._end is not None:
                    raise self._end
                raise StopAsyncIteration
            self._emptied()
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        return self._opened(self._next())

    # For the outlet, on the reader's thread

    def filled(self, messages: Iterable[Message], held: object, *, behind: bool) -> None:
        """Messages that were asked for, whatever they weigh. `held`: what they are paid with. `behind`: the hub
        is to be asked again when they are gone."""
        if self.closed or self._finished:
            return
        self._behind = behind
        if held is not None:
            self._held.append(held)
        for message in messages:
            if message.kind not in _OF_A_SNAPSHOT:
                self._nbytes += message.nbytes
                self._desk.room(message.nbytes, always=True)
            self._queue.append(message)
        self._arrived()

    def joined(self, channel: Channel, backlog: Iterable[Message]) -> None:
        """It follows from here on, and gets the messages since its position first."""
        if self.closed or self._finished:
            return
        self.channel = channel
        channel.members[self] = None
        self.take(tuple(backlog))

    def take(self, messages: Sequence[Message]) -> None:
        if self._deliver is not None and not self._queue and messages:
            taken = self._taken(self._deliver, messages)
            if taken:
                self.position = messages[taken - 1].position
                messages = messages[taken:]
        for message in messages:
            if self.channel is None:
                return
            self._keep(message)

    def _keep(self, message: Message) -> None:
        """Has a message wait, or gives up what waits where there is no room."""
        if self._queue and message.kind is EventKind.PROGRESS:
            return
        most, room = self._settings.mailbox_events, self._settings.mailbox_bytes
        full = len(self._queue) >= most or (self._queue and self._nbytes + message.nbytes > room)
        if full or not self._desk.room(message.nbytes):
            self.fall_behind()
            return
        self._queue.append(message)
        self._nbytes += message.nbytes
        self._wake()

    def fall_behind(self) -> None:
        """Drops what waits, but for a snapshot that was begun; the hub is asked again once there is room."""
        self._desk.overflowed()
        kept = [message for message in self._queue if message.kind in _OF_A_SNAPSHOT]
        self._drop()
        self._queue.extend(kept)
        self._behind = True
        self._unlink()
        self._desk.left(self, closed=False)
        # A reader that waits for the next message asks when it wakes up; one that listens, when it pumps.
        self._wake()

    def lose(self) -> None:
        """Messages were lost on the way."""
        is_pumped = bool(self._queue)
        self.fall_behind()
        if not is_pumped:
            # A listener that has taken everything has no reason to come by itself.
            self.pump()

    def end(self, error: AdalogError | None) -> None:
        """Nothing follows what waits now."""
        if self.closed or self._finished:
            return
        self._finished, self._end, self._behind = True, error, False
        self._unlink()
        self._arrived()

    def abandon(self) -> None:
        """The event loop of its reader is closed. On the hub's thread, the only one that still comes here."""
        if not self.closed:
            self.closed = True
            self._forget()

    # Within

    def _arrived(self) -> None:
        if self._deliver is not None:
            self.pump()
        self._wake()

    def _taken(self, deliver: Deliver, messages: Sequence[Message]) -> int:
        """How many of the messages the reader took; 0 once it is closed."""
        try:
            if self._first is not None:
                messages = [self._first(messages[0]), *messages[1:]]
            taken = deliver(messages)
        except Exception:
            _LOGGER.exception("a subscriber failed, and is let go")
            self.close()
            return 0
        if taken:
            self._first = None
        return 0 if self.closed else taken

    def _opened(self, message: Message) -> Message:
        first, self._first = self._first, None
        return message if first is None else first(message)

    def _next(self) -> Message:
        message = self._queue.popleft()
        if message.kind not in _OF_A_SNAPSHOT:
            self._nbytes -= message.nbytes
            self._desk.room(-message.nbytes)
        self.position = message.position
        return message

    def _drop(self) -> None:
        self._queue.clear()
        self._desk.room(-self._nbytes)
        self._nbytes = 0

    def _emptied(self) -> None:
        self._held.clear()
        if self.closed:
            return
        if self._behind:
            self._behind = False
            self._desk.wanted(self, self.position)
        if self._finished and self._ended is not None:
            ended, self._ended, self._deliver = self._ended, None, None
            ended(self._end)

    def _unlink(self) -> None:
        if self.channel is not None:
            self.channel.members.pop(self, None)
            self.channel = None

    def _forget(self) -> None:
        self._unlink()
        self._drop()
        self._held.clear()
        self._deliver = self._ended = self._first = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class BlockingSubscription(Subscription):
    """A subscription that a thread reads; the hub's thread fills it."""

    __slots__ = ("_condition",)

    def __init__(self, desk: SubscriptionHub, settings: LiveSettings, position: StreamPosition | None) -> None:
        super().__init__(desk, settings, position)
        self._condition = threading.Condition(threading.RLock())

    def __iter__(self) -> BlockingSubscription:
        return self

    def __next__(self) -> Message:
        with self._condition:
            while not self._queue:
                if self._finished or self.closed:
                    if self._end is not None:
                        raise self._end
                    raise StopIteration
                self._emptied()
                self._condition.wait()
            return self._opened(self._next())

    def filled(self, messages: Iterable[Message], held: object, *, behind: bool) -> None:
        with self._condition:
            super().filled(messages, held, behind=behind)

    def joined(self, channel: Channel, backlog: Iterable[Message]) -> None:
        with self._condition:
            super().joined(channel, backlog)

    def take(self, messages: Sequence[Message]) -> None:
        with self._condition:
            super().take(messages)

    def fall_behind(self) -> None:
        with self._condition:
            super().fall_behind()

    def end(self, error: AdalogError | None) -> None:
        with self._condition:
            super().end(error)

    def close(self) -> None:
        with self._condition:
            super().close()

    def _wake(self) -> None:
        self._condition.notify_all()
