"""Bigdecs of several limbs: they compute and sum up what Python's decimals give, or nothing."""

from __future__ import annotations

import operator
from decimal import Decimal, localcontext
from random import Random

import numpy as np
import pytest

from adalog.datalog.values import identity
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.expressions.decimals import ScaledDecimals
from adalog.executor.expressions.number_columns import NumberColumns, arithmetic, comparison
from adalog.executor.expressions.wide_decimals import WideDecimals, computed, decimal_of
from adalog.store.values.codes import Codes, Scratch

OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}
EDGES = (0, 1, -1, (1 << 30) - 1, 1 << 30, -(1 << 30), (1 << 62) - 1, -(1 << 62) + 1, 10**18)


def column(rng: Random, size: int) -> tuple[ScaledDecimals, list[Decimal]]:
    """Integers over a power of ten, one for each row or one for all, and their values."""
    scale = rng.randint(0, 18)
    drawn = [
        rng.choice(EDGES) if rng.random() < 0.3 else rng.randint(-(10**18), 10 ** rng.randint(0, 18))
        for _ in range(size)
    ]
    if rng.random() < 0.2:
        drawn = drawn[:1]
        return ScaledDecimals(np.array(drawn[0]), scale), [decimal_of(drawn[0], scale)] * size
    return ScaledDecimals(np.array(drawn), scale), [decimal_of(each, scale) for each in drawn]


def test_arithmetic_and_comparisons_are_exact() -> None:
    rng, wide = Random(7), 0
    values = NumberColumns(Scratch(Codes()), Cancel().check)
    with localcontext(prec=200):
        for _ in range(500):
            operands = [column(rng, 4) for _ in range(rng.randint(2, 4))]
            if all(numbers.numbers.ndim == 0 for numbers, _ in operands):
                continue
            found, expected = operands[0]
            for numbers, decimals in operands[1:]:
                name = rng.choice("+-*")
                expected = [OPERATIONS[name](x, y) for x, y in zip(expected, decimals, strict=True)]
                found = found and arithmetic(name, found, numbers)
            numbers, decimals = column(rng, 4)
            if found is None:
                continue
            wide += isinstance(found, WideDecimals)
            for name, order in ORDERS.items():
                holds = comparison(name, found, numbers)
                if holds is not None:
                    right = [order(x, y) for x, y in zip(expected, decimals, strict=True)]
                    assert np.broadcast_to(holds, 4).tolist() == right
            codes = np.broadcast_to(values.codes(found), 4)
            made = values._values.decode_many(codes)
            assert [*map(identity, made)] == [*map(identity, expected)]
            assert codes.tolist() == values._values.intern_many(expected).tolist()
    assert wide > 100


def test_sums_are_exact() -> None:
    rng = Random(8)
    for _ in range(100):
        a, b = ScaledDecimals(np.array([rng.choice(EDGES) for _ in range(30)]), 2), column(rng, 30)[0]
        product = computed("*", WideDecimals.of(a), WideDecimals.of(b))
        assert product is not None
        group, weight = np.array([rng.randrange(3) for _ in range(30)]), np.array([rng.randint(1, 5)] * 30)
        expected = [0, 0, 0]
        right = np.broadcast_to(b.numbers, 30)
        for number, x, y, w in zip(
            group.tolist(), a.numbers.tolist(), right.tolist(), weight.tolist(), strict=True
        ):
            expected[number] += x * y * w
        assert product.sums(group, weight, 3) == expected


def test_what_has_too_many_limbs_is_left_to_the_values() -> None:
    one = WideDecimals.of(ScaledDecimals(np.array([(1 << 62) - 1]), 0))
    square = computed("*", one, one)
    assert square is not None
    assert computed("*", square, square) is None
    assert computed("+", square, WideDecimals.of(ScaledDecimals(np.array([1]), 12))) is not None
    assert square.at(60) is None
    assert square.sums(np.zeros(1, np.int64), np.array([1 << 40]), 1) is None
    assert arithmetic("*", square, np.array([0.5])) is None


@pytest.mark.parametrize("number", [1, 3])
def test_queries(db, number):
    maps = (f"{{:db/id {n} :p 12345678901234.5678M :q 98765432.10987{n}M}}" for n in range(1, number + 1))
    db.tx(
        "[{:db/ident :p :db/valueType :db.type/bigdec} {:db/ident :q :db/valueType :db.type/bigdec}]",
        f"[{' '.join(maps)}]",
    )
    with localcontext(prec=100):
        products = [Decimal("12345678901234.5678") * Decimal(f"98765432.10987{n}") for n in range(1, number + 1)]
        total, squares = sum(products), sum(each * each for each in products)
    assert db.q("[:find (sum (* ?p ?q)) . :with ?e :where [?e :p ?p] [?e :q ?q]]") == f"{total:f}M"
    assert db.q("[:find (sum (* ?p ?q ?p ?q)) . :with ?e :where [?e :p ?p] [?e :q ?q]]") == f"{squares:f}M"
    least = min(products)
    assert db.q(f"[:find ?e :where [?e :p ?p] [?e :q ?q] [(<= (* ?p ?q) {least:f}M)]]") == "#{[1]}"
    assert db.q("[:find (count ?y) . :where [?e :p ?p] [?e :q ?q] [(* ?p ?q) ?y]]") == str(number)
