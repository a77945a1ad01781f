"""The order of keys by what they stand for: that of Python's values."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.store.backup.integrity import relation_faults
from adalog.store.tries import fold_pieces, value_index
from adalog.store.tries.base import Base
from adalog.store.tries.columns import NO_COLUMNS
from adalog.store.tries.relation import Relation
from adalog.store.tries.relation_files import load_base, save_relation
from adalog.store.tries.renumbering import MovedKeys, Renumbering, shifted
from adalog.store.tries.trie import Csr, CsrFigures, distinct
from adalog.store.tries.value_index import IndexedValues, order_of_keys
from adalog.store.values import layout
from adalog.store.values.codes import Codes

NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=3) | st.sampled_from(
    [Decimal(text) for text in ("1E+400", "2E+400", "-1E+400", "1E-400", "0.1", "0.10000000000000000001", "0")]
)
ALIKE = st.text(st.sampled_from("ab\x00é\U0001f600"), max_size=20)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_index, "LEAST", 2)


def keys_of(values: list[Any], codes: Codes) -> Any:
    return distinct(np.sort(np.array([codes.intern(value) for value in values], np.int64)))


@given(st.lists(ALIKE, min_size=2), st.text(max_size=12))
def test_the_order_of_strings(texts: list[str], start: str) -> None:
    check([start + text for text in texts])


@given(st.lists(st.text(), min_size=2))
def test_the_order_of_any_strings(texts: list[str]) -> None:
    check(texts)


@given(st.lists(st.floats(), min_size=2))
def test_the_order_of_doubles(numbers: list[float]) -> None:
    check(numbers)


@given(st.lists(NUMBERS, min_size=2))
def test_the_order_of_bigdecs(numbers: list[Decimal]) -> None:
    check(numbers)


def check(values: list[Any]) -> None:
    codes = Codes()
    keys = keys_of(values, codes)
    order = order_of_keys(keys, codes)
    if len(keys) < 2:
        assert order is None
        return
    assert order is not None
    assert sorted(order.tolist()) == list(range(len(keys)))
    indexed = IndexedValues(keys, order, codes)
    ordered = list(indexed)
    assert all(left <= right for left, right in pairwise(ordered))
    assert all(value != value for value in codes.decode_many(keys[order[len(ordered) :]]))


def test_what_has_no_index() -> None:
    codes = Codes()
    for values in ([1, 2, 3], ["a"], ["a", 1.0], [True, False]):
        assert order_of_keys(keys_of(values, codes), codes) is None


def test_pieces_are_joined_with_an_index(tmp_path: Path) -> None:
    codes, count = Codes(), 300
    texts = [f"{number * 7919 % count} text" for number in range(count)]
    v = np.array([codes.intern(text) for text in texts for _ in range(3)], np.int64)
    e = np.arange(len(v)) + 100
    base = Base(ev=Csr.from_sorted(e, v), ve=Csr.from_pairs(v, e), since=np.full(len(v), 7), t=7, last=7)
    saved = save_relation(tmp_path, 5, Relation(base), codes)
    order = saved.base.ve.order
    assert order is not None
    fold = fold_pieces.FoldTarget(str(tmp_path), 6, 7, True)
    forward, backward = fold_pieces.sampled(saved, NO_COLUMNS, 100)
    pieces = [
        [
            write(fold, saved, NO_COLUMNS, low, high, f"{name}{number}")
            for number, (low, high) in enumerate(fold_pieces.ranges_of([samples], 100))
        ]
        for name, samples, write in (
            ("f", forward, fold_pieces.write_forward),
            ("b", backward, fold_pieces.write_backward),
        )
    ]
    assert min(map(len, pieces)) > 2
    joined = load_base(fold_pieces.join_pieces(fold, *pieces, 7, lambda: codes))
    assert joined.ve.order is not None
    assert joined.ve.order.tolist() == order.tolist()
    assert [texts.index(text) for text in IndexedValues(joined.ve.keys, order, codes)] == order.tolist()


def test_values_that_are_given_other_numbers_keep_their_order(tmp_path: Path) -> None:
    codes, count = Codes(), 300
    v = np.array([codes.intern(f"{number * 7919 % count} text") for number in range(count)], np.int64)
    e = np.arange(count) + 100
    base = Base(ev=Csr.from_sorted(e, v), ve=Csr.from_pairs(v, e), since=np.full(count, 7), t=7, last=7)
    saved = save_relation(tmp_path, 5, Relation(base), codes).base
    assert saved.segment is not None
    assert saved.ve.order is not None
    order = saved.ve.order.tolist()
    moved = load_base(shifted(saved.segment, Renumbering(7, 9, (MovedKeys(layout.TAG_STRING, 100, 500),))))
    assert moved.ve.keys.tolist() == np.where(np.arange(count) < 100, v, v + 500).tolist()
    assert moved.ve.order is not None
    assert moved.ve.order.tolist() == order
    assert list(relation_faults(Relation(moved))) == []
    wrong = CsrFigures(1, moved.ve.span, moved.ve.dense, np.zeros(count, np.int32))
    damaged = replace(moved, ve=replace(moved.ve, figures=wrong))
    assert any("index of values" in fault for _, fault in relation_faults(Relation(damaged)))
