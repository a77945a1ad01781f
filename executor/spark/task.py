"""What a Spark task does: opens the snapshot, binds the plan, and runs the join from its share of the prefixes.

The same binding, join and collector as in process. Knows nothing of Spark: bytes in, bytes out.
"""

from __future__ import annotations

import os
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import monotonic, perf_counter
from typing import Any, Final

import pyarrow as pa

from adalog.cluster.cancellation import Address, CancellationChannel
from adalog.cluster.refusals import TaskRefusal, error_of, error_values
from adalog.cluster.shipping import ShippedSnapshot
from adalog.datalog.errors import AdalogError, Code, limit_exceeded, unavailable
from adalog.executor.answer.columns import answer_columns
from adalog.executor.answer.parquet import Output, ParquetPart, write_part
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Binding
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.evaluation.local import JoinOutcome, collector_for, run_join
from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.level import LevelCounts
from adalog.executor.question.inputs import Inputs
from adalog.executor.spark.combining import combined
from adalog.executor.spark.exchange import ByHash, ByOrder, Exchange, ExchangedRows, sent
from adalog.executor.spark.made_values import made_up
from adalog.executor.spark.wire import column_of, from_bytes, said_in, to_bytes
from adalog.planner.model.plan import Plan
from adalog.planner.rules.sharing import SHARE
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch

_KEPT_BOUND: Final = 4
_LOOK_SECONDS: Final = 0.05
# One answer is one Arrow value, and those end at 2 GiB.
_MOST_BYTES: Final = 2_000_000_000


@dataclass(frozen=True)
class Job:
    """What all tasks of one query share.

    made: the values that the driver has made up. line: the address for cancellation. ordered: rows are shown by the
    total order of values. output: where rows are written, not sent. arrived: rows of an earlier job in place of the
    join's; a share is then a part's number. exchange: how rows go on to a later job, which writes them. round:
    the number of earlier jobs.
    """

    key: str
    plan: Plan
    databases: Mapping[str, ShippedSnapshot]
    relations: Mapping[str, Sequence[Column]]
    start: Batch
    made: Sequence[Any]
    strict: bool
    most: int | None
    timeout_ms: int | None
    line: Address
    ordered: bool = False
    output: Output | None = None
    arrived: ExchangedRows | None = None
    exchange: Exchange | None = None
    round: int = 0

    @property
    def in_order(self) -> bool:
        """Whether the rows are the answer's own, in its order."""
        return self.arrived is not None and isinstance(self.arrived.exchange, ByOrder)


class JobCancel(Cancel):
    """Also stops when the driver ends the job: Spark itself takes seconds to end a task's worker."""

    def __init__(self, timeout_ms: int | None, line: CancellationChannel) -> None:
        super().__init__(None if timeout_ms is None else monotonic() + timeout_ms / 1000)
        self.line = line
        self.looked = 0.0

    def check(self) -> None:
        now = monotonic()
        if now - self.looked > _LOOK_SECONDS:
            self.looked = now
            if self.line.is_over():
                self.cancel()
        super().check()


@dataclass
class _Bound:
    """A job in this worker. `join`: None where each share has rules of its own to derive first, or none to run."""

    join: GenericJoin | None
    databases: Mapping[str, Snapshot]
    common: QueryRun

    def run(self, job: Job, prefixes: Batch, depth: int, number: int) -> tuple[JoinOutcome, bool]:
        """The share's distinct rows that the answer can need; whether these are enough for the whole answer."""
        cancel, values = self.common.cancel, self.common.values
        if job.arrived is not None:
            rows = job.arrived.part(number, values, cancel)
            if job.in_order or job.plan.distinct or job.plan.weighted:
                # Else sums of two tasks may be the same one.
                rows = rows.distinct(cancel.check)
            return JoinOutcome(rows, [LevelCounts() for _ in job.plan.levels]), False
        enough = collector_for(job.plan, job.most, cancel).enough
        ran = self._run(job, prefixes, depth)
        rows = combined(job.plan, ran.rows, values, cancel, ordered=job.ordered)
        return replace(ran, rows=rows), enough is not None and ran.rows.size >= enough

    def _run(self, job: Job, prefixes: Batch, depth: int) -> JoinOutcome:
        if self.join is None:
            relations = {name: list(columns) for name, columns in job.relations.items()}
            relations[SHARE] = list(prefixes.columns.values())
            inputs = Inputs(job.start, relations, dict(self.databases))
            return run_join(job.plan, inputs, self.common, most=job.most)
        self.join.count_anew()
        collector = collector_for(job.plan, job.most, self.common.cancel)
        Driver(self.join, collector, self.common.cancel).run(prefixes, depth)
        return JoinOutcome(collector.rows(), self.join.counts)


_memory = Memory()
_watched: OrderedDict[str, JobCancel] = OrderedDict()
_bound: OrderedDict[str, _Bound] = OrderedDict()
_WORKER: Final = socket.gethostname()


def runner(job: Job) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    """The function that Spark hands the shares to, an Arrow column of them at a time."""

    def run(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for shares in columns:
            yield column_of([run_share(job, share.as_buffer()) for share in shares])

    return run


def run_share(job: Job, share: pa.Buffer) -> pa.Buffer:
    """The answer for `answered`: a share's distinct rows, level counts and made-up values; or an error, which ends
    the other tasks. An error is an answer, too: Spark would retry a task that raises, and takes seconds to report
    it."""
    began = perf_counter()
    cancel = _watching(job)
    try:
        cancel.check()
        prefixes, said = from_bytes(share)
        number, bound = said["number"], _bind(job, cancel)
        with _memory.lent(cancel):
            ran, enough = bound.run(job, prefixes, said["depth"], number)
            rows, left = ran.rows, _Left()
            if job.output is not None:
                rows, left = _left(job, job.output, number, rows, bound.common)
            numbers, made = made_up(rows, bound.common.values, len(job.made))
        said = {
            "counts": [[c.prefixes, c.candidates, c.rows, c.seconds, c.skipped] for c in ran.levels],
            "numbers": numbers,
            "made": made,
            "enough": enough,
            "part": None if left.part is None else [left.part.file, left.part.rows, list(left.part.types)],
            "file": left.file,
            "left": left.rows,
            "rows": rows.size,
            "seconds": perf_counter() - began,
            "worker": f"{_WORKER}:{os.getpid()}",
        }
        answer = to_bytes(rows, said)
        if answer.size > _MOST_BYTES:
            raise limit_exceeded(
                "one part of the answer alone is larger than 2 GB; narrow the query, aggregate, or use :limit"
            )
    except AdalogError as error:
        if not cancel.line.connected:
            # The others cannot be told, and would go on to their end.
            raise TaskRefusal(error) from None
        answer, enough = to_bytes(Batch(0, {}), {"error": error_values(error)}), error.code is not Code.CANCELLED
    if enough:
        cancel.line.end_for_all()
    return answer


@dataclass(frozen=True, slots=True)
class _Left:
    """What a task left in the output's folder: a part of the answer, or a file for the next job."""

    part: ParquetPart | None = None
    file: str | None = None
    rows: int = 0


def _left(job: Job, output: Output, number: int, rows: Batch, run: QueryRun) -> tuple[Batch, _Left]:
    """Leaves rows in the output's folder; returns samples for the driver if they go on by an order."""
    if rows.size and not (job.in_order or isinstance(job.exchange, ByHash)):
        rows = Batch.of(answer_columns(job.plan.query, rows, run.values, run.cancel))
    if not rows.size:
        return Batch(0, {}), _Left()
    with _writing(output):
        if job.exchange is not None:
            name = f"{job.round}-{number}"
            file, some = sent(job.exchange, output, name, rows, run.values, len(job.made), run.cancel)
            return some, _Left(file=file, rows=rows.size)
        if job.arrived is not None and job.in_order:
            rows, _ = job.arrived.exchange.arranged(rows, run.values, run.cancel)
        names = [each.label for each in job.plan.query.find.elements]
        part = write_part(output, number, names, list(rows.columns.values()), run.values, run.cancel)
        return Batch(0, {}), _Left(part=part, rows=rows.size)


@contextmanager
def _writing(output: Output) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unavailable(
            f"the Spark worker on {_WORKER} cannot write into {output.folder}: {error.strerror}", retryable=False
        ) from None


@dataclass(frozen=True, slots=True)
class TaskAnswer:
    """One task's answer. said: metadata of its rows. error: in place of rows."""

    answer: pa.Buffer
    said: Mapping[str, Any]
    error: AdalogError | None

    def rows(self) -> Batch:
        return from_bytes(self.answer)[0]


def answered(answer: pa.Buffer) -> TaskAnswer:
    """What `run_share` made."""
    said = said_in(answer)
    return TaskAnswer(answer, said, error_of(said["error"]) if "error" in said else None)


def _watching(job: Job) -> JobCancel:
    """The job's cancel flag in this worker, connected to the driver."""
    found = _watched.get(job.key)
    if found is None:
        found = _watched[job.key] = JobCancel(job.timeout_ms, CancellationChannel(job.line, job.key))
        while len(_watched) > _KEPT_BOUND:
            _, oldest = _watched.popitem(last=False)
            oldest.line.close()
    _watched.move_to_end(job.key)
    found.looked = 0.0
    return found


def _bind(job: Job, cancel: JobCancel) -> _Bound:
    """The job's join, bound for its first task in this worker and kept for the others."""
    found = _bound.get(job.key)
    if found is None or found.common.cancel is not cancel:
        databases = {name: shipped.open() for name, shipped in job.databases.items()}
        values = Scratch(next(iter(databases.values())).codes, take=cancel.budget.take)
        values.adopt(job.made)
        run = QueryRun(values, cancel, job.strict)
        join = None
        if job.plan.sharing is None and job.arrived is None:
            join = Binding(job.plan, databases, job.relations, run, derive=derived).join()
            assert join is not None, "the driver bound it, and sends no task where a part without variables fails"
        found = _bound[job.key] = _Bound(join, databases, run)
        while len(_bound) > _KEPT_BOUND:
            _bound.popitem(last=False)
    _bound.move_to_end(job.key)
    return found
