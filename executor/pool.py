"""Where queries are asked: ties questions, turns, the cache and the engine together, for threads and for tasks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from adalog.datalog.diagnostics import Diagnostic, bounded
from adalog.datalog.values import EdnMap
from adalog.datalog.watched import watching
from adalog.executor.answer.parquet import ParquetPart
from adalog.executor.answer.result import Result
from adalog.executor.bounds.budget import MEMORY_BYTES, Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.cache.answers import ResultCache
from adalog.executor.cache.settings import CacheSettings
from adalog.executor.derivations.derivation import Reason
from adalog.executor.engine import Means, QueryEngine
from adalog.executor.follow.view_choice import live_of
from adalog.executor.join.batch import Column
from adalog.executor.permissions.guards import Permissions
from adalog.executor.plain_run import SettledRun
from adalog.executor.pull.find import given_patterns, takes_patterns
from adalog.executor.pull.written import ValueTexts
from adalog.executor.question.arguments import GivenArgument
from adalog.executor.question.question import Question, Questions
from adalog.executor.question.request import QueryRequest
from adalog.executor.slow_queries import SlowQueries
from adalog.executor.stored_queries import StoredQueries
from adalog.executor.turns.lanes import LaneSlots
from adalog.executor.turns.scheduler import Scheduler
from adalog.executor.turns.submission import Turns
from adalog.planner.explain.explanation import explain_groups, text_of
from adalog.planner.model.multiplicity import DroppedRows
from adalog.planner.order.duplicates import diagnostics as dropped_duplicates
from adalog.planner.scope.pending_warnings import PendingWarning, diagnostics_of
from adalog.planner.scope.suspicions import in_queries
from adalog.planner.scope.unknown_names import in_entities, in_pattern
from adalog.store.database import Database
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from adalog.executor.spark.remote import SparkBackend

T = TypeVar("T")
Pulled = tuple[list[EdnMap | None], int, Sequence[Diagnostic]]
"""(a map for each entity, the values in all, what is suspicious)"""

# Entities whose pull may be brief.
_FEW_ENTITIES: Final = 8
# Rows that cost little to make, also where they are not shown then.
_FEW_ROWS: Final = 256
# For what is done in no time, and by nobody cancelled.
_AT_ONCE: Final = Cancel()


@dataclass(frozen=True, slots=True)
class PullRequest:
    """Entities to pull. `pattern` is EDN text, `entities` are numbers, idents and lookup refs as values; `place`
    says what warnings call the one of a number."""

    pattern: str
    entities: Sequence[Any]
    snapshot: Snapshot | None = None
    timeout_ms: int | None = None
    place: Callable[[int], str] = "entity {}".format


@dataclass(frozen=True, slots=True)
class CodedRows:
    """Distinct rows of a run on a snapshot, by column: the codes of their values, at least one column."""

    run: SettledRun
    snapshot: Snapshot
    columns: Sequence[Column]

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def shape(self) -> str:
        """Of the answer."""
        return self.run.shape

    def result(self) -> Result:
        """The answer, without a question."""
        return self.run.result(self.snapshot, self.columns)


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

    `heavy_cost`: estimated cost from which on a query is heavy (about 20 ms of local work).
    `memory_bytes`: what all queries may hold together; one of them, half of it. `plan_bytes`: of what is
    remembered of recent queries, parsed and planned. `slow_seconds`: from which on a query is logged; 0: none.
    """

    threads: int = min(os.cpu_count() or 1, 2)
    running: int = max(os.cpu_count() or 1, 2) * 2
    heavy: int = os.cpu_count() or 1
    waiting: int = 256
    heavy_cost: float = 3e5
    memory_bytes: int = MEMORY_BYTES
    plan_bytes: int = 32 << 20
    slow_seconds: float = 0.0


class Answers(Protocol):
    """What the pool gets answers from: the cache before the engine, or the engine alone."""

    def run(self, question: Question, cancel: Cancel) -> Result:
        """The answer, on the calling thread."""

    async def arun(self, question: Question) -> Result:
        """The answer for an event loop; cancelling the task stops what no other request waits for."""


@dataclass(frozen=True, slots=True)
class ComputedAnswers:
    """Every answer is computed."""

    engine: QueryEngine
    turns: Turns

    def run(self, question: Question, cancel: Cancel) -> Result:
        return self.engine.run(question, cancel)

    async def arun(self, question: Question) -> Result:
        cancel = Cancel(question.deadline, text=question.text)
        return await self.turns.threaded(
            cancel, lambda cancel: self.engine.run(question, cancel), name=question.text
        )


class Pool:
    """Runs queries over one database. Thread-safe."""

    def __init__(
        self,
        database: Database,
        settings: PoolSettings | None = None,
        spark: SparkBackend | None = None,
        cache: CacheSettings | None = None,
    ) -> None:
        """`cache`: keep answers; None: compute each."""
        self.database = database
        self.settings = own = settings or PoolSettings()
        self.spark = spark
        self.memory = Memory(own.memory_bytes)
        self.permissions = Permissions(self.memory)
        slow = SlowQueries(own.slow_seconds) if own.slow_seconds else None
        means = Means(own.threads, spark, database.schema == "strict", slow)
        self.questions = Questions(own.plan_bytes // 2, database.schema == "strict")
        self.engine = QueryEngine(means, self.memory, own.plan_bytes // 2)
        lanes = LaneSlots(light=own.running, heavy=own.heavy, waiting=own.waiting, cost=own.heavy_cost)
        self.scheduler = Scheduler(lanes)
        self.turns = Turns(self.scheduler)
        self.cache = None if cache is None else ResultCache(database, cache, self.engine, self.turns)
        self.answers: Answers = self.cache or ComputedAnswers(self.engine, self.turns)
        database.evaluate_with(StoredQueries(self))

    def stop(self) -> None:
        """Stops taking queries and has those that run end at their next look at the cancel flag. Does not wait."""
        self.turns.stop()

    def close(self) -> None:
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

    def run(self, request: QueryRequest, cancel: Cancel | None = None) -> Result:
        """Runs a query on the calling thread. Raises what is wrong with the text or the arguments, LIMIT_EXCEEDED,
        TIMEOUT, CANCELLED, and BACKEND_UNAVAILABLE when Spark was asked for and is not there."""
        question = self.question(request)
        cancel = _sooner(cancel or Cancel(), question.deadline)
        self.turns.register(cancel)
        return self.answers.run(question, cancel)

    def write(self, request: QueryRequest, folder: str, cancel: Cancel | None = None) -> list[ParquetPart]:
        """Writes a query's rows into a folder as Parquet, on the calling thread. Raises as `run`, and OSError."""
        question = self.question(request)
        cancel = _sooner(cancel or Cancel(), question.deadline)
        self.turns.register(cancel)
        return self.engine.write(question, folder, cancel)

    def at_once(
        self,
        text: str,
        args: Sequence[Any],
        snapshot: Snapshot,
        most: int,
        show: Callable[[CodedRows], T | None],
        *,
        unpulled: bool = False,
        unsuspicious: bool = False,
    ) -> T | None:
        """What is shown of the rows of a query whose text was run before, where that takes no longer than a
        hand-over. `args`: as JSON has them; `most`: rows that it may have; `show`: None where it takes longer;
        `unpulled`: as of a request; `unsuspicious`: only if it is known that nothing in the query is suspicious.
        None where `arun` is to run it, as if nothing had been."""
        run: SettledRun | None = snapshot.attached.get(text)
        if run is None and text not in snapshot.attached:
            settle = partial(self.engine.settled, text, snapshot)
            run = self.turns.at_once(settle, ("settled", text), untried=True)
        if run is None or (run.has_pulls and not unpulled):
            return None
        if unsuspicious and self.questions.known_suspicions(text, {run.source: snapshot}) != ():
            return None
        given = run.given(snapshot, args)
        if given is None:
            return None
        cache = self.cache
        key = None if cache is None else cache.lacks(text, args, run.source, snapshot, most)
        if cache is not None and key is None:
            return None
        rows: CodedRows | None = None

        def work() -> T | None:
            nonlocal rows
            columns = run.columns(given, snapshot.codes, most)
            if columns is None:
                return None
            rows = CodedRows(run, snapshot, columns)
            shown = show(rows)
            if shown is None and len(rows) > _FEW_ROWS:
                run.lost()
            if cache is not None and key is not None and shown is not None:
                cache.keep(key, rows.result(), snapshot)
            return shown

        slow = self.engine.means.slow
        began = 0.0 if slow is None else time.perf_counter()
        shown = self.turns.at_once(work)
        if slow is not None and rows is not None and shown is not None:
            seconds = time.perf_counter() - began
            if seconds >= slow.seconds:
                self._was_slow(slow, QueryRequest(text, args, snapshot), seconds, len(rows))
        return shown

    def _was_slow(self, slow: SlowQueries, request: QueryRequest, seconds: float, rows: int) -> None:
        cancel = Cancel()
        slow.ran(self.engine.explained, self.question(request, cancel), cancel, seconds, rows)

    async def arun(self, request: QueryRequest) -> Result:
        """Runs a query on the pool's threads; cancelling the task stops it, unless others wait for the same."""
        if self.questions.knows(request):
            question = self.question(request, _AT_ONCE)
        else:
            # A long text or long arguments: the event loop has other clients to answer.
            question = await self.threaded(
                Cancel.after(request.timeout_ms), lambda cancel: self.question(request, cancel)
            )
        return await self.answers.arun(question)

    def question(self, request: QueryRequest, cancel: Cancel | None = None) -> Question:
        """The request made ready. Raises what is wrong with its text or its arguments."""
        return self.questions.of(request, self.database.snapshot(), cancel or Cancel())

    def diagnostics(self, question: Question, cancel: Cancel | None = None) -> tuple[Diagnostic, ...]:
        """What is allowed in a question and probably not meant."""
        cancel = cancel or Cancel()
        found = self.questions.diagnostics(question, cancel)
        with watching(cancel.check):
            given: list[PendingWarning] = []
            for name, pattern, database in given_patterns(question):
                origin = f"the pattern given for {name}"
                given += in_pattern(pattern, database, origin)
                databases = {**question.databases, "$": database}
                given += in_queries(pattern, databases, question.relations, origin)
            return bounded((*found, *diagnostics_of(given)))

    def known_diagnostics(self, question: Question) -> tuple[Diagnostic, ...] | None:
        """The same where it takes no time, since they were found before; else None."""
        return None if takes_patterns(question.query) else self.questions.known_diagnostics(question)

    async def adiagnostics(self, question: Question) -> tuple[Diagnostic, ...]:
        """The same for an event loop: elsewhere, unless it is known already."""
        known = self.known_diagnostics(question)
        if known is not None:
            return known
        return await self.threaded(Cancel(question.deadline), lambda cancel: self.diagnostics(question, cancel))

    def found_out(self, question: Question, dropped: Mapping[str, DroppedRows]) -> tuple[Diagnostic, ...]:
        """What a run found to be probably not meant. `dropped`: as in its result."""
        return tuple(dropped_duplicates(question.outline, question.databases, dropped)) if dropped else ()

    async def afound_out(self, question: Question, dropped: Mapping[str, DroppedRows]) -> tuple[Diagnostic, ...]:
        if not dropped:
            return ()
        return await self.threaded(Cancel(question.deadline), lambda _: self.found_out(question, dropped))

    def explain(self, request: QueryRequest, analyze: bool = False, cancel: Cancel | None = None) -> Explanation:
        """The plan of a query; with `analyze` what running it did, level by level."""
        cancel = cancel or Cancel()
        question = self.question(request, cancel)
        cancel = _sooner(cancel, question.deadline)
        diagnostics = self.diagnostics(question, cancel)
        if question.sees_part and not analyze:
            # Neither the plan nor its estimates tell how much there is that is hidden.
            question = question.unmeasured()
        shown = self.engine.explain(question, cancel, analyze=analyze)
        dropped = {name: DroppedRows(**each) for name, each in shown.get("dropped", {}).items()}
        diagnostics = bounded((*diagnostics, *self.found_out(question, dropped)))
        shown["groups"] = explain_groups(question.query)
        shown["live"] = live_of(question)
        if question.sees_part:
            shown["guarded"] = sorted(
                name for name, each in question.databases.items() if isinstance(each, GuardedSnapshot)
            )
        return Explanation(text_of(shown), shown, diagnostics)

    async def aentity_columns(self, question: Question) -> tuple[int, ...]:
        """The numbers of the columns of an answer that show entities."""
        return await self.threaded(
            Cancel(question.deadline), lambda cancel: self.engine.entity_columns(question, cancel)
        )

    def why(self, request: QueryRequest, cells: Sequence[GivenArgument], cancel: Cancel | None = None) -> Reason:
        """Why a row is in the answer of a query, or why it is not. Raises what is wrong with either."""
        cancel = cancel or Cancel()
        question = self.question(request, cancel)
        return self.engine.why(question, cells, _sooner(cancel, question.deadline))

    async def acheck(self, request: QueryRequest) -> tuple[Diagnostic, ...]:
        """What is probably not meant in a query that is still being written: arguments may be lacking or UNBOUND.
        Raises what is wrong with its text. No order is searched."""
        return await self.threaded(Cancel.after(request.timeout_ms), lambda cancel: self.check(request, cancel))

    def check(self, request: QueryRequest, cancel: Cancel) -> tuple[Diagnostic, ...]:
        question = self.questions.draft(request, self.database.snapshot(), cancel)
        if question is None:
            return ()
        self.engine.check(question, cancel)
        return self.diagnostics(question, cancel)

    async def awhy(self, request: QueryRequest, cells: Sequence[GivenArgument]) -> Reason:
        cancel = Cancel.after(request.timeout_ms, request.query)
        return await self.threaded(cancel, lambda cancel: self.why(request, cells, cancel))

    async def aexplain(self, request: QueryRequest, analyze: bool = False) -> Explanation:
        cancel = Cancel.after(request.timeout_ms, request.query)
        return await self.threaded(cancel, lambda cancel: self.explain(request, analyze, cancel))

    def pull(self, request: PullRequest, cancel: Cancel | None = None) -> tuple[list[EdnMap | None], int]:
        """(a map for each entity in order, None for one that has nothing of it or is not there; the values in all).
        Raises what is wrong with the pattern's text or the entities, LIMIT_EXCEEDED, TIMEOUT and CANCELLED."""
        snapshot = request.snapshot or self.database.snapshot()
        cancel = cancel or Cancel.after(request.timeout_ms)
        maps, values, _ = self.engine.entity_pulls.maps(request.pattern, request.entities, snapshot, cancel)
        return maps, values

    def pulled(self, request: PullRequest, cancel: Cancel) -> Pulled:
        """`pull`, and what is suspicious about it."""
        snapshot = request.snapshot or self.database.snapshot()
        maps, values, pattern = self.engine.entity_pulls.maps(request.pattern, request.entities, snapshot, cancel)
        nothing = (
            (request.place(number), entity)
            for number, (entity, found) in enumerate(zip(request.entities, maps, strict=True))
            if found is None and type(entity) is not int
        )
        with watching(cancel.check):
            queries = in_queries(pattern, {"$": snapshot})
            found = (*in_pattern(pattern, snapshot), *queries, *in_entities(nothing, snapshot))
            return maps, values, diagnostics_of(found)

    def _pulled_or_written(
        self, request: PullRequest, snapshot: Snapshot, texts: ValueTexts, cancel: Cancel
    ) -> Pulled | list[bytes]:
        written = self.engine.entity_pulls.written(request.pattern, request.entities, snapshot, texts, cancel)
        return self.pulled(request, cancel) if written is None else written

    def pull_at_once(
        self, pattern: str, entities: Sequence[Any], snapshot: Snapshot, texts: ValueTexts
    ) -> list[bytes] | None:
        """What a pattern that was pulled before shows of a few entities, where it takes no longer than a hand-over;
        None where `apull` is to pull them, as if nothing had been."""
        if len(entities) > _FEW_ENTITIES or not self.engine.entity_pulls.is_prepared(pattern, snapshot):
            return None
        work = partial(self.engine.entity_pulls.written, pattern, entities, snapshot, texts, Cancel(text=pattern))
        return self.turns.at_once(work, pattern)

    async def apull(self, request: PullRequest, texts: ValueTexts | None = None) -> Pulled | list[bytes]:
        """`pulled` on the pool's threads; cancelling the task stops it. `texts`: with them a few
        entities of a snapshot with their codes may be pulled as texts, about which nothing is suspicious."""
        cancel = Cancel.after(request.timeout_ms, request.pattern)
        if len(request.entities) > _FEW_ENTITIES:
            return await self.turns.threaded(cancel, partial(self.pulled, request))
        snapshot = request.snapshot
        if texts is None or snapshot is None or snapshot.codes is not texts.codes:
            return await self.turns.threaded(cancel, partial(self.pulled, request), name=request.pattern)
        work = partial(self._pulled_or_written, request, snapshot, texts)
        return await self.turns.threaded(cancel, work, name=request.pattern)

    async def threaded(self, cancel: Cancel, work: Callable[[Cancel], T], cost: float = 0.0) -> T:
        """The outcome of any work as `Turns.threaded` gives it."""
        return await self.turns.threaded(cancel, work, cost)

    def submit(self, cancel: Cancel, work: Callable[[Cancel], T], cost: float = 0.0) -> Future[T]:
        return self.turns.submit(cancel, work, cost)


def _sooner(cancel: Cancel, deadline: float | None) -> Cancel:
    """The flag, with a deadline that is no later than this one."""
    if deadline is not None:
        cancel.deadline = deadline if cancel.deadline is None else min(cancel.deadline, deadline)
    return cancel
