"""Tests of texts, `subs`, `in` and comparisons of instants by the column give what the built-ins give."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from adalog.datalog.builtins import BUILTINS
from adalog.datalog.edn import read
from adalog.datalog.errors import AdalogError
from adalog.datalog.values import BigInt
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.run import QueryRun
from adalog.executor.expressions import text_columns
from adalog.executor.expressions.calls import Call
from adalog.executor.join.batch import Batch
from adalog.store.values.codes import Codes, Scratch

TEXTS = ("", "a", "ab", "abc", "a\nb", "ÄÖ", "x%y", "a_b", "special requests", "\\", "aab" * 9, "日本語", "a.c")
PATTERNS = (
    *("", "%", "a%", "%b", "%a%", "_", "__", "a_c", "%special%requests%", "x\\%y", "a\\_b", "\\", "%\\", "a.c"),
    *("日%", "%本%", "_本_", "ab", "%%", "a%c", "%\n%", "Ä_", "(", "[a]", "a%b%c"),
)


class Running:
    def __init__(self) -> None:
        codes = Codes()
        for text in TEXTS[::2]:
            codes.intern(text)
        self.run = QueryRun(Scratch(codes), Cancel())


def by_column(name: str, values: list[Any], *constants: Any, made: Running | None = None) -> Any:
    """The results of a column, and whether they came without the built-in's."""
    running = made or Running()
    scratch = running.run.values
    asked = []

    def apply(*given: Any) -> Any:
        asked.append(given)
        return BUILTINS[name].call(*given)

    call = Call(name, ("?x", *map(scratch.intern, constants)), apply, running, None)
    batch = Batch(len(values), {"?x": scratch.intern_many(values)})
    return scratch.decode_many(call.results(batch)), not asked


def one_by_one(name: str, values: list[Any], *constants: Any) -> Iterator[Any]:
    for value in values:
        yield BUILTINS[name].call(value, *constants)


@pytest.mark.parametrize("name", ["starts-with?", "ends-with?", "includes?", "like", "not-like"])
def test_tests_of_texts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_columns, "_AT_ONCE", 3)
    values = [*TEXTS, *TEXTS[::3]]
    for pattern in PATTERNS:
        assert by_column(name, values, pattern) == (list(one_by_one(name, values, pattern)), True), pattern


def test_random_patterns() -> None:
    rng = Random(11)
    for _ in range(400):
        texts = ["".join(rng.choices("ab%_\\é\n", k=rng.randint(0, 6))) for _ in range(5)]
        pattern = "".join(rng.choices("ab%_é%", k=rng.randint(0, 6)))
        for name in ("like", "not-like"):
            assert by_column(name, texts, pattern) == (list(one_by_one(name, texts, pattern)), True)


def test_what_is_no_text_is_left_to_the_built_in() -> None:
    for name in ("like", "not-like"):
        assert by_column(name, ["a", None, "b"], "a%") == (list(one_by_one(name, ["a", None, "b"], "a%")), True)
        with pytest.raises(AdalogError, match="1 is a long"):
            by_column(name, ["a", 1], "a%")
        with pytest.raises(AdalogError, match="2 is a long"):
            by_column(name, ["a"], 2)
    with pytest.raises(AdalogError, match="an argument is nil"):
        by_column("includes?", ["a", None], "a")
    # More text than the pattern is tried on.
    pattern = "%a" + "_" * 400 + "%b%"
    with pytest.raises(AdalogError, match="to bound its time"):
        by_column("like", ["b" * (1 << 20)], pattern)


def test_pieces_of_texts() -> None:
    for start, end in product(range(3), range(4)):
        long_enough = [text for text in TEXTS if len(text) >= end]
        if start <= end:
            expected = list(one_by_one("subs", long_enough, start, end))
            assert by_column("subs", long_enough, start, end) == (expected, True)
        if start > end or len(long_enough) < len(TEXTS):
            with pytest.raises(AdalogError, match="the string has"):
                by_column("subs", list(TEXTS), start, end)
    with pytest.raises(AdalogError, match="takes a long there"):
        by_column("subs", ["abc"], 0, 1.5)


COLLECTIONS = (
    "[]",
    '["a" "b" 1]',
    "#{1 2.0 3.5 4N 5M}",
    "(nil true :k)",
    '[#inst "2020-01-01" 2]',
    "[##NaN ##Inf]",
)
COLUMNS: tuple[list[Any], ...] = (
    ["a", "b", "c", None],
    [1, 2, 3, 4, 5, None],
    [1.0, 2.0, 3.5],
    [Decimal(1), Decimal("3.5"), Decimal(5)],
    [BigInt(4), BigInt(2)],
    [True, False, None],
    [None],
    [1, "a", None, 2.0],
)


@pytest.mark.parametrize("collection", COLLECTIONS)
@pytest.mark.parametrize("name", ["in", "not-in"])
def test_membership(name: str, collection: str) -> None:
    for values in COLUMNS:
        found, _ = by_column(name, values, read(collection))
        assert found == list(one_by_one(name, values, read(collection))), values
    assert by_column(name, ["a", None, "z"], read('["a" 1]'))[1]
    assert by_column(name, [1, 2, None], read("[2.0 3M]"))[1]
    with pytest.raises(AdalogError, match="a vector, a list or a set"):
        by_column(name, ["a"], 3)


@pytest.mark.parametrize("name", ["<", ">", "<=", ">=", "=="])
def test_instants_are_compared_by_their_codes(name: str) -> None:
    moments = [read(f'#inst "{year:04}-03-01"') for year in (1, 1969, 1970, 2024, 9999)]
    for moment in moments:
        assert by_column(name, moments, moment) == (list(one_by_one(name, moments, moment)), True)
        assert by_column(name, moments, 5)[0] == [False] * 5
        assert by_column(name, [*moments, None], moment)[0][-1] is False
    scratch = Running().run.values
    column = scratch.intern_many(moments)
    assert np.array_equal(np.argsort(column), np.arange(5))
