"""A stratum that is one linear closure along a data pattern, kept by compiled loops.

Its relation has a fact where a rule without recursion derives it (an exit), or where it follows from another fact
along an edge. Exits are maintained as those of any stratum; `executor.facts.closure_facts` has the changing graph.
"""

from __future__ import annotations

import numpy as np

from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.extenders.patterns import Patterns
from adalog.executor.facts.closure_facts import ClosureFacts, Edges, Pairs
from adalog.executor.facts.maintained import MaintainedFacts, joined
from adalog.executor.follow.rule_joins import ChangedAtoms, Step
from adalog.executor.follow.stratum import MaintainedStratum, TooManyError
from adalog.executor.join.batch import Column
from adalog.planner.delta.rules import DeltaJoin
from adalog.planner.model.logical import DatomAtom
from adalog.planner.model.program import Closure, RuleRelation
from adalog.store.tries.relation import Relation
from adalog.store.tries.trie import EMPTY, Trie, among, distinct


class ClosureStratum(MaintainedStratum):
    edges: Edges | None = None
    _relation: Relation | None = None

    @property
    def _closure(self) -> Closure:
        assert self.stratum.closure is not None
        return self.stratum.closure

    def _new(self, relation: RuleRelation) -> MaintainedFacts:
        self.facts = ClosureFacts(self._closure.fixed, self._clock, self.joins.take)
        self.edges = None
        self.exits = [rule for rule in self.rules if not rule.onward]
        step = self._closure.step
        assert isinstance(step, DatomAtom)
        (recursive,) = (rule for rule in self.rules if rule.onward)
        self.came, self.went = (
            next((each for each in starts if each.atom == step), None)
            for starts in (recursive.entering, recursive.leaving)
        )
        return self.facts

    def nbytes(self) -> int:
        """Bytes of the edges that differ from the database's own tries."""
        return 0 if self.edges is None else self.edges.nbytes()

    def afresh(self, step: Step) -> None:
        self.facts.clear()
        self.edges = self._edges_of(step)
        for rule in self.exits:
            if rule.once is not None:
                self.facts.exits(self.joins.once(rule.once, step))
        self._complete(step)

    def _step(self, step: Step, changed: ChangedAtoms) -> None:
        facts, edges = self.facts, self.edges
        assert edges is not None
        assert self._left is not None
        closed = self._closed(step, changed)
        went, came = self._pairs(self.went, changed), self._pairs(self.came, changed)
        differs = len(closed) or len(went[0]) or len(came[0])
        if differs and not facts.change(edges, went, came, closed, int(self._left)):
            raise TooManyError
        for rule in self.exits:
            for start in rule.entering:
                batch = changed.rows(start)
                if batch.size:
                    facts.exits(self._joined(start, batch, step))
        if len(came[0]):
            facts.add(facts.met(*came))
        self._complete(step)
        if edges.is_stale or self._relation_of(step) is not self._relation:
            # Tries that were folded since would keep their files alive.
            self.edges = self._edges_of(step)

    def _closed(self, step: Step, changed: ChangedAtoms) -> Column:
        """The facts that no rule without recursion derives any more."""
        facts = self.facts
        found: list[Column] = []
        surely: dict[int, list[Column]] = {}
        for number, rule in enumerate(self.exits):
            for start in rule.leaving:
                batch = changed.rows(start)
                if batch.size:
                    rows = facts.leave_by(self._joined(start, batch, step))
                    found.append(rows)
                    if start.is_sure:
                        surely.setdefault(number, []).append(rows)
        rows = distinct(joined(found))
        if not len(rows):
            return rows
        held = np.zeros(len(rows), np.bool_)
        for number, rule in enumerate(self.exits):
            own = distinct(joined(surely.get(number, [])))
            if len(own) < len(rows):
                asked = ~among(rows, own)
                derived = held[asked]
                self._ask(step, rule, rule.again, rows[asked], derived)
                held[asked] = derived
        closed = rows[~held]
        facts.close(closed)
        return closed

    def _complete(self, step: Step) -> None:
        """Follows what was added along the edges, in place of rounds."""
        if self.facts.turn():
            assert self.edges is not None
            self.facts.gain(self.edges, step.run.cancel)

    def _pairs(self, start: DeltaJoin | None, changed: ChangedAtoms) -> Pairs:
        if start is None:
            return EMPTY.values, EMPTY.values
        columns = changed.rows(start).columns
        if not columns:
            return EMPTY.values, EMPTY.values
        return columns[self._closure.start], columns[self._closure.end]

    def _relation_of(self, step: Step) -> Relation | None:
        """The folded datoms that the edges' tries lie on, as they are at the second moment."""
        pattern = self._closure.step
        assert isinstance(pattern, DatomAtom)
        moments = step.moments[pattern.source]
        attribute = self.joins.attribute_of(pattern, moments, step.run.strict)
        return None if attribute is None else moments.new.data_of(attribute).relation

    def _edges_of(self, step: Step) -> Edges:
        closure = self._closure
        assert isinstance(closure.step, DatomAtom)
        self._relation = self._relation_of(step)
        rank = {closure.start: 0, closure.end: 1}
        bound = Patterns(step.moments[closure.step.source].new, rank, step.run.strict).extender(closure.step)
        if not isinstance(bound, PairExtender):
            return Edges(Trie(EMPTY), Trie(EMPTY))
        forward, backward = bound.forward(), bound.backward()
        return Edges(forward, backward) if bound.first == closure.start else Edges(backward, forward)
