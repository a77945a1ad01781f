"""Aggregates over groups of distinct tuples, on columns where numbers allow it.

Weights say how many tuples a row stands for. What has no columnar form is left to `datalog.aggregates`, group by
group, on decoded values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.aggregates import Reduction, aggregate
from adalog.datalog.ast import FindAggregate, FindColumn
from adalog.datalog.builtins.arithmetic import quotient_of_decimals
from adalog.datalog.errors import AdalogError
from adalog.datalog.watched import WatchedList
from adalog.executor.answer.decoding import decoded
from adalog.executor.answer.grouping import grouped_rows
from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.expressions.calls import Call, Results
from adalog.executor.expressions.decimals import ScaledDecimals, decimals_of
from adalog.executor.expressions.number_columns import NumberColumns
from adalog.executor.expressions.wide_decimals import WideDecimals, decimal_of
from adalog.executor.join.batch import Batch, Column, check_total, stack
from adalog.executor.kernels import group_kernels
from adalog.executor.kernels.sum_kernels import exact_sums
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import LONG_MAX, LONG_MIN, NIL, TAG_BIGDEC, TAG_DOUBLE, TAG_FLOAT, one_tag, tags_of

# Sums of longs below this cannot wrap around.
_EXACT = 1 << 62
# Every integer up to here is a double.
_DOUBLE = 1 << 53
# Bytes for each row: to number rows by group, to sum doubles beside that, and to bring values into the order of
# their groups. And for each value that a collection made of them holds, its place in the collection and in the key
# that the collection is known by.
_NUMBERING = 64
_SUMMING = 32
_GROUPING = 48
_ITEM = 48
# Values that are gone through between two looks at the deadline; a group by itself is worth so many.
_WORK = 1 << 14
_GROUP = 16


@dataclass(frozen=True)
class Groups:
    """Per row its group, int64[n], and its weight, or None where each counts once; the number of groups."""

    group: NDArray[np.int64]
    weights: NDArray[np.int64] | None
    count: int
    values: Scratch
    cancel: Cancel
    numbers: NumberColumns

    @cached_property
    def weight(self) -> NDArray[np.int64]:
        """int64[n]"""
        return np.ones(len(self.group), np.int64) if self.weights is None else self.weights

    @cached_property
    def weighs(self) -> bool:
        """Whether a row counts more or less than once."""
        return self.weights is not None and bool((self.weights != 1).any())


def aggregated(
    rows: Batch,
    elements: Sequence[FindColumn],
    values: Scratch,
    cancel: Cancel,
    late: Mapping[str, Results] | None = None,
) -> list[Column]:
    """One code column for each find element, a row for each group; none where there are no tuples. `late`: what
    gives the values of variables that the rows do not have. What is needed is drawn from the query's budget before
    it is made."""
    if not rows.size:
        return [np.empty(0, np.int64) for _ in elements]
    # A column for each element: of the codes to group by, or of numbers.
    with Held(cancel.budget, (_NUMBERING + 8 * len(elements)) * rows.size):
        return _aggregated(rows, elements, values, cancel, late or {})


def _aggregated(
    rows: Batch, elements: Sequence[FindColumn], values: Scratch, cancel: Cancel, late: Mapping[str, Results]
) -> list[Column]:
    plain = [element.var.name for element in elements if not isinstance(element, FindAggregate)]
    if plain:
        group, first = grouped_rows((rows.columns[name] for name in plain), cancel.check)
    else:
        group, first = np.zeros(rows.size, np.int64), np.zeros(1, np.int64)
    if rows.weight is not None:
        check_total(rows.weight)
    groups = Groups(group, rows.weight, len(first), values, cancel, NumberColumns(values, cancel.check))
    made: list[Column] = []
    for element in elements:
        cancel.check()
        if not isinstance(element, FindAggregate):
            made.append(rows.columns[element.var.name][first])
        elif element.known.better and not element.args and not element.known.of_pairs and len(first) == rows.size:
            # The best of one value is that value.
            made.append(rows.columns[element.var.name][first])
        elif element.reduction is Reduction.COUNT:
            # Its variable may have been dropped: the weights are left.
            made.append(_longs(group_kernels.sum_by_group(groups.group, groups.weight, groups.count), values))
        elif element.var.name in late:
            made.append(_of_call(element, late[element.var.name], rows, groups))
        else:
            made.append(_one(element, rows.columns[element.var.name], groups))
    return made


def _of_call(element: FindAggregate, call: Results, rows: Batch, groups: Groups) -> Column:
    """A sum or a mean of what a call gives: without codes where these are bigdecs or doubles."""
    with Held(groups.cancel.budget, (_NUMBERING + _SUMMING) * rows.size * max(1, len(call.variables))):
        numbers = call.numbers(rows, groups.numbers) if isinstance(call, Call) else None
        found = None
        if isinstance(numbers, ScaledDecimals):
            found = _of_decimals(element, replace(numbers, numbers=_full(numbers.numbers, rows)), groups)
        elif isinstance(numbers, WideDecimals):
            found = _of_wide_decimals(element, numbers, groups)
        elif numbers is not None and numbers.dtype == np.float64:
            found = _of_doubles(element, _full(numbers, rows), groups)
    return _one(element, call.results(rows), groups) if found is None else found


def _full(numbers: NDArray[Any], rows: Batch) -> NDArray[Any]:
    """One number for each row, where there may be one for all."""
    return np.broadcast_to(numbers, rows.size)


def _one(element: FindAggregate, codes: Column, groups: Groups) -> Column:
    if element.may_be_nil:
        return _without_nil(replace(element, may_be_nil=False), codes, groups)
    if element.reduction is Reduction.COUNT:
        return _longs(group_kernels.sum_by_group(groups.group, groups.weight, groups.count), groups.values)
    if element.reduction is Reduction.COUNT_DISTINCT:
        if (codes == NIL).any():
            return _without_nil(element, codes, groups)
        with Held(groups.cancel.budget, (_NUMBERING + 16) * len(codes)):
            _pairs, firsts = group_kernels.group_rows(stack((groups.group, codes)), groups.cancel.check)
        return np.bincount(groups.group[firsts], minlength=groups.count)
    quick = _on_longs(element, codes, groups)
    if quick is None and (codes == NIL).any():
        return _without_nil(element, codes, groups)
    quick = _on_decimals(element, codes, groups) if quick is None else quick
    quick = _on_doubles(element, codes, groups) if quick is None else quick
    return _by_values(element, codes, groups) if quick is None else quick


def _without_nil(element: FindAggregate, codes: Column, groups: Groups) -> Column:
    """The aggregate of the values that are not nil."""
    there = codes != NIL
    if there.all():
        return _one(element, codes, groups)
    found = np.full(groups.count, groups.values.intern(element.known.of_nothing), np.int64)
    if there.any():
        has, group = np.unique(groups.group[there], return_inverse=True)
        weights = None if groups.weights is None else groups.weights[there]
        few = replace(groups, group=group.astype(np.int64), weights=weights, count=len(has))
        found[has] = _one(element, codes[there], few)
    return found


def _longs(numbers: NDArray[np.int64], values: Scratch) -> Column:
    if numbers.size and (numbers.min() < LONG_MIN or numbers.max() > LONG_MAX):
        return values.intern_many(numbers.tolist())
    return numbers


def _on_longs(element: FindAggregate, codes: Column, groups: Groups) -> Column | None:
    group, weight, values = groups.group, groups.weight, groups.values
    if element.reduction not in (Reduction.SUM, Reduction.MEAN, Reduction.BEST):
        return None
    low, high = int(codes.min()), int(codes.max())
    if low < LONG_MIN or high > LONG_MAX:
        return None
    if element.reduction is Reduction.BEST:
        return group_kernels.best_by_group(group, codes, groups.count, -element.known.better)
    if max(abs(low), abs(high)) * int(weight.sum()) >= _EXACT:
        return None
    total = group_kernels.sum_by_group(group, codes * weight, groups.count)
    if element.reduction is Reduction.SUM:
        return _longs(total, values)
    return values.intern_many(_quotients(total, group_kernels.sum_by_group(group, weight, groups.count)).tolist())


def _quotients(dividend: NDArray[np.int64], divisor: NDArray[np.int64]) -> NDArray[np.float64]:
    """The doubles nearest to the quotients."""
    quotients = dividend / divisor
    # NumPy would round integers of more than 53 bits before it divides them.
    for i in np.flatnonzero((np.abs(dividend) > _DOUBLE) | (divisor > _DOUBLE)).tolist():
        quotients[i] = int(dividend[i]) / int(divisor[i])
    return quotients


def _on_decimals(element: FindAggregate, codes: Column, groups: Groups) -> Column | None:
    if element.reduction not in (Reduction.SUM, Reduction.MEAN) or one_tag(codes) != TAG_BIGDEC:
        return None
    with Held(groups.cancel.budget, (_NUMBERING + _SUMMING) * len(codes)):
        decimals = groups.numbers.of(codes)
        return _of_decimals(element, decimals, groups) if isinstance(decimals, ScaledDecimals) else None


def _of_decimals(element: FindAggregate, decimals: ScaledDecimals, groups: Groups) -> Column | None:
    numbers = decimals.numbers
    times = int(np.abs(groups.weight).sum()) if groups.weighs else len(groups.group)
    if not decimals.sum_fits(times, _EXACT):
        return _of_wide_decimals(element, WideDecimals.of(decimals), groups)
    numbers = numbers * groups.weight if groups.weighs else np.ascontiguousarray(numbers)
    if groups.count == 1:
        total = numbers.sum(keepdims=True)
    else:
        total = group_kernels.sum_by_group(groups.group, numbers, groups.count)
    if element.reduction is Reduction.SUM:
        return ScaledDecimals(total, decimals.scale).codes(groups.values, groups.cancel.check)
    return _means(decimals_of(total.tolist(), decimals.scale), groups)


def _of_wide_decimals(element: FindAggregate, decimals: WideDecimals, groups: Groups) -> Column | None:
    totals = decimals.sums(groups.group, groups.weight, groups.count)
    if totals is None:
        return None
    sums = [decimal_of(total, decimals.scale) for total in totals]
    return groups.values.intern_many(sums) if element.reduction is Reduction.SUM else _means(sums, groups)


def _means(sums: Sequence[Decimal], groups: Groups) -> Column:
    """The codes of what sums are through the number of each group's tuples."""
    numbers = group_kernels.sum_by_group(groups.group, groups.weight, groups.count)
    return groups.values.intern_many(
        quotient_of_decimals(each, Decimal(n)) for each, n in zip(sums, numbers.tolist(), strict=True)
    )


def _on_doubles(element: FindAggregate, codes: Column, groups: Groups) -> Column | None:
    if element.reduction not in (Reduction.SUM, Reduction.MEAN):
        return None
    tags = tags_of(codes)
    if not ((tags == TAG_DOUBLE) | (tags == TAG_FLOAT)).all():
        return None
    with Held(groups.cancel.budget, (_NUMBERING + _SUMMING) * len(codes)):
        where, firsts = group_kernels.group_rows(stack((codes,)), groups.cancel.check)
        numbers = _as_doubles(codes[firsts], groups.values)[where]
        groups.cancel.check()
        return _of_doubles(element, numbers, groups)


def _of_doubles(element: FindAggregate, numbers: NDArray[np.float64], groups: Groups) -> Column:
    average = element.reduction is Reduction.MEAN
    sums = exact_sums(numbers, groups.group, groups.weight, groups.count, average)
    return groups.values.intern_many(sums.tolist())


def _as_doubles(codes: Column, values: Scratch) -> NDArray[np.float64]:
    if (tags_of(codes) == TAG_DOUBLE).all():
        return values.doubles(codes)
    return np.array(values.decode_many(codes), np.float64)


def _by_values(element: FindAggregate, codes: Column, groups: Groups) -> Column:
    values, cancel = groups.values, groups.cancel
    arguments = element.numbers
    sizes = np.bincount(groups.group, minlength=groups.count)
    with Held(cancel.budget, _GROUPING * len(codes) + _ITEM * _most_items(element, sizes)) as held:
        number = int(arguments[0]) if arguments else 0
        order = np.argsort(groups.group, kind="stable")
        objects = decoded(codes[order], values, cancel, held)
        repeats = groups.weight[order]
        weighty = element.known.counts_repeats and bool((repeats != 1).any())
        ends = np.cumsum(sizes).tolist()

        def results() -> Iterator[Any]:
            start = work = 0
            for end in ends:
                work += _GROUP + number + end - start
                if work >= _WORK:
                    cancel.check()
                    work = 0
                weights = repeats[start:end].tolist() if weighty else None
                group: list[Any] = objects[start:end].tolist()
                if end - start > _WORK:
                    group = WatchedList(group, cancel.check)
                try:
                    yield aggregate(element.name, arguments, group, weights)
                except AdalogError as error:
                    raise AdalogError(error.code, error.message, error.position or element.position) from error
                start = end

        return values.intern_many(results())


def _most_items(element: FindAggregate, sizes: NDArray[np.int64]) -> int:
    """The most values that the collections which an aggregate makes have together."""
    items = element.known.items
    if items is None or len(element.args) < element.known.max_args:
        return 0
    number = int(element.numbers[0]) if element.args else 0
    return sum(items(size, number) for size in sizes.tolist())
