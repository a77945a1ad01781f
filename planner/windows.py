"""A query that shows some of its rows only: all of its rows, and the pages that its rows in order are cut into.

For live queries, which keep a window of rows up to date by the rows that enter and leave the whole. The columns of
these queries are those of `:find`, and behind them what orders rows and is not shown, in the order of its terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from adalog.datalog import ast
from adalog.datalog.ast import Expression, FindColumn, FindElement, FindExpression, OrderKey, Query, Var


def refusal_of_window(query: Query) -> str | None:
    """Why the rows of a query are not those of one query, without its order and its window; half a sentence."""
    find = query.find
    if find.hides_keys:
        return "groups may show equal rows, since their keys are hidden"
    if find.has_aggregates and any(key.outside for key in query.order_by):
        return "it orders groups by a variable that is no column of them"
    return None


def all_rows(query: Query) -> Query:
    """The query that shows all rows of which this one shows some, as a set."""
    find = query.find
    if query.is_limited:
        behind = tuple(_behind(query))
        moved = {each.label for each in behind}
        hidden = tuple(each for each in find.hidden if each.label not in moved)
        elements = (*find.elements, *behind)
        find = replace(find, elements=elements, shape="relation", keys=None, hidden=hidden)
    whole = replace(query, find=find, order_by=(), limit=None, offset=0)
    if find.hidden and not find.hides_keys and not whole.computes_rows:
        # Nothing is computed any more from what was hidden.
        whole = replace(whole, find=replace(find, hidden=()))
    return whole


def page_of(query: Query, start: int, stop: int | None) -> Query:
    """The rows number `start` to `stop` of all rows of a query, in its order."""
    whole = all_rows(query)
    behind = (each.label for each in whole.find.elements[len(query.find.elements) :])
    keys = tuple(
        OrderKey(Var(next(behind)) if key.outside or key.by is not None else key.var, key.descending)
        for key in query.order_by
    )
    return replace(whole, order_by=keys, limit=None if stop is None else stop - start, offset=start)


def _behind(query: Query) -> Iterator[FindElement]:
    columns: dict[str, FindColumn] = {each.label: each for each in query.find.columns}
    outside = iter(query.order_elements)
    for number, key in enumerate(query.order_by):
        if key.outside:
            yield next(outside)
        elif isinstance(key.by, Expression):
            yield FindExpression(key.by, f"order {number}")
        elif isinstance(key.by, ast.Var):
            yield columns[key.by.name]
