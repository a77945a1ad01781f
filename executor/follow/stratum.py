"""The relations of one stratum, maintained from moment to moment: delete what may be lost, derive again, add.

Sources: Gupta, Mumick and Subrahmanian, "Maintaining views incrementally", 1993 (delete, then rederive); the times
at which facts were derived are differential dataflow's, reduced to the first (McSherry et al., CIDR 2013).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from adalog.datalog.aggregates import AGGREGATES
from adalog.executor.facts.facts import RecursiveRule, rounds
from adalog.executor.facts.grouped import value_ranks
from adalog.executor.facts.maintained import BestMaintained, DerivationClock, MaintainedFacts
from adalog.executor.follow.rule_groups import RuleGroups
from adalog.executor.follow.rule_joins import ChangedAtoms, RuleJoins, Step, of_atom, with_constants
from adalog.executor.join.batch import Batch, Column, Mask
from adalog.planner.delta.rules import BodyJoin, DeltaJoin, Moving, RuleBodies, bodies_of
from adalog.planner.model.logical import RelationAtom
from adalog.planner.model.program import RuleRelation, Stratum
from adalog.store.tries.trie import distinct

# The share of a stratum's facts that may be taken away before all is derived afresh, at most and at least.
_MOST, _LEAST = 1 / 2, 1 / 16
# So many facts are taken away in any case.
_FEW: Final = 1000


class RowsByRelation:
    """Rows by number, of several relations of one stratum."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Column]] = {}

    def __bool__(self) -> bool:
        return bool(self._rows)

    def add(self, name: str, rows: Column) -> None:
        if len(rows):
            self._rows.setdefault(name, []).append(rows)

    def items(self) -> Iterable[tuple[str, Column]]:
        for name, parts in self._rows.items():
            yield name, parts[0] if len(parts) == 1 else distinct(np.concatenate(parts))


class TooManyError(Exception):
    """A step would delete so much that deriving everything afresh is cheaper."""


class MaintainedStratum:
    """The relations of one stratum, and what its rules derive when something below it changed."""

    def __init__(self, stratum: Stratum, below: Moving, kept: dict[str, MaintainedFacts], joins: RuleJoins) -> None:
        self.stratum = stratum
        self.joins = joins
        self.rules = bodies_of(stratum, below)
        self.rules_of = {
            each.name: [rule for rule in self.rules if rule.target == each.name] for each in stratum.relations
        }
        self.below = [start.atom for rule in self.rules for start in rule.entering]
        self.onward: dict[str, list[tuple[RuleBodies, DeltaJoin]]] = {each.name: [] for each in stratum.relations}
        for rule in self.rules:
            for start in rule.onward:
                assert isinstance(start.atom, RelationAtom)
                self.onward[start.atom.relation].append((rule, start))
        self._kept = kept
        self._facts: dict[str, MaintainedFacts] = {}
        self._groups: dict[str, RuleGroups] = {}
        self._clock = DerivationClock()
        self._share = _MOST
        self._left: float | None = None

    def renew(self) -> None:
        self._clock = DerivationClock()
        for each in self.stratum.relations:
            self._kept[each.name] = self._facts[each.name] = self._new(each)
            if each.aggregates and not self.stratum.recursive:
                groups = self._groups[each.name] = RuleGroups(each, self._kept[each.name], self.joins)
                self._kept[groups.name] = self._facts[each.name] = groups.rows

    def nbytes(self) -> int:
        return 0

    def _new(self, relation: RuleRelation) -> MaintainedFacts:
        if not relation.aggregates or not self.stratum.recursive:
            return MaintainedFacts(relation.arity, self._clock, self.joins.take)
        place = next(i for i, name in enumerate(relation.aggregates) if name is not None)
        sign = -AGGREGATES[str(relation.aggregates[place])].better

        def ranks(codes: Column) -> Column:
            return sign * value_ranks(codes, self.joins.values)

        return BestMaintained(relation.arity, place, ranks, self._clock, self.joins.take)

    # Everything

    def afresh(self, step: Step) -> None:
        """Derives all that holds, in the place of what did."""
        for facts in self._facts.values():
            facts.clear()
        self._left = None
        for rule in self.rules:
            if rule.once is not None:
                self._facts[rule.target].add(self.joins.once(rule.once, step))
        self._complete(step)

    # What changed

    def step(self, step: Step, changed: ChangedAtoms) -> None:
        """Removes what no longer holds, and adds what holds now."""
        if not any(batch.size for atom in self.below for batch in changed.of(atom)):
            return
        self._left = max(_FEW, self._share * sum(facts.size for facts in self._facts.values()))
        try:
            self._step(step, changed)
            self._share = min(_MOST, 1.25 * self._share)
        except TooManyError:
            self._share = max(_LEAST, self._share / 2)
            self.afresh(step)

    def _step(self, step: Step, changed: ChangedAtoms) -> None:
        pending = RowsByRelation()
        for rule in self.rules:
            facts = self._facts[rule.target]
            for start in rule.leaving:
                batch = changed.rows(start)
                if batch.size:
                    pending.add(rule.target, facts.holding(facts.find(self._joined(start, batch, step))))
        gone = self._taken_away(step, pending)
        for rule in self.rules:
            for start in rule.entering:
                batch = changed.rows(start)
                if batch.size:
                    self._facts[rule.target].add(self._joined(start, batch, step))
        self._again(step, gone)
        self._complete(step)

    def _complete(self, step: Step) -> None:
        """Runs rounds until they add nothing. A fact from a displaced value needs another derivation to stay."""
        onward = [self._onward(rule, start, step) for rule in self.rules for start in rule.onward]
        while True:
            for _ in rounds(self._facts, onward, step.run.cancel.check):
                pass
            displaced = RowsByRelation()
            for name, facts in self._facts.items():
                if isinstance(facts, BestMaintained):
                    displaced.add(name, facts.displaced())
            if not displaced:
                break
            self._again(step, self._taken_away(step, self._followers(step, displaced)))
        for groups in self._groups.values():
            groups.group(step)

    def _onward(self, rule: RuleBodies, start: DeltaJoin, step: Step) -> RecursiveRule:
        """What a rule derives from the recent facts of one atom."""
        assert isinstance(start.atom, RelationAtom)
        atom, read = start.atom, self._facts[start.atom.relation]

        def derive() -> None:
            self._facts[rule.target].add(self._joined(start, of_atom(atom, read, read.recent), step))

        return RecursiveRule(atom.relation, derive)

    def _joined(self, start: DeltaJoin, batch: Batch, step: Step) -> list[Column]:
        return self.joins.rows(start.joined, with_constants(batch, start.joined, step))

    def _taken_away(self, step: Step, pending: RowsByRelation) -> RowsByRelation:
        """Removes, and returns, the pending facts that no earlier facts derive, and what followed from them."""
        gone = RowsByRelation()
        while pending:
            step.run.cancel.check()
            lost = RowsByRelation()
            for name, rows in pending.items():
                lost.add(name, rows[~self._held(step, name, rows)])
            for name, rows in lost.items():
                self._facts[name].remove(rows)
                gone.add(name, rows)
                if self._left is not None:
                    self._left -= len(rows)
            if self._left is not None and self._left < 0:
                raise TooManyError
            pending = self._followers(step, lost)
        return gone

    def _followers(self, step: Step, lost: RowsByRelation) -> RowsByRelation:
        """The facts that hold and have a derivation from a lost one."""
        found = RowsByRelation()
        for name, rows in lost.items():
            self._facts[name].leave(rows)
        for name, rows in lost.items():
            for rule, start in self.onward[name]:
                assert isinstance(start.atom, RelationAtom)
                batch = of_atom(start.atom, self._facts[name], rows)
                facts = self._facts[rule.target]
                found.add(rule.target, facts.holding(facts.find(self._joined(start, batch, step))))
        for name, rows in lost.items():
            self._facts[name].forget(rows)
        return found

    def _held(self, step: Step, name: str, rows: Column) -> Mask:
        """Which facts have a derivation from earlier ones."""
        held = np.zeros(len(rows), np.bool_)
        for rule in self.rules_of[name]:
            self._ask(step, rule, rule.holds, rows, held, earlier=True)
        return held

    def _ask(
        self, step: Step, rule: RuleBodies, joined: BodyJoin, rows: Column, held: Mask, *, earlier: bool = False
    ) -> None:
        """Marks those of the facts not marked yet which a rule derives."""
        facts = self._facts[rule.target]
        left = np.flatnonzero(~held)
        columns = facts.columns_of(rows[left])
        fits = np.ones(len(left), np.bool_)
        named: dict[str, Column] = {}
        for name, column in zip(rule.head, columns, strict=True):
            if name in named:
                fits &= named[name] == column
            elif name in step.constants:
                fits &= column == step.constants[name]
            named.setdefault(name, column)
        batch = Batch(len(left), named)
        if not fits.all():
            left, batch = left[fits], batch.keep(fits)
        if not len(left):
            return
        if earlier:
            limits = facts.times_of(rows[left])
            for each in self._facts.values():
                each.since(limits)
        held[left] = self.joins.holds(joined, with_constants(batch, joined, step))

    def _again(self, step: Step, gone: RowsByRelation) -> None:
        """Adds removed facts that any facts derive; for a group that lost its value, the best of those."""
        for name, rows in gone.items():
            facts = self._facts[name]
            if isinstance(facts, BestMaintained):
                for rule in self.rules_of[name]:
                    groups = self._groups_lost(step, rule, rows)
                    if groups.size:
                        facts.add(self.joins.rows(rule.again, groups))
                continue
            rows = facts.missing(rows)
            held = np.zeros(len(rows), np.bool_)
            for rule in self.rules_of[name]:
                self._ask(step, rule, rule.again, rows, held)
            facts.hold(rows[held])

    def _groups_lost(self, step: Step, rule: RuleBodies, rows: Column) -> Batch:
        facts = self._facts[rule.target]
        columns = dict(zip(rule.head, facts.columns_of(rows), strict=True))
        fits = np.ones(len(rows), np.bool_)
        for name, column in zip(rule.head, facts.columns_of(rows), strict=True):
            if name in rule.again.given:
                fits &= columns[name] == column
                if name in step.constants:
                    fits &= column == step.constants[name]
        batch = Batch(len(rows), {name: columns[name] for name in rule.again.given if name in columns}).keep(fits)
        return with_constants(batch.distinct(), rule.again, step) if batch.size else batch
