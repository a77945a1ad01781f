"""Aggregates called directly, over lists of values that may repeat."""

from __future__ import annotations

import math
import statistics
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.aggregates import AGGREGATES, aggregate
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import LONG_MAX, BigInt, EdnSet, Float, Keyword, identity, sort_key

NUMBERS = st.lists(st.integers(-(10**6), 10**6), min_size=1)


def gives(expected, name, values, *args):
    result = aggregate(name, args, values)
    assert identity(result) == identity(expected), f"{name} of {values} gave {result!r}"


def refused(name, values, *args):
    with pytest.raises(AdalogError) as caught:
        aggregate(name, args, values)
    assert caught.value.code is Code.QUERY_INVALID
    return caught.value.message


def test_sum_keeps_the_type():
    gives(6, "sum", [1, 2, 3])
    gives(3.5, "sum", [1, 2.5])
    gives(BigInt(3), "sum", [1, BigInt(2)])
    gives(Decimal("3.5"), "sum", [1, Decimal("2.5")])
    gives(1.5, "sum", [Float(0.5), 1])
    gives(LONG_MAX, "sum", [LONG_MAX, 1, -1])
    assert "bigint" in refused("sum", [LONG_MAX, 1])
    gives(BigInt(LONG_MAX + 1), "sum", [LONG_MAX, BigInt(1)])


def test_sum_of_doubles_does_not_depend_on_their_order():
    gives(0.6, "sum", [0.1, 0.2, 0.3])
    gives(0.6, "sum", [0.3, 0.2, 0.1])
    gives(math.inf, "sum", [1e308, 1e308])
    gives(math.nan, "sum", [math.inf, -math.inf])
    gives(math.nan, "sum", [math.nan, 1])


def test_avg_and_median():
    gives(1.5, "avg", [1, 2])
    gives(2.0, "avg", [1, 2, 3])
    gives(Decimal("1.5"), "avg", [Decimal(1), 2])
    gives(3, "median", [5, 1, 3])
    gives(1.5, "median", [2, 1])
    gives(2.0, "median", [1, 3])
    gives(Decimal("1.5"), "median", [Decimal(1), Decimal(2)])
    gives(2, "median", [1.5, 2, Decimal("2.5")])


@given(NUMBERS)
def test_against_the_statistics_module(values):
    assert aggregate("variance", [], values) == pytest.approx(float(statistics.pvariance(values)))
    assert aggregate("stddev", [], values) == pytest.approx(statistics.pstdev(values))
    assert aggregate("median", [], values) == statistics.median(values)
    assert aggregate("avg", [], values) == statistics.fmean(values)


def test_variance_is_of_the_population():
    gives(1.25, "variance", [1, 2, 3, 4])
    gives(1.25, "variance", [1.0, 2, BigInt(3), Decimal(4)])
    gives(0.0, "variance", [5])
    gives(1.118033988749895, "stddev", [1, 2, 3, 4])
    gives(0.0, "variance", [LONG_MAX, LONG_MAX])
    gives(math.nan, "stddev", [math.inf, 1])


@pytest.mark.parametrize("name", ["sum", "avg", "median", "variance", "stddev"])
@pytest.mark.parametrize("culprit", ["a", None, True, Keyword("k"), datetime(2020, 1, 1, tzinfo=UTC)])
def test_what_is_no_number(name, culprit):
    assert name in refused(name, [1, culprit])


def test_the_least_value_that_is_no_number_is_named():
    """Whatever the order of the values, which depends on what else the database knows."""
    texts = {refused("sum", values) for values in ([1, "b", "a"], ["a", "b", 1], ["b", "a", 1, "b"])}
    assert len(texts) == 1
    assert '"a"' in texts.pop()


@pytest.mark.parametrize(
    "values", [[3, 1, 2], ["b", "c", "a"], [2.5, math.nan, -1.0], [1, "a", 0.5, Keyword("k"), 2]]
)
def test_a_set_of_values_is_in_their_order(values):
    """So that it is written alike, whatever order they are met in."""
    found = list(aggregate("distinct", (), values))
    assert list(map(identity, found)) == list(map(identity, sorted(values, key=sort_key)))
    united = aggregate("union", (), [EdnSet(values[1:]), EdnSet(values[:1])])
    assert list(map(identity, united)) == list(map(identity, found))


def test_counts_and_distinct_are_typed():
    gives(4, "count", [1, 1, 1.0, True])
    gives(3, "count-distinct", [1, 1, 1.0, True])
    gives(EdnSet((1, 1.0, True)), "distinct", [1, 1, 1.0, True])


MIXED = [2, 1, 1.5, "a", Keyword("k"), True, None, math.nan, (1, 2)]


def test_min_and_max_are_the_ends_of_the_total_order():
    ordered = sorted(MIXED, key=sort_key)
    gives(ordered[0], "min", MIXED)
    gives(ordered[-1], "max", MIXED)
    gives(tuple(ordered), "min", MIXED, 100)
    gives(tuple(reversed(ordered)), "max", MIXED, 100)


def test_min_n_and_max_n():
    gives((1, 2), "min", [3, 1, 2], 2)
    gives((3, 2), "max", [3, 1, 2], 2)
    gives((), "min", [3], 0)
    gives((5, 5, 7), "min", [5, 5, 7, 9], 3)  # :with told the two apart, as in Datomic


def test_rand_and_sample():
    values = [1, 1, 2, 3]
    assert aggregate("rand", [], values) in values
    assert len(aggregate("rand", [20], values)) == 20
    assert set(aggregate("rand", [20], values)) <= set(values)
    assert sorted(aggregate("sample", [20], values)) == [1, 2, 3]
    assert len(set(aggregate("sample", [2], values))) == 2


def test_constants_are_checked():
    for name in AGGREGATES:
        for bad in (-1, 1.0, "a", True, None, Keyword("a"), 10**12):
            refused(name, [1], bad)
    refused("sum", [1], 3)
    refused("sample", [1])
    refused("min", [1], 1, 2)
