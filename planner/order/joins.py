"""Plans one join: simplify, order, project; the same inside every `not`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adalog.planner.model.logical import AndNode, Leaf, LevelPlan, Node, NotNode, in_body, leaves
from adalog.planner.model.plan import Options
from adalog.planner.order.caution import cautious
from adalog.planner.order.dependencies import dependencies_of
from adalog.planner.order.ordering import order_variables
from adalog.planner.order.projection import blank_singletons, project
from adalog.planner.order.statistics import Statistics
from adalog.planner.scope.comparisons import tied


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """`cost`: estimated candidates plus prefixes; `rows`: estimated rows."""

    body: AndNode
    levels: tuple[LevelPlan, ...]
    cost: float
    rows: float


def plan_join(
    body: AndNode,
    given: tuple[str, ...],
    needed: frozenset[str],
    statistics: Statistics,
    options: Options,
    counted: frozenset[str] = frozenset(),
) -> JoinPlan:
    """The plan of a safe body. `counted`: those of `needed` that the answer only counts."""
    if options.cautious:
        body = cautious(body, frozenset(given))
    found = order_variables(body, frozenset(given), needed - counted, statistics, reorder=options.reorder)
    assert found is not None, "a safe body has an order"
    body = _plan_negations(body, statistics, options)
    if options.project:
        dependencies = dependencies_of(body, statistics)
        levels = project(body, given, found.order, found.prefixes, needed, counted, dependencies)
        if counted and levels and not levels[-1].counted:
            # The consumer of the rows adds up their weights anyway.
            levels = unmerged(levels)
    else:
        levels = tuple(LevelPlan(name, estimate=e) for name, e in zip(found.order, found.prefixes, strict=True))
    return JoinPlan(body, levels, found.cost, found.prefixes[-1] if found.prefixes else 1.0)


def unmerged(levels: tuple[LevelPlan, ...]) -> tuple[LevelPlan, ...]:
    """The levels of a join whose consumer makes its rows distinct."""
    return (*levels[:-1], *(replace(level, merge=False) for level in levels[-1:]))


def _plan_negations(body: AndNode, statistics: Statistics, options: Options) -> AndNode:
    """Orders the inner join of every `not`: it starts from the shared bindings and keeps only those."""

    def planned(leaf: Leaf) -> Node:
        if not isinstance(leaf, NotNode):
            return leaf
        shared = frozenset(leaf.shared)
        inner = AndNode(leaf.items)
        if options.cautious:
            inner = cautious(inner, shared)
        if options.project:
            inner = blank_singletons(inner, shared)
        found = order_variables(inner, shared, shared, statistics, reorder=options.reorder)
        assert found is not None, "a safe not has an order"
        dependencies = dependencies_of(inner, statistics)
        levels = project(inner, leaf.shared, found.order, found.prefixes, shared, frozenset(), dependencies)
        node = replace(leaf, items=inner.items, levels=levels)
        return replace(node, apart=_apart(node, statistics, options)) if options.project else node

    return in_body(body, planned) if negations(body) else body


def _apart(node: NotNode, statistics: Statistics, options: Options) -> tuple[LevelPlan, ...]:
    """The levels of what is inside a `not` by itself, where comparisons tie it to the outside and it is a join."""
    found = tied(node)
    if found is None or len(node.levels) < 2:
        return ()
    wanted = frozenset((found.variable,))
    order = order_variables(found.rest, frozenset(), wanted, statistics, reorder=options.reorder)
    if order is None:
        return ()
    dependencies = dependencies_of(found.rest, statistics)
    return project(found.rest, (), order.order, order.prefixes, wanted, frozenset(), dependencies)


def negations(node: Node) -> list[NotNode]:
    return [leaf for leaf in leaves(node) if isinstance(leaf, NotNode)]
