"""What attributes cost: memory of each, start-up, reads of one entity, a small transaction, files and mappings.

Each attribute has one datom. Two sizes are measured, each in a process of its own; the bars hold the larger one
against the smaller.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from bench import folder
from bench.line import Line

_SMALL, _LARGE, _QUICK = 1_000, 20_000, 5_000
_AT_ONCE: Final = 5_000
_ROUNDS: Final = 15
_PULL: Final = "[:find (pull ?e [*]) . :in $ ?e]"
_WHOLE: Final = "[:find ?a ?v :in $ ?e :where [?e ?a ?v]]"
_BYTES: Final = 750.0


class _Figures(NamedTuple):
    """bytes: live objects of the process, for an attribute. longest: the seconds of the longest transaction. The
    others in milliseconds, but for the files, mappings and descriptors of the folder that is open again."""

    bytes: float
    longest: float
    small: float
    pull: float
    whole: float
    datoms: float
    retract: float
    start: float
    files: int
    maps: int
    descriptors: int


def attributes(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Measures both sizes."""
    sizes = (_SMALL, _QUICK if quick else _LARGE)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as processes:
        few, many = (processes.apply(_measured, (size,)) for size in sizes)
    for size, found in zip(sizes, (few, many), strict=True):
        say(f"    {size:,}: {found}")
    title = f"{sizes[1]:,} attributes with a datom each"
    against = f"{sizes[0]:,} attributes"

    def compared(what: str, ours: float, theirs: float, bar: float | None) -> Line:
        return Line("attributes", f"{title}: {what}", "ms", ours, against, theirs, bar=bar)

    return [
        Line("attributes", f"{title}: memory of one", "B", many.bytes, "", None, bar=_BYTES),
        Line("attributes", f"{title}: the longest transaction, of {_AT_ONCE:,}", "s", many.longest, "", None),
        compared("one small transaction", many.small, few.small, 2.0),
        compared("pull [*] of an entity with one of them", many.pull, few.pull, 2.0),
        compared("[?e ?a ?v] of a given entity", many.whole, few.whole, 2.0),
        compared("datoms of a given entity", many.datoms, few.datoms, 2.0),
        compared("retractEntity", many.retract, few.retract, 2.0),
        compared("opening the folder", many.start, few.start, None),
        Line(
            "attributes",
            f"{title}: files, memory mappings, descriptors",
            "",
            float(many.files),
            against,
            float(few.files),
            note=f"mappings {many.maps} and {few.maps}, descriptors {many.descriptors} and {few.descriptors}",
        ),
    ]


def _measured(count: int) -> _Figures:
    with folder.empty() as data:
        location = str(data / "data")
        with Database.open(location, attributes=2 * _LARGE) as database:
            database.transact("[[:db/add 5 :warm/up 1]]")
            longest = 0.0
            for start in range(0, count, _AT_ONCE):
                stop = min(count, start + _AT_ONCE)
                forms = " ".join(f"[:db/add {1000 + n // 10} :app/attr{n:06} {n}]" for n in range(start, stop))
                longest = max(longest, _seconds(lambda forms=forms: database.transact(f"[{forms}]")))
            database.compact()
            pool = Pool(database)
            try:

                def write(number: int) -> None:
                    database.transact(f"[[:db/add 5 :warm/up {number}]]")

                def ask(query: str) -> None:
                    pool.run(QueryRequest(query, (5,), engine="LOCAL")).rows()

                def after_a_write(work: Callable[[], object]) -> float:
                    times = []
                    for number in range(_ROUNDS):
                        write(number)
                        times.append(_seconds(work))
                    return statistics.median(times[3:]) * 1000

                small = statistics.median(_seconds(lambda n=n: write(n)) for n in range(100, 130)) * 1000
                pull, whole = after_a_write(lambda: ask(_PULL)), after_a_write(lambda: ask(_WHOLE))
                datoms = after_a_write(lambda: list(database.snapshot().datoms("EAVT", [5])))
                retract = after_a_write(lambda: database.transact("[[:db/retractEntity 6]]"))
            finally:
                pool.close()
        began = time.perf_counter()
        Database.open(location).close()
        start_up = (time.perf_counter() - began) * 1000
        gc.collect()
        tracemalloc.start()
        with Database.open(location):
            gc.collect()
            size = tracemalloc.get_traced_memory()[0] / count
            tracemalloc.stop()
            files = sum(len(names) for _, _, names in os.walk(location))
            maps = len(Path("/proc/self/maps").read_text().splitlines())
            descriptors = len(os.listdir("/proc/self/fd"))
    return _Figures(size, longest, small, pull, whole, datoms, retract, start_up, files, maps, descriptors)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
