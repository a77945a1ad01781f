"""Backups that clients ask a server for."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

from prometheus_client.metrics_core import GaugeMetricFamily, Metric

from adalog.gateway.jobs.jobs import Jobs
from adalog.gateway.jobs.outbox import Outbox, ProgressEvents
from adalog.store.backup.creation import BackupResult, take
from adalog.store.database import Database
from adalog.store.files.place import place_of

_log = logging.getLogger("adalog.server")


class Backups:
    """Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.jobs = Jobs("backup")

    def begin(self, to: str, keep: int | None) -> Outbox:
        """Begins a backup to a place that was checked; what it says. Raises RATE_LIMITED while another one runs. On
        the event loop."""
        return self.jobs.begin(lambda outbox: self._taken(to, keep, outbox), Outbox())

    def _taken(self, to: str, keep: int | None, outbox: Outbox) -> dict[str, Any]:
        began = time.monotonic()
        taken = take(self._database.source(), place_of(to), keep, ProgressEvents(outbox))
        _log.info("backup %d was taken at t = %d: %s", taken.number, taken.t, taken)
        return told(taken, time.monotonic() - began)


class BackupFigures:
    """The metric of the last backup, whatever process took it; no sample until there is one. While the log cannot
    be reached it is as it was. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last: float | None = None

    def __call__(self) -> Iterator[Metric]:
        found = self._database.last_backup()
        self._last = self._last if found is None else found
        family = GaugeMetricFamily(
            "adalog_last_backup_timestamp_seconds", "When the database was backed up last, since 1970."
        )
        if self._last is not None:
            family.add_metric([], self._last)
        yield family


def told(taken: BackupResult, seconds: float) -> dict[str, Any]:
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
