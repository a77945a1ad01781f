"""Ranges of a trie's rows while other threads read it, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adalog.executor.extenders import pairs
from adalog.executor.extenders.pairs import trie_ranges
from adalog.executor.join.ranges import expand
from adalog.store.tries.trie import EMPTY, Trie


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
