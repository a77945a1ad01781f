"""Jobs that clients ask a server for: of each kind one at a time, in a thread of its own, while it goes on serving.

What there is to say of one goes through an `Outbox`. A client that leaves, or a server that stops, ends the job
within a moment; nothing is left of it then, unless it was done already.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, Final, TypeVar

from adalog.datalog.errors import AdalogError, Code
from adalog.gateway.jobs.outbox import Event, Outbox
from adalog.schema.request.errors import describe, internal

# How long the end of a server waits for that of a job.
_END_SECONDS: Final = 2.0

AnyOutbox = TypeVar("AnyOutbox", bound=Outbox)


class Jobs:
    """Thread-safe. kind: a noun."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._running: tuple[Outbox, threading.Thread] | None = None

    def begin(self, work: Callable[[Outbox], Any], outbox: AnyOutbox) -> AnyOutbox:
        """Begins a job, which says last what the work returns or raises. Raises RATE_LIMITED while another runs."""
        with self._lock:
            if self._running is not None:
                raise AdalogError(
                    Code.RATE_LIMITED,
                    f"another {self._kind} is under way; try again when it has ended",
                    retry_after=5,
                )
            # Logs and traces say whose it is.
            target, name = copy_context().run, f"adalog-{self._kind}"
            thread = threading.Thread(target=target, args=(self._run, work, outbox), name=name, daemon=True)
            self._running = outbox, thread
            thread.start()
        return outbox

    def close(self, reason: AdalogError) -> None:
        """Ends the job that runs, if any, without waiting for its end."""
        running = self._running
        if running is not None:
            running[0].close(reason)

    def join(self) -> None:
        """Waits a moment for the end of what was closed."""
        running = self._running
        if running is not None:
            running[1].join(_END_SECONDS)

    def _run(self, work: Callable[[Outbox], Any], outbox: Outbox) -> None:
        try:
            said: Event = ("done", work(outbox))
        except AdalogError as error:
            said = ("error", {"errors": [describe(error)]})
        except Exception as error:  # noqa: BLE001 - it goes to the log, and its number to the client
            said = ("error", {"errors": [internal(error)]})
        with self._lock:
            self._running = None
        outbox.end(*said)
