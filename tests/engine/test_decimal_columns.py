"""Columns of bigdecs as scaled integers: they compute what the built-ins and aggregates give, or nothing."""

from __future__ import annotations

import operator
from collections import Counter
from decimal import Decimal, localcontext
from random import Random

import numpy as np
import pytest

from adalog.datalog.values import identity
from adalog.executor.expressions import decimals
from adalog.executor.expressions.decimals import (
    ScaledDecimals,
    as_decimals,
    compared,
    computed,
    decimals_of,
    scaled,
    scaled_values,
)
from adalog.store.files.packing import canonical_decimal
from adalog.store.values.codes import Codes, Scratch

OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
EDGES = ("0", "0.00", "-0.5", "1E+3", "1E-18", "0.1", "999999999999999999", "-9.99", "123456789.123456789")


def column(rng: Random) -> list[Decimal]:
    def one() -> Decimal:
        if rng.random() < 0.2:
            return Decimal(rng.choice(EDGES))
        return Decimal(rng.randint(-(10 ** rng.randint(0, 14)), 10 ** rng.randint(0, 14))).scaleb(
            -rng.randint(0, 6)
        )

    return [one() for _ in range(5)]


def test_arithmetic_and_comparisons_are_exact_or_left_alone():
    rng, done = Random(7), 0
    with localcontext(prec=60):
        for _ in range(600):
            left, right, name = column(rng), column(rng), rng.choice("+-*")
            a, b = scaled_values(left), scaled_values(right)
            if a is None or b is None:
                continue
            found = computed(name, a, b)
            if found is not None:
                done += 1
                made = decimals_of(found.numbers.tolist(), found.scale)
                expected = [OPERATIONS[name](x, y) for x, y in zip(left, right, strict=True)]
                assert [*map(identity, made)] == [*map(identity, expected)], (name, left, right)
            holds = compared(np.less, a, b)
            if holds is not None:
                assert holds.tolist() == [x < y for x, y in zip(left, right, strict=True)]
    assert done > 100


@pytest.mark.parametrize(
    "text", ["1E-19", "1E+18", "1234567890123456789", "1.0000000000000000001", "NaN", "1E+900"]
)
def test_what_does_not_fit_is_left_to_the_values(text):
    assert scaled_values([Decimal(text)]) is None


def test_what_would_not_fit_is_not_computed():
    most = ScaledDecimals(np.array([4 * 10**18]), 0)
    assert computed("+", most, ScaledDecimals(np.array([1]), 18)) is None
    assert computed("*", most, ScaledDecimals(np.array([10]), 0)) is None
    assert compared(np.less, most, ScaledDecimals(np.array([1]), 3)) is None
    assert as_decimals(np.array([1.5])) is None


@pytest.mark.parametrize("at_once", [1, 3, 1 << 20])
def test_codes_read_by_the_table_are_as_read_by_parts(at_once, monkeypatch):
    """Columns of several scales from one dictionary that grows; keys that fit together, and such that do not."""
    monkeypatch.setattr(decimals, "_READ_AT_ONCE", at_once)
    rng, codes, read = Random(at_once), Codes(), Counter()
    dictionary: list[Decimal] = []
    for _ in range(300):
        dictionary += map(canonical_decimal, [*column(rng), Decimal(rng.choice(("1E+30", "0.5", "7"))) * 3])
        places = rng.choice((0, 2, 6, 30))
        some = [each for each in dictionary if -each.as_tuple().exponent <= places] or dictionary
        values = rng.choices(some, k=rng.randint(1, 20))
        column_of_codes = np.array([codes.intern(each) for each in values])
        scratch = Scratch(codes)
        monkeypatch.setattr(decimals, "_MANY", 1)
        by_table = scaled(column_of_codes, scratch, unwatched)
        monkeypatch.setattr(decimals, "_MANY", 1 << 60)
        by_parts = scaled(column_of_codes, scratch, unwatched)
        read[by_table is None] += 1
        assert (by_table is None) is (by_parts is None)
        if by_table is None:
            continue
        made = decimals_of(by_table.numbers.tolist(), by_table.scale)
        assert [*map(identity, made)] == [*map(identity, values)]
        assert by_table.scale == by_parts.scale
        assert by_table.bound >= by_table.largest == by_parts.largest
    assert min(read.values()) > 20


def test_a_bound_that_is_too_high_gives_way_to_the_numbers():
    """The largest of two columns stand in different rows, so their product is far below the product of both."""
    one, other = np.array([1 << 40, 1]), np.array([1, 1 << 21])
    a, b = ScaledDecimals(one, 0, 1 << 40), ScaledDecimals(other, 0, 1 << 21)
    found = computed("*", a, b)
    assert found is not None
    assert (found.bound, found.largest) == (1 << 61, 1 << 40)
    assert found.sum_fits(4, 1 << 62)
    assert not found.sum_fits(1 << 22, 1 << 62)
    assert computed("*", found, ScaledDecimals(np.array([4]), 0)) is not None
    assert computed("*", found, ScaledDecimals(np.array([1 << 22]), 0)) is None


def unwatched() -> None:
    """A check that never cancels."""


def test_queries_compute_with_bigdecs_longs_and_doubles(db):
    db.tx(
        """[{:db/id 1 :p 10.50M :q 3 :r 0.5} {:db/id 2 :p -0.25M :q 2 :r 2.0}
            {:db/id 3 :p 12345678901234567890.5M :q 1 :r 1.0}]"""
    )
    few = "[?e :p ?p] [?e :q ?q] [(< ?p 100)]"
    assert db.q(f"[:find ?e (* ?p (- 1 ?q)) :where {few}]") == "#{[1 -21M] [2 0.25M]}"
    assert db.q("[:find ?e (+ ?p ?q) :where [?e :p ?p] [?e :q ?q]]") == (
        "#{[1 13.5M] [2 1.75M] [3 12345678901234567891.5M]}"
    )
    assert db.q("[:find ?e (* ?p ?r) :where [?e :p ?p] [?e :r ?r] [(< ?e 3)]]") == "#{[1 5.25] [2 -0.5]}"
    assert db.q(f"[:find (sum ?p) (avg ?p) :with ?e :where {few}]") == "#{[10.25M 5.125M]}"
    assert db.q("[:find (sum ?p) . :with ?e :where [?e :p ?p]]") == "12345678901234567900.75M"
    assert db.q(f"[:find ?e :where {few} [(> (* ?p 2) ?q)]]") == "#{[1]}"
    assert db.q(f"[:find ?e :where {few} [(== (+ ?p 0.25M) 0)]]") == "#{[2]}"
