"""Server-sent events: one operation in the distinct connections mode of graphql-sse, or all those of an array.

https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md,
https://html.spec.whatwg.org/multipage/server-sent-events.html. An event is `next` with an execution result,
and of a subscription the token to resume it as `id`, which a browser hands back as Last-Event-ID. `complete` ends
an operation; one that ends without it is to be resumed. The events of an array carry the name of their operation,
in the form of graphql-sse's single connection mode.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

import orjson

from adalog.datalog.errors import AdalogError
from adalog.executor.live.subscribers.event import Message
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.gateway.connections.event_transport import EventTransport, send_events
from adalog.schema.request.errors import describe

_NEXT: Final = b"event: next\ndata: "
FINISHED: Final = "complete"
"""The Last-Event-ID of a browser whose operation is over: EventSource would repeat the request for ever."""
# EventSource drops an event without data.
_COMPLETE: Final = b"event: complete\ndata: \n\n"
_COMPLETE_FOR_GOOD: Final = b"event: complete\nid: %b\ndata: \n\n" % FINISHED.encode()
# A comment, which clients ignore: proxies keep the connection open.
_KEEP_ALIVE: Final = b":\n\n"


def whole(body: Sequence[bytes], *, again: bool = False) -> list[bytes]:
    """The events of an operation with one result, whose JSON is `body`. `again`: the request is worth repeating."""
    return [_NEXT, *body, b"\n\n" + (_COMPLETE if again else _COMPLETE_FOR_GOOD)]


class OperationFrames(Protocol):
    """How one operation of a response is written."""

    def event(self, message: Message) -> bytes:
        """One event of a subscription."""

    def failure(self, errors: Sequence[Mapping[str, Any]]) -> bytes:
        """The errors that end it."""

    def end(self) -> bytes:
        """Its end in order."""


@dataclass(frozen=True, slots=True)
class StreamForm:
    """How a response with events is written. `opening`: its first bytes; `keep_alive`: what clients ignore;
    `frames`: of its only operation."""

    media: bytes
    opening: bytes
    keep_alive: bytes
    frames: Callable[[], OperationFrames]

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"content-type", self.media),
            (b"cache-control", b"no-store"),
            (b"vary", b"Accept"),
            # nginx would collect events before it passes them on.
            (b"x-accel-buffering", b"no"),
        ]


class DistinctFrames:
    """The only operation of a response. JSON written by orjson has no line break: one line of data is enough."""

    def event(self, message: Message) -> bytes:
        return b"event: next\nid: %b\ndata: %b\n\n" % (message.resume.encode(), message.payload)

    def failure(self, errors: Sequence[Mapping[str, Any]]) -> bytes:
        return b"".join(whole([orjson.dumps({"errors": errors})], again=worth_repeating(errors)))

    def end(self) -> bytes:
        return _COMPLETE_FOR_GOOD


FORM: Final = StreamForm(b"text/event-stream; charset=utf-8", _KEEP_ALIVE, _KEEP_ALIVE, DistinctFrames)


class NamedFrames:
    """One operation of several: its events carry its name."""

    __slots__ = ("_head", "_name")

    def __init__(self, name: str) -> None:
        self._name = orjson.dumps(name)
        self._head = b'event: next\ndata: {"id":%b,"payload":' % self._name

    def event(self, message: Message) -> bytes:
        return b"%b%b}\n\n" % (self._head, message.payload)

    def failure(self, errors: Sequence[Mapping[str, Any]]) -> bytes:
        return b"%b%b}\n\n%b" % (self._head, orjson.dumps({"errors": errors}), self.end())

    def end(self) -> bytes:
        return b'event: complete\ndata: {"id":%b}\n\n' % self._name


class EventStream:
    """Operations on their way to one client in one response. `count`: how many there are; `over` is done when none
    is left, the client is gone or the server stops."""

    def __init__(self, direct: EventTransport, count: int, ping_seconds: float, keep_alive: bytes) -> None:
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = self._loop.create_future()
        self._left = count
        self._followed: dict[OperationFrames, Subscription] = {}
        # Those that have more than the connection takes at the moment, in turn.
        self._waiting: dict[OperationFrames, Subscription] = {}
        self._direct = direct
        self._ping_seconds = ping_seconds
        self._keep_alive = keep_alive
        self._sent = self._loop.time()

    def begin(self) -> None:
        """Has the connection carry events from now on."""
        self._direct.attach(self)

    def follow(self, frames: OperationFrames, subscription: Subscription) -> None:
        """Sends the waiting events of a subscription, then each new one."""
        if self.over.done():
            subscription.close()
            return
        self._followed[frames] = subscription
        subscription.listen(partial(self._deliver, frames, frames.event), partial(self._ended, frames))

    def refuse(self, frames: OperationFrames, errors: Sequence[Mapping[str, Any]]) -> None:
        """An operation does not begin, or ends in errors."""
        self._end(frames, frames.failure(errors))

    def writable(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for subscription in waiting.values():
            subscription.pump()

    def leave(self) -> None:
        self.lost()

    def lost(self) -> None:
        for subscription in self._followed.values():
            subscription.close()
        self._followed.clear()
        self._waiting.clear()
        if not self.over.done():
            self.over.set_result(None)

    def fail(self, error: AdalogError) -> None:
        """Ends all of them in an error."""
        for frames in list(self._followed):
            self._ended(frames, error)
        self.lost()

    def check(self, now: float) -> None:
        if now - self._sent > self._ping_seconds and not self._direct.is_full and not self.over.done():
            self._direct.send_piece(self._keep_alive)
            self._sent = now

    def _deliver(
        self, frames: OperationFrames, written: Callable[[Message], bytes], messages: Sequence[Message]
    ) -> int:
        sent = send_events(self._direct, messages, written)
        if sent:
            self._sent = self._loop.time()
        if sent < len(messages):
            self._waiting[frames] = self._followed[frames]
        return sent

    def _ended(self, frames: OperationFrames, error: AdalogError | None) -> None:
        self._end(frames, frames.end() if error is None else frames.failure([describe(error)]))

    def _end(self, frames: OperationFrames, said: bytes) -> None:
        if self.over.done():
            return
        self._direct.send_piece(said)
        self._sent = self._loop.time()
        self._waiting.pop(frames, None)
        subscription = self._followed.pop(frames, None)
        if subscription is not None:
            subscription.close()
        self._left -= 1
        if not self._left:
            self.lost()


def worth_repeating(errors: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the same request may succeed later, or with a new token."""
    return any(
        each["extensions"].get("retryable") or each["extensions"]["code"] == "UNAUTHENTICATED" for each in errors
    )
