"""Jobs that clients ask a server for: of each kind one at a time, in a thread of its own, while it goes on serving.

What there is to say of one goes through an `Outbox`. Later jobs of a kind wait in line, if there is room, and are
told what they wait for. A client that leaves, or a server that stops, ends the job within a moment; nothing is left
of it then, unless it was done already.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from adalog.datalog.errors import AdalogError, Code
from adalog.gateway.jobs.outbox import WAITING, Event, Outbox
from adalog.schema.request.errors import describe, internal

# How long the end of a server waits for that of a job.
_END_SECONDS: Final = 2.0
# How often a waiting job is told how long it waits.
_TOLD_SECONDS: Final = 1.0

AnyOutbox = TypeVar("AnyOutbox", bound=Outbox)


@dataclass(eq=False)
class _Job:
    """name: what others are told that they wait for. began: when its turn came, or when it was asked for."""

    name: str
    outbox: Outbox
    began: float = field(default_factory=time.monotonic)
    thread: threading.Thread | None = None


class Jobs:
    """Thread-safe. kind: a noun. room: how many jobs may wait for the one that runs."""

    def __init__(self, kind: str, room: int = 0) -> None:
        self._kind = kind
        self._room = room
        self._changed = threading.Condition()
        # The first one runs.
        self._line: list[_Job] = []

    def begin(self, work: Callable[[Outbox], Any], outbox: AnyOutbox, name: str = "") -> AnyOutbox:
        """Begins a job, which says last what the work returns or raises. Raises RATE_LIMITED if too many wait."""
        job = _Job(name or self._kind, outbox)
        with self._changed:
            if len(self._line) > self._room:
                waiting = f", and {self._room} wait for it" if self._room else ""
                raise AdalogError(
                    Code.RATE_LIMITED,
                    f"another {self._kind} is under way{waiting}; try again when it has ended",
                    retry_after=5,
                )
            # Logs and traces say whose it is.
            target, title = copy_context().run, f"adalog-{self._kind}"
            job.thread = threading.Thread(target=target, args=(self._run, work, job), name=title, daemon=True)
            self._line.append(job)
            job.thread.start()
        return outbox

    def close(self, reason: AdalogError) -> None:
        """Ends the job that runs and those that wait, without waiting for their ends."""
        with self._changed:
            line = list(self._line)
        for job in reversed(line):
            job.outbox.close(reason)
        with self._changed:
            self._changed.notify_all()

    def join(self) -> None:
        """Waits a moment for the end of what was closed."""
        until = time.monotonic() + _END_SECONDS
        for job in list(self._line):
            if job.thread is not None:
                job.thread.join(max(until - time.monotonic(), 0))

    def _run(self, work: Callable[[Outbox], Any], job: _Job) -> None:
        try:
            self._wait(job)
            said: Event = ("done", work(job.outbox))
        except AdalogError as error:
            said = ("error", {"errors": [describe(error)]})
        except Exception as error:  # noqa: BLE001 - it goes to the log, and its number to the client
            said = ("error", {"errors": [internal(error)]})
        with self._changed:
            self._line.remove(job)
            self._changed.notify_all()
        job.outbox.end(*said)

    def _wait(self, job: _Job) -> None:
        """Waits for the job's turn. Raises the reason why it is not wanted any more."""
        while True:
            now = time.monotonic()
            with self._changed:
                ahead = self._line.index(job)
                if ahead == 0:
                    job.began = now
                    return
                running = self._line[0]
            job.outbox.put(
                WAITING,
                {
                    "running": running.name,
                    "ahead": ahead,
                    "seconds": round(now - running.began, 1),
                    "waited": round(now - job.began, 1),
                },
            )
            with self._changed:
                self._changed.wait_for(
                    lambda: self._line[0] is job or job.outbox.reason is not None, timeout=_TOLD_SECONDS
                )
