"""Runs a plan's join on Spark: shares of the first prefixes, one task each, the same join in every task.

The driver binds the first variable itself, to know what to share out; workers open the same snapshot from its
manifest. One DataFrame of shares, one column computed from it: nothing else of Spark is used, so that it does not
matter where the workers are.
"""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, wait
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa

from datalog.ast import FindVar
from datalog.errors import AdalogError, Code
from executor.answer.parquet import Output, Part
from executor.bounds.cancel import Cancel
from executor.bounds.run import Run
from executor.evaluation.bind import Binding
from executor.evaluation.fixpoint import Fixpoint, StratumCounts, derived
from executor.evaluation.local import Ran, TaskCounts, collector_for
from executor.join.batch import Batch
from executor.join.generic_join import LevelCounts
from executor.prediction import Cluster
from executor.question.inputs import Inputs
from executor.rules.facts import whole
from executor.spark.configuration import is_local
from executor.spark.failures import gone, is_out_of_space, out_of_space, told
from executor.spark.job import each_in_a_task
from executor.spark.session import Live, Session
from executor.spark.shares import Share, dealt, split
from executor.spark.shipping import Shipping
from executor.spark.task import Answered, Job, answered, runner
from executor.spark.wire import column_of, to_bytes
from planner.plan import Plan
from store.codes import Scratch

# More than one share for each core, so that an estimate that was wrong leaves no core idle for long.
_SHARES_PER_CORE = 6
# Rows of one file, so that a task can hold them.
_ROWS_OF_A_FILE = 1 << 21
_START_SECONDS = 120.0
_POLL_SECONDS = 0.02
# What tasks have to end in order, told over their line, before Spark ends them.
_PATIENCE_SECONDS = 1.0
# What tasks that write files have to end in.
_ENDING_SECONDS = 5.0


class SparkEngine:
    """The engine for `engine: SPARK`. Thread-safe."""

    def __init__(
        self, master: str = "local[*]", start: bool = True, properties: Mapping[str, str] | None = None
    ) -> None:
        """start: begin to start the session, in the background. properties: Spark's, as they were set."""
        self.session = Session(master, properties)
        self._shipping: weakref.WeakKeyDictionary[Live, Shipping] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
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
    def cluster(self) -> Cluster:
        """What it is like now, for predictions."""
        cores = max(1, self.session.cores)
        return Cluster(cores, cores * _SHARES_PER_CORE, self.session.idle_seconds)

    def wait_ready(self, timeout: float | None = None) -> bool:
        """Waits until the session is ready or has failed; whether it is ready."""
        self.session.start()
        return self.session.wait(timeout)

    def close(self) -> None:
        """Ends the session and what runs in it."""
        self.session.close()

    def run_join(
        self,
        plan: Plan,
        inputs: Inputs,
        run: Run,
        *,
        most: int | None,
        ordered: bool = False,
        output: Output | None = None,
    ) -> Ran:
        """As `run_join` in this process, of rows in an order or in groups only those that the answer can need.

        ordered: they are shown by the total order of values. output: where the tasks are to write the rows, if that
        can be. Raises BACKEND_UNAVAILABLE where there is no session, or it ends.
        """
        values, cancel = run.values, run.cancel
        collector = collector_for(plan, most, cancel)
        counts = [LevelCounts() for _ in plan.levels]
        if inputs.start is None:
            return Ran(collector.rows(), counts)
        live = self._ready(cancel)
        if output is not None and not _is_rows(plan):
            output = None
        wanted = live.cores * _SHARES_PER_CORE
        if output is not None:
            wanted = max(wanted, int(plan.rows / _ROWS_OF_A_FILE))
        strata: list[StratumCounts] = []
        relations = inputs.relations
        if plan.sharing is not None:
            # The rules run in the tasks, each for its share of the values that bind an argument.
            domain = Fixpoint(plan, inputs, inputs.start, run.on_one_thread).domain(plan.sharing)
            shares = dealt(plan.sharing.variable, domain, wanted)
        else:
            threads = min(live.cores, os.cpu_count() or 1)
            fixpoint = Fixpoint(plan, inputs, inputs.start, replace(run, threads=threads))
            facts = fixpoint.relations_read()
            strata = fixpoint.counts
            join = Binding(plan, inputs.databases, facts, run, derive=derived).join()
            if join is None:
                return Ran(collector.rows(), counts, strata)
            counts = join.counts
            shares = split(join, inputs.start, wanted, cancel)
            relations = {name: whole(held) for name, held in facts.items()}
        if not shares:
            return Ran(collector.rows(), counts, strata)
        if output is not None and not _are_apart(plan, shares):
            output = None
        shipping, key = self._ships(live), uuid.uuid4().hex
        with _scratch_errors(live):
            databases = {name: shipping.ship(snapshot) for name, snapshot in inputs.databases.items()}
        job = Job(
            key,
            plan,
            databases,
            relations,
            inputs.start,
            values.made(),
            run.strict,
            most,
            cancel.left_ms,
            live.switchboard.address,
            ordered,
            output,
        )
        tasks = [answered(answer) for answer in self._run(live, job, shares, cancel)]
        _check(tasks)
        parts = [Part(*task.said["part"]) for task in tasks if task.said.get("part")]
        for task in tasks:
            cancel.check()
            if task.error is None:
                _add(counts, task.said["counts"])
                # Nothing has no weights, where other rows have them.
                if task.said["rows"] and not collector(_translated(task.rows(), task.said, values)):
                    break
        done = [_count(*each) for each in zip(shares, tasks, strict=True) if each[1].error is None]
        return Ran(collector.rows(), counts, strata, done, None if output is None else parts)

    def _ready(self, cancel: Cancel) -> Live:
        """The session, waited for while it starts."""
        self.session.start()
        until = monotonic() + _START_SECONDS
        with cancel.away():
            while self.session.state == "starting" and monotonic() < until:
                cancel.check()
                self.session.wait(0.1)
        return self.session.live()

    def _ships(self, live: Live) -> Shipping:
        with self._lock:
            shipping = self._shipping.get(live)
            if shipping is None:
                shipping = Shipping(live.folder if is_local(self.session.master) else None)
                self._shipping[live] = shipping
            return shipping

    def _run(self, live: Live, job: Job, shares: Sequence[Share], cancel: Cancel) -> list[pa.Buffer]:
        """The shares' answers. Waits, looking at the cancel flag and at the session; no task is left running."""
        values = column_of(
            [
                to_bytes(share.prefixes, {"depth": share.depth, "number": number})
                for number, share in enumerate(shares)
            ]
        )
        live.switchboard.open(job.key)
        try:
            running = live.submit(job.key, lambda spark: each_in_a_task(spark, values, runner(job)))
        except RuntimeError:
            # It ended while the shares were made.
            raise gone() from None
        try:
            with cancel.away():
                while True:
                    try:
                        return running.result(_POLL_SECONDS)
                    except NotYet:
                        cancel.check()
                        if not live.alive:
                            raise gone() from None
        except AdalogError:
            live.switchboard.close(job.key)
            live.interrupt(job.key, running, _PATIENCE_SECONDS)
            if job.output is not None:
                # Its files are about to be removed.
                wait([running], _ENDING_SECONDS)
            raise
        except CancelledError:
            raise gone() from None
        except Exception as error:
            cancel.check()
            raise told(error, live) from error
        finally:
            live.switchboard.close(job.key)


@contextmanager
def _scratch_errors(live: Live) -> Iterator[None]:
    """Says of what cannot be written for workers that the disk is full, or the session gone, where it is."""
    try:
        yield
    except OSError as error:
        if is_out_of_space(error):
            raise out_of_space() from error
        if not live.alive:
            raise gone() from None
        raise


def _is_rows(plan: Plan) -> bool:
    """Whether the answer is the rows of the join, in any order."""
    query = plan.query
    return (
        all(isinstance(element, FindVar) for element in query.find.elements)
        and not (query.order_by or query.with_ or query.offset or plan.weighted)
        and query.limit is None
        and not query.find.takes_one
    )


def _are_apart(plan: Plan, shares: Sequence[Share]) -> bool:
    """Whether no row can be of two shares: rows do not repeat, or show what tells the shares apart."""
    shown = {element.var.name for element in plan.query.find.elements}
    return not plan.distinct or all(shown >= set(share.prefixes.columns) for share in shares)


def _check(tasks: Sequence[Answered]) -> None:
    """Raises what was wrong in a task, unless another had enough rows for the whole answer."""
    errors = [task.error for task in tasks if task.error is not None]
    if not errors or any(task.said.get("enough") for task in tasks):
        return
    for error in errors:
        if error.code is not Code.CANCELLED:
            raise error
    # Nobody here ended them, so it was the network between us.
    raise AdalogError(
        Code.BACKEND_UNAVAILABLE, "the tasks of the query lost their connection with the gateway; try again"
    )


def _count(share: Share, task: Answered) -> TaskCounts:
    return TaskCounts(share.work, task.said["seconds"], task.said["rows"], task.said["worker"])


def _translated(rows: Batch, said: Mapping[str, Any], values: Scratch) -> Batch:
    """The rows with a task's own codes of made-up values replaced by this process's."""
    numbers = np.array(said["numbers"], np.int64)
    if not len(numbers):
        return rows
    codes = np.array([values.intern(value) for value in said["made"]], np.int64)
    columns = dict(rows.columns)
    for name, column in columns.items():
        own = values.made_numbers(column)
        at = np.minimum(np.searchsorted(numbers, own), len(numbers) - 1)
        columns[name] = np.where(numbers[at] == own, codes[at], column)
    return Batch(rows.size, columns)


def _add(counts: list[LevelCounts], more: Sequence[Sequence[Any]]) -> None:
    for count, (prefixes, candidates, rows, seconds) in zip(counts, more, strict=True):
        count.prefixes += prefixes
        count.candidates += candidates
        count.rows += rows
        count.seconds += seconds
