"""The plan by which a few groups of an aggregate are asked: the query's body, its groups bound first."""

from __future__ import annotations

from dataclasses import replace

from datalog import ast
from planner.maintenance.feeds import FEED
from planner.maintenance.maintenance import Maintenance
from planner.passes import order, setting_of, simplify
from planner.plan import Options, Plan
from planner.program import Program
from planner.stages import Checked, Stratified
from planner.statistics import Statistics
from planner.tree import Tree


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
    checked = Checked(query, tree, maintenance.head, maintenance.places)
    setting = setting_of(statistics, frozenset(), options)
    return order(simplify(Stratified(checked, tree.body, Program(), statistics), setting), setting)
