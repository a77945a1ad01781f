"""The plan by which a few groups of an aggregate are asked: the query's body, its groups bound first."""

from __future__ import annotations

from dataclasses import replace

from adalog.datalog import ast
from adalog.planner.maintenance.feeds import FEED
from adalog.planner.maintenance.maintenance import Maintenance
from adalog.planner.model.plan import Options, Plan
from adalog.planner.model.program import Program
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import context_of, order, simplify
from adalog.planner.scope.tree import Tree
from adalog.planner.stages import CheckedQuery, StratifiedQuery


def keys_of(maintenance: Maintenance) -> tuple[str, ...]:
    """The variables that tell groups apart, FEED first where there are feeds."""
    elements = maintenance.query.find.elements
    plain = (each.var.name for each in elements if not isinstance(each, ast.FindAggregate))
    feed = (FEED,) if maintenance.fed.has_feeds else ()
    return tuple(dict.fromkeys((*feed, *plain)))


def plan_groups(maintenance: Maintenance, statistics: Statistics, options: Options) -> Plan:
    """A plan whose first batch binds the groups; its find spec shows FEED first where there are feeds."""
    query, find = maintenance.query, maintenance.query.find
    feed = (ast.FindVar(ast.Var(FEED)),) if maintenance.fed.has_feeds else ()
    query = replace(query, find=replace(find, elements=(*feed, *find.elements)))
    keys = keys_of(maintenance)
    given = (*keys, *(name for name in maintenance.fixed if name not in keys))
    tree = Tree(maintenance.body, given, maintenance.constants, (), {}, {}, {})
    checked = CheckedQuery(query, tree, maintenance.head, maintenance.places)
    context = context_of(statistics, frozenset(), options)
    return order(simplify(StratifiedQuery(checked, tree.body, Program(), statistics), context), context)
