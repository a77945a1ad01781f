"""Retention in the background: history that need not stay is folded away, a step at a time.

A step is a transaction as any other; between two of them others have their turn. A killed process has done some of
the steps. Of several processes on one log the one that folds does it; two at once would take the same, once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import EdnMap
from adalog.store.excision.logged_ends import LoggedEnds
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.speculation import instant_at
from adalog.store.values.attribute import Attribute
from adalog.store.writer.retaining import EndedHistory, points_of

_LOGGER: Final = logging.getLogger("adalog.store")
# How long after its opening, and after each look, a database is looked at.
LOOK_SECONDS: Final = 60.0
# For so long a run in the background leaves attributes without history what ended: a process that follows, or a
# checkpoint, that is no further behind than that need not be made anew.
_SPARED_MS: Final = 60_000


class RetainingDatabase(Protocol):
    """What a run needs of a database. ends: of its log."""

    ends: LoggedEnds

    def snapshot(self) -> Snapshot:
        """The newest state."""

    def excise(self, forms: list[EdnMap]) -> int:
        """Applies an excision; its transaction."""

    def now(self) -> int:
        """The time, in milliseconds since 1970."""


@dataclass(frozen=True)
class RetentionResult:
    """What a run did: how many datoms went, in how many steps; t: the last one, 0 for none."""

    datoms: int
    steps: int
    t: int


def retain(database: RetainingDatabase) -> RetentionResult:
    """Folds away all history that need not stay now. Raises as a transaction does."""
    return _without(database, points_of(database.snapshot(), database.now()), lambda: False)


def _without(
    database: RetainingDatabase, points: Mapping[Attribute, int], is_stopped: Callable[[], bool]
) -> RetentionResult:
    steps = t = 0
    left = count = EndedHistory.of(database.snapshot(), points, database.ends)
    while left.datoms[0] and not is_stopped():
        t, steps = database.excise(left.step()), steps + 1
        left = EndedHistory.of(database.snapshot(), points, database.ends)
    return RetentionResult(count.datoms[0] - left.datoms[0], steps, t)


class RetentionThread:
    """Runs it now and then, once something need not be retained. may_run: whether it is this process's to
    do."""

    def __init__(
        self, database: RetainingDatabase, may_run: Callable[[], bool], seconds: float = LOOK_SECONDS
    ) -> None:
        self._database = database
        self._may_run = may_run
        self._seconds = seconds
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="adalog-retention", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends it after the step under way."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(self._seconds):
            try:
                self.look()
            except AdalogError as error:
                _LOGGER.warning(
                    "history that need not stay is still there, until the next attempt: %s", error.message
                )
            except Exception:
                _LOGGER.exception("history that need not stay is still there, until the next attempt")

    def look(self) -> RetentionResult | None:
        """Runs it if it is worth that."""
        if not self._may_run():
            return None
        snapshot, now = self._database.snapshot(), self._database.now()
        points = points_of(snapshot, now, _SPARED_MS)
        # Nothing is old before a database is.
        last = instant_at(snapshot, snapshot.origin.excised or 1) or 0
        if not EndedHistory.of(snapshot, points, self._database.ends).is_enough((now - last) / 1000):
            return None
        result = _without(self._database, points, self._closed.is_set)
        _LOGGER.info("folded away %d datoms of the past in %d steps", result.datoms, result.steps)
        return result
