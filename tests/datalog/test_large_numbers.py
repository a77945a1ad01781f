"""Arithmetic on numbers whose digits would be without number: an answer or a clear refusal, and at once."""

from __future__ import annotations

import contextlib
import itertools
from decimal import Decimal

import pytest

from adalog.datalog.aggregates import AGGREGATES, aggregate
from adalog.datalog.builtins import BUILTINS
from adalog.datalog.builtins.builtin import Builtin
from adalog.datalog.edn import write
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.values import BigInt, EdnSet, Float

FAR = [Decimal("1e999999999"), Decimal("-1e-999999999"), Decimal("0e999999999"), Decimal("1e100000")]
NUMBERS = [
    *FAR,
    Decimal("1.5e8000"),
    Decimal("-1e-8000"),
    Decimal("9" * 4000),
    BigInt(10**4000 - 1),
    1,
    0,
    1.5,
    float("nan"),
    5e-324,
    Float(1.5),
]
ARITHMETIC = ("+", "-", "*", "/", "quot", "rem", "mod", "min", "max", "<", "==", "compare")


def answer(builtin: Builtin, *args):
    """The value as EDN, or the refusal's message, which is no longer than a line or two."""
    try:
        return write(builtin.call(*args))
    except AdalogError as error:
        refusal = error
    assert refusal.code is Code.QUERY_INVALID
    assert len(refusal.message) < 400
    return refusal.message


@pytest.mark.parametrize("name", ARITHMETIC)
def test_two_numbers(name):
    for pair in itertools.product(NUMBERS, repeat=2):
        answer(BUILTINS[name], *pair)


@pytest.mark.parametrize("name", ["inc", "dec", "abs", "long", "double", "bigint", "bigdec", "-", "/"])
@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: str(number)[:12])
def test_one_number(name, number):
    said = answer(BUILTINS[name], number)
    if type(number) is Decimal and abs(number.adjusted()) > 8000:
        assert "takes bigdecs from 1e-8000M to 1e8000M" in said


def test_a_bigint_has_at_most_as_many_digits_as_are_written():
    assert "more than 4,000 digits" in answer(BUILTINS["bigint"], Decimal("1e5000"))
    assert answer(BUILTINS["bigint"], Decimal("1e3999")) == "1" + 3999 * "0" + "N"


@pytest.mark.parametrize("name", sorted(name for name, known in AGGREGATES.items() if known.counts_repeats))
def test_aggregates(name):
    for pair in itertools.product(NUMBERS, repeat=2):
        with contextlib.suppress(AdalogError):
            write(aggregate(name, [], pair))
    with pytest.raises(AdalogError, match="takes bigdecs from"):
        aggregate(name, [], [Decimal("1e-999999999")])


def test_a_set_tells_them_apart():
    assert len(EdnSet([*FAR, Decimal("10e999999998")])) == len(FAR)
