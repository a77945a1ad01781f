"""The aggregates of `:find`, over a list of values that may repeat. None of them sees a group without values."""

from __future__ import annotations

import heapq
import math
import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from itertools import accumulate
from types import MappingProxyType
from typing import Any

from adalog.datalog import exact
from adalog.datalog.builtins.arithmetic import EXACT, check_exponent, common_type, quotient_of_decimals, trimmed
from adalog.datalog.builtins.builtin import refuse, shown, shown_call
from adalog.datalog.exact import Weights
from adalog.datalog.values import LONG_MAX, LONG_MIN, BigInt, EdnSet, Float, Value, identity, sort_key, type_name
from adalog.datalog.watched import in_order

MAX_TAKEN = 1_000_000

CHANCE = frozenset({"rand", "sample"})
"""Aggregates that do not always answer the same."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`min_args` and `max_args` count the constants before the variable: 1 in `(min 3 ?x)`.

    `counts_repeats`: each of several equal values is meant to count, so that one that fell together with another is
    missed. Not so for `count`: how many different values there are is what it answers.
    """

    name: str
    min_args: int
    max_args: int
    call: Callable[..., Value]
    counts_repeats: bool = False


def check_arguments(name: str, args: Sequence[Value]) -> None:
    """Refuses constants that the aggregate does not take."""
    known = AGGREGATES[name]
    if not known.min_args <= len(args) <= known.max_args:
        wanted = "no constant" if known.max_args == 0 else "one constant, a number of values,"
        refuse(f"{shown_call(name, args)}: {name} takes {wanted} before its variable")
    for arg in args:
        if type(arg) is not int or not 0 <= arg <= MAX_TAKEN:
            refuse(f"({name} {shown(arg)} …): the number of values must be a long from 0 to {MAX_TAKEN:,}")


def aggregate(name: str, args: Sequence[Value], values: Sequence[Value], weights: Weights = None) -> Value:
    """The aggregate of the values; `args` are the constants before the variable.

    `weights` say how often each value counts, which but for sums is from 1 on; only aggregates of numbers look at
    them.
    """
    if name not in AGGREGATES:
        return merged(name, values)
    check_arguments(name, args)
    if weights is not None and name in WEIGHTED:
        return WEIGHTED[name](values, weights)
    return AGGREGATES[name].call(values, *args)


def merged(name: str, values: Sequence[Value]) -> Value:
    """The aggregate of a rule's head over the values of a group, of which one may itself be such an aggregate.

    That is what makes these idempotent, so that they may be part of a recursion.
    """
    return HEAD_AGGREGATES[name](values)


# Counting and choosing


def _distinct(values: Sequence[Value]) -> list[Value]:
    return list({identity(value): value for value in values}.values())


def _count_distinct(values: Sequence[Value]) -> int:
    return len(set(map(identity, values)))


def _min(values: Sequence[Value], number: int | None = None) -> Value:
    if number is None:
        return min(values, key=sort_key)
    return tuple(heapq.nsmallest(number, values, key=sort_key))


def _max(values: Sequence[Value], number: int | None = None) -> Value:
    if number is None:
        return max(values, key=sort_key)
    return tuple(heapq.nlargest(number, values, key=sort_key))


def _rand(values: Sequence[Value], number: int | None = None) -> Value:
    if number is None:
        return random.choice(values)
    return tuple(random.choices(values, k=number))


def _sample(values: Sequence[Value], number: int) -> Value:
    distinct = _distinct(values)
    return tuple(random.sample(distinct, min(number, len(distinct))))


# Numbers: exact until one rounding at the end, so that neither order nor company of the values matters


def _numbers(name: str, values: Sequence[Value]) -> type[Any]:
    """The type that the values add up to: int, BigInt, Decimal or float."""
    if not {*map(type, values)} <= _NUMBERS:
        culprit = next(value for value in values if type(value) not in _NUMBERS)
        what = type_name(culprit)
        refuse(f"{name} takes numbers, and among the values is {shown(culprit)}, of the type {what}")
    kind = common_type(values)
    for value in values if Decimal in map(type, values) else ():
        if type(value) is Decimal:
            check_exponent(name, value)
    return kind


_NUMBERS = frozenset({int, BigInt, float, Float, Decimal})


def _sum(values: Sequence[Value], weights: Weights = None) -> Value:
    kind = _numbers("sum", values)
    if kind is float:
        return _double_sum(values, weights, 1)
    if kind is Decimal:
        try:
            return trimmed(EXACT.plus(exact.total_of_decimals(values, weights)))
        except DecimalException:
            refuse(f"the sum of these {len(values):,} bigdecs has more than {EXACT.prec:,} digits")
    total = exact.total(values, weights)
    if kind is BigInt:
        return BigInt(total)
    if not LONG_MIN <= total <= LONG_MAX:
        refuse(
            f"the sum {total} is beyond the 64 bits of a long; summing bigints, such as (bigint ?x) makes, gives it"
        )
    return total


def _double_sum(values: Sequence[Value], weights: Weights, divisor: int) -> float:
    """The double nearest to the exact sum through the divisor."""
    odd = exact.sum_of_odd(values)
    if odd is not None:
        return odd
    numbers, scale = exact.scaled(values)
    return exact.rounded(exact.total(numbers, weights), scale * divisor)


def _mean(values: Sequence[Value], weights: Weights) -> Value:
    number = len(values) if weights is None else sum(weights)
    kind = common_type(values)
    if kind is float:
        return _double_sum(values, weights, number)
    if kind in (Decimal, BigInt):
        try:
            return quotient_of_decimals(exact.total_of_decimals(values, weights), Decimal(number))
        except DecimalException:
            refuse(f"the mean of these {number:,} values is beyond what a bigdec holds")
    return exact.rounded(exact.total(values, weights), number)


def _avg(values: Sequence[Value], weights: Weights = None) -> Value:
    _numbers("avg", values)
    return _mean(values, weights)


def _median(values: Sequence[Value], weights: Weights = None) -> Value:
    """The middle number, or the mean of the two that are. Equal numbers go by their types; NaN is last."""
    _numbers("median", values)
    weighted = list(zip(values, weights or [1] * len(values), strict=True))
    ordered = in_order(weighted, lambda each: _order_of_number(each[0]), getattr(values, "check", None))
    ends = list(accumulate(weight for _, weight in ordered))
    below, above = ((ends[-1] - 1) // 2, ends[-1] // 2)
    pair = [ordered[bisect_right(ends, place)][0] for place in (below, above)]
    return pair[0] if below == above else _mean(pair, None)


def _order_of_number(value: Value) -> Any:
    return (1, 0, 0) if value != value else (0, value, sort_key(value))


def _spread(name: str, values: Sequence[Value], weights: Weights) -> tuple[int, int] | None:
    """The variance of the population as an exact quotient; None where a value is not finite."""
    _numbers(name, values)
    if exact.sum_of_odd(values) is not None:
        return None
    number = len(values) if weights is None else sum(weights)
    numbers, scale = exact.scaled(values)
    squares = exact.total([value * value for value in numbers], weights)
    return number * squares - exact.total(numbers, weights) ** 2, (number * scale) ** 2


def _variance(values: Sequence[Value], weights: Weights = None) -> float:
    """Of the population: the mean squared distance from the mean."""
    spread = _spread("variance", values, weights)
    return math.nan if spread is None else exact.rounded(*spread)


def _stddev(values: Sequence[Value], weights: Weights = None) -> float:
    spread = _spread("stddev", values, weights)
    return math.nan if spread is None else exact.rounded_root(*spread)


WEIGHTED = MappingProxyType({"sum": _sum, "avg": _avg, "median": _median, "variance": _variance, "stddev": _stddev})
"""The aggregates of numbers: they also take how often each value counts."""

AGGREGATES: Mapping[str, Aggregate] = MappingProxyType(
    {
        known.name: known
        for known in (
            Aggregate("count", 0, 0, len),
            Aggregate("count-distinct", 0, 0, _count_distinct),
            *(Aggregate(name, 0, 0, call, counts_repeats=True) for name, call in WEIGHTED.items()),
            Aggregate("min", 0, 1, _min),
            Aggregate("max", 0, 1, _max),
            Aggregate("distinct", 0, 0, EdnSet),
            Aggregate("rand", 0, 1, _rand),
            Aggregate("sample", 1, 1, _sample),
        )
    }
)


# Aggregates of rule heads


def _all_true(values: Sequence[Value]) -> bool:
    return all(_booleans("and", values))


def _any_true(values: Sequence[Value]) -> bool:
    return any(_booleans("or", values))


def _booleans(name: str, values: Sequence[Value]) -> Sequence[Value]:
    odd = next((value for value in values if not isinstance(value, bool)), None)
    if odd is not None or None in values:
        refuse(f"({name} …) in a rule's head takes booleans, not {shown(odd)} (a {type_name(odd)})")
    return values


def _union(values: Sequence[Value]) -> EdnSet:
    odd = next((value for value in values if not isinstance(value, EdnSet)), None)
    if any(not isinstance(value, EdnSet) for value in values):
        refuse(f"(union …) in a rule's head takes sets, not {shown(odd)} (a {type_name(odd)})")
    return EdnSet(item for value in values for item in value)


HEAD_AGGREGATES: Mapping[str, Callable[[Sequence[Value]], Value]] = MappingProxyType(
    {"min": _min, "max": _max, "and": _all_true, "or": _any_true, "union": _union, "choice": _min}
)
"""`choice` may be any of the values; the least makes it the same on every engine."""
