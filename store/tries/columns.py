"""Datoms of one attribute as parallel columns, and how events change what holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adalog.store.tries.signed import order_of
from adalog.store.tries.trie import EMPTY
from adalog.store.values.arrays import Bools, CodeColumn, Int64s, RowColumn

_NONE = EMPTY.values


@dataclass(frozen=True, eq=False)
class Columns:
    """Datoms of one attribute as parallel arrays: entity, value code, transaction number, whether asserted."""

    e: CodeColumn
    v: CodeColumn
    t: Int64s
    added: Bools

    def __len__(self) -> int:
        return len(self.e)

    def take(self, which: RowColumn | Bools) -> Columns:
        """The rows of a mask or of positions."""
        return Columns(self.e[which], self.v[which], self.t[which], self.added[which])

    def sorted(self) -> Columns:
        return self.take(order_of(self.e, self.v, self.t))

    def held(self) -> Columns:
        """What holds after all of them, which are sorted by (e, v, t): those that are the last of their pair and
        asserted."""
        if self.added.all() and not self._repeats().any():
            return self
        last = np.ones(len(self), np.bool_)
        last[:-1] = ~self._repeats()
        return self.take(last & self.added)

    def _repeats(self) -> Bools:
        """Which rows are of the same pair as the one after them; bool[n - 1]."""
        same: Bools = (self.e[1:] == self.e[:-1]) & (self.v[1:] == self.v[:-1])
        return same

    @staticmethod
    def asserted(e: CodeColumn, v: CodeColumn, t: Int64s) -> Columns:
        """Rows that are all assertions."""
        return Columns(e, v, t, np.ones(len(e), np.bool_))

    @staticmethod
    def concat(parts: list[Columns]) -> Columns:
        return Columns(
            np.concatenate([part.e for part in parts]),
            np.concatenate([part.v for part in parts]),
            np.concatenate([part.t for part in parts]),
            np.concatenate([part.added for part in parts]),
        )


def are_of(e: CodeColumn, entities: CodeColumn) -> Bools:
    """Which of the ids are among the entities, which are sorted and distinct."""
    if not len(entities):
        return np.zeros(len(e), np.bool_)
    at = np.minimum(entities.searchsorted(e), len(entities) - 1)
    found: Bools = entities[at] == e
    return found


NO_COLUMNS = Columns(_NONE, _NONE, _NONE, np.empty(0, np.bool_))
