"""What the cache keeps of an answer, whatever names a query gives its columns.

In this process columns stay the codes they are; what comes from Redis is values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

import numpy as np

from adalog.datalog.values import EdnMap, EdnSet
from adalog.executor.answer.result import Result, ResultColumn
from adalog.executor.answer.types import type_of
from adalog.executor.cache.codec import CacheEntry, entry_of, stored
from adalog.store.values.codes import Codes, Scratch

# Python's own weight of an object, and of its place in a collection.
_OBJECT: Final = 56
_PLACE: Final = 16


@dataclass(frozen=True, slots=True)
class CachedValue:
    """The rows of a query without its pulls (`result`), or what one pull shows of entities (`maps`)."""

    nbytes: int
    result: Result | None = None
    maps: Sequence[EdnMap | None] = ()

    def entry(self) -> CacheEntry:
        return CacheEntry((stored("any", self.maps),)) if self.result is None else entry_of(self.result)


def kept_rows(result: Result, codes: Codes) -> CachedValue:
    """A computed result. Of the values that its query made, only those in its rows are kept."""
    columns, values = list(result.codes), result.values
    made = values.made()
    if made:
        numbers = [Scratch.made_numbers(column) for column in columns]
        used = np.unique(np.concatenate([each[each >= 0] for each in numbers]))
        if len(used) < len(made):
            values = Scratch(codes)
            values.adopt(made[number] for number in used.tolist())
            for place, each in enumerate(numbers):
                shown = each >= 0
                if shown.any():
                    columns[place] = columns[place].copy()
                    columns[place][shown] += np.searchsorted(used, each[shown]) - each[shown]
    nbytes = sum(column.nbytes for column in columns) + sum(map(weight, values.made()))
    shown_as = tuple(
        ResultColumn("", type_of(column) if each.type == "map" else each.type)
        for each, column in zip(result.columns, columns, strict=True)
    )
    return CachedValue(nbytes, _template(shown_as, columns, values, result.size, result))


def _template(
    columns: tuple[ResultColumn, ...], codes: Sequence[Any], values: Scratch, size: int, of: Result | CacheEntry
) -> Result:
    return Result(columns, codes, values, size, "", None, 0, of.engine, 0.0, dropped=of.dropped)


def fetched_rows(entry: CacheEntry, width: int, codes: Codes) -> CachedValue | None:
    """An entry's rows; None if it has another number of columns."""
    if len(entry.columns) != width:
        return None
    columns = tuple(ResultColumn("", column.type) for column in entry.columns)
    made = _template(columns, (), Scratch(codes), len(entry.columns[0]), entry)
    made.decoded = entry.columns
    return CachedValue(entry.nbytes, made)


def kept_maps(maps: Sequence[EdnMap | None]) -> CachedValue:
    return CachedValue(_Scale().weigh(tuple(maps)), maps=maps)


def fetched_maps(entry: CacheEntry, size: int) -> CachedValue | None:
    """An entry's maps; None if they are of another number of entities."""
    if len(entry.columns) != 1 or len(entry.columns[0]) != size:
        return None
    return kept_maps(entry.columns[0].values())


def weight(value: Any) -> int:
    return _Scale().weigh(value)


class _Scale:
    """Adds up sizes, those of shared objects once."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def weigh(self, value: Any) -> int:
        if isinstance(value, str | bytes):
            return _OBJECT + len(value)
        if isinstance(value, int) and not isinstance(value, bool):
            return 32 + value.bit_length() // 8
        if isinstance(value, Decimal):
            return 2 * _OBJECT + len(value.as_tuple().digits) // 2
        if isinstance(value, tuple | EdnSet | EdnMap):
            if id(value) in self._seen:
                return _PLACE
            self._seen.add(id(value))
            if isinstance(value, EdnMap):
                return 4 * _OBJECT + sum(2 * _OBJECT + self.weigh(item) for _, item in value.items())
            return _OBJECT + sum(_PLACE + self.weigh(item) for item in value)
        return _OBJECT
