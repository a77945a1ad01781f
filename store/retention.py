"""Retention of a database: retracted values past their limits are removed, on demand and in the background.

A run has steps, each a transaction of its own, so that a killed process leaves each step done or not begun. Of
several processes on one log, the one that folds runs it; if two do at once, each value is removed once.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from adalog.datalog.errors import AdalogError
from adalog.datalog.values import EdnMap
from adalog.store.excision.ended_history import EndedHistory, forms_of, past_of, points_of
from adalog.store.excision.logged_ends import LoggedEnds
from adalog.store.excision.logged_past import LoggedPast
from adalog.store.excision.step_size import StepSize
from adalog.store.log.reader import LogReader
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.speculation import instant_at
from adalog.store.values import bootstrap
from adalog.store.values.attribute import Attribute

_LOGGER: Final = logging.getLogger("adalog.store")
# The background looks so many seconds after its start, and after each look.
_LOOK_SECONDS: Final = 60.0
# Runs in the background leave the values of attributes with `:db/noHistory` that were retracted in the last minute.
# So processes and checkpoints that are no further behind need not be rebuilt.
_SPARED_MS: Final = 60_000


@dataclass(frozen=True)
class RetentionResult:
    """How many datoms a run removed, in how many steps. t: the transaction of the last step, 0 for none."""

    datoms: int
    steps: int
    t: int


class Retention:
    """ends: the retractions that the log alone has. excise: applies an excision, with what was read of the log
    for it, and waits until it is durable; its transaction."""

    def __init__(
        self,
        log: LogReader,
        snapshot: Callable[[], Snapshot],
        excise: Callable[[list[EdnMap], LoggedPast], int],
        now: Callable[[], int],
        may_run: Callable[[], bool],
    ) -> None:
        """snapshot: the newest. now: the time, in milliseconds since 1970. may_run: whether runs in the background
        are this process's to do."""
        self.ends = LoggedEnds(log)
        # The last run, and the last excision when that was found.
        self._last, self._excised = 1, 0
        self._log = log
        self.excise = excise
        self._snapshot = snapshot
        self._now = now
        self._may_run = may_run
        self._thread: threading.Thread | None = None
        self._closing = threading.Lock()
        self._closed = threading.Event()

    @property
    def is_in_background(self) -> bool:
        """Whether it looks now and then."""
        return self._thread is not None

    def begin(self, attributes: Collection[int]) -> None:
        """Has it look now and then, once the database has one of the attributes by which others lose some of their
        past. For one thread at a time."""
        if self._thread is not None or not any(id_ in attributes for id_ in bootstrap.ENDING):
            return
        with self._closing:
            if not self._closed.is_set():
                self._thread = threading.Thread(target=self._look_on, name="adalog-retention", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Ends it after the step under way."""
        with self._closing:
            self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def run(self) -> RetentionResult:
        """Removes all values that are past their limits now. Raises as a transaction does."""
        return self._run(points_of(self._snapshot(), self._now()), lambda: False)

    def look(self) -> RetentionResult | None:
        """Runs retention in the background if enough values are past their limits; None if not."""
        if not self._may_run():
            return None
        snapshot, now = self._snapshot(), self._now()
        points = points_of(snapshot, now, _SPARED_MS)
        last = instant_at(snapshot, self._last_run(snapshot.origin.excised)) or 0
        if not EndedHistory.of(snapshot, points, self.ends).is_enough((now - last) / 1000):
            return None
        result = self._run(points, self._closed.is_set)
        _LOGGER.info("folded away %d datoms of the past in %d steps", result.datoms, result.steps)
        return result

    def _last_run(self, excised: int) -> int:
        """The last excision of retracted values alone; the first transaction if there is none. excised: the last
        excision of any kind."""
        found = self._log.excisions_back(excised, self._excised)
        self._last = next((excision.t for excision in found if excision.is_retention), self._last)
        self._excised = excised
        return self._last

    def _run(self, points: Mapping[Attribute, int], is_stopped: Callable[[], bool]) -> RetentionResult:
        steps = t = 0
        left = first = EndedHistory.of(self._snapshot(), points, self.ends)
        size = StepSize()
        while left.datoms[0] and not is_stopped():
            step, snapshot = left.step(size.datoms), self._snapshot()
            # What transactions would wait for, if the writer had to read it.
            began, past = time.perf_counter(), past_of(snapshot, step)
            past.read(self._log, snapshot.t)
            was_read = time.perf_counter()
            t, steps = self.excise(forms_of(step), past), steps + 1
            size.took(time.perf_counter() - was_read, was_read - began)
            left = EndedHistory.of(self._snapshot(), points, self.ends)
        return RetentionResult(first.datoms[0] - left.datoms[0], steps, t)

    def _look_on(self) -> None:
        while not self._closed.wait(_LOOK_SECONDS):
            try:
                self.look()
            except AdalogError as error:
                _LOGGER.warning("a run of retention failed, and is tried again in a minute: %s", error.message)
            except Exception:
                _LOGGER.exception("a run of retention failed, and is tried again in a minute")
