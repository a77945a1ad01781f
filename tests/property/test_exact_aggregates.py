"""Aggregates of numbers against fractions: the same answer for any order, company, weights and chunks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adalog.datalog.aggregates import aggregate
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.edn import write
from adalog.datalog.values import LONG_MAX, LONG_MIN, BigInt, Float, identity, sort_key
from adalog.executor.pool import Pool
from adalog.planner.model.plan import Options
from adalog.store.database import Database
from tests.support import World

DOUBLES = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([1e16, -1e16, 1.0, 5e-324, 1.7e308])
FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False).map(Float)
LONGS = st.integers(LONG_MIN, LONG_MAX) | st.integers(-5, 5)
MIXED = DOUBLES | FLOATS | LONGS | LONGS.map(BigInt) | st.decimals(-1000, 1000, places=3) | st.just(2.5)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with Database.open(":memory:") as database:
        pool = Pool(database)
        yield World(database, pool)
        pool.close()


def nearest(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def mean(numbers: list[Any]) -> Fraction:
    return sum(map(Fraction, numbers), Fraction(0)) / len(numbers)


def variance(numbers: list[Any]) -> Fraction:
    middle = mean(numbers)
    return mean([(Fraction(number) - middle) ** 2 for number in numbers])


def is_nearest_root(root: float, square: Fraction) -> bool:
    """Whether no double is nearer to the square's root: half way to either neighbour lies beyond it."""
    if math.isinf(root):
        return square >= Fraction(math.ldexp(2**54 - 1, 970)) ** 2
    below = (Fraction(root) + Fraction(math.nextafter(root, -math.inf))) / 2
    upper = math.nextafter(root, math.inf)
    above = (Fraction(root) + (Fraction(upper) if math.isfinite(upper) else Fraction(2) ** 1024)) / 2
    return max(below, Fraction(0)) ** 2 <= square <= above**2


@given(st.lists(MIXED, min_size=1, max_size=30))
@example([LONG_MAX, LONG_MAX - 1, 0.5])
@example([1.7e308, 1.7e308, -1.7e308])
@example([1, 1.0, Decimal(1), 2])
def test_the_functions_themselves(numbers: list[Any]) -> None:
    for name in ("sum", "avg", "median", "variance", "stddev"):
        if name == "sum" and not any(isinstance(number, float) for number in numbers):
            continue  # exact, or refused beyond a long
        answer = aggregate(name, [], numbers)
        for order in (numbers[::-1], sorted(numbers, key=sort_key)):
            assert identity(aggregate(name, [], order)) == identity(answer), name
        if name == "stddev":
            assert is_nearest_root(answer, variance(numbers))
        elif isinstance(answer, float) and name != "median":
            exact = {"sum": lambda: mean(numbers) * len(numbers), "avg": lambda: mean(numbers)}
            assert answer == nearest(exact.get(name, lambda: variance(numbers))())


BIG = st.integers(-(10**45), 10**45)
DECIMALS = st.tuples(BIG | st.integers(-500, 500), st.integers(-12, 2)).map(
    lambda each: Decimal(each[0]).scaleb(each[1])
)
DECIMAL128 = Context(prec=34)


def quotient(exact: Fraction) -> Decimal:
    """The quotient where its decimals end, else 34 digits of it."""
    rest = exact.denominator
    for factor in (2, 5):
        while rest % factor == 0:
            rest //= factor
    context = DECIMAL128 if rest > 1 else Context(prec=4000)
    return context.divide(Decimal(exact.numerator), Decimal(exact.denominator))


def is_trimmed(value: Decimal) -> bool:
    exponent = value.as_tuple().exponent
    return isinstance(exponent, int) and (exponent >= 0 or value.as_tuple().digits[-1] != 0)


@pytest.mark.parametrize("kind", ["bigdecs", "bigints", "both and longs"])
@given(data=st.data())
def test_bigdecs_and_bigints_are_exact(kind: str, data: st.DataObject) -> None:
    of_kind = {"bigdecs": DECIMALS, "bigints": BIG.map(BigInt)}
    numbers = of_kind.get(kind, DECIMALS | BIG.map(BigInt) | LONGS)
    values = data.draw(st.lists(numbers, min_size=1, max_size=8))
    if not any(isinstance(value, Decimal | BigInt) for value in values):
        values.append(BigInt(7))
    has_bigdecs = any(isinstance(value, Decimal) for value in values)
    total, answer = mean(values) * len(values), aggregate("sum", [], values)
    assert type(answer) is (Decimal if has_bigdecs else BigInt)
    assert Fraction(answer) == total
    average = aggregate("avg", [], values)
    assert identity(average) == identity(quotient(mean(values)))
    assert is_trimmed(average)
    ordered = sorted(values, key=Fraction)
    low, high = ordered[(len(values) - 1) // 2], ordered[len(values) // 2]
    median = aggregate("median", [], values)
    middle = quotient((Fraction(low) + Fraction(high)) / 2)
    if len(values) % 2 or any(isinstance(each, Decimal | BigInt) for each in (low, high)):
        assert Fraction(median) == Fraction(low) if len(values) % 2 else Fraction(median) == Fraction(middle)
    assert aggregate("variance", [], values) == nearest(variance(values))


@given(DECIMALS | BIG.map(BigInt), DECIMALS | BIG.map(BigInt) | LONGS)
def test_a_mean_is_the_sum_through_the_number(dividend: Any, divisor: Any) -> None:
    if divisor == 0:
        return
    answer, exact = BUILTINS["/"].call(dividend, divisor), Fraction(dividend) / Fraction(divisor)
    if isinstance(answer, BigInt):
        assert Fraction(answer) == exact
        assert not isinstance(dividend, Decimal)
        assert not isinstance(divisor, Decimal)
    else:
        assert identity(answer) == identity(quotient(exact))
        assert is_trimmed(answer)
    for name in "+-*":
        made = BUILTINS[name].call(dividend, divisor)
        assert not isinstance(made, Decimal) or is_trimmed(made)


@given(st.lists(st.tuples(MIXED, st.integers(1, 4)), min_size=1, max_size=12))
def test_weights_are_repeats(weighted: list[tuple[Any, int]]) -> None:
    values, weights = map(list, zip(*weighted, strict=True))
    repeated = [value for value, weight in weighted for _ in range(weight)]
    for name in ("avg", "median", "variance", "stddev"):
        assert identity(aggregate(name, [], values, weights)) == identity(aggregate(name, [], repeated)), name


def test_many_repeats_cost_no_more_than_one() -> None:
    often = [1 << 60, (1 << 60) + 1]
    assert aggregate("sum", [], [Decimal("0.5"), Decimal("-0.5")], often) == Decimal("-0.5")
    assert aggregate("median", [], [1, 2], often) == 2
    assert aggregate("avg", [], [1, 2], often) == 1.5
    assert aggregate("avg", [], [BigInt(1), BigInt(2)], often) == Decimal("1.500000000000000000216840434497101")


@pytest.mark.parametrize("kind", ["doubles", "longs"])
@given(data=st.data())
def test_through_the_engine(world: World, kind: str, data: st.DataObject) -> None:
    """Grouped, with unrelated groups and hidden variables beside, and in chunks of any size."""
    numbers = DOUBLES if kind == "doubles" else st.integers(LONG_MIN // 64, LONG_MAX // 64)
    rows = data.draw(st.lists(st.tuples(st.integers(0, 2), numbers, st.integers(0, 3)), min_size=1, max_size=30))
    budget = data.draw(st.integers(1, 13))
    text = write(tuple(rows))
    query = "[:find ?g (sum ?x) (avg ?x) (variance ?x) :with ?k :in [[?g ?x ?k]]]"
    answer = {row[0]: row[1:] for row in world.run(query, text, options=Options(budget=budget)).rows()}
    for group in {row[0] for row in rows}:
        members = [x for _, x in sorted({(k, x) for g, x, k in rows if g == group})]
        total = mean(members) * len(members)
        exact = nearest(total) if kind == "doubles" else total
        assert answer[group] == (exact, nearest(mean(members)), nearest(variance(members)))
