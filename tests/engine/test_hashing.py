"""Hashes begin with a number of the process: chosen values do not meet, and no result depends on it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from adalog.executor.kernels import distinct_rows, group_kernels
from adalog.executor.kernels.distinct_rows import first_rows
from adalog.executor.kernels.group_kernels import group_rows, mix

SEEDS = [np.uint64(1), np.uint64(0x243F6A8885A308D3), np.uint64(2**64 - 1), np.uint64(2**63)]


@njit
def places(values: NDArray[np.int64], seed: np.uint64, mask: np.uint64) -> NDArray[np.int64]:
    out = np.empty(values.size, np.int64)
    for i in range(values.size):
        out[i] = np.int64(mix(seed, values[i], seed) & mask)
    return out


@pytest.mark.parametrize("step", [1, 3, 1 << 17, 1 << 29, 1 << 40, 1 << 46, 0x9E3779B97F4A7C15 - (1 << 64)])
def test_values_at_any_distance_fall_to_places_of_their_own(step):
    n = 1 << 13
    with np.errstate(over="ignore"):
        values = np.arange(n) * np.int64(step)
    for seed in SEEDS[1:3]:
        met = n - len(np.unique(places(values, seed, np.uint64(2 * n - 1))))
        assert met < n / 2, "at random it is a fifth"


def test_values_chosen_for_one_seed_do_not_meet_under_another():
    mask = np.uint64((1 << 16) - 1)
    drawn = np.random.default_rng(1).integers(0, 1 << 58, 1 << 22)
    mine, other = SEEDS[1], np.uint64(0x1234567890ABCDEF)
    chosen = drawn[places(drawn, mine, mask) < 16]
    assert len(chosen) > 500
    assert len(np.unique(places(chosen, mine, mask))) == 16
    assert len(np.unique(places(chosen, other, mask))) > 0.9 * len(chosen)


ROWS = {
    "in order": np.stack((np.repeat(np.arange(50), 4), np.tile([3, 1, 3, 7], 50))),
    "in no order": np.random.default_rng(2).integers(0, 12, (2, 300)),
    "far apart": np.random.default_rng(3).integers(0, 12, (2, 300)) << 40,
    "too far apart to be packed": np.random.default_rng(4).integers(-6, 6, (2, 300)) << 58,
    "one column": np.random.default_rng(5).integers(0, 50, (1, 300)) << 30,
}


@pytest.mark.parametrize("name", ROWS)
def test_neither_the_seed_nor_the_pieces_change_what_is_found(name, monkeypatch):
    rows = np.ascontiguousarray(ROWS[name])
    numbers: dict[tuple[int, ...], int] = {}
    firsts = []
    for i, row in enumerate(zip(*rows.tolist(), strict=True)):
        if row not in numbers:
            numbers[row] = len(numbers)
            firsts.append(i)
    expected = [numbers[row] for row in zip(*rows.tolist(), strict=True)]
    for seed in SEEDS:
        monkeypatch.setattr(group_kernels, "SEED", seed)
        monkeypatch.setattr(distinct_rows, "SEED", seed)
        for at_once in (1, 7, 1000):
            group, first = group_rows(rows, lambda: None, at_once)
            assert group.tolist() == expected
            assert first.tolist() == firsts
            assert first_rows(rows, lambda: None, at_once).tolist() == firsts


def test_whoever_hashes_many_rows_looks_at_the_deadline():
    rows = np.random.default_rng(6).integers(-(1 << 60), 1 << 60, (2, 1000))
    looks: list[None] = []
    group_rows(rows, lambda: looks.append(None), 100)
    assert len(looks) == 11
    first_rows(rows, lambda: looks.append(None), 100)
    assert len(looks) > 21


def test_each_process_has_a_number_of_its_own():
    said = "from adalog.executor.kernels.seed import SEED; print(SEED)"
    numbers = {subprocess.run([sys.executable, "-c", said], capture_output=True, check=True).stdout for _ in "ab"}
    assert len(numbers) == 2
