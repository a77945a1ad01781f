"""Relations with aggregates outside of a recursion, kept from one moment to the next."""

from __future__ import annotations

import numpy as np

from adalog.datalog.ast import FindAggregate, FindVar, Var
from adalog.executor.answer.aggregates import aggregated
from adalog.executor.facts.maintained import MaintainedFacts
from adalog.executor.follow.bodies import Joins, Step
from adalog.executor.join.batch import Batch
from adalog.planner.delta.rules import BodyJoin
from adalog.planner.model.logical import AndNode, RelationAtom
from adalog.planner.model.program import RuleRelation
from adalog.planner.model.version import Version


class RuleGroups:
    """A relation with aggregates outside of a recursion: the distinct rows under it, and a row for each group.

    A group that a row came to or went from is aggregated again. `name`: the rows', for joins.
    """

    def __init__(self, relation: RuleRelation, result: MaintainedFacts, joins: Joins) -> None:
        self.name = f"{relation.name} ungrouped"
        self.rows = MaintainedFacts(relation.arity, joins.take)
        self.result = result
        self.joins = joins
        self.names = tuple(f"place·{i}" for i in range(relation.arity))
        self.keys = tuple(name for name, each in zip(self.names, relation.aggregates, strict=True) if each is None)
        self.elements = [
            FindVar(Var(name)) if each is None else FindAggregate(each, (), Var(name))
            for name, each in zip(self.names, relation.aggregates, strict=True)
        ]
        self._own, self._shown = (
            BodyJoin(
                AndNode((RelationAtom(name, self.names, derived=True, version=Version.NEW),)), self.keys, self.names
            )
            for name in (self.name, relation.name)
        )

    def group(self, step: Step) -> None:
        """Aggregates the groups that changed."""
        changed = np.concatenate((self.rows.came(), self.rows.went()))
        if not len(changed):
            return
        columns = dict(zip(self.names, self.rows.columns_of(changed), strict=True))
        touched = Batch(len(changed), {name: columns[name] for name in self.keys}).distinct()
        before = self.result.find(self.joins.rows(self._shown, touched))
        rows = self.joins.rows(self._own, touched)
        batch = Batch(len(rows[0]), dict(zip(self.names, rows, strict=True)))
        made = aggregated(batch, self.elements, step.run.values, step.run.cancel)
        after = self.result.enter(made)
        self.result.remove(np.setdiff1d(before, after))
        self.result.add(made, 0)
