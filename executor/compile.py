"""From a question to its plan, with the plans of recent questions kept.

A plan is right for any snapshot and any arguments; what it was made with only steers its order. So the key holds
the text and coarse sizes, and a plan is made anew when those change by a factor.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from executor.cancel import Cancel
from executor.inputs import sizes_of
from executor.question import Question
from planner.passes import plan_query
from planner.plan import Plan
from planner.statistics import Statistics

_KEPT = 2048


@dataclass
class Compiler:
    """Thread-safe; bounded."""

    kept: int = _KEPT
    _plans: OrderedDict[Any, Plan] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def compile(self, question: Question, *, share: bool = False, cancel: Cancel | None = None) -> Plan:
        """The plan for a question, with its arguments' kinds and sizes and its snapshots' statistics.

        `share`: a query with rules is planned for tasks that each have a share of one variable's values.
        """
        sizes = sizes_of(question.query, question.args)
        options = question.request.options
        key = (
            question.text,
            question.rules,
            share,
            options,
            question.relations,
            tuple((name, size.bit_length()) for name, size in sizes.items()),
            tuple((name, each.statistics_epoch, each.schema_key) for name, each in question.databases.items()),
        )
        with self._lock:
            plan = self._plans.get(key)
            if plan is not None:
                self._plans.move_to_end(key)
                return plan
        check = (cancel or Cancel()).check
        statistics = Statistics(question.databases, sizes, check=check)
        plan = plan_query(question.query, statistics, question.relations, options, share=share)
        with self._lock:
            self._plans[key] = plan
            while len(self._plans) > self.kept:
                self._plans.popitem(last=False)
        return plan
