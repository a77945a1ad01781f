"""The ids that new entities may get: intervals in which nothing ever was, neither an entity nor what a ref names.

New entities get the next ids of one interval, the current one. An id that a client chooses in the midst of it cuts
it in two: new entities go on in the larger part, the other is kept for later, and no choice uses up the range.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np

from adalog.datalog.errors import limit_exceeded
from adalog.store.tries.trie import distinct
from adalog.store.values.arrays import CodeColumn
from adalog.store.values.attribute import SCHEMA_BASE, TX_BASE, Attribute
from adalog.store.values.changes import BulkColumn, Effect
from adalog.store.values.codes import Codes
from adalog.store.values.schema import Schema

# Intervals beside the current one: so many, the largest, and none that is smaller.
_KEPT: Final = 1024
_LEAST: Final = 1 << 20
# What clients' choices have to leave for new entities.
RESERVE: Final = 1 << 28


class Interval(NamedTuple):
    """The ids from `start` to before `stop`."""

    start: int
    stop: int

    @property
    def size(self) -> int:
        return self.stop - self.start

    def has(self, id_: int) -> bool:
        return self.start <= id_ < self.stop


_size: Final = attrgetter("size")
_ALL: Final = Interval(1, SCHEMA_BASE)


@dataclass(frozen=True, slots=True)
class FreeIds:
    """`others`: disjoint, in order."""

    current: Interval = _ALL
    others: tuple[Interval, ...] = ()

    @property
    def size(self) -> int:
        """How many ids new entities can still get."""
        return self.current.size + sum(interval.size for interval in self.others)

    def has(self, id_: int) -> bool:
        if self.current.has(id_):
            return True
        place = bisect_left(self.others, (id_ + 1,)) - 1
        return place >= 0 and self.others[place].has(id_)

    def among(self, ids: Iterable[int]) -> list[int]:
        """Those of the ids that are free, in order."""
        start, stop = self.current
        if not self.others:
            return sorted([id_ for id_ in ids if start <= id_ < stop])
        least = min(start, self.others[0].start)
        return sorted(id_ for id_ in ids if id_ >= least and self.has(id_))

    def among_sorted(self, ids: CodeColumn) -> CodeColumn:
        """The same for an array of ids in order."""
        bounds = sorted((self.current, *self.others))
        return np.concatenate([ids[slice(*np.searchsorted(ids, each))] for each in bounds])

    def next(self, count: int) -> Interval:
        """An interval that begins with the ids of so many new entities. LIMIT_EXCEEDED where none is that large."""
        if count <= self.current.size:
            return self.current
        largest = max(self.others, key=_size, default=self.current)
        if count <= largest.size:
            return largest
        raise limit_exceeded(f"no ids are left for {count:,} new entities: those below {SCHEMA_BASE} are used up")

    def without(self, ids: Sequence[int] | CodeColumn) -> FreeIds:
        """What is left when these ids, in order and each once, are used too."""
        if not len(ids):
            return self
        start, stop = self.current
        # Nearly always they are the next ones.
        if ids[0] == start and ids[-1] == start + len(ids) - 1 < stop:
            return FreeIds(Interval(start + len(ids), stop), self.others)
        used = np.asarray(ids, np.int64)
        *others, current = sorted(_parts(self.current, used), key=_size)
        others += [part for interval in self.others for part in _parts(interval, used)]
        others = sorted((interval for interval in others if interval.size >= _LEAST), key=_size)[-_KEPT:]
        if others and current.size < _LEAST:
            current = others.pop()
        return FreeIds(current, tuple(sorted(others)))

    def check_chosen(self, ids: Sequence[int] | CodeColumn) -> None:
        """Raises LIMIT_EXCEEDED for ids that a client may not choose, as new entities need them."""
        if len(ids) and self.without(ids).size < RESERVE:
            raise limit_exceeded(
                f"entity {ids[0]} cannot be chosen: so many ids were that the last ones, from {self.current.start} "
                f"to {self.current.stop - 1}, are kept for new entities; use a tempid"
            )


def _parts(interval: Interval, used: CodeColumn) -> list[Interval]:
    """What is left of an interval, at least one part, which may be empty; of many small ones the largest."""
    inside = used[np.searchsorted(used, interval.start) : np.searchsorted(used, interval.stop)]
    if not len(inside):
        return [interval]
    starts = np.concatenate((np.array([interval.start], np.int64), inside + 1))
    sizes = np.concatenate((inside, np.array([interval.stop], np.int64))) - starts
    largest = np.argsort(sizes, kind="stable")[-_KEPT:]
    kept = largest[(sizes[largest] >= _LEAST) | (largest == largest[-1])]
    kept_parts = zip(starts[kept].tolist(), sizes[kept].tolist(), strict=True)
    return [Interval(start, start + size) for start, size in kept_parts]


def after(free: FreeIds, next_ident: int, ids: Collection[int]) -> tuple[FreeIds, int]:
    """What new entities, and new ones with an ident, may get when these ids are used too."""
    last = max([id_ for id_ in ids if id_ < TX_BASE], default=0)
    return free.without(free.among(ids)), max(next_ident, last + 1)


def ids_in(effects: Iterable[Effect], schema: Schema, codes: Codes) -> set[int]:
    """Every entity that the effects assert something of, or refer to."""
    found: set[int] = set()
    referring: dict[int, Attribute | None] = {}
    for e, a, v, added in effects:
        if not added:
            continue
        found.add(e)
        if a not in referring:
            attribute = schema.get(a)
            referring[a] = attribute if attribute is not None and attribute.refers else None
        by = referring[a]
        if by is not None:
            found.update(referred(by, v, codes))
    return found


def referred(attribute: Attribute, v: int, codes: Codes) -> Iterable[int]:
    """The entities that a value's code names, by an attribute that refers to any."""
    if attribute.is_ref:
        return (v,)
    value = codes.decode(v)
    types = attribute.kind.tuple_types or ("ref",) * len(value)
    return [item for kind, item in zip(types, value, strict=True) if kind == "ref" and item is not None]


def ids_in_columns(columns: Iterable[BulkColumn], schema: Schema, codes: Codes) -> CodeColumn:
    """The same for columns, in order and each once."""
    found = [np.empty(0, np.int64)]
    for column in columns:
        attribute = schema.get(column.attribute)
        found.append(distinct(column.e))
        if attribute is not None and attribute.is_ref:
            found.append(distinct(column.v))
        elif attribute is not None and attribute.refers:
            named = {id_ for v in column.v.tolist() for id_ in referred(attribute, v, codes)}
            found.append(np.array(sorted(named), np.int64))
    return distinct(np.concatenate(found))
