"""The planner's pipeline, one visible sequence: scope, simplify, order, project; the same inside every `not`."""

from __future__ import annotations

from dataclasses import replace

from datalog import ast
from datalog.errors import AdalogError, Code
from planner.logical import AndNode, LevelPlan, Node, NotNode, OrNode, leaves, variables
from planner.ordering import can_bind, order_variables
from planner.plan import Options, Plan
from planner.projection import blank_singletons, hidden_variables, project, with_inner
from planner.scoping import Places, tree_of
from planner.statistics import Statistics

# Aggregates whose value for a group follows from its values and how often each occurs; (min n ?x) shows repeats.
WEIGHABLE = frozenset(
    {"count", "sum", "avg", "variance", "stddev", "median", "min", "max", "count-distinct", "distinct"}
)


def plan_query(query: ast.Query, statistics: Statistics, relations: frozenset[str], options: Options) -> Plan:
    """The plan of a parsed query over databases and relations of known size.

    Raises UNBOUND_VARIABLE where no order can bind every variable.
    """
    body, places, given = tree_of(query, relations)
    answer = tuple(dict.fromkeys([*(e.var.name for e in query.find.elements), *(v.name for v in query.with_)]))
    needed = frozenset(answer)
    counted = _counted(query, answer)
    if options.project:
        body = blank_singletons(body, needed.union(given))
    _check_safe(body, frozenset(given), needed, places)
    # No two rows differ in what the arguments give one value.
    distinct = hidden_variables(body, needed.union(given))
    if distinct or not options.project:
        counted = frozenset()
    found = order_variables(body, frozenset(given), needed - counted, statistics, reorder=options.reorder)
    assert found is not None, "a safe query has an order"
    body = _plan_negations(body, statistics, options)
    if options.project:
        levels = project(body, given, found.order, found.prefixes, needed, counted)
    else:
        levels = tuple(LevelPlan(name, estimate=e) for name, e in zip(found.order, found.prefixes, strict=True))
    return Plan(
        query,
        body,
        given,
        levels,
        answer,
        bool(counted),
        distinct,
        found.cost,
        found.prefixes[-1] if found.prefixes else 1.0,
        options,
    )


def _counted(query: ast.Query, answer: tuple[str, ...]) -> frozenset[str]:
    """The variables that the answer only counts, where all its aggregates can do with weights; else none."""
    aggregates = [e for e in query.find.elements if isinstance(e, ast.FindAggregate)]
    if not aggregates or any(e.name not in WEIGHABLE or e.args for e in aggregates):
        return frozenset()
    shown = {e.var.name for e in query.find.elements if isinstance(e, ast.FindVar)}
    shown |= {e.var.name for e in aggregates if e.name != "count"}
    return frozenset(answer) - shown


def _check_safe(body: AndNode, given: frozenset[str], needed: frozenset[str], places: Places) -> None:
    """Every variable must be bound by something that can propose it."""
    wanted = variables(body) | needed
    bound = given
    while grown := {name for name in wanted - bound if can_bind(body, name, bound)}:
        bound |= grown
    loose = sorted(wanted - bound, key=lambda n: (places.get(n) is None, n))
    if loose:
        name = loose[0]
        written = name.split("·")[0]
        position = places.get(name)
        raise AdalogError(
            Code.UNBOUND_VARIABLE,
            f"nothing binds {written}: {_reason(body, name, bound)}",
            position,
        )
    for node in _negations(body):
        inner = AndNode(node.items)
        _check_safe(inner, frozenset(node.shared), frozenset(), places)


def _reason(body: AndNode, name: str, bound: frozenset[str]) -> str:
    from planner.logical import FunctionAtom, PredicateAtom

    for leaf in leaves(body):
        if isinstance(leaf, FunctionAtom) and leaf.out == name:
            missing = ", ".join(sorted(n.split("·")[0] for n in variables(leaf) - {name} - bound))
            if missing:
                return f"({leaf.name} …) computes it from {missing}, which nothing binds first"
    for leaf in leaves(body):
        if isinstance(leaf, PredicateAtom | FunctionAtom) and name in variables(leaf):
            return f"it is an argument of ({leaf.name} …); add a data pattern, a function or an :in that binds it"
    if any(isinstance(item, OrNode) and name in variables(item) for item in body.items):
        return "every branch of the or must bind it, or a clause outside must"
    if any(name in variables(node) for node in _negations(body)):
        return "a not only filters; bind it in a clause outside the not"
    return "add a data pattern, a function or an :in that binds it"


def _negations(node: Node) -> list[NotNode]:
    return [leaf for leaf in leaves(node) if isinstance(leaf, NotNode)]


def _plan_negations(body: AndNode, statistics: Statistics, options: Options) -> AndNode:
    """Orders the inner join of every `not`: it starts from the shared bindings and keeps only those."""
    planned: dict[int, NotNode] = {}
    for node in _negations(body):
        shared = frozenset(node.shared)
        inner = AndNode(node.items)
        if options.project:
            inner = blank_singletons(inner, shared)
        found = order_variables(inner, shared, shared, statistics, reorder=options.reorder)
        assert found is not None, "a safe not has an order"
        inner = _plan_negations(inner, statistics, options)
        levels = project(inner, node.shared, found.order, found.prefixes, shared, frozenset())
        planned[id(node)] = replace(node, items=inner.items, levels=levels)
    return with_inner(body, planned) if planned else body  # type: ignore[return-value]
