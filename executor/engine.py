"""The engine: one question in, its answer out, on the caller's thread.

Plans the question, chooses where it runs, binds it, runs it there, and makes its pulls, with memory that the
process lends it. It knows neither of turns nor of answers that were given before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from adalog.datalog import ast, tracing
from adalog.datalog.ast import FindAggregate, FindPull
from adalog.datalog.errors import AdalogError, Code, limit_exceeded, unavailable
from adalog.datalog.watched import watching
from adalog.executor.answer.duplicates import dropped
from adalog.executor.answer.parquet import Output, ParquetPart, mixed, settled, widened, write_part
from adalog.executor.answer.result import PulledColumn, Result
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.bounds.run import QueryRun
from adalog.executor.derivations.derivation import Reason
from adalog.executor.derivations.why import why
from adalog.executor.evaluation.caution import REFUSALS, cautiously
from adalog.executor.evaluation.compile import Compiler
from adalog.executor.evaluation.kept_joins import KeptJoins
from adalog.executor.evaluation.late_calls import LateCalls, without_late_calls
from adalog.executor.evaluation.local import JoinOutcome, TaskCounts, run_join, shape_columns, unordered_columns
from adalog.executor.evaluation.looked_up import looked_up_columns
from adalog.executor.evaluation.measured import add_measured
from adalog.executor.evaluation.pulls import EntityPulls, QuestionPulls
from adalog.executor.permissions.rewriting import rewritten
from adalog.executor.plain_run import PlainRuns, SettledRun
from adalog.executor.prediction import EstimatedWork, Prediction
from adalog.executor.question.arguments import GivenArgument
from adalog.executor.question.inputs import bind_inputs, limited
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from adalog.planner.explain.explanation import explain_plan
from adalog.planner.group_lookups import GroupLookups
from adalog.planner.model.plan import Engine as Place
from adalog.planner.model.plan import Options, Plan
from adalog.planner.order.duplicates import QUERY
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import check_query
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch

if TYPE_CHECKING:
    from adalog.executor.slow_queries import SlowQueries
    from adalog.executor.spark.remote import SparkBackend


# For the plan of a query that took long; it was planned before, and plans are remembered.
_EXPLAIN_MS = 1000


@dataclass(frozen=True, slots=True)
class Means:
    """What an engine may use: `threads` for a query, and Spark. `strict`: an attribute that is not declared is
    refused; `slow`: hears of queries that took long."""

    threads: int
    spark: SparkBackend | None
    strict: bool
    slow: SlowQueries | None = None


@dataclass(frozen=True, slots=True)
class _Ran:
    """The rows of a question before they are shaped: where and why they were computed, since when."""

    plan: Plan
    place: Place
    reason: str
    values: Scratch
    ran: JoinOutcome
    started: float
    late: LateCalls
    lookups: GroupLookups | None = None


class QueryEngine:
    """Thread-safe."""

    def __init__(self, means: Means, memory: Memory, plan_bytes: int) -> None:
        """`plan_bytes`: of the plans of recent questions, their joins, and pull patterns."""
        self.means = means
        self.memory = memory
        self.compiler = Compiler(LruCache(plan_bytes * 5 // 8))
        self.joins = KeptJoins(plan_bytes // 4)
        self.entity_pulls = EntityPulls(self.compiler, memory, plan_bytes * 3 // 32, strict=means.strict)
        self._pulls = QuestionPulls(self.compiler, strict=means.strict)
        self._plain = PlainRuns(plan_bytes // 32)
        self.prediction = Prediction(means.threads)

    def run(self, question: Question, cancel: Cancel) -> Result:
        """The answer with its pulls. Raises what is wrong with the question, LIMIT_EXCEEDED, TIMEOUT, CANCELLED,
        and BACKEND_UNAVAILABLE when Spark was asked for and is not there."""
        if question.request.unpulled:
            return self.rows(question, cancel)
        with self.memory.lent(cancel):
            started = time.perf_counter()
            plain = self._plainly(question, cancel)
            if plain is None:
                return self._answered(question, cancel)[0]
            self._pull_into(plain, question, None, started, cancel)
            return plain

    def rows(self, question: Question, cancel: Cancel) -> Result:
        """The answer without its pulls."""
        with self.memory.lent(cancel):
            plain = self._plainly(question, cancel)
            return self._joined(question, cancel)[0] if plain is None else plain

    def pulled(self, question: Question, result: Result, place: int, cancel: Cancel) -> PulledColumn:
        """What one pull of a question shows of the entities in its rows."""
        with self.memory.lent(cancel):
            return self._pulls.made(question, None, lambda pulls: pulls.column(result, place, cancel), cancel)

    def pulls(self, question: Question, result: Result, cancel: Cancel) -> dict[int, PulledColumn]:
        """What all pulls of a question show of the entities in some rows, by the numbers of their columns."""
        with self.memory.lent(cancel):
            return self._pulls.made(question, None, lambda pulls: pulls.columns(result, cancel), cancel)

    def explain(self, question: Question, cancel: Cancel, *, analyze: bool) -> dict[str, Any]:
        """The plan of a question; with `analyze` what running it did, level by level."""
        if not analyze:
            plan = self._plan(question, cancel)
            place, reason = self.choose(question, plan)
            lookups = self.compiler.compile_lookups(question, plan, cancel) if place is Place.LOCAL else None
            plan = plan if lookups is None else lookups.groups
            plan, late = without_late_calls(plan) if place is Place.LOCAL else (plan, {})
            return explain_plan(plan, str(place), reason, late, without_late_calls, lookups)
        with self.memory.lent(cancel):
            result, run = self._answered(question, cancel)
        shown = explain_plan(run.plan, result.engine, run.reason, run.late, without_late_calls, run.lookups)
        add_measured(shown, run.ran)
        if result.dropped:
            shown["dropped"] = {name: each._asdict() for name, each in result.dropped.items()}
        shown["rows"] = len(result)
        shown["elapsedMs"] = round(result.elapsed_ms, 3)
        return shown

    def check(self, question: Question, cancel: Cancel) -> None:
        """Raises what planning a question finds wrong with its text."""
        if question.sees_part:
            question = question.unmeasured()
        statistics = Statistics(question.databases, {}, check=cancel.check)
        with watching(cancel.check):
            check_query(question.query, statistics, question.relations, question.request.options)

    def why(self, question: Question, cells: Sequence[GivenArgument], cancel: Cancel) -> Reason:
        """Why a row is in the answer, or why it is not. `cells`: of its columns."""
        plan = self._plan(question, cancel)
        cancel.will_cost(self.prediction.units(_work(question.request, plan)))
        with self.memory.lent(cancel):
            cancel.expect(plan.cost + question.arguments_cost)
            values = Scratch(question.snapshot.codes, take=cancel.budget.take)
            run = QueryRun(values, cancel, self.means.strict, self.means.threads)
            # How high facts are follows from plans, and must not tell of sizes that are not all visible.
            measured = question.unmeasured() if question.is_guarded else question
            part = partial(self.compiler.compile_part, measured, cancel=cancel)
            return why(question, plan, cells, run, part)

    def entity_columns(self, question: Question, cancel: Cancel) -> tuple[int, ...]:
        """The numbers of the columns that show entities, transactions too, by where their variables stand."""
        plan = self._plan(question, cancel)
        entities = plan.entities | plan.places.transactions
        columns = enumerate(plan.query.find.elements)
        return tuple(
            place for place, each in columns if isinstance(each, ast.FindVar) and each.var.name in entities
        )

    def _plan(self, question: Question, cancel: Cancel, *, share: bool = False) -> Plan:
        return limited(self.compiler.compile(question, share=share, cancel=cancel), question.args)

    def choose(self, question: Question, plan: Plan) -> tuple[Place, str]:
        """(where to run a plan, why)."""
        request, spark = question.request, self.means.spark
        if question.sees_part:
            return Place.LOCAL, "only some datoms are visible, which are found in this process"
        if request.engine == "LOCAL":
            return Place.LOCAL, "asked for"
        if request.engine == "SPARK":
            if spark is None:
                raise unavailable("this gateway runs without Spark; ask for engine LOCAL or AUTO")
            return Place.SPARK, "asked for"
        work = _work(request, plan)
        small = self.prediction.small(work)
        if small is not None:
            return Place.LOCAL, small
        if spark is None or spark.state != "ready":
            why = "there is no Spark" if spark is None else f"Spark is {spark.state}"
            return Place.LOCAL, f"about {self.prediction.here(work):,.2f} s here, and {why}"
        return self.prediction.choose(work, spark.cluster)

    def _with_guards(self, question: Question, plan: Plan) -> Question | None:
        """The question with its guards among its clauses, where it may be work for Spark."""
        request, spark = question.request, self.means.spark
        if spark is None or request.engine == "LOCAL":
            return None
        if request.engine != "SPARK" and self.prediction.small(_work(request, plan)) is not None:
            return None
        return rewritten(question)

    def _learn(self, place: Place, work: EstimatedWork, seconds: float, tasks: Sequence[TaskCounts] = ()) -> None:
        spark = self.means.spark
        if place is Place.LOCAL or spark is None:
            self.prediction.learn(place, work, seconds)
        elif spark.state == "ready":
            cluster = spark.cluster
            self.prediction.learn(place, work, seconds, cluster, _computing(tasks, cluster.cores))

    def _answered(self, question: Question, cancel: Cancel) -> tuple[Result, _Ran]:
        started = time.perf_counter()
        result, ran = self._joined(question, cancel)
        self._pull_into(result, question, ran.plan, started, cancel)
        return result, ran

    def _pull_into(
        self, result: Result, question: Question, plan: Plan | None, started: float, cancel: Cancel
    ) -> None:
        """Makes the pulls of a result, which began at `started`. `plan`: as of `QuestionPulls.made`."""
        for element in question.query.find.elements:
            if isinstance(element, FindPull):
                result.pulled = self._pulls.made(
                    question, plan, lambda pulls: pulls.columns(result, cancel), cancel
                )
                result.elapsed_ms = (time.perf_counter() - started) * 1000
                return

    def write(self, question: Question, folder: str, cancel: Cancel) -> list[ParquetPart]:
        """Writes the answer's rows into the folder as Parquet, without their pulls: files with rows, in order. On
        Spark its tasks write. Raises as `run` does, and OSError, and leaves no file then."""
        output = Output(folder)
        with self.memory.lent(cancel):
            while True:
                try:
                    parts = self._written(question, output, cancel)
                    different = mixed(parts)
                    parts = parts if different else widened(output, parts)
                except BaseException:
                    output.discard()
                    raise
                if not different:
                    return settled(output, parts)
                # A type that no task could know alone.
                output.discard()
                output = Output(folder, output.texts | different)

    def _written(self, question: Question, output: Output, cancel: Cancel) -> list[ParquetPart]:
        ran = self._ran(question, cancel, output)
        if ran.ran.parts is not None:
            return ran.ran.parts
        result, ran = self._shaped(question, ran, cancel)
        names = [column.name for column in result.columns]
        return [write_part(output, 0, names, result.codes, ran.values, cancel)] if len(result) else []

    def _joined(self, question: Question, cancel: Cancel) -> tuple[Result, _Ran]:
        started, slow = time.perf_counter(), self.means.slow
        try:
            ran = self._ran(question, cancel)
            result, ran = self._shaped(question, ran, cancel)
        except AdalogError as error:
            if slow is not None:
                slow.failed(self.explained, question, cancel, time.perf_counter() - started, error)
            raise
        if slow is not None:
            slow.ran(self.explained, question, cancel, time.perf_counter() - started, len(result))
        return result, ran

    def _plainly(self, question: Question, cancel: Cancel) -> Result | None:
        """The answer of a plain question whose like was run before; None where it is to be run as any other. Raises
        as `run`."""
        known, slow = None if question.plain is None else self._plain.of(question), self.means.slow
        if known is None or tracing.is_on():
            return None
        started, work = time.perf_counter(), known.work
        if self.means.spark is not None and self.prediction.small(work) is None:
            return None
        try:
            cancel.check()
            if cancel.charge is not None:
                cancel.will_cost(self.prediction.units(work))
            cancel.expect(work.cost + question.arguments_cost)
            run = QueryRun(Scratch(question.snapshot.codes, take=cancel.budget.take), cancel, self.means.strict)
            rows = known.rows(question, run, self.joins)
            if rows is None:
                return None
            result = known.result(question, rows, run, started)
        except AdalogError as error:
            if slow is not None:
                slow.failed(self.explained, question, cancel, time.perf_counter() - started, error)
            raise
        self._learn(Place.LOCAL, work, time.perf_counter() - started)
        if slow is not None:
            slow.ran(self.explained, question, cancel, time.perf_counter() - started, len(result))
        return result

    def settled(self, text: str, snapshot: Snapshot) -> SettledRun | None:
        """The run of a text that was settled on an earlier snapshot, on this one, which keeps it; None where a
        question of the text is to be run."""
        return None if self.means.strict or tracing.is_on() else self._plain.settled(text, snapshot, self.joins)

    def explained(self, question: Question) -> dict[str, Any]:
        """The plan of a query that took long, for the log."""
        return self.explain(question, Cancel.after(_EXPLAIN_MS), analyze=False)

    def _ran(self, question: Question, cancel: Cancel, output: Output | None = None) -> _Ran:
        started = time.perf_counter()
        plan = self._plan(question, cancel)

        def ran(options: Options) -> _Ran:
            if options is question.request.options:
                return self._ran_by(plan, question, started, cancel, output)
            if output is not None:
                output.discard()
            asked = question.with_options(options)
            return self._ran_by(self._plan(asked, cancel), asked, started, cancel, output)

        return cautiously(question.request.options, ran, cancel)

    def _ran_by(
        self, plan: Plan, question: Question, started: float, cancel: Cancel, output: Output | None
    ) -> _Ran:
        request, snapshot = question.request, question.snapshot
        cancel.check()
        place, reason = self.choose(question, plan)
        joined = self._with_guards(question, plan) if question.sees_part else None
        if joined is not None:
            own = self._plan(joined, cancel)
            there, why = self.choose(joined, own)
            if there is Place.SPARK:
                # Values that fall together are counted by what the whole database has.
                place, reason, plan = there, why, replace(own, multiplicity=None)
        work = _work(request, plan)
        cancel.will_cost(self.prediction.units(work))
        if place is Place.SPARK and plan.program.strata:
            plan = replace(self._plan(joined or question, cancel, share=True), multiplicity=plan.multiplicity)
        values = Scratch(snapshot.codes, take=cancel.budget.take)
        late: LateCalls = {}
        asked = joined if place is Place.SPARK and joined is not None else question
        lookups = None
        if place is Place.LOCAL:
            lookups = self.compiler.compile_lookups(question, plan, cancel)
            plan, late = without_late_calls(plan if lookups is None else lookups.groups)
            cancel.expect(plan.cost + question.arguments_cost)
        inputs = bind_inputs(plan, asked.args, snapshot, values, cancel.check)
        # What arguments name was found among what is visible.
        inputs.databases = {**inputs.databases, **asked.databases}
        run = QueryRun(values, cancel, self.means.strict, self.means.threads)
        began, waited = time.perf_counter(), cancel.waited
        try:
            if place is Place.SPARK:
                assert self.means.spark is not None
                most, ordered = request.max_rows, request.ordered
                with tracing.span("adalog.spark.job") as span:
                    ran = self.means.spark.run_join(plan, inputs, run, most=most, ordered=ordered, output=output)
                    span.set("adalog.tasks", len(ran.tasks))
            else:
                with tracing.span("adalog.join"):
                    # A plan without its late calls is made anew for each run.
                    kept, whole = None if late else self.joins, question.is_guarded
                    ran = run_join(plan, inputs, run, most=request.max_rows, whole=whole, kept=kept)
        except AdalogError as error:
            if error.code is Code.TIMEOUT:
                # It takes this long at least.
                self._learn(place, work, time.perf_counter() - began - (cancel.waited - waited))
            raise
        self._learn(place, work, time.perf_counter() - began - (cancel.waited - waited), ran.tasks)
        if place is Place.LOCAL and question.plain is not None and not late:
            self._plain.keep(question, question.plain, plan, work)
        return _Ran(plan, place, reason, values, ran, started, late, lookups)

    def _shaped(self, question: Question, ran: _Ran, cancel: Cancel) -> tuple[Result, _Ran]:
        """The result of what ran, and what ran at last: without lookups, where something about a group is refused
        that may not be in the answer."""
        try:
            return self._shaped_once(question, ran, cancel), ran
        except AdalogError as error:
            if ran.lookups is None or error.code not in REFUSALS:
                raise
        whole = question.with_options(replace(question.request.options, look_up=False))
        again = self._ran(whole, cancel)
        return self._shaped_once(question, again, cancel), again

    def _shaped_once(self, question: Question, ran: _Ran, cancel: Cancel) -> Result:
        request, plan = question.request, ran.plan
        run = QueryRun(ran.values, cancel, self.means.strict, self.means.threads)
        codes = unordered_columns(plan, ran.ran.rows, run, late=ran.late)
        if ran.lookups is not None:
            plan = self._plan(question, cancel)
            codes = looked_up_columns(plan, ran.lookups, codes, question.databases, run)
        result = shape_columns(
            plan,
            codes,
            ran.values,
            cancel,
            t=question.snapshot.t,
            engine=str(ran.place),
            started=ran.started,
            ordered=request.ordered or question.is_guarded,
            databases=question.databases,
        )
        result.question, result.dropped = question, ran.ran.dropped
        # Tasks leave rows out of which no aggregate needs each, unless rows repeat.
        if ran.plan.sharing is None and (ran.place is Place.LOCAL or ran.plan.distinct):
            own = dropped(ran.plan.multiplicity, ran.ran.levels, ran.ran.rows, question.databases)
            result.dropped = result.dropped if own is None else {QUERY: own, **result.dropped}
        result.waited_ms, result.lane = cancel.waited * 1000, cancel.lane
        if request.max_rows is not None and len(result) > request.max_rows:
            raise limit_exceeded(
                f"the query has more than {request.max_rows:,} rows; narrow it, aggregate, or use :limit"
            )
        return result


def _work(request: QueryRequest, plan: Plan) -> EstimatedWork:
    rows, stop = plan.rows, plan.query.window[1]
    if all(isinstance(element, FindAggregate) for element in plan.query.find.columns):
        rows = 1.0
    elif stop is not None:
        rows = min(rows, stop)
    return EstimatedWork(request.query, plan.cost, rows)


def _computing(tasks: Sequence[TaskCounts], cores: int) -> float | None:
    """The seconds that tasks computed, on so many cores; None where there were none."""
    if not tasks:
        return None
    return max(max(task.seconds for task in tasks), sum(task.seconds for task in tasks) / cores)
