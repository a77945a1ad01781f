"""`or` and `or-join` as extenders over the conjunctions that are their branches.

An `or` must remember which of its branches each prefix still satisfies: a row has to pass one whole branch, never
half of one and half of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch, Column, concatenate, run_starts
from adalog.executor.join.conjunction import Conjunction, row_name
from adalog.executor.join.protocol import START, UNBOUNDED

# Branches whose bits share a column: the sign is not one of them.
_WORD = 63


class Nest:
    """An outermost `or` and all below it: hands out the bits of its state, one for each branch.

    The state is a set of live branches, in as few columns as hold it. Where the nest begins every branch is alive.
    A branch that is dead, or below a dead one, or of an `or` that has ended, has no bit: so a state is a function
    of the values that are bound, and the states that branches find for one row are united.
    """

    def __init__(self, number: int, absent: int) -> None:
        """`absent`: a code that no value has. A row carries it for a variable that its branch does not know."""
        self.number = number
        self.absent = absent
        self.used = 0

    def bit(self) -> int:
        """The number of a bit that is free."""
        self.used += 1
        return self.used - 1

    def column(self, word: int) -> str:
        """The name of one of its columns, which no variable can have."""
        return f"#or{self.number}.{word}"

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(map(self.column, range(-(-self.used // _WORD))))

    def masks(self, bits: range) -> dict[str, int]:
        """The bits of a range, by the columns that they are in."""
        masks: dict[str, int] = {}
        for word in range(bits.start // _WORD, (bits.stop - 1) // _WORD + 1):
            low, high = max(bits.start - word * _WORD, 0), min(bits.stop - word * _WORD, _WORD)
            masks[self.column(word)] = (1 << high) - (1 << low)
        return masks


@dataclass(frozen=True, slots=True)
class OrBranch:
    """A branch of an `or`. `bits`: its own in the state of the nest, then those of the branches below it."""

    body: Conjunction
    bits: range


class OrExtender:
    """`or` / `or-join`: rows that satisfy at least one whole branch.

    The batch carries the state of the nest; the `or` looks at the bits of its branches, changes those and the ones
    below them, and leaves the rest. A variable local to one branch is a level like any other: in rows of the other
    branches it is the nest's `absent`. `rank` has the levels in their order. `check` is called for each branch that
    has rows, and may raise.
    """

    def __init__(
        self,
        nest: Nest,
        branches: Sequence[OrBranch],
        local: frozenset[str],
        rank: Mapping[str, int],
        check: Callable[[], None],
    ) -> None:
        self.nest = nest
        self.bodies = tuple(branch.body for branch in branches)
        self.local = local
        self._check = check
        self._row = row_name()
        self._masks = [nest.masks(branch.bits) for branch in branches]
        firsts = [branch.bits.start for branch in branches]
        self._own = [(nest.column(first // _WORD), 1 << first % _WORD) for first in firsts]
        self._all = nest.masks(range(firsts[0], branches[-1].bits.stop))
        ahead = [START, *(name for name in rank if rank[name] >= 0)]
        self._taking = [frozenset(filter(body.participates, ahead)) for body in self.bodies]
        taken = local.union(*self._taking)
        self.levels = [name for name in ahead if name in taken]
        self.last = self.levels[-1]
        self._takers = {
            name: [number for number, each in enumerate(self._taking) if name in each] for name in self.levels
        }
        self._own_bits = _united_masks(self._own)

    def participates(self, variable: str) -> bool:
        return variable in self.levels

    def _alive(self, batch: Batch, branch: int) -> NDArray[np.int64]:
        """Positions of the rows for which the branch is alive."""
        column, bit = self._own[branch]
        return np.flatnonzero(batch.columns[column] & bit)

    def _others(self, batch: Batch, variable: str) -> tuple[NDArray[np.int64], dict[str, int]]:
        """Positions of the rows for which some branch is alive that has nothing to do with the variable, and the
        bits of all these branches: together, since most branches have nothing to do with most variables."""
        takers = self._takers[variable]
        if len(takers) == len(self.bodies):
            return np.empty(0, np.int64), {}
        taken_own = _united_masks(self._own[each] for each in takers)
        taken = _united_masks(item for each in takers for item in self._masks[each].items())
        alive = np.zeros(batch.size, np.bool_)
        for name, bits in self._own_bits.items():
            alive |= batch.columns[name] & (bits & ~taken_own.get(name, 0)) != 0
        return np.flatnonzero(alive), {name: bits & ~taken.get(name, 0) for name, bits in self._all.items()}

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        total = np.zeros(batch.size, np.int64)
        for i in self._takers[variable]:
            rows = self._alive(batch, i)
            if not len(rows):
                continue
            self._check()
            total[rows] += self.bodies[i].count(batch.take_all(rows), variable)
            # Saturate: the sum of two filters must not wrap around.
            np.minimum(total, UNBOUNDED, out=total)
        rows, _ = self._others(batch, variable)
        total[rows] += 1 if variable in self.local else UNBOUNDED
        return np.minimum(total, UNBOUNDED, out=total)

    def propose(self, batch: Batch, variable: str) -> Batch:
        numbered = batch.having(self._row, np.arange(batch.size))
        pieces = []
        for i in self._takers[variable]:
            rows = self._alive(batch, i)
            if not len(rows):
                continue
            self._check()
            piece = self.bodies[i].propose(numbered.take_all(rows), variable)
            pieces.append(self._of_branches(piece, variable, self._masks[i]))
        rows, masks = self._others(batch, variable)
        if len(rows):
            assert variable in self.local, "the planner lets an or propose only what all its branches know"
            piece = numbered.take_all(rows).having(variable, np.full(len(rows), self.nest.absent, np.int64))
            pieces.append(self._of_branches(piece, variable, masks))
        if not pieces:
            return batch.take(np.empty(0, np.int64)).having(variable, np.empty(0, np.int64))
        united = pieces[0] if len(pieces) == 1 else self._united(concatenate(pieces), variable)
        return united.without(frozenset((self._row,)))

    def _of_branches(self, piece: Batch, variable: str, masks: Mapping[str, int]) -> Batch:
        """Rows that some branches proposed, with no other bits than theirs."""
        if variable == self.last:
            masks = {}
        state = {name: piece.columns[name] & (masks.get(name, 0) | ~every) for name, every in self._all.items()}
        return Batch(piece.size, {**piece.columns, **state}, piece.weight)

    def _united(self, batch: Batch, variable: str) -> Batch:
        """One row for each (prefix, value), with the bits of all branches that proposed it."""
        batch = batch.take(_order(batch.columns[self._row], batch.columns[variable]))
        starts = np.flatnonzero(run_starts(batch.columns[self._row], batch.columns[variable]))
        if len(starts) == batch.size:
            return batch
        state = {name: np.bitwise_or.reduceat(batch.columns[name], starts) for name in self._all}
        rows = batch.take(starts)
        return Batch(rows.size, {**rows.columns, **state}, rows.weight)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        live = {name: np.zeros(batch.size, np.int64) for name in self._all}
        numbered = batch.having(self._row, np.arange(batch.size))
        for i in self._takers[variable]:
            rows = self._alive(batch, i)
            if not len(rows):
                continue
            self._check()
            kept = self.bodies[i].intersect(numbered.take_all(rows), variable)
            at = kept.columns[self._row]
            for name, mask in self._masks[i].items():
                live[name][at] |= kept.columns[name] & mask
        _, masks = self._others(batch, variable)
        for name, mask in masks.items():
            live[name] |= batch.columns[name] & mask
        alive = np.zeros(batch.size, np.bool_)
        state = {}
        for name, bits in live.items():
            alive |= bits != 0
            others = batch.columns[name] & ~self._all[name]
            state[name] = others if variable == self.last else others | bits
        return Batch(batch.size, {**batch.columns, **state}, batch.weight).keep(alive)


def _order(rows: Column, values: Column) -> NDArray[np.int64]:
    """The order of pairs, which come as a few pieces that are sorted. Where a prefix has values of one branch
    alone, as mostly in an `optional`, it is that of the rows, which takes linear time."""
    order = np.argsort(rows, kind="stable")
    rows_in_order, values_in_order = rows[order], values[order]
    falls = (rows_in_order[1:] == rows_in_order[:-1]) & (values_in_order[1:] < values_in_order[:-1])
    return np.lexsort((values, rows)) if falls.any() else order


def _united_masks(bits: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The bits of several branches, by the columns that they are in."""
    masks: dict[str, int] = {}
    for name, each in bits:
        masks[name] = masks.get(name, 0) | each
    return masks
