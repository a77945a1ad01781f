"""Server-sent events: an operation as graphql-sse has it in its distinct connections mode.

https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md,
https://html.spec.whatwg.org/multipage/server-sent-events.html. An event is `next` with an execution result,
and of a subscription the token to resume it as `id`, which a browser hands back as Last-Event-ID. `complete` ends a
stream; one that ends without it is to be resumed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from adalog.datalog.errors import AdalogError
from adalog.executor.live.subscribers.event import Message
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.gateway.connections.event_transport import EventTransport, send_events
from adalog.schema.live.stream import ending

_NEXT: Final = b"event: next\ndata: "
# EventSource drops an event without data.
_COMPLETE: Final = b"event: complete\ndata: \n\n"
KEEP_ALIVE: Final = b":\n\n"
"""A comment, which clients ignore: proxies keep the connection open."""
HEADERS: Final = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"vary", b"Accept"),
    # nginx would collect events before it passes them on.
    (b"x-accel-buffering", b"no"),
]


def whole(body: Sequence[bytes]) -> list[bytes]:
    """The events of an operation with one result, whose JSON is `body`."""
    return [_NEXT, *body, b"\n\n" + _COMPLETE]


def framed(message: Message) -> bytes:
    """One event. JSON written by orjson has no line break, so that one line of data is enough."""
    return b"event: next\nid: %b\ndata: %b\n\n" % (message.resume.encode(), message.payload)


class EventStream:
    """One subscription on its way to one client. `over` is done when nothing more is sent."""

    def __init__(self, stream: Subscription, direct: EventTransport, ping_seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self.over: asyncio.Future[None] = self._loop.create_future()
        self._stream = stream
        self._direct = direct
        self._ping_seconds = ping_seconds
        self._sent = self._loop.time()

    def begin(self) -> None:
        """Sends what there is, and from now on what comes."""
        self._direct.attach(self)
        self._stream.listen(self._deliver, self._ended)

    def writable(self) -> None:
        self._stream.pump()

    def leave(self) -> None:
        self.lost()

    def lost(self) -> None:
        self._stream.close()
        if not self.over.done():
            self.over.set_result(None)

    def fail(self, error: AdalogError) -> None:
        if not self.over.done():
            self._ended(error)

    def check(self, now: float) -> None:
        if now - self._sent > self._ping_seconds and not self._direct.is_full and not self.over.done():
            self._direct.send_piece(KEEP_ALIVE)
            self._sent = now

    def _deliver(self, messages: Sequence[Message]) -> int:
        sent = send_events(self._direct, messages, framed)
        if sent:
            self._sent = self._loop.time()
        return sent

    def _ended(self, error: AdalogError | None) -> None:
        if error is None:
            self._direct.send_piece(_COMPLETE)
        else:
            self._direct.send_piece(b"".join(whole([ending(error)])))
        self.lost()
