"""Requests that wait until a transaction can be read here."""

from __future__ import annotations

import heapq
import itertools
import threading
from concurrent.futures import Future
from typing import Final

_LEAST: Final = 64


class BasisWaiters:
    """Thread-safe."""

    def __init__(self, t: int) -> None:
        self._t = t
        self._lock = threading.Lock()
        self._waiting: list[tuple[int, int, Future[None]]] = []
        self._numbers = itertools.count()
        # So many may be there before cancelled ones are removed.
        self._most = _LEAST

    def wait(self, t: int) -> Future[None]:
        """Done once transaction t was reached."""
        future: Future[None] = Future()
        with self._lock:
            if t > self._t:
                if len(self._waiting) >= self._most:
                    self._waiting = [each for each in self._waiting if not each[2].cancelled()]
                    self._most = max(_LEAST, 2 * len(self._waiting))
                    heapq.heapify(self._waiting)
                heapq.heappush(self._waiting, (t, next(self._numbers), future))
                return future
        future.set_result(None)
        return future

    def reached(self, t: int) -> None:
        """Completes the futures of transactions up to t."""
        done: list[Future[None]] = []
        with self._lock:
            self._t = t
            while self._waiting and self._waiting[0][0] <= t:
                done.append(heapq.heappop(self._waiting)[2])
        for future in done:
            if future.set_running_or_notify_cancel():
                future.set_result(None)
