"""Ranges of a trie's rows while other threads read it, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adalog.executor.extenders import pairs
from adalog.executor.extenders.pairs import PairExtender, trie_ranges
from adalog.executor.join.batch import Batch
from adalog.executor.join.ranges import expand
from adalog.store.tries.trie import EMPTY, Csr, Trie


def test_rows_that_another_thread_writes_out_meanwhile_are_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, values = np.array([1, 1, 2], np.int64), np.array([10, 11, 12], np.int64)
    trie = Trie(EMPTY).advanced(keys, values, np.ones(3, np.bool_))
    assert trie.levels
    assert not trie.has_over
    kernels = pairs.range_kernels

    class Meanwhile:
        def __getattr__(self, name: str) -> Any:
            return getattr(kernels, name)

        def lookup(self, *args: Any) -> Any:
            found = kernels.lookup(*args)
            _ = trie.over  # what another thread does just now
            return found

    monkeypatch.setattr(pairs, "range_kernels", Meanwhile())
    ranges = trie_ranges(trie, np.array([1, 2, 3], np.int64))
    monkeypatch.undo()
    parent, value = expand(ranges)
    assert list(zip(parent.tolist(), value.tolist(), strict=True)) == [(0, 10), (0, 11), (1, 12)]


@pytest.mark.parametrize("gap", [None, 140])
@pytest.mark.parametrize("outside", [[], [99], [300], [-(2**62)]])
def test_a_column_without_gaps_is_read_by_place(gap: int | None, outside: list[int]) -> None:
    """Many keys at once, in any order and repeated; some not in it, some changed since its base was made."""
    entities = np.array([e for e in range(100, 300) if e != gap], np.int64)
    values = (entities * 7919) % 1009
    base = Csr.from_sorted(entities, values)
    assert base.is_column is (gap is None)
    asked = np.concatenate([entities[::-1], entities[::3], np.array(outside, np.int64)])
    expected = {int(e): [int(v)] for e, v in zip(entities, values, strict=True)}
    for trie in (
        Trie(base),
        Trie(base).advanced(
            np.array([150, 150, 400]), np.array([(150 * 7919) % 1009, 5, 6]), np.array([False, True, True])
        ),
    ):
        parent, value = expand(trie_ranges(trie, asked))
        assert list(zip(parent.tolist(), value.tolist(), strict=True)) == [
            (at, v) for at, e in enumerate(asked.tolist()) for v in expected.get(e, [])
        ]
        expected |= {150: [5], 400: [6]}


@pytest.mark.parametrize("step", [1, 2, 50])
@pytest.mark.parametrize("each", [1, 3])
def test_rows_of_many_keys_are_counted_as_they_are_long(step: int, each: int) -> None:
    """With and without gaps between keys and values each; keys in any order, some of them not there."""
    pairs_ = [(100 + step * key, value) for key in range(90) for value in range(1 + key % each)]
    base = Csr.from_sorted(*(np.array(column, np.int64) for column in zip(*pairs_, strict=True)))
    asked = np.arange(90, 300 + 90 * step, 7)
    for trie in (
        Trie(base),
        Trie(EMPTY),
        Trie(base).advanced(np.array([100, 104, 9000]), np.array([0, 5, 6]), np.array([False, True, True])),
    ):
        extender = PairExtender("?e", "?v", lambda trie=trie: trie, lambda: Trie(EMPTY), {"?e": 0, "?v": 1})  # type: ignore[misc]
        for keys in (asked, asked[::-1], np.tile(asked, 2), asked[:5]):
            batch = Batch(len(keys), {"?e": keys})
            lengths = [trie.count(int(key)) for key in keys]
            assert extender.count(batch, "?v").tolist() == extender.ranges(batch, "?v").length.tolist() == lengths
