"""Pulls: of entities in the rows of a question, and of entities that a request names.

Patterns are read once for each text. Queries in them are planned, and called for all entities of a level at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeVar

from adalog.datalog.ast import Binding, FindPull, Var
from adalog.datalog.errors import AdalogError
from adalog.datalog.parsing.pull_text import read_pull
from adalog.datalog.pull import PullPattern
from adalog.datalog.values import EdnMap
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.lru_cache import LruCache, weight_of_text
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Sources, nested_call
from adalog.executor.evaluation.caution import cautiously
from adalog.executor.evaluation.compile import Compiler
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.join.batch import Column
from adalog.executor.pull.find import FindPulls, pattern_of
from adalog.executor.pull.puller import Puller
from adalog.executor.pull.queries import EntityQuery, PullQueries, by_pattern
from adalog.executor.pull.written import EntityWriter, PreparedPattern, ValueTexts
from adalog.executor.question.inputs import bind_inputs, code_given, limited, sizes_of
from adalog.executor.question.question import Question
from adalog.planner.model.logical import PulledQuery, Subquery
from adalog.planner.model.plan import Options, Plan
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.codes import Scratch

# With a pattern, the key of what a snapshot keeps.

Pulled = TypeVar("Pulled")


class QuestionPulls:
    """Pulls of the entities in a question's rows. Memory is lent by the caller."""

    def __init__(self, compiler: Compiler, *, strict: bool) -> None:
        self._compiler = compiler
        self._strict = strict

    def made(
        self, question: Question, plan: Plan | None, work: Callable[[FindPulls], Pulled], cancel: Cancel
    ) -> Pulled:
        """What some work makes of a question's pulls. `plan`: with which it was answered, if that is at hand."""

        def pulled(options: Options) -> Pulled:
            asked = question.with_options(options)
            if plan is not None and asked is question:
                return work(self._of(asked, plan, cancel))
            return work(self._of(asked, limited(self._compiler.compile(asked, cancel=cancel), asked.args), cancel))

        return cautiously(question.request.options, pulled, cancel)

    def _of(self, question: Question, plan: Plan, cancel: Cancel) -> FindPulls:
        query, args, databases = question.query, question.args, question.databases
        queries = list(plan.pulled)
        for element in query.find.elements:
            if isinstance(element, FindPull) and isinstance(element.pattern, Var):
                pattern = pattern_of(element, query, args)
                lists = {name: size for name, size in sizes_of(query, args).items() if name in question.relations}
                options, source = question.request.options, element.source.name
                queries += self._compiler.compile_queries(pattern, source, databases, lists, options, cancel)
        return FindPulls(
            query,
            args,
            databases,
            question.request.shown,
            self._strict,
            self._queries(question, plan, queries, cancel),
        )

    def _queries(
        self, question: Question, plan: Plan, queries: Sequence[PulledQuery], cancel: Cancel
    ) -> PullQueries | None:
        if not queries:
            return None
        values = Scratch(question.snapshot.codes, take=cancel.budget.take)
        read = {outer for each in queries for outer in each.subquery.reads}
        relations: dict[str, list[Column]] = {}
        if not read.isdisjoint(question.relations):
            relations = bind_inputs(plan, question.args, question.snapshot, values, cancel.check).relations
        call = _calling((question.databases, relations), QueryRun(values, cancel, self._strict))

        def given(binding: Binding) -> int:
            return code_given(question.query, question.args, binding, values)

        return PullQueries(by_pattern(queries), given, call)


class EntityPulls:
    """Pulls of named entities. Thread-safe."""

    def __init__(self, compiler: Compiler, memory: Memory, nbytes: int, *, strict: bool) -> None:
        """`nbytes`: of patterns."""
        self._compiler = compiler
        self._memory = memory
        self._strict = strict
        # By their texts, each with whether there are queries in it.
        self._patterns: LruCache[str, tuple[PullPattern, bool]] = LruCache(nbytes * 2 // 3)
        self._prepared: LruCache[str, PreparedPattern] = LruCache(nbytes // 3)

    def maps(
        self, pattern: str, entities: Sequence[Any], snapshot: Snapshot, cancel: Cancel
    ) -> tuple[list[EdnMap | None], int, PullPattern]:
        """(a map for each entity, or None if it has nothing of the pattern; the values; the pattern)."""
        with self._memory.lent(cancel):
            parsed, has_queries = self._pattern(pattern)
            databases = {"$": snapshot}

            def pulled(options: Options) -> tuple[list[EdnMap | None], int]:
                if not has_queries:
                    return Puller(snapshot, cancel, strict=self._strict).pull_named(parsed, entities)
                queries = self._compiler.compile_queries(parsed, "$", databases, {}, options, cancel)
                values = Scratch(snapshot.codes, take=cancel.budget.take)
                call = _calling((databases, {}), QueryRun(values, cancel, self._strict))
                answers = PullQueries(by_pattern(queries), _no_argument, call).of("$")
                puller = Puller(snapshot, cancel, strict=self._strict, queries=answers)
                return puller.pull_named(parsed, entities)

            return *cautiously(Options(), pulled, cancel), parsed

    def written(
        self, pattern: str, entities: Sequence[Any], snapshot: Snapshot, texts: ValueTexts, cancel: Cancel
    ) -> list[bytes] | None:
        """The JSON of `maps` of a few entities, about which there is nothing suspicious. None where `maps` is to
        find them. `texts`: of the snapshot's codes."""
        if type(snapshot) is not Snapshot or not snapshot.is_plain:
            return None
        prepared = self._prepared.get(pattern)
        if prepared is None or prepared.schema is not snapshot.schema:
            parsed, _ = self._pattern(pattern)
            try:
                prepared = PreparedPattern.of(parsed, snapshot, texts, strict=self._strict)
            except AdalogError:
                # An entity that is none is refused before that.
                return None
            self._prepared.put(pattern, prepared, weight_of_text(pattern))
        if prepared.node is None:
            return None
        with self._memory.lent(cancel):
            return EntityWriter(snapshot, texts, cancel).write(prepared.node, entities)

    def is_prepared(self, pattern: str, snapshot: Snapshot) -> bool:
        """Whether `written` had this pattern before, on a snapshot of the same schema."""
        prepared = self._prepared.get(pattern)
        return prepared is not None and prepared.node is not None and prepared.schema is snapshot.schema

    def _pattern(self, text: str) -> tuple[PullPattern, bool]:
        """(the pattern of a text, whether there are queries in it)"""
        known = self._patterns.get(text)
        if known is None:
            parsed = read_pull(text)
            known = parsed, any(True for _ in parsed.all_queries())
            self._patterns.put(text, known, weight_of_text(text))
        return known


def _calling(sources: Sources, run: QueryRun) -> Callable[[Subquery, tuple[int, ...]], EntityQuery]:
    """What calls queries in pull patterns."""
    return lambda query, codes: nested_call(query, ("entity", *codes), sources, run, None, derived)


def _no_argument(binding: Binding) -> NoReturn:
    raise AssertionError(f"the parser refuses {binding} where no query is around a pattern")
