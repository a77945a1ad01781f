"""From a query's text to its plan, with the plans of recent queries kept.

A plan is right for any snapshot and any arguments; what it was made with only steers its order. So the key holds
the text and coarse sizes, and a plan is made anew when those change by a factor.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from datalog.ast import Const, Query, SourceInput
from datalog.parser import parse_query
from executor.inputs import matched, source_kinds
from planner.logical import AndNode, DatomAtom, NotNode, leaves
from planner.passes import plan_query
from planner.plan import Options, Plan
from planner.statistics import Statistics
from store.snapshot import Snapshot

_KEPT = 2048
_DEFAULT = Options()


@dataclass(frozen=True, slots=True)
class Compiled:
    """A plan and the variables that stand in entity places, where arguments may be idents or lookup refs."""

    plan: Plan
    entities: frozenset[str]


@dataclass
class Compiler:
    """Thread-safe; bounded."""

    kept: int = _KEPT
    _queries: OrderedDict[str, Query] = field(default_factory=OrderedDict)
    _plans: OrderedDict[Any, Compiled] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def parsed(self, text: str) -> Query:
        """The query of a text."""
        with self._lock:
            query = self._queries.get(text)
            if query is not None:
                self._queries.move_to_end(text)
                return query
        query = parse_query(text)
        with self._lock:
            self._queries[text] = query
            while len(self._queries) > self.kept:
                self._queries.popitem(last=False)
        return query

    def compile(self, text: str, args: Sequence[Any], snapshot: Snapshot, options: Options = _DEFAULT) -> Compiled:
        """The plan for a text, with the arguments' kinds and sizes and the snapshot's statistics."""
        query = self.parsed(text)
        relations, sizes = source_kinds(query, args)
        key = (
            text,
            options,
            relations,
            tuple((name, size.bit_length()) for name, size in sizes.items()),
            snapshot.statistics_epoch,
            snapshot.schema_key,
        )
        with self._lock:
            compiled = self._plans.get(key)
            if compiled is not None:
                self._plans.move_to_end(key)
                return compiled
        databases = {
            each.name: value if isinstance(value, Snapshot) else snapshot
            for each, value in matched(query, args)
            if isinstance(each, SourceInput) and each.name not in relations
        }
        plan = plan_query(query, Statistics(databases, sizes), relations, options)
        compiled = Compiled(plan, _entity_variables(plan.body, databases))
        with self._lock:
            self._plans[key] = compiled
            while len(self._plans) > self.kept:
                self._plans.popitem(last=False)
        return compiled


def _entity_variables(body: AndNode, databases: Mapping[str, Snapshot]) -> frozenset[str]:
    found: set[str] = set()
    waiting: list[AndNode] = [body]
    while waiting:
        for leaf in leaves(waiting.pop()):
            if isinstance(leaf, NotNode):
                waiting.append(AndNode(leaf.items))
            elif isinstance(leaf, DatomAtom):
                if isinstance(leaf.entity, str):
                    found.add(leaf.entity)
                if isinstance(leaf.value, str) and isinstance(leaf.attribute, Const):
                    attribute = databases[leaf.source].attribute(leaf.attribute.value)
                    if attribute is not None and attribute.value_type == "ref":
                        found.add(leaf.value)
    return frozenset(found)
