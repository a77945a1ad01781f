"""What a Spark task does: opens the snapshot, binds the plan, and runs the join from its share of the prefixes.

The same binding, join and collector as in process. Knows nothing of Spark: bytes in, bytes out.
"""

from __future__ import annotations

import base64
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

import numpy as np
import pyarrow as pa

from datalog.errors import AdalogError, Code, Position
from executor.bounds.budget import Memory
from executor.bounds.cancel import Cancel
from executor.bounds.run import Run
from executor.evaluation.bind import Binding
from executor.evaluation.fixpoint import derived
from executor.evaluation.local import Ran, collector_for, run_join
from executor.join.batch import Batch, Column
from executor.join.driver import Driver
from executor.join.generic_join import GenericJoin, LevelCounts
from executor.question.inputs import Inputs
from executor.spark.shipping import Shipped
from executor.spark.wire import column_of, from_bytes, to_bytes
from planner.plan import Plan
from planner.sharing import SHARE
from store.codes import Scratch
from store.snapshot import Snapshot
from store.wire import pack, unpack

_KEPT_BOUND: Final = 4
_LOOK_SECONDS: Final = 0.05
# One answer is one Arrow value, and those end at 2 GiB.
_MOST_BYTES: Final = 2_000_000_000


@dataclass(frozen=True)
class Job:
    """What all tasks of one query share.

    `made`: the values that the driver's Scratch has made up so far. `stop`: a file that says that nobody waits any
    more, where workers can see the driver's files.
    """

    key: str
    plan: Plan
    databases: Mapping[str, Shipped]
    relations: Mapping[str, Sequence[Column]]
    start: Batch
    made: Sequence[Any]
    strict: bool
    most: int | None
    timeout_ms: int | None
    stop: str | None = None


class Watched(Cancel):
    """Stops, too, once there is a file of this name: Spark itself takes seconds to end a task's worker."""

    def __init__(self, timeout_ms: int | None, stop: str | None) -> None:
        super().__init__(None if timeout_ms is None else monotonic() + timeout_ms / 1000)
        self._stop = stop
        self._looked = 0.0

    def check(self) -> None:
        if self._stop is not None and monotonic() - self._looked > _LOOK_SECONDS:
            self._looked = monotonic()
            if os.path.exists(self._stop):
                self.cancel()
        super().check()


class Refused(Exception):
    """An AdalogError on its way through Java, which keeps nothing but a text."""

    def __init__(self, error: AdalogError) -> None:
        at = None if error.position is None else [error.position.line, error.position.column, error.position.origin]
        told = pack({"code": str(error.code), "message": error.message, "at": at, "retryable": error.retryable})
        super().__init__(f"adalog<{base64.b64encode(told).decode()}>")


def refusal(text: str) -> AdalogError | None:
    """The AdalogError that a text tells of, if any."""
    found = re.search(r"adalog<([A-Za-z0-9+/=]+)>", text)
    if found is None:
        return None
    told = unpack(base64.b64decode(found[1]))
    position = None if told["at"] is None else Position(*told["at"])
    return AdalogError(Code(told["code"]), told["message"], position, retryable=told["retryable"])


@dataclass
class _Bound:
    """A job in this worker. `join`: None where each share has rules of its own to derive first."""

    join: GenericJoin | None
    databases: Mapping[str, Snapshot]
    common: Run

    def run(self, job: Job, prefixes: Batch, depth: int) -> Ran:
        """The share's rows, each once."""
        with _memory.lent(self.common.cancel):
            return self._run(job, prefixes, depth)

    def _run(self, job: Job, prefixes: Batch, depth: int) -> Ran:
        if self.join is None:
            relations = {name: list(columns) for name, columns in job.relations.items()}
            relations[SHARE] = list(prefixes.columns.values())
            inputs = Inputs(job.start, relations, dict(self.databases))
            return run_join(job.plan, inputs, self.common, most=job.most)
        self.join.counts = [LevelCounts() for _ in self.join.levels]
        collector = collector_for(job.plan, job.most, self.common.cancel)
        Driver(self.join, collector, self.common.cancel).run(prefixes, depth)
        return Ran(collector.rows(), self.join.counts)


_memory = Memory()
_bound: OrderedDict[str, _Bound] = OrderedDict()


def runner(job: Job) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    """The function that Spark hands the shares to, an Arrow column of them at a time."""

    def run(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for shares in columns:
            yield column_of([run_share(job, share.as_buffer()) for share in shares])

    return run


def run_share(job: Job, share: pa.Buffer) -> pa.Buffer:
    """The answer's rows from one share, each once, with the level counts and the values made up on the way."""
    prefixes, said = from_bytes(share)
    try:
        bound = _bind(job)
        ran = bound.run(job, prefixes, said["depth"])
        rows = ran.rows
        numbers, made = _made_up(rows, bound.common.values, len(job.made))
        counts = [[c.prefixes, c.candidates, c.rows, c.seconds] for c in ran.levels]
        answer = to_bytes(rows, {"counts": counts, "numbers": numbers, "made": made})
        if answer.size > _MOST_BYTES:
            raise AdalogError(
                Code.LIMIT_EXCEEDED,
                "one part of the answer alone is larger than 2 GB; narrow the query, aggregate, or use :limit",
            )
        return answer
    except AdalogError as error:
        raise Refused(error) from None


def _made_up(rows: Batch, values: Scratch, known: int) -> tuple[list[int], list[Any]]:
    """(numbers, values) of what the rows hold of the values made up here; the first `known` the driver knows."""
    made = values.made()
    if len(made) == known:
        return [], []
    numbers = [np.unique(values.made_numbers(column)) for column in rows.columns.values()]
    used = np.unique(np.concatenate(numbers)) if numbers else np.empty(0, np.int64)
    used = used[used >= known]
    return used.tolist(), [made[number] for number in used.tolist()]


def _bind(job: Job) -> _Bound:
    """The job's join, bound by the first of its tasks that this worker gets and kept for the others."""
    found = _bound.get(job.key)
    if found is None:
        databases = {name: shipped.open() for name, shipped in job.databases.items()}
        cancel = Watched(job.timeout_ms, job.stop)
        values = Scratch(next(iter(databases.values())).codes, take=cancel.budget.take)
        values.adopt(job.made)
        run = Run(values, cancel, job.strict)
        join = None
        if job.plan.sharing is None:
            join = Binding(job.plan, databases, job.relations, run, derive=derived).join()
            assert join is not None, "the driver bound it, and sends no task where a part without variables fails"
        found = _bound[job.key] = _Bound(join, databases, run)
        while len(_bound) > _KEPT_BOUND:
            _bound.popitem(last=False)
    _bound.move_to_end(job.key)
    return found
