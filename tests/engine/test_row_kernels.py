"""The compiled loops of recursion against Python sets and dictionaries, on random rows and graphs."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from adalog.executor.kernels import row_kernels
from adalog.executor.kernels.seed import SEED
from adalog.store.tries.trie import EMPTY, Csr

Ints = np.ndarray[Any, np.dtype[np.int64]]
FAR = [-(1 << 62), -1, 0, 1, (1 << 61) + 3, 1 << 62]


def _drawn(rng: random.Random, columns: int, size: int, codes: list[int]) -> Ints:
    return np.array([[rng.choice(codes) for _ in range(size)] for _ in range(columns)], np.int64).reshape(
        columns, size
    )


def _tuples(rows: Ints) -> list[tuple[int, ...]]:
    return list(zip(*rows.tolist(), strict=True))


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("codes", [list(range(-4, 5)), FAR])
def test_insert_appends_what_is_new_in_its_order(columns: int, codes: list[int]) -> None:
    rng = random.Random(columns)
    table, store, count = np.zeros(2048, np.int64), np.empty((columns, 1024), np.int64), 0
    seen: dict[tuple[int, ...], None] = {}
    for size in (0, 1, 63, 64, 65, 300):
        rows = _drawn(rng, columns, size, codes)
        count = row_kernels.insert(table, store, count, rows, SEED)
        seen |= dict.fromkeys(_tuples(rows))
        assert _tuples(store[:, :count]) == list(seen)
    again = np.zeros(4096, np.int64)
    row_kernels.rehash(again, store, columns, 0, count, SEED)
    assert row_kernels.insert(again, store, count, store[:, :count].copy(), SEED) == count


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("keys", [0, 1, 2])
def test_improve_appends_what_is_better(keys: int, sign: int) -> None:
    """Rows are the group, the value's code and its rank; here the code is the rank's negative."""
    rng = random.Random(keys)
    table, store, current = np.zeros(4096, np.int64), np.empty((keys + 2, 2048), np.int64), np.zeros(2048, np.bool_)
    count = 0
    best: dict[tuple[int, ...], int] = {}
    for size in (1, 40, 0, 400):
        group = _drawn(rng, keys, size, [0, 1, 1 << 62])
        rank = _drawn(rng, 1, size, list(range(-30, 30)))
        rows = np.ascontiguousarray(np.vstack((group, -rank, rank)))
        appended: list[tuple[int, ...]] = []
        for row in zip(*rows.tolist(), strict=True):
            known = best.get(row[:keys])
            if known is None or sign * row[-1] < sign * known:
                best[row[:keys]] = row[-1]
                appended.append(row)
        before = count
        count = row_kernels.improve(table, store, current, count, rows, keys, 0, size, sign, SEED)
        assert _tuples(store[:, before:count]) == appended
        held = _tuples(store[:, :count][:, current[:count]])
        assert {row[:keys]: row[-1] for row in held} == best
        assert len(held) == len(best)
        assert all(row[-2] == -row[-1] for row in held)


def _reachable(graph: dict[int, list[int]], seeds: list[int]) -> set[int]:
    found, waiting = set(seeds), list(seeds)
    while waiting:
        for node in graph.get(waiting.pop(), ()):
            if node not in found:
                found.add(node)
                waiting.append(node)
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [1, 1 << 20])
def test_reach_finds_what_each_start_reaches(seed: int, most: int) -> None:
    rng = random.Random(seed)
    nodes = rng.choice((1, 5, 60))
    graph = {node: sorted({rng.randrange(nodes) for _ in range(rng.choice((0, 1, 3)))}) for node in range(nodes)}
    offsets = np.cumsum([0, *map(len, graph.values())])
    targets = np.array([end for ends in graph.values() for end in ends], np.int64)
    starts = [sorted(rng.sample(range(nodes), rng.randint(1, min(3, nodes)))) for _ in range(20)]
    seeds = np.array([node for each in starts for node in each], np.int64)
    seed_offsets = np.cumsum([0, *map(len, starts)])
    counts = np.zeros(len(starts), np.int64)
    at = 0
    found: list[list[int]] = []
    while at < len(starts):
        out = np.full(nodes * rng.choice((1, 2, 7)), -1, np.int64)
        stop = row_kernels.reach(offsets, targets, seeds, seed_offsets, at, len(starts), out, counts, most)
        assert stop > at
        ends = np.cumsum(counts[at:stop])
        found += [part.tolist() for part in np.split(out[: ends[-1]], ends[:-1])]
        at = stop
    assert found == [sorted(_reachable(graph, each)) for each in starts]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("spread", [1, 1 << 40])
def test_walk_stops_where_there_is_no_room(seed: int, spread: int) -> None:
    """Codes far apart have no direct index; whatever the room, no row is written past it."""
    rng = random.Random(seed)
    nodes = [spread * i for i in range(30)]
    step = Csr.from_pairs(*(_drawn(rng, 1, 60, nodes)[0] for _ in range(2)))
    graph: dict[int, list[int]] = {}
    for start, end in zip(*(each.tolist() for each in step.pairs()), strict=True):
        graph.setdefault(start, []).append(end)
    store, table = np.full((2, 1024), -7, np.int64), np.zeros(2048, np.int64)
    seeds = np.array([[1, 2], [nodes[0], nodes[1]]], np.int64)
    done, count = 0, row_kernels.insert(table, store, 0, seeds, SEED)
    while done < count:
        room = count + max(map(len, graph.values()))
        before = done
        done, count = row_kernels.walk(
            step.keys, step.dense, step.offsets, step.values, EMPTY.keys, EMPTY.offsets, EMPTY.values,
            1, table, store, done, rng.choice((done + 1, count, 5000)), count, room, rng.choice((1, 5, 1000)), SEED,
        )  # fmt: skip
        assert before < done <= count <= room
        assert (store[:, count:] == -7).all()
    expected = {(kept, end) for kept, node in ((1, nodes[0]), (2, nodes[1])) for end in _reachable(graph, [node])}
    assert set(_tuples(store[:, :count])) == expected
    assert count == len(expected)
