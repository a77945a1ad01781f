"""One connection: uvicorn's HTTP/1.1 protocol, with limits on what comes before there is a request.

A whole answer is uvicorn's affair. A stream of events writes to the connection itself
(`gateway.connections.event_transport`) and may be silent for as long as it likes. A WebSocket takes the connection
over (`gateway.connections.websocket`).
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping, Sequence
from enum import Enum, auto
from functools import partial
from typing import Any, Final, cast

import httptools
from starlette.types import Receive
from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from adalog.gateway.connections import limits
from adalog.gateway.connections.event_transport import EXTENSION, EventSender, TakingPace, limit_silence
from adalog.gateway.connections.websocket import WebSocket
from adalog.gateway.connections.wire import (
    BAD_TARGET,
    MALFORMED,
    NO_HOST,
    TINY_CHUNKS,
    TOO_MANY_AHEAD,
    UNWANTED,
    LaterResponse,
    Refusal,
    WholeResponse,
    Wire,
)
from adalog.gateway.identity.peer import counted_address
from adalog.gateway.process.backlog import is_readable

# Of one request. Each costs some microseconds, so that a read full of empty ones would hold up everybody.
_MOST_FIELDS: Final = 256
# Requests that wait for the answer to another one of the same connection.
_MOST_AHEAD: Final = 16
# Requests of one read that are answered before anything else is done.
_MOST_HERE: Final = 8
# Of a response after which the connection is closed.
_LAST: Final = b"connection: close\r\n"
# No opening handshake has one.
_OF_A_BODY: Final = (b"content-length", b"transfer-encoding")


class RequestPart(Enum):
    """What of a request is being received."""

    NOTHING = auto()
    HEAD = auto()
    BODY = auto()


class _RefusedError(Exception):
    """Stops the parser, which keeps it as the context of its own error."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Connection(HttpToolsProtocol):
    """`held`: bytes of bodies on the way or without an answer. `since`: when the present part began."""

    def __init__(
        self,
        wire: Wire,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.wire = wire
        self.address = ""
        self.part = RequestPart.NOTHING
        self.since = self.loop.time()
        self.held = 0
        self._is_refused = False
        # What may still come after that.
        self._unread_bytes = 0
        self._running: RequestResponseCycle | None = None
        # Of the present request.
        self._head_bytes = 0
        self._hosts = 0
        self._pieces = 0
        self._body_bytes = 0
        # Of requests that are not answered, the first of which is next: what is held of their bodies.
        self._bodies: dict[RequestResponseCycle, int] = {}
        # Of the connection: heads that were read, and bytes that came since of what is not complete yet.
        self._heads = 0
        self._raw_bytes = 0
        self._taking = TakingPace(self.since)
        # A request whose body is not read yet, and which may be answered without the app once it is.
        self._held: tuple[RequestResponseCycle, ASGI3Application] | None = None
        # Of what came together: requests that were answered so.
        self._answered_here = 0
        # Of a stream of events.
        self._sender: EventSender | None = None

    @property
    def is_idle(self) -> bool:
        return (
            self.part is RequestPart.NOTHING
            and not self._is_answering
            and not self.transport.get_write_buffer_size()
        )

    @property
    def is_receiving(self) -> bool:
        """Whether a part of a body is here, and not the rest."""
        return self.part is RequestPart.BODY and self.held > 0

    @property
    def _is_answering(self) -> bool:
        return self._running is not None and not self._running.response_complete

    # What the transport tells

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.address = counted_address(self.client[0]) if self.client else ""
        refusal = self.wire.admit(self)
        if refusal is not None:
            self.refuse(refusal)

    def connection_lost(self, exc: Exception | None) -> None:
        self.wire.forget(self)
        if self._sender is not None:
            self._sender.lost()
        self._detach()
        self._tell_gone()
        super().connection_lost(exc)

    def _tell_gone(self) -> None:
        """Tells the work on an answer that its client is gone."""
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            self._unread_bytes -= len(data)
            if self._unread_bytes < 0:
                self.transport.abort()
            return
        self._unset_keepalive_if_required()
        if self.part is RequestPart.NOTHING:
            self._begin_head()
        before = self.part, self._heads
        self._answered_here = 0
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._upgrade()
        except httptools.HttpParserError as error:
            if not self._is_refused:
                cause = error.__context__
                self.refuse(cause.refusal if isinstance(cause, _RefusedError) else MALFORMED)
        else:
            if before == (self.part, self._heads):
                self._count_raw(len(data))
        if self._held is not None:
            # The rest comes later, and the app may refuse what there is.
            self._start_held()

    def _count_raw(self, size: int) -> None:
        """Counts what the parser keeps to itself: an unfinished line of the head, of a chunk or of a trailer."""
        self._raw_bytes += size
        if self._raw_bytes - self._body_bytes <= limits.HEAD_BYTES + self._body_bytes // 4:
            return
        self.refuse(self.wire.large_head if self.part is RequestPart.HEAD else TINY_CHUNKS)

    def _upgrade(self) -> None:
        if self._should_upgrade():
            self.wire.release(self)
            self.handle_websocket_upgrade()
            websocket = self.transport.get_protocol()
            assert isinstance(websocket, WebSocket)
            self.wire.hand_over(self, websocket)
        else:
            # The request is answered as HTTP/1.1, and what may follow in another protocol is not read.
            self.cycle.keep_alive = False

    def _should_upgrade(self) -> bool:
        """Whether this is the opening handshake of a WebSocket. What is none is answered as HTTP/1.1."""
        return (
            super()._should_upgrade()
            and self.parser.get_method() == b"GET"
            and self.parser.get_http_version() == "1.1"
            and not any(name in _OF_A_BODY for name, _ in self.headers)
        )

    # What the parser tells

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {EXTENSION: {"connection": self}}
        self._begin_head()

    def on_url(self, url: bytes) -> None:
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_head(len(name) + len(value) + len(b": \r\n"))
        if self.part is not RequestPart.HEAD:
            # A trailer: too late to mean anything.
            return
        super().on_header(name, value)
        self._hosts += self.headers[-1][0] == b"host"
        if len(self.headers) > _MOST_FIELDS:
            raise _RefusedError(self.wire.large_head)

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= _MOST_AHEAD:
            raise _RefusedError(TOO_MANY_AHEAD)
        if self._hosts > 1 or (not self._hosts and self.parser.get_http_version() != "1.0"):
            raise _RefusedError(NO_HOST)
        if not self.url.startswith(b"/"):
            self._take_absolute_target()
        self._heads += 1
        self._raw_bytes = 0
        self.part = RequestPart.BODY
        self.since = self.loop.time()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._pieces += 1
        self._body_bytes += len(body)
        if limits.is_in_crumbs(self._pieces, self._body_bytes):
            raise _RefusedError(TINY_CHUNKS)
        super().on_body(body)
        if not self.cycle.response_complete:
            self._bodies[self.cycle] = self._bodies.get(self.cycle, 0) + len(body)
            self.wire.hold(self, len(body))
            if self._is_refused:
                raise _RefusedError(self.wire.full_bodies)
        elif self._body_bytes > self.wire.unread_bytes():
            raise _RefusedError(UNWANTED)

    def on_message_complete(self) -> None:
        self.part = RequestPart.NOTHING
        self.since = self.loop.time()
        super().on_message_complete()
        if self._held is not None:
            self._answer_held()

    def _begin_head(self) -> None:
        if self.part is not RequestPart.HEAD:
            self.since = self.loop.time()
        self.part = RequestPart.HEAD
        self._head_bytes = self._hosts = self._pieces = self._body_bytes = self._raw_bytes = 0

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > limits.HEAD_BYTES:
            raise _RefusedError(self.wire.large_head)

    def _take_absolute_target(self) -> None:
        """`GET http://host/path`: the target's host counts, whatever the Host header says (RFC 9112, 3.2.2)."""
        try:
            target = httptools.parse_url(self.url)
        except httptools.HttpParserInvalidURLError:
            raise _RefusedError(BAD_TARGET) from None
        if target.schema.lower() not in (b"http", b"https") or not target.host or target.userinfo:
            raise _RefusedError(BAD_TARGET)
        host = b"[%b]" % target.host if b":" in target.host else target.host
        if target.port:
            host = b"%b:%d" % (host, target.port)
        self.headers[:] = [(b"host", host), *(header for header in self.headers if header[0] != b"host")]
        self.url = (target.path or b"/") + (b"?" + target.query if target.query else b"")

    # What a stream of events asks of it

    @property
    def is_full(self) -> bool:
        return self.flow.write_paused

    def attach(self, sender: EventSender) -> None:
        if self.transport.is_closing():
            # `connection_lost` may have run, and would not run again.
            sender.lost()
            return
        self._sender = sender
        self.wire.streams["events"] += 1
        if self._running is not None:
            # What was asked is known, and the stream may go on for days.
            self.wire.release(self, self._bodies.pop(self._running, 0))
        limit_silence(self.transport, limits.SEND_SECONDS)

    def send_piece(self, piece: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))

    def send_each(self, pieces: Sequence[bytes]) -> None:
        self.send_piece(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._sender is not None:
            self._sender.writable()

    def shutdown(self) -> None:
        """Ends the connection once its requests are answered."""
        if not self._is_awaited:
            super().shutdown()
        if self._sender is not None:
            self._sender.leave()

    @property
    def _is_awaited(self) -> bool:
        """Whether a request may be on the way."""
        if not self.is_idle or self.transport.is_closing():
            return False
        is_young = not self._heads and self.loop.time() - self.since < limits.FIRST_REQUEST_SECONDS
        return is_young or is_readable(self.transport.get_extra_info("socket").fileno())

    def _detach(self) -> None:
        if self._sender is not None:
            self._sender = None
            self.wire.streams["events"] -= 1

    # How it ends early

    def refuse(self, refusal: Refusal) -> None:
        """Answers without the application, where nothing was answered yet, and closes."""
        self.wire.refused[refusal.why] += 1
        self._is_refused = True
        self._unread_bytes = self.wire.unread_bytes(refusal)
        self.wire.release(self)
        if self.transport.is_closing():
            return
        if self.part is RequestPart.BODY:
            may_answer = self._running is self.cycle and not self.cycle.response_started
        else:
            may_answer = not self._is_answering
        self._tell_gone()
        if may_answer:
            self.transport.write(refusal.answer())
        if may_answer and self.transport.can_write_eof() and self.wire.may_linger(self):
            # What comes after a socket was closed resets the connection, and the answer may be lost.
            self.transport.write_eof()
            self.flow.resume_reading()
            self.since = self.loop.time()
        else:
            self.transport.close()

    def on_response_complete(self) -> None:
        self._detach()
        if self.part is RequestPart.NOTHING:
            self.since = self.loop.time()
        if self._running is not None:
            self.wire.release(self, self._bodies.pop(self._running, 0))
        # As uvicorn's, but that the wire ends idle connections, and no timer is set for each response.
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        if self.wire.is_draining:
            cycle.keep_alive = False
        if self.wire.direct is not None and cycle.more_body and cycle is self.cycle and cycle.keep_alive:
            self._held = cycle, app
        else:
            super()._start_asgi_task(cycle, app)

    def _answer_held(self) -> None:
        assert self._held is not None, "a request is held"
        assert self.wire.direct is not None, "for it"
        cycle = self._held[0]
        may_answer = self._answered_here < _MOST_HERE and not self.flow.write_paused
        if not may_answer or self.transport.is_closing() or self._is_refused:
            self._start_held()
            return
        self._answered_here += 1
        response = self.wire.direct.answer(
            cast(MutableMapping[str, Any], cycle.scope), cycle.body, cast(Receive, cycle.receive)
        )
        if response is None:
            self._start_held()
            return
        (cycle, app), self._held = self._held, None
        if isinstance(response, tuple):
            self._send_whole(cycle, response)
            return
        if not isinstance(response.work, asyncio.Future):
            self._await(self.loop.create_task(self._send_after(cycle, app, response), context=response.context))
            return
        # This comes before `_await`, so that the server finds the app's task, if there is one.
        response.work.add_done_callback(partial(self._send_done, cycle, app, response), context=response.context)
        self._await(response.work)

    def _await(self, work: asyncio.Future[Any]) -> None:
        """As uvicorn's tasks, which the server waits for when it stops, and cancels in the end."""
        self.tasks.add(work)  # type: ignore[arg-type]
        work.add_done_callback(self.tasks.discard)

    async def _send_after(self, cycle: RequestResponseCycle, app: ASGI3Application, later: LaterResponse) -> None:
        await later.work
        if not self._is_sent(cycle, later):
            await cycle.run_asgi(app)

    def _send_done(
        self, cycle: RequestResponseCycle, app: ASGI3Application, later: LaterResponse, _: object
    ) -> None:
        later.settle()
        if not self._is_sent(cycle, later):
            self._await(self.loop.create_task(cycle.run_asgi(app), context=later.context))

    def _is_sent(self, cycle: RequestResponseCycle, later: LaterResponse) -> bool:
        """Sends a response that has arrived, also where the server stops, and nothing may come in a later turn of
        the loop; False where the app has to."""
        is_open = not (cycle.disconnected or self.transport.is_closing() or self.flow.write_paused)
        response = later.response() if is_open else None
        if response is not None:
            self._send_whole(cycle, response)
        return response is not None

    def _send_whole(self, cycle: RequestResponseCycle, response: WholeResponse) -> None:
        cycle.response_started = cycle.response_complete = True
        line, rest = response
        headers = self.wire.server_headers(self.server_state.default_headers)
        self.transport.write(line + headers + (b"" if cycle.keep_alive else _LAST) + rest)
        if not cycle.keep_alive:
            self.transport.close()
        self.on_response_complete()

    def _start_held(self) -> None:
        """Calls the app after all."""
        assert self._held is not None, "a request is held"
        (cycle, app), self._held = self._held, None
        super()._start_asgi_task(cycle, app)

    def make_room(self) -> None:
        self.transport.close()

    def let_go(self) -> None:
        if self._sender is not None or self.transport.is_closing():
            self.transport.abort()
        elif self.is_idle:
            self.transport.close()

    def check(self, now: float) -> None:
        """Ends the connection if the client has taken too long for what it does."""
        if self._is_refused:
            if now - self.since > limits.LINGER_SECONDS:
                self.transport.abort()
            return
        if self._has_stalled(now):
            self.wire.refused["send_seconds"] += 1
            self.transport.abort()
        elif self.transport.is_closing():
            return
        elif self._sender is not None:
            self._sender.check(now)
        elif self.flow.read_paused:
            # The server is what does not read.
            self.since = now
        elif self.part is RequestPart.HEAD and now - self.since > limits.HEAD_SECONDS:
            self.refuse(self.wire.late_head)
        elif self.part is RequestPart.BODY and now - self.since > limits.BODY_SECONDS:
            self.refuse(self.wire.late_body)
        elif self.is_idle and now - self.since > self.wire.idle_seconds:
            self.transport.close()

    def _has_stalled(self, now: float) -> bool:
        """Whether a client takes less of what waits to be sent than it has to: of events, any."""
        least = limits.SEND_RATE * limits.SEND_SECONDS if self._sender is None else 1
        unsent = self.transport.get_write_buffer_size()
        return self._taking.has_stalled(now, unsent, limits.SEND_SECONDS, least)
