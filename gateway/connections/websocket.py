"""One WebSocket: uvicorn's protocol class over `websockets`, with limits on what comes and a way to send at once.

ASGI carries the handshake and the messages that come, of which there are few. What is sent is written to the
transport as it is made (`gateway.connections.event_transport`); what the messages mean is
`gateway.protocols.transport_ws`'s affair.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, Literal

import orjson
from uvicorn._types import ASGIReceiveEvent, ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame
from websockets.http11 import Response
from websockets.protocol import State

from adalog.datalog.errors import RETRYABLE, Code
from adalog.gateway.connections import limits
from adalog.gateway.connections.event_transport import AT_ONCE_BYTES, EXTENSION, EventSender, TakingPace
from adalog.gateway.connections.guards import SECURITY_HEADERS
from adalog.gateway.connections.wire import LINGER_BYTES, MALFORMED, Refusal, Wire
from adalog.gateway.identity.peer import counted_address

# Read at once.
_SLICE_BYTES: Final = 4096
# What fits beside the code in a frame that closes.
_REASON_BYTES: Final = 123
_SECONDS_TO_CLOSE: Final = 5.0
# A handshake that the application refused has it already.
_POLICY: Final = "content-security-policy"
_REFUSED: Final[Mapping[int, Code]] = {
    HTTPStatus.FORBIDDEN: Code.FORBIDDEN,
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: Code.LIMIT_EXCEEDED,
    HTTPStatus.REQUEST_URI_TOO_LONG: Code.LIMIT_EXCEEDED,
    HTTPStatus.INTERNAL_SERVER_ERROR: Code.INTERNAL,
}
_SHORT: Final = 126
_LONG: Final = 1 << 16

NORMAL: Final = 1000
INVALID_DATA: Final = 1007
POLICY: Final = 1008
RESTART: Final = 1012
TRY_AGAIN: Final = 1013
_ABNORMAL: Final = 1006
# In the metrics; a client may close with any other.
_CODES: Final = frozenset(
    [*range(1000, 1004), *range(1006, 1016), 4400, 4401, 4403, 4406, 4408, 4409, 4429, 4499, 4500]
)


class WebSocket(WebSocketsSansIOProtocol):
    """`held`: bytes of a message on the way, or of operations without an answer. `since`: when a message came."""

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
        self.held = 0
        self.since = self.loop.time()
        self.close_timeout = _SECONDS_TO_CLOSE
        # Whatever answers a handshake: `websockets`, uvicorn or the application.
        self._send_response = self.conn.send_response
        self.conn.send_response = self._answer_handshake  # type: ignore[method-assign]
        # Of the session: operations that run or stream.
        self.operations = 0
        self.is_full = False
        self._sender: EventSender | None = None
        # Frames that are sent together at the end of this turn of the event loop, and their bytes.
        self._gathered: list[bytes] = []
        self._gathered_bytes = 0
        # What came and was not looked at, and whether it is about to be.
        self._unread = bytearray()
        self._is_reading = False
        # Of a message: what came of it, and in how many frames.
        self._unfinished = bytearray()
        self._pieces = 0
        # Of `held`: what is on the way.
        self._arriving = 0
        self._taking = TakingPace(self.since)
        # Whether a frame was none, so that nothing after it can be read.
        self._has_failed = False
        # What came since the connection was told its end.
        self._unwanted_bytes = 0
        # When anything came last, a pong among it, and when a ping was sent that it has not answered.
        self._heard = self.since
        self._pinged: float | None = None

    @property
    def is_idle(self) -> bool:
        return not (self.operations or self.held or self._gathered or self.transport.get_write_buffer_size())

    @property
    def is_receiving(self) -> bool:
        return self._arriving > 0

    @property
    def is_open(self) -> bool:
        return self.conn.state is State.OPEN and not self.transport.is_closing()

    # What the session asks

    def attach(self, sender: EventSender) -> None:
        if self.transport.is_closing():
            # `connection_lost` may have run, and would not run again.
            sender.lost()
            return
        self._sender = sender
        self.wire.streams["websocket"] += 1
        # The handshake is over, and its headers are some kilobytes.
        del self.request, self.response

    def send_piece(self, piece: bytes) -> None:
        if not self.is_open:
            return
        if self.operations < 2 and not self._gathered:
            self.transport.write(_head(len(piece)) + piece)
            return
        # A transaction may concern many operations of a connection: the system is asked once for all of them.
        if not self._gathered:
            self.loop.call_soon(self._send_gathered)
        self._gathered += (_head(len(piece)), piece)
        self._gathered_bytes += len(piece)
        if self._gathered_bytes > AT_ONCE_BYTES:
            self._send_gathered()

    def _send_gathered(self) -> None:
        gathered, self._gathered, self._gathered_bytes = self._gathered, [], 0
        if gathered and self.is_open:
            self.transport.write(b"".join(gathered))

    def send_each(self, pieces: Sequence[bytes]) -> None:
        """Sends messages of text at once."""
        self._send_gathered()
        if self.is_open:
            self.transport.write(b"".join([part for piece in pieces for part in (_head(len(piece)), piece)]))

    def send_pieces(self, pieces: Sequence[bytes]) -> None:
        """Sends one message of text that is in pieces, and is not put together again."""
        self._send_gathered()
        if self.is_open:
            self.transport.writelines([_head(sum(map(len, pieces))), *pieces])

    async def drained(self) -> None:
        """Waits until the client has taken most of what was sent, or is gone."""
        await self.writable.wait()

    def hold(self, size: int) -> None:
        self.wire.hold(self, size)

    def release(self, size: int) -> None:
        self.wire.release(self, size)

    def close(self, code: int, reason: str) -> None:
        """Says why, and ends once the client has confirmed it, or had the time to."""
        if not self.is_open or self.close_sent:
            return
        self._send_gathered()
        self.close_sent = True
        shortened = reason.encode()[:_REASON_BYTES].decode(errors="ignore")
        self.conn.send_close(code, shortened)
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": shortened})
        self.close_timer = self.loop.call_later(self.close_timeout, self.transport.close)
        self._steer()

    # What the wire asks

    def refuse(self, refusal: Refusal) -> None:
        self.wire.refused[refusal.why] += 1
        self.close(TRY_AGAIN, refusal.message)

    def make_room(self) -> None:
        self.close(TRY_AGAIN, "the connection was idle, and there are as many as this server takes")

    def let_go(self) -> None:
        if self.close_sent:
            self.transport.abort()

    def check(self, now: float) -> None:
        """Ends the connection if the client takes nothing, answers no ping, or has nothing to ask."""
        # Of a long answer as much as over HTTP, of events any.
        least = max(1, min(self._taking.waited, limits.SEND_RATE * limits.SEND_SECONDS))
        unsent = self.transport.get_write_buffer_size()
        if self._taking.has_stalled(now, unsent, limits.SEND_SECONDS, least):
            self._cut("send_seconds")
        elif not self.is_open or self._sender is None:
            return
        elif self.read_paused:
            # The server is what does not read.
            self._heard, self._pinged = now, None
        elif self._pinged is not None and now - self._pinged > limits.PING_SECONDS:
            self._cut("ping_seconds")
        elif self.is_idle and now - self.since > self.wire.idle_seconds:
            self.close(NORMAL, "nothing was asked for a while")
        else:
            self._sender.check(now)
            if self._pinged is None and now - self._heard > limits.PING_SECONDS:
                self._pinged = now
                self.conn.send_ping(b"")
                self.transport.write(b"".join(self.conn.data_to_send()))

    def _cut(self, why: str) -> None:
        self.wire.refused[why] += 1
        self.transport.abort()

    # What the transport tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.address = counted_address(self.client[0]) if self.client else ""

    def connection_lost(self, exc: Exception | None) -> None:
        self.wire.forget(self)
        if self._sender is not None:
            self.wire.streams["websocket"] -= 1
            sent = self.conn.close_sent
            code = _ABNORMAL if sent is None else int(sent.code)
            self.wire.closed[str(code) if code in _CODES else "other"] += 1
            self._sender.lost()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.close_sent:
            self._unwanted_bytes += len(data)
            if self._unwanted_bytes > LINGER_BYTES + self.wire.request_bytes:
                self.transport.abort()
        if self._has_failed or self.transport.is_closing():
            return
        self._heard, self._pinged = self.loop.time(), None
        if self._unread:
            self._unread += data
        elif len(data) <= _SLICE_BYTES or not self.handshake_initiated:
            self._read(data)
        else:
            self._unread += data
            self._read_slice()

    def _read_slice(self) -> None:
        """Reads as much as may come at once: a few bytes make a frame, and many frames would hold up everybody."""
        self._is_reading = False
        if self._has_failed or self.transport.is_closing():
            self._unread.clear()
            self._steer()
            return
        data = bytes(self._unread[:_SLICE_BYTES])
        del self._unread[:_SLICE_BYTES]
        self._read(data)

    def _read(self, data: bytes) -> None:
        super().data_received(data)
        if not self.handshake_initiated:
            self._refuse_handshake()
            return
        self._count_arriving()
        self._steer()

    def _refuse_handshake(self) -> None:
        """Answers a handshake that `websockets` cannot read, such as one with a very long header."""
        self.transport.write(b"".join(self.conn.data_to_send()) or MALFORMED.answer())
        self.transport.close()

    def _answer_handshake(self, response: Response) -> None:
        """Has a refusal be in GraphQL's form, and carry the security headers, where it is not the application's."""
        given = response.headers
        if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS and _POLICY not in given:
            text = (response.body or b"").decode().strip() or "there is no WebSocket here; /graphql has one"
            code = _REFUSED.get(response.status_code, Code.ARG_INVALID)
            error = {"message": text, "extensions": {"code": code.value, "retryable": code in RETRYABLE}}
            response.body = orjson.dumps({"errors": [error]})
            del given["Content-Length"], given["Content-Type"]
            given["Content-Length"] = str(len(response.body))
            given["Content-Type"] = "application/json; charset=utf-8"
            given["Cache-Control"] = "no-store"
            for name, value in SECURITY_HEADERS:
                given[name.decode()] = value.decode()
        self._send_response(response)

    def handle_parser_exception(self) -> None:
        """Says what was wrong with a frame, and takes no notice of what follows it. Closing at once would reset the
        connection, and what was said would be lost."""
        self._has_failed = True
        said = self.conn.close_sent
        if self.close_sent or said is None:
            return
        self.close_sent = True
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.transport.write_eof()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": said.code, "reason": said.reason})
        self.close_timer = self.loop.call_later(limits.LINGER_SECONDS, self.transport.close)
        self._steer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.is_full = True
        self._steer()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.is_full = False
        if self._sender is not None:
            self._sender.writable()
        self._steer()

    def _steer(self) -> None:
        """Reads on only while what came is looked at, and what is sent is taken: a client that sends and never
        reads makes nothing grow."""
        is_busy = not self.close_sent and (self.is_full or not self.queue.empty())
        if self._unread and not is_busy and not self._is_reading:
            self._is_reading = True
            self.loop.call_soon(self._read_slice)
        pause = is_busy or bool(self._unread)
        if pause == self.read_paused or self.transport.is_closing():
            return
        self.read_paused = pause
        if pause:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    # What the server tells

    def shutdown(self) -> None:
        """The session ends what streams, and closes once what runs is answered."""
        if self._sender is None:
            super().shutdown()
        else:
            self._sender.leave()

    # Messages that come

    def handle_text(self, event: Frame) -> None:
        self._begin_message("text", event)

    def handle_bytes(self, event: Frame) -> None:
        self._begin_message("bytes", event)

    def _begin_message(self, kind: Literal["text", "bytes"], event: Frame) -> None:
        self.curr_msg_data_type = kind
        if event.fin:
            self._take_message(bytes(event.data))
        else:
            self._pieces = 1
            self._unfinished = bytearray(event.data)

    def handle_cont(self, event: Frame) -> None:
        self._pieces += 1
        self._unfinished += event.data
        if limits.is_in_crumbs(self._pieces, len(self._unfinished)):
            self._unfinished = bytearray()
            self.close(POLICY, "the message comes in frames of a few bytes each; send larger ones")
        elif event.fin:
            data, self._unfinished = bytes(self._unfinished), bytearray()
            self._take_message(data)

    def _take_message(self, data: bytes) -> None:
        if self.close_sent:
            return
        self.since = self._heard
        if self.curr_msg_data_type == "bytes":
            self.queue.put_nowait({"type": "websocket.receive", "bytes": data})
            return
        try:
            self.queue.put_nowait({"type": "websocket.receive", "text": data.decode()})
        except UnicodeDecodeError:
            self.close(INVALID_DATA, "the message is not UTF-8")

    def _count_arriving(self) -> None:
        """Counts what is on the way to a whole message, with the bodies of unanswered requests."""
        arriving = len(self._unfinished) + len(self.conn.reader.buffer) + len(self._unread)
        before, self._arriving = self._arriving, arriving
        if arriving > before:
            self.wire.hold(self, arriving - before)
        else:
            self.wire.release(self, before - arriving)

    async def receive(self) -> ASGIReceiveEvent:
        message = await self.queue.get()
        self._steer()
        return message

    # The ASGI application

    async def send(self, message: ASGISendEvent) -> None:
        if self.transport.is_closing():
            # The client has gone; or the server stops, and has answered the handshake already.
            raise ClientDisconnected
        await super().send(message)
        if self.initial_response is not None and self.close_sent:
            # The refusal is sent, which uvicorn would log as an error: it expects that handshakes are accepted.
            self.handshake_complete = True

    async def run_asgi(self) -> None:
        self.scope["extensions"][EXTENSION] = {"connection": self}
        await super().run_asgi()


def _head(size: int) -> bytes:
    """The head of a frame that is a whole message of text (RFC 6455, 5.2), sent by a server: without a mask."""
    if size < _SHORT:
        return bytes((0x81, size))
    if size < _LONG:
        return b"\x81\x7e" + size.to_bytes(2)
    return b"\x81\x7f" + size.to_bytes(8)
