"""The engine in this process: binds a plan, drives the join on a few threads, and shapes what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from adalog.datalog.errors import limit_exceeded
from adalog.executor.answer.columns import answer_columns, order_keys
from adalog.executor.answer.parquet import ParquetPart
from adalog.executor.answer.result import Result, sorted_rows
from adalog.executor.answer.shown import shown_result
from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Binding
from adalog.executor.evaluation.fixpoint import Fixpoint, StratumCounts, derived
from adalog.executor.evaluation.kept_joins import KeptJoins
from adalog.executor.evaluation.late_calls import LateCalls, bound_calls
from adalog.executor.facts.facts import Relations
from adalog.executor.join.batch import Batch, Column, concatenate
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.level import LevelCounts
from adalog.executor.join.shortcuts.intersection import forget_scratch
from adalog.executor.question.inputs import Inputs
from adalog.planner.model.multiplicity import DroppedRows
from adalog.planner.model.plan import Plan
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch

DISTINCT_BYTES = 48
"""For each row while rows are made distinct, besides a copy of them: packed, in a table, and numbered."""
# The budget is not asked for what is so little: most answers are.
_UNCOUNTED_BYTES = 1 << 14
# Rows that may repeat before they are made distinct.
_UNSETTLED = 1 << 21


@dataclass
class Collector:
    """Takes finished batches, keeps the answer's columns, and says when it has enough. `distinct`: rows may repeat,
    and are kept once. `weighted`: they have weights, so that merging those that repeat only makes them fewer.
    `enough`: stop after so many distinct rows. `most`: refuse more than so many. What it keeps is of the budget."""

    names: tuple[str, ...]
    distinct: bool
    weighted: bool
    enough: int | None
    most: int | None
    cancel: Cancel
    _batches: list[Batch] = field(default_factory=list)
    _rows: int = 0
    _settled: int = 0
    _held: Held = field(init=False)
    _kept: frozenset[str] = field(init=False)
    _uncounted: int = 0

    def __post_init__(self) -> None:
        self._held = Held(self.cancel.budget)
        self._kept = frozenset(self.names)

    def __call__(self, batch: Batch) -> bool:
        batch = batch.only(self._kept)
        self._uncounted += batch.nbytes
        if self._uncounted > _UNCOUNTED_BYTES:
            self._held.grow(self._uncounted)
            self._uncounted = 0
        self._batches.append(batch)
        self._rows += batch.size
        if (self.distinct or self.weighted) and self._due():
            self._settle()
        known = self._settled if self.distinct else self._rows
        if self.enough is not None and known >= self.enough:
            return False
        if self.most is not None and known > self.most:
            raise limit_exceeded(f"the query has more than {self.most:,} rows; narrow it, aggregate, or use :limit")
        return True

    def _due(self) -> bool:
        """Whether to make the rows distinct now: often enough to notice a limit, seldom enough to cost little."""
        fresh = self._rows - self._settled
        if fresh > max(self._settled, _UNSETTLED):
            return True
        if self.most is None and self.enough is None:
            return False
        least = min(limit for limit in (self.most, self.enough) if limit is not None)
        return self._rows >= least and fresh > self._settled // 4

    def _settle(self) -> None:
        """Makes one batch of all, of rows that are distinct."""
        with Held(self.cancel.budget, self._held.nbytes + DISTINCT_BYTES * self._rows):
            self._batches = [concatenate(self._batches)]
            self._batches = [self._batches[0].distinct(self.cancel.check)]
        self._rows = self._settled = self._batches[0].size
        self._held.become(self._batches[0].nbytes)
        self._uncounted = 0

    def rows(self) -> Batch:
        """All rows taken; each once, but for those with weights."""
        if not self._batches:
            return Batch(0, {name: np.empty(0, np.int64) for name in self.names})
        if self.distinct and self._rows != self._settled and self._rows > 1:
            self._settle()
        elif len(self._batches) > 1:
            with Held(self.cancel.budget, self._held.nbytes):
                self._batches = [concatenate(self._batches)]
        return self._batches[0]


@dataclass(frozen=True, slots=True)
class TaskCounts:
    """What explain analyze shows of a task on Spark: the work that was estimated for its share, in no unit, what it
    took, the rows that it sent, and the process that it ran in."""

    work: float
    seconds: float
    rows: int
    worker: str


@dataclass(frozen=True, slots=True)
class JoinOutcome:
    """`rows`: the distinct tuples of the answer's variables, or where the plan says so the same with weights, some
    repeatedly. What happened at each level of the join, in each stratum of the rules before it, and in each task
    where it was many. `parts`: the files that the tasks wrote in place of rows. `dropped`: by rules with
    aggregates, how many equal values fell together."""

    rows: Batch
    levels: list[LevelCounts]
    strata: list[StratumCounts] = field(default_factory=list)
    tasks: list[TaskCounts] = field(default_factory=list)
    parts: list[ParquetPart] | None = None
    dropped: Mapping[str, DroppedRows] = field(default_factory=dict)


def run_join(
    plan: Plan,
    inputs: Inputs,
    run: QueryRun,
    *,
    most: int | None,
    whole: bool = False,
    kept: KeptJoins | None = None,
) -> JoinOutcome:
    """Derives what the plan's rules say, then runs its join over that. `whole`: also what a limit leaves out, so
    that which rows it keeps does not depend on the plan. `kept`: where bound joins are kept, if they are."""
    if inputs.start is None:
        return join_over(plan, inputs, {}, run, most=most, whole=whole)
    bound = None if kept is None or inputs.relations else kept.lend(plan, inputs.databases, run)
    if bound is None:
        return _run_anew(plan, inputs, run, most=most, whole=whole)
    assert kept is not None
    try:
        collector = collector_for(plan, most, run.cancel, whole=whole)
        if not plan.program.strata:
            return _driven(plan, inputs, bound.join, run, collector)
        fixpoint = Fixpoint(plan, inputs, inputs.start, run, joins=bound.joins)
        join = bound.joins.join(plan, fixpoint.relations_read(), weighted=plan.weighted)
        ran = _driven(plan, inputs, join, run, collector)
        return replace(ran, strata=fixpoint.counts, dropped=fixpoint.dropped)
    finally:
        kept.give_back(bound)


def _run_anew(plan: Plan, inputs: Inputs, run: QueryRun, *, most: int | None, whole: bool) -> JoinOutcome:
    if not plan.program.strata or inputs.start is None:
        return join_over(plan, inputs, inputs.relations, run, most=most, whole=whole)
    fixpoint = Fixpoint(plan, inputs, inputs.start, run)
    ran = join_over(plan, inputs, fixpoint.relations_read(), run, most=most, whole=whole)
    return replace(ran, strata=fixpoint.counts, dropped=fixpoint.dropped)


def join_over(
    plan: Plan, inputs: Inputs, relations: Relations, run: QueryRun, *, most: int | None, whole: bool = False
) -> JoinOutcome:
    """Runs a plan's join over what its rules say."""
    collector = collector_for(plan, most, run.cancel, whole=whole)
    join = None
    if inputs.start is not None:
        join = Binding(plan, inputs.databases, relations, run, derive=derived).join()
    return _driven(plan, inputs, join, run, collector)


def _driven(
    plan: Plan, inputs: Inputs, join: GenericJoin | None, run: QueryRun, collector: Collector
) -> JoinOutcome:
    if inputs.start is None or join is None:
        return JoinOutcome(collector.rows(), [LevelCounts() for _ in plan.levels])
    try:
        Driver(join, collector, run.cancel, run.threads).run(inputs.start)
    finally:
        forget_scratch()
    return JoinOutcome(collector.rows(), join.counts)


def collector_for(plan: Plan, most: int | None, cancel: Cancel, *, whole: bool = False) -> Collector:
    """The sink that suits a plan: early stop for a limit without an order unless `whole`, a bound on rows
    otherwise; what an aggregate needs is bounded by the budget alone."""
    query = plan.query
    aggregates = query.find.has_aggregates
    enough = None
    if not aggregates and not query.order_by and not query.with_ and not whole:
        enough = query.window[1]
    return Collector(plan.answer, plan.distinct, plan.weighted, enough, None if aggregates else most, cancel)


def shape_result(
    plan: Plan,
    rows: Batch,
    values: Scratch,
    cancel: Cancel,
    *,
    t: int,
    engine: str,
    started: float,
    ordered: bool,
    late: LateCalls | None = None,
    databases: Mapping[str, Snapshot] | None = None,
) -> Result:
    """Aggregates, order, offset and limit over the distinct tuples. `late`: the calls that the plan is without.
    `databases`: those of the query, whose schemas say of which types columns without rows are."""
    codes = unordered_columns(plan, rows, QueryRun(values, cancel), late=late)
    return shape_columns(
        plan, codes, values, cancel, t=t, engine=engine, started=started, ordered=ordered, databases=databases
    )


def unordered_columns(plan: Plan, rows: Batch, run: QueryRun, *, late: LateCalls | None = None) -> list[Column]:
    """The columns of the answer, as of `answer_columns`. `late`: as of `shape_result`."""
    calls = bound_calls(late, run) if late else None
    return answer_columns(plan.query, rows, run.values, run.cancel, late=calls)


def shape_columns(
    plan: Plan,
    codes: Sequence[Column],
    values: Scratch,
    cancel: Cancel,
    *,
    t: int,
    engine: str,
    started: float,
    ordered: bool,
    databases: Mapping[str, Snapshot] | None = None,
) -> Result:
    """Order, offset and limit of the columns of an answer. `databases`: as of `shape_result`."""
    query = plan.query
    elements = query.find.elements
    start, stop = query.window
    if query.order_by or ordered:
        order = sorted_rows(codes, values, order_keys(query), stop, cancel)
        codes = [column[order] for column in codes]
    codes = [column[start:stop] for column in codes[: len(elements)]]
    return shown_result(plan, codes, values, t=t, engine=engine, started=started, databases=databases or {})
