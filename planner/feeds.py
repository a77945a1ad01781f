"""Arguments as relations: one evaluation of a query serves all its subscribers, each with arguments of its own.

A feed is one tuple of arguments. The values of scalar inputs are a row of a relation, those of a collection or
relation input several, each with the feed's number in the column FEED; and FEED is part of every head. A query
without inputs has one feed and no such relation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adalog.datalog import ast
from adalog.planner.model.logical import AndNode, Node, RelationAtom
from adalog.planner.model.plan import Options, Plan
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import check, context_of, order, scope, simplify, stratify
from adalog.planner.scope.tree import Tree

FEED = "#feed"
SCALARS = "#in"
"""The relation of the scalar inputs of all feeds."""


@dataclass(frozen=True, slots=True)
class FedBody:
    """A body that reads its arguments from relations. `scalars`: the columns of SCALARS after FEED; None: there is
    no such relation. `collections`: the other relations of arguments. `fixed`: the variables that stand for
    constants of rule calls."""

    body: AndNode
    scalars: tuple[str, ...] | None
    collections: tuple[str, ...]
    fixed: tuple[str, ...]

    @property
    def has_feeds(self) -> bool:
        """Whether heads have a column FEED."""
        return self.scalars is not None or bool(self.collections)

    def head_of(self, shown: tuple[str, ...]) -> tuple[str, ...]:
        """The variables of the head, of which these are shown."""
        return (FEED, *shown) if self.has_feeds else shown


def fed(query: ast.Query, tree: Tree) -> FedBody:
    """The body of a query's tree with its arguments as relations."""
    scalars = tuple(name for name in tree.given if name not in tree.constants)
    fixed = tuple(name for name in tree.given if name in tree.constants)
    bindings = {i: each.binding for i, each in enumerate(query.inputs) if isinstance(each, ast.BindingInput)}
    several = ast.CollectionBinding | ast.RelationBinding
    # Those that only queries in pull patterns take are no part of the body.
    read = {item.relation for item in tree.body.items if isinstance(item, RelationAtom)}
    named = (f"in {place}" for place, binding in bindings.items() if isinstance(binding, several))
    collections = [name for name in named if name in read]
    items: list[Node] = []
    for item in tree.body.items:
        if isinstance(item, RelationAtom) and item.relation in collections:
            item = replace(item, terms=(FEED, *item.terms))
        items.append(item)
    wanted = bool(scalars) or len(collections) < len(bindings)
    if wanted:
        items.insert(0, RelationAtom(SCALARS, (FEED, *scalars), given=True))
    return FedBody(AndNode(tuple(items)), scalars if wanted else None, tuple(collections), fixed)


@dataclass(frozen=True, slots=True)
class FeedsPlan:
    """`plan`: its rows show FEED before what the query shows. `scalars`: the columns of SCALARS after FEED; None:
    there is no such relation."""

    plan: Plan
    scalars: tuple[str, ...] | None


def plan_together(
    query: ast.Query, statistics: Statistics, relations: frozenset[str], options: Options
) -> FeedsPlan:
    """The plan of a query that is maintained and takes arguments. `statistics`: with the sizes of the relations of
    arguments.

    Raises what planning the query raises.
    """
    context = context_of(statistics, relations, options)
    checked = check(scope(query, context), context)
    made = fed(query, checked.tree)
    assert made.has_feeds, "a query without arguments is asked once"
    # FEED is shown, so that it is no variable that an aggregate only counts.
    find = replace(query.find, elements=(ast.FindVar(ast.Var(FEED)), *query.find.elements))
    tree = replace(checked.tree, body=made.body, given=made.fixed)
    checked = replace(checked, query=replace(query, find=find), tree=tree, answer=made.head_of(checked.answer))
    return FeedsPlan(order(simplify(stratify(checked, context), context), context), made.scalars)
