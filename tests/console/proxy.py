"""A port before a server, which keeps what the server sends, cuts connections, and may lead to another server."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

# What is compressed cannot be searched: the server hears nothing of what the browser would take.
_ACCEPTS = b"\r\nAccept-Encoding:"
_UNSAID = b"\r\nX-Unsaid-Coding:"


class Proxy:
    """Between one browser and `target`, the address of a server; None refuses every connection."""

    def __init__(self, target: str | None) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._sent = bytearray()
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def sent(self) -> bytes:
        """Everything that the server has sent."""
        with self._lock:
            return bytes(self._sent)

    def connections(self) -> int:
        with self._lock:
            return len(self._open) // 2

    def cut(self) -> None:
        """Ends all connections."""
        with self._lock:
            both = list(self._open)
        for each in both:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        # Wakes the thread that accepts.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join(20)
        self.cut()
        for thread in self._threads:
            thread.join(20)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            target = urlsplit(self.target or "")
            try:
                server = socket.create_connection((target.hostname or "", target.port or 0), timeout=20)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            with self._lock:
                self._open |= {client, server}
            ways = [(client, server, False), (server, client, True)]
            pumps = [threading.Thread(target=self._pump, args=way, daemon=True) for way in ways]
            self._threads += pumps
            for pump in pumps:
                pump.start()

    def _pump(self, source: socket.socket, sink: socket.socket, is_sent: bool) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(1 << 16):
                if is_sent:
                    with self._lock:
                        self._sent += chunk
                else:
                    chunk = chunk.replace(_ACCEPTS, _UNSAID)
                sink.sendall(chunk)
        # The other direction ends, too.
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        with self._lock:
            if sink in self._open and source in self._open:
                self._open.discard(source)
                return
            self._open -= {source, sink}
        source.close()
        sink.close()


@contextlib.contextmanager
def proxied(target: str | None) -> Iterator[Proxy]:
    proxy = Proxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
