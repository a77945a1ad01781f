"""The values of an attribute whose base has an index of their order: comparisons and prefixes accept a slice of it.

What lies above the base is tried value by value.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final

import numpy as np

from adalog.executor.expressions.calls import Call
from adalog.executor.extenders.functions import FilterExtender
from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.protocol import Check, Extender, accepted
from adalog.executor.join.shortcuts.narrowing import OrderedColumn, Within
from adalog.planner.scope.comparisons import PREFIXES, prefix_of
from adalog.store.tries.trie import Csr, Trie, among
from adalog.store.tries.value_index import IndexedValues
from adalog.store.values.codes import Scratch

# A slice of this share of all keys is sorted sooner by marking each key.
_LARGE: Final = 32


class SliceCheck(Check, ABC):
    """A check that accepts a slice of values in their order."""

    values: Scratch

    @abstractmethod
    def is_one(self, batch: Batch, variable: str) -> bool:
        """Whether it accepts the same values of a variable for all prefixes of a batch, by what is bound in it."""

    @abstractmethod
    def slice_of(self, batch: Batch, indexed: IndexedValues) -> tuple[int, int] | None:
        """Where the accepted ones begin and end; None where only a look at each tells."""


class PrefixExtender(FilterExtender, SliceCheck):
    """`[(starts-with? ?text "a")]`, `[(like ?text "a%")]`: the texts that begin with another one."""

    def __init__(self, call: Call, rank: dict[str, int]) -> None:
        super().__init__(call, rank)
        self._text, self._start = call.arguments
        self._name = call.name
        self._running = call.running

    @property
    def values(self) -> Scratch:  # type: ignore[override]
        return self._running.run.values

    def is_one(self, batch: Batch, variable: str) -> bool:
        start = self._start
        return self._text == variable and (isinstance(start, int) or (batch.size == 1 and start in batch.columns))

    def slice_of(self, batch: Batch, indexed: IndexedValues) -> tuple[int, int] | None:
        start = self._start
        code = start if isinstance(start, int) else int(batch.columns[start][0])  # type: ignore[index]
        prefix = prefix_of(self._name, self.values.decode(code))
        return None if prefix is None else indexed.starting(prefix)


def is_prefix(call: Call) -> bool:
    """Whether it may be a `PrefixExtender`: of a variable and another one, or a constant."""
    if call.name not in PREFIXES or len(call.arguments) != 2:
        return False
    text, start = call.arguments
    return isinstance(text, str) and isinstance(start, str | int) and text != start


class IndexedKeys(OrderedColumn):
    """The keys of a trie whose base has an index."""

    def __init__(self, trie: Trie) -> None:
        super().__init__(trie.rows, lambda: trie.keys)
        self._trie = trie

    def narrowed(self, batch: Batch, variable: str, others: list[Extender]) -> tuple[Within, list[Extender]] | None:
        base = self._trie.base
        first, end = 0, len(base.keys)
        taken: list[Extender] = []
        rest: list[Extender] = []
        for part in others:
            slice_ = None
            if isinstance(part, SliceCheck) and part.is_one(batch, variable):
                assert base.order is not None
                slice_ = part.slice_of(batch, IndexedValues(base.keys, base.order, part.values))
            if slice_ is None:
                rest.append(part)
            else:
                taken.append(part)
                first, end = max(first, slice_[0]), min(end, slice_[1])
        if not taken:
            return None
        codes = _sorted_slice(base, first, end)
        if self._trie.levels:
            codes = self._with_changes(codes, batch, variable, taken)
        n = batch.size
        return Within(codes, True, np.zeros(n, np.int64), np.full(n, len(codes))), rest

    def _with_changes(self, codes: Column, batch: Batch, variable: str, taken: list[Extender]) -> Column:
        gone, new = self._trie.key_changes
        if len(gone):
            codes = codes[~among(codes, self._trie.base.keys[gone])]
        if not len(new):
            return codes
        # Of several prefixes, or none, only constants are taken.
        bound = batch.columns.items() if batch.size == 1 else ()
        columns = {name: column.repeat(len(new)) for name, column in bound}
        found = accepted(Batch(len(new), columns | {variable: new}), variable, taken).columns[variable]
        return np.insert(codes, codes.searchsorted(found), found)


def _sorted_slice(base: Csr, first: int, end: int) -> Column:
    """The keys of a slice of the index, in the order of codes."""
    assert base.order is not None
    places = base.order[first : max(first, end)]
    if len(places) * _LARGE < len(base.keys):
        return np.sort(base.keys[places])
    marked = np.zeros(len(base.keys), np.bool_)
    marked[places] = True
    return base.keys[marked]
