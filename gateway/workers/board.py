"""Memory that the supervisor and its workers share: how many are ready, the newest transaction that each knows,
what each holds of the amounts that are for all, and what principals have used.

But for the last, each number has one writer, and is written in one piece; a reader sees an older one or the newest.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import Final

import numpy as np

from adalog.cluster.status import STATES, SessionStatus
from adalog.executor.bounds.other_processes import OtherProcesses
from adalog.gateway.workers.shared_buckets import SharedFills

# Numbers before those of the workers: how many are ready, how many were started again, and of the Spark session its
# state, cores, tasks and microseconds of a job that does nothing.
_READY, _RESTARTS, _SPARK, _OWN = 0, 1, 2, 8
# Far enough apart that no two writers share a line of the processor's cache. Each worker has the newest transaction
# here, then what it holds of each amount.
_STRIDE = 8
AMOUNTS: Final = ("memory", "responses", "live", "mailboxes", "bodies")
"""Bytes that are for all workers together."""


class Board:
    """The memory, in the process that made it or in one that was given its descriptor. `fills`: when the buckets of
    principals will be full, for all workers."""

    def __init__(self, workers: int, descriptor: int | None = None) -> None:
        self.workers = workers
        own = 8 * (_OWN + _STRIDE * workers)
        if descriptor is None:
            with tempfile.TemporaryFile(prefix="adalog-") as file:
                file.truncate(own + SharedFills.nbytes())
                descriptor = os.dup(file.fileno())
        self.descriptor = descriptor
        page = memoryview(mmap.mmap(descriptor, own + SharedFills.nbytes()))
        self._numbers = np.frombuffer(page[:own], np.int64)
        self.fills = SharedFills(page[own:])

    @property
    def ready(self) -> int:
        """Workers that answer and have opened the database."""
        return int(self._numbers[_READY])

    @property
    def restarts(self) -> int:
        """Workers that were started again, since the supervisor's own start."""
        return int(self._numbers[_RESTARTS])

    def count(self, ready: int, restarts: int) -> None:
        """For the supervisor to say."""
        self._numbers[_READY], self._numbers[_RESTARTS] = ready, restarts

    def tell_spark(self, seen: SessionStatus) -> None:
        """For the worker to say that has the session."""
        told = STATES.index(seen.state), seen.cores, seen.tasks, int(1e6 * seen.idle_seconds)
        self._numbers[_SPARK : _SPARK + len(told)] = told

    @property
    def spark(self) -> SessionStatus:
        state, cores, tasks, micros = self._numbers[_SPARK : _SPARK + 4].tolist()
        return SessionStatus(STATES[state], cores, tasks, micros / 1e6)

    def wrote(self, worker: int, t: int) -> None:
        """A worker's transaction is on disk, and is about to be answered."""
        self._numbers[_OWN + _STRIDE * worker] = t

    def forget(self, worker: int) -> None:
        """The worker has ended, and holds nothing any more."""
        start = _OWN + _STRIDE * worker
        self._numbers[start + 1 : start + _STRIDE] = 0

    def beside(self, worker: int, amount: str) -> OtherProcesses:
        """What the other workers hold of an amount."""
        return _Column(self._numbers, _OWN + 1 + AMOUNTS.index(amount), worker)

    @property
    def newest(self) -> int:
        """The newest transaction that any worker may have answered."""
        return int(self._numbers[_OWN::_STRIDE].max())


class _Column:
    """An amount: a number for each worker."""

    def __init__(self, numbers: np.ndarray, first: int, worker: int) -> None:
        self._column = numbers[first::_STRIDE]
        self._worker = worker

    def others(self) -> int:
        return int(self._column.sum()) - int(self._column[self._worker])

    def tell(self, held: int) -> None:
        self._column[self._worker] = held
