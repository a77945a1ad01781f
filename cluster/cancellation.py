"""The line between the driver and the tasks of a job, over which either says that nobody need go on.

A worker connects once for each job that it works for, says the job's key, and looks at the line as it looks at its
deadline. The driver closes the line when the job is over, and so does the driver's end, whichever way it ends. A
task says one byte when it has what ends the job for all: an error, or rows enough. Spark itself would take seconds.

Nothing else is said, so that nobody who listens learns anything; who does not know a job's key, 122 random bits, is
hung up on. Where a worker cannot reach the driver's port, jobs run without.
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
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

Address = str | tuple[str, int]
"""A Unix socket's path, or a host and a port."""

KEY_BYTES: Final = 32
_END: Final = b"."
# For a caller to say its key, and for a worker to reach the driver.
_SECONDS: Final = 3.0
_CALLERS: Final = 4096
# After a worker could not reach the driver, until it tries again.
_AGAIN_SECONDS: Final = 60.0

_log = logging.getLogger("adalog.spark")


@dataclass(eq=False, slots=True)
class _Caller:
    socket: socket.socket
    since: float
    heard: bytes = b""
    job: str | None = None


@dataclass(eq=False, slots=True)
class _JobLine:
    callers: set[_Caller] = field(default_factory=set)


class CancellationServer:
    """The driver's side. Thread-safe. `address`: where workers call; to be closed."""

    def __init__(self, listener: socket.socket, address: Address) -> None:
        self.address = address
        self._listener = listener
        self._jobs: dict[str, _JobLine] = {}
        self._callers: set[_Caller] = set()
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
        """Lets the tasks of a job call from now on."""
        with self._lock:
            self._jobs[job] = _JobLine()

    def close(self, job: str) -> None:
        """Tells the tasks of a job, those that run and those that begin, that it is over."""
        with self._lock:
            line = self._jobs.pop(job, None)
            callers = () if line is None else tuple(line.callers)
        for caller in callers:
            # Its thread sees the end of it, and forgets it.
            with suppress(OSError):
                caller.socket.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        """Closes every line."""
        self._closed = True
        with suppress(OSError):
            self._wake.send(_END)
        self._thread.join()

    def _serve(self) -> None:
        while not self._closed:
            for key, _ in self._selector.select(1.0):
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.data, _Caller):
                    self._hear(key.data)
            self._drop_silent()
        for caller in tuple(self._callers):
            self._forget(caller)
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
        if len(self._callers) >= _CALLERS:
            accepted.close()
            return
        accepted.setblocking(False)
        caller = _Caller(accepted, monotonic())
        self._callers.add(caller)
        self._selector.register(accepted, selectors.EVENT_READ, caller)

    def _hear(self, caller: _Caller) -> None:
        try:
            heard = caller.socket.recv(KEY_BYTES + 1)
        except BlockingIOError:
            return
        except OSError:
            heard = b""
        if not heard:
            self._forget(caller)
            return
        if caller.job is None:
            caller.heard += heard
            if len(caller.heard) < KEY_BYTES:
                return
            job, heard = caller.heard[:KEY_BYTES].decode("latin-1"), caller.heard[KEY_BYTES:]
            with self._lock:
                line = self._jobs.get(job)
                if line is not None:
                    caller.job = job
                    line.callers.add(caller)
            if line is None:
                self._forget(caller)
                return
        if heard and caller.job is not None:
            self.close(caller.job)

    def _forget(self, caller: _Caller) -> None:
        self._callers.discard(caller)
        if caller.job is not None:
            with self._lock:
                line = self._jobs.get(caller.job)
                if line is not None:
                    line.callers.discard(caller)
        with suppress(KeyError, ValueError):
            self._selector.unregister(caller.socket)
        caller.socket.close()

    def _drop_silent(self) -> None:
        oldest = monotonic() - _SECONDS
        for caller in [each for each in self._callers if each.job is None and each.since < oldest]:
            self._forget(caller)


class CancellationChannel:
    """A worker's side of one job. `connected`: whether somebody listens."""

    def __init__(self, address: Address, job: str) -> None:
        self._socket: socket.socket | None = None
        self._over = False
        if _unreachable.get(address, 0.0) > monotonic() - _AGAIN_SECONDS:
            return
        try:
            self._socket = _called(address)
            self._socket.sendall(job.encode())
        except OSError:
            self.hang_up()
            # The driver's folder is gone with the driver; a port may be one that a firewall keeps.
            self._over = isinstance(address, str)
            if not self._over:
                _unreachable[address] = monotonic()

    @property
    def connected(self) -> bool:
        return self._socket is not None

    def is_over(self) -> bool:
        """Whether nobody waits for the job any more."""
        if self._socket is not None and not self._over:
            poll = select.poll()
            poll.register(self._socket, select.POLLIN | select.POLLHUP)
            self._over = bool(poll.poll(0))
        return self._over

    def end_for_all(self) -> None:
        """Has all tasks of the job end."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.send(_END)

    def hang_up(self) -> None:
        """Closes it."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


_unreachable: dict[Address, float] = {}


def _called(address: Address) -> socket.socket:
    if isinstance(address, tuple):
        return socket.create_connection(address, timeout=_SECONDS)
    calling = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        calling.settimeout(_SECONDS)
        calling.connect(address)
    except OSError:
        calling.close()
        raise
    return calling


def cancellation_server(folder: str, host: str | None, bind: str | None, port: int) -> CancellationServer:
    """The driver's side: in the folder where host is None, else on a port."""
    if host is None:
        return CancellationServer.at_path(os.path.join(folder, "lines"))
    try:
        return CancellationServer.on_port(host, bind, port)
    except OSError as error:
        if error.errno != errno.EADDRNOTAVAIL:
            raise
        # Workers find us under a name that is not of this machine: that of a service, say.
        return CancellationServer.on_port(host, "0.0.0.0", port)
