"""Queries that group first: what the keys of groups alone determine is looked up for the groups that are left.

In `[:find ?number (sum ?n) :with ?l :where [?l :of ?o] [?l :n ?n] [?o :number ?number]]` each `?o` is a group by
itself if a number has one `?o` and an `?o` has one number. So `?o` is enough to group by, and its number is looked
up once for each group, after `:having`. Sound for attributes with one value for each entity, of entities that what
the answer shows determines (`planner.order.dependencies`).

Source: late materialization; Yan and Larson, "Eager aggregation and lazy aggregation", VLDB 1995.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from adalog.datalog import ast
from adalog.datalog.errors import AdalogError
from adalog.datalog.names import names_in, targets, variables_of
from adalog.datalog.values import Keyword
from adalog.planner.model.logical import describe
from adalog.planner.model.plan import Options, Plan
from adalog.planner.order.dependencies import dependencies_of, determined_by
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import plan_query
from adalog.planner.scope.resolve import attribute_of
from adalog.store.snapshot.snapshot import Snapshot

# A plan that costs less is done before another one is made.
_MANY: Final = 2e4
# The rest of a query has to cost this much less, and have at most so many times the rows.
_CHEAPER: Final = 0.8
_MORE_ROWS: Final = 1.25


@dataclass(frozen=True, slots=True)
class GroupLookups:
    """`groups`: the plan of the query without what is looked up, and without order and limit. `found`: from some of
    its variables, which are its first batch, to the variables that it lacks."""

    groups: Plan
    found: Plan

    @property
    def clauses(self) -> list[str]:
        return [describe(item) for item in self.found.body.items]


def may_group_first(plan: Plan) -> bool:
    """Whether a plan has groups, and is worth another one."""
    return plan.cost >= _MANY and plan.query.find.has_aggregates


def group_lookups(
    plan: Plan, statistics: Statistics, relations: frozenset[str], options: Options
) -> GroupLookups | None:
    """How to answer the query of a plan so; None where nothing can be looked up, or it is not cheaper."""
    if options.cautious or not options.look_up or plan.multiplicity is not None:
        return None
    query = plan.query
    if not _is_plain(query) or statistics.databases["$"].is_history:
        return None
    late = _looked_up(query, plan, statistics)
    if not late:
        return None
    rest = tuple(clause for clause in query.where if clause not in late)
    bound = names_in(rest, inside_not=True)
    entities = {_entity(each) for each in late}
    roots = [ast.Var(name) for name in bound if name in entities]
    gone = {_value(each) for each in late}
    shown = [each for each in query.find.elements if isinstance(each, ast.FindVar) and each.var.name in gone]
    elements = dict.fromkeys(each for each in query.find.elements if each not in shown)
    elements |= dict.fromkeys(map(ast.FindVar, roots))
    find = ast.Find(tuple(elements), hidden=query.find.hidden, position=query.find.position)
    grouped = replace(query, find=find, where=rest, order_by=(), limit=None, offset=0)
    try:
        groups = plan_query(grouped, statistics, relations, options)
    except AdalogError:
        # Something else needs what a pattern binds.
        return None
    if groups.cost > _CHEAPER * plan.cost or groups.rows > _MORE_ROWS * plan.rows or groups.multiplicity:
        return None
    inputs: list[ast.Input] = [ast.SourceInput("$")]
    inputs += (ast.BindingInput(ast.ScalarBinding(each)) for each in roots)
    found = ast.Query(ast.Find(tuple(shown)), (), tuple(inputs), late)
    # An argument means what it does in the whole query.
    groups = replace(groups, entities=plan.entities, places=plan.places)
    return GroupLookups(groups, plan_query(found, statistics, frozenset(), options))


def _is_plain(query: ast.Query) -> bool:
    """Whether all that its rows show, and are ordered by, are variables and aggregates."""
    find = query.find
    if not find.has_aggregates or find.takes_numbers:
        return False
    return (
        all(isinstance(each, ast.FindVar | ast.FindAggregate) for each in find.elements)
        and all(isinstance(each, ast.FindAggregate) for each in find.hidden)
        and not any(key.outside or key.by is not None for key in query.order_by)
        and isinstance(query.inputs[0], ast.SourceInput)
        and query.inputs[0].name == "$"
    )


def _looked_up(query: ast.Query, plan: Plan, statistics: Statistics) -> tuple[ast.Pattern, ...]:
    """The patterns that can wait for the groups, in the order of the text."""
    shown = {each.var.name for each in query.find.elements if isinstance(each, ast.FindVar)}
    taken = {each.name for each in query.with_} | {
        each.name for call in query.having for each in variables_of(call)
    }
    taken |= {each.var.name for each in query.find.columns if isinstance(each, ast.FindAggregate)}
    given = {name for each in query.inputs if isinstance(each, ast.BindingInput) for name in _names(each.binding)}
    calls = [each for each in query.where if isinstance(each, ast.Predicate | ast.Function)]
    # What a call is given may be read as an entity since a pattern says that it is one.
    used = given.union(names_in(calls))
    taken |= used
    dependencies = dependencies_of(plan.body, statistics)
    determined = determined_by([*shown, *plan.given], dependencies)
    snapshot = statistics.databases["$"]
    late = [each for each in query.where if isinstance(each, ast.Pattern) and _is_lookup(each, snapshot)]
    while late:
        bound = names_in((clause for clause in query.where if clause not in late), inside_not=True)
        values = [_value(each) for each in late]
        needed = shown.union(map(_entity, late)) - taken - bound.keys()
        # Groups by an entity have to be the groups by what is shown.
        known = determined.union(values)
        kept = [
            each
            for each in late
            if _value(each) in needed and values.count(_value(each)) == 1 and _entity(each) in known - used
        ]
        if len(kept) == len(late):
            kept = _reached(late, bound)
        if len(kept) == len(late):
            break
        late = kept
    return tuple(late)


def _reached(patterns: Sequence[ast.Pattern], bound: Iterable[str]) -> list[ast.Pattern]:
    """Those whose entities are bound, or values of others of which that holds."""
    names, found, left = set(bound), list[ast.Pattern](), list(patterns)
    while more := [each for each in left if _entity(each) in names]:
        found += more
        left = [each for each in left if each not in more]
        names.update(map(_value, more))
    return [each for each in patterns if each in found]


def _is_lookup(pattern: ast.Pattern, snapshot: Snapshot) -> bool:
    """`[?e :attribute ?v]` of an attribute with one value for each entity."""
    match pattern:
        case ast.Pattern(
            ast.Source("$"), (ast.Var() as entity, ast.Const(value=Keyword()) as attribute, ast.Var() as value)
        ):
            declared = attribute_of(snapshot, attribute)
            return entity != value and declared is not None and not declared.is_many
    return False


def _entity(pattern: ast.Pattern) -> str:
    entity = pattern.terms[0]
    assert isinstance(entity, ast.Var)
    return entity.name


def _value(pattern: ast.Pattern) -> str:
    value = pattern.terms[2]
    assert isinstance(value, ast.Var)
    return value.name


def _names(binding: ast.Binding) -> set[str]:
    return {each.name for each in targets(binding) if isinstance(each, ast.Var)}
