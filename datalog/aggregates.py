"""The aggregates of `:find` and of rule heads, over a list of values that may repeat and has at least one.

To add an aggregate, write its function here and one entry in the table at the end of this file;
`docs/reference/builtins.md` lists it for users. An entry needs a name and a function over a group's values, and
that is enough everywhere: the parser knows the name, and every engine decodes the values of a group and calls the
function. The other fields of `Aggregate` say what else holds of it, so that engines may do better: a compiled
`Reduction`, live groups moved by differences, partial results on Spark, recursion. No other file names an aggregate
(`tests/datalog/test_one_table_of_aggregates.py`), and `tests/engine/test_every_aggregate.py` runs each entry.
"""

from __future__ import annotations

import heapq
import math
import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, DecimalException
from enum import Enum
from itertools import accumulate
from types import MappingProxyType
from typing import Any

from adalog.datalog import exact
from adalog.datalog.builtins.arithmetic import EXACT, check_exponent, common_type, quotient_of_decimals, trimmed
from adalog.datalog.builtins.builtin import refuse, shown, shown_call
from adalog.datalog.durations import Duration
from adalog.datalog.exact import Weights
from adalog.datalog.values import LONG_MAX, LONG_MIN, BigInt, EdnSet, Float, Value, identity, sort_key, type_name
from adalog.datalog.watched import in_order

MAX_TAKEN = 1_000_000


class Reduction(Enum):
    """What an aggregate is on columns of numbers: the engine computes it there without decoding values.

    A reduction gives what the aggregate's function gives, to the last bit. Where values are no longs or doubles,
    the engine calls the function.
    """

    COUNT = "the number of tuples; the values are not read"
    COUNT_DISTINCT = "the number of different values"
    SUM = "the exact sum, rounded once"
    MEAN = "the exact sum through the number of tuples, rounded once"
    BEST = "the value that is best by `better`"


INVERTIBLE = frozenset({Reduction.COUNT, Reduction.SUM, Reduction.MEAN})
"""Reductions that follow from counts and exact sums, from which tuples can also be taken away."""

COMBINABLE = INVERTIBLE | {Reduction.BEST}
"""Reductions that follow from a few rows of each part of a group."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate: `call` takes the values of a group and the constants before the variable, and gives its value.

    `min_args` and `max_args` count these constants: 1 in `(min 3 ?x)`. `in_find`, `in_heads`: where it may stand.

    `reduction`: what it is on columns of numbers, without constants. `result_type`: from the value type of its
    variable (`"edn"` where that is not known) to its own, without constants; None where that varies. `items`: the
    number of values in the collection that it makes of a group, from the group's size and the constant.

    `of_nothing`: its value for a group that has nothing but nil.

    `counts_repeats`: each of several equal values is meant to count, so that one that fell together with another is
    missed; `call` then takes as its second argument how often each value counts. Not so for `count`: how many
    different values there are is what it answers. `better`: -1 where the result is the least value, 1 where it is
    the greatest, so that a recursion may be monotone in it. `idempotent`: the result for some values can stand for
    these, any number of times, so that it may be part of a recursion. `by_chance`: it does not always answer the
    same, so that no answer with it is cached or maintained, and no stored query may use it. `of_pairs`: it takes
    two variables, whose values come as pairs, and gives the second of the pair that this aggregate chooses.
    """

    name: str
    call: Callable[..., Value]
    min_args: int = 0
    max_args: int = 0
    in_find: bool = True
    in_heads: bool = True
    reduction: Reduction | None = None
    result_type: Callable[[str], str | None] = lambda _: None
    of_nothing: Value = None
    items: Callable[[int, int], int] | None = None
    counts_repeats: bool = False
    better: int = 0
    idempotent: bool = False
    by_chance: bool = False
    of_pairs: str = ""

    @property
    def is_weighable(self) -> bool:
        """Whether its value, without constants, follows from the values of a group and how often each occurs."""
        return self.in_find and not self.by_chance


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
    check_arguments(name, args)
    known = AGGREGATES[name]
    if weights is not None and known.counts_repeats:
        return known.call(values, weights)
    return known.call(values, *args)


# Counting and choosing


def _in_order(values: Iterable[Value]) -> list[Value]:
    """In the total order of values, so that a set is written alike whatever order the engine met its members in."""
    found = list(values)
    # Values of one of these types have no order but Python's.
    kinds = {*map(type, found)}
    plain = kinds in ({str}, {int}) or (kinds == {float} and not any(map(math.isnan, found)))
    return sorted(found) if plain else sorted(found, key=sort_key)


def _distinct(values: Sequence[Value]) -> EdnSet:
    return EdnSet(_in_order(values))


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
    distinct = list({identity(value): value for value in values}.values())
    return tuple(random.sample(distinct, min(number, len(distinct))))


# Numbers: exact until one rounding at the end, so that neither order nor company of the values matters


def _numbers(name: str, values: Sequence[Value]) -> type[Any]:
    """The type that the values add up to: int, BigInt, Decimal or float."""
    if not {*map(type, values)} <= _NUMBERS:
        # The least of them, in whatever order the engine meets the values.
        odd = min((value for value in values if type(value) not in _NUMBERS), key=sort_key)
        wanted = "numbers, or durations alone" if name == "sum" else "numbers"
        refuse(f"{name} takes {wanted}, and among the values is {shown(odd)}, of the type {type_name(odd)}")
    for value in values if Decimal in map(type, values) else ():
        if type(value) is Decimal:
            check_exponent(name, value)
    return common_type(values)


_NUMBERS = frozenset({int, BigInt, float, Float, Decimal})


def _sum(values: Sequence[Value], weights: Weights = None) -> Value:
    total = _wide_sum(values, weights)
    if type(total) is BigInt and BigInt not in map(type, values):
        refuse(f"the sum {total} is beyond the 64 bits of a long; (sum' …) gives it as a bigint")
    return total


def _wide_sum(values: Sequence[Value], weights: Weights = None) -> Value:
    """The sum; of longs a bigint where it has more than 64 bits."""
    if {*map(type, values)} == {Duration}:
        return _duration_sum(values, weights)
    kind = _numbers("sum", values)
    if kind is float:
        return _double_sum(values, weights, 1)
    if kind is Decimal:
        try:
            return trimmed(EXACT.plus(exact.total_of_decimals(values, weights)))
        except DecimalException:
            refuse(f"the sum of these {len(values):,} bigdecs has more than {EXACT.prec:,} digits")
    total = exact.total(values, weights)
    return total if kind is int and LONG_MIN <= total <= LONG_MAX else BigInt(total)


def _duration_sum(values: Sequence[Any], weights: Weights) -> Duration:
    parts = ([getattr(value, name) for value in values] for name in ("months", "days", "milliseconds"))
    try:
        return Duration(*(exact.total(each, weights) for each in parts))
    except ValueError as error:
        refuse(f"the sum of these {len(values):,} durations is none: {error}")


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

    def order(each: tuple[Value, int]) -> Any:
        return (1, 0, 0) if each[0] != each[0] else (0, each[0], sort_key(each[0]))

    ordered = in_order(weighted, order, getattr(values, "check", None))
    ends = list(accumulate(weight for _, weight in ordered))
    pair = [ordered[bisect_right(ends, place)][0] for place in ((ends[-1] - 1) // 2, ends[-1] // 2)]
    return pair[0] if ends[-1] % 2 else _mean(pair, None)


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


# Aggregates of rule heads


def _booleans(name: str, values: Sequence[Value]) -> Sequence[Value]:
    odd = [value for value in values if not isinstance(value, bool)]
    if odd:
        least = _in_order(odd)[0]
        refuse(f"({name} …) in a rule's head takes booleans, not {shown(least)} (a {type_name(least)})")
    return values


def _union(values: Sequence[Value]) -> EdnSet:
    odd = [value for value in values if not isinstance(value, EdnSet)]
    if odd:
        least = _in_order(odd)[0]
        refuse(f"(union …) in a rule's head takes sets, not {shown(least)} (a {type_name(least)})")
    return EdnSet(_in_order(item for value in values for item in value))


# The table


def _is_number(value_type: str) -> str | None:
    return value_type if value_type in ("long", "double") else None


def _is_sum(value_type: str) -> str | None:
    return "duration" if value_type == "duration" else _is_number(value_type)


def _is_mean(value_type: str) -> str | None:
    return "double" if _is_number(value_type) else None


AGGREGATES: Mapping[str, Aggregate] = MappingProxyType(
    {
        known.name: known
        for known in (
            Aggregate("count", len, reduction=Reduction.COUNT, result_type=lambda _: "long", of_nothing=0),
            Aggregate(
                "count-distinct",
                lambda values: len(set(map(identity, values))),
                reduction=Reduction.COUNT_DISTINCT,
                result_type=lambda _: "long",
                of_nothing=0,
            ),
            Aggregate("sum", _sum, reduction=Reduction.SUM, result_type=_is_sum, counts_repeats=True),
            Aggregate("sum'", _wide_sum, reduction=Reduction.SUM, counts_repeats=True),
            Aggregate("avg", _avg, reduction=Reduction.MEAN, result_type=_is_mean, counts_repeats=True),
            Aggregate("median", _median, counts_repeats=True),
            Aggregate("variance", _variance, counts_repeats=True),
            Aggregate("stddev", _stddev, counts_repeats=True),
            *(
                Aggregate(
                    name,
                    call,
                    max_args=1,
                    reduction=Reduction.BEST,
                    result_type=lambda value_type: value_type,
                    items=min,
                    better=better,
                    idempotent=True,
                )
                for name, call, better in (("min", _min, -1), ("max", _max, 1))
            ),
            Aggregate("min-by", lambda pairs: _min(pairs)[1], of_pairs="min"),
            Aggregate("max-by", lambda pairs: _max(pairs)[1], of_pairs="max"),
            Aggregate("distinct", _distinct, items=lambda size, _: size),
            Aggregate("rand", _rand, max_args=1, in_heads=False, items=lambda _, number: number, by_chance=True),
            Aggregate("sample", _sample, min_args=1, max_args=1, in_heads=False, items=min, by_chance=True),
            Aggregate("and", lambda values: all(_booleans("and", values)), in_find=False, idempotent=True),
            Aggregate("or", lambda values: any(_booleans("or", values)), in_find=False, idempotent=True),
            Aggregate("union", _union, in_find=False, idempotent=True),
            # Any of the values would do; the least makes it the same on every engine.
            Aggregate("choice", _min, in_find=False, idempotent=True),
        )
    }
)

FIND_AGGREGATES = tuple(known.name for known in AGGREGATES.values() if known.in_find)
HEAD_AGGREGATES = tuple(known.name for known in AGGREGATES.values() if known.in_heads)
IDEMPOTENT = frozenset(known.name for known in AGGREGATES.values() if known.idempotent)
LEAST, GREATEST = (next(known.name for known in AGGREGATES.values() if known.better == end) for end in (-1, 1))
"""The aggregates that choose one value of a group, from either end."""
TALLY = next(known.name for known in AGGREGATES.values() if known.reduction is Reduction.COUNT)
"""The aggregate that counts tuples without reading a value."""
