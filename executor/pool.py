"""Where queries run: chooses the engine, bounds how many run at once, and lets a caller wait or walk away."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from datalog.ast import FindPull
from datalog.diagnostics import Diagnostic
from datalog.errors import AdalogError, Code
from datalog.parse_pull import read_pull
from datalog.values import EdnMap
from executor.cache import ResultCache
from executor.cache_settings import CacheSettings
from executor.cancel import Cancel
from executor.compile import Compiler
from executor.inputs import bind_inputs
from executor.local import Ran, run_join, shape_result
from executor.pull import Puller
from executor.pull_find import pull_shown
from executor.question import Question, Questions
from executor.recent import Recent
from executor.request import Request
from executor.result import Result
from executor.stored_queries import StoredQueries
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
    """`threads` a query may use; `running` queries at once; `waiting` more before the rest are refused.

    `spark_cost`: estimated cost above which AUTO prefers Spark (about half a second of local work), where Spark
    has more cores than `threads`. `plan_bytes`: of what is remembered of recent queries, parsed and planned.
    """

    threads: int = min(os.cpu_count() or 1, 2)
    running: int = max(os.cpu_count() or 1, 2) * 2
    waiting: int = 256
    spark_cost: float = 1e7
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
        self._questions = Questions(self.settings.plan_bytes // 2)
        self._compiler = Compiler(Recent(self.settings.plan_bytes // 2))
        self.cache = None if cache is None else ResultCache(database, cache)
        self._threads = ThreadPoolExecutor(self.settings.running, thread_name_prefix="query")
        self._lock = threading.Lock()
        self._inside = 0

    def close(self) -> None:
        """Stops taking queries; those that run are finished."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        if self.cache is not None:
            self.cache.close()
        if self.spark is not None:
            self.spark.close()

    @property
    def waiting(self) -> int:
        """Queries that wait for a place."""
        return max(0, self._inside - self.settings.running)

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
        known = None if self.cache is None else self.cache.run(self, question, cancel)
        return self._run(question, cancel)[0] if known is None else known

    async def arun(self, request: Request) -> Result:
        """Runs a query on the pool's threads; cancelling the task stops it, unless others wait for the same."""
        if self._questions.knows(request):
            question = self.question(request)
        else:
            # A long text or long arguments: the event loop has other clients to answer.
            question = await asyncio.to_thread(self.question, request)
        known = None if self.cache is None else await self.cache.arun(self, question)
        if known is not None:
            return known
        return await self.threaded(Cancel(question.deadline), lambda cancel: self._run(question, cancel)[0])

    def rows(self, question: Question, cancel: Cancel) -> Result:
        """What `run` gives, computed and without its pulls."""
        return self._joined(question, cancel).result

    def question(self, request: Request) -> Question:
        """The request made ready. Raises what is wrong with its text or its arguments."""
        return self._questions.of(request, self.database.snapshot())

    def diagnostics(self, question: Question) -> tuple[Diagnostic, ...]:
        """What is allowed in a question and probably not meant."""
        return self._questions.diagnostics(question)

    async def adiagnostics(self, question: Question) -> tuple[Diagnostic, ...]:
        """The same for an event loop: elsewhere, unless it is known already."""
        known = self._questions.known_diagnostics(question)
        return await asyncio.to_thread(self.diagnostics, question) if known is None else known

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
        puller = Puller(snapshot, cancel, strict=self.database.schema == "strict")
        return puller.pull_named(read_pull(request.pattern), request.entities)

    async def apull(self, request: PullRequest) -> tuple[list[EdnMap | None], int]:
        """`pull` on the pool's threads; cancelling the task stops it."""
        return await self.threaded(Cancel.after(request.timeout_ms), lambda cancel: self.pull(request, cancel))

    async def threaded(self, cancel: Cancel, work: Callable[[Cancel], T]) -> T:
        """`work` on the pool's threads, when there is a place; cancelling the task stops it. Raises LIMIT_EXCEEDED
        where too many wait."""
        future = self.submit(cancel, work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            cancel.cancel()
            self.withdraw(future)
            raise

    def submit(self, cancel: Cancel, work: Callable[[Cancel], T]) -> Future[T]:
        """`threaded` for who does not wait."""
        with self._lock:
            if self._inside >= self.settings.running + self.settings.waiting:
                raise AdalogError(
                    Code.LIMIT_EXCEEDED,
                    f"{self.settings.waiting} queries are waiting already; try again shortly",
                    retryable=True,
                )
            self._inside += 1
        return self._threads.submit(self._entered, work, cancel)

    def withdraw(self, future: Future[T]) -> None:
        """Gives up the place of what has not begun."""
        if future.cancel():
            self._leave()

    def _entered(self, work: Callable[[Cancel], T], cancel: Cancel) -> T:
        try:
            return work(cancel)
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._inside -= 1

    def _run(self, question: Question, cancel: Cancel) -> tuple[Result, Plan, Ran, str]:
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
        values = Scratch(snapshot.codes)
        inputs = bind_inputs(plan, question.args, snapshot, values)
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
            plan, ran.rows, values, t=snapshot.t, engine=str(engine), started=started, ordered=request.ordered
        )
        result.question = question
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
