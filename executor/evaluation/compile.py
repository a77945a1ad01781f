"""From a question to its plan, with the plans of recent questions kept.

A plan is right for any arguments and for any snapshot with the same schema, if both are histories or neither is:
which values determine others follows from these. Sizes only steer its order. So the key holds the text, the schemas
and coarse sizes, and a plan is made anew when those change by a factor.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adalog.datalog import ast, tracing
from adalog.datalog.pull import PullPattern
from adalog.datalog.watched import watching
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.lru_cache import LruCache, weight_of_text
from adalog.executor.question.inputs import sizes_of
from adalog.executor.question.question import Question
from adalog.planner.feeds import FeedsPlan, plan_together
from adalog.planner.group_lookups import GroupLookups, group_lookups, may_group_first
from adalog.planner.model.logical import PulledQuery
from adalog.planner.model.nested import queries_of
from adalog.planner.model.plan import Options, Plan
from adalog.planner.order.caution import tree_may_refuse
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import context_of, plan_query
from adalog.store.snapshot.snapshot import Snapshot

# About what is kept of a query in a pattern.
_PATTERN_BYTES = 16 << 10


@dataclass(frozen=True, slots=True)
class _Lookups:
    """How a question is answered by groups; None: not at all."""

    made: GroupLookups | None


_Kept = Plan | FeedsPlan | tuple[PulledQuery, ...] | _Lookups


@dataclass
class Compiler:
    """Thread-safe; bounded: by default its plans come to 16 MiB at most."""

    plans: LruCache[Any, _Kept] = field(default_factory=lambda: LruCache(16 << 20))

    def compile(self, question: Question, *, share: bool = False, cancel: Cancel | None = None) -> Plan:
        """The plan for a question, with its arguments' kinds and sizes and its snapshots' statistics. `share`: a
        query with rules is planned for tasks that each have a share of one variable's values."""
        sizes = sizes_of(question.query, question.args)
        options = question.request.options
        if question.sees_part and tree_may_refuse(question.outline.tree):
            # Which of several rows, or calls, a refusal names follows from the plan, and must not tell of sizes.
            question = question.unmeasured()
        key = (share, *_key(question, sizes))
        known = self.plans.get(key)
        if isinstance(known, Plan):
            return known
        check = (cancel or Cancel()).check
        statistics = Statistics(question.databases, sizes, check=check)
        with tracing.span("adalog.plan"), watching(check):
            plan = plan_query(question.query, statistics, question.relations, options, share=share)
        self.plans.put(key, plan, _weight(question))
        return plan

    def compile_lookups(self, question: Question, plan: Plan, cancel: Cancel) -> GroupLookups | None:
        """How to answer a question by groups, given its plan; None where that is no gain."""
        if question.sees_part or not may_group_first(plan):
            return None
        sizes = sizes_of(question.query, question.args)
        key = ("lookups", *_key(question, sizes))
        known = self.plans.get(key)
        if isinstance(known, _Lookups):
            return known.made
        statistics = Statistics(question.databases, sizes, check=cancel.check)
        with tracing.span("adalog.plan"), watching(cancel.check):
            made = group_lookups(plan, statistics, question.relations, question.request.options)
        self.plans.put(key, _Lookups(made), _weight(question))
        return made

    def compile_part(
        self, question: Question, part: ast.Query, relations: Mapping[str, int], options: Options, *, cancel: Cancel
    ) -> Plan:
        """The plan of a query that is made of clauses of a question's text. `relations`: the lists that it reads,
        with their sizes."""
        sized, states = _sized(relations), _states(question.databases)
        key = ("part", question.text, question.rules, part, options, sized, states)
        known = self.plans.get(key)
        if isinstance(known, Plan):
            return known
        statistics = Statistics(question.databases, relations, check=cancel.check)
        with watching(cancel.check):
            plan = plan_query(part, statistics, frozenset(relations), options)
        self.plans.put(key, plan, _weight(question))
        return plan

    def compile_queries(
        self,
        pattern: PullPattern,
        source: str,
        databases: Mapping[str, Snapshot],
        sizes: Mapping[str, int],
        options: Options,
        cancel: Cancel,
    ) -> tuple[PulledQuery, ...]:
        """The queries in a pattern that no query writes out, with their plans. `sizes`: of the sources that are
        lists of tuples."""
        key = ("pulled", pattern, source, options, _sized(sizes), _states(databases))
        known = self.plans.get(key)
        if isinstance(known, tuple):
            return known
        statistics = Statistics(databases, sizes, check=cancel.check)
        with watching(cancel.check):
            plan = context_of(statistics, frozenset(sizes), options).plan_inner
            planned = tuple(queries_of(pattern, source, plan))
        self.plans.put(key, planned, _PATTERN_BYTES * len(planned))
        return planned

    def compile_together(self, question: Question, sizes: Mapping[str, int], cancel: Cancel) -> FeedsPlan:
        """The plan for many questions that differ only in arguments. `sizes`: of the relations of arguments."""
        key = ("together", *_key(question, sizes))
        known = self.plans.get(key)
        if isinstance(known, FeedsPlan):
            return known
        statistics = Statistics(question.databases, sizes, check=cancel.check)
        with watching(cancel.check):
            planned = plan_together(question.query, statistics, question.relations, question.request.options)
        self.plans.put(key, planned, _weight(question))
        return planned


def _key(question: Question, sizes: Mapping[str, int]) -> tuple[Hashable, ...]:
    """What a plan depends on: text, schemas, and sizes by their order of magnitude."""
    states = _states(question.databases)
    return question.text, question.rules, question.request.options, question.relations, _sized(sizes), states


def _sized(sizes: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple([(name, size.bit_length()) for name, size in sizes.items()]) if sizes else ()


def _states(databases: Mapping[str, Snapshot]) -> tuple[Hashable, ...]:
    return tuple(
        [(name, each.statistics_epoch, each.schema.key, each.is_history) for name, each in databases.items()]
    )


def _weight(question: Question) -> int:
    return weight_of_text(question.text) + weight_of_text(question.rules or "")
