"""Which part of a column a comparison accepts: the same values as if it were asked for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.datalog.builtins import BUILTINS
from adalog.datalog.values import BigInt, Char, EdnSet, Float, Keyword
from adalog.executor.bounds.run import QueryRun
from adalog.executor.expressions.calls import Call
from adalog.executor.extenders.comparisons import ComparisonExtender
from adalog.executor.join.batch import Batch
from adalog.executor.join.ranges import expand
from adalog.executor.join.shortcuts.narrowing import ranges_of
from adalog.store.tries.trie import distinct
from adalog.store.values.codes import Codes, Scratch

LARGE, HUGE = 2**53 + 1, 2**60 + 2**10
LONGS = (0, 1, 2, -1, LARGE, LARGE - 1, -LARGE, 2**59 - 1, -(2**59))
BIG_LONGS = (HUGE, -HUGE, 2**59, 2**63 - 1)
DOUBLES = tuple(
    map(float, (0, 1, 2.5, -1, 0.1, LARGE - 1, 2**59, -(2**59), HUGE, 2**63, 1e300, -1e300, "inf", "-inf", "nan"))
)
FLOATS = tuple(map(Float, (0.0, 1.0, 2.5, 0.10000000149011612, float("inf"), float("nan"))))
BIGINTS = tuple(map(BigInt, (0, 1, LARGE, 2**59, HUGE, 10**30, -(10**30))))
BIGDECS = tuple(map(Decimal, ("0", "1", "1.00", "2.5", "0.1", str(LARGE), str(HUGE), "1E+400", "-1E-400")))
INSTANTS = tuple(datetime(year, 1, 1, tzinfo=UTC) for year in (1900, 1970, 2020, 2021))
OTHERS = (
    *("", "a", "b", "aa"),
    *map(Keyword, ("a", "b", "a/b", "a/b/c", "a/x/c")),
    *(True, False, Char("a"), b"a"),
    *((1, 2), (1, 2.0), (3,)),
    EdnSet((1,)),
)
NUMBERS = (*LONGS, *BIG_LONGS, *DOUBLES, *FLOATS, *BIGINTS, *BIGDECS)
EVERYTHING = (*NUMBERS, *INSTANTS, *OTHERS)
COLUMNS = (
    LONGS,
    DOUBLES,
    DOUBLES,
    (*LONGS, *BIG_LONGS),
    FLOATS,
    BIGINTS,
    BIGDECS,
    NUMBERS,
    INSTANTS,
    OTHERS,
    EVERYTHING,
)
VALUES = Scratch(Codes())


@dataclass(frozen=True)
class Running:
    run: QueryRun


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", ["<", ">", "<=", ">=", "=="])
@given(data=st.data())
def test_what_is_accepted(data: st.DataObject, name: str, turned: bool) -> None:
    kinds = data.draw(st.sampled_from(COLUMNS))
    column = distinct(VALUES.intern_many(data.draw(st.lists(st.sampled_from(kinds), max_size=12))))
    asked = st.one_of(st.sampled_from(kinds), st.sampled_from(NUMBERS), st.sampled_from(EVERYTHING))
    probes = data.draw(st.lists(asked, min_size=4, max_size=8))
    apply = BUILTINS[name].call
    arguments = ("n", "w") if turned else ("w", "n")
    compared = ComparisonExtender(Call(name, arguments, apply, Running(QueryRun(VALUES)), None), {"n": 0, "w": 1})
    batch = Batch(len(probes), {"n": VALUES.intern_many(probes)})
    within = compared.within(batch, "w", column)
    if within is None:
        assert name != "==", "equality is found among any values"
        assert any(isinstance(value, tuple) for value in kinds)
        return
    parent, value = expand(ranges_of(within))
    if not within.is_inside:
        inside = np.isin(value, column)
        parent, value = parent[inside], value[inside]
    pairs = list(zip(parent.tolist(), value.tolist(), strict=True))
    assert pairs == sorted(set(pairs)), "each once, in the order of codes"
    expected = {
        (row, code)
        for row, probe in enumerate(probes)
        for code in column.tolist()
        if apply(*((probe, VALUES.decode(code)) if turned else (VALUES.decode(code), probe)))
    }
    assert set(pairs) == expected


def test_few_prefixes_do_not_sort_objects() -> None:
    column = distinct(VALUES.intern_many(["a", "b", "c"]))
    call = Call("<", ("w", "n"), BUILTINS["<"].call, Running(QueryRun(VALUES)), None)
    compared = ComparisonExtender(call, {"n": 0, "w": 1})
    assert compared.within(Batch(1, {"n": VALUES.intern_many(["b"])}), "w", column) is None
    assert compared.within(Batch(8, {"n": VALUES.intern_many(["b"] * 8)}), "w", column) is not None
