"""A query that shows some of its rows only: all of its rows, and the pages that its rows in order are cut into.

For live queries, which keep a window of rows up to date by the rows that enter and leave the whole. The columns of
these queries are those of `:find`, and behind them what orders rows and is not shown, in the order of its terms.
Queries that show the same rows by different pulls have one query of rows, whose entities are plain columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from adalog.datalog import ast
from adalog.datalog.ast import (
    BindingInput,
    Expression,
    FindColumn,
    FindElement,
    FindExpression,
    FindPull,
    FindVar,
    Input,
    OrderKey,
    Query,
    Var,
)
from adalog.datalog.errors import AdalogError
from adalog.datalog.names import names_in, sources_in, targets
from adalog.planner.model.places import VariablePlace
from adalog.planner.scope.outline import Outline, outline_of

# Outlines of which that of their rows is remembered.
_REMEMBERED = 256


def keeps_rows(query: Query) -> bool:
    """Whether the rows that are shown, or what they show, are others than the whole has."""
    return query.is_limited or any(isinstance(element, FindPull) for element in query.find.elements)


@lru_cache(_REMEMBERED)
def outline_of_rows(outline: Outline) -> Outline:
    """The outline of the rows that a query shows, whatever it pulls of them; the same one where its rows cannot be
    told from what it shows, or its arguments would be read in another way."""
    query = outline.query
    if query.computes_rows or query.find.takes_numbers:
        return outline
    try:
        rows = outline_of(_rows(query), outline.relations)
    except AdalogError:
        # What binds a variable is a pull's.
        return outline
    return rows if _readings(rows) == _readings(outline, rows.query.inputs) else outline


@lru_cache(_REMEMBERED)
def rows_key(outline: Outline) -> str | None:
    """Equal for queries with the same query of rows; None for one that has none. Nodes that are equal may have
    constants that are written and shown in different ways, such as 0.0 and -0.0."""
    rows = outline_of_rows(outline)
    return None if rows is outline else repr(rows.query)


def columns_in_rows(outline: Outline) -> tuple[int, ...]:
    """The columns of the rows of a query that the elements of its `:find` show."""
    elements, rows = outline.query.find.elements, outline_of_rows(outline)
    if rows is outline:
        return tuple(range(len(elements)))
    return tuple(rows.query.find.elements.index(_row_element(element)) for element in elements)


def _rows(query: Query) -> Query:
    find = query.find
    elements = tuple(dict.fromkeys(map(_row_element, find.elements)))
    labels = [element.label for element in find.elements]
    order = tuple(
        key
        if key.outside or key.var.name not in labels
        else replace(key, var=Var(_row_element(find.elements[labels.index(key.var.name)]).label))
        for key in query.order_by
    )
    return replace(
        query,
        find=ast.Find(elements, hidden=find.hidden),
        inputs=tuple(_row_inputs(query)),
        order_by=order if query.is_limited else (),
        limit=1 if query.limit is None and find.takes_one else query.limit,
        args=(),
    )


def _row_element(element: FindElement) -> FindElement:
    return FindVar(element.var) if isinstance(element, FindPull) else element


def _row_inputs(query: Query) -> Iterator[Input]:
    """All but those that pulls alone take."""
    used = {
        *names_in(query.where, inside_not=True),
        *(var.name for var in query.with_),
        *(column.var.name for column in (*query.find.columns, *query.order_elements)),
        *(number.name for number in (query.limit, query.offset) if isinstance(number, Var)),
    }
    read = {*sources_in(query.where), *(name for rule in query.rules for name in sources_in(rule.clauses))}
    for each in query.inputs:
        if isinstance(each, ast.SourceInput) and each.owner is not None and each.name not in read:
            continue
        binding = each.binding if isinstance(each, BindingInput) else None
        if not isinstance(binding, ast.ScalarBinding) or any(
            not isinstance(target, Var) or target.name in used for target in targets(binding)
        ):
            yield each


def _readings(outline: Outline, inputs: tuple[Input, ...] | None = None) -> list[tuple[VariablePlace, ...]]:
    """How the arguments of some inputs are read: the places of their variables, or of their columns."""
    found: list[tuple[VariablePlace, ...]] = []
    columns = outline.places.columns
    for place, each in enumerate(outline.query.inputs):
        if inputs is not None and each not in inputs:
            continue
        if isinstance(each, ast.SourceInput) and each.of_guards:
            # Read in guards alone, which no pull changes.
            continue
        name = each.name if isinstance(each, ast.SourceInput) else f"in {place}"
        named = targets(each.binding) if isinstance(each, BindingInput) else ()
        found += (outline.places.variables.get(target.name, ()) for target in named if isinstance(target, Var))
        found += (places for (relation, _), places in sorted(columns.items(), key=_column) if relation == name)
    return found


def _column(item: tuple[tuple[str, int], object]) -> tuple[str, int]:
    return item[0]


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
