"""What all connections share: their number, the bytes of unanswered bodies, and the clock that ends late ones.

It stands before authentication, so it knows addresses and bytes and nothing of requests.
"""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final, Protocol

import orjson
from starlette.types import Receive, Scope

from adalog.datalog.errors import RETRYABLE, Code
from adalog.executor.bounds.other_processes import NO_OTHERS
from adalog.gateway.connections import limits
from adalog.gateway.connections.guards import SECURITY_HEADERS
from adalog.gateway.settings.config import Settings
from adalog.gateway.settings.value_types import networks

# For the log, segments, Redis and Spark.
_KEPT_DESCRIPTORS: Final = 256
# What a client may send unread: after a refusal, so that it comes to read why, or where it never had a request.
LINGER_BYTES: Final = 256 * 1024
# Connections beyond the limit that are told so in peace.
_MOST_LINGERING: Final = 32
# Connections that the clock looks at in one turn of the event loop.
_CHECKED_AT_ONCE: Final = 64
_LOGGER: Final = logging.getLogger("adalog.server")


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is given without any application. `why`: its name in the metrics."""

    why: str
    status: int
    code: Code
    message: str

    def answer(self) -> bytes:
        """The whole of it as HTTP/1.1, in GraphQL's form; the connection ends with it."""
        retryable = self.code in RETRYABLE
        error = {"message": self.message, "extensions": {"code": self.code.value, "retryable": retryable}}
        body = orjson.dumps({"errors": [error]})
        headers = [
            (b"content-type", b"application/json; charset=utf-8"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"connection", b"close"),
            *([(b"retry-after", b"1")] if self.status == 503 else ()),
            *SECURITY_HEADERS,
        ]
        lines = [f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}".encode()]
        lines += [b"%b: %b" % header for header in headers]
        return b"\r\n".join([*lines, b"", body])


MALFORMED: Final = Refusal("malformed", 400, Code.ARG_INVALID, "this is no HTTP/1.1 request")
NO_HOST: Final = Refusal("host", 400, Code.ARG_INVALID, "a request has one Host header")
BAD_TARGET: Final = Refusal(
    "target", 400, Code.ARG_INVALID, "the target of a request is a path, or http://host/path"
)
TINY_CHUNKS: Final = Refusal(
    "chunks", 400, Code.ARG_INVALID, "the body comes in chunks of a few bytes; send larger ones"
)
UNWANTED: Final = Refusal(
    "unwanted", 400, Code.LIMIT_EXCEEDED, "the body of a request that was answered already does not end"
)
TOO_MANY_AHEAD: Final = Refusal(
    "pipelined", 400, Code.LIMIT_EXCEEDED, "too many requests were sent ahead of the answers to earlier ones"
)


class Peer(Protocol):
    """A connection, whatever it speaks. `held`: bytes that came and wait for something; `since`: when its present
    part began, or something came last."""

    address: str
    held: int
    since: float
    transport: asyncio.Transport

    @property
    def is_idle(self) -> bool: ...

    @property
    def is_receiving(self) -> bool: ...

    def refuse(self, refusal: Refusal) -> None:
        """Ends it, and says why where that is possible."""

    def make_room(self) -> None:
        """Ends it while it is idle."""

    def check(self, now: float) -> None:
        """Ends it if the client has taken too long for what it does."""

    def let_go(self) -> None:
        """Ends it if all that is left is for the client to take what was sent."""


WholeResponse = tuple[bytes, bytes]
"""The first line of a response, and the rest."""


class LaterResponse(Protocol):
    """A response that waits for something, and goes on in `context`."""

    @property
    def context(self) -> Context: ...

    @property
    def work(self) -> asyncio.Future[Any] | Coroutine[Any, Any, object]:
        """What it waits for. It is cancelled where the server does not wait any longer. A coroutine takes a task,
        and raises nothing."""

    @property
    def settle(self) -> Callable[[], object]:
        """Is called once a future is done, and raises nothing."""

    @property
    def response(self) -> Callable[[], WholeResponse | None]:
        """Makes it after that, unless the app is called; None where the app has to be called, which sends it."""


class WholeResponses(Protocol):
    """What answers requests that need no layers of the app."""

    def answer(
        self, scope: Scope, body: bytes | bytearray, receive: Receive
    ) -> WholeResponse | LaterResponse | None:
        """The response to a request; None where the app has to be called. It raises nothing."""


class Wire:
    """The connections of one server and what they hold. Lives on its event loop, `start` to `stop`."""

    def __init__(self, settings: Settings) -> None:
        self.request_bytes = settings.request_bytes
        self.idle_seconds = settings.idle_seconds
        # May be lowered, where the process has fewer descriptors.
        self.most = settings.connections
        self.refused: Counter[str] = Counter()
        # Connections that are open for events, by how they are sent; messages of WebSockets, and how they ended.
        self.streams: Counter[str] = Counter({"events": 0, "websocket": 0})
        self.messages: Counter[str] = Counter()
        self.closed: Counter[str] = Counter()
        self.body_bytes = 0
        # Whether the server stops soon: each HTTP response is the last one of its connection.
        self.is_draining = False
        self.connections: set[Peer] = set()
        # None where every request goes through the app.
        self.direct: WholeResponses | None = None
        self._server_headers: tuple[Sequence[tuple[bytes, bytes]], bytes] = ((), b"")
        # Called with the number of open connections.
        self.counted: Callable[[int], None] = lambda connections: None
        self._most_of_address = settings.connections_per_address
        self._most_body_bytes = settings.bodies_bytes
        # What other workers hold of it, which cannot be taken from them: an Nth is always left to this one.
        self.beside = NO_OTHERS
        self._own_body_bytes = settings.bodies_bytes // settings.workers
        self._proxies = networks(settings.trusted_proxies)
        self._of_address: Counter[str] = Counter()
        self._lingering: set[Peer] = set()
        self._most_lingering = _MOST_LINGERING
        self._sweeping: asyncio.Handle | None = None
        times = (limits.HEAD_SECONDS, limits.BODY_SECONDS, limits.SEND_SECONDS, limits.INIT_SECONDS)
        self._pause = min(1.0, min(*times, limits.PING_SECONDS, self.idle_seconds) / 4)

        self.large_head = Refusal(
            "head_bytes",
            431,
            Code.LIMIT_EXCEEDED,
            f"the request's first line and headers have more than {limits.HEAD_BYTES:,} bytes, or are too many",
        )
        self.late_head = Refusal(
            "head_seconds", 408, Code.TIMEOUT, f"the headers were not here after {limits.HEAD_SECONDS:g} s"
        )
        self.late_body = Refusal(
            "body_seconds", 408, Code.TIMEOUT, f"the body was not here after {limits.BODY_SECONDS:g} s"
        )
        self.full = Refusal(
            "connections", 503, Code.RATE_LIMITED, "this server has as many connections as it takes; try again"
        )
        self.full_address = Refusal(
            "connections_per_address",
            503,
            Code.RATE_LIMITED,
            f"there are {self._most_of_address} connections from this address already; "
            "ADALOG_CONNECTIONS_PER_ADDRESS moves this limit",
        )
        self.full_bodies = Refusal(
            "body_bytes",
            503,
            Code.RATE_LIMITED,
            "the requests that are being received or answered have more bytes than this server keeps of them; try "
            "again",
        )

    def server_headers(self, headers: Sequence[tuple[bytes, bytes]]) -> bytes:
        """The headers that the server adds to each response, of which there are others each second."""
        if headers is not self._server_headers[0]:
            self._server_headers = headers, b"".join([b"%b: %b\r\n" % header for header in headers])
        return self._server_headers[1]

    def fit(self, descriptors: int) -> None:
        """Takes no more connections than there are descriptors for, and leaves some to the database."""
        kept = min(_KEPT_DESCRIPTORS, descriptors // 2)
        self._most_lingering = min(_MOST_LINGERING, kept // 4)
        room = max(1, descriptors - kept)
        if room < self.most:
            _LOGGER.warning(
                "%d connections are taken at once, not %d: the process may open no more files (ulimit -n)",
                room,
                self.most,
            )
            self.most = room

    def start(self) -> None:
        """From now on late connections are ended; in the event loop."""
        self._sweeping = asyncio.get_running_loop().call_later(self._pause, self._sweep)

    def stop(self) -> None:
        """Late connections are not looked for any more: all of them are about to end."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        for connection in self._lingering:
            connection.transport.abort()

    def let_go(self) -> None:
        """Waits no longer for clients that have only to take what was sent, or to confirm the end."""
        for connection in tuple(self.connections):
            connection.let_go()

    def admit(self, connection: Peer) -> Refusal | None:
        """Takes a connection in, or says why not. An idle one makes room for it."""
        address = connection.address
        limited = bool(address) and not self._is_proxy(address)
        if limited and self._of_address[address] >= self._most_of_address:
            if not self._make_room(other for other in self.connections if other.address == address):
                return self.full_address
        elif len(self.connections) >= self.most and not self._make_room(self.connections):
            return self.full
        self.connections.add(connection)
        self._of_address[address] += 1
        self.counted(len(self.connections))
        return None

    def hand_over(self, before: Peer, after: Peer) -> None:
        """The same connection goes on as another object."""
        if before in self.connections:
            self.connections.remove(before)
            self.connections.add(after)

    def forget(self, connection: Peer) -> None:
        """A connection is gone, and what it held. Once is enough."""
        self.release(connection)
        self._lingering.discard(connection)
        if connection in self.connections:
            self.connections.remove(connection)
            self._of_address[connection.address] -= 1
            if not self._of_address[connection.address]:
                del self._of_address[connection.address]
            self.counted(len(self.connections))

    def hold(self, connection: Peer, size: int) -> None:
        """So many bytes more of a body. Where there are too many, the address with most loses: a body that is on
        the way rather than one that is being answered."""
        connection.held += size
        self.body_bytes += size
        self.beside.tell(self.body_bytes)
        while self.body_bytes > max(self._own_body_bytes, self._most_body_bytes - self.beside.others()):
            held: Counter[str] = Counter()
            for other in self.connections:
                held[other.address] += other.held
            heaviest = max(
                self.connections,
                key=lambda other: (held[other.address], other.address, other.is_receiving, other.held),
            )
            if not heaviest.held:
                return
            self.release(heaviest)
            heaviest.refuse(self.full_bodies)

    def may_linger(self, connection: Peer) -> bool:
        """Whether a refused connection may stay open until the client has read why."""
        if len(self._lingering) >= self._most_lingering:
            return False
        self._lingering.add(connection)
        return True

    def unread_bytes(self, refusal: Refusal | None = None) -> int:
        """How much more may come unread before a connection is cut. refusal: what was said; None:
        the body of a request that has its answer."""
        # Of a request that is none, nothing more is worth reading.
        may_be_sound = refusal is None or refusal.status in (408, 503)
        return max(LINGER_BYTES, self.request_bytes) if may_be_sound else LINGER_BYTES

    def release(self, connection: Peer, size: int | None = None) -> None:
        """So many bytes of bodies were answered, or all; or their client is gone."""
        size = connection.held if size is None else min(size, connection.held)
        self.body_bytes -= size
        self.beside.tell(self.body_bytes)
        connection.held -= size

    def _make_room(self, candidates: Iterable[Peer]) -> bool:
        """Whether a connection that waits for nothing could be closed."""
        idle = min((other for other in candidates if other.is_idle), key=lambda other: other.since, default=None)
        if idle is None:
            return False
        self.refused["idle"] += 1
        self.forget(idle)
        idle.make_room()
        return True

    def _sweep(self) -> None:
        self._check(iter((*self.connections, *self._lingering)))

    def _check(self, left: Iterator[Peer]) -> None:
        """Checks some connections at a time: events of thousands of streams would wait for all."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        some = list(itertools.islice(left, _CHECKED_AT_ONCE))
        for connection in some:
            # Meanwhile it may have gone.
            if connection in self.connections or connection in self._lingering:
                connection.check(now)
        if len(some) < _CHECKED_AT_ONCE:
            self._sweeping = loop.call_later(self._pause, self._sweep)
        else:
            self._sweeping = loop.call_soon(self._check, left)

    def _is_proxy(self, address: str) -> bool:
        return bool(self._proxies) and any(ipaddress.ip_network(address)[0] in network for network in self._proxies)
