"""Aggregates over groups of distinct tuples, on columns where numbers allow it.

Weights say how many tuples a row stands for. What has no columnar form is left to `datalog.aggregates`, group by
group, on decoded values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from datalog.aggregates import aggregate
from datalog.ast import FindAggregate, FindElement
from datalog.errors import AdalogError
from executor import group_kernels
from executor.batch import Batch, Column, check_total, stack
from planner.logical import WEIGHT
from store.codes import Scratch
from store.layout import LONG_MAX, LONG_MIN, TAG_DOUBLE, tags_of

_EXACT = 1 << 62


@dataclass(frozen=True, slots=True)
class Groups:
    """Per row its group and its weight, int64[n]; the number of groups."""

    group: NDArray[np.int64]
    weight: NDArray[np.int64]
    count: int
    values: Scratch


def aggregated(rows: Batch, elements: Sequence[FindElement], values: Scratch) -> list[Column]:
    """One code column for each find element, a row for each group; none where there are no tuples."""
    if not rows.size:
        return [np.empty(0, np.int64) for _ in elements]
    plain = [element.var.name for element in elements if not isinstance(element, FindAggregate)]
    if plain:
        group, first = group_kernels.group_rows(stack(rows.columns[name] for name in plain))
    else:
        group, first = np.zeros(rows.size, np.int64), np.zeros(1, np.int64)
    weight = rows.columns.get(WEIGHT)
    if weight is not None:
        check_total(weight)
    groups = Groups(group, np.ones(rows.size, np.int64) if weight is None else weight, len(first), values)
    made: list[Column] = []
    for element in elements:
        if not isinstance(element, FindAggregate):
            made.append(rows.columns[element.var.name][first])
        elif element.name == "count":
            made.append(_count(groups))  # its variable may have been dropped: the weights are left
        else:
            made.append(_one(element, rows.columns[element.var.name], groups))
    return made


def _count(groups: Groups) -> Column:
    return _longs(group_kernels.sum_by_group(groups.group, groups.weight, groups.count), groups.values)


def _one(element: FindAggregate, codes: Column, groups: Groups) -> Column:
    if element.name == "count-distinct":
        _pairs, firsts = group_kernels.group_rows(stack((groups.group, codes)))
        return np.bincount(groups.group[firsts], minlength=groups.count)
    quick = _on_longs(element, codes, groups)
    if quick is None:
        quick = _on_doubles(element, codes, groups)
    return _by_values(element, codes, groups) if quick is None else quick


def _longs(numbers: NDArray[np.int64], values: Scratch) -> Column:
    """Plain numbers as codes."""
    if numbers.size and (numbers.min() < LONG_MIN or numbers.max() > LONG_MAX):
        return np.array([values.intern(number) for number in numbers.tolist()], np.int64)
    return numbers


def _doubles(numbers: NDArray[np.float64], values: Scratch) -> Column:
    return np.array([values.intern(number) for number in numbers.tolist()], np.int64)


def _on_longs(element: FindAggregate, codes: Column, groups: Groups) -> Column | None:
    group, weight, values = groups.group, groups.weight, groups.values
    if element.args or element.name not in ("sum", "avg", "min", "max"):
        return None
    low, high = int(codes.min()), int(codes.max())
    if low < LONG_MIN or high > LONG_MAX:
        return None
    if element.name in ("min", "max"):
        return group_kernels.best_by_group(group, codes, groups.count, 1 if element.name == "min" else -1)
    if max(abs(low), abs(high)) * int(weight.sum()) >= _EXACT:
        return None
    total = group_kernels.sum_by_group(group, codes * weight, groups.count)
    if element.name == "sum":
        return _longs(total, values)
    return _doubles(total / group_kernels.sum_by_group(group, weight, groups.count), values)


def _on_doubles(element: FindAggregate, codes: Column, groups: Groups) -> Column | None:
    group, weight, values = groups.group, groups.weight, groups.values
    if element.args or element.name not in ("sum", "avg") or not (tags_of(codes) == TAG_DOUBLE).all():
        return None
    unique, inverse = np.unique(codes, return_inverse=True)
    numbers = np.array(values.decode_many(unique), np.float64)[inverse]
    total = np.zeros(groups.count, np.float64)
    np.add.at(total, group, numbers * weight)
    if element.name == "avg":
        total = total / group_kernels.sum_by_group(group, weight, groups.count)
    return _doubles(total, values)


def _by_values(element: FindAggregate, codes: Column, groups: Groups) -> Column:
    group, weight, values = groups.group, groups.weight, groups.values
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=groups.count))
    decoded = values.decode_many(codes[order])
    repeats = weight[order]
    weighty = element.name in ("sum", "avg", "variance", "stddev", "median") and bool((repeats != 1).any())
    arguments = [argument.value for argument in element.args]
    results: list[Any] = []
    start = 0
    for end in ends.tolist():
        members = decoded[start:end]
        if weighty:
            members = [v for v, n in zip(members, repeats[start:end].tolist(), strict=True) for _ in range(n)]
        try:
            results.append(aggregate(element.name, arguments, members))
        except AdalogError as error:
            raise AdalogError(error.code, error.message, error.position or element.position) from error
        start = end
    return np.array([values.intern(result) for result in results], np.int64)
