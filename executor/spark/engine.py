"""Runs a plan's join on Spark: shares of the first prefixes, one task each, the same join in every task.

The driver binds the first variable itself, to know what to share out; workers open the same snapshot from its
manifest. One DataFrame of shares, one column computed from it: nothing else of Spark is used, so that it does not
matter where the workers are.
"""

from __future__ import annotations

import logging
import threading
import uuid
import weakref
from collections.abc import Sequence
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pyarrow as pa

from datalog.errors import AdalogError, Code
from executor.bounds.cancel import Cancel
from executor.bounds.run import Run
from executor.evaluation.bind import Binding
from executor.evaluation.fixpoint import Fixpoint, StratumCounts, derived
from executor.evaluation.local import Ran, collector_for
from executor.join.batch import Batch
from executor.join.generic_join import LevelCounts
from executor.question.inputs import Inputs
from executor.rules.facts import whole
from executor.spark.configuration import is_local
from executor.spark.job import each_in_a_task
from executor.spark.session import Live, Session
from executor.spark.shares import Share, dealt, split
from executor.spark.shipping import Shipping
from executor.spark.task import Job, refusal, runner
from executor.spark.wire import column_of, from_bytes, to_bytes
from planner.plan import Plan
from store.codes import Scratch

_log = logging.getLogger("adalog.spark")

# More than one share for each core, so that an estimate that was wrong leaves no core idle for long.
_SHARES_PER_CORE = 6
_START_SECONDS = 120.0
_POLL_SECONDS = 0.02


class SparkEngine:
    """The engine for `engine: SPARK`. Thread-safe. `start`: begin to start the session, in the background."""

    def __init__(self, master: str = "local[*]", start: bool = True) -> None:
        self.session = Session(master)
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
    ) -> Ran:
        """As `run_join` in this process. Raises BACKEND_UNAVAILABLE where there is no session, or it ends."""
        values, cancel = run.values, run.cancel
        collector = collector_for(plan, most, cancel)
        counts = [LevelCounts() for _ in plan.levels]
        if inputs.start is None:
            return Ran(collector.rows(), counts)
        live = self._ready(cancel)
        wanted = live.cores * _SHARES_PER_CORE
        strata: list[StratumCounts] = []
        relations = inputs.relations
        if plan.sharing is not None:
            # The rules run in the tasks, each for its share of the values that bind an argument.
            domain = Fixpoint(plan, inputs, inputs.start, run.on_one_thread).domain(plan.sharing)
            shares = dealt(plan.sharing.variable, domain, wanted)
        else:
            fixpoint = Fixpoint(plan, inputs, inputs.start, replace(run, threads=live.cores))
            facts = fixpoint.relations_read()
            strata = fixpoint.counts
            join = Binding(plan, inputs.databases, facts, run, derive=derived).join()
            if join is None:
                return Ran(collector.rows(), counts, strata)
            counts = join.counts
            shares = split(join, inputs.start, wanted, cancel)
            relations = {name: whole(held) for name, held in facts.items()}
        if shares:
            made = values.made()
            key = uuid.uuid4().hex
            job = Job(
                key,
                plan,
                {name: self._ships(live).ship(snapshot) for name, snapshot in inputs.databases.items()},
                relations,
                inputs.start,
                made,
                run.strict,
                most,
                _left_ms(cancel),
                self._ships(live).stop_file(key),
            )
            for answer in self._run(live, job, shares, cancel):
                cancel.check()
                rows, said = from_bytes(answer)
                _add(counts, said["counts"])
                if not collector(_translated(rows, said, values)):
                    break
        return Ran(collector.rows(), counts, strata)

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
        """The shares' answers. Waits, looking at the cancel flag and at the session."""
        values = column_of([to_bytes(share.prefixes, {"depth": share.depth}) for share in shares])
        running = live.submit(job.key, lambda spark: each_in_a_task(spark, values, runner(job)))
        try:
            with cancel.away():
                while True:
                    try:
                        return running.result(_POLL_SECONDS)
                    except NotYet:
                        cancel.check()
                        if not live.alive:
                            raise _gone() from None
        except AdalogError:
            if job.stop is not None:
                with suppress(OSError):
                    Path(job.stop).touch()
            live.interrupt(job.key, running)
            raise
        except CancelledError:
            raise _gone() from None
        except Exception as error:
            cancel.check()
            raise _told(error, live) from error


def _left_ms(cancel: Cancel) -> int | None:
    return None if cancel.deadline is None else max(1, int((cancel.deadline - monotonic()) * 1000))


def _translated(rows: Batch, said: dict[str, Any], values: Scratch) -> Batch:
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


def _gone() -> AdalogError:
    return AdalogError(
        Code.BACKEND_UNAVAILABLE, "the Spark session ended while the query ran; another is being started, try again"
    )


def _told(error: Exception, live: Live) -> AdalogError:
    """What a failed job comes to for whoever asked."""
    text = str(error)
    told = refusal(text)
    if told is not None:
        return told
    if not live.usable():
        return _gone()
    if "spark.driver.maxResultSize" in text:
        return AdalogError(
            Code.LIMIT_EXCEEDED,
            "the answer is larger than Spark may bring together; narrow the query, or aggregate",
        )
    _log.error("a Spark job failed", exc_info=error)
    first = text.strip().split("\n")[0]
    if "Traceback (most recent call last)" in text:
        return AdalogError(Code.INTERNAL, f"a task on Spark failed: {text.strip().splitlines()[-1]}")
    return AdalogError(Code.BACKEND_UNAVAILABLE, f"Spark could not run the query: {first}")
