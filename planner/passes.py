"""The planner's pipeline, one visible sequence: scope, check, share, stratify, simplify, order and project."""

from __future__ import annotations

from dataclasses import replace

from adalog.datalog import ast
from adalog.datalog.aggregates import Reduction
from adalog.planner.model.nested import planned_within
from adalog.planner.model.plan import Options, Plan
from adalog.planner.order.dependencies import dependencies_of, determined_by
from adalog.planner.order.duplicates import multiplicity, owners_of, summed
from adalog.planner.order.joins import plan_join
from adalog.planner.order.projection import blank_singletons, repeats
from adalog.planner.order.statistics import Statistics
from adalog.planner.rules.derive import check_stratified, plan_rules
from adalog.planner.rules.requirements import check_safe, settled
from adalog.planner.rules.sharing import shared_out
from adalog.planner.scope.comparisons import in_pairs
from adalog.planner.scope.tree import tree_of
from adalog.planner.scope.variable_places import places_of
from adalog.planner.stages import CheckedQuery, PlanningContext, ScopedQuery, SimplifiedQuery, StratifiedQuery


def plan_query(
    query: ast.Query, statistics: Statistics, relations: frozenset[str], options: Options, *, share: bool = False
) -> Plan:
    """The plan of a parsed query over databases and relations of known size. `share`: for tasks that each
    answer for a share of one variable's values, where rules allow it.

    Raises UNBOUND_VARIABLE where no order can bind every variable, UNSTRATIFIABLE where rules go in circles.
    """
    context = context_of(statistics, relations, options, share=share)
    checked = share_out(check(scope(query, context), context), context)
    return order(simplify(stratify(checked, context), context), context)


def check_query(
    query: ast.Query, statistics: Statistics, relations: frozenset[str], options: Options
) -> CheckedQuery:
    """The query, for which there is a plan; no order is searched. Raises as `plan_query`."""
    context = context_of(statistics, relations, options)
    checked = check(scope(query, context), context)
    check_stratified(checked.tree, statistics, options)
    return checked


def context_of(
    statistics: Statistics, relations: frozenset[str], options: Options, *, share: bool = False
) -> PlanningContext:
    """The context of a query, within which its inner queries are planned."""

    def plan_inner(inner: ast.Query, sources: tuple[tuple[str, str], ...]) -> Plan:
        databases = {name: statistics.databases[outer] for name, outer in sources if outer in statistics.databases}
        lists = frozenset(name for name, outer in sources if outer in relations)
        rows = {name: statistics.relation_rows[outer] for name, outer in sources if outer in relations}
        return planned_within(
            lambda: plan_query(inner, Statistics(databases, rows, check=statistics.check), lists, options)
        )

    return PlanningContext(statistics, relations, options, plan_inner, share)


def scope(query: ast.Query, context: PlanningContext) -> ScopedQuery:
    """Resolves names, inlines simple rules, plans the queries within."""
    statistics = context.statistics
    schemas = statistics.is_ref, statistics.path_of
    magic = context.options.magic
    tree = tree_of(query, context.relations, context.plan_inner, *schemas, linear=magic, narrow=magic)
    return ScopedQuery(query, tree)


def check(scoped: ScopedQuery, context: PlanningContext) -> CheckedQuery:
    """Finds what every rule needs from its callers, and refuses what no order can bind; takes comparisons apart."""
    query, tree = scoped.query, settled(scoped.tree)
    elements = (*query.find.columns, *query.order_elements)
    names = (*(each.var.name for each in elements), *(each.name for each in query.with_))
    answer = tuple(dict.fromkeys(names))
    check_safe(tree.body, frozenset(tree.given), frozenset(answer), tree)
    return CheckedQuery(query, in_pairs(tree), answer, places_of(query, tree))


def share_out(checked: CheckedQuery, context: PlanningContext) -> CheckedQuery:
    """Restricts the tree to a share of one variable's values, where tasks are to answer it."""
    if not (context.share and checked.tree.predicates):
        return checked
    found = shared_out(checked.tree, context.statistics, context.options)
    return checked if found is None else replace(checked, tree=found[0], sharing=found[1])


def stratify(checked: CheckedQuery, context: PlanningContext) -> StratifiedQuery:
    """Makes a program of the rules: magic sets, strata, rounds."""
    body, program, sizes = plan_rules(checked.tree, context.statistics, context.options)
    statistics = replace(context.statistics, relation_rows={**context.statistics.relation_rows, **sizes})
    return StratifiedQuery(checked, body, program, statistics)


def simplify(stratified: StratifiedQuery, context: PlanningContext) -> SimplifiedQuery:
    """Blanks what occurs once, and decides whether rows are made distinct or counted."""
    checked, body, statistics = stratified.checked, stratified.body, stratified.statistics
    # No two rows differ in what the arguments give one value.
    shown = frozenset((*checked.answer, *checked.tree.given))
    if context.options.project:
        body = blank_singletons(body, shown)
    distinct = repeats(body, shown, dependencies_of(body, statistics))
    counted = _counted(checked) if context.options.project and not distinct else frozenset()
    if counted:
        known = determined_by(shown, dependencies_of(checked.tree.body, statistics))
        # Rows that aggregates leave out are counted for a warning, which weights would hide.
        if owners_of(checked.tree.body, summed(checked.query.find.columns), known):
            counted = frozenset()
    return SimplifiedQuery(checked, body, stratified.program, statistics, counted, distinct)


def order(simplified: SimplifiedQuery, context: PlanningContext) -> Plan:
    """Orders the variables, and says what each level keeps."""
    checked, tree, program = simplified.checked, simplified.checked.tree, simplified.program
    needed, counted = frozenset(checked.answer), simplified.counted
    plan = plan_join(simplified.body, tree.given, needed, simplified.statistics, context.options, counted)
    fallen = None
    if not simplified.counted and not checked.query.order_elements:
        sums = summed(checked.query.find.columns)
        fallen = multiplicity(tree.body, plan.body, needed, sums, tree.given, plan.levels, simplified.statistics)
    return Plan(
        checked.query,
        plan.body,
        tree.given,
        plan.levels,
        checked.answer,
        bool(counted),
        simplified.distinct,
        plan.cost + program.cost,
        plan.rows,
        context.options,
        tuple(tree.constants.items()),
        checked.places,
        checked.places.entities(context.statistics.databases),
        checked.sharing,
        program,
        fallen,
        tree.pulled,
    )


def _counted(checked: CheckedQuery) -> frozenset[str]:
    """The variables that the answer only counts, where all its aggregates can do with weights; else none."""
    elements = checked.query.find.columns
    aggregates = [each for each in elements if isinstance(each, ast.FindAggregate)]
    if not aggregates or any(not each.known.is_weighable or each.args for each in aggregates):
        return frozenset()
    if checked.query.order_elements:
        return frozenset()
    shown = {each.var.name for each in elements if not isinstance(each, ast.FindAggregate)}
    shown |= {each.var.name for each in aggregates if each.reduction is not Reduction.COUNT}
    return frozenset(checked.answer) - shown
