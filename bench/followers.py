"""Clients that follow live queries over `graphql-transport-ws`, of few moving parts: raw frames, one event loop.

What arrives is only looked at for its subscription, its kind and its transaction, so that thousands of clients of
one process stay in step with a server.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import socket
import struct
import time
from collections.abc import Callable
from typing import Final, cast

_HANDSHAKE: Final = (
    "GET /graphql HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: {}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: graphql-transport-ws\r\n\r\n"
)
_DOCUMENT: Final = (
    "subscription ($query: EDN!, $args: [JSON!]) { live(query: $query, args: $args)"
    " { kind basisT rows last added retracted } }"
)
_EVENT: Final = re.compile(
    rb'\{"id":"([^"]+)","type":"next","payload":\{"data":\{"live":\{"kind":"([A-Z]+)","basisT":"?(\d+)'
)
_LAST: Final = re.compile(rb'"last":true')

OnEvent = Callable[[bytes, int, float], None]
"""The event's kind, its transaction, and when it arrived."""


class Socket(asyncio.Protocol):
    """One connection. `failed`: what the server refused, if it did."""

    def __init__(self, port: int, on_event: OnEvent) -> None:
        self._port = port
        self._on_event = on_event
        self._buffer = b""
        self._open = False
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.failed = ""

    @classmethod
    async def connect(cls, port: int, on_event: OnEvent) -> Socket:
        """Opens a connection, as far as its acknowledgement."""
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_connection(lambda: cls(port, on_event), "127.0.0.1", port)
        await protocol.ready
        return protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        key = base64.b64encode(os.urandom(16)).decode()
        self._transport.write(_HANDSHAKE.format(self._port, key).encode())

    def connection_lost(self, error: Exception | None) -> None:
        self._fail("the connection was closed")

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        buffer = self._buffer + data
        if not self._open:
            head, found, buffer = buffer.partition(b"\r\n\r\n")
            if not found:
                self._buffer = head
                return
            if b" 101 " not in head.split(b"\r\n")[0]:
                self._fail(head.decode())
                return
            self._open = True
            self._say({"type": "connection_init"})
        at = 0
        while len(buffer) - at >= 2:
            opcode, size, start = buffer[at] & 15, buffer[at + 1] & 127, at + 2
            if size == 126:
                size, start = int.from_bytes(buffer[start : start + 2], "big"), start + 2
            elif size == 127:
                size, start = int.from_bytes(buffer[start : start + 8], "big"), start + 8
            if len(buffer) < start + size:
                break
            event = _EVENT.match(buffer, start)
            if event is not None:
                name, kind, basis = event.groups()
                if kind == b"SNAPSHOT" and _LAST.search(buffer, start, start + size):
                    self._began(name.decode())
                self._on_event(kind, int(basis), now)
            else:
                self._take(opcode, buffer[start : start + size])
            at = start + size
        self._buffer = buffer[at:]

    def subscribe(self, name: str, query: str, args: list[object]) -> asyncio.Future[None]:
        """Follows a query; done when its snapshot is there. Names do not occur twice."""
        done = self._waiting[name] = asyncio.get_running_loop().create_future()
        payload = {"query": _DOCUMENT, "variables": {"query": query, "args": args}}
        self._say({"id": name, "type": "subscribe", "payload": payload})
        return done

    def released(self) -> socket.socket:
        """The connection for another reader; from now on nothing is read here."""
        self._transport.pause_reading()
        return cast(socket.socket, self._transport.get_extra_info("socket")).dup()

    def close(self) -> None:
        self._transport.abort()

    def _began(self, name: str) -> None:
        waiting = self._waiting.pop(name, None)
        if waiting is not None:
            waiting.set_result(None)

    def _take(self, opcode: int, payload: bytes) -> None:
        if opcode == 1:
            if b'"connection_ack"' in payload:
                self.ready.set_result(None)
            elif b'"type":"ping"' in payload:
                self._say({"type": "pong"})
            else:
                self._fail(payload.decode())
        elif opcode == 8:
            self._fail(f"closed: {payload[2:].decode()}")
        elif opcode == 9:
            self._frame(10, payload)

    def _say(self, message: object) -> None:
        self._frame(1, json.dumps(message).encode())

    def _frame(self, opcode: int, payload: bytes) -> None:
        # Masked with zeros, which leaves the text as it is.
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", 128 | opcode, 128 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 128 | opcode, 128 | 126, size)
        else:
            head = struct.pack("!BBQ", 128 | opcode, 128 | 127, size)
        self._transport.write(head + bytes(4) + payload)

    def _fail(self, why: str) -> None:
        self.failed = self.failed or why
        for each in (self.ready, *self._waiting.values()):
            if not each.done():
                each.set_exception(RuntimeError(f"a follower failed: {why[:300]}"))
