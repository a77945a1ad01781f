"""The bound joins of recent plans: a light query is bound once, and run again with other arguments.

A join is lent to one run at a time; a run beside it binds its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.evaluation.lasting_binding import JOIN_BYTES, PART_BYTES, PLAN_BYTES, LastingBinding, PlanJoins
from adalog.executor.join.generic_join import GenericJoin
from adalog.planner.model.plan import Plan
from adalog.store.snapshot.snapshot import Snapshot, ViewKey
from adalog.store.values.codes import Codes

# Runs of one plan at once whose joins are kept.
_IDLE: Final = 4


@dataclass(frozen=True, slots=True)
class _View:
    """What the binding of patterns over a snapshot depends on. `moment`: for names of entities alone."""

    schema: int
    codes: Codes
    moment: ViewKey


@dataclass(eq=False, slots=True)
class BoundJoin:
    """A bound join with its binding. `join`: None where a part without variables already fails, or where there are
    rules: then `joins` has it, and theirs."""

    binding: LastingBinding
    join: GenericJoin | None
    views: Mapping[str, _View]
    joins: PlanJoins

    def suits(self, databases: Mapping[str, Snapshot]) -> bool:
        """Whether what was bound is right for these."""
        if self.views.keys() != databases.keys():
            return False
        names = self.binding.names
        for name, view in self.views.items():
            snapshot = databases[name]
            if snapshot.schema.key != view.schema or snapshot.codes is not view.codes:
                return False
            if names.get(name) and snapshot.key != view.moment:
                return False
        return True


@dataclass(eq=False, slots=True)
class _Entry:
    """`plan` is held, so that its body's identity is its own. `idle`: joins that no run has."""

    plan: Plan
    lasting: bool = True
    idle: list[BoundJoin] = field(default_factory=list)


class KeptJoins:
    """Thread-safe. Bounded by bytes."""

    def __init__(self, nbytes: int) -> None:
        self._entries: LruCache[int, _Entry] = LruCache(nbytes)

    def __len__(self) -> int:
        return len(self._entries)

    def lend(self, plan: Plan, databases: Mapping[str, Snapshot], run: QueryRun) -> BoundJoin | None:
        """The plan's join over databases, to be given back; None where none is kept of such a plan."""
        entry = self._entry(plan)
        if not entry.lasting or any(type(each) is not Snapshot for each in databases.values()):
            return None
        while entry.idle:
            try:
                bound = entry.idle.pop()
            except IndexError:
                # Another thread was first.
                break
            if bound.suits(databases):
                bound.binding.databases, bound.binding.run = databases, run
                if bound.join is not None:
                    bound.join.count_anew()
                return bound
        binding = LastingBinding(plan, databases, {}, run, derive=derived, moves=True)
        join = None if plan.program.strata else binding.join()
        views = {name: _View(each.schema.key, each.codes, each.key) for name, each in databases.items()}
        return BoundJoin(binding, join, views, PlanJoins(binding))

    def give_back(self, bound: BoundJoin) -> None:
        """Ends a run. What was decided by the rows of its databases is not kept."""
        binding = bound.binding
        entry = self._entry(binding.plan)
        lasting = len(bound.joins) > 0 if binding.plan.program.strata else binding.lasting
        bound.joins.rest()
        binding.rest()
        if not lasting:
            entry.lasting = False
            entry.idle.clear()
        elif entry.lasting and len(entry.idle) < _IDLE:
            entry.idle.append(bound)

    def _entry(self, plan: Plan) -> _Entry:
        key = id(plan.body)
        entry = self._entries.get(key)
        if entry is None or entry.plan.body is not plan.body:
            entry = _Entry(plan)
            rules = [rule for stratum in plan.program.strata for rule in (*stratum.once, *stratum.rounds)]
            parts = PART_BYTES * (len(plan.body.items) + sum(len(each.body.items) for each in rules))
            self._entries.put(key, entry, PLAN_BYTES + _IDLE * (JOIN_BYTES * (1 + len(rules)) + parts))
        return entry
