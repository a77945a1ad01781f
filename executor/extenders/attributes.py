"""Patterns whose attribute is a variable or a blank: a union over attributes, with the attribute itself a level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adalog.executor.extenders.pairs import PairExtender
from adalog.executor.join.batch import Batch, Column, Mask, run_starts
from adalog.executor.join.protocol import OnVariables
from adalog.store.tries.trie import distinct

# Entities whose attributes are looked up, at most.
_FEW: Final = 1024


@dataclass(eq=False)
class AttributesExtender(OnVariables):
    """`[?e ?a ?v]`: `pairs` holds one binary extender for each attribute, by the code of its ident. `attribute` is
    None for a blank. Bound attributes send each prefix to its own pair; unbound ones ask all. `entity`: its
    variable. `near` finds the attributes, by the codes of their idents, that may have datoms of some entities,
    which are sorted and distinct. `pairs` may make each one when it is asked for."""

    attribute: str | None
    ends: frozenset[str]
    pairs: Mapping[int, PairExtender]
    rank: dict[str, int]
    entity: str | None = None
    near: Callable[[Column], Iterable[int]] | None = None
    _codes: Sequence[int] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.variables = self.ends | ({self.attribute} if self.attribute is not None else frozenset())

    def _candidates(self, batch: Batch) -> Iterator[tuple[int, PairExtender]]:
        """The attributes that prefixes may have, in order: few, where few entities are bound."""
        if self.near is not None and self.entity is not None and self.entity in batch.columns:
            entities = distinct(batch.columns[self.entity])
            if len(entities) <= _FEW:
                codes: Iterable[int] = sorted(code for code in self.near(entities) if code in self.pairs)
                return ((code, self.pairs[code]) for code in codes)
        if self._codes is None:
            self._codes = sorted(self.pairs)
        return ((code, self.pairs[code]) for code in self._codes)

    def _known(self, batch: Batch) -> str | None:
        """The bound end that is bound last: what each pair is checked at."""
        bound = [name for name in self.ends if name in batch.columns]
        return max(bound, key=self.rank.__getitem__) if bound else None

    def _selected(self, batch: Batch, code: int) -> NDArray[np.int64]:
        """Positions of the prefixes that this attribute may serve."""
        if self.attribute is None or self.attribute not in batch.columns:
            return np.arange(batch.size)
        return np.flatnonzero(batch.columns[self.attribute] == code)

    def _exists(self, batch: Batch, pair: PairExtender) -> Mask:
        """Which prefixes have a datom of the attribute, as far as their ends are bound."""
        known = self._known(batch)
        if known is None:
            return np.full(batch.size, pair.forward().rows > 0)
        return pair.holds(batch, known)

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        total = np.zeros(batch.size, np.int64)
        if variable == self.attribute:
            return np.full(batch.size, len(self.pairs), np.int64)
        for code, pair in self._candidates(batch):
            rows = self._selected(batch, code)
            if len(rows):
                total[rows] += pair.count(batch.take(rows), variable)
        return total

    def propose(self, batch: Batch, variable: str) -> Batch:
        parents: list[NDArray[np.int64]] = []
        values: list[Column] = []
        for code, pair in self._candidates(batch):
            rows = self._selected(batch, code)
            if not len(rows):
                continue
            mine = batch.take(rows)
            if variable == self.attribute:
                parent = rows[self._exists(mine, pair)]
                value = np.full(len(parent), code, np.int64)
            else:
                extended = pair.propose(Batch(mine.size, {**mine.columns, "#row": rows}), variable)
                parent, value = extended.columns["#row"], extended.columns[variable]
            parents.append(parent)
            values.append(value)
        if not parents:
            return batch.take(np.empty(0, np.int64)).having(variable, np.empty(0, np.int64))
        parent, value = np.concatenate(parents), np.concatenate(values)
        order = np.lexsort((value, parent))
        parent, value = parent[order], value[order]
        fresh = run_starts(parent, value)
        return batch.extend(parent[fresh], variable, value[fresh])

    def intersect(self, batch: Batch, variable: str) -> Batch:
        keep = np.zeros(batch.size, np.bool_)
        for code, pair in self._candidates(batch):
            rows = self._selected(batch, code)
            if len(rows):
                keep[rows] |= self._exists(batch.take(rows), pair)
        return batch.keep(keep)
