"""Events of a job in a thread, for its client on the event loop or in another process.

A newer progress event replaces one that is not sent yet. Other events wait in a short queue; a full queue makes the
job wait.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from typing import Any, Final

from adalog.datalog.errors import AdalogError
from adalog.store.backup.progress import BackupProgress

# Events that wait for a client, but for progress, of which only the latest waits.
_MOST: Final = 16
# How often progress in bytes is told.
_TOLD_SECONDS: Final = 0.25

LAST: Final = ("done", "error")
WAITING: Final = "waiting"
"""Of a job that waits for another one."""
_REPLACED: Final = ("progress", WAITING)
Event = tuple[str, Any]
"""Its kind, `waiting`, `progress`, `rejected`, `done` or `error`, and what is said, as JSON has it."""


class Outbox:
    """Events from the thread of a job to a task of the event loop. `reason`: why they are not wanted any more."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._events: deque[Event] = deque()
        self._room = threading.Condition()
        self.reason: AdalogError | None = None

    def put(self, kind: str, said: Any) -> None:
        """Has an event sent; waits while the queue is full. Raises the reason why it is not wanted."""
        with self._room:
            self.check()
            if kind in _REPLACED and self._events and self._events[-1][0] == kind:
                self._events.pop()
            self._room.wait_for(lambda: len(self._events) < _MOST or self.reason is not None)
            self.check()
            self._events.append((kind, said))
        self._tell()

    def end(self, kind: str, said: Any) -> None:
        """The last event, which waits for nothing."""
        with self._room:
            self._events.append((kind, said))
        self._tell()

    def check(self) -> None:
        """Raises the reason why no event is wanted any more, if there is one."""
        if self.reason is not None:
            raise AdalogError(self.reason.code, self.reason.message, retryable=self.reason.retryable)

    def close(self, reason: AdalogError) -> None:
        """No event is wanted any more."""
        with self._room:
            self.reason = self.reason or reason
            self._room.notify_all()

    async def taken(self, seconds: float) -> list[Event]:
        """The events that wait, of which there may be none after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return []
        self._changed.clear()
        with self._room:
            return self._emptied()

    def _emptied(self) -> list[Event]:
        """The events that wait, which make room. Under the lock."""
        events = list(self._events)
        self._events.clear()
        self._room.notify_all()
        return events

    def _tell(self) -> None:
        # A closed loop has no client left.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._changed.set)


class ThreadsOutbox(Outbox):
    """The same to a thread."""

    def __init__(self) -> None:
        self._events = deque()
        self._room = threading.Condition()
        self.reason = None

    def waited(self, seconds: float) -> list[Event]:
        """The events that wait, of which there may be none after so many seconds."""
        with self._room:
            self._room.wait_for(lambda: bool(self._events), seconds)
            return self._emptied()

    def _tell(self) -> None:
        with self._room:
            self._room.notify_all()


class ProgressEvents(BackupProgress):
    """How far a job is, as events. The reporting job hears when no client wants them any more."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._stage = ""
        self._last = 0.0

    def stage(self, name: str) -> None:
        self._stage = name
        self._outbox.put("progress", {"stage": name})

    def tasks(self, done: int, total: int, rows: int) -> None:
        """So many of the stage's tasks are done; while files are read, about so many rows."""
        self._outbox.check()
        if total:
            self._outbox.put("progress", {"stage": self._stage, "done": done, "total": total, "rows": rows})

    def bytes(self, done: int, total: int) -> None:
        """So many of the stage's bytes are done, which may be said at any pace."""
        self._outbox.check()
        now = time.monotonic()
        if now >= self._last + _TOLD_SECONDS:
            self._last = now
            self.tasks(done, total, 0)
