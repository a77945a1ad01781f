"""Runs a plan's join on Spark: shares of the first prefixes, one task each, the same join in every task.

The driver binds the first variable itself, to know what to share out; workers open the same snapshot from its
manifest. One DataFrame of shares, one column computed from it: nothing else of Spark is used, so that it does not
matter where the workers are.
"""

from __future__ import annotations

import logging
import os
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from time import monotonic

import pyarrow as pa

from adalog.cluster.cluster import TASKS_PER_CORE, Cluster
from adalog.cluster.failures import is_out_of_space, out_of_space, session_ended
from adalog.cluster.job import run_tasks
from adalog.cluster.session import Session
from adalog.datalog.errors import AdalogError, Code, limit_exceeded, unavailable
from adalog.executor.answer.parquet import Output, trimmed
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.local import JoinOutcome
from adalog.executor.kernels.loading import compiled_kernels
from adalog.executor.prediction import ClusterCapacity
from adalog.executor.question.inputs import Inputs
from adalog.executor.spark.exchange import Exchange, exchanges, remove
from adalog.executor.spark.gathering import arrived_of, gathered, nothing, parts_of
from adalog.executor.spark.shares import Share, SharedQuery, are_apart, divided
from adalog.executor.spark.task import Job, TaskAnswer, answered, runner
from adalog.executor.spark.wire import column_of, to_bytes
from adalog.planner.model.plan import Plan

_SHARES_PER_CORE = TASKS_PER_CORE
# Rows of one file, so that a task can hold them.
_ROWS_OF_A_FILE = 1 << 21
_START_SECONDS = 120.0
# For cancelled tasks to end by themselves before Spark kills their workers.
_PATIENCE_SECONDS = 1.0
# For tasks that write files, which are about to be removed.
_ENDING_SECONDS = 5.0
# A Python worker, or the executor that it works for.
_DIED = re.compile(r"Python worker exited unexpectedly|ExecutorLostFailure|Connection reset")

_log = logging.getLogger("adalog.spark")


class SparkEngine:
    """The engine for `engine: SPARK`. Thread-safe."""

    def __init__(
        self,
        master: str = "local[*]",
        start: bool = True,
        properties: Mapping[str, str] | None = None,
        segments: str | None = None,
    ) -> None:
        """start: begin to start the session, in the background. properties, segments: as of `Session`."""
        self.session = Session(master, properties, compiled_kernels, segments)
        if start:
            self.session.start()

    @property
    def state(self) -> str:
        """starting, ready or failed."""
        return self.session.state

    @property
    def cores(self) -> int:
        """Tasks that run at once; 0 while there is no session."""
        return self.session.cores

    @property
    def cluster(self) -> ClusterCapacity:
        cores = max(1, self.session.cores)
        return ClusterCapacity(cores, cores * _SHARES_PER_CORE, self.session.idle_seconds)

    def wait_ready(self, timeout: float | None = None) -> bool:
        """Waits until the session is ready or has failed; whether it is ready."""
        self.session.start()
        return self.session.wait(timeout)

    def close(self) -> None:
        self.session.close()

    def run_join(
        self, plan: Plan, inputs: Inputs, run: QueryRun, *, most: int | None, ordered: bool, output: Output | None
    ) -> JoinOutcome:
        """As `run_join` in this process, of rows in an order or in groups only those that the answer can need.
        ordered: they are shown by the total order of values. output: where the tasks are to write the rows, if that
        can be. Raises BACKEND_UNAVAILABLE where there is no session, or it ends."""
        cancel = run.cancel
        if inputs.start is None:
            return nothing(plan, most, cancel)
        live = self._ready(cancel)
        wanted = live.cores * _SHARES_PER_CORE
        if output is not None:
            wanted = max(wanted, int(plan.rows / _ROWS_OF_A_FILE))
        threads = min(live.cores, os.cpu_count() or 1)
        parts = divided(plan, inputs, inputs.start, replace(run, threads=threads), wanted)
        if not parts.shares:
            return nothing(plan, most, cancel, parts)
        apart = are_apart(plan, parts.shares)
        ways = None if output is None else exchanges(plan, len(parts.shares), apart=apart)
        with _scratch_errors(live):
            databases = {name: live.ship(each, cancel.check) for name, each in inputs.databases.items()}
        given = databases, parts.relations, inputs.start, run.values.made(), run.strict
        bounds = most, cancel.left_ms
        job = Job(uuid.uuid4().hex, plan, *given, *bounds, live.cancellation.address, ordered)
        if output is None or ways is None:
            return gathered(plan, parts, self._tasks(live, job, parts.shares, cancel), run.values, most, cancel)
        return self._written(live, replace(job, output=output), parts, ways, run)

    def _written(
        self, live: Cluster, job: Job, parts: SharedQuery, ways: Sequence[Exchange], run: QueryRun
    ) -> JoinOutcome:
        """A run whose answer tasks write: those of the join, or of one job more for each way that rows go."""
        plan, output, cancel = job.plan, job.output, run.cancel
        assert output is not None
        shares = parts.shares
        tasks = self._tasks(live, replace(job, exchange=ways[0] if ways else None), shares, cancel)
        ran = gathered(plan, parts, tasks, run.values, job.most, cancel)
        for number, way in enumerate(ways):
            arrived = arrived_of(tasks, way, len(shares), run.values, cancel)
            onward = ways[number + 1] if number + 1 < len(ways) else None
            job = replace(job, key=uuid.uuid4().hex, made=run.values.made(), timeout_ms=cancel.left_ms)
            job = replace(job, arrived=arrived, exchange=onward, round=number + 1)
            tasks = self._tasks(live, job, [Share(0, job.start, 1.0)] * arrived.tasks, cancel)
            remove(output, f"{number}-")
        return replace(ran, parts=trimmed(output, parts_of(tasks), *plan.query.window))

    def _tasks(self, live: Cluster, job: Job, shares: Sequence[Share], cancel: Cancel) -> list[TaskAnswer]:
        return [answered(answer) for answer in self._run(live, job, shares, cancel)]

    def _ready(self, cancel: Cancel) -> Cluster:
        """The session, waited for while it starts."""
        self.session.start()
        until = monotonic() + _START_SECONDS
        with cancel.away():
            while self.session.state == "starting" and monotonic() < until:
                cancel.check()
                self.session.wait(0.1)
        return self.session.live()

    def _run(self, live: Cluster, job: Job, shares: Sequence[Share], cancel: Cancel) -> list[pa.Buffer]:
        """The shares' answers. Looks at the cancel flag and at the session; leaves no task running."""
        said = ({"depth": share.depth, "number": number} for number, share in enumerate(shares))
        values = column_of([to_bytes(share.prefixes, own) for share, own in zip(shares, said, strict=True)])
        ending = 0.0 if job.output is None else _ENDING_SECONDS
        work = partial(run_tasks, values=values, work=runner(job))
        try:
            with cancel.away():
                return live.submit(job.key, work, cancel.check, patience=_PATIENCE_SECONDS, ending=ending)
        except AdalogError:
            raise
        except Exception as error:
            cancel.check()
            raise live.fail(error) or query_error(error) from error


def query_error(error: Exception) -> AdalogError:
    """The error of a query whose tasks failed."""
    text = str(error)
    if "spark.driver.maxResultSize" in text:
        return limit_exceeded("the answer is larger than Spark may bring together; narrow the query, or aggregate")
    _log.error("a Spark job failed", exc_info=error)
    if _DIED.search(text):
        return unavailable(
            "a Spark worker died twice at the same part of the query; it may need more memory than workers have"
        )
    if "Traceback (most recent call last)" in text:
        return AdalogError(Code.INTERNAL, f"a task on Spark failed: {text.strip().splitlines()[-1]}")
    return unavailable(f"Spark could not run the query: {_cause(text)}")


def _cause(text: str) -> str:
    """The innermost reason that Java gives, else its first line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    named = [line for line in lines if line.startswith(("org.apache.spark.", "java.", ": org.apache.spark."))]
    return (causes[-1:] or named[:1] or lines[:1] or ["no reason is given"])[0][:300]


@contextmanager
def _scratch_errors(live: Cluster) -> Iterator[None]:
    """Raises a failed write of what workers need as a full disk, or as the session's end, if it is one."""
    try:
        yield
    except OSError as error:
        if is_out_of_space(error):
            raise out_of_space() from error
        if not live.alive:
            raise session_ended() from None
        raise
