"""What retention costs: ten million datoms, 90 % of which ended long ago, are folded away beside light queries.

The disk is held against a database of the same transactions in which what ended had never been. Distinct texts are
measured apart: their numbers stay in the dictionaries.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from adalog.datalog.values import Keyword
from adalog.executor.pool import Pool
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from bench import folder
from bench.line import Line

_DATOMS: Final = 10_000_000
_QUICK: Final = 200_000
_TEXTS: Final = 1_000_000
# Each entity has so many values one after the other: a value that is replaced is two datoms.
_VALUES: Final = 10
_TOGETHER: Final = 1_000
_FIRST: Final = 1_000
_ALONE_SECONDS: Final = 3.0
_PAUSE_SECONDS: Final = 0.002
_PROMISED_SECONDS: Final = 60.0
_PROMISED_DISK: Final = 1.2
_PROMISED_LATENCY: Final = 2.0
_LIMIT: Final = "[{:db/ident :reading :db/retainTransactions 1}]"

Say = Callable[[str], None]


def retention(quick: bool, say: Say) -> list[Line]:
    """Loads by transactions, folds away, and measures the disk before and after."""
    with folder.empty() as work:
        lines = _measured(work / "numbers", "long", _QUICK if quick else _DATOMS, say)
    with folder.empty() as work:
        lines += _measured(work / "doubles", "double", _QUICK if quick else _TEXTS, say)[-1:]
    with folder.empty() as work:
        lines += _measured(work / "texts", "string", _QUICK if quick else _TEXTS, say)[-1:]
    return lines


def _measured(work: Path, kind: str, datoms: int, say: Say) -> list[Line]:
    entities = datoms // (2 * _VALUES - 1)
    whole, rest = work / "whole", work / "rest"
    _load(whole, kind, entities, ended=True)
    _load(rest, kind, entities, ended=False)
    before, stays = _size(whole), _size(rest)
    with Database.open(str(whole)) as database:
        database.transact(_LIMIT)
        pool = Pool(database)
        watch = _Watch(pool, database, entities)
        time.sleep(_ALONE_SECONDS)
        alone = watch.p99()
        began, worked = time.perf_counter(), time.process_time()
        done = database.retain()
        seconds, worked = time.perf_counter() - began, time.process_time() - worked
        during = watch.p99()
        watch.close()
        pool.close()
    after = _size(whole)
    what = f"{done.datoms:,} of {datoms:,} datoms, {kind}s, folded away"
    say(f"    {what} in {done.steps} steps: {seconds:.1f} s, {worked:.1f} s of CPU with the queries")
    say(f"    {before / 1e6:.1f} MB, then {after / 1e6:.1f}, and {stays / 1e6:.1f} of what stays alone")
    return [
        Line("retention", what, "s", seconds, "", None, bar=_PROMISED_SECONDS),
        Line(*("retention", "a light query beside it: p99", "ms", during, "without", alone), bar=_PROMISED_LATENCY),
        Line(
            *("retention", f"disk after {what}", "MB", after / 1e6, "what stays", stays / 1e6),
            bar=_PROMISED_DISK,
            note=f"{before / 1e6:.1f} MB before",
        ),
    ]


def _load(data: Path, kind: str, entities: int, *, ended: bool) -> None:
    """As many transactions either way; without `ended` all but the last values are left out."""
    add, reading = Keyword("db/add"), Keyword("reading")
    with Database.open(str(data)) as database:
        database.transact(f"[{{:db/ident :reading :db/valueType :db.type/{kind}}}]")
        for number in range(_VALUES):
            for first in range(0, entities, _TOGETHER):
                some = range(first, min(first + _TOGETHER, entities)) if ended or number == _VALUES - 1 else ()
                database.transact(tuple((add, _FIRST + e, reading, _value(kind, e, number)) for e in some))
        database.compact()


def _value(kind: str, e: int, number: int) -> Any:
    if kind == "string":
        return f"reading {number} of entity {e}"
    return (7 * e + number) % 1000 / 10 if kind == "double" else 100 * e + number


class _Watch:
    """A client of light queries, one after the other."""

    def __init__(self, pool: Pool, database: Database, entities: int) -> None:
        self._pool, self._database, self._entities = pool, database, entities
        self._taken: list[float] = []
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._closed.wait(_PAUSE_SECONDS):
            number += 1
            asked = "[:find ?v . :in $ ?e :where [?e :reading ?v]]"
            began = time.perf_counter()
            request = QueryRequest(asked, (_FIRST + 7919 * number % self._entities,), self._database.snapshot())
            self._pool.run(request).rows()
            self._taken.append(1000 * (time.perf_counter() - began))

    def p99(self) -> float:
        """Of the queries since this was asked last, in milliseconds."""
        taken, self._taken = self._taken, []
        return float(np.percentile(taken, 99))

    def close(self) -> None:
        self._closed.set()
        self._thread.join()


def _size(data: Path) -> int:
    return sum(path.stat().st_size for path in data.rglob("*") if path.is_file())
