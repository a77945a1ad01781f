"""From a query's text to its plan, with the plans of recent queries kept.

A plan is right for any snapshot and any arguments; what it was made with only steers its order. So the key holds
the text and coarse sizes, and a plan is made anew when those change by a factor.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from datalog.ast import Query, SourceInput
from datalog.parser import parse_query
from executor.cancel import Cancel
from executor.inputs import matched, rules_text, source_kinds
from planner.passes import plan_query
from planner.plan import Options, Plan
from planner.statistics import Statistics
from store.snapshot import Snapshot

_KEPT = 2048
_DEFAULT = Options()


@dataclass
class Compiler:
    """Thread-safe; bounded."""

    kept: int = _KEPT
    _queries: OrderedDict[tuple[str, str | None], Query] = field(default_factory=OrderedDict)
    _plans: OrderedDict[Any, Plan] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def parsed(self, text: str, rules: str | None = None) -> Query:
        """The query of a text, with the rule set given for `%`; without one its rule calls are not checked yet."""
        key = (text, rules)
        with self._lock:
            query = self._queries.get(key)
            if query is not None:
                self._queries.move_to_end(key)
                return query
        query = parse_query(text, rules)
        with self._lock:
            self._queries[key] = query
            while len(self._queries) > self.kept:
                self._queries.popitem(last=False)
        return query

    def compile(
        self,
        text: str,
        args: Sequence[Any],
        snapshot: Snapshot,
        options: Options = _DEFAULT,
        *,
        share: bool = False,
        cancel: Cancel | None = None,
    ) -> Plan:
        """The plan for a text, with the arguments' kinds and sizes and the snapshot's statistics.

        `share`: a query with rules is planned for tasks that each have a share of one variable's values.
        """
        query = self.parsed(text)
        rules = rules_text(query, args)
        if rules is not None:
            query = self.parsed(text, rules)
        relations, sizes = source_kinds(query, args)
        key = (
            text,
            rules,
            share,
            options,
            relations,
            tuple((name, size.bit_length()) for name, size in sizes.items()),
            snapshot.statistics_epoch,
            snapshot.schema_key,
        )
        with self._lock:
            plan = self._plans.get(key)
            if plan is not None:
                self._plans.move_to_end(key)
                return plan
        databases = {
            each.name: value if isinstance(value, Snapshot) else snapshot
            for each, value in matched(query, args)
            if isinstance(each, SourceInput) and each.name not in relations
        }
        check = (cancel or Cancel()).check
        plan = plan_query(query, Statistics(databases, sizes, check=check), relations, options, share=share)
        with self._lock:
            self._plans[key] = plan
            while len(self._plans) > self.kept:
                self._plans.popitem(last=False)
        return plan
