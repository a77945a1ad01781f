"""From the distinct tuples of a query's variables to the columns of its answer, in no order yet.

For answers of whole queries and of queries within queries. Behind the columns of `:find` stand those that only
order rows (`Query.order_elements`): the caller drops them when the rows are in order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adalog.datalog.ast import FindAggregate, FindElement, FindVar, Query, Var
from adalog.executor.answer.aggregates import aggregated
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.join.batch import Batch, Column
from adalog.store.values.codes import Scratch


def answer_columns(
    query: Query, rows: Batch, values: Scratch, cancel: Cancel, apart: str | None = None
) -> list[Column]:
    """`apart`: a column of rows that are shown in front, and are answers of their own for each of its values."""
    front = () if apart is None else (FindVar(Var(apart)),)
    elements: tuple[FindElement, ...] = (*front, *query.find.elements)
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
        return aggregated(rows, elements, values, cancel)
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


def order_keys(query: Query, first: int = 0) -> list[tuple[int, bool]]:
    """(column of `answer_columns`, whether descending) for each term of `:order-by`. `first`: of its columns."""
    elements = query.find.elements
    outside = iter(range(len(elements), len(elements) + len(query.order_by)))
    return [
        (first + (next(outside) if key.outside else place_of(elements, key.var.name)), key.descending)
        for key in query.order_by
    ]


def place_of(elements: Sequence[FindElement], label: str) -> int:
    """Which of the elements is written so, or else pulls the variable of that name."""
    labels = [element.label for element in elements]
    return labels.index(label) if label in labels else [element.var.name for element in elements].index(label)
