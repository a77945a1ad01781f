"""Backups that clients ask a server for: one at a time, each in a thread of its own, while it goes on serving.

A client that leaves, or a server that stops, ends the backup within a moment; nothing of it is left then, unless it
was done already.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass
from typing import Any, Final

from datalog.errors import AdalogError, Code
from gateway.imports import Event, Outbox
from schema.errors import describe, internal
from store.backup.taking import Taken, take
from store.database import Database
from store.place import place_of

_log = logging.getLogger("adalog.server")

# How often progress is told, and how long the end of a server waits for that of a backup.
_TOLD_SECONDS: Final = 0.25
_END_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """A backup that is asked for, whose place was checked."""

    to: str
    keep: int | None = None


class Backups:
    """Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._running: tuple[Outbox, threading.Thread] | None = None

    def begin(self, wanted: Wanted) -> Outbox:
        """Begins a backup; what it says. Raises RATE_LIMITED while another one runs. On the event loop."""
        with self._lock:
            if self._running is not None:
                raise AdalogError(
                    Code.RATE_LIMITED, "another backup is taken; try again when it has ended", retry_after=5
                )
            outbox = Outbox()
            thread = threading.Thread(target=self._run, args=(wanted, outbox), name="adalog-backup", daemon=True)
            self._running = outbox, thread
            thread.start()
        return outbox

    def close(self, reason: AdalogError) -> None:
        """Ends the backup that runs, if any, without waiting for its end."""
        running = self._running
        if running is not None:
            running[0].close(reason)

    def join(self) -> None:
        """Waits a moment for the end of what was closed."""
        running = self._running
        if running is not None:
            running[1].join(_END_SECONDS)

    def _run(self, wanted: Wanted, outbox: Outbox) -> None:
        began = time.monotonic()
        try:
            taken = take(self._database.source(), place_of(wanted.to), wanted.keep, Told(outbox))
            said: Event = ("done", told(taken, time.monotonic() - began))
            _log.info("backup %d was taken at t = %d: %s", taken.number, taken.t, taken)
        except AdalogError as error:
            said = ("error", {"errors": [describe(error)]})
        except Exception as error:  # noqa: BLE001 - it goes to the log, and its number to the client
            said = ("error", {"errors": [internal(error)]})
        with self._lock:
            self._running = None
        outbox.end(*said)


def told(taken: Taken, seconds: float) -> dict[str, Any]:
    """What is said of a backup that was taken."""
    said: dict[str, Any] = {
        "backup": taken.number,
        "t": taken.t,
        "bytes": taken.bytes,
        "written": taken.written,
        "files": taken.files,
        "removed": list(taken.removed),
        "seconds": round(seconds, 2),
    }
    return said if taken.left_out is None else {**said, "leftOut": taken.left_out}


class Told:
    """How far a backup is, as events; it hears that nobody wants to know."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._stage = ""
        self._last = 0.0

    def stage(self, name: str) -> None:
        """Another stage begins."""
        self._stage = name
        self._outbox.put("progress", {"stage": name})

    def bytes(self, done: int, total: int) -> None:
        """So many of the stage's bytes are done."""
        self._outbox.check()
        now = time.monotonic()
        if now >= self._last + _TOLD_SECONDS:
            self._last = now
            self._outbox.put("progress", {"stage": self._stage, "done": done, "total": total, "rows": 0})
