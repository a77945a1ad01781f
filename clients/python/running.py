"""How a task that is cancelled ends the call that a thread runs for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final


class RunningCall:
    """What cancels a call, and the texts of its warnings. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancels: list[Callable[[], None]] = []
        self._is_cancelled = False
        self.warnings: list[str] = []

    def cancelled_by(self, cancel: Callable[[], None]) -> None:
        """Has this called when the call is cancelled: at once if it was."""
        with self._lock:
            self._cancels.append(cancel)
            late = self._is_cancelled
        if late:
            cancel()

    def cancel(self) -> None:
        with self._lock:
            self._is_cancelled = True
            cancels = tuple(self._cancels)
        for each in cancels:
            each()


RUNNING: Final[ContextVar[RunningCall | None]] = ContextVar("running", default=None)
"""The call of a task that the present thread runs; None outside of tasks."""


def cancelled_by(cancel: Callable[[], None]) -> None:
    """Has the task that made the present call, if there is one, call this when it is cancelled."""
    running = RUNNING.get()
    if running is not None:
        running.cancelled_by(cancel)
