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

from datalog.aggregates import WEIGHTED, aggregate
from datalog.ast import FindAggregate, FindElement
from datalog.errors import AdalogError
from executor import group_kernels
from executor.batch import Batch, Column, check_total, stack
from executor.sum_kernels import exact_sums
from planner.logical import WEIGHT
from store.codes import Scratch
from store.layout import LONG_MAX, LONG_MIN, TAG_DOUBLE, TAG_FLOAT, tags_of

# Sums of longs below this cannot wrap around.
_EXACT = 1 << 62
# Every integer up to here is a double.
_DOUBLE = 1 << 53


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
        return values.intern_many(numbers.tolist())
    return numbers


def _doubles(numbers: NDArray[np.float64], values: Scratch) -> Column:
    return values.intern_many(numbers.tolist())


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
    return _doubles(_quotients(total, group_kernels.sum_by_group(group, weight, groups.count)), values)


def _quotients(dividend: NDArray[np.int64], divisor: NDArray[np.int64]) -> NDArray[np.float64]:
    """The doubles nearest to the quotients."""
    quotients = dividend / divisor
    # NumPy would round integers of more than 53 bits before it divides them.
    for i in np.flatnonzero((np.abs(dividend) > _DOUBLE) | (divisor > _DOUBLE)).tolist():
        quotients[i] = int(dividend[i]) / int(divisor[i])
    return quotients


def _on_doubles(element: FindAggregate, codes: Column, groups: Groups) -> Column | None:
    if element.args or element.name not in ("sum", "avg"):
        return None
    tags = tags_of(codes)
    if not ((tags == TAG_DOUBLE) | (tags == TAG_FLOAT)).all():
        return None
    where, firsts = group_kernels.group_rows(stack((codes,)))
    numbers = _as_doubles(codes[firsts], groups.values)[where]
    average = element.name == "avg"
    return _doubles(exact_sums(numbers, groups.group, groups.weight, groups.count, average), groups.values)


def _as_doubles(codes: Column, values: Scratch) -> NDArray[np.float64]:
    """The numbers of doubles and floats."""
    if (tags_of(codes) == TAG_DOUBLE).all():
        return values.doubles(codes)
    return np.array(values.decode_many(codes), np.float64)


def _by_values(element: FindAggregate, codes: Column, groups: Groups) -> Column:
    group, weight, values = groups.group, groups.weight, groups.values
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=groups.count))
    decoded = values.decode_many(codes[order])
    repeats = weight[order]
    weighty = element.name in WEIGHTED and bool((repeats != 1).any())
    arguments = [argument.value for argument in element.args]
    results: list[Any] = []
    start = 0
    for end in ends.tolist():
        weights = repeats[start:end].tolist() if weighty else None
        try:
            results.append(aggregate(element.name, arguments, decoded[start:end], weights))
        except AdalogError as error:
            raise AdalogError(error.code, error.message, error.position or element.position) from error
        start = end
    return values.intern_many(results)
