"""Where queries run: chooses the engine, gives each its turn, and lets a caller wait or walk away."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from datalog.ast import FindPull
from datalog.diagnostics import Diagnostic
from datalog.errors import AdalogError, Code
from datalog.parse_pull import read_pull
from datalog.values import EdnMap
from executor.answer.result import Pulled, Result
from executor.bounds.budget import MEMORY_BYTES, Memory
from executor.bounds.cancel import Cancel, abandoned, stopping, timed_out
from executor.bounds.client import ASKING
from executor.bounds.failure import emptied
from executor.bounds.recent import Recent
from executor.cache.answers import ResultCache
from executor.cache.settings import CacheSettings
from executor.evaluation.compile import Compiler
from executor.evaluation.local import Ran, run_join, shape_result
from executor.pull.find import pull_shown, pulled_column
from executor.pull.puller import Puller
from executor.question.arguments import arguments_cost
from executor.question.inputs import bind_inputs
from executor.question.question import Question, Questions
from executor.question.request import Request
from executor.stored_queries import StoredQueries
from executor.turns.scheduler import Places, Scheduler
from planner.explain import explain_plan, text_of
from planner.plan import Engine, Plan
from store.codes import Scratch
from store.database import Database
from store.snapshot import Snapshot

if TYPE_CHECKING:
    from executor.spark.engine import SparkEngine


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PullRequest:
    """Entities to pull. `pattern` is EDN text, `entities` are numbers, idents and lookup refs as values."""

    pattern: str
    entities: Sequence[Any]
    snapshot: Snapshot | None = None
    timeout_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan for people and for programs, and what is allowed in the query and probably not meant."""

    text: str
    plan: dict[str, Any]
    diagnostics: Sequence[Diagnostic] = ()


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """`threads` a query may use; `running` light queries at once and `heavy` ones beside them; `waiting` more
    before the rest are refused.

    `heavy_cost`: estimated cost from which on a query is heavy (about 20 ms of local work). `spark_cost`: that
    above which AUTO prefers Spark (about half a second), where Spark has more cores than `threads`.
    `memory_bytes`: what all queries may hold together; one of them, half of it. `plan_bytes`: of what is
    remembered of recent queries, parsed and planned.
    """

    threads: int = min(os.cpu_count() or 1, 2)
    running: int = max(os.cpu_count() or 1, 2) * 2
    heavy: int = os.cpu_count() or 1
    waiting: int = 256
    heavy_cost: float = 3e5
    spark_cost: float = 1e7
    memory_bytes: int = MEMORY_BYTES
    plan_bytes: int = 32 << 20


@dataclass(frozen=True, slots=True)
class _Joined:
    """The rows of a query, how they came about, and what its pulls need."""

    result: Result
    plan: Plan
    ran: Ran
    reason: str


class Pool:
    """Runs queries over one database. Thread-safe."""

    def __init__(
        self,
        database: Database,
        settings: PoolSettings | None = None,
        spark: SparkEngine | None = None,
        cache: CacheSettings | None = None,
    ) -> None:
        """`cache`: keep answers; None: compute each."""
        self.database = database
        database.evaluate_with(StoredQueries(self))
        self.settings = settings or PoolSettings()
        self.spark = spark
        self.memory = Memory(self.settings.memory_bytes)
        self._questions = Questions(self.settings.plan_bytes // 2)
        self._compiler = Compiler(Recent(self.settings.plan_bytes // 2))
        self.cache = None if cache is None else ResultCache(database, cache)
        self.scheduler = Scheduler(
            Places(
                light=self.settings.running,
                heavy=self.settings.heavy,
                waiting=self.settings.waiting,
                cost=self.settings.heavy_cost,
            )
        )
        self._lock = threading.Lock()
        self._running: weakref.WeakSet[Cancel] = weakref.WeakSet()
        self._stopped = False

    def stop(self) -> None:
        """Stops taking queries and has those that run end at their next look at the cancel flag. Does not wait."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for cancel in running:
            cancel.cancel(stopping())

    def close(self) -> None:
        """Stops what runs and waits for its end."""
        self.stop()
        if self.spark is not None:
            self.spark.close()
        self.scheduler.close()
        if self.cache is not None:
            self.cache.close()

    def kill(self) -> None:
        """Ends the processes of the second engine: what is left to do before the process is ended by force."""
        if self.spark is not None:
            self.spark.close()

    @property
    def spark_state(self) -> str:
        """off, starting, ready or failed."""
        return "off" if self.spark is None else self.spark.state

    def run(self, request: Request, cancel: Cancel | None = None) -> Result:
        """Runs a query on the calling thread.

        Raises what is wrong with the text or the arguments, LIMIT_EXCEEDED, TIMEOUT, CANCELLED, and
        BACKEND_UNAVAILABLE when Spark was asked for and is not there.
        """
        question = self.question(request)
        cancel = _sooner(cancel or Cancel(), question.deadline)
        with self._lock:
            self._register(cancel)
        known = None if self.cache is None else self.cache.run(self, question, cancel)
        return self._run(question, cancel)[0] if known is None else known

    async def arun(self, request: Request) -> Result:
        """Runs a query on the pool's threads; cancelling the task stops it, unless others wait for the same."""
        if self._questions.knows(request):
            question = self.question(request)
        else:
            # A long text or long arguments: the event loop has other clients to answer.
            question = await self.threaded(
                Cancel.after(request.timeout_ms), lambda cancel: self.question(request, cancel)
            )
        known = None if self.cache is None else await self.cache.arun(self, question)
        if known is not None:
            return known
        return await self.threaded(Cancel(question.deadline), lambda cancel: self._run(question, cancel)[0])

    def rows(self, question: Question, cancel: Cancel) -> Result:
        """What `run` gives, computed and without its pulls."""
        with self.memory.lent(cancel):
            return self._joined(question, cancel).result

    def pulled(self, question: Question, result: Result, place: int, cancel: Cancel) -> Pulled:
        """What one pull of a query shows of the entities in its rows."""
        strict = self.database.schema == "strict"
        shown = question.request.shown
        with self.memory.lent(cancel):
            return pulled_column(
                question.query, question.args, question.databases, result, place, shown, cancel, strict=strict
            )

    def question(self, request: Request, cancel: Cancel | None = None) -> Question:
        """The request made ready. Raises what is wrong with its text or its arguments."""
        return self._questions.of(request, self.database.snapshot(), cancel or Cancel())

    def diagnostics(self, question: Question) -> tuple[Diagnostic, ...]:
        """What is allowed in a question and probably not meant."""
        return self._questions.diagnostics(question)

    async def adiagnostics(self, question: Question) -> tuple[Diagnostic, ...]:
        """The same for an event loop: elsewhere, unless it is known already."""
        known = self._questions.known_diagnostics(question)
        if known is not None:
            return known
        return await self.threaded(Cancel(question.deadline), lambda _: self.diagnostics(question))

    async def aexplain(self, request: Request, analyze: bool = False) -> Explanation:
        """`explain` on the pool's threads, likewise."""
        cancel = Cancel.after(request.timeout_ms)
        return await self.threaded(cancel, lambda cancel: self.explain(request, analyze, cancel))

    def pull(self, request: PullRequest, cancel: Cancel | None = None) -> tuple[list[EdnMap | None], int]:
        """(a map for each entity in order, None for one that has nothing of it or is not there; the values in all).

        Raises what is wrong with the pattern's text or the entities, LIMIT_EXCEEDED, TIMEOUT and CANCELLED.
        """
        snapshot = request.snapshot or self.database.snapshot()
        cancel = cancel or Cancel.after(request.timeout_ms)
        with self.memory.lent(cancel):
            puller = Puller(snapshot, cancel, strict=self.database.schema == "strict")
            return puller.pull_named(read_pull(request.pattern), request.entities)

    async def apull(self, request: PullRequest) -> tuple[list[EdnMap | None], int]:
        """`pull` on the pool's threads; cancelling the task stops it."""
        return await self.threaded(Cancel.after(request.timeout_ms), lambda cancel: self.pull(request, cancel))

    async def threaded(self, cancel: Cancel, work: Callable[[Cancel], T], cost: float = 0.0) -> T:
        """`work` on the pool's threads, when it is its turn; cancelling the task stops it. `cost`: what is known of
        it, in the planner's measure.

        It may be begun more than once, and is to have no effect but its outcome. Raises RATE_LIMITED where too many
        wait, and TIMEOUT at the deadline of `cancel`, whatever the work does then.
        """
        future = asyncio.wrap_future(self.submit(cancel, work, cost))
        timer = None
        if cancel.deadline is not None:
            left = max(0.0, cancel.deadline - time.monotonic())
            timer = asyncio.get_running_loop().call_later(left, future.cancel)
        try:
            return await future
        except asyncio.CancelledError:
            abandoned(future)
            cancel.cancel()
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise timed_out() from None
        finally:
            if timer is not None:
                timer.cancel()

    def submit(self, cancel: Cancel, work: Callable[[Cancel], T], cost: float = 0.0) -> Future[T]:
        """`threaded` for who does not wait."""
        with self._lock:
            self._register(cancel)

        def tidy(cancel: Cancel) -> T:
            try:
                return work(cancel)
            except BaseException as failure:
                emptied(failure)
                raise

        try:
            return self.scheduler.submit(cancel, tidy, ASKING.get(), cost).future
        except RuntimeError:
            # The interpreter ends, and starts no threads.
            raise stopping() from None

    def _register(self, cancel: Cancel) -> None:
        if self._stopped:
            raise stopping()
        self._running.add(cancel)

    def _run(self, question: Question, cancel: Cancel) -> tuple[Result, Plan, Ran, str]:
        with self.memory.lent(cancel):
            return self._answered(question, cancel)

    def _answered(self, question: Question, cancel: Cancel) -> tuple[Result, Plan, Ran, str]:
        started = time.perf_counter()
        joined = self._joined(question, cancel)
        result, query = joined.result, joined.plan.query
        if any(isinstance(element, FindPull) for element in query.find.elements):
            strict = self.database.schema == "strict"
            shown = question.request.shown
            result.pulled = pull_shown(
                query, question.args, question.databases, result, shown, cancel, strict=strict
            )
            result.elapsed_ms = (time.perf_counter() - started) * 1000
        return result, joined.plan, joined.ran, joined.reason

    def _joined(self, question: Question, cancel: Cancel) -> _Joined:
        started = time.perf_counter()
        request, snapshot = question.request, question.snapshot
        plan = self._compiler.compile(question, cancel=cancel)
        cancel.check()
        engine, reason = self.choose(request, plan)
        if engine is Engine.SPARK and plan.program.strata:
            plan = self._compiler.compile(question, share=True, cancel=cancel)
        values = Scratch(snapshot.codes, take=cancel.budget.take)
        if engine is Engine.LOCAL:
            cancel.expect(plan.cost + arguments_cost(question.args))
        inputs = bind_inputs(plan, question.args, snapshot, values, cancel.check)
        strict = self.database.schema == "strict"
        if engine is Engine.SPARK:
            assert self.spark is not None
            ran = self.spark.run_join(plan, inputs, values, cancel, most=request.max_rows, strict=strict)
        else:
            ran = run_join(
                plan,
                inputs,
                values,
                cancel,
                threads=self.settings.threads,
                most=request.max_rows,
                strict=strict,
            )
        result = shape_result(
            plan,
            ran.rows,
            values,
            cancel,
            t=snapshot.t,
            engine=str(engine),
            started=started,
            ordered=request.ordered,
        )
        result.question = question
        result.waited_ms, result.lane = cancel.waited * 1000, cancel.lane
        if request.max_rows is not None and len(result) > request.max_rows:
            raise AdalogError(
                Code.LIMIT_EXCEEDED,
                f"the query has more than {request.max_rows:,} rows; narrow it, aggregate, or use :limit",
            )
        return _Joined(result, plan, ran, reason)

    def choose(self, request: Request, plan: Plan) -> tuple[Engine, str]:
        """(the engine, why)."""
        if request.engine == "LOCAL":
            return Engine.LOCAL, "asked for"
        if request.engine == "SPARK":
            if self.spark is None:
                raise AdalogError(
                    Code.BACKEND_UNAVAILABLE, "this gateway runs without Spark; ask for engine LOCAL or AUTO"
                )
            return Engine.SPARK, "asked for"
        cost = plan.cost
        if cost < self.settings.spark_cost:
            return Engine.LOCAL, f"estimated cost {cost:,.0f} is small"
        if self.spark is None:
            return Engine.LOCAL, f"estimated cost {cost:,.0f} is large, but there is no Spark"
        if self.spark.state != "ready":
            return Engine.LOCAL, f"estimated cost {cost:,.0f} is large, but Spark is {self.spark.state}"
        if self.spark.cores <= self.settings.threads:
            return (
                Engine.LOCAL,
                f"estimated cost {cost:,.0f} is large, but Spark has no more cores than this process",
            )
        return Engine.SPARK, f"estimated cost {cost:,.0f} is large"

    def explain(self, request: Request, analyze: bool = False, cancel: Cancel | None = None) -> Explanation:
        """The plan of a query; with `analyze` what running it did, level by level."""
        question = self.question(request)
        cancel = _sooner(cancel or Cancel(), question.deadline)
        diagnostics = self.diagnostics(question)
        if not analyze:
            plan = self._compiler.compile(question, cancel=cancel)
            engine, reason = self.choose(request, plan)
            shown = explain_plan(plan, str(engine), reason)
            return Explanation(text_of(shown), shown, diagnostics)
        result, plan, ran, reason = self._run(question, cancel)
        shown = explain_plan(plan, result.engine, reason)
        for stratum, did in zip(shown["rules"], ran.strata, strict=False):
            stratum["actual"] = {
                "rows": did.rows,
                "rounds": did.rounds,
                "how": did.how,
                "ms": round(did.seconds * 1000, 3),
            }
        for level, count in zip(shown["levels"], ran.levels, strict=True):
            level["actual"] = {
                "prefixes": count.prefixes,
                "candidates": count.candidates,
                "rows": count.rows,
                "ms": round(count.seconds * 1000, 3),
            }
        shown["rows"] = len(result)
        shown["elapsedMs"] = round(result.elapsed_ms, 3)
        return Explanation(text_of(shown), shown, diagnostics)


def _sooner(cancel: Cancel, deadline: float | None) -> Cancel:
    """The flag, with a deadline that is no later than this one."""
    if deadline is not None:
        cancel.deadline = deadline if cancel.deadline is None else min(cancel.deadline, deadline)
    return cancel
