"""What a task leaves out of its rows because the answer cannot need it: order with a limit, and aggregates.

The driver shapes the rows of all tasks exactly as it would shape those of one process, and comes to the same
answer: of rows in order no more than the limit can be shown, and a group needs only a few rows that have its least
and greatest values, its sum, and its weight between them. What has no such form (`median`, `count-distinct`, exact
sums of doubles) is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.aggregates import COMBINABLE, Reduction
from adalog.datalog.ast import FindAggregate, FindColumn
from adalog.executor.answer.columns import order_keys
from adalog.executor.answer.result import sorted_rows
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.join.batch import Batch, Column, check_total, stack
from adalog.executor.kernels import group_kernels
from adalog.planner.model.plan import Plan
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import LONG_MAX, LONG_MIN

# Sums below this are codes of longs, and cannot wrap around.
_EXACT: Final = 1 << 58


def combined(plan: Plan, rows: Batch, values: Scratch, cancel: Cancel, *, ordered: bool) -> Batch:
    """Rows that the answer comes to as it does to these; the same columns, besides weights, in every task."""
    if plan.weighted:
        rows = rows.distinct(cancel.check)
    elements = plan.query.find.columns
    if any(isinstance(element, FindAggregate) for element in elements):
        if plan.query.order_elements:
            return rows
        return _by_group(plan, rows, elements, cancel)
    return rows if plan.weighted else _first(plan, rows, elements, values, cancel, ordered=ordered)


def _first(
    plan: Plan, rows: Batch, elements: Sequence[FindColumn], values: Scratch, cancel: Cancel, *, ordered: bool
) -> Batch:
    query = plan.query
    stop = query.window[1]
    # What only orders rows is the least or greatest value of several, which may be of several tasks.
    if stop is None or query.order_elements or not (query.order_by or ordered):
        return rows
    names = [element.var.name for element in elements]
    # :with keeps apart only what aggregates see.
    rows = rows.only(frozenset(names)).distinct(cancel.check)
    if rows.size <= stop:
        return rows
    order = sorted_rows([rows.columns[name] for name in names], values, order_keys(query), stop, cancel)
    return rows.take(order[:stop])


def _by_group(plan: Plan, rows: Batch, elements: Sequence[FindColumn], cancel: Cancel) -> Batch:
    """A few rows for each group. They are rows that were there. The first two of a group share its weight, and its
    sums are in the first; where rows of different tasks may be the same one, neither is known, and only least and
    greatest values are."""
    aggregates = [element for element in elements if isinstance(element, FindAggregate)]
    reductions = {element.reduction for element in aggregates}
    additive = plan.weighted or not plan.distinct
    counted = bool(reductions & {Reduction.COUNT, Reduction.MEAN})
    if counted and additive and rows.weight is None:
        rows = Batch(rows.size, rows.columns, rows.weights())
    summed = {element.var.name for element in aggregates if element.reduction in (Reduction.SUM, Reduction.MEAN)}
    bounded = {element.var.name for element in aggregates if element.reduction is Reduction.BEST}
    plain = [element.var.name for element in elements if not isinstance(element, FindAggregate)]
    if (
        not rows.size
        or not reductions <= COMBINABLE
        or (not additive and reductions - {Reduction.BEST})
        or summed & (bounded | set(plain))
        or not all(_are_longs(rows.columns[name]) for name in summed | bounded)
    ):
        return rows
    weight = rows.weights()
    check_total(weight)
    if any(_largest(rows.columns[name]) * int(weight.sum()) >= _EXACT for name in summed):
        return rows
    if plain:
        group, first = group_kernels.group_rows(stack(rows.columns[name] for name in plain), cancel.check)
    else:
        group, first = np.zeros(rows.size, np.int64), np.zeros(1, np.int64)
    if 2 * len(first) > rows.size:
        return rows
    kept = _kept(rows, group, first, aggregates)
    if not summed and not counted:
        return rows.take(kept)
    return _with_totals(rows, kept, group, first, summed, weight)


def _kept(
    rows: Batch, group: NDArray[np.int64], first: NDArray[np.int64], aggregates: Iterable[FindAggregate]
) -> NDArray[np.int64]:
    """The rows to keep: of each group the first two, and one for each bound."""
    groups = len(first)
    marks = np.zeros(rows.size, np.bool_)
    marks[first] = True
    others = np.flatnonzero(~marks)
    marks[others[_firsts(group[others], groups)]] = True
    for element in aggregates:
        if element.reduction is Reduction.BEST:
            column = rows.columns[element.var.name]
            best = group_kernels.best_by_group(group, column, groups, -element.known.better)
            attained = np.flatnonzero(column == best[group])
            marks[attained[_firsts(group[attained], groups)]] = True
    return np.flatnonzero(marks)


def _with_totals(
    rows: Batch,
    kept: NDArray[np.int64],
    group: NDArray[np.int64],
    first: NDArray[np.int64],
    summed: Iterable[str],
    weight: Column,
) -> Batch:
    groups = len(first)
    few, its = rows.take(kept), group[kept]
    one = np.searchsorted(kept, first)
    rest = np.ones(len(kept), np.bool_)
    rest[one] = False
    # A group of one row stands for itself.
    several = np.bincount(its, minlength=groups) > 1
    for name in summed:
        column = rows.columns[name]
        made = np.where(several[its], 0, few.columns[name])
        made[one] = np.where(several, group_kernels.sum_by_group(group, column * weight, groups), made[one])
        few = few.having(name, made)
    if few.weight is not None:
        second = np.flatnonzero(rest)
        second = second[_firsts(its[second], groups)]
        made = np.where(several[its], 1, few.weight)
        total = group_kernels.sum_by_group(group, weight, groups)
        members = np.bincount(its, minlength=groups)
        made[second] = (total - members + 1)[its[second]]
        few = Batch(few.size, few.columns, made)
    return few


def _firsts(groups: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The place at which each group that is there comes first."""
    places = np.full(count, len(groups), np.int64)
    np.minimum.at(places, groups, np.arange(len(groups)))
    return places[places < len(groups)]


def _are_longs(codes: Column) -> bool:
    return bool(codes.min() >= LONG_MIN and codes.max() <= LONG_MAX)


def _largest(codes: Column) -> int:
    return max(abs(int(codes.min())), abs(int(codes.max())))
