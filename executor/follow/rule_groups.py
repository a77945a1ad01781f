"""Relations with aggregates outside of a recursion, kept from one moment to the next."""

from __future__ import annotations

import numpy as np

from adalog.executor.facts.grouped import aggregated_head
from adalog.executor.facts.maintained import MaintainedFacts
from adalog.executor.follow.rule_joins import RuleJoins, Step
from adalog.executor.join.batch import Batch
from adalog.planner.delta.rules import BodyJoin
from adalog.planner.model.logical import AndNode, RelationAtom
from adalog.planner.model.program import RuleRelation
from adalog.planner.model.version import Version


class RuleGroups:
    """A relation with aggregates outside of a recursion: the distinct rows under it, and a row for each group. A
    group that a row came to or went from is aggregated again. `name`: the rows', for joins."""

    def __init__(self, relation: RuleRelation, result: MaintainedFacts, joins: RuleJoins) -> None:
        self.name = f"{relation.name} ungrouped"
        self.rows = MaintainedFacts(relation.arity, take=joins.take)
        self.aggregates = relation.aggregates
        self.result = result
        self.joins = joins
        self.names = tuple(f"place·{i}" for i in range(relation.arity))
        self.keys = tuple(name for name, each in zip(self.names, relation.aggregates, strict=True) if each is None)
        names = self.name, relation.name
        atoms = (RelationAtom(name, self.names, derived=True, version=Version.NEW) for name in names)
        self._own, self._shown = (BodyJoin(AndNode((atom,)), self.keys, self.names) for atom in atoms)

    def group(self, step: Step) -> None:
        """Aggregates the groups that changed."""
        changed = np.concatenate((self.rows.came(), self.rows.went()))
        if not len(changed):
            return
        columns = dict(zip(self.names, self.rows.columns_of(changed), strict=True))
        touched = Batch(len(changed), {name: columns[name] for name in self.keys}).distinct()
        before = self.result.find(self.joins.rows(self._shown, touched))
        rows = self.joins.rows(self._own, touched)
        grouped = aggregated_head(self.aggregates, rows, step.run.values, step.run.cancel)
        after = self.result.enter(grouped)
        self.result.remove(np.setdiff1d(before, after))
        self.result.add(grouped)
