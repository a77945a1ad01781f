"""Which attributes may have datoms of an entity: an index from entities to attributes.

It has the attributes with few datoms, with each entity that one ever had, and each that one refers to. An attribute
with many is not in it: readers look at each of those, which are few. The index holds for every snapshot, since
nothing is taken out: an answer may name attributes that have nothing of the entity, and never lacks one that has.
One thread adds, any number read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from adalog.store.tries.signed import run_starts
from adalog.store.tries.trie import distinct
from adalog.store.values.arrays import CodeColumn, are_of

MANY: Final = 256
"""Events from which on an attribute has many."""

# Pairs that are looked through one by one before they are sorted.
_YOUNG: Final = 2048
# A level has at least so many times the pairs of the one after it.
_RATIO: Final = 4


class _Level(NamedTuple):
    """Pairs, sorted by entity."""

    e: CodeColumn
    a: CodeColumn


class _State(NamedTuple):
    """levels: the largest first. young: entity, attribute, entity, attribute …"""

    levels: tuple[_Level, ...]
    young: array[int]


class AttributeIndex:
    """Of all transactions of one database, those that were refused on the way included."""

    def __init__(self) -> None:
        self._state = _State((), array("q"))
        # Those with many. Nothing of them is looked up.
        self._many: dict[int, None] = {}

    def add(self, entity: int, attribute: int) -> None:
        """An event of an attribute with few mentions the entity."""
        young = self._state.young
        young.extend((entity, attribute))
        if len(young) >= 2 * _YOUNG:
            self._sort()

    def leave(self, attribute: int) -> None:
        """The attribute has many: it is not looked up from now on."""
        # A reader that does not find it in the index any more finds it here.
        self._many[attribute] = None

    def has_left(self, attribute: int) -> bool:
        return attribute in self._many

    def of(self, entities: CodeColumn) -> list[int]:
        """The attributes that may have datoms of any of the entities, or refer to one; in order. entities: sorted
        and distinct."""
        levels, young = self._state
        pairs = np.frombuffer(young[:], np.int64).reshape(-1, 2)
        found = [pairs[are_of(pairs[:, 0], entities), 1]]
        for level in levels:
            starts = level.e.searchsorted(entities)
            stops = level.e.searchsorted(entities, side="right")
            if len(entities) == 1:
                found.append(level.a[starts[0] : stops[0]])
            else:
                found.append(level.a[are_of(level.e, entities)] if (stops > starts).any() else level.a[:0])
        known: list[int] = distinct(np.concatenate(found)).tolist()
        return sorted({*known, *tuple(self._many)})

    def _sort(self) -> None:
        levels, young = self._state
        pairs = np.frombuffer(young[:], np.int64).reshape(-1, 2)
        e, a = pairs[:, 0], pairs[:, 1]
        parts = list(levels)
        while parts and len(parts[-1].e) < _RATIO * len(e):
            last = parts.pop()
            e, a = np.concatenate((last.e, e)), np.concatenate((last.a, a))
        kept = ~are_of(a, np.array(sorted(self._many), np.int64))
        e, a = e[kept], a[kept]
        order = np.lexsort((a, e))
        e, a = e[order], a[order]
        fresh = run_starts(e, a)
        self._state = _State((*parts, _Level(e[fresh], a[fresh])), array("q"))

    def nbytes(self) -> int:
        levels, young = self._state
        return sum(16 * len(level.e) for level in levels) + 8 * len(young)


class ExtendedAttributeIndex:
    """Those of a basis, and of a transaction on top of it."""

    def __init__(self, basis: AttributeFinder, attributes: Iterable[int]) -> None:
        self._basis = basis
        self._attributes = frozenset(attributes)

    def of(self, entities: CodeColumn) -> list[int]:
        return sorted({*self._basis.of(entities), *self._attributes})


AttributeFinder = AttributeIndex | ExtendedAttributeIndex
