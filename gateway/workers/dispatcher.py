"""The port: takes connections and hands each to the worker that has fewest, as a descriptor.

What no worker has room for is held, and nothing more is taken meanwhile: it waits in the kernel's queue.
"""

from __future__ import annotations

import logging
import os
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

from adalog.gateway.process.backlog import SETTLE_SECONDS, refuse_new
from adalog.gateway.workers import channel
from adalog.gateway.workers.process import Process

# A worker that says nothing for so long gets no connection while others do.
_QUIET_SECONDS: Final = 2.0
_ACCEPTED_AT_ONCE: Final = 64
# Until the next try where the kernel gives none: there may be too many open files, say.
_REST_SECONDS: Final = 1.0
# Between looks at a port that is closed.
_PAUSE_SECONDS: Final = 0.005

_log = logging.getLogger("adalog.server")


class Dispatcher:
    """`turn` now and then; `accept` when the listener is readable, of which the selector tells."""

    def __init__(
        self, listener: socket.socket, selector: selectors.BaseSelector, up: Callable[[], list[Process]]
    ) -> None:
        """up: the workers that take connections now."""
        self.listener = listener
        self._selector = selector
        self._up = up
        self._held: deque[int] = deque()
        self._listening = self._closed = False
        self._resting_until = 0.0
        listener.setblocking(False)

    def turn(self) -> None:
        """Hands over what is held, and takes more while nothing is held and a worker is up."""
        while self._held and self._give(self._held[0]):
            os.close(self._held.popleft())
        rests = time.monotonic() < self._resting_until
        self._listen(not (self._closed or self._held or rests) and bool(self._up()))

    def accept(self) -> None:
        """Takes the connections that wait."""
        for _ in range(_ACCEPTED_AT_ONCE):
            if not self._listening:
                return
            try:
                connection, _ = self.listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                _log.warning("a connection cannot be taken: %s", error.strerror)
                self._resting_until = time.monotonic() + _REST_SECONDS
                self._listen(False)
                return
            self.hold([connection.detach()])

    def hold(self, connections: Iterable[int]) -> None:
        """Hands over connections that were taken before, as soon as there is room."""
        self._held.extend(connections)
        if self._closed:
            self._drop()
        self.turn()

    def close(self) -> None:
        """Hands over what waits, and takes nothing more; a client that was not served sees the connection end."""
        refuse_new(self.listener)
        until = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < until:
            self.accept()
            time.sleep(_PAUSE_SECONDS)
        self.accept()
        self._closed = True
        self._drop()
        self.turn()
        self.listener.close()

    def _drop(self) -> None:
        while self._held:
            os.close(self._held.popleft())

    def _listen(self, wanted: bool) -> None:
        if wanted != self._listening:
            self._listening = wanted
            if wanted:
                self._selector.register(self.listener, selectors.EVENT_READ)
            else:
                self._selector.unregister(self.listener)

    def _give(self, connection: int) -> bool:
        """Whether one of the workers had room for it."""
        now = time.monotonic()
        order = sorted(
            self._up(),
            key=lambda each: (now - each.heard > _QUIET_SECONDS, not each.is_ready, each.load, each.given_at),
        )
        for process in order:
            if channel.give(process.channel, channel.CLIENT, connection):
                process.given += 1
                process.given_at = now
                return True
        return False
