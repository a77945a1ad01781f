"""The join over graphs against brute force: any order, any chunk size, one thread or two, base and overlay."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.join.batch import Batch
from adalog.executor.join.conjunction import Conjunction
from adalog.executor.join.driver import Driver
from adalog.executor.join.generic_join import GenericJoin
from adalog.executor.join.level import Level
from adalog.store.tries.trie import Csr, Trie

TRIANGLE = [("a", "b"), ("a", "c"), ("b", "c")]
CLIQUE = [*TRIANGLE, ("a", "d"), ("b", "d"), ("c", "d")]
LOOPED = [("a", "b"), ("b", "a"), ("a", "a")]

Edges = set[tuple[int, int]]


def csr(pairs: Iterable[tuple[int, int]]) -> Csr:
    array = np.array(sorted(pairs), np.int64).reshape(-1, 2)
    return Csr.from_pairs(array[:, 0].copy(), array[:, 1].copy())


def trie(edges: Edges, stale: Edges) -> Trie:
    """The edges as a base that has `stale` in their place, and levels that put it right."""
    version = Trie(csr(stale))
    for some in (
        [pair for pair in sorted(edges ^ stale) if pair[1] % 2],
        [p for p in edges ^ stale if not p[1] % 2],
    ):
        changes = np.array(some, np.int64).reshape(-1, 2)
        added = np.array([pair in edges for pair in some], np.bool_)
        version = version.advanced(changes[:, 0], changes[:, 1], added)
    return version


def join(atoms: list[tuple[str, str]], order: str, edges: Edges, stale: Edges, budget: int) -> GenericJoin:
    forward = trie(edges, stale)
    backward = trie({(b, a) for a, b in edges}, {(b, a) for a, b in stale})
    rank = {name: i for i, name in enumerate(order)}
    parts = [PairExtender(a, b, lambda: forward, lambda: backward, rank) for a, b in atoms]
    return GenericJoin(Conjunction(parts), [Level(name) for name in order], budget=budget)


def answers(work: GenericJoin, order: str, threads: int) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []

    def sink(batch: Batch) -> bool:
        found.extend(zip(*(batch.columns[name].tolist() for name in sorted(order)), strict=True))
        return True

    Driver(work, sink, Cancel(), threads).run(Batch(1, {}))
    return sorted(found)


@pytest.mark.parametrize("atoms", [TRIANGLE, CLIQUE, LOOPED, [("a", "b"), ("b", "c")]])
@pytest.mark.parametrize("threads", [1, 2])
def test_every_order_gives_the_same_rows(atoms: list[tuple[str, str]], threads: int) -> None:
    rng = random.Random(7)
    names = sorted({name for atom in atoms for name in atom})
    for budget in (1, 16, 1 << 19):
        edges = {(rng.randrange(14), rng.randrange(14)) for _ in range(70)}
        stale = {edge for edge in edges if rng.random() < 0.8} | {(rng.randrange(20), 3) for _ in range(4)}
        expected = sorted(
            row
            for row in itertools.product(range(14), repeat=len(names))
            if all((row[names.index(a)], row[names.index(b)]) in edges for a, b in atoms)
        )
        for order in itertools.islice(itertools.permutations(names), 6):
            assert answers(join(atoms, "".join(order), edges, stale, budget), "".join(order), threads) == expected


def test_dropped_variables_leave_their_number_behind() -> None:
    rng = random.Random(3)
    edges = {(rng.randrange(30), rng.randrange(30)) for _ in range(200)}
    paths = sum(1 for a, b in edges for c, d in edges if b == c)
    levels = [
        Level("a", frozenset(("a",))),
        Level("b", frozenset(("b",)), merge=True),
        Level("c", frozenset(), merge=True, counted=True),
    ]
    for budget in (1, 50, 1 << 19):
        work = join([("a", "b"), ("b", "c")], "abc", edges, edges, budget)
        total = 0

        def sink(batch: Batch) -> bool:
            nonlocal total
            total += int(batch.weights().sum())
            return True

        Driver(GenericJoin(work.body, levels, weighted=True, budget=budget), sink, Cancel()).run(Batch(1, {}))
        assert total == paths


def test_a_sum_over_many_extensions_is_made_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = {(a, b) for a in range(100) for b in range(a, 100)}
    levels = [Level("a", frozenset(("a",))), Level("b", frozenset(("b",)), merge=True)]
    body = join([("a", "b")], "ab", edges, edges, 1 << 19).body
    looks: list[None] = []
    for most in (1 << 24, 150):
        monkeypatch.setattr("adalog.executor.join.shortcuts.value_sums._SCATTERED", most)
        found: list[tuple[int, int]] = []

        def sink(batch: Batch, found: list[tuple[int, int]] = found) -> bool:
            found += zip(batch.columns["b"].tolist(), batch.weights().tolist(), strict=True)
            return True

        work = GenericJoin(body, levels, weighted=True, check=lambda: looks.append(None))
        Driver(work, sink, Cancel()).run(Batch(1, {}))
        assert found == [(b, b + 1) for b in range(100)]
    assert len(looks) > len(edges) // 150


def test_a_join_looks_at_its_flag_where_each_chunk_is_rejected() -> None:
    # Two sides, with edges between them alone, have no triangle.
    edges = {(a, b) for a in range(40) for b in range(40) if a % 2 != b % 2}
    looks: list[None] = []
    work = join(TRIANGLE, "abc", edges, edges, 8)
    Driver(replace(work, check=lambda: looks.append(None)), lambda batch: True, Cancel()).run(Batch(1, {}))
    assert len(looks) >= len(edges) // 8


def test_a_sink_that_has_enough_stops_the_join() -> None:
    edges = {(a, b) for a in range(60) for b in range(60)}
    calls = 0

    def sink(batch: Batch) -> bool:
        nonlocal calls
        calls += 1
        return False

    work = join(TRIANGLE, "abc", edges, edges, 64)
    Driver(work, sink, Cancel()).run(Batch(1, {}))
    assert calls == 1
    assert work.counts[2].rows < 60**3 // 10


@pytest.mark.parametrize("threads", [1, 2])
def test_a_deadline_and_a_cancel_end_the_join(threads: int) -> None:
    edges = {(a, b) for a in range(100) for b in range(100)}
    late = Cancel(deadline=0.0)
    with pytest.raises(AdalogError) as caught:
        Driver(join(CLIQUE, "abcd", edges, edges, 4096), lambda batch: True, late, threads).run(Batch(1, {}))
    assert caught.value.code == Code.TIMEOUT
    cancel = Cancel()

    def sink(batch: Batch) -> bool:
        cancel.cancel()
        return True

    with pytest.raises(AdalogError) as caught:
        Driver(join(CLIQUE, "abcd", edges, edges, 4096), sink, cancel, threads).run(Batch(1, {}))
    assert caught.value.code == Code.CANCELLED
