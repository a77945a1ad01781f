"""From the distinct tuples of a query's variables to the columns of its answer, in no order yet.

For answers of whole queries and of queries within queries. Behind the columns of `:find` stand those that only
order rows: the caller drops them when the rows are in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from adalog.datalog.aggregates import GREATEST, LEAST
from adalog.datalog.ast import (
    Const,
    Expression,
    FindAggregate,
    FindColumn,
    FindElement,
    FindExpression,
    FindVar,
    OrderKey,
    Query,
    Source,
    Var,
)
from adalog.executor.answer.aggregates import aggregated
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.expressions.binding import CallBinding
from adalog.executor.expressions.calls import Results
from adalog.executor.expressions.conditionals import truthy
from adalog.executor.join.batch import Batch, Column
from adalog.planner.model.call_tree import CallTree
from adalog.planner.model.leaf import Term
from adalog.planner.scope.resolve import plain_value
from adalog.store.values.codes import Scratch


def answer_columns(
    query: Query,
    rows: Batch,
    values: Scratch,
    cancel: Cancel,
    apart: str | None = None,
    late: Mapping[str, Results] | None = None,
) -> list[Column]:
    """`apart`: a column of rows that are shown in front, and are answers of their own for each of its values.
    `late`: as of `aggregated`, without `order_elements`."""
    front = () if apart is None else (FindVar(Var(apart)),)
    columns = _group_columns(query, (*front, *query.find.columns), rows, values, cancel, late)
    if not query.computes_rows:
        return columns
    first, last = len(front), len(columns) - len(query.order_elements)
    kept, shown = computed_rows(query, columns[first:last], columns[last:], values, cancel)
    shown = [*(column[kept] for column in columns[:first]), *shown]
    return (
        _distinct(shown, first + len(query.find.elements), query, values, cancel)
        if query.find.hides_keys
        else shown
    )


def _group_columns(
    query: Query,
    elements: tuple[FindColumn, ...],
    rows: Batch,
    values: Scratch,
    cancel: Cancel,
    late: Mapping[str, Results] | None,
) -> list[Column]:
    """The columns of groups, or of tuples where there are no aggregates; behind them those of `order_elements`."""
    ordering = query.order_elements
    names = dict.fromkeys(each.var.name for each in elements) | dict.fromkeys(each.name for each in query.with_)
    if not any(isinstance(element, FindAggregate) for element in elements):
        if ordering:
            return aggregated(rows, (*elements, *ordering), values, cancel)
        shown = [element.var.name for element in elements]
        if query.with_ and set(names) != set(shown):
            # :with keeps apart only what aggregates see; the rows shown are a set again.
            rows = rows.only(frozenset(shown)).distinct(cancel.check)
        return [rows.columns[name] for name in shown]
    if not ordering:
        return aggregated(rows, elements, values, cancel, late)
    # Aggregates run over the tuples of :find and :with alone.
    plain = tuple(element for element in elements if not isinstance(element, FindAggregate))
    orders = aggregated(rows, (*plain, *ordering), values, cancel)
    few = rows.only(frozenset(names)).distinct(cancel.check)
    columns = aggregated(few, elements, values, cancel)
    keys = [column for column, each in zip(columns, elements, strict=True) if not isinstance(each, FindAggregate)]
    own, other = _groups(keys), _groups(orders[: len(plain)])
    return [*(column[own] for column in columns), *(column[other] for column in orders[len(plain) :])]


def _groups(keys: Sequence[Column]) -> Column | slice:
    """The order of groups by their keys; without keys there is one group."""
    return np.lexsort(tuple(keys)) if keys else slice(None)


# What is computed from the columns of groups


@dataclass(frozen=True, slots=True)
class _Running:
    run: QueryRun


def computed_rows(
    query: Query, columns: Sequence[Column], ordering: Sequence[Column], values: Scratch, cancel: Cancel
) -> tuple[Column, list[Column]]:
    """(the places of the groups that `:having` keeps, what is shown of them and orders them). `columns`: of
    `find.columns`. `ordering`: of `order_elements`."""
    labels = {each.label: place for place, each in reversed(list(enumerate(query.find.columns)))}
    running = _Running(QueryRun(values, cancel))
    places = np.arange(len(columns[0]))
    groups = Batch(len(places), {str(place): column for place, column in enumerate(columns)})
    for condition in query.having:
        mask = truthy(_computed(condition, labels, groups, running))
        groups, places = groups.keep(mask), places[mask]

    def computed(given: Var | Expression) -> Column:
        if isinstance(given, Var):
            return groups.columns[str(labels[given.name])]
        return _computed(given, labels, groups, running)

    shown = [
        computed(each.expression if isinstance(each, FindExpression) else Var(each.label))
        for each in query.find.elements
    ]
    outside = iter(ordering)
    for key in query.order_by:
        if key.outside:
            shown.append(next(outside)[places])
        elif key.by is not None:
            shown.append(computed(key.by))
    return places, shown


def _computed(expression: Expression, labels: Mapping[str, int], groups: Batch, running: _Running) -> Column:
    args: list[Term | Source] = []

    def tree(call: Expression) -> CallTree:
        parts: list[int | CallTree] = []
        for each in call.args:
            if isinstance(each, Expression):
                parts.append(tree(each))
                continue
            assert isinstance(each, Var | Const)
            parts.append(len(args))
            args.append(str(labels[each.name]) if isinstance(each, Var) else each)
        return CallTree(call.name, tuple(parts), call.position)

    whole, values = tree(expression), running.run.values
    calls = CallBinding(args, lambda term: values.intern(plain_value(term)), _no_database, running)
    return calls.results(whole).results(groups)


def _no_database(source: str) -> NoReturn:
    raise AssertionError(f"the parser refuses calls over groups that look into {source}")


def _distinct(columns: Sequence[Column], shown: int, query: Query, values: Scratch, cancel: Cancel) -> list[Column]:
    """Each row once: groups whose keys are hidden may show the same. Of what orders equal rows the end that comes
    first."""
    keys = [key for key in query.order_by if _is_behind(key)]
    ends = [GREATEST if key.descending else LEAST for key in keys]
    elements: list[FindColumn] = [FindVar(Var(str(place))) for place in range(shown)]
    for place, end in enumerate(ends, shown):
        elements.append(FindAggregate(end, (), Var(str(place)), may_be_nil=True))
    return aggregated(Batch.of(columns), elements, values, cancel) if len(columns[0]) else list(columns)


def order_keys(query: Query, first: int = 0) -> list[tuple[int, bool]]:
    """(column of `answer_columns`, whether descending) for each term of `:order-by`. `first`: of its columns."""
    elements = query.find.elements
    behind = iter(range(len(elements), len(elements) + len(query.order_by)))
    return [
        (first + (next(behind) if _is_behind(key) else place_of(elements, key.var.name)), key.descending)
        for key in query.order_by
    ]


def _is_behind(key: OrderKey) -> bool:
    return key.outside or key.by is not None


def place_of(elements: Sequence[FindElement], label: str) -> int:
    """Which of the elements is written so, or else pulls the variable of that name."""
    labels = [element.label for element in elements]
    if label in labels:
        return labels.index(label)
    return [None if isinstance(each, FindExpression) else each.var.name for each in elements].index(label)
