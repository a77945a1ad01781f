"""The bound joins of recent plans: a light query is bound once, and run again with other arguments.

A join is lent to one run at a time; a run beside it binds its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from weakref import ref

from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.evaluation.lasting_binding import JOIN_BYTES, PART_BYTES, PLAN_BYTES, LastingBinding, PlanJoins
from adalog.executor.evaluation.small_rules import SettledRules, SmallRules
from adalog.executor.join.batch import Batch
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.small.settled import SettledJoin
from adalog.planner.model.plan import Plan
from adalog.store.snapshot.snapshot import Snapshot, ViewKey
from adalog.store.values.codes import Codes

# Runs of one plan at once whose joins are kept.
_IDLE: Final = 4


@dataclass(frozen=True, slots=True)
class _View:
    """What the binding of patterns over a snapshot depends on. `codes`: not held, as those of before an excision
    have what it took. `moment`: for names of entities alone."""

    schema: int
    codes: ref[Codes]
    moment: ViewKey


@dataclass(eq=False, slots=True)
class BoundJoin:
    """A bound join with its binding. `join`: None where a part without variables already fails, or where there are
    rules: then `joins` has it, and theirs. `rules`: the programs of these with the join, for one prefix of these
    variables; None where the kernel does not know them. `is_new`: no run had it before, so that `begun` may have no
    program yet."""

    binding: LastingBinding
    join: GenericJoin | None
    views: Mapping[str, _View]
    joins: PlanJoins
    rules: dict[tuple[str, ...], SmallRules | None] = field(default_factory=dict)
    is_new: bool = True

    def begun(self, batch: Batch) -> tuple[Batch, int] | None:
        """(extensions of one prefix, how many levels bind them), with what rules derive; None where nothing was
        done. Nothing is counted."""
        if self.join is not None:
            return self.join.begun(batch, counted=False)
        rules = self._small_rules(tuple(batch.columns))
        rows = None if rules is None else rules.derived(batch)
        return None if rows is None else (rows, len(self.binding.plan.levels))

    def settled(self, names: Sequence[str]) -> SettledJoin | SettledRules | None:
        """The whole of what `begun` did, over what its parts read now; None where it did not make all rows."""
        if self.join is not None:
            return self.join.settled(names)
        rules = self._small_rules(tuple(names))
        return None if rules is None else rules.settled()

    def _small_rules(self, names: tuple[str, ...]) -> SmallRules | None:
        plan = self.binding.plan
        if not plan.program.strata:
            return None
        if names not in self.rules:
            self.rules[names] = SmallRules.of(plan, self.binding, names)
        return self.rules[names]

    @property
    def is_lasting(self) -> bool:
        """Whether it may have another run."""
        if not self.binding.plan.program.strata:
            return self.binding.lasting
        return len(self.joins) > 0 or any(self.rules.values())

    @property
    def is_untried(self) -> bool:
        """Whether nothing yet says that its joins do not last: rules ran as a program, which was none."""
        return bool(self.rules) and not self.joins.are_tried

    def suits(self, databases: Mapping[str, Snapshot]) -> bool:
        """Whether what was bound is right for these."""
        if self.views.keys() != databases.keys():
            return False
        names = self.binding.names
        for name, view in self.views.items():
            snapshot = databases[name]
            if snapshot.schema.key != view.schema or view.codes() is not snapshot.codes:
                return False
            if not _named_as_then(names.get(name, ()), view.moment, snapshot):
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
        bound = _idle(entry, databases, run)
        if bound is not None:
            return bound
        binding = LastingBinding(plan, databases, {}, run, derive=derived, moves=True)
        join = None if plan.program.strata else binding.join()
        views = {name: _View(each.schema.key, ref(each.codes), each.key) for name, each in databases.items()}
        return BoundJoin(binding, join, views, PlanJoins(binding))

    def settled(
        self, plan: Plan, databases: Mapping[str, Snapshot], names: Sequence[str], run: QueryRun
    ) -> SettledJoin | SettledRules | None:
        """What a join of the plan that no run has settles over databases, for a prefix of these variables; None
        where none is kept, or of such a plan."""
        entry = self._entry(plan)
        bound = _idle(entry, databases, run) if entry.lasting else None
        if bound is None:
            return None
        try:
            return bound.settled(names)
        finally:
            self.give_back(bound)

    def give_back(self, bound: BoundJoin) -> None:
        """Ends a run. What was decided by the rows of its databases is not kept."""
        binding = bound.binding
        bound.is_new = False
        entry = self._entry(binding.plan)
        lasting, untried = bound.is_lasting, bound.is_untried
        bound.joins.rest()
        binding.rest()
        if not lasting:
            if untried:
                return
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


def _named_as_then(attributes: Collection[int], then: ViewKey, now: Snapshot) -> bool:
    """Whether the attributes by which constants name entities say the same as at an earlier moment."""
    key = now.key
    if not attributes or key == then:
        return True
    if key[0] < then[0] or key[1:] != then[1:]:
        return False
    return all(now.data_of(each).last_touched(now.t) <= then[0] for each in attributes)


def _idle(entry: _Entry, databases: Mapping[str, Snapshot], run: QueryRun) -> BoundJoin | None:
    """A join that no run has, for a run over databases. Joins for other ones are dropped."""
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
    return None
