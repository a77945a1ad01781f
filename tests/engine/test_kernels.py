"""The compiled loops against NumPy and Python sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.kernels import group_kernels, range_kernels
from adalog.executor.kernels.distinct_rows import first_rows, rows_differ

run = st.lists(st.integers(0, 120), max_size=60).map(lambda xs: sorted(set(xs)))
far = st.sampled_from([0, -(1 << 62), (1 << 61) + 5])


def flat(runs: list[list[int]]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(values, lo, hi) of runs laid end to end."""
    lengths = np.array([len(each) for each in runs], np.int64)
    hi = np.cumsum(lengths)
    return np.array([x for each in runs for x in each], np.int64), hi - lengths, hi


@settings(max_examples=200, deadline=None)
@given(
    st.integers(2, 4).flatmap(lambda k: st.lists(st.tuples(st.integers(1, 4), *[run] * k), min_size=1, max_size=6)),
    st.booleans(),
    far,
)
def test_intersect_is_set_intersection(groups: list[Any], marked: bool, shift: int) -> None:
    """The older ranges stay the same over some prefixes, the last range changes; some ranges are overlays."""
    k = len(groups[0]) - 1
    rows = [[*older, [x for x in last if (x + i) % 3]] for times, *older, last in groups for i in range(times)]
    rows = [[[x + shift for x in each] for each in row] for row in rows]
    arrays: tuple[Any, ...] = ()
    src, lo, hi = [], [], []
    for j in range(k):
        values, starts, ends = flat([row[j] for row in rows])
        # Equal runs must be the same run for the kernel to keep what it knows of them.
        for i in range(1, len(rows)):
            if j < k - 1 and rows[i][j] == rows[i - 1][j]:
                starts[i], ends[i] = starts[i - 1], ends[i - 1]
        over = j % 2
        arrays += (np.empty(0, np.int64), values) if over else (values, np.empty(0, np.int64))
        src.append(np.full(len(rows), over, np.uint8))
        lo.append(starts)
        hi.append(ends)
    room = int(np.min([h - s for s, h in zip(lo, hi, strict=True)], axis=0).sum()) + 1
    parent, value = np.empty(room, np.int64), np.empty(room, np.int64)
    bitmap = np.zeros(3 if marked else 0, np.uint64)
    stacked = np.stack(src), np.stack(lo), np.stack(hi)
    counts = range_kernels.intersect(arrays, *stacked, bitmap, shift, True, parent, value)
    expected = [(i, x) for i, row in enumerate(rows) for x in sorted(set(row[0]).intersection(*row[1:]))]
    total = int(counts.sum())
    assert list(zip(parent[:total].tolist(), value[:total].tolist(), strict=True)) == expected
    assert not bitmap.any()
    again = range_kernels.intersect(arrays, *stacked, bitmap, shift, False, parent[:1], value[:1])
    assert (again == counts).all()


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 5), st.integers(0, 1 << 32), far, st.sampled_from([(0, 900), (150, 500), (0, 63)]))
def test_long_ranges_that_come_again_are_counted_as_sets(
    k: int, seed: int, shift: int, marked: tuple[int, int]
) -> None:
    """Ranges of all densities, overlays among them, some that overlap; values beyond the bitmap on both sides."""
    rng = np.random.default_rng(seed)
    n, low, high = int(rng.integers(1, 200)), *marked
    arrays: tuple[Any, ...] = ()
    src, lo, hi = np.zeros((k, n), np.uint8), np.zeros((k, n), np.int64), np.zeros((k, n), np.int64)
    for j in range(k):
        runs = [np.flatnonzero(rng.random(900) < rng.choice([0, 0.01, 0.1, 0.5, 1])) for _ in range(6)]
        values, starts, ends = flat([run.tolist() for run in runs])
        picked = (
            rng.integers(0, 6, n) if j == k - 1 else np.repeat(rng.integers(0, 6, n), rng.integers(1, 30, n))[:n]
        )
        lo[j], hi[j], src[j] = starts[picked], ends[picked], rng.random() < 0.3
        lo[j] = np.minimum(hi[j], lo[j] + rng.choice([0, 0, 0, 1, 70], n if j == k - 1 else 1))
        src[j, : int(rng.integers(0, n + 1))] = 0
        arrays += (values + shift, values + shift)
    inside = [[{*arrays[2 * j][lo[j, i] : hi[j, i]].tolist()} for j in range(k)] for i in range(n)]
    bitmap = np.zeros((high - low >> 6) + 1, np.uint64)
    one = np.empty(1, np.int64)
    counts = range_kernels.intersect(arrays, src, lo, hi, bitmap, low + shift, False, one, one)
    assert counts.tolist() == [len(set.intersection(*row)) for row in inside]
    assert not bitmap.any()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0, 1, 1 << 61, -(1 << 63), 7])), max_size=40))
def test_group_rows_numbers_equal_rows_alike(rows: list[tuple[int, int]]) -> None:
    for width, in_order in ((1, False), (2, False), (2, True)):
        rows = sorted(rows) if in_order else rows
        columns = np.array([[row[i + 2 - width] for row in rows] for i in range(width)], np.int64).reshape(
            width, -1
        )
        group, first = group_kernels.group_rows(columns)
        seen: dict[tuple[int, ...], int] = {}
        for i in range(len(rows)):
            key = tuple(columns[:, i].tolist())
            assert group[i] == seen.setdefault(key, len(seen))
        assert len(first) == len(seen)
        assert [tuple(columns[:, f].tolist()) for f in first] == list(seen)


_FAR = st.sampled_from([0, 1, 7, 1 << 20, 1 << 40, 1 << 61, -(1 << 63)])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(-3, 3), _FAR), min_size=1, max_size=60),
    st.integers(1, 3),
    st.booleans(),
)
def test_first_rows_are_those_of_group_rows(rows: list[tuple[int, int, int]], width: int, in_order: bool) -> None:
    for kept in (slice(0, width), slice(3 - width, 3)):
        shown = [row[kept] for row in rows]
        columns = np.ascontiguousarray(np.array(sorted(shown) if in_order else shown, np.int64).T)
        assert first_rows(columns).tolist() == group_kernels.group_rows(columns)[1].tolist()


@pytest.mark.parametrize("at_once", [1 << 18, 999])
@pytest.mark.parametrize("shift", [0, -7000, 1 << 61])
def test_rows_differ_where_a_dense_column_repeats_nothing(at_once: int, shift: int) -> None:
    numbers = np.random.default_rng(1).permutation(5000) + shift
    alike = np.full(5000, 7)
    assert rows_differ([alike, numbers], None, at_once)
    twice = numbers.copy()
    twice[4999] = twice[17]
    assert not rows_differ([twice], None, at_once)
    # What is not dense, or few, or not to be written to, is not looked at.
    assert not rows_differ([numbers * 2 + np.arange(5000) % 2 * (1 << 40)], None, at_once)
    assert not rows_differ([numbers[:100]], None, at_once)
    numbers.flags.writeable = False
    assert not rows_differ([numbers], None, at_once)


def test_rows_differ_can_be_stopped() -> None:
    def check() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        rows_differ([np.arange(5000)], check)


def test_lookup_prefers_the_overlay_and_knows_what_is_gone() -> None:
    keys, offsets = np.array([1, 5, 9]), np.array([0, 2, 3, 6])
    over_keys, over_offsets = np.array([5, 7]), np.array([0, 0, 2])
    for dense in (np.empty(0, np.int32), np.array([0, -1, -1, -1, 1, -1, -1, -1, 2], np.int32)):
        src, lo, hi, total, single = range_kernels.lookup(
            keys, dense, offsets, over_keys, over_offsets, np.array([1, 5, 7, 9, 4, 99, -3])
        )
        assert src.tolist() == [0, 1, 1, 0, 0, 0, 0]
        assert (total, single) == (7, False)
        assert list(zip(lo.tolist(), hi.tolist(), strict=True)) == [
            (0, 2), (0, 0), (0, 2), (3, 6), (0, 0), (0, 0), (0, 0),
        ]  # fmt: skip
        *_, total, single = range_kernels.lookup(keys, dense, offsets, over_keys, over_offsets, np.array([3, 3]))
        assert (total, single) == (0, False)
        found = range_kernels.contains_key(keys, dense, np.array([1, 5, 7, 4]))
        assert found.tolist() == [True, True, False, False]


@given(st.lists(st.integers(0, 90), max_size=40), st.lists(st.integers(-3, 95), max_size=40), st.randoms(), far)
def test_keys_in_order_are_found_as_those_in_none(held: list[int], wanted: list[int], rng: Any, shift: int) -> None:
    pairs = sorted({(key - key % 3 + shift, key % 3) for key in held})
    keys = np.array(sorted({key for key, _ in pairs}), np.int64)
    offsets = np.array([sum(key < each for key, _ in pairs) for each in [*keys.tolist(), 1 << 62]], np.int64)
    values = np.array([value for _, value in pairs], np.int64)
    index, nothing = np.empty(0, np.int32), np.empty(0, np.int64)
    for order in (sorted(wanted), rng.sample(wanted, len(wanted))):
        query = np.array([each + shift for each in order], np.int64)
        rows = [[value for key, value in pairs if key == each] for each in query.tolist()]
        _, lo, hi, total, single = range_kernels.lookup(keys, index, offsets, nothing, np.zeros(1, np.int64), query)
        assert [values[a:b].tolist() for a, b in zip(lo, hi, strict=True)] == rows
        assert (total, single) == (sum(map(len, rows)), all(len(row) == 1 for row in rows))
        assert range_kernels.contains_key(keys, index, query).tolist() == [bool(row) for row in rows]
        second = np.array([each % 3 for each in order], np.int64)
        found = range_kernels.holds_pairs(keys, index, offsets, values, query, second)
        assert found.tolist() == [x in row for x, row in zip(second.tolist(), rows, strict=True)]


def test_a_prefix_whose_last_range_is_empty_tells_nothing_of_the_next() -> None:
    values = np.array([1, 2, 1, 3, 1], np.int64)
    nothing = np.empty(0, np.int64)
    lo = np.array([[0, 0, 0], [2, 2, 2], [5, 4, 4]], np.int64)
    hi = np.array([[2, 2, 2], [4, 4, 4], [5, 5, 5]], np.int64)
    parent, value = np.empty(4, np.int64), np.empty(4, np.int64)
    counts = range_kernels.intersect(
        (values, nothing) * 3, np.zeros((3, 3), np.uint8), lo, hi, np.zeros(0, np.uint64), 0, True, parent, value
    )
    assert counts.tolist() == [0, 1, 1]
    assert list(zip(parent[:2].tolist(), value[:2].tolist(), strict=True)) == [(1, 1), (2, 1)]


@given(st.data())
def test_few_keys_are_looked_up_by_python_as_by_compiled_code(data: st.DataObject) -> None:
    """With all kinds of keys: an index of dense ones, an overlay, repeated and missing ones, ones far apart."""
    numbers = st.integers(-(1 << 62), 1 << 62) if data.draw(st.booleans()) else st.integers(0, 12)
    keys = np.array(sorted(data.draw(st.sets(numbers, max_size=8))), np.int64)
    over = np.array(sorted(data.draw(st.sets(numbers, max_size=4))), np.int64)
    dense = np.empty(0, np.int32)
    if keys.size and keys[-1] - keys[0] < 20:
        dense = np.full(keys[-1] - keys[0] + 1, -1, np.int32)
        dense[keys - keys[0]] = np.arange(keys.size)
    lengths = st.lists(st.integers(1, 3), min_size=keys.size, max_size=keys.size)
    offsets = np.cumsum([0, *data.draw(lengths)])
    query = np.array(data.draw(st.lists(numbers | st.sampled_from([*keys.tolist(), 0]), max_size=8)), np.int64)
    arguments = keys, dense, offsets, over, np.arange(over.size + 1), query
    kernel: Any = range_kernels.lookup
    with np.errstate(over="ignore"):
        by_python = kernel.py_func(*arguments)
    compiled = kernel.dispatcher(*arguments)
    for one, other in zip(by_python, compiled, strict=True):
        assert type(one) is type(other)
        assert np.array_equal(one, other)
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None)
