"""Runs a program of rules: stratum after stratum, each to its fixpoint, by the same joins as any query.

In a round every rule reads what was known after the round before; what it derives is seen in the next. The
recursion ends when a round adds nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.terms import Const
from adalog.executor.answer.duplicates import dropped
from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Binding, RecentReader
from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.extenders.patterns import DEAD
from adalog.executor.extenders.relation import RelationExtender
from adalog.executor.extenders.visible_entities import VisibleEntities
from adalog.executor.facts.facts import (
    DerivedRelation,
    FactRows,
    Facts,
    RecursiveRule,
    Relations,
    RowFacts,
    check_size,
    rounds,
)
from adalog.executor.facts.grouped import GroupFacts, aggregated_head
from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.level import LevelCounts
from adalog.executor.kernels import row_kernels
from adalog.executor.question.inputs import Inputs
from adalog.planner.model.logical import DatomAtom, RelationAtom, everything, leaves, variables
from adalog.planner.model.multiplicity import DroppedRows
from adalog.planner.model.plan import Plan
from adalog.planner.model.program import Closure, RulePlan, RuleRelation, ShareVariable, Stratum
from adalog.planner.model.version import Version
from adalog.store.tries.trie import EMPTY, Csr, Trie, distinct

# From so many starts on, one pass over the graph for each beats remembering (start, node) pairs in a table.
_MANY_STARTS = 64
# Rows found, or steps taken, between two looks at the deadline while a closure is walked.
_WALKED_AT_ONCE = 1 << 19
_STEPS_AT_ONCE = 1 << 22
# Bytes for each pair of a closure: in a piece, and both columns.
_REACHED = 24


GrowingFacts = RowFacts | GroupFacts
"""The facts of a derived relation while its rules run."""


class RuleJoins(Protocol):
    """Keeps the joins of rules."""

    def join(self, plan: RulePlan, relations: Relations) -> GenericJoin | None:
        """The join of a rule over these; None where a part without variables already fails."""


@dataclass
class StratumCounts:
    """What a stratum's evaluation did: rows of each relation, rows added in each round (0: before the first)."""

    rows: dict[str, int] = field(default_factory=dict)
    rounds: list[int] = field(default_factory=list)
    how: str = ""
    seconds: float = 0.0


@dataclass
class Fixpoint:
    """One evaluation of a plan's program. `start`: the query's first batch, which its magic sets begin with.
    `numbered`: fills `round_of`. `joins`: where the joins of rules are kept, if they are."""

    plan: Plan
    inputs: Inputs
    start: Batch
    run: QueryRun
    numbered: bool = False
    joins: RuleJoins | None = None
    relations: dict[str, Sequence[Column] | DerivedRelation] = field(init=False)
    counts: list[StratumCounts] = field(default_factory=list)
    dropped: dict[str, DroppedRows] = field(default_factory=dict)
    """By rules with aggregates, how many equal values fell together."""
    round_of: dict[str, Column] = field(default_factory=dict)
    """For each row of a relation without aggregates the round in which it came; each row that a closure walks to is
    a round of its own. Rounds are numbered through all strata, so a fact follows from facts of earlier rounds."""
    _ends: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _round: int = 0

    def __post_init__(self) -> None:
        self.relations = dict(self.inputs.relations)

    def relations_read(self) -> Relations:
        """The relations that the query's join reads: its inputs and what the rules derive."""
        for stratum in self.plan.program.strata:
            began = time.perf_counter()
            self.counts.append(StratumCounts())
            facts = {each.name: self._facts(each, stratum) for each in stratum.relations}
            once = [_Rule(self, stratum, rule, facts[rule.target].add) for rule in stratum.once]
            for each in once:
                each.run()
            if stratum.closure is None or not stratum.recursive:
                self._rounds(stratum.rounds, stratum, facts)
                facts |= self._settled(stratum, facts)
            else:
                self._close(stratum.closure, facts)
            for relation in stratum.relations:
                held = facts[relation.name].whole()
                if relation.aggregates and not stratum.recursive:
                    rules = [rule for rule in once if rule.plan.target == relation.name]
                    self._count_dropped(relation, held, rules)
                    values, cancel = self.run.values, self.run.cancel
                    held = FactRows(aggregated_head(relation.aggregates, held.columns, values, cancel))
                elif self.numbered and not relation.aggregates:
                    self.round_of[relation.name] = _numbers(self._ends.pop(relation.name), len(held))
                self.relations[relation.name] = DerivedRelation.of([held] if len(held) else [])
                self.counts[-1].rows[relation.name] = len(held)
            self.counts[-1].seconds = time.perf_counter() - began
        return self.relations

    def _number(self, sizes: Mapping[str, int]) -> None:
        """Ends a round, after which relations have so many rows."""
        if self.numbered:
            for name, size in sizes.items():
                self._ends.setdefault(name, []).append((self._round, size))
            self._round += 1

    def binding(self, rank: dict[str, int]) -> Binding:
        return Binding(self.plan, self.inputs.databases, self.relations, self.run, rank=rank, derive=derived)

    def domain(self, sharing: ShareVariable) -> Column:
        """Every value that the shared variable can have, ascending."""
        found = RowFacts(1, self.run.cancel)
        for plan in sharing.domain:
            _Rule(self, None, plan, found.add).run()
        return np.sort(found.whole().columns[0])

    def work(self, sharing: ShareVariable, values: Column) -> NDArray[np.float64]:
        """What each value of the shared variable is estimated to take, in no unit: one, and the pairs that it
        begins in the patterns that bind it and in the steps of closures."""
        begins = [(leaf, plan.head[0]) for plan in sharing.domain for leaf in leaves(plan.body)]
        closures = [each.closure for each in self.plan.program.strata if each.closure is not None]
        begins += [(each.step, each.start) for each in closures]
        work = np.ones(len(values))
        for leaf, variable in begins:
            if isinstance(leaf, DatomAtom) and isinstance(leaf.attribute, Const) and variable in variables(leaf):
                work += self._begun(leaf, variable, values)
        return work

    def _begun(self, leaf: DatomAtom, variable: str, values: Column) -> NDArray[np.int64] | int:
        rank = {name: place for place, name in enumerate((variable, *sorted(variables(leaf) - {variable})))}
        bound = self.binding(rank).extender(leaf)
        if not isinstance(bound, PairExtender):
            return 0
        return (bound.forward() if bound.first == variable else bound.backward()).counts(values)

    def _facts(self, relation: RuleRelation, stratum: Stratum) -> GrowingFacts:
        if relation.aggregates and stratum.recursive:
            return GroupFacts(relation.aggregates, self.run.values, self.run.cancel)
        return RowFacts(relation.arity, self.run.cancel)

    def _rounds(
        self, plans: Sequence[RulePlan], stratum: Stratum, facts: Mapping[str, Facts], *, counts_first: bool = True
    ) -> None:
        """Runs the rules of a recursion round by round. `counts_first`: what was pending counts as a round, too."""
        rules = [_Rule(self, stratum, plan, facts[plan.target].add) for plan in plans]
        read: dict[str, set[Version]] = {name: {Version.RECENT} for name in facts}
        for leaf in (leaf for plan in plans for leaf in everything(plan.body)):
            if isinstance(leaf, RelationAtom) and leaf.relation in read:
                read[leaf.relation].add(leaf.version)
        recursive = [RecursiveRule(each.plan.delta, each.run) for each in rules]
        for added in rounds(facts, recursive, self.run.cancel.check):
            self._number({name: len(each) for name, each in facts.items()})
            if counts_first:
                self.counts[-1].rounds.append(added)
            counts_first = True
            if added and plans:
                # A round reads the versions at its beginning.
                for name, versions in read.items():
                    self.relations[name] = DerivedRelation({each: facts[name].parts(each) for each in versions})

    def _settled(self, stratum: Stratum, facts: Mapping[str, GrowingFacts]) -> Mapping[str, GrowingFacts]:
        """The plain relations of a stratum with aggregates, derived again from the values that these came to. On
        the way there they were also derived from values that better ones have displaced since."""
        plain = {each.name for each in stratum.relations if not each.aggregates and not each.magic}
        if not stratum.recursive or not plain or not any(each.aggregates for each in stratum.relations):
            return {}
        fresh = {name: RowFacts(facts[name].arity, self.run.cancel) for name in plain}
        for name in plain:
            self._ends.pop(name, None)
        for name, each in facts.items():
            self.relations[name] = DerivedRelation.of(
                fresh[name].parts(Version.RECENT) if name in plain else each.parts(Version.ALL),
                *(Version.ALL, Version.OLDER, Version.RECENT),
            )
        for rule in (*stratum.once, *stratum.rounds):
            if rule.target in plain:
                _Rule(self, stratum, rule, fresh[rule.target].add).run()
        again = [rule for rule in stratum.rounds if rule.target in plain and rule.delta in (None, *plain)]
        self._rounds(again, stratum, fresh, counts_first=False)
        return fresh

    def _count_dropped(self, relation: RuleRelation, rows: FactRows, rules: Sequence[_Rule]) -> None:
        """Notes how many values fell together into the rows of a relation that one rule derives."""
        if len(rules) != 1 or rules[0].plan.multiplicity is None:
            return
        plan = rules[0].plan
        batch = Batch(len(rows), dict(zip(plan.head, rows.columns, strict=True)))
        found = dropped(plan.multiplicity, rules[0].counts, batch, self.inputs.databases)
        known = self.dropped.get(relation.rule)
        if found is not None and known is not None:
            # Asked for with different places bound, the same rows may be in both.
            found = DroppedRows(max(found.number, known.number), exact=False)
        if found is not None:
            self.dropped[relation.rule] = found

    # Closures

    def _close(self, closure: Closure, facts: dict[str, GrowingFacts]) -> None:
        self.counts[-1].rounds.append(sum(each.turn() for each in facts.values()))
        self._number({name: len(each) for name, each in facts.items()})
        known = facts[closure.relation]
        assert isinstance(known, RowFacts)
        if not len(known):
            return
        if self.numbered:
            # The numbers depend on the facts alone, and not on the plan that derived the first of them.
            facts[closure.relation] = known = self._in_order(known)
        rows = known.whole().columns
        trie = self._step(closure)
        starts = distinct(rows[closure.fixed])
        before = len(known)
        if self.numbered or len(starts) < _MANY_STARTS:
            self.counts[-1].how = f"walked from {len(starts)} starting points"
            known.follow(trie, 1 - closure.fixed, _WALKED_AT_ONCE)
            # A row follows from one before it.
            self._round += len(known) - before
        else:
            self.counts[-1].how = f"graph search from {len(starts):,} starting points"
            known.replace(_reached(rows, closure.fixed, starts, trie.merged, self.run.cancel))
        self.counts[-1].rounds.append(len(known) - before)

    def _in_order(self, known: RowFacts) -> RowFacts:
        columns = known.whole().columns
        order = np.lexsort(columns[::-1])
        ordered = RowFacts(known.arity, self.run.cancel)
        ordered.add([column[order] for column in columns])
        ordered.turn()
        return ordered

    def _step(self, closure: Closure) -> Trie:
        """The step as a trie from where it starts to where it ends."""
        bound = self.binding({closure.start: 0, closure.end: 1}).extender(closure.step)
        match bound:
            case PairExtender():
                return bound.forward() if bound.first == closure.start else bound.backward()
            case RelationExtender():
                return Trie(bound.levels.csr())
            case Conjunction(parts=[PairExtender() as pair, VisibleEntities() as guard]):
                return guard.snapshot.trie(guard.attribute, inverse=pair.first != closure.start)
            case _:
                assert bound is DEAD, "two variables, one relation"
                return Trie(EMPTY)


def derived(plan: Plan, inputs: Inputs, start: Batch, run: QueryRun) -> Relations:
    """The relations that a plan's join reads, its rules evaluated for a first batch."""
    return Fixpoint(plan, inputs, start, run.on_one_thread).relations_read()


def _reached(rows: Sequence[Column], fixed: int, starts: Column, step: Csr, cancel: Cancel) -> list[Column]:
    """The closure of (start, node) rows along a step: a graph search for each start, over numbered nodes."""
    moving = rows[1 - fixed]
    nodes = distinct(np.concatenate((step.keys, step.values, moving)))
    offsets = np.zeros(len(nodes) + 1, np.int64)
    offsets[np.searchsorted(nodes, step.keys) + 1] = np.diff(step.offsets)
    offsets = np.cumsum(offsets)
    targets = np.searchsorted(nodes, step.values)
    order = np.lexsort((moving, rows[fixed]))
    seeds = np.searchsorted(nodes, moving[order])
    seed_offsets = np.append(np.searchsorted(rows[fixed][order], starts), len(order))
    counts = np.zeros(len(starts), np.int64)
    found: list[Column] = []
    at = total = 0
    graph = Held(cancel.budget, 24 * (len(nodes) + len(targets)))
    while at < len(starts):
        cancel.check()
        out = np.empty(max(len(nodes), min(_WALKED_AT_ONCE, (len(starts) - at) * len(nodes))), np.int64)
        stop = row_kernels.reach(
            offsets, targets, seeds, seed_offsets, at, len(starts), out, counts, _STEPS_AT_ONCE
        )
        found.append(nodes[out[: int(counts[at:stop].sum())]])
        total += len(found[-1])
        cancel.budget.take(_REACHED * len(found[-1]))
        check_size(total)
        at = stop
    ends = np.concatenate(found)
    begins = np.repeat(starts, counts)
    graph.become(0)
    return [begins, ends] if fixed == 0 else [ends, begins]


def _numbers(ends: Sequence[tuple[int, int]], rows: int) -> Column:
    """The number of each row's round. `ends`: rounds, each with the number of rows after it; of the rows after the
    last one each is a round of its own."""
    numbers, sizes = np.array(ends, np.int64).T
    walked = np.arange(rows - sizes[-1]) + numbers[-1] + 1
    return np.concatenate((np.repeat(numbers, np.diff(sizes, prepend=0)), walked))


class _Rule:
    """A rule of a stratum, bound once if it reads only one relation's recent rows: these alone are exchanged."""

    def __init__(
        self, fixpoint: Fixpoint, stratum: Stratum | None, plan: RulePlan, add: Callable[[Sequence[Column]], None]
    ) -> None:
        self.fixpoint = fixpoint
        self.plan = plan
        self.add = add
        self._lasting = stratum is not None and _reads_only_recent(stratum, plan)
        self._bound: tuple[GenericJoin | None, list[RecentReader]] | None = None
        self.counts: Sequence[LevelCounts] = ()

    def run(self) -> None:
        """Adds what the rule derives from what is known now."""
        own = self.fixpoint
        join = self._join()
        if join is None:
            return
        self.counts = join.counts

        def sink(batch: Batch) -> bool:
            self.add([batch.columns[name] for name in self.plan.head])
            return True

        start = own.start.only(frozenset(self.plan.given)) if self.plan.given else Batch(1, {})
        Driver(join, sink, own.run.cancel, own.run.threads).run(start)

    def _join(self) -> GenericJoin | None:
        if self.fixpoint.joins is not None:
            return self.fixpoint.joins.join(self.plan, self.fixpoint.relations)
        if self._bound is not None:
            join, readers = self._bound
            for reader in readers:
                held = self.fixpoint.relations[reader.relation]
                assert isinstance(held, DerivedRelation)
                reader.extender.levels = held.versions[reader.version][0].levels(reader.places)
            return join
        binding = self.fixpoint.binding({})
        join = binding.join_of(self.plan.body.items, self.plan.given, self.plan.levels, False)
        if self._lasting and self.plan.delta is not None:
            readers = [reader for reader in binding.readers if reader.version is Version.RECENT]
            if join is None or readers:
                self._bound = join, readers
        return join


def _reads_only_recent(stratum: Stratum, plan: RulePlan) -> bool:
    """Whether the recent rows of one relation are all that changes for the rule from round to round."""
    names = {each.name for each in stratum.relations}
    atoms = (leaf for leaf in everything(plan.body) if isinstance(leaf, RelationAtom))
    reads = [(atom.relation, atom.version) for atom in atoms if atom.relation in names]
    return plan.delta is not None and reads == [(plan.delta, Version.RECENT)]
