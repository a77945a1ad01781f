"""Levels of signed pairs: what was added to a trie and removed from it since its base, as few sorted runs.

For `store.tries.trie`. Each level is the exact difference between the state below it and the state with it: a pair
is in it only if the level changed whether the pair holds. So levels are merged by adding weights, and a pair that
came and went again vanishes. Sizes grow geometrically: a pair is copied a logarithmic number of times, and only the
youngest level, which is small, is copied for each advance. The idea is that of log-structured merge trees (O'Neil
et al., 1996), with the weights of Z-sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adalog.store.tries.places import Placed, byte_of, without_places, words_of
from adalog.store.values.arrays import Bools, CodeColumn, Int64s, RowColumn

Words = NDArray[np.uint64]

YOUNG: Final = 1024
"""Pairs in the youngest level at most, unless one advance brings more."""

# A level has at least so many times the pairs of the one above it, the youngest left out.
_RATIO: Final = 8

# Of a row that is sorted as one number.
_MOST_BITS: Final = 62
# Keys whose pairs are replaced one by one.
_MOST_CUTS: Final = 4096
_SIDES: Final[tuple[Literal["left", "right"], ...]] = ("left", "right")
# Fewer rows are sorted column by column.
_FEW_ROWS: Final = 256

_FILTER_BITS: Final = 16
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Signed:
    """The pairs (keys[i], v) for v in values[offsets[i]:offsets[i + 1]], sorted; `added` says which came, not went.

    keys: int64[k], sorted, distinct, each with a pair. counts: int64[k], how many values a key has with this level
    and all below it.
    """

    keys: CodeColumn
    offsets: RowColumn
    values: CodeColumn
    added: Bools
    counts: Int64s

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def filter(self) -> Words:
        """A Bloom filter of one hash: bit `hash_of(key) % bits` is set for each key. uint64[power of two]."""
        words = 1 << max(_FILTER_BITS * len(self.keys) // 64, 1).bit_length()
        places = (self.keys.view(np.uint64) * _MULTIPLIER) >> np.uint64(64 - (64 * words).bit_length() + 1)
        bits = np.zeros(words, np.uint64)
        np.bitwise_or.at(bits, places >> np.uint64(6), np.uint64(1) << (places & np.uint64(63)))
        return bits

    __getstate__ = without_places

    @cached_property
    def placed(self) -> Placed | None:
        """(number of keys, keys, offsets, values, `added` in bytes, counts); None if compiled code cannot read them
        through places."""
        arrays = self.keys, self.offsets, self.values, self.counts
        places = words_of(*arrays)
        if places is None or not self.added.flags.c_contiguous:
            return None
        keys, offsets, values, counts = places
        return Placed([len(self.keys), keys, offsets, values, byte_of(self.added), counts], (*arrays, self.added))

    @property
    def has_filter(self) -> bool:
        return "filter" in self.__dict__

    def find(self, keys: CodeColumn) -> RowColumn:
        """int64[m]: the position in `self.keys` of each of m keys, -1 where there is none."""
        if not len(self.keys):
            return np.full(len(keys), -1, np.int64)
        at = np.minimum(self.keys.searchsorted(keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, at, -1)

    def position(self, key: int) -> int:
        """The position of one key, or -1."""
        at = int(self.keys.searchsorted(key))
        return at if at < len(self.keys) and self.keys[at] == key else -1

    def pairs_of(self, keys: CodeColumn) -> tuple[CodeColumn, CodeColumn, Bools]:
        """(keys, values, added) of the given keys' pairs; keys: sorted, distinct."""
        at = self.find(keys)
        found = at >= 0
        if not found.any():
            return self.keys[:0], self.values[:0], self.added[:0]
        at = at[found]
        starts = self.offsets[at]
        sizes = self.offsets[at + 1] - starts
        places = runs(starts, sizes)
        return np.repeat(keys[found], sizes), self.values[places], self.added[places]

    def pairs(self) -> tuple[CodeColumn, CodeColumn, Bools]:
        """(keys, values, added) of all its pairs, sorted."""
        return np.repeat(self.keys, np.diff(self.offsets)), self.values, self.added

    def count_at(self, at: int) -> int:
        """How many values the key at a position has."""
        return int(self.counts[at])

    def nbytes(self) -> int:
        return sum(each.nbytes for each in (self.keys, self.offsets, self.values, self.added, self.counts))


_NONE: Final = np.empty(0, np.int64)
NOTHING_SIGNED: Final = Signed(_NONE, np.zeros(1, np.int64), _NONE, np.empty(0, np.bool_), _NONE)

Levels = tuple[Signed, ...]
"""Levels, the newest first."""


def takes_more(level: Signed) -> bool:
    """Whether a level, the youngest one, is copied with what comes next."""
    return len(level) < YOUNG


def pushed(fresh: Signed, levels: Levels) -> Levels:
    """The levels with a newer one on top, merged where sizes would not be geometric."""
    if not len(fresh):
        return levels
    if levels and len(fresh) + len(levels[0]) <= YOUNG:
        # The youngest is copied each time, so that the one before it stays as it was for its readers.
        fresh, levels = united(fresh, levels[0]), levels[1:]
    return geometric(fresh, levels)


def geometric(fresh: Signed, levels: Levels) -> Levels:
    """The levels with another one on top, which may be empty, merged where sizes would not be geometric."""
    while levels and len(fresh) > YOUNG // 2 and len(levels[0]) < _RATIO * len(fresh):
        fresh, levels = united(fresh, levels[0]), levels[1:]
    return (fresh, *levels) if len(fresh) else levels


def united(newer: Signed, older: Signed) -> Signed:
    """Two levels as one. Costs their sizes; only the pairs of keys that are in both are sorted."""
    at = older.find(newer.keys)
    shared = at >= 0
    if not shared.any():
        return _assembled(newer, older)
    apart = np.ones(len(older.keys), np.bool_)
    apart[at[shared]] = False
    keys = newer.keys[shared]
    parts = newer.pairs_of(keys), older.pairs_of(keys)
    pair_keys, values, added = summed(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    both = grouped(pair_keys, values, added)
    both = Signed(both.keys, both.offsets, both.values, both.added, newer.counts[newer.find(both.keys)])
    return _assembled(_chosen(newer, ~shared), _chosen(older, apart), both)


def replaced(level: Signed, keys: CodeColumn, fresh: Signed) -> Signed:
    """A level with other pairs for some keys, which are sorted and distinct. fresh: these pairs alone.

    Copies what lies between the keys. `np.repeat` would hold the interpreter, and other threads would wait.
    """
    if len(keys) > _MOST_CUTS:
        at, others = level.find(keys), np.ones(len(level.keys), np.bool_)
        others[at[at >= 0]] = False
        return _assembled(_chosen(level, others), fresh)
    bounds = [own.searchsorted(keys, side).tolist() for own in (level.keys, fresh.keys) for side in _SIDES]
    every = [_Cut(*each) for each in zip(*bounds, strict=True)]
    key_cuts = [cut for cut in every if cut.start < cut.stop or cut.first < cut.last]
    cuts = [
        _Cut(*level.offsets[[cut.start, cut.stop]].tolist(), *fresh.offsets[[cut.first, cut.last]].tolist())
        for cut in key_cuts
    ]
    sizes = _spliced(np.diff(level.offsets), np.diff(fresh.offsets), key_cuts)
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return Signed(
        _spliced(level.keys, fresh.keys, key_cuts),
        offsets,
        _spliced(level.values, fresh.values, cuts),
        _spliced(level.added, fresh.added, cuts),
        _spliced(level.counts, fresh.counts, key_cuts),
    )


class _Cut(NamedTuple):
    """The rows of a column from `start` up to `stop`, and those of another one that take their place."""

    start: int
    stop: int
    first: int
    last: int


def _spliced(column: NDArray[Any], fresh: NDArray[Any], cuts: Sequence[_Cut]) -> NDArray[Any]:
    """A column with other rows in some places, which are in order."""
    parts, end = list[NDArray[Any]](), 0
    for cut in cuts:
        parts += [column[end : cut.start], fresh[cut.first : cut.last]]
        end = cut.stop
    return np.concatenate([*parts, column[end:]])


def order_of(*columns: CodeColumn) -> RowColumn:
    """The order of rows, the first column first; rows that are equal stay as they are.

    Columns of limited span are sorted as one number, by a sort that merges what is sorted already: rows that come
    as a few sorted runs take linear time.
    """
    n = len(columns[0])
    if n < max(_FEW_ROWS, 2):
        return np.lexsort(columns[::-1])
    lows = [int(column.min()) for column in columns]
    widths = [(int(column.max()) - low).bit_length() for column, low in zip(columns, lows, strict=True)]
    if sum(widths) > _MOST_BITS:
        return np.lexsort(columns[::-1])
    packed = columns[0] - lows[0]
    for column, low, width in zip(columns[1:], lows[1:], widths[1:], strict=True):
        packed = (packed << width) | (column - low)
    return np.argsort(packed, kind="stable")


def run_starts(*columns: NDArray[np.integer]) -> Bools:
    """bool[n]: which rows differ from the row before them."""
    first = np.ones(len(columns[0]), np.bool_)
    first[1:] = False
    for column in columns:
        first[1:] |= column[1:] != column[:-1]
    return first


def among(e: CodeColumn, v: CodeColumn, of_e: CodeColumn, of_v: CodeColumn) -> Bools:
    """Which of the pairs, each there once, are among others, each there once."""
    return rows_among((e, v), (of_e, of_v))


def rows_among(rows: Sequence[Int64s], others: Sequence[Int64s]) -> Bools:
    """Which of the rows, each there once, are among others, each there once; both are given column by column."""
    length = len(rows[0])
    found = np.zeros(length, np.bool_)
    if not length or not len(others[0]):
        return found
    columns = [np.concatenate(each) for each in zip(rows, others, strict=True)]
    order = order_of(*columns)
    same = np.flatnonzero(~run_starts(*(column[order] for column in columns))[1:])
    places = np.concatenate((order[same], order[same + 1]))
    found[places[places < length]] = True
    return found


def summed(keys: CodeColumn, values: CodeColumn, added: Bools) -> tuple[CodeColumn, CodeColumn, Bools]:
    """Pairs of several levels, sorted, with the sum of their signs: 1 or -1, since pairs that sum up to 0 go."""
    order = order_of(keys, values)
    keys, values, added = keys[order], values[order], added[order]
    first = run_starts(keys, values)
    if first.all():
        return keys, values, added
    starts = np.flatnonzero(first)
    weights = np.add.reduceat(np.where(added, 1, -1), starts)
    assert (np.abs(weights) <= 1).all(), "a level says again what is so already"
    left = weights != 0
    starts = starts[left]
    return keys[starts], values[starts], weights[left] > 0


def grouped(keys: CodeColumn, values: CodeColumn, added: Bools) -> Signed:
    """A level of pairs that are sorted and distinct; what its keys count is still to be said."""
    starts = np.flatnonzero(run_starts(keys))
    return Signed(keys[starts], np.append(starts, len(keys)), values, added, np.zeros(len(starts), np.int64))


def _chosen(level: Signed, which: Bools) -> Signed:
    if which.all():
        return level
    sizes = np.diff(level.offsets)
    pairs = np.repeat(which, sizes)
    offsets = np.zeros(int(np.count_nonzero(which)) + 1, np.int64)
    np.cumsum(sizes[which], out=offsets[1:])
    return Signed(level.keys[which], offsets, level.values[pairs], level.added[pairs], level.counts[which])


def _assembled(*parts: Signed) -> Signed:
    """Levels of different keys as one."""
    keys = np.concatenate([part.keys for part in parts])
    # Stable, so that runs which are sorted already are merged and not sorted.
    order = np.argsort(keys, kind="stable")
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    starts = np.cumsum(sizes) - sizes
    sizes = sizes[order]
    offsets = np.zeros(len(order) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    places = runs(starts[order], sizes)
    return Signed(
        keys[order],
        offsets,
        np.concatenate([part.values for part in parts])[places],
        np.concatenate([part.added for part in parts])[places],
        np.concatenate([part.counts for part in parts])[order],
    )


def runs(starts: RowColumn, sizes: Int64s) -> RowColumn:
    """The numbers starts[0], starts[0] + 1 … (sizes[0] of them), then those of the next run, and so on."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - ends + sizes, sizes)
