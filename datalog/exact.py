"""Sums of numbers of any types without rounding, and the one rounding at their end.

For aggregates: what they answer must not depend on the order of the values, on chunks or on the engine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, Inexact
from operator import mul

Number = int | float | Decimal
Weights = Sequence[int] | None
"""How often each of some values counts; None: once."""

# Any sum of bigdecs: a literal and an operation give at most 4,000 digits, on either side of the point.
_EVERY_DIGIT = Context(prec=20_000, Emax=999_999, Emin=-999_999, traps=[Inexact])


def sum_of_odd(values: Sequence[Number]) -> float | None:
    """What the infinities and NaNs among the values add up to; None where all values are finite."""
    odd = [value for value in values if isinstance(value, float) and not math.isfinite(value)]
    return sum(odd) if odd else None


def scaled(values: Sequence[Number]) -> tuple[list[int], int]:
    """Finite values as integers over one common denominator."""
    ratios = [value.as_integer_ratio() for value in values]
    denominators = {denominator for _, denominator in ratios}
    scale = math.lcm(*denominators)
    factors = {denominator: scale // denominator for denominator in denominators}
    return [numerator * factors[denominator] for numerator, denominator in ratios], scale


def total(numbers: Sequence[int], weights: Weights) -> int:
    """The sum of the integers, each as often as it counts."""
    return sum(numbers) if weights is None else sum(map(mul, numbers, weights))


def total_of_decimals(values: Sequence[int | Decimal], weights: Weights) -> Decimal:
    """The sum with all its digits."""
    result = Decimal(0)
    for value, weight in zip(values, weights or [1] * len(values), strict=True):
        result = _EVERY_DIGIT.fma(Decimal(value), Decimal(weight), result)
    return result


def rounded(numerator: int, denominator: int) -> float:
    """The double nearest to the quotient, ties to even; an infinity beyond the largest. `denominator` > 0."""
    try:
        return numerator / denominator + 0.0  # no zero has a sign
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def rounded_root(numerator: int, denominator: int) -> float:
    """The double nearest to the square root of a quotient that is not negative."""
    # The root has four bits more than a double, and another that says whether anything is left after them.
    places = max(0, (denominator.bit_length() - numerator.bit_length()) // 2 + 58)
    quotient, rest = divmod(numerator << 2 * places, denominator)
    root = math.isqrt(quotient)
    return rounded(2 * root + (rest != 0 or root * root != quotient), 2 << places)
