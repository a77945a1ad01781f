"""`[?e :attribute ?v]` as an extender: a binary relation read through two tries, each a base and levels of signed
pairs above it. What the join asks of a trie is here: per key its range of values, and which pairs and keys it has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.executor.extenders.indexed_values import IndexedKeys
from adalog.executor.join.batch import Batch, Column, Mask
from adalog.executor.join.protocol import START
from adalog.executor.join.ranges import RangeExtender, Ranges, Unwritten
from adalog.executor.join.small.parts import Encoded, Part, Slots
from adalog.executor.kernels import memory, range_kernels
from adalog.store.tries import places
from adalog.store.tries.signed import Signed
from adalog.store.tries.trie import EMPTY, Csr, Trie, distinct

assert places.ORIGIN == memory.ORIGIN, "kernels follow the places that the store gives"

# Fewer keys are looked for in a level without its filter, and in a column by the kernel of all tries.
_FEW_KEYS: Final = 64
_ALL_PASS: Final = np.full(1, np.iinfo(np.uint64).max)


def trie_ranges(trie: Trie, keys: Column) -> Ranges:
    """Per key its run of values."""
    base = trie.base
    # Looked at once: another thread may make them meanwhile.
    has_over = trie.has_over
    over = trie.over if has_over else EMPTY
    if not has_over and _are_in_column(base, keys):
        at = keys - base.keys[0]
        src, lo, hi, total, single = np.zeros(len(keys), np.uint8), at, at + 1, len(keys), True
    else:
        src, lo, hi, total, single = range_kernels.lookup(
            base.keys, base.dense, base.offsets, over.keys, over.offsets, keys
        )
    if trie.levels and not has_over:
        touched = _touched(trie, keys)
        if len(touched):
            if trie.written > trie.over_cost:
                # So many touched rows were written one by one that it is time to write all of them.
                _ = trie.over
                return trie_ranges(trie, keys)
            ranges = Ranges(base.values, EMPTY.values, src, lo, hi, lambda: base.span)
            return _with_touched(trie, keys, touched, ranges)
    return Ranges(base.values, over.values, src, lo, hi, lambda: base.span, (total, single))


def _are_in_column(base: Csr, keys: Column) -> bool:
    """Whether a base is a column that has all of the keys, if these are many."""
    if len(keys) < _FEW_KEYS or not base.is_column:
        return False
    return bool(keys.min() >= base.keys[0] and keys.max() <= base.keys[-1])


def single_values(base: Csr, keys: Column) -> Column | None:
    """The only value of each key, where the keys are many, and follow each other as in a base or lie in one that is
    a column. None for others."""
    size = len(keys)
    if size < _FEW_KEYS or len(base.keys) != len(base.values):
        return None
    start = int(base.keys.searchsorted(keys[0]))
    stop = start + size
    if stop <= len(base.keys) and base.keys[stop - 1] == keys[-1] and np.array_equal(base.keys[start:stop], keys):
        # A part of a trie's column would keep all of it.
        return base.values[start:stop].copy()
    return base.values[keys - base.keys[0]] if _are_in_column(base, keys) else None


def _row_of(trie: Trie, key: int) -> Column | Unwritten:
    """The values of one key, not written out yet where that costs."""
    touched = trie.touched_count(key)
    if touched is not None:
        return Unwritten(touched, lambda: trie.row(key))
    row = trie.base.row(key)
    return EMPTY.values if row is None else row


def _filter(level: Signed, keys: int) -> NDArray[np.uint64]:
    """The filter of a level; where too few keys are looked for to make it, one that lets all pass."""
    return level.filter if keys > _FEW_KEYS or level.has_filter else _ALL_PASS


def _touched(trie: Trie, keys: Column) -> NDArray[np.int64]:
    """The positions of keys that have signed pairs."""
    mask = np.zeros(len(keys), np.bool_)
    marked = 0
    for level in trie.levels:
        marked += range_kernels.mark_touched(level.keys, _filter(level, len(keys)), keys, mask)
    return np.flatnonzero(mask) if marked else EMPTY.values


def _with_touched(trie: Trie, keys: Column, touched: NDArray[np.int64], ranges: Ranges) -> Ranges:
    """The ranges with the rows of touched keys, each once, which are written when they are read."""
    wanted = distinct(keys[touched])
    sizes = trie.counts(wanted)
    ends = np.cumsum(sizes)
    at = np.searchsorted(wanted, keys[touched])
    ranges.src[touched] = 1
    ranges.lo[touched] = (ends - sizes)[at]
    ranges.hi[touched] = ends[at]

    def write() -> Column:
        trie.written += int(ends[-1])
        return trie.rows_of(wanted)[1]

    return Ranges(ranges.base, Unwritten(int(ends[-1]), write), ranges.src, ranges.lo, ranges.hi, ranges.span)


def touched_rows(trie: Trie, keys: Column) -> Csr:
    """The rows of those of the keys, sorted and distinct, that have signed pairs; empty ones too."""
    wanted = keys[_touched(trie, keys)]
    sizes, values = trie.rows_of(wanted)
    return Csr(wanted, np.append(0, np.cumsum(sizes)), values)


def pairs_hold(trie: Trie, keys: Column, values: Column) -> Mask:
    """Mask of the pairs (keys[i], values[i]) that the trie has."""
    mask = range_kernels.holds_pairs(*trie.base.arrays, keys, values)
    for level in reversed(trie.levels):
        filter_ = _filter(level, len(keys))
        range_kernels.decide(level.keys, filter_, level.offsets, level.values, level.added, keys, values, mask)
    return mask


def keys_hold(trie: Trie, keys: Column) -> Mask:
    base = trie.base
    if _are_in_column(base, keys):
        mask = np.ones(len(keys), np.bool_)
    else:
        mask = range_kernels.contains_key(base.keys, base.dense, keys)
    for level in reversed(trie.levels):
        range_kernels.decide_keys(level.keys, _filter(level, len(keys)), level.counts, keys, mask)
    return mask


@dataclass(eq=False)
class PairExtender(RangeExtender, Encoded):
    """`[?e :attribute ?v]`: a binary relation read through its two tries. Either end is a variable's name, a
    constant's code, or None for a blank. `forward` gives the trie from first to second, `backward` the other; both
    are asked for only when needed, since a snapshot builds them lazily."""

    first: str | int | None
    second: str | int | None
    forward: Callable[[], Trie]
    backward: Callable[[], Trie]
    rank: dict[str, int]
    _fixed: dict[str, Column | Unwritten] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.variables = frozenset(end for end in (self.first, self.second) if isinstance(end, str))

    def forget(self) -> None:
        """Drops rows that were read: the tries may be others by now."""
        if self._fixed:
            self._fixed = {}

    def _sides(self, variable: str) -> tuple[Callable[[], Trie], Callable[[], Trie], str | int | None]:
        """(trie keyed by `variable`, trie keyed by the other end, the other end)."""
        if variable == self.first:
            return self.forward, self.backward, self.second
        return self.backward, self.forward, self.first

    def _row(self, variable: str) -> Column | Unwritten | None:
        """The candidates where they are the same for every prefix: the other end is a constant or the same."""
        fixed = self._fixed.get(variable)
        if fixed is None:
            _, reverse, other = self._sides(variable)
            if isinstance(other, int):
                fixed = _row_of(reverse(), other)
            elif other == variable:
                fixed = self.forward().diagonal
            else:
                return None
            self._fixed[variable] = fixed
        return fixed

    def whole(self, batch: Batch, variable: str) -> Column | Unwritten | None:
        own, _, other = self._sides(variable)
        if other is None or (isinstance(other, str) and other != variable and other not in batch.columns):
            trie = own()
            if trie.base.order is not None:
                return IndexedKeys(trie)
            return Unwritten(trie.rows, lambda: trie.keys) if trie.levels else trie.keys
        return None

    def row(self, batch: Batch, variable: str) -> Column | Unwritten:
        row = self._row(variable)
        if row is not None:
            return row
        _, reverse, other = self._sides(variable)
        assert isinstance(other, str)
        return _row_of(reverse(), int(batch.columns[other][0]))

    def ranges(self, batch: Batch, variable: str) -> Ranges:
        if batch.size == 1:
            return Ranges.constant(self.row(batch, variable), 1)
        row = self._row(variable)
        if row is not None:
            return Ranges.constant(row, batch.size)
        _, reverse, other = self._sides(variable)
        assert isinstance(other, str)
        return trie_ranges(reverse(), batch.columns[other])

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        _, reverse, other = self._sides(variable)
        if other == variable or not isinstance(other, str) or other not in batch.columns:
            return super().count(batch, variable)
        keys, trie = batch.columns[other], reverse()
        if len(keys) < _FEW_KEYS or trie.levels:
            return super().count(batch, variable)
        base = trie.base
        if _are_in_column(base, keys):
            return np.ones(len(keys), np.int64)
        return range_kernels.row_lengths(base.keys, base.dense, base.offsets, keys)

    def single_values(self, batch: Batch, variable: str) -> Column | None:
        _, reverse, other = self._sides(variable)
        if other == variable or not isinstance(other, str) or other not in batch.columns:
            return None
        trie = reverse()
        return None if trie.levels else single_values(trie.base, batch.columns[other])

    def part(self, variable: str, slots: Slots) -> Part | None:
        if variable == START:
            variable = max(self.variables, key=self.rank.__getitem__)
        own, reverse, other = self._sides(variable)
        if other == variable:
            return None
        if isinstance(other, int):
            return Part.pairs(lambda: reverse().placed, slots[variable], other, constant=True)
        if other is None or other not in slots:
            return Part.keys(lambda: own().placed, slots[variable])
        return Part.pairs(lambda: reverse().placed, slots[variable], slots[other], constant=False)

    def holds(self, batch: Batch, variable: str) -> Mask:
        if variable == START:
            variable = max(self.variables, key=self.rank.__getitem__)
        column = batch.columns[variable]
        own, reverse, other = self._sides(variable)
        if other is None or (isinstance(other, str) and other not in batch.columns):
            return keys_hold(own(), column)
        row = self._row(variable)
        if row is None:
            assert isinstance(other, str)
            return pairs_hold(reverse(), batch.columns[other], column)
        if isinstance(row, Unwritten) and not row.is_written:
            assert isinstance(other, int)
            return pairs_hold(reverse(), np.full(batch.size, other, np.int64), column)
        ranges = Ranges.constant(row, batch.size)
        return range_kernels.contains(ranges.base, ranges.over, ranges.src, ranges.lo, ranges.hi, column)
