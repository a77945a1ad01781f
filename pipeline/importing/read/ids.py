"""Entities that rows name by a number, and which entities these are here.

Either ids are kept, as ids of this database; or they are the rows' own, and name new entities, unless a unique
value identifies an existing one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from adalog.cluster.array_files import read_arrays
from adalog.pipeline.exporting.schema import movable
from adalog.pipeline.importing.read.typed_columns import Int64s
from adalog.store.tries.trie import distinct
from adalog.store.values.attribute import FIRST_OWN_IDENT, SCHEMA_BASE

IDS: Final = 0
"""In place of an identity attribute: numbers name the entities."""

NO_ENTITY: Final = -1
"""No entity; as for keys that mean none."""

# What an entity of this database is meant by where other numbers are the rows' own.
_HERE: Final = -(1 << 63)
_MARKED_BITS: Final = 19


def _none() -> Int64s:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Ids:
    """keep: whether ids are kept. ids, entities: numbers, in order, that mean other entities of this database.
    idents: of what has an ident here, the ids below this one are known."""

    keep: bool
    ids: Int64s = field(default_factory=_none)
    entities: Int64s = field(default_factory=_none)
    idents: int = 0

    def read(self, numbers: Int64s) -> Int64s:
        """The keys of the entities of numbers; NO_ENTITY if ids are kept and there can be none."""
        if not self.keep:
            return numbers
        own = (numbers > SCHEMA_BASE) & (numbers < max(self.idents, FIRST_OWN_IDENT))
        return _replaced(np.where(own, numbers, movable(numbers)), numbers, self.ids, self.entities)

    def table(self) -> tuple[bytes, bytes, int] | None:
        """What `read` goes by; None where it changes nothing."""
        return (self.ids.tobytes(), self.entities.tobytes(), self.idents) if self.keep else None

    def here(self, entity: int) -> int:
        """An entity of this database as a key."""
        return entity if self.keep else entity + _HERE

    def holders(self, keys: Int64s, meant: Sequence[str]) -> Int64s:
        """The entities of keys, NO_ENTITY for those that are new. meant: files of numbers with their entities."""
        if self.keep:
            return keys
        holders = np.where(keys < _HERE // 2, keys - _HERE, NO_ENTITY)
        for path in reversed(meant):
            found = read_arrays(path)
            holders = _replaced(holders, keys, found["ids"], found["entities"])
        return _replaced(holders, keys, self.ids, self.entities)


def _replaced(values: Int64s, keys: Int64s, known: Int64s, instead: Int64s) -> Int64s:
    """The values, those of known keys replaced. known: in order."""
    if not len(known):
        return values
    at = np.minimum(known.searchsorted(keys), len(known) - 1)
    return np.where(known[at] == keys, instead[at], values)


def marks(ids: Int64s) -> Int64s:
    """Of the ids that clients may choose, the first and the last of each half million: enough to tell large gaps
    between them."""
    ids = np.sort(ids)
    ids = ids[ids.searchsorted(0) : ids.searchsorted(SCHEMA_BASE)]
    if not len(ids):
        return ids
    new = np.flatnonzero(np.diff(ids >> _MARKED_BITS))
    return distinct(np.concatenate((ids[:1], ids[new], ids[new + 1], ids[-1:])))
