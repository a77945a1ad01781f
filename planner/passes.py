"""The planner's pipeline, one visible sequence: scope, check, derive rules, simplify, order, project."""

from __future__ import annotations

from dataclasses import replace

from datalog import ast
from planner.dependencies import dependencies_of
from planner.derive import plan_rules
from planner.joins import plan_join
from planner.nested import planned_within
from planner.plan import Options, Plan
from planner.projection import blank_singletons, repeats
from planner.requirements import check_safe, settled
from planner.sharing import shared_out
from planner.standing import places_of
from planner.statistics import Statistics
from planner.tree import tree_of

# Aggregates whose value for a group follows from its values and how often each occurs; (min n ?x) shows repeats.
WEIGHABLE = frozenset(
    {"count", "sum", "avg", "variance", "stddev", "median", "min", "max", "count-distinct", "distinct"}
)


def plan_query(
    query: ast.Query,
    statistics: Statistics,
    relations: frozenset[str],
    options: Options,
    *,
    share: bool = False,
) -> Plan:
    """The plan of a parsed query over databases and relations of known size. `share`: for tasks that each
    answer for a share of one variable's values, where rules allow it.

    Raises UNBOUND_VARIABLE where no order can bind every variable, UNSTRATIFIABLE where rules go in circles.
    """

    def plan_inner(inner: ast.Query, sources: tuple[tuple[str, str], ...]) -> Plan:
        databases = {name: statistics.databases[outer] for name, outer in sources if outer in statistics.databases}
        lists = frozenset(name for name, outer in sources if outer in relations)
        rows = {name: statistics.relation_rows[outer] for name, outer in sources if outer in relations}
        return planned_within(
            lambda: plan_query(inner, Statistics(databases, rows, check=statistics.check), lists, options)
        )

    tree = settled(tree_of(query, relations, plan_inner, linear=options.magic))
    given = tree.given
    answer = tuple(dict.fromkeys([*(e.var.name for e in query.find.elements), *(v.name for v in query.with_)]))
    needed = frozenset(answer)
    check_safe(tree.body, frozenset(given), needed, tree)
    places = places_of(query, tree)
    sharing = None
    if share and tree.predicates and (found := shared_out(tree, statistics, options)) is not None:
        tree, sharing = found
    body, program, sizes = plan_rules(tree, statistics, options)
    statistics = replace(statistics, relation_rows={**statistics.relation_rows, **sizes})
    counted = _counted(query, answer)
    if options.project:
        body = blank_singletons(body, needed.union(given))
    # No two rows differ in what the arguments give one value.
    distinct = repeats(body, needed.union(given), dependencies_of(body, statistics))
    if distinct or not options.project:
        counted = frozenset()
    plan = plan_join(body, given, needed, statistics, options, counted)
    return Plan(
        query,
        plan.body,
        given,
        plan.levels,
        answer,
        bool(counted),
        distinct,
        plan.cost + program.cost,
        plan.rows,
        options,
        tuple(tree.constants.items()),
        places,
        places.entities(statistics.databases),
        sharing,
        program,
    )


def _counted(query: ast.Query, answer: tuple[str, ...]) -> frozenset[str]:
    """The variables that the answer only counts, where all its aggregates can do with weights; else none."""
    aggregates = [e for e in query.find.elements if isinstance(e, ast.FindAggregate)]
    if not aggregates or any(e.name not in WEIGHABLE or e.args for e in aggregates):
        return frozenset()
    shown = {e.var.name for e in query.find.elements if not isinstance(e, ast.FindAggregate)}
    shown |= {e.var.name for e in aggregates if e.name != "count"}
    return frozenset(answer) - shown
