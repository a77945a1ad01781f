"""Tries of int64 codes: from a key to its sorted values, as flat columns.

For the store, which builds them, and the executor's extenders, which read them. A trie is a base (large, shared by
many snapshots, often memory-mapped) and a few levels of what came and went since (`store.tries.signed`). A trie
never changes; `advanced` gives the next one, which shares all but the youngest level with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adalog.store.tries.places import Placed, byte_of, without_places, words_of
from adalog.store.tries.signed import (
    NOTHING_SIGNED,
    Levels,
    Signed,
    grouped,
    order_of,
    pushed,
    run_starts,
    runs,
    summed,
)
from adalog.store.tries.young import pushed_one
from adalog.store.values.arrays import Bools, CodeColumn, Int64s, RowColumn

# A direct index is kept where it costs at most three slots a key, 12 bytes.
_DENSE_SLOTS_PER_KEY = 3
_DENSE_SLACK = 64

FEW_EVENTS: Final = 8
"""So many make the next trie one by one."""

# So many values are sorted by plain Python, which takes less than the fixed cost of sorting arrays.
_FEW_VALUES: Final = 16

# A touched row from this length on is merged by itself, where a copy of it costs more than finding the places.
_LONG_ROW = 4096


class CsrFigures(NamedTuple):
    """What a file says of its rows, so that nobody needs to go through them: the longest row, the least and the
    greatest value, `Csr.dense` where keys are close together with gaps, and `Csr.order` where there is an index."""

    longest: int
    span: tuple[int, int]
    dense: NDArray[np.int32] | None
    order: NDArray[np.int32] | None = None


@dataclass(frozen=True, eq=False)
class Csr:
    """Compressed sparse rows: the values of `keys[i]` are `values[offsets[i]:offsets[i + 1]]`, sorted and distinct.

    keys: int64[k], sorted, distinct. offsets: int64[k + 1]. values: int64[n]. figures: of rows in a file.
    """

    keys: CodeColumn
    offsets: RowColumn
    values: CodeColumn
    figures: CsrFigures | None = None

    @cached_property
    def dense(self) -> NDArray[np.int32]:
        """int32[span]: the position in `keys` of key `keys[0] + i`, or -1; empty where keys are too far apart."""
        if not self.has_dense:
            return np.empty(0, np.int32)
        span = self.key_span
        if span == len(self.keys):
            return _counting(span)
        if self.figures is not None and self.figures.dense is not None:
            return self.figures.dense
        index = np.full(span, -1, np.int32)
        index[self.keys - self.keys[0]] = np.arange(len(self.keys), dtype=np.int32)
        return index

    @property
    def order(self) -> NDArray[np.int32] | None:
        """int32[k]: the positions in `keys` in the order of values (`store.tries.value_index`), where there is such
        an index."""
        return None if self.figures is None else self.figures.order

    @property
    def key_span(self) -> int:
        """How many keys there would be without gaps."""
        return int(self.keys[-1]) - int(self.keys[0]) + 1 if len(self.keys) else 0

    @property
    def has_dense(self) -> bool:
        return len(self.keys) > 0 and is_dense(self.key_span, len(self.keys))

    @cached_property
    def is_column(self) -> bool:
        """Whether the keys are without gaps and have one value each: that of `keys[0] + i` is `values[i]`."""
        return 0 < len(self.keys) == len(self.values) == self.key_span

    @property
    def arrays(self) -> tuple[CodeColumn, NDArray[np.int32], RowColumn, CodeColumn]:
        """What kernels look rows up in."""
        return self.keys, self.dense, self.offsets, self.values

    __getstate__ = without_places

    @cached_property
    def placed(self) -> Placed | None:
        """(number of keys, keys, length of `dense`, `dense` in bytes, offsets, values); None if compiled code
        cannot read them through places."""
        places = words_of(self.keys, self.offsets, self.values)
        dense = byte_of(self.dense)
        if places is None or dense & 3:
            return None
        keys, offsets, values = places
        return Placed([len(self.keys), keys, len(self.dense), dense, offsets, values], self.arrays)

    @cached_property
    def longest(self) -> int:
        """The length of the longest row. O(k) the first time, where no file says it."""
        if self.figures is not None:
            return self.figures.longest
        return int(np.diff(self.offsets).max(initial=0))

    @cached_property
    def span(self) -> tuple[int, int]:
        """The least and the greatest value, (0, 0) of none. O(n) the first time, where no file says it."""
        if self.figures is not None:
            return self.figures.span
        return (int(self.values.min()), int(self.values.max())) if len(self.values) else (0, 0)

    @cached_property
    def diagonal(self) -> CodeColumn:
        """The keys that are among their own values: int64[m], sorted. O(n) the first time."""
        keys, values = self.pairs()
        return np.ascontiguousarray(keys[keys == values])

    def prepare(self) -> None:
        """Makes what would be made when first asked for, so that no reader has to."""
        _ = self.dense, self.longest, self.span

    def nbytes(self) -> int:
        dense = self.__dict__.get("dense", EMPTY.values)
        order = 0 if self.order is None else self.order.nbytes
        return int(self.keys.nbytes + self.offsets.nbytes + self.values.nbytes + dense.nbytes + order)

    @staticmethod
    def from_sorted(keys: CodeColumn, values: CodeColumn) -> Csr:
        """From pairs sorted by (key, value) and distinct; both int64[n]."""
        if not len(keys):
            return EMPTY
        starts = np.flatnonzero(run_starts(keys))
        return Csr(np.ascontiguousarray(keys[starts]), np.append(starts, len(keys)), np.ascontiguousarray(values))

    @staticmethod
    def from_pairs(keys: CodeColumn, values: CodeColumn) -> Csr:
        """From pairs in any order, repeats allowed; both int64[n]."""
        order = order_of(keys, values)
        keys, values = keys[order], values[order]
        kept = run_starts(keys, values)
        return Csr.from_sorted(keys[kept], values[kept])

    def row(self, key: int) -> CodeColumn | None:
        """The values of one key, or None where it has no row. O(1) or O(log k)."""
        if not len(self.keys):
            return None
        dense = self.dense
        if len(dense):
            at = key - int(self.keys[0])
            if at < 0 or at >= len(dense):
                return None
            position = int(dense[at])
            if position < 0:
                return None
        else:
            position = int(self.keys.searchsorted(key))
            if position == len(self.keys) or self.keys[position] != key:
                return None
        return self.values[self.offsets[position] : self.offsets[position + 1]]

    def find(self, keys: CodeColumn) -> RowColumn:
        """int64[m]: the position in `self.keys` of each of m keys, -1 where there is none."""
        if len(self.keys) == 0:
            return np.full(len(keys), -1, np.int64)
        dense = self.dense
        if len(dense):
            at = keys - self.keys[0]
            inside = (at >= 0) & (at < len(dense))
            return np.where(inside, dense[np.where(inside, at, 0)], -1).astype(np.int64)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[at] == keys, at, -1)

    def sizes(self, keys: CodeColumn) -> Int64s:
        """int64[m]: the row length of each of m keys."""
        at = self.find(keys)
        return np.where(at >= 0, self.offsets[np.minimum(at + 1, len(self.keys))] - self.offsets[at], 0)

    def places(self, keys: CodeColumn) -> tuple[Int64s, RowColumn]:
        """(sizes int64[m], places): the row length of each of m keys, and where in `values` all those rows are."""
        at = self.find(keys)
        found = at >= 0
        at[~found] = 0
        starts = self.offsets[at] if len(self.keys) else np.zeros(len(at), np.int64)
        sizes = np.where(found, self.offsets[np.minimum(at + 1, len(self.keys))] - starts, 0)
        return sizes, runs(starts, sizes)

    def pairs(self) -> tuple[CodeColumn, CodeColumn]:
        return np.repeat(self.keys, np.diff(self.offsets)), self.values


def is_dense(span: int, keys: int) -> bool:
    """Whether so many keys lie close enough together in a span to have a direct index."""
    return span <= _DENSE_SLOTS_PER_KEY * keys + _DENSE_SLACK


_counted = np.empty(0, np.int32)


def _counting(length: int) -> NDArray[np.int32]:
    """int32[length]: 0, 1, 2 …; one array for all tries of a process."""
    global _counted
    if len(_counted) < length:
        _counted = np.arange(length, dtype=np.int32)
    return _counted[:length]


def distinct(values: CodeColumn) -> CodeColumn:
    """The distinct values, sorted. numpy's own `unique` hashes integers, which takes 70 times as long as this."""
    if len(values) < 2:
        return values.copy()
    if len(values) <= _FEW_VALUES:
        return np.array(sorted(set(values.tolist())), values.dtype)
    ordered = values if (values[1:] >= values[:-1]).all() else np.sort(values)
    return ordered[run_starts(ordered)]


def among(values: CodeColumn, known: CodeColumn) -> Bools:
    """Mask of the values that are among the known ones, which are sorted. Of a few, numpy's own `isin` takes ten
    times as long."""
    if not len(known):
        return np.zeros(len(values), np.bool_)
    at = np.minimum(known.searchsorted(values), len(known) - 1)
    found: Bools = known[at] == values
    return found


EMPTY = Csr(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64))


class TrieSize(NamedTuple):
    """pairs: that hold. rows: keys that have values. longest: an upper bound of the longest row's length."""

    pairs: int
    rows: int
    longest: int


class Trie:
    """A base and levels of signed pairs above it, the newest first. size: of the trie as a whole; that of the base
    where there are no levels."""

    def __init__(self, base: Csr, levels: Levels = (), size: TrieSize | None = None) -> None:
        assert size is not None or not levels
        self.base = base
        self.levels = levels
        self._size = size
        self._long_rows: dict[int, CodeColumn] = {}
        # Values of touched rows that were written out for readers.
        self.written = 0

    __getstate__ = without_places

    @cached_property
    def placed(self) -> Placed | None:
        """(base, number of levels, each level, number of keys that have values); None if compiled code cannot read
        them through places."""
        base = self.base.placed
        levels = [level.placed for level in self.levels]
        if base is None or None in levels:
            return None
        numbers = [base.place, len(levels), *(each.place for each in levels if each), self.rows]
        return Placed(numbers, (base, *levels))

    @property
    def size(self) -> TrieSize:
        if self._size is None:
            self._size = TrieSize(len(self.base.values), len(self.base.keys), self.base.longest)
        return self._size

    @property
    def pairs(self) -> int:
        return len(self.base.values) if self._size is None else self._size.pairs

    @property
    def rows(self) -> int:
        return len(self.base.keys) if self._size is None else self._size.rows

    # One row

    def count(self, key: int) -> int:
        """How many values a key has. O(log)."""
        touched = self.touched_count(key)
        if touched is not None:
            return touched
        row = self.base.row(key)
        return 0 if row is None else len(row)

    def touched_count(self, key: int) -> int | None:
        """How many values a key has whose row is another one than the base has; None for other keys."""
        for level in self.levels:
            at = level.position(key)
            if at >= 0:
                return level.count_at(at)
        return None

    def holds(self, key: int, value: int) -> bool:
        """Whether a key has a value. O(log)."""
        for level in self.levels:
            at = level.position(key)
            if at >= 0:
                start, stop = level.offsets[at : at + 2]
                place = start + int(level.values[start:stop].searchsorted(value))
                if place < stop and level.values[place] == value:
                    return bool(level.added[place])
        row = self.base.row(key)
        place = 0 if row is None else int(row.searchsorted(value))
        return row is not None and place < len(row) and bool(row[place] == value)

    def mentions(self, key: int) -> bool:
        """Whether the key has, or lately had, values. Makes no index of the base."""
        keys = self.base.keys
        at = int(keys.searchsorted(key))
        return (at < len(keys) and bool(keys[at] == key)) or self.touched(key)

    def touched(self, key: int) -> bool:
        """Whether the key's row is another one than the base has."""
        return any(level.position(key) >= 0 for level in self.levels)

    def row(self, key: int) -> CodeColumn:
        """The values of one key, sorted; empty where there are none. Costs the row where it is touched."""
        row = self.base.row(key)
        if row is None:
            row = EMPTY.values
        if not self.levels:
            return row
        touching = [(level, at) for level in self.levels if (at := level.position(key)) >= 0]
        if not touching:
            return row
        kept = self._long_rows.get(key)
        if kept is not None:
            return kept
        if len(touching) == 1:
            level, at = touching[0]
            start, stop = int(level.offsets[at]), int(level.offsets[at + 1])
            values, added = level.values[start:stop], level.added[start:stop]
        else:
            _, values, added = self._signed(np.array([key], np.int64))
        merged = _merged(row, values, added)
        if len(merged) >= _LONG_ROW:
            self._long_rows[key] = merged
        return merged

    # Many rows

    def counts(self, keys: CodeColumn) -> Int64s:
        """int64[m]: how many values each of m keys has."""
        counts = self.base.sizes(keys)
        for level in reversed(self.levels):
            at = level.find(keys)
            counts = np.where(at >= 0, level.counts[at], counts)
        return counts

    def has(self, keys: CodeColumn) -> Bools:
        """Mask of those of m keys, sorted and distinct, that have values. Makes no index of the base."""
        mask = np.zeros(len(keys), np.bool_)
        base, low, high = self.base.keys, int(keys[0]), int(keys[-1])
        # Most tries are asked for keys that are far from all of theirs.
        if len(base) and low <= base[-1] and high >= base[0]:
            mask = base[np.minimum(base.searchsorted(keys), len(base) - 1)] == keys
        for level in reversed(self.levels):
            if low <= level.keys[-1] and high >= level.keys[0]:
                at = level.find(keys)
                mask = np.where(at >= 0, level.counts[at] > 0, mask)
        return mask

    def rows_of(self, keys: CodeColumn) -> tuple[Int64s, CodeColumn]:
        """(sizes int64[m], values): the rows of m keys, sorted and distinct, one after the other."""
        if len(keys) == 1:
            row = self.row(int(keys[0]))
            return np.array([len(row)], np.int64), row
        sizes, places = self.base.places(keys)
        values = self.base.values[places]
        if not self.levels:
            return sizes, values
        signed = self._signed(keys)
        if not len(signed[0]):
            return sizes, values
        return self._with_signed(keys, sizes, values, signed)

    def pairs_of(self, keys: CodeColumn) -> tuple[CodeColumn, CodeColumn]:
        """(keys, values), both int64[n]: the pairs of the given keys, which are sorted and distinct."""
        sizes, values = self.rows_of(keys)
        return np.repeat(keys, sizes), values

    def _signed(self, keys: CodeColumn) -> tuple[CodeColumn, CodeColumn, Bools]:
        """What all levels together say of the keys, which are sorted and distinct: pairs in order, each once."""
        parts = [level.pairs_of(keys) for level in self.levels]
        parts = [part for part in parts if len(part[0])]
        if len(parts) < 2:
            return parts[0] if parts else (EMPTY.values, EMPTY.values, np.empty(0, np.bool_))
        keys, values, added = (np.concatenate(each) for each in zip(*parts, strict=True))
        return summed(keys, values, added)

    def _with_signed(
        self, keys: CodeColumn, sizes: Int64s, values: CodeColumn, signed: tuple[CodeColumn, CodeColumn, Bools]
    ) -> tuple[Int64s, CodeColumn]:
        """The base's rows of the keys with the signed pairs: long ones row by row, the others all at once."""
        changes = grouped(*signed)
        at = keys.searchsorted(changes.keys)
        starts = np.cumsum(sizes) - sizes
        long = sizes[at] >= _LONG_ROW
        pieces: dict[int, CodeColumn] = {}
        for i in np.flatnonzero(long).tolist():
            place, (start, stop) = int(at[i]), changes.offsets[i : i + 2]
            row = values[starts[place] : starts[place] + sizes[place]]
            pieces[place] = _merged(row, changes.values[start:stop], changes.added[start:stop])
        short = at[~long]
        if len(short):
            own = runs(starts[short], sizes[short])
            which = np.repeat(~long, np.diff(changes.offsets))
            pair_keys = np.concatenate((np.repeat(keys[short], sizes[short]), signed[0][which]))
            pair_values = np.concatenate((values[own], signed[1][which]))
            added = np.concatenate((np.ones(len(own), np.bool_), signed[2][which]))
            pair_keys, pair_values, _ = summed(pair_keys, pair_values, added)
            bounds = np.append(pair_keys.searchsorted(keys[short]), len(pair_keys)).tolist()
            fresh = pair_values
        else:
            bounds, fresh = [0], EMPTY.values
        return _replaced(sizes, values, (short, bounds, fresh), pieces)

    @cached_property
    def over(self) -> Csr:
        """The rows of all keys that the levels touch, empty ones too. Costs these rows; kept."""
        if not self.levels:
            return EMPTY
        keys = self._touched_keys()
        sizes, values = self.rows_of(keys)
        offsets = np.zeros(len(keys) + 1, np.int64)
        np.cumsum(sizes, out=offsets[1:])
        return Csr(keys, offsets, values)

    @cached_property
    def over_cost(self) -> int:
        """About how many values `over` has."""
        return sum(int(level.counts.sum()) for level in self.levels)

    @property
    def has_over(self) -> bool:
        return "over" in self.__dict__

    def _touched_keys(self) -> CodeColumn:
        if len(self.levels) == 1:
            return self.levels[0].keys
        return distinct(np.sort(np.concatenate([level.keys for level in self.levels]), kind="stable"))

    # Everything

    @cached_property
    def merged(self) -> Csr:
        """Base and levels as one. O(size) where there are levels; kept."""
        if not self.levels:
            return self.base
        parts = [level.pairs() for level in self.levels]
        signed = summed(*(np.concatenate(each) for each in zip(*parts, strict=True)))
        base_keys, base_values = self.base.pairs()
        keys, values = np.concatenate((base_keys, signed[0])), np.concatenate((base_values, signed[1]))
        order = order_of(keys, values)
        keys, values = keys[order], values[order]
        # A pair that is there twice is one of the base that went.
        first = run_starts(keys, values)
        kept = first & np.append(first[1:], True)
        return Csr.from_sorted(keys[kept], values[kept])

    @cached_property
    def keys(self) -> CodeColumn:
        """The keys that have values: int64[k], sorted, distinct. Copies them where some came or went; `rows` is
        their number."""
        if not self.levels:
            return self.base.keys
        gone, new = self.key_changes
        keys = np.delete(self.base.keys, gone) if len(gone) else self.base.keys
        return np.insert(keys, keys.searchsorted(new), new) if len(new) else keys

    @cached_property
    def key_changes(self) -> tuple[RowColumn, CodeColumn]:
        """(the positions of the base's keys that have no values any more, the keys that the base has not); sorted.
        Costs the keys that the levels touch; kept."""
        touched = self._touched_keys()
        lives, at = self.counts(touched) > 0, self.base.find(touched)
        return at[(at >= 0) & ~lives], touched[(at < 0) & lives]

    @cached_property
    def diagonal(self) -> CodeColumn:
        """The keys that are among their own values: int64[m], sorted."""
        keys = self.base.diagonal
        for level in reversed(self.levels):
            pair_keys = np.repeat(level.keys, np.diff(level.offsets))
            own = pair_keys == level.values
            came, went = pair_keys[own & level.added], pair_keys[own & ~level.added]
            keys = np.delete(keys, keys.searchsorted(went))
            keys = np.insert(keys, keys.searchsorted(came), came)
        return keys

    # The next one

    def advanced(self, keys: CodeColumn, values: CodeColumn, added: Bools) -> Trie:
        """After these events, oldest first: `added[i]` puts or drops (keys[i], values[i]), which changes something.

        Costs the events and the youngest level; that of a merge of levels now and then.
        """
        if len(keys) <= FEW_EVENTS:
            return self.advanced_by_few(zip(keys.tolist(), values.tolist(), added.tolist(), strict=True))
        fresh, size = self.difference(keys, values, added)
        return Trie(self.base, pushed(fresh, self.levels), size) if len(fresh) else self

    def advanced_by_few(self, events: Iterable[tuple[int, int, bool]]) -> Trie:
        """The same after some events (key, value, whether added): single steps cost less than sorting and merging
        arrays. The trie itself, whose arrays readers know, where later events undo the others."""
        changed: dict[tuple[int, int], bool] = {}
        for key, value, added in events:
            before = changed.pop((key, value), None)
            if before is None:
                changed[key, value] = added
            else:
                assert before is not added, "what was so already was said again"
        trie = self
        for (key, value), added in changed.items():
            trie = trie._advanced_by_one(key, value, added=added)
        return trie

    def _advanced_by_one(self, key: int, value: int, *, added: bool) -> Trie:
        before, size = self.count(key), self.size
        after = before + 1 if added else before - 1
        assert after >= 0, "what was not there was taken away"
        rows = size.rows + (before == 0) - (after == 0)
        size = TrieSize(size.pairs + after - before, rows, max(size.longest, after))
        return Trie(self.base, pushed_one(key, value, self.levels, added=added, count=after), size)

    def difference(self, keys: CodeColumn, values: CodeColumn, added: Bools) -> tuple[Signed, TrieSize]:
        """What these events, as for `advanced`, change, and the size after it."""
        if len(keys) == 0:
            return NOTHING_SIGNED, self.size
        order = order_of(keys, values)
        keys, values, added = keys[order], values[order], added[order]
        first = run_starts(keys, values)
        last = np.append(first[1:], True)
        # A pair's first event says whether it held before, its last one whether it does now.
        changed = added[first] == added[last]
        if not changed.any():
            return NOTHING_SIGNED, self.size
        kept = np.flatnonzero(last)[changed]
        fresh = grouped(keys[kept], values[kept], added[kept])
        before = self.counts(fresh.keys)
        after = before + np.add.reduceat(np.where(fresh.added, 1, -1), fresh.offsets[:-1])
        assert (after >= 0).all(), "what was not there was taken away"
        fresh = Signed(fresh.keys, fresh.offsets, fresh.values, fresh.added, after)
        size = TrieSize(
            self.pairs + int((after - before).sum()),
            self.rows + int(np.count_nonzero(after)) - int(np.count_nonzero(before)),
            max(self.size.longest, int(after.max())),
        )
        return fresh, size

    def forget(self) -> None:
        """Lets go of what was written out for readers; the next reader writes it again."""
        for name in ("over", "merged", "keys", "key_changes", "diagonal"):
            self.__dict__.pop(name, None)
        self._long_rows.clear()

    def nbytes(self) -> int:
        written = sum(row.nbytes for row in tuple(self._long_rows.values()))
        for name in ("over", "merged"):
            csr = self.__dict__.get(name)
            written += 0 if csr is None or csr is self.base else csr.nbytes()
        return sum(level.nbytes() for level in self.levels) + written


def _merged(row: CodeColumn, values: CodeColumn, added: Bools) -> CodeColumn:
    """A row with signed values, sorted and each once."""
    if len(values) == 1:
        place = int(row.searchsorted(values[0]))
        return np.concatenate((row[:place], values, row[place:]) if added[0] else (row[:place], row[place + 1 :]))
    gone, new = values[~added], values[added]
    if len(gone):
        row = np.delete(row, row.searchsorted(gone))
    return np.insert(row, row.searchsorted(new), new) if len(new) else row


def _replaced(
    sizes: Int64s, values: CodeColumn, short: tuple[RowColumn, list[int], CodeColumn], pieces: dict[int, CodeColumn]
) -> tuple[Int64s, CodeColumn]:
    """Rows that follow each other, some replaced: those at places `short[0]` by what lies between the bounds
    `short[1]` of `short[2]`, those in `pieces` each by its own."""
    places, bounds, fresh = short
    if len(places) == len(sizes):
        return np.diff(bounds), fresh
    if len(pieces) == len(sizes) == 1:
        (row,) = pieces.values()
        return np.array([len(row)], np.int64), row
    sizes = sizes.copy()
    pool, starts, at = [values], np.cumsum(sizes) - sizes, len(values)
    for place, row in pieces.items():
        starts[place], sizes[place] = at, len(row)
        pool.append(row)
        at += len(row)
    starts[places] = at + np.array(bounds[:-1], np.int64)
    sizes[places] = np.diff(bounds)
    pool.append(fresh)
    return sizes, np.concatenate(pool)[runs(starts, sizes)]
