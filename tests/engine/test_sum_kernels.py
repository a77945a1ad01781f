"""The compiled exact sum against fractions: whatever the numbers, their order, weights and groups."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adalog.executor.kernels.sum_kernels import exact_sums

_EXTREMES = [0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 2.0**-1073, 1e16, -1e16, 1.0, 2.0**53]
_EXTREMES += [1.7976931348623157e308, -1.7976931348623157e308]
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1, 1) | st.sampled_from(_EXTREMES)
WEIGHTS = st.integers(1, 3) | st.integers(1, 5000) | st.integers(1, 1 << 55)
ROWS = st.lists(st.tuples(NUMBERS, WEIGHTS, st.integers(0, 2)), min_size=1, max_size=40)


def nearest(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def sums(rows: list[tuple[float, int, int]], average: bool = False) -> list[float]:
    numbers, weights, groups = (np.array(column) for column in zip(*rows, strict=True))
    made: list[float] = exact_sums(numbers.astype(np.float64), groups, weights, 3, average).tolist()
    return made


@settings(max_examples=500)
@given(ROWS, st.booleans(), st.booleans())
@example([(1e16, 1, 0), (1.0, 1, 0), (-1e16, 1, 0), (5.0, 1, 1)], False, False)
def test_sums_and_means_are_those_of_fractions(
    rows: list[tuple[float, int, int]], average: bool, cancelling: bool
) -> None:
    if cancelling:
        rows = [*rows, *((-number, weight, group) for number, weight, group in rows[1:])]
    found = sums(rows, average)
    for group in range(3):
        members = [(Fraction(number), weight) for number, weight, g in rows if g == group]
        exact = sum((number * weight for number, weight in members), Fraction(0))
        if average and members:
            exact /= sum(weight for _, weight in members)
        assert found[group] == nearest(exact)


@given(ROWS, st.randoms())
def test_the_order_does_not_matter(rows: list[tuple[float, int, int]], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sums(rows) == sums(shuffled)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([math.inf, 1.0], math.inf),
        ([-math.inf, 1e308, 1e308], -math.inf),
        ([math.inf, -math.inf, 1.0], math.nan),
        ([-math.inf, 1.0, math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([1e308, 1e308, -1e308], 1e308),
        ([1e308, 1e308], math.inf),
    ],
)
def test_what_is_not_finite(numbers: list[float], expected: float) -> None:
    for order in (numbers, numbers[::-1]):
        (found, other, _) = sums([*((number, 1, 0) for number in order), (2.0, 1, 1)])
        assert repr(found) == repr(expected)
        assert other == 2.0


def test_no_zero_has_a_sign() -> None:
    found = sums([(-0.0, 1, 0), (5e-324, 1, 1), (-5e-324, 1, 1), (-5e-324, 1, 2), (0.0, 2, 2)], average=True)
    assert [math.copysign(1, zero) for zero in found] == [1, 1, 1]
    assert found == [0, 0, 0]
