"""The writer's queue: jobs in order, for one thread that takes all that wait at once.

Jobs that come together wake the thread once. A wake-up for each of them costs more than a small transaction does:
two threads then take turns with the interpreter.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Final, Generic, TypeVar

T = TypeVar("T")

# `_wanted` while no thread waits.
_NOBODY: Final = 0
# Most waits for more jobs: requests of clients that were answered together come one after the other.
_LONGEST: Final = 6


class JobQueue(Generic[T]):
    """`put` is for any thread, `take` for one."""

    def __init__(self) -> None:
        self._jobs: deque[T] = deque()
        self._lock = threading.Lock()
        # The number of jobs at which `put` wakes the waiting thread, by a release of `_signal`.
        self._wanted = _NOBODY
        self._signal = threading.Lock()
        self._signal.acquire()

    def put(self, job: T) -> None:
        """Queues a job."""
        with self._lock:
            self._jobs.append(job)
            is_waking = self._wanted != _NOBODY and len(self._jobs) >= self._wanted
            if is_waking:
                self._wanted = _NOBODY
        if is_waking:
            self._signal.release()

    def take(self, most: int, expected: int, patience: float, timeout: float | None) -> list[T]:
        """At least one job and at most `most`, in order; none where there was none within `timeout` seconds. Waits
        for `expected` ones, as long as some came within the last `patience` seconds, and at most `_LONGEST` times
        that."""
        if expected == 1 or not self._has_come(expected, patience):
            self._is_there(1, timeout)
            if expected > 1 and self._jobs:
                self._has_come(expected, patience)
        return [self._jobs.popleft() for _ in range(min(most, len(self._jobs)))]

    def _has_come(self, expected: int, patience: float) -> bool:
        """Waits for `expected` jobs; whether some have come."""
        known = 0
        for _ in range(_LONGEST):
            if self._is_there(expected, patience) or len(self._jobs) == known:
                break
            known = len(self._jobs)
        return bool(self._jobs)

    def _is_there(self, count: int, timeout: float | None) -> bool:
        """Waits for so many jobs; whether they are there."""
        with self._lock:
            if len(self._jobs) >= count:
                return True
            self._wanted = count
        if self._signal.acquire(timeout=-1 if timeout is None else timeout):
            return True
        with self._lock:
            is_late = self._wanted != _NOBODY
            self._wanted = _NOBODY
        if not is_late:
            # `put` has signalled after the timeout: the next wait must not find that.
            self._signal.acquire()
        return not is_late
