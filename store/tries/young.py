"""The youngest level of signed pairs, as arrays of the standard library.

It is copied whole for each pair that comes or goes; of a few hundred numbers NumPy's fixed cost is several
times that of a copy.

For `store.tries.trie`. NumPy's columns, which all other readers take, are made when first asked for, over the same
memory.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np

from adalog.store.tries.places import Placed, start_of
from adalog.store.tries.signed import NOTHING_SIGNED, Levels, Signed, geometric, takes_more
from adalog.store.values.arrays import Bools, CodeColumn, Int64s, RowColumn

# Shifted by plain Python, which takes less than NumPy's fixed cost.
_FEW_OFFSETS: Final = 32

Arrays: TypeAlias = "tuple[array[int], array[int], array[int], array[int], array[int]]"


class Young(Signed):
    """A level as of `Signed`. `arrays`: its keys, offsets, values, signs and counts."""

    arrays: Arrays

    def __init__(self, arrays: Arrays) -> None:
        self.__dict__["arrays"] = arrays

    @staticmethod
    def of(level: Signed) -> Young:
        if isinstance(level, Young):
            return level
        columns = level.keys, level.offsets, level.values, level.added, level.counts
        keys, offsets, values, added, counts = (
            array("b" if column is level.added else "q", column.tobytes()) for column in columns
        )
        return Young((keys, offsets, values, added, counts))

    def __reduce__(self) -> tuple[Any, ...]:
        return Signed, (self.keys, self.offsets, self.values, self.added, self.counts)

    def __len__(self) -> int:
        return len(self.arrays[2])

    @cached_property
    def keys(self) -> CodeColumn:
        return np.frombuffer(self.arrays[0], np.int64)

    @cached_property
    def offsets(self) -> RowColumn:
        return np.frombuffer(self.arrays[1], np.int64)

    @cached_property
    def values(self) -> CodeColumn:
        return np.frombuffer(self.arrays[2], np.int64)

    @cached_property
    def added(self) -> Bools:
        return np.frombuffer(self.arrays[3], np.bool_)

    @cached_property
    def counts(self) -> Int64s:
        return np.frombuffer(self.arrays[4], np.int64)

    @cached_property
    def placed(self) -> Placed | None:
        keys, offsets, values, added, counts = map(start_of, self.arrays)
        numbers = [len(self.arrays[0]), keys >> 3, offsets >> 3, values >> 3, added, counts >> 3]
        return Placed(numbers, self.arrays)

    def position(self, key: int) -> int:
        keys = self.arrays[0]
        at = bisect_left(keys, key)
        return at if at < len(keys) and keys[at] == key else -1

    def count_at(self, at: int) -> int:
        return self.arrays[4][at]

    def nbytes(self) -> int:
        return sum(each.itemsize * len(each) for each in self.arrays)

    def having(self, key: int, value: int, *, added: bool, count: int) -> Young:
        """The level with one change more, after which the key has so many values. A pair that came and went is
        none of it."""
        keys, offsets, values, signs, counts = self.arrays
        at = bisect_left(keys, key)
        if at == len(keys) or keys[at] != key:
            place = offsets[at]
            offsets = offsets[:]
            offsets.insert(at, place)
            _shift(offsets, at + 1, 1)
            return Young(
                (
                    _with(keys, at, key),
                    offsets,
                    _with(values, place, value),
                    _with(signs, place, added),
                    _with(counts, at, count),
                )
            )
        start, stop = offsets[at], offsets[at + 1]
        place = bisect_left(values, value, start, stop)
        if place == stop or values[place] != value:
            offsets, counts = offsets[:], counts[:]
            _shift(offsets, at + 1, 1)
            counts[at] = count
            return Young((keys, offsets, _with(values, place, value), _with(signs, place, added), counts))
        assert bool(signs[place]) is not added, "a level says again what is so already"
        values, signs, offsets, counts = _without(values, place), _without(signs, place), offsets[:], counts[:]
        _shift(offsets, at + 1, -1)
        if stop - start == 1:
            del offsets[at], counts[at]
            keys = _without(keys, at)
        else:
            counts[at] = count
        return Young((keys, offsets, values, signs, counts))


def _with(column: array[int], place: int, item: int) -> array[int]:
    column = column[:]
    column.insert(place, item)
    return column


def _without(column: array[int], place: int) -> array[int]:
    column = column[:]
    del column[place]
    return column


def _shift(offsets: array[int], first: int, by: int) -> None:
    """Adds to all offsets from number `first` on. Their array must be at its length: a view of it keeps that."""
    if len(offsets) - first <= _FEW_OFFSETS:
        for i in range(first, len(offsets)):
            offsets[i] += by
        return
    view = np.frombuffer(offsets, np.int64)[first:]
    view += by


_NOTHING = Young.of(NOTHING_SIGNED)


def pushed_one(key: int, value: int, levels: Levels, *, added: bool, count: int) -> Levels:
    """Levels as of `signed.pushed` with one pair more, which most transactions come to. `count`: of the key's
    values after it."""
    if levels and takes_more(levels[0]):
        return geometric(Young.of(levels[0]).having(key, value, added=added, count=count), levels[1:])
    return geometric(_NOTHING.having(key, value, added=added, count=count), levels)
