"""Two-level tries of int64 codes: from a key to its sorted values, as flat columns.

For the store, which builds them, and the executor's extenders, which read them. A trie is a base (large, shared by
many snapshots, often memory-mapped) and an overlay that replaces the runs of the few keys touched since.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]

# A direct index is kept where it costs at most two slots a key.
_DENSE_SLOTS_PER_KEY = 2
_DENSE_SLACK = 64


@dataclass(frozen=True, eq=False)
class Csr:
    """Compressed sparse rows: the values of `keys[i]` are `values[offsets[i]:offsets[i + 1]]`, sorted and distinct.

    keys: int64[k], sorted, distinct. offsets: int64[k + 1]. values: int64[n].
    """

    keys: Codes
    offsets: Codes
    values: Codes

    @cached_property
    def dense(self) -> NDArray[np.int32]:
        """int32[span]: the position in `keys` of key `keys[0] + i`, or -1; empty where keys are too far apart."""
        if len(self.keys) == 0:
            return np.empty(0, np.int32)
        span = int(self.keys[-1]) - int(self.keys[0]) + 1
        if span > _DENSE_SLOTS_PER_KEY * len(self.keys) + _DENSE_SLACK:
            return np.empty(0, np.int32)
        index = np.full(span, -1, np.int32)
        index[self.keys - self.keys[0]] = np.arange(len(self.keys), dtype=np.int32)
        return index

    def nbytes(self) -> int:
        """Bytes of its arrays."""
        dense = self.__dict__.get("dense", EMPTY.values)
        return int(self.keys.nbytes + self.offsets.nbytes + self.values.nbytes + dense.nbytes)

    @staticmethod
    def from_sorted(keys: Codes, values: Codes) -> Csr:
        """From pairs sorted by (key, value) and distinct; both int64[n]."""
        n = len(keys)
        if n == 0:
            return EMPTY
        first = np.empty(n, np.bool_)
        first[0] = True
        np.not_equal(keys[1:], keys[:-1], out=first[1:])
        starts = np.flatnonzero(first)
        offsets = np.empty(len(starts) + 1, np.int64)
        offsets[:-1] = starts
        offsets[-1] = n
        return Csr(np.ascontiguousarray(keys[starts]), offsets, np.ascontiguousarray(values))

    @staticmethod
    def from_pairs(keys: Codes, values: Codes) -> Csr:
        """From pairs in any order, repeats allowed; both int64[n]."""
        order = np.lexsort((values, keys))
        keys, values = keys[order], values[order]
        if len(keys) > 1:
            keep = np.empty(len(keys), np.bool_)
            keep[0] = True
            np.logical_or(keys[1:] != keys[:-1], values[1:] != values[:-1], out=keep[1:])
            keys, values = keys[keep], values[keep]
        return Csr.from_sorted(keys, values)

    def row(self, key: int) -> Codes | None:
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

    def find(self, keys: Codes) -> Codes:
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

    def places(self, keys: Codes) -> tuple[Codes, Codes]:
        """(sizes int64[m], places): the row length of each of m keys, and where in `values` all those rows are."""
        at = self.find(keys)
        found = at >= 0
        at[~found] = 0
        starts = self.offsets[at] if len(self.keys) else np.zeros(len(at), np.int64)
        sizes = np.where(found, self.offsets[np.minimum(at + 1, len(self.keys))] - starts, 0)
        return sizes, runs(starts, sizes)

    def pairs(self) -> tuple[Codes, Codes]:
        """(keys, values), both int64[n], sorted."""
        return np.repeat(self.keys, np.diff(self.offsets)), self.values


def distinct(values: Codes) -> Codes:
    """The distinct values, sorted. numpy's own `unique` hashes integers, which takes 70 times as long as this."""
    ordered = values if (values[1:] >= values[:-1]).all() else np.sort(values)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


EMPTY = Csr(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, eq=False)
class Trie:
    """A base and the rows that replace its rows. A key whose overlay row is empty is gone."""

    base: Csr
    over: Csr = EMPTY

    def row(self, key: int) -> Codes:
        """The values of one key, sorted; empty where there are none."""
        if len(self.over.keys):
            row = self.over.row(key)
            if row is not None:
                return row
        row = self.base.row(key)
        return EMPTY.values if row is None else row

    @cached_property
    def merged(self) -> Csr:
        """Base and overlay as one. O(size) where there is an overlay; kept."""
        if not len(self.over.keys):
            return self.base
        keys, values = self.base.pairs()
        keep = np.repeat(kept_keys(self.base, self.over), np.diff(self.base.offsets))
        over_keys, over_values = self.over.pairs()
        keys = np.concatenate((keys[keep], over_keys))
        values = np.concatenate((values[keep], over_values))
        order = np.argsort(keys, kind="stable")
        return Csr.from_sorted(keys[order], values[order])

    @cached_property
    def keys(self) -> Codes:
        """The keys that have values: int64[k], sorted, distinct."""
        if not len(self.over.keys):
            return self.base.keys
        kept = self.base.keys[kept_keys(self.base, self.over)]
        live = self.over.keys[np.diff(self.over.offsets) > 0]
        return np.sort(np.concatenate((kept, live)))

    def pairs_of(self, keys: Codes) -> tuple[Codes, Codes]:
        """(keys, values), both int64[n]: the pairs of the given keys, which are sorted and distinct."""
        replaced = self.over.find(keys) >= 0
        sizes, places = self.over.places(keys[replaced])
        over = np.repeat(keys[replaced], sizes), self.over.values[places]
        if replaced.all():
            return over
        sizes, places = self.base.places(keys[~replaced])
        base = np.repeat(keys[~replaced], sizes), self.base.values[places]
        pair_keys = np.concatenate((base[0], over[0]))
        pair_values = np.concatenate((base[1], over[1]))
        order = np.argsort(pair_keys, kind="stable")
        return pair_keys[order], pair_values[order]

    def advanced(self, keys: Codes, values: Codes, added: NDArray[np.bool_]) -> Trie:
        """After these events, oldest first: `added[i]` puts or drops (keys[i], values[i]). Costs overlay + events.

        An event that changes nothing is ignored.
        """
        if len(keys) == 0:
            return self
        touched = distinct(keys)
        old_keys, old_values = self.pairs_of(touched)
        all_keys = np.concatenate((old_keys, keys))
        all_values = np.concatenate((old_values, values))
        alive = np.concatenate((np.ones(len(old_keys), np.bool_), added))
        order = np.lexsort((all_values, all_keys))
        all_keys, all_values, alive = all_keys[order], all_values[order], alive[order]
        last = np.ones(len(order), np.bool_)
        last[:-1] = (all_keys[1:] != all_keys[:-1]) | (all_values[1:] != all_values[:-1])
        last &= alive
        fresh = rows_of(touched, all_keys[last], all_values[last])
        return Trie(self.base, replace_rows(self.over, fresh))


def rows_of(keys: Codes, pair_keys: Codes, pair_values: Codes) -> Csr:
    """A row for each of `keys` (sorted, distinct), empty ones too, from sorted pairs whose keys are among them."""
    offsets = np.append(np.searchsorted(pair_keys, keys), len(pair_keys))
    return Csr(keys, offsets, np.ascontiguousarray(pair_values))


def kept_keys(old: Csr, fresh: Csr) -> NDArray[np.bool_]:
    """Which of the old keys have no fresh row."""
    kept = np.ones(len(old.keys), np.bool_)
    replaced = old.find(fresh.keys)
    kept[replaced[replaced >= 0]] = False
    return kept


def replace_rows(old: Csr, fresh: Csr) -> Csr:
    """`old` with the rows of `fresh` in place of its own, or added."""
    if not len(old.keys):
        return fresh
    kept = kept_keys(old, fresh)
    sizes = np.diff(old.offsets)
    keys = np.concatenate((old.keys[kept], fresh.keys))
    sizes = np.concatenate((sizes[kept], np.diff(fresh.offsets)))
    values = np.concatenate((old.values[np.repeat(kept, np.diff(old.offsets))], fresh.values))
    starts = np.cumsum(sizes) - sizes
    order = np.argsort(keys, kind="stable")
    offsets = np.zeros(len(order) + 1, np.int64)
    np.cumsum(sizes[order], out=offsets[1:])
    return Csr(keys[order], offsets, values[runs(starts[order], sizes[order])])


def runs(starts: Codes, sizes: Codes) -> Codes:
    """The numbers starts[0], starts[0] + 1 … (sizes[0] of them), then those of the next run, and so on."""
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - ends + sizes, sizes)
