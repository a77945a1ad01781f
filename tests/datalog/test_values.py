"""Typed equality and order: the laws, and the cases that Python alone would get wrong."""

from __future__ import annotations

import pickle
from decimal import Decimal
from math import nan
from typing import Any

import pytest
from hypothesis import given

from adalog.datalog.edn import read
from adalog.datalog.values import (
    BigInt,
    Char,
    EdnList,
    EdnMap,
    EdnSet,
    Float,
    Keyword,
    Symbol,
    Uri,
    Value,
    compare,
    identity,
    sort_key,
    type_name,
)
from tests.datalog.strategies import scalars, values

ONES = [1, 1.0, True, BigInt(1), Float(1.0), Decimal(1), "1", Char("1"), Uri("1"), Keyword("1"), Symbol("1"), (1,)]


def test_values_of_different_types_are_never_equal() -> None:
    assert len({identity(value) for value in ONES}) == len(ONES)
    assert len(EdnSet(ONES)) == len(ONES)
    assert [EdnMap((one, n) for n, one in enumerate(ONES))[one] for one in ONES] == list(range(len(ONES)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (nan, -nan),
        (Decimal("1.0"), Decimal("1.00")),
        (Decimal("1e2"), Decimal(100)),
        (Decimal("-0"), Decimal("0.00")),
        ((nan,), (nan,)),
        (EdnSet([1, 2]), EdnSet([2, 1])),
        (EdnMap([(1, 2), (3, 4)]), EdnMap([(3, 4), (1, 2)])),
    ],
)
def test_one_value_written_in_two_ways_is_equal(one: Value, other: Value) -> None:
    assert identity(one) == identity(other)
    assert hash(identity(one)) == hash(identity(other))
    assert sort_key(one) == sort_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1,), (1.0,)),
        ((1,), EdnList((1,))),
        (EdnSet([1]), EdnSet([1.0])),
        (EdnMap([(1, 1)]), EdnMap([(1, 1.0)])),
        ("", ()),
        (None, False),
    ],
)
def test_what_is_inside_counts(one: Value, other: Value) -> None:
    assert identity(one) != identity(other)


@given(values, values)
def test_equal_means_same_place_in_the_order(one: Value, other: Value) -> None:
    assert (identity(one) == identity(other)) == (sort_key(one) == sort_key(other))


@given(scalars, scalars)
def test_compare_is_antisymmetric_and_agrees_with_the_order_within_a_type(one: Value, other: Value) -> None:
    order = compare(one, other)
    reverse = compare(other, one)
    assert (order is None) == (reverse is None)
    if order is not None and reverse is not None:
        assert order == -reverse
        if type_name(one) == type_name(other):
            assert order == (sort_key(one) > sort_key(other)) - (sort_key(one) < sort_key(other))


@pytest.mark.parametrize(
    ("one", "other", "order"),
    [
        (1, 1.5, -1),
        (2**53 + 1, 2.0**53, 1),
        (Decimal("0.1"), 0.1, -1),
        (BigInt(3), 3, 0),
        ("a", "b", -1),
        (Keyword("a"), Keyword("a/a"), -1),
        ((2,), (1, 1), -1),
        ((1, 1.5), (1, 1), 1),
        (False, True, -1),
        (1, "a", None),
        (1, True, None),
        ("a", Keyword("a"), None),
        (nan, 1.0, None),
        (nan, nan, None),
        (None, None, None),
        ((1,), ("a",), None),
    ],
)
def test_compare(one: Value, other: Value, order: int | None) -> None:
    assert compare(one, other) == order


def test_the_order_is_by_type_then_by_value() -> None:
    mixed = read('["b" :a 2 1.5 nil true "a" 1 :b/a -1.0 ##NaN (1) [2] [1 1] #{1} {:a 1} false 5N \\a x]')
    text = '[nil false true 1 2 5N -1.0 1.5 ##NaN "a" "b" :a :b/a x \\a [2] [1 1] (1) {:a 1} #{1}]'
    assert identity(tuple(sorted(mixed, key=sort_key))) == identity(read(text))


@given(values)
def test_values_travel_between_processes(value: Value) -> None:
    assert identity(pickle.loads(pickle.dumps(value))) == identity(value)


def test_a_keyword_has_a_namespace_and_a_local_name() -> None:
    assert (Keyword("a/b").namespace, Keyword("a/b").local, Keyword("b").namespace) == ("a", "b", None)


def test_what_is_not_edn_is_refused() -> None:
    stranger: Any = object()
    with pytest.raises(TypeError, match="is not an EDN value"):
        type_name(stranger)


@pytest.mark.parametrize("text", ["[1 [2 3]]", "(1 #{2 3})", "#{1 #{2} [3]}", "{1 2, [3] {4 5}}", "[[[1]]]"])
def test_no_identity_has_a_hash_that_outsiders_can_choose(text: str) -> None:
    """Python's hashes of tuples and frozensets of integers are the same in every process."""

    def parts(value: object) -> list[object]:
        inner = value if isinstance(value, tuple | frozenset) else ()
        return [value, *(part for each in inner for part in parts(each))]

    assert not [part for part in parts(identity(read(text))) if isinstance(part, int)]
    assert identity(read(text)) == identity(read(text))
