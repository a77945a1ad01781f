"""The columns of an answer by groups: what the groups have, and what is looked up for those that are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from adalog.datalog.ast import FindVar
from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.run import QueryRun
from adalog.executor.evaluation.bind import Binding
from adalog.executor.evaluation.fixpoint import derived
from adalog.executor.evaluation.nested import Gathered
from adalog.executor.join.batch import ORIGIN, Batch, Column
from adalog.executor.join.driver import Driver
from adalog.planner.group_lookups import GroupLookups
from adalog.planner.model.plan import Plan
from adalog.store.snapshot.snapshot import Snapshot


def looked_up_columns(
    plan: Plan, lookups: GroupLookups, codes: Sequence[Column], databases: Mapping[str, Snapshot], run: QueryRun
) -> list[Column]:
    """The columns of what a plan's query finds, in no order. codes: of what the query of `lookups.groups` finds."""
    grouped = lookups.groups.query
    columns = {each.label: column for each, column in zip(grouped.find.elements, codes, strict=False)}
    with Held(run.cancel.budget) as held:
        groups = Batch(len(codes[0]), {name: columns[name] for name in lookups.found.given})
        found = _found(lookups.found, groups, databases, run, held)
        places = found.columns[ORIGIN]
        return [
            found.columns[each.var.name]
            if isinstance(each, FindVar) and each.label not in columns
            else columns[each.label][places]
            for each in plan.query.find.elements
        ]


def _found(plan: Plan, groups: Batch, databases: Mapping[str, Snapshot], run: QueryRun, held: Held) -> Batch:
    """What a plan finds for groups, each at most once, with their numbers."""
    start = groups.having(ORIGIN, np.arange(groups.size))
    gathered = Gathered(frozenset((ORIGIN, *plan.answer)), plan.distinct, groups.size, None, held)
    join = Binding(plan, databases, {}, run, derive=derived).join(seeded=True)
    if join is not None and groups.size:
        Driver(join, gathered, run.cancel, run.threads).run(start)
    return gathered.rows()
