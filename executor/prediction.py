"""How long a query would take here and on Spark: what AUTO chooses by.

The planner's cost is candidates and prefixes, whose seconds depend on the machine and the data. They begin as what
they were on one machine, and are corrected by what runs really took: those of all queries a little, those of the
same query most. Only runs of some length teach anything. What the way to Spark and back takes begins as what a job
that does nothing took when the session was new, when nothing was compiled yet, and is corrected likewise.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from adalog.planner.model.plan import Engine as Place

# Of one unit of cost on one thread.
_UNIT_SECONDS: Final = 1e-7
# What is computed once for each core on Spark: opening and binding, and shares that are never quite equal.
_UNEVEN: Final = 1.15
# Of a row on its way from a task to the driver.
_ROW_SECONDS: Final = 1.5e-7
# EstimatedWork below this is not worth any way there; and what is to be won must be worth being wrong.
_WORTH_SECONDS: Final = 0.3
_WINS: Final = 0.8

_TAUGHT_SECONDS: Final = 0.05
# How much of what is believed gives way to what was seen: of all queries, of the same one, of the way to Spark.
_GENERAL: Final = 0.1
_OWN: Final = 0.5
_WAY: Final = 0.3
_BOUND: Final = math.log(64)
_KEPT: Final = 1024


@dataclass(frozen=True, slots=True)
class EstimatedWork:
    """A query as the planner sees it: its text, its cost, and the rows that it comes to."""

    text: str
    cost: float
    rows: float


@dataclass(frozen=True, slots=True)
class ClusterCapacity:
    """Spark as it is now: tasks at once, tasks of a job, and the seconds of a job of so many that do nothing."""

    cores: int
    tasks: int
    idle_seconds: float


@dataclass(slots=True)
class _Seen:
    """The logarithm of what a query took as a multiple of what its cost alone says; how often that was seen."""

    log: float
    times: int


class Prediction:
    """Predicts, and learns. Thread-safe."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        # The logarithm of what runs took as a multiple of what their costs alone say, where any were seen.
        self._general: dict[Place, float] = {}
        # The logarithm of what the way to Spark and back takes as a multiple of what is expected of it.
        self._way = 0.0
        # By the text's hash: texts may be long, and what two of them share is but an estimate.
        self._own: OrderedDict[tuple[Place, int], _Seen] = OrderedDict()
        self._lock = threading.Lock()

    def here(self, work: EstimatedWork) -> float:
        """Seconds in this process."""
        return self._here(work.cost) * self._multiple(Place.LOCAL, work.text)

    def units(self, work: EstimatedWork) -> float:
        """The cost, corrected by what runs really took."""
        return work.cost * self._multiple(Place.LOCAL, work.text)

    def choose(self, work: EstimatedWork, cluster: ClusterCapacity) -> tuple[Place, str]:
        """(where to run a query that both may run, why)."""
        here, parts = self.here(work), self._parts(work, cluster)
        there = sum(parts)
        compared = (
            f"{_shown(here)} here on {self.threads} threads{self._taught(Place.LOCAL, work.text)}; "
            f"on Spark {_shown(there)}: {_shown(parts[0])} for {cluster.tasks:,} tasks that do nothing, "
            f"{_shown(parts[1])} on {cluster.cores} cores{self._taught(Place.SPARK, work.text)}, "
            f"{_shown(parts[2])} for {work.rows:,.0f} rows"
        )
        return Place.SPARK if there < _WINS * here else Place.LOCAL, compared

    def small(self, work: EstimatedWork) -> str | None:
        """Why a query stays here whatever Spark is like; None where it may not."""
        here = self.here(work)
        if here >= _WORTH_SECONDS:
            return None
        return f"{_shown(here)} here{self._taught(Place.LOCAL, work.text)}, too little for Spark"

    def learn(
        self,
        place: Place,
        work: EstimatedWork,
        seconds: float,
        cluster: ClusterCapacity | None = None,
        computing: float | None = None,
    ) -> None:
        """Takes in what a run took. cluster: where it was on Spark. computing: how much of it tasks computed, of
        which all cores had some; None where that is not known."""
        if seconds < _TAUGHT_SECONDS:
            return
        if cluster is None:
            expected = self._here(work.cost)
        else:
            begin, expected, rows = self._parts(work, cluster, plain=True)
            if computing is None:
                computing = seconds - begin - rows
            else:
                self._learn_way(seconds - computing, begin + rows)
            seconds = max(computing, _TAUGHT_SECONDS)
        found = math.log(seconds / max(expected, _UNIT_SECONDS))
        general = max(-_BOUND, min(_BOUND, found))
        key = place, hash(work.text)
        with self._lock:
            believed = self._believed(place)
            self._general[place] = believed + _GENERAL * (general - believed)
            seen = self._own.pop(key, _Seen(found, 0))
            seen.log += _OWN * (found - seen.log)
            seen.times += 1
            self._own[key] = seen
            while len(self._own) > _KEPT:
                self._own.popitem(last=False)

    def _learn_way(self, seconds: float, expected: float) -> None:
        found = math.log(max(seconds, _UNIT_SECONDS) / max(expected, _UNIT_SECONDS))
        with self._lock:
            self._way += _WAY * (max(-_BOUND, min(_BOUND, found)) - self._way)

    def _here(self, cost: float) -> float:
        return cost * _UNIT_SECONDS / self.threads

    def _parts(
        self, work: EstimatedWork, cluster: ClusterCapacity, *, plain: bool = False
    ) -> tuple[float, float, float]:
        """Seconds for a job that does nothing, for the computing, for the rows."""
        computing = work.cost * _UNIT_SECONDS * _UNEVEN / max(cluster.cores, 1)
        way = 1.0
        if not plain:
            computing *= self._multiple(Place.SPARK, work.text)
            way = math.exp(self._way)
        return cluster.idle_seconds * way, computing, work.rows * _ROW_SECONDS * way

    def _multiple(self, place: Place, text: str) -> float:
        """What the cost's seconds are to be multiplied with. A query seen in the one place is as much harder than
        its cost says in the other."""
        with self._lock:
            key = hash(text)
            for each in (place, _other(place)) if self._own else ():
                seen = self._own.get((each, key))
                if seen is not None:
                    return math.exp(seen.log + self._believed(place) - self._believed(each))
            return math.exp(self._believed(place))

    def _believed(self, place: Place) -> float:
        """What all queries taught of a place. Where none ran there, those of the other place did: both compute by
        the same kernels, and a machine that is busy is so for both."""
        return self._general.get(place, self._general.get(_other(place), 0.0))

    def _taught(self, place: Place, text: str) -> str:
        with self._lock:
            seen = self._own.get((place, hash(text)))
        return "" if seen is None else f", by {seen.times} earlier run{'s' * (seen.times > 1)}"


def _other(place: Place) -> Place:
    return Place.SPARK if place is Place.LOCAL else Place.LOCAL


def _shown(seconds: float) -> str:
    if seconds < 0.01:
        return "under 0.01 s"
    return f"about {seconds:.2f} s" if seconds < 10 else f"about {seconds:,.0f} s"
