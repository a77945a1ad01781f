"""Tries against sets of pairs: every version stays readable, whatever levels came to lie above its base."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adalog.executor.extenders.pairs import keys_hold, pairs_hold, touched_rows, trie_ranges
from adalog.store.tries import signed, trie
from adalog.store.tries.trie import Csr, Trie

Pairs = frozenset[tuple[int, int]]

pairs = st.tuples(st.integers(-2, 9), st.integers(-2, 9))
transactions = st.lists(st.lists(pairs, max_size=6, unique=True), max_size=40)


@pytest.fixture(params=[(2, 2, 1), (4, 2, 3), (1024, 8, 4096)], autouse=True)
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Levels and rows that are large when they have a few pairs, too."""
    young, ratio, long_row = request.param
    monkeypatch.setattr(signed, "YOUNG", young)
    monkeypatch.setattr(signed, "_RATIO", ratio)
    monkeypatch.setattr(trie, "_LONG_ROW", long_row)
    monkeypatch.setattr(signed, "_FEW_ROWS", 0 if young < 1024 else 256)


def columns(held: Pairs) -> tuple[trie.Codes, trie.Codes]:
    rows = np.array(sorted(held), np.int64).reshape(-1, 2)
    return rows[:, 0].copy(), rows[:, 1].copy()


def toggled(held: Pairs, version: Trie, touched: list[tuple[int, int]]) -> tuple[Pairs, Trie]:
    """Each pair put where it was not, and dropped where it was."""
    events = np.array(touched, np.int64).reshape(-1, 2)
    added = np.array([pair not in held for pair in touched], np.bool_)
    return held ^ frozenset(touched), version.advanced(events[:, 0].copy(), events[:, 1].copy(), added)


def check(version: Trie, held: Pairs) -> None:
    rows = {key: sorted(v for k, v in held if k == key) for key in range(-3, 11)}
    every = np.array(list(rows), np.int64)
    assert version.pairs == len(held)
    assert version.rows == sum(map(bool, rows.values()))
    assert version.size.longest >= max(map(len, rows.values()))
    assert version.keys.tolist() == [key for key, row in rows.items() if row]
    assert version.diagonal.tolist() == sorted(k for k, v in held if k == v)
    assert version.counts(every).tolist() == [len(row) for row in rows.values()]
    assert [version.count(key) for key in rows] == [len(row) for row in rows.values()]
    assert [version.row(key).tolist() for key in rows] == list(rows.values())
    for some in (every, every[::2], every[3:4]):
        sizes, values = version.rows_of(some)
        assert values.tolist() == [v for k in some for v in rows[k]]
        assert sizes.tolist() == [len(rows[k]) for k in some]
    keys, values = version.merged.pairs()
    assert list(zip(keys.tolist(), values.tolist(), strict=True)) == sorted(held)
    grid = [(k, v) for k in rows for v in rows]
    assert all(version.holds(*pair) == (pair in held) for pair in grid)
    asked, wanted = (np.array(column, np.int64) for column in zip(*grid, strict=True))
    assert pairs_hold(version, asked, wanted).tolist() == [pair in held for pair in grid]
    assert keys_hold(version, every).tolist() == [bool(row) for row in rows.values()]
    fresh = Trie(version.base, version.levels, version.size)
    for reader in (fresh, version):
        ranges = trie_ranges(reader, np.repeat(every, 2))
        assert ranges.length.tolist() == [len(row) for row in rows.values() for _ in range(2)]
        read = [
            (ranges.over if src else ranges.base)[lo:hi].tolist()
            for src, lo, hi in zip(ranges.src, ranges.lo, ranges.hi, strict=True)
        ]
        assert read == [row for row in rows.values() for _ in range(2)]
    touched = touched_rows(version, every)
    assert touched.keys.tolist() == [key for key in rows if version.touched(key)]
    assert [touched.values[start:stop].tolist() for start, stop in pairwise(touched.offsets)] == [
        rows[key] for key in touched.keys.tolist()
    ]


@settings(max_examples=40)
@given(st.frozensets(pairs, max_size=30), transactions)
def test_every_version_is_the_set_of_its_moment(base: Pairs, steps: list[list[tuple[int, int]]]) -> None:
    version, held = Trie(Csr.from_sorted(*columns(base))), base
    versions = [(version, held)]
    for touched in steps:
        held, version = toggled(held, version, touched)
        versions.append((version, held))
    for version, held in versions[-1:-9:-3]:
        check(version, held)


@settings(max_examples=40)
@given(st.frozensets(pairs, max_size=30), transactions)
def test_many_transactions_at_once_are_as_one_by_one(base: Pairs, steps: list[list[tuple[int, int]]]) -> None:
    version, held = Trie(Csr.from_sorted(*columns(base))), base
    events: list[tuple[int, int, bool]] = []
    for touched in steps:
        events += [(*pair, pair not in held) for pair in touched]
        held ^= frozenset(touched)
    e, v, added = (np.array([event[i] for event in events], np.int64) for i in range(3))
    check(version.advanced(e, v, added.astype(np.bool_)), held)


def test_what_was_written_out_can_be_forgotten() -> None:
    held = frozenset((i % 5, i % 9) for i in range(40))
    held, version = toggled(held, Trie(Csr.from_sorted(*columns(held))), [(0, 0), (3, 8), (7, 1)])
    for _ in range(2):
        check(version, held)
        assert len(version.over.keys) == 3
        more = version.nbytes()
        version.forget()
        assert version.nbytes() < more
        assert not version.has_over


wide = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-3, 3)


@given(st.lists(st.tuples(wide, wide, wide), max_size=12), st.integers(1, 3))
def test_rows_in_order_and_equal_ones_as_they_were(rows: list[tuple[int, int, int]], width: int) -> None:
    given_columns = np.array(rows, np.int64).reshape(-1, 3).T[:width].copy()
    order = signed.order_of(*given_columns)
    assert order.tolist() == sorted(range(len(rows)), key=lambda i: rows[i][:width])


def test_levels_are_few_and_geometric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signed, "YOUNG", 16)
    monkeypatch.setattr(signed, "_RATIO", 4)
    version = Trie(Csr.from_sorted(np.arange(4), np.arange(4)))
    copied = 0
    for i in range(5000):
        before = version.levels
        version = version.advanced(np.array([i % 700]), np.array([10 + i]), np.array([True]))
        copied += sum(len(level) for level in version.levels if level not in before)
        lengths = [len(level) for level in version.levels]
        assert all(4 * above <= below for above, below in pairwise(lengths[1:]))
    assert len(version.levels) <= 6
    assert copied < 5000 * (16 + 4 * 5)
    assert sum(map(len, version.levels)) == 5000


def test_a_long_row_shares_the_base_until_it_is_written_out() -> None:
    row = np.arange(1_000_000)
    base = Csr(np.array([7]), np.array([0, len(row)]), row)
    version = Trie(base).advanced(np.array([7, 7]), np.array([3, 1_000_000]), np.array([False, True]))
    assert sum(level.nbytes() for level in version.levels) < 100
    assert version.count(7) == 1_000_000
    assert [version.holds(7, value) for value in (3, 4, 1_000_000)] == [False, True, True]
    ranges = trie_ranges(version, np.full(5, 7))
    assert ranges.unwritten == 1_000_000
    assert version.row(7)[2:4].tolist() == [2, 4]
    assert version.row(7) is version.row(7)
