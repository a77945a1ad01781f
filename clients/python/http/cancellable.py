"""How a request on its way is cancelled: by shutting the connection down, after which its server ends the query."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from ssl import SSLContext
from typing import Any, Final

import httpcore
import httpx

from adalog.client.running import RUNNING, cancelled_by


class Exchange:
    """One request and its response, and the connection that they take. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream: httpcore.NetworkStream | None = None
        self._is_cancelled = False
        self._is_over = False

    def takes(self, stream: httpcore.NetworkStream) -> None:
        with self._lock:
            self._stream = stream
            if self._is_cancelled:
                _shut_down(stream)

    def cancel(self) -> None:
        with self._lock:
            self._is_cancelled = True
            # After its end the connection may be another's.
            if self._stream is not None and not self._is_over:
                _shut_down(self._stream)

    def end(self) -> None:
        with self._lock:
            self._is_over = True


# Of what is read at once where much comes: httpcore asks for 64 KiB, each of which costs some 30 microseconds.
_LONG_READ: Final = 1 << 20
_EXCHANGE: Final[ContextVar[Exchange | None]] = ContextVar("exchange", default=None)


@contextmanager
def cancellable_request() -> Iterator[None]:
    """The task that made the present call, if there is one, may cancel the request that the block sends."""
    if RUNNING.get() is None:
        yield
        return
    exchange = Exchange()
    cancelled_by(exchange.cancel)
    token = _EXCHANGE.set(exchange)
    try:
        yield
    finally:
        exchange.end()
        _EXCHANGE.reset(token)


def watch_connections(client: httpx.Client) -> None:
    """Has requests of a new client, but for those through a proxy, tell which connection they take."""
    # httpx has no parameter for what httpcore lets one choose.
    pool = client._transport._pool  # type: ignore[attr-defined]
    pool._network_backend = _Backend(pool._network_backend)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, own: httpcore.NetworkBackend) -> None:
        self._own = own

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        return _Stream(self._own.connect_tcp(host, port, timeout, local_address, socket_options))

    def sleep(self, seconds: float) -> None:
        self._own.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    def __init__(self, own: httpcore.NetworkStream) -> None:
        self._own = own
        self._has_more = False

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        exchange = _EXCHANGE.get()
        if exchange is not None:
            exchange.takes(self._own)
        self._own.write(buffer, timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        found = self._own.read(_LONG_READ if self._has_more else max_bytes, timeout)
        self._has_more = len(found) >= max_bytes
        return found

    def close(self) -> None:
        self._own.close()

    def start_tls(
        self, ssl_context: SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._own.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._own.get_extra_info(info)


def _shut_down(stream: httpcore.NetworkStream) -> None:
    connection: socket.socket | None = stream.get_extra_info("socket")
    if connection is not None:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            # It is closed already.
            return
