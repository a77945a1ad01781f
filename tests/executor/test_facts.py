"""The rows that rules derive: each kept once, in whichever of its two ways a relation remembers them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from executor.facts import RowFacts

_CLOSE, _WIDER, _FAR = (0, 90), (-40, 300), (-(1 << 62), 1 << 62)


def _drawn(seed: int, size: int, within: tuple[int, int]) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(*within, (2, size))


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([(9_000, _CLOSE)] * 3, id="close"),
        pytest.param([(9_000, _CLOSE), (9_000, _WIDER), (9_000, _CLOSE)], id="close, then wider"),
        pytest.param([(9_000, _CLOSE), (9_000, _FAR), (9_000, _CLOSE)], id="close, then far"),
        pytest.param([(9_000, _FAR), (9_000, _CLOSE)], id="far, then close"),
        pytest.param([(10, _CLOSE)] * 900, id="few at a time"),
        pytest.param([(0, _CLOSE), (1, _FAR), (0, _CLOSE)], id="hardly any"),
    ],
)
def test_each_row_is_kept_once_in_the_order_in_which_rows_came(steps: list[tuple[int, tuple[int, int]]]) -> None:
    facts = RowFacts(2)
    seen: dict[tuple[int, ...], None] = {}
    for seed, (size, within) in enumerate(steps):
        rows = _drawn(seed, size, within)
        before = len(seen)
        seen |= dict.fromkeys(zip(*rows.tolist(), strict=True))
        facts.add(list(rows))
        assert facts.turn() == len(seen) - before
        assert len(facts) == len(seen)
    kept = [column.tolist() for column in facts.whole().columns]
    assert list(zip(*kept, strict=True)) == list(seen)


def test_rows_past_a_stride_are_kept_once() -> None:
    facts = RowFacts(2)
    rows = np.stack((np.arange(3 << 19), np.zeros(3 << 19, np.int64)))
    facts.add([*rows])
    facts.add([*rows])
    assert facts.turn() == 3 << 19
