"""Datoms of one attribute as parallel columns, and how events change what holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adalog.store.tries.signed import order_of, run_starts
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

    def take(self, which: RowColumn | Bools | slice) -> Columns:
        """The rows of a mask, of positions or of a range."""
        return Columns(self.e[which], self.v[which], self.t[which], self.added[which])

    def sorted(self) -> Columns:
        return self.take(order_of(self.e, self.v, self.t))

    def held(self) -> Columns:
        """What holds after all of them, which are sorted by (e, v, t): those that are the last of their pair and
        asserted."""
        first = run_starts(self.e, self.v)
        if self.added.all() and first.all():
            return self
        return self.take(np.append(first[1:], True)[: len(self)] & self.added)

    @staticmethod
    def asserted(e: CodeColumn, v: CodeColumn, t: Int64s) -> Columns:
        return Columns(e, v, t, np.ones(len(e), np.bool_))

    @staticmethod
    def concat(parts: list[Columns]) -> Columns:
        columns = zip(*((part.e, part.v, part.t, part.added) for part in parts), strict=True)
        return Columns(*map(np.concatenate, columns))


NO_COLUMNS = Columns(_NONE, _NONE, _NONE, np.empty(0, np.bool_))
