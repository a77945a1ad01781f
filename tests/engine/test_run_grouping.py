"""Groups of rows that lie together are those that hashing every row gives."""

from __future__ import annotations

import numpy as np
import pytest

from adalog.executor.answer.grouping import grouped_rows
from adalog.executor.kernels.group_kernels import group_rows


def _nothing() -> None:
    pass


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("longest", [1, 2, 3, 9, 5000])
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_runs_are_grouped_as_rows_are(seed: int, longest: int, columns: int) -> None:
    """Runs of random lengths whose rows come again elsewhere, and neighbours that differ in one column alone."""
    random = np.random.default_rng(seed)
    kinds = random.integers(-(2**62), 2**62, (columns, 40))
    kinds[:-1, ::2] = kinds[:-1, 1::2]
    lengths = random.integers(1, longest + 1, 40_000 if longest < 9 else 8_000 if longest == 9 else 30)
    rows = np.ascontiguousarray(np.repeat(kinds[:, random.integers(0, 40, len(lengths))], lengths, axis=1))
    group, first = grouped_rows(list(rows), _nothing)
    expected, firsts = group_rows(rows)
    assert (group == expected).all()
    assert (first == firsts).all()


def test_a_check_that_raises_ends_the_grouping() -> None:
    rows = np.repeat(np.arange(20_000), 4)

    def check() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        grouped_rows([rows, rows], check)
