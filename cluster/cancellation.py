"""Cancellation between the driver and the tasks of a job: either side can say that the job is over.

A worker opens one connection for each job, sends the job's key, and polls it together with its deadline. The driver
closes the connection when the job is over; it also closes when the driver dies. A task sends one byte when it has
what ends the job for all tasks: an error, or enough rows. Spark itself would take seconds.

Nothing else is sent, so a listener learns nothing. A connection without a job's key (122 random bits) is closed.
Jobs of workers that cannot reach the driver's port run without early cancellation.
"""

from __future__ import annotations

import errno
import logging
import os
import select
import selectors
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Final

Address = str | tuple[str, int]
"""A Unix socket's path, or a host and a port."""

KEY_BYTES: Final = 32
_END: Final = b"."
# For a worker to connect, and to send its key.
_SECONDS: Final = 3.0
_MOST_CONNECTIONS: Final = 4096
# After a worker could not reach the driver, until it tries again.
_AGAIN_SECONDS: Final = 60.0

_log = logging.getLogger("adalog.spark")


@dataclass(eq=False, slots=True)
class _Connection:
    socket: socket.socket
    since: float
    key: bytes = b""
    job: str | None = None


class CancellationServer:
    """The driver's side: one thread serves all connections. Thread-safe. `address`: where workers connect."""

    def __init__(self, listener: socket.socket, address: Address) -> None:
        self.address = address
        self._listener = listener
        self._jobs: dict[str, set[_Connection]] = {}
        self._connections: set[_Connection] = set()
        self._lock = threading.Lock()
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="spark-lines", daemon=True)
        self._thread.start()

    @staticmethod
    def at_path(path: str) -> CancellationServer:
        """Listens on a Unix socket, for workers on this machine."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        listener.listen(128)
        return CancellationServer(listener, path)

    @staticmethod
    def on_port(host: str, bind: str | None, port: int) -> CancellationServer:
        """Listens on a port (0: any that is free), which workers find at `host`. `bind`: another address to listen
        on."""
        family, *_, where = socket.getaddrinfo(bind or host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.create_server(where[:2], family=family, backlog=128)
        return CancellationServer(listener, (host, listener.getsockname()[1]))

    def open(self, job: str) -> None:
        """Accepts the tasks of a job from now on."""
        with self._lock:
            self._jobs[job] = set()

    def close(self, job: str) -> None:
        """Tells the tasks of a job, those that run and those that begin, that it is over."""
        with self._lock:
            connections = tuple(self._jobs.pop(job, ()))
        for connection in connections:
            # The serving thread sees the end of it, and forgets it.
            with suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        """Closes all connections, and the listener."""
        self._closed = True
        with suppress(OSError):
            self._wake.send(_END)
        self._thread.join()

    def _serve(self) -> None:
        while not self._closed:
            for key, _ in self._selector.select(1.0):
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.data, _Connection):
                    self._receive(key.data)
            self._drop_silent()
        for connection in tuple(self._connections):
            self._forget(connection)
        self._selector.close()
        for each in (self._listener, self._wake, self._woken):
            each.close()

    def _accept(self) -> None:
        try:
            accepted, _ = self._listener.accept()
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.ECONNABORTED):
                _log.warning("a Spark task is not heard: %s", error.strerror)
            return
        if len(self._connections) >= _MOST_CONNECTIONS:
            accepted.close()
            return
        accepted.setblocking(False)
        connection = _Connection(accepted, monotonic())
        self._connections.add(connection)
        self._selector.register(accepted, selectors.EVENT_READ, connection)

    def _receive(self, connection: _Connection) -> None:
        try:
            received = connection.socket.recv(KEY_BYTES + 1)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if not received:
            self._forget(connection)
            return
        if connection.job is None:
            connection.key += received
            if len(connection.key) < KEY_BYTES:
                return
            job, received = connection.key[:KEY_BYTES].decode("latin-1"), connection.key[KEY_BYTES:]
            with self._lock:
                connections = self._jobs.get(job)
                if connections is not None:
                    connection.job = job
                    connections.add(connection)
            if connections is None:
                self._forget(connection)
                return
        if received and connection.job is not None:
            self.close(connection.job)

    def _forget(self, connection: _Connection) -> None:
        self._connections.discard(connection)
        if connection.job is not None:
            with self._lock:
                self._jobs.get(connection.job, set()).discard(connection)
        with suppress(KeyError, ValueError):
            self._selector.unregister(connection.socket)
        connection.socket.close()

    def _drop_silent(self) -> None:
        oldest = monotonic() - _SECONDS
        for connection in [each for each in self._connections if each.job is None and each.since < oldest]:
            self._forget(connection)


class CancellationChannel:
    """A worker's side of one job. `connected`: whether the driver was reached."""

    def __init__(self, address: Address, job: str) -> None:
        self._socket: socket.socket | None = None
        self._over = False
        if _unreachable.get(address, 0.0) > monotonic() - _AGAIN_SECONDS:
            return
        try:
            self._socket = _connected(address)
            self._socket.sendall(job.encode())
        except OSError:
            self.close()
            # The driver's folder is gone with the driver; a port may be one that a firewall keeps.
            self._over = isinstance(address, str)
            if not self._over:
                _unreachable[address] = monotonic()

    @property
    def connected(self) -> bool:
        return self._socket is not None

    def is_over(self) -> bool:
        """Whether the driver has closed the job."""
        if self._socket is not None and not self._over:
            poll = select.poll()
            poll.register(self._socket, select.POLLIN | select.POLLHUP)
            self._over = bool(poll.poll(0))
        return self._over

    def end_for_all(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.send(_END)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


_unreachable: dict[Address, float] = {}


def _connected(address: Address) -> socket.socket:
    if isinstance(address, tuple):
        return socket.create_connection(address, timeout=_SECONDS)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(_SECONDS)
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


def cancellation_server(folder: str, host: str | None, bind: str | None, port: int) -> CancellationServer:
    """The driver's side: a Unix socket in the folder if host is None, else a port."""
    if host is None:
        return CancellationServer.at_path(os.path.join(folder, "lines"))
    try:
        return CancellationServer.on_port(host, bind, port)
    except OSError as error:
        if error.errno != errno.EADDRNOTAVAIL:
            raise
        # Workers find us under a name that is not of this machine: that of a service, say.
        return CancellationServer.on_port(host, "0.0.0.0", port)
