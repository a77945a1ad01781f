"""The retractions of attributes with `:db/noHistory`, counted in the log by transaction.

For the thread of retention, which decides by them whether a run is worth it. A call reads only the entries since
the last one.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

import numpy as np

from adalog.store.excision.logged_past import entries_with
from adalog.store.log.reader import LogReader
from adalog.store.values.arrays import Int64s

_NONE: Final = Counter[int]()


class LoggedEnds:
    """Thread-safe."""

    def __init__(self, log: LogReader) -> None:
        self._log = log
        self._lock = threading.Lock()
        # By attribute: the last transaction that was read; how many retractions each transaction has.
        self._read: dict[int, int] = {}
        self._counts: dict[int, Counter[int]] = {}

    def until(self, attributes: Collection[int], t: int) -> Mapping[int, Int64s]:
        """The transactions of all retractions of each attribute up to transaction t, in order. Raises
        BACKEND_UNAVAILABLE and INTERNAL where the log cannot be read."""
        with self._lock:
            for after in {self._read.get(a, 0) for a in attributes if self._read.get(a, 0) < t}:
                self._look([a for a in attributes if self._read.get(a, 0) == after], after, t)
            return {a: _repeated(self._counts.get(a, _NONE)) for a in attributes}

    def _look(self, attributes: Collection[int], after: int, until: int) -> None:
        """Counts the entries with after < t <= until as well, or all again after an excision that is no
        retention."""
        made = {a: Counter(self._counts[a]) if after else Counter[int]() for a in attributes}
        for entry in entries_with(self._log, attributes, after, until):
            logged = self._log.opened(entry)
            for _, a, _, added in logged.datoms:
                if not added and a in made:
                    made[a][entry.t] += 1
            for column in logged.columns:
                if column.attribute in made:
                    made[column.attribute][entry.t] += int(np.count_nonzero(~column.assertions()))
            # When the log is read from its first entry, it lacks already what excisions took.
            excision = logged.excision if after else None
            if excision is not None and excision.is_retention:
                for a in attributes:
                    before = excision.ended_before(a)
                    made[a] = Counter({t: count for t, count in made[a].items() if t >= before})
            elif excision is not None:
                self._look(attributes, 0, until)
                return
        for a in attributes:
            self._counts[a], self._read[a] = made[a], until


def _repeated(counts: Counter[int]) -> Int64s:
    times = np.array(sorted(counts), np.int64)
    return np.repeat(times, np.array([counts[t] for t in times.tolist()], np.int64))
