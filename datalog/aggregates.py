"""The aggregates of `:find`, over a list of values that may repeat. None of them sees a group without values."""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from types import MappingProxyType
from typing import Any

from datalog.builtins.arithmetic import EXACT, ROUNDED, common_type, to_double
from datalog.builtins.builtin import refuse, shown, shown_call
from datalog.values import LONG_MAX, LONG_MIN, NUMERIC, BigInt, EdnSet, Value, identity, sort_key, type_name

MAX_TAKEN = 1_000_000


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`min_args` and `max_args` count the constants before the variable: 1 in `(min 3 ?x)`."""

    name: str
    min_args: int
    max_args: int
    call: Callable[..., Value]


def check_arguments(name: str, args: Sequence[Value]) -> None:
    """Refuses constants that the aggregate does not take."""
    known = AGGREGATES[name]
    if not known.min_args <= len(args) <= known.max_args:
        wanted = "no constant" if known.max_args == 0 else "one constant, a number of values,"
        refuse(f"{shown_call(name, args)}: {name} takes {wanted} before its variable")
    for arg in args:
        if type(arg) is not int or not 0 <= arg <= MAX_TAKEN:
            refuse(f"({name} {shown(arg)} …): the number of values must be a long from 0 to {MAX_TAKEN:,}")


def aggregate(name: str, args: Sequence[Value], values: Sequence[Value]) -> Value:
    """The aggregate of the values; `args` are the constants before the variable."""
    if name not in AGGREGATES:
        return merged(name, values)
    check_arguments(name, args)
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


# Numbers


def _numbers(name: str, values: Sequence[Value]) -> type[Any]:
    """The type that the values add up to: int, BigInt, Decimal or float."""
    for value in values:
        if type_name(value) not in NUMERIC:
            what = type_name(value)
            refuse(f"{name} takes numbers, and among the values is {shown(value)}, of the type {what}")
    return common_type(values)


def _total(kind: type[Any], values: Sequence[Any]) -> Any:
    """The exact sum of integers and bigdecs; the double nearest to the exact sum of the rest."""
    if kind is float:
        return _sum_of_doubles([to_double(value) for value in values])
    if kind is Decimal:
        total = Decimal(0)
        for value in values:
            total = EXACT.add(total, Decimal(value))
        return total
    return sum(map(int, values))


def _sum_of_doubles(values: Sequence[float]) -> float:
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):  # beyond the largest double on the way, or both infinities
        return sum(values)


def _sum(values: Sequence[Value]) -> Value:
    kind = _numbers("sum", values)
    try:
        total = _total(kind, values)
    except DecimalException:
        refuse(f"the sum of these {len(values):,} bigdecs has more than {EXACT.prec:,} digits")
    if kind is int and not LONG_MIN <= total <= LONG_MAX:
        refuse(
            f"the sum {total} is beyond the 64 bits of a long; summing bigints, such as (bigint ?x) makes, gives it"
        )
    return BigInt(total) if kind is BigInt else total


def _mean(kind: type[Any], values: Sequence[Any]) -> Any:
    total = _total(kind, values)
    if kind is Decimal:
        return ROUNDED.divide(total, Decimal(len(values)))
    try:
        return total / len(values)
    except OverflowError:
        return to_double(total)


def _avg(values: Sequence[Value]) -> Value:
    return _mean(_numbers("avg", values), values)


def _median(values: Sequence[Value]) -> Value:
    """The middle number, or the mean of the two that are."""
    _numbers("median", values)
    ordered = sorted(values, key=lambda value: (value != value, value if value == value else 0))
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    pair = ordered[middle - 1 : middle + 1]
    return _mean(common_type(pair), pair)


def _variance(values: Sequence[Value], name: str = "variance") -> float:
    """Of the population: the mean squared distance from the mean."""
    kind = _numbers(name, values)
    if kind is int:  # exact until the one division
        number = len(values)
        spread = number * sum(value * value for value in values) - sum(values) ** 2
        return float(spread / (number * number))
    doubles = [to_double(value) for value in values]
    mean = _sum_of_doubles(doubles) / len(doubles)
    return _sum_of_doubles([(value - mean) * (value - mean) for value in doubles]) / len(doubles)


def _stddev(values: Sequence[Value]) -> float:
    return math.sqrt(_variance(values, "stddev"))


AGGREGATES: Mapping[str, Aggregate] = MappingProxyType(
    {
        known.name: known
        for known in (
            Aggregate("count", 0, 0, len),
            Aggregate("count-distinct", 0, 0, _count_distinct),
            Aggregate("sum", 0, 0, _sum),
            Aggregate("avg", 0, 0, _avg),
            Aggregate("median", 0, 0, _median),
            Aggregate("variance", 0, 0, _variance),
            Aggregate("stddev", 0, 0, _stddev),
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
