"""The plan by which a query is kept up to date: plain data, right for any arguments while the schema stays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from adalog.datalog import ast
from adalog.datalog.ast import Const, LookupRef
from adalog.planner.delta.monotone import adds_others
from adalog.planner.delta.reactions import Reaction, lasting_dependencies, reactions
from adalog.planner.delta.refusals import refusal_of_body, refusal_of_find
from adalog.planner.delta.rules import named
from adalog.planner.delta.rules import refusal as refusal_of_rules
from adalog.planner.delta.versions import Moves, is_derived, moving_database, with_derived
from adalog.planner.feeds import FEED, FedBody, fed
from adalog.planner.model.logical import AndNode, RelationAtom, everything, without_single_branches
from adalog.planner.model.places import VariablePlaces
from adalog.planner.model.plan import Options, Plan
from adalog.planner.model.program import Program
from adalog.planner.order.joins import JoinPlan, plan_join, unmerged
from adalog.planner.order.projection import blank_singletons
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import check, context_of, order, scope, simplify, stratify
from adalog.planner.scope.tree import Tree
from adalog.planner.stages import CheckedQuery, StratifiedQuery


@dataclass(frozen=True, slots=True)
class Maintenance:
    """`body`: the query's, which reads its arguments from relations. `head`: the variables that tell the rows kept
    apart, FEED first where there are feeds. `constants`: of the `fixed` variables. `places`: where the values of
    its variables stand; `entities`: those that stand for entities. `rules`: the plan whose program derives the
    relations that the body reads, if there are any."""

    query: ast.Query
    fed: FedBody
    head: tuple[str, ...]
    reactions: tuple[Reaction, ...]
    constants: Mapping[str, Const | LookupRef]
    places: VariablePlaces
    entities: frozenset[str]
    rules: Plan | None = None

    @property
    def body(self) -> AndNode:
        return self.fed.body

    @property
    def weight(self) -> int:
        """About how many leaves the joins have together that a change may begin: planning them costs as much."""
        strata = () if self.rules is None else self.rules.program.strata
        sizes = [sum(1 for _ in everything(branch.body)) for stratum in strata for _, branch in stratum.rules]
        # Of a rule a body for each leaf in both directions, and three of the whole.
        of_rules = sum(size * (2 * size + 3) for size in sizes)
        return of_rules + sum(1 for each in self.reactions for _ in everything(each.body))

    @property
    def fixed(self) -> tuple[str, ...]:
        """The variables that stand for constants of rule calls."""
        return self.fed.fixed


@dataclass(frozen=True, slots=True)
class ReactionPlan:
    """A reaction with the order of its join. `given`: the variables of the first batch, whose rows came or went.
    `probes`: (relation of arguments, column, variable of the batch) for values that some feed has to ask for."""

    given: tuple[str, ...]
    join: JoinPlan
    probes: tuple[tuple[str, int, str], ...]


@dataclass(frozen=True, slots=True)
class NotMaintainable:
    """`why`: half a sentence."""

    why: str


def maintenance_of(
    query: ast.Query, statistics: Statistics, relations: frozenset[str], options: Options, moving: str
) -> Maintenance | NotMaintainable:
    """What to do when the database `moving` moves; or why that cannot be said of this query.

    Raises what planning the query raises.
    """
    why = refusal_of_find(query)
    if why is not None:
        return NotMaintainable(why)
    # Changes are a set.
    query = replace(query, order_by=())
    context = context_of(statistics, relations, options)
    checked = check(scope(query, context), context)
    moves = moving_database(moving)
    why = refusal_of_body(checked.tree.body, moves)
    if why is not None:
        return NotMaintainable(why)
    made = fed(query, checked.tree)
    rules = None
    if checked.tree.predicates:
        tree = replace(checked.tree, body=made.body, given=made.fixed)
        stratified = stratify(replace(checked, tree=tree), context)
        rules = order(simplify(stratified, context), context)
        why = refusal_of_rules(rules, frozenset((moving,))) or adds_others(rules.program, statistics.databases)
        if why:
            return NotMaintainable(why)
        made = replace(made, body=named(stratified.body, is_derived))
        moves = with_derived(moves)
    else:
        made = replace(made, body=without_single_branches(made.body))
    aggregates = query.find.has_aggregates
    # Only aggregates see what :with keeps apart.
    shown = checked.answer if aggregates else tuple(dict.fromkeys(each.var.name for each in query.find.columns))
    head = made.head_of(shown)
    entities = checked.places.entities(statistics.databases)
    found = tuple(_reactions(made, head, moves, statistics))
    return Maintenance(query, made, head, found, checked.tree.constants, checked.places, entities, rules)


def _reactions(made: FedBody, head: tuple[str, ...], moves: Moves, statistics: Statistics) -> tuple[Reaction, ...]:
    scalars = frozenset(made.scalars or ()) if FEED in head else frozenset[str]()
    dependencies = tuple(lasting_dependencies(made.body, moves, statistics))
    found = reactions(made.body, head, moves, frozenset(made.fixed), scalars, dependencies)
    return tuple(dict.fromkeys(found))


def plan_reaction(
    maintenance: Maintenance, reaction: Reaction, statistics: Statistics, options: Options, *, is_sure: bool
) -> ReactionPlan:
    """The order in which to join the rows that changed with the rest. `is_sure`: without the check, where what it
    depends on stayed as it was."""
    changed = tuple(dict.fromkeys(term for term in reaction.changed.terms if isinstance(term, str)))
    given = (*changed, *(name for name in maintenance.fixed if name not in changed))
    needed = frozenset(maintenance.head)
    body = reaction.body
    if is_sure:
        assert reaction.sure is not None
        body = reaction.sure
    # Kept facts are looked up whole.
    if options.project and maintenance.rules is None:
        body = blank_singletons(body, needed.union(given))
    join = plan_join(body, given, needed, statistics, options)
    return ReactionPlan(given, replace(join, levels=unmerged(join.levels)), tuple(_probes(body, changed)))


def _probes(body: AndNode, changed: tuple[str, ...]) -> Iterator[tuple[str, int, str]]:
    return (each for each in argument_columns(body) if each[2] in changed)


def argument_columns(body: AndNode) -> Iterator[tuple[str, int, str]]:
    """(relation of arguments, column, variable) for each variable that has the value of an argument in every
    solution."""
    for item in body.items:
        if isinstance(item, RelationAtom) and item.terms[:1] == (FEED,):
            for place, term in enumerate(item.terms[1:], 1):
                if isinstance(term, str):
                    yield item.relation, place, term


# Groups of an aggregate, computed again


def keys_of(maintenance: Maintenance) -> tuple[str, ...]:
    """The variables that tell groups apart, FEED first where there are feeds."""
    elements = maintenance.query.find.columns
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
