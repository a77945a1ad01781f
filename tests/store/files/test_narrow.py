"""Columns in few bytes are what they were, in parts and as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adalog.store.files.narrow import column_of, length_of, narrowed

WORD = st.integers(-(2**63), 2**63 - 1)
COLUMNS = st.one_of(
    st.lists(WORD, max_size=20),
    st.tuples(WORD.filter(lambda n: n < 2**62), st.lists(st.integers(0, 300), max_size=20)).map(
        lambda pair: [pair[0] + each for each in pair[1]]
    ),
    st.tuples(st.integers(-5, 2**62), st.integers(1, 30)).map(lambda pair: list(range(pair[0], sum(pair)))),
    st.lists(st.just(2**60 + 1), min_size=1, max_size=9),
)


@given(COLUMNS, st.booleans(), st.integers(-3, 25), st.none() | st.integers(-3, 25))
def test_a_column_is_what_it_was(numbers: list[int], grows: bool, start: int, stop: int | None) -> None:
    column = np.array(numbers, np.int64)
    arrays = narrowed("c", column, grows=grows)
    assert length_of(arrays, "c") == len(column)
    assert column_of(arrays, "c").tolist() == numbers
    part = column_of(arrays, "c", start, stop)
    assert (part.tolist(), part.dtype) == (numbers[start:stop], np.int64)


@pytest.mark.parametrize(
    ("column", "grows", "nbytes"),
    [
        (np.arange(7, 1007), False, 16),
        (np.full(1000, 2**61), True, 16),
        (np.arange(1000) % 200 + 2**60, False, 1016),
        (np.arange(1000) + 2**60, True, 4016),
        (np.arange(1000) * 2**21, True, 4016),
        (np.arange(1000) * 2**22, True, 8000),
        (np.arange(1000) * 2**22 - 3, False, 4016),
    ],
)
def test_it_takes_as_few_bytes_as_it_needs(column: np.ndarray, grows: bool, nbytes: int) -> None:
    assert sum(each.nbytes for each in narrowed("c", column, grows=grows).values()) == nbytes
