"""Joins on the Spark session of another process of this machine.

One of several gateways over a database has the session. The others send it what a task is sent: the plan, the
snapshots as manifests, the relations of the arguments. Knows no transport.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Final

from adalog.cluster.shipping import Shipping, open_snapshot
from adalog.cluster.status import SessionStatus
from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.executor.answer.parquet import Output, ParquetPart
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.fixpoint import StratumCounts
from adalog.executor.evaluation.local import JoinOutcome, TaskCounts, collector_for
from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.level import LevelCounts
from adalog.executor.prediction import ClusterCapacity
from adalog.executor.question.inputs import Inputs
from adalog.executor.spark.engine import SparkEngine
from adalog.executor.spark.made_values import translated
from adalog.planner.model.multiplicity import DroppedRows
from adalog.planner.model.plan import Plan
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch

_LOOK_SECONDS: Final = 0.05
# After a process did not answer, until it is asked again.
_REST_SECONDS: Final = 2.0


@dataclass(frozen=True)
class RemoteJoin:
    """A join for another process. databases: pickled manifests. made: the values that the sender has made up."""

    plan: Plan
    databases: Mapping[str, bytes]
    relations: Mapping[str, Sequence[Column]]
    start: Batch
    made: Sequence[Any]
    strict: bool
    threads: int
    most: int | None
    timeout_ms: int | None
    ordered: bool
    output: Output | None


@dataclass(frozen=True)
class RemoteAnswer:
    """Its answer. made: the values made up there, after those that were sent."""

    rows: Batch
    levels: Sequence[LevelCounts]
    strata: Sequence[StratumCounts]
    tasks: Sequence[TaskCounts]
    parts: Sequence[ParquetPart] | None
    made: Sequence[Any]
    dropped: Mapping[str, DroppedRows] = field(default_factory=dict)


SendJoin = Callable[[RemoteJoin], Generator[RemoteAnswer | None]]
"""Sends a join. Yields None while it runs, then the answer; closing the generator ends it."""


class RemoteSpark:
    """The engine for `engine: SPARK` where another process has the session. Thread-safe."""

    def __init__(self, ask: SendJoin, look: Callable[[], SessionStatus]) -> None:
        self._ask = ask
        self._look = look
        self._shipping = Shipping(None)
        self._away_until = 0.0

    @property
    def state(self) -> str:
        """starting, ready or failed; starting, too, while the other process is."""
        return "starting" if time.monotonic() < self._away_until else self._look().state

    @property
    def cluster(self) -> ClusterCapacity:
        """What it is like now, for predictions."""
        seen = self._look()
        return ClusterCapacity(max(1, seen.cores), max(1, seen.tasks), seen.idle_seconds)

    def wait_ready(self, timeout: float | None = None) -> bool:
        """Waits until the session is ready or has failed; whether it is ready."""
        until = None if timeout is None else time.monotonic() + timeout
        pause = Event()
        while self.state == "starting" and (until is None or time.monotonic() < until):
            pause.wait(_LOOK_SECONDS)
        return self.state == "ready"

    def close(self) -> None:
        """The session is not ours."""

    def run_join(
        self, plan: Plan, inputs: Inputs, run: QueryRun, *, most: int | None, ordered: bool, output: Output | None
    ) -> JoinOutcome:
        """As `SparkEngine.run_join`."""
        values, cancel = run.values, run.cancel
        collector = collector_for(plan, most, cancel)
        if inputs.start is None:
            return JoinOutcome(collector.rows(), [LevelCounts() for _ in plan.levels])
        known = len(values.made())
        databases = {name: self._manifest(snapshot) for name, snapshot in inputs.databases.items()}
        given = databases, inputs.relations, inputs.start, values.made(), run.strict, run.threads
        back = self._back(RemoteJoin(plan, *given, most, cancel.left_ms, ordered, output), cancel)
        if back.rows.size:
            collector(translated(back.rows, range(known, known + len(back.made)), back.made, values))
        levels, strata, tasks = list(back.levels), list(back.strata), list(back.tasks)
        parts = None if back.parts is None else list(back.parts)
        return JoinOutcome(collector.rows(), levels, strata, tasks, parts, back.dropped)

    def _manifest(self, snapshot: Snapshot) -> bytes:
        payload = self._shipping.ship(snapshot).payload
        assert payload is not None, "it is shipped to no folder"
        return payload

    def _back(self, sent: RemoteJoin, cancel: Cancel) -> RemoteAnswer:
        try:
            with cancel.away(), closing(self._ask(sent)) as answers:
                for back in answers:
                    cancel.check()
                    if back is not None:
                        return back
        except AdalogError as error:
            if error.code is Code.BACKEND_UNAVAILABLE:
                self._away_until = time.monotonic() + _REST_SECONDS
            raise
        raise unavailable("the process that has Spark gave no answer; try again")


SparkBackend = SparkEngine | RemoteSpark
"""What the pool and its engine need of Spark: a session of this process, or of another one."""


class _Watched(Cancel):
    """Also stops when no client waits for the answer."""

    def __init__(self, timeout_ms: int | None, gone: Callable[[], bool]) -> None:
        super().__init__(None if timeout_ms is None else time.monotonic() + timeout_ms / 1000)
        self._gone = gone
        self._looked = 0.0

    def check_flag(self, now: float) -> None:
        if now - self._looked > _LOOK_SECONDS:
            self._looked = now
            if self._gone():
                self.cancel()
        super().check_flag(now)


def run_sent(engine: SparkEngine, memory: Memory, sent: RemoteJoin, gone: Callable[[], bool]) -> RemoteAnswer:
    """Runs a join that another process sent. gone: whether its client is gone."""
    cancel = _Watched(sent.timeout_ms, gone)
    with memory.lent(cancel):
        # Written by a process of our own.
        manifests = {name: pickle.loads(each) for name, each in sent.databases.items()}  # noqa: S301
        databases = {name: open_snapshot(each) for name, each in manifests.items()}
        values = Scratch(next(iter(databases.values())).codes, take=cancel.budget.take)
        values.adopt(sent.made)
        inputs = Inputs(sent.start, {name: list(each) for name, each in sent.relations.items()}, databases)
        run = QueryRun(values, cancel, sent.strict, sent.threads)
        most, ordered, output = sent.most, sent.ordered, sent.output
        ran = engine.run_join(sent.plan, inputs, run, most=most, ordered=ordered, output=output)
        made = values.made()[len(sent.made) :]
        return RemoteAnswer(ran.rows, ran.levels, ran.strata, ran.tasks, ran.parts, made, ran.dropped)
