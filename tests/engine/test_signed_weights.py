"""Weights below zero: whoever sums, merges or bounds them takes them for what they are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adalog.datalog.ast import FindAggregate, FindVar, Var
from adalog.datalog.errors import AdalogError
from adalog.executor.answer.aggregates import aggregated
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.changes import SignedExtender
from adalog.executor.extenders.relation import RelationExtender
from adalog.executor.join.batch import Batch, check_total
from adalog.executor.join.connectives import Conjunction
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin, Level
from adalog.executor.kernels.sum_kernels import exact_sums
from adalog.planner.model.logical import WEIGHT
from adalog.store.values.codes import Codes, Scratch


def longs(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


def weighted(weights: np.ndarray, **columns: np.ndarray) -> Batch:
    return Batch(len(weights), {**columns, WEIGHT: weights})


def test_rows_whose_weights_come_to_nothing_are_none() -> None:
    merged = weighted(longs(1, -1, 2, -3), a=longs(5, 5, 6, 7)).distinct()
    assert merged.columns["a"].tolist() == [6, 7]
    assert merged.columns[WEIGHT].tolist() == [2, -3]
    assert weighted(longs(2, -2)).distinct().size == 0
    assert weighted(longs(2, -1)).distinct().columns[WEIGHT].tolist() == [1]


def test_the_bound_is_on_magnitudes() -> None:
    check_total(longs(1 << 61, 1 << 60))
    with pytest.raises(AdalogError, match="64 bits"):
        check_total(longs(1 << 61, -(1 << 61)))
    with pytest.raises(AdalogError, match="64 bits"):
        check_total(longs(-(1 << 40)), longs(1 << 40))


def test_sums_of_signed_weights() -> None:
    values = Scratch(Codes())
    doubles = values.intern_many([0.5, 1e300, 2.25])
    rows = weighted(longs(3, -1, 2, -2), g=longs(1, 1, 2, 2), n=longs(10, 20, 30, 30), x=doubles[[0, 1, 2, 2]])
    elements = [
        FindVar(Var("g")),
        *(FindAggregate(name, (), Var(of)) for name, of in (("count", "n"), ("sum", "n"))),
    ]
    groups, counts, sums = aggregated(rows, elements, values, Cancel())
    assert (groups.tolist(), counts.tolist(), sums.tolist()) == ([1, 2], [2, 0], [10, 0])
    (exact,) = aggregated(rows, [FindAggregate("sum", (), Var("x"))], values, Cancel())
    assert values.decode_many(exact) == [1.5 - 1e300]


def test_exact_sums_of_signed_weights() -> None:
    numbers = np.array([0.1, 0.2, 1e-300, math.inf])
    group = longs(0, 0, 1, 2)
    made = exact_sums(numbers, group, longs(-3, 1 << 40, -5, -1), 3, False)
    assert made.tolist() == [math.fsum([*[-0.1] * 3, 0.2 * (1 << 40)]), -5e-300, -math.inf]


def test_an_average_of_a_change_is_refused() -> None:
    rows = weighted(longs(1, -1), n=longs(1, 2))
    with pytest.raises(AssertionError, match="sums and counts"):
        aggregated(rows, [FindAggregate("avg", (), Var("n"))], Scratch(Codes()), Cancel())


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("budget", [1, 1 << 19])
def test_a_signed_relation_multiplies_weights_once(order: tuple[str, str], budget: int) -> None:
    rank = {name: i for i, name in enumerate(order)}
    signed = SignedExtender(("a", "b"), (longs(1, 1, 2, 3), longs(7, 8, 7, 9)), longs(1, -1, -1, 1), rank)
    other = RelationExtender.of(["a"], [longs(1, 2)], rank)
    levels = [Level(order[0]), Level(order[1], frozenset(("b", WEIGHT)), merge=True)]
    found: dict[int, int] = {}

    def sink(batch: Batch) -> bool:
        for b, weight in zip(batch.columns["b"].tolist(), batch.columns[WEIGHT].tolist(), strict=True):
            found[b] = found.get(b, 0) + weight
        return True

    Driver(GenericJoin(Conjunction([signed, other]), levels, True, budget), sink, Cancel()).run(Batch(1, {}))
    assert {b: weight for b, weight in found.items() if weight} == {8: -1}


def test_a_signed_relation_whose_variables_are_given() -> None:
    signed = SignedExtender(("a",), (longs(1, 2),), longs(-1, 1), {"a": -1})
    join = GenericJoin(Conjunction([signed]), [], True)
    found = join.start(Batch(3, {"a": longs(2, 1, 3)}))
    assert (found.columns["a"].tolist(), found.columns[WEIGHT].tolist()) == ([2, 1], [1, -1])
