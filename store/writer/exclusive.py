"""The writer's thread, lent for a change of the database in several steps: transactions wait meanwhile.

A hold ends by itself after so many seconds, whatever its holder does, so that transactions never wait
for ever.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from adalog.datalog.errors import AdalogError, Code

T = TypeVar("T")

HOLD_SECONDS: Final = 60.0
"""For how long an import may keep transactions waiting."""
# How often the writer looks whether it is to stop.
_LOOK_SECONDS: Final = 0.1


def answered_by(work: Callable[[], T]) -> tuple[Callable[[], None], Future[T]]:
    """A job for the writer's thread, and the future of its result. The thread remembers its last job, so the job
    lets go of the work when it runs."""
    done: Future[T] = Future()
    todo = [work]

    def job() -> None:
        try:
            done.set_result(todo.pop()())
        except Exception as error:  # noqa: BLE001 - goes to the waiter
            done.set_exception(error)

    return job, done


class ExclusiveWriter:
    """`serve` is for the writer's thread, the rest for the holder's."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._begun: Future[None] = Future()
        self._steps: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._over = False

    def begun(self) -> None:
        """Waits until the writer serves this hold alone."""
        self._begun.result()

    def run(self, work: Callable[[], T]) -> T:
        """Runs a step on the writer's thread, and waits for its end. Raises TIMEOUT when the hold is over."""
        step, done = answered_by(work)
        del work
        with self._lock:
            if self._over:
                raise AdalogError(
                    Code.TIMEOUT,
                    f"transactions were kept waiting for {self._seconds:g} seconds, and are no longer: what was to "
                    "be done meanwhile was not; ADALOG_IMPORT_HOLD_SECONDS moves this limit",
                    retryable=True,
                )
            self._steps.put(step)
        return done.result()

    def fail(self, error: Exception) -> None:
        """Has it not begin: the writer cannot be lent."""
        with self._lock:
            self._over = True
        if not self._begun.done():
            self._begun.set_exception(error)

    def release(self) -> None:
        """Has transactions go on. Once is enough."""
        self._steps.put(None)

    def serve(self, stopped: Callable[[], bool]) -> None:
        """Runs the holder's steps until it releases the writer, its time is over, or the writer is to stop."""
        until = time.monotonic() + self._seconds
        self._begun.set_result(None)
        while (left := until - time.monotonic()) > 0 and not stopped():
            try:
                step = self._steps.get(timeout=min(left, _LOOK_SECONDS))
            except queue.Empty:
                continue
            if step is None:
                break
            step()
            # What it held goes with it, while the next one is waited for.
            del step
        with self._lock:
            self._over = True
        # A step that was put in the last moment is run: its caller waits, and nothing came between.
        while not self._steps.empty():
            left_over: Any = self._steps.get()
            if left_over is not None:
                left_over()
