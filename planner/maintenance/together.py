"""The plan that answers a query for many tuples of arguments at once: they are relations, FEED tells them apart.

As in a view (`planner.maintenance.feeds`), but for a whole answer at one moment instead of what changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adalog.datalog import ast
from adalog.planner.maintenance.feeds import FEED, fed
from adalog.planner.model.plan import Options, Plan
from adalog.planner.order.statistics import Statistics
from adalog.planner.passes import check, context_of, order, scope, simplify, stratify


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
