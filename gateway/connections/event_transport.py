"""The direct way to a client: a connection that events are written to at once, without a task for each message.

ASGI's `send` is a coroutine through every middleware. At 1,000 subscribers and 50 events a second it alone would
take a core, so the two protocol classes put themselves into the scope under `EXTENSION`, and a stream writes
there as long as there is room. What does not fit stays in the subscriber's bounded mailbox.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from starlette.types import Scope

if TYPE_CHECKING:
    from adalog.executor.live.subscribers.event import Message

AT_ONCE_BYTES: Final = 16 * 1024
"""What is written to the transport at once, of several messages."""

EXTENSION: Final = "adalog.direct"
"""The extension's name in an ASGI scope; what stands there under `connection` is the connection."""


class EventSender(Protocol):
    """Sends events over a connection, and hears of its state."""

    def writable(self) -> None:
        """There is room again after there was none."""

    def leave(self) -> None:
        """The server stops: streams end now, so that their clients go on elsewhere."""

    def lost(self) -> None:
        """The connection is gone."""

    def check(self, now: float) -> None:
        """Called every second or so, by the event loop's clock."""


class EventTransport(Protocol):
    """A connection that events are written to, within the event loop."""

    @property
    def is_full(self) -> bool:
        """Whether what was sent has yet to be taken. Writing is allowed, and kept in memory."""

    def attach(self, sender: EventSender) -> None:
        """The sender hears of this connection from now on; at once, if the connection is gone already."""

    def send_piece(self, piece: bytes) -> None:
        """Sends bytes of the body, or one message, unless the connection is gone."""

    def send_each(self, pieces: Sequence[bytes]) -> None:
        """Sends several such pieces at once: the system is asked once for all of them."""


def direct_way(scope: Scope) -> EventTransport:
    """The connection that this request came by."""
    connection: EventTransport = scope["extensions"][EXTENSION]["connection"]
    return connection


def send_events(direct: EventTransport, messages: Sequence[Message], written: Callable[[Message], bytes]) -> int:
    """Sends as many of the messages as there is room for; how many. `written`: one of them as a piece."""
    sent, most = 0, len(messages)
    if most == 1 and not direct.is_full:
        direct.send_piece(written(messages[0]))
        return 1
    while sent < most and not direct.is_full:
        pieces, size = [], 0
        while sent < most and size < AT_ONCE_BYTES:
            piece = written(messages[sent])
            pieces.append(piece)
            size += len(piece)
            sent += 1
        direct.send_each(pieces)
    return sent


@dataclass(slots=True)
class TakingPace:
    """How fast a client takes what is sent: the bytes that waited when last looked at, those taken since `since`,
    and those that waited then."""

    since: float
    unsent: int = 0
    taken: int = 0
    waited: int = 0

    def has_stalled(self, now: float, unsent: int, seconds: float, least: float) -> bool:
        """Whether less than `least` bytes were taken in so many seconds, while there were bytes to take."""
        self.taken += max(0, self.unsent - unsent)
        self.unsent = unsent
        if not unsent:
            self._begin(now)
            return False
        self.waited = self.waited or unsent
        if now - self.since < seconds:
            return False
        stalled = self.taken < least
        self._begin(now)
        return stalled

    def _begin(self, now: float) -> None:
        self.since, self.taken, self.waited = now, 0, self.unsent


def limit_silence(transport: asyncio.Transport, seconds: float) -> None:
    """Has the system end a connection whose other side confirms nothing that is sent for so long, where it can."""
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    connected = transport.get_extra_info("socket")
    if option is not None and connected is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
        # A socket that was closed meanwhile is silent already; uvloop says so with a ValueError.
        with contextlib.suppress(OSError, ValueError):
            connected.setsockopt(socket.IPPROTO_TCP, option, int(seconds * 1000))
