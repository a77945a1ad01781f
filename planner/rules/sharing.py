"""How a query with rules is shared out: the values of one variable, a part of them for each task.

A task answers the query for its values alone, rules included: they bind an argument, so that magic sets keep each
fixpoint to its share. Any rows are right that way; a good variable is one that a rule is called with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from adalog.planner.model.logical import AndNode, DatomAtom, Node, RelationAtom, RuleAtom, variables
from adalog.planner.model.plan import Options
from adalog.planner.model.program import RulePlan, RulePredicate, ShareVariable
from adalog.planner.order.joins import plan_join
from adalog.planner.order.projection import blank_singletons
from adalog.planner.order.statistics import Statistics
from adalog.planner.scope.tree import Tree

SHARE = "in share"
"""The relation of the values that a task was given."""


def shared_out(tree: Tree, statistics: Statistics, options: Options) -> tuple[Tree, ShareVariable] | None:
    """The query restricted to a share of one variable's values; None where no variable is known to be enough."""
    for variable, bodies in _candidates(tree):
        domain = tuple(_planned(variable, name, body, tree, statistics, options) for name, body in bodies)
        share = RelationAtom(SHARE, (variable,), given=True)
        return replace(tree, body=AndNode((share, *tree.body.items))), ShareVariable(variable, domain)
    return None


def _planned(
    variable: str, name: str, body: AndNode, tree: Tree, statistics: Statistics, options: Options
) -> RulePlan:
    given = tuple(each for each in (*tree.given, *tree.constants) if each in variables(body))
    body = blank_singletons(body, frozenset((name, *given))) if options.project else body
    plan = plan_join(body, given, frozenset((name,)), statistics, options)
    return RulePlan(variable, (name,), plan.body, given, plan.levels)


def _candidates(tree: Tree) -> Iterator[tuple[str, list[tuple[str, AndNode]]]]:
    """Variables that rules are called with, each with (name, body) of joins for its values: the best first."""
    calls = [item for item in tree.body.items if isinstance(item, RuleAtom)]
    predicates = {each.name: each for each in tree.predicates}
    later: list[tuple[str, list[tuple[str, AndNode]]]] = []
    for call in calls:
        for place, term in enumerate(call.terms):
            if not isinstance(term, str) or term in tree.given or predicates[call.rule].aggregates[place]:
                continue
            plain = _binding(term, tree.body.items)
            if plain.items:
                yield term, [(term, plain)]
                continue
            found = _of_rule(predicates[call.rule], place)
            if found is not None:
                later.append((term, found))
    yield from later


def _binding(name: str, items: Iterable[Node]) -> AndNode:
    """The data patterns and relations among the items that hold the variable."""
    return AndNode(
        tuple(item for item in items if isinstance(item, DatomAtom | RelationAtom) and name in variables(item))
    )


def _of_rule(predicate: RulePredicate, place: int) -> list[tuple[str, AndNode]] | None:
    """Joins for the values that a rule can have in one place; None where some branch does not tell."""
    found: list[tuple[str, AndNode]] = []
    for branch in predicate.branches:
        name = branch.head[place]
        body = _binding(name, branch.body.items)
        if body.items:
            found.append((name, body))
        # The value may come from the same place of the rule itself.
        elif not any(
            isinstance(item, RuleAtom) and item.rule == predicate.name and item.terms[place] == name
            for item in branch.body.items
        ):
            return None
    return found
