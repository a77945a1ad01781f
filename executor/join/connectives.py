"""`and`, `or` and `not` as extenders over extenders.

A conjunction takes the join's step (`executor.join.step`) for each variable that its parts constrain. An `or` must
remember which of its branches each prefix still satisfies: a row has to pass one whole branch, never half of one
and half of another.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch, Column, concatenate, stack
from adalog.executor.join.extender import (
    START,
    UNBOUNDED,
    Check,
    Extender,
    Narrowing,
    RangeExtender,
    Ranges,
    Unwritten,
    Within,
    expand,
)
from adalog.executor.join.step import choose, intersect_ranges, spared, written
from adalog.executor.kernels import group_kernels
from adalog.store.tries.trie import EMPTY
from adalog.store.values.layout import TAG_BOOLEAN, code_of

ABSENT = code_of(TAG_BOOLEAN, 1 << 59)
"""The code of a variable local to one branch in the rows that another branch carries. No value has it."""

# Branches whose bits share a column: the sign is not one of them.
_WORD = 63


_numbers = itertools.count()


def _row_name() -> str:
    """A column for the number of the prefix that a row extends; each extender has its own, since they nest."""
    return f"#row{next(_numbers)}"


@dataclass(slots=True)
class Offers:
    """What the parts of a conjunction could add to each prefix of a batch.

    `narrow`: the ranges to intersect, where there are some. `checks`: parts that only check what those propose.
    `counts`: of each who could propose, the ranges first, how many values that would be.
    """

    narrow: list[Ranges]
    checks: list[Extender]
    counts: list[NDArray[np.int64]]

    @property
    def least(self) -> NDArray[np.int64]:
        """Per prefix the least of the counts."""
        least = self.counts[0]
        for count in self.counts[1:]:
            least = np.minimum(least, count)
        return least

    @property
    def winner(self) -> int | NDArray[np.int64]:
        """Per prefix who proposes the least, of those who can; one number where it is the same for all."""
        counts = self.counts
        if len(counts) == 1:
            return 0
        if len(counts[0]) == 1:
            return min(range(len(counts)), key=lambda i: int(counts[i][0]))
        proposers = [i for i, count in enumerate(counts) if count.min(initial=UNBOUNDED) < UNBOUNDED]
        return np.argmin(np.stack(counts), axis=0) if len(proposers) > 1 else proposers[0] if proposers else 0

    def slice(self, start: int, stop: int) -> Offers:
        """Those of a part of the prefixes."""
        if stop - start == len(self.counts[0]):
            return self
        narrow = [each.slice(start, stop) for each in self.narrow]
        return Offers(narrow, self.checks, [count[start:stop] for count in self.counts])


class Conjunction:
    """Extenders that must all accept: the body of a query, of a branch, of a `not`."""

    def __init__(self, parts: Sequence[Extender]) -> None:
        self.parts = tuple(parts)
        self._row = _row_name()
        self._at: dict[str, tuple[list[RangeExtender], list[Extender]]] = {}

    def participates(self, variable: str) -> bool:
        return any(part.participates(variable) for part in self.parts)

    def at(self, variable: str) -> tuple[list[RangeExtender], list[Extender]]:
        """The parts that take part at a level: those with ranges, the oldest first, and the others."""
        found = self._at.get(variable)
        if found is None:
            taking = [part for part in self.parts if part.participates(variable)]
            ranged = [part for part in taking if isinstance(part, RangeExtender)]
            if variable != START:
                ranged.sort(key=lambda part: part.newest(variable))
            found = ranged, [part for part in taking if not isinstance(part, RangeExtender)]
            self._at[variable] = found
        return found

    def narrowed(self, batch: Batch, variable: str) -> tuple[list[Ranges], list[Extender]]:
        """The ranges to intersect at a level, and the extenders that only check. At least one range if any can."""
        ranged, others = self.at(variable)
        narrow: list[Ranges] = []
        owners: list[RangeExtender] = []
        checks: list[RangeExtender] = []
        smallest: Column | Unwritten | None = None
        proposer: RangeExtender | None = None
        for part in ranged:
            whole = part.whole(batch, variable)
            if whole is None:
                narrow.append(part.ranges(batch, variable))
                owners.append(part)
            elif smallest is None or len(whole) < len(smallest):
                if proposer is not None:
                    checks.append(proposer)
                smallest, proposer = whole, part
            else:
                checks.append(part)
        if proposer is not None and smallest is not None:
            if narrow:
                checks.append(proposer)
            else:
                within, others = self._within(batch, variable, smallest, others)
                narrow.append(Ranges.constant(smallest, batch.size) if within is None else ranges_of(within))
                if within is not None and not within.is_inside:
                    checks.append(proposer)
        # Who looks for the prefix at the next level finds out there, at the same cost, whether it is there.
        if checks:
            checks = [part for part in checks if not part.narrows_next(variable)]
        if len(owners) > 1 and any(each.unwritten for each in narrow):
            spare = spared(narrow)
            checks += [owner for owner, unneeded in zip(owners, spare, strict=True) if unneeded]
            narrow = [each for each, unneeded in zip(narrow, spare, strict=True) if not unneeded]
        return narrow, [*checks, *others]

    @staticmethod
    def _within(
        batch: Batch, variable: str, column: Column | Unwritten, others: list[Extender]
    ) -> tuple[Within | None, list[Extender]]:
        """The part of a column that comparisons accept, if they can say, and the other extenders of the level."""
        within: Within | None = None
        left: list[Extender] = []
        for part in others:
            found = None
            if isinstance(part, Narrowing) and part.can_narrow:
                found = part.within(batch, variable, written(column))
            if found is None or (within is not None and within.codes is not found.codes):
                left.append(part)
            elif within is None:
                within = found
            else:
                first, end = np.maximum(within.first, found.first), np.minimum(within.end, found.end)
                within = replace(within, first=first, end=end)
        return within, left

    def rows(
        self, batch: Batch, variable: str
    ) -> tuple[list[tuple[Column | Unwritten, RangeExtender]], list[Extender]]:
        """The same for a batch of one prefix: the sorted rows to intersect, the shortest first, each with whose it
        is, and who only checks."""
        ranged, others = self.at(variable)
        if len(ranged) == 1:
            part = ranged[0]
            whole = part.whole(batch, variable)
            if whole is None:
                return [(part.row(batch, variable), part)], others
            row, checks = self._part_of(batch, variable, (whole, part), others)
            return [(row, part)], checks
        rows: list[tuple[Column | Unwritten, RangeExtender]] = []
        wide: list[tuple[Column | Unwritten, RangeExtender]] = []
        for part in ranged:
            whole = part.whole(batch, variable)
            if whole is None:
                rows.append((part.row(batch, variable), part))
            else:
                wide.append((whole, part))
        if not rows:
            wide.sort(key=_length)
            shortest = wide.pop(0)
            row, others = self._part_of(batch, variable, shortest, others)
            rows.append((row, shortest[1]))
        rows.sort(key=_length)
        return rows, [*(part for _, part in wide if not part.narrows_next(variable)), *others]

    def _part_of(
        self,
        batch: Batch,
        variable: str,
        whole: tuple[Column | Unwritten, RangeExtender],
        others: list[Extender],
    ) -> tuple[Column | Unwritten, list[Extender]]:
        """Of a column and whose it is what comparisons leave to a batch's only prefix, and who is left to ask."""
        column, part = whole
        within, left = self._within(batch, variable, column, others)
        if within is None:
            return column, left
        if not within.is_inside:
            left = [part, *left]
        row = within.codes[int(within.first[0]) : int(within.end[0])]
        return row if within.is_sorted else np.sort(row), left

    def offers(self, batch: Batch, variable: str) -> Offers:
        """What the parts could add to each prefix."""
        narrow, checks = self.narrowed(batch, variable)
        counts = [part.count(batch, variable) for part in self.at(variable)[1]]
        # Not the least of all parts' counts: those that only check do not propose, and may do so a level later.
        ranged = choose(narrow) if narrow else np.full(batch.size, UNBOUNDED, np.int64)
        return Offers(narrow, checks, [ranged, *counts])

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        return self.offers(batch, variable).least

    def propose(self, batch: Batch, variable: str) -> Batch:
        return self.proposed(batch, variable, self.offers(batch, variable))

    def proposed(self, batch: Batch, variable: str, offers: Offers) -> Batch:
        """`propose`, by what the parts of these prefixes were found to offer."""
        if not batch.size:
            return batch.having(variable, EMPTY.values)
        narrow, checks = offers.narrow, offers.checks
        _, others = self.at(variable)
        # Prefix by prefix: which of the parts proposes the least. 0 stands for the ranges.
        winner = offers.winner
        if isinstance(winner, int):
            if winner == 0:
                return self.accept(self._from_ranges(batch, variable, narrow), variable, checks)
            proposed = others[winner - 1].propose(batch, variable)
            left = (part for i, part in enumerate(others, 1) if i != winner)
            return self.accept(proposed, variable, (*self.at(variable)[0], *left))
        pieces: list[Batch] = []
        numbered = batch.having(self._row, np.arange(batch.size))
        for i in range(len(others) + 1):
            rows = np.flatnonzero(winner == i)
            if not len(rows):
                continue
            mine = numbered.take_all(rows)
            if i == 0:
                piece = self._from_ranges(mine, variable, [each.take(rows) for each in narrow])
                piece = self.accept(piece, variable, checks)
            else:
                piece = others[i - 1].propose(mine, variable)
                rest = [part for j, part in enumerate(others) if j != i - 1]
                piece = self.accept(piece, variable, (*self.at(variable)[0], *rest))
            pieces.append(piece)
        whole = concatenate(pieces)
        if len(pieces) > 1:
            whole = whole.take(np.argsort(whole.columns[self._row], kind="stable"))
        return whole.without(frozenset((self._row,)))

    def _from_ranges(self, batch: Batch, variable: str, narrow: list[Ranges]) -> Batch:
        if len(narrow) == 1:
            parent, value = expand(narrow[0])
        else:
            parent, value = intersect_ranges(narrow, choose(narrow))
        return batch.extend(parent, variable, value)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        ranged, others = self.at(variable)
        return self.accept(batch, variable, (*ranged, *others))

    @staticmethod
    def accept(batch: Batch, variable: str, parts: Sequence[Extender]) -> Batch:
        """What all the parts accept."""
        for part in parts:
            if batch.size:
                batch = part.intersect(batch, variable)
        return batch


def ranges_of(within: Within) -> Ranges:
    codes = within.codes

    def span() -> tuple[int, int]:
        return (int(codes.min()), int(codes.max())) if len(codes) else (0, 0)

    src, end = np.zeros(len(within.first), np.uint8), np.maximum(within.first, within.end)
    return Ranges(codes, EMPTY.values, src, within.first, end, span, is_sorted=within.is_sorted)


def _length(row: tuple[Column | Unwritten, RangeExtender]) -> int:
    return len(row[0])


class Nest:
    """An outermost `or` and all below it: hands out the bits of its state, one for each branch.

    The state is a set of live branches, in as few columns as hold it. Where the nest begins every branch is alive.
    A branch that is dead, or below a dead one, or of an `or` that has ended, has no bit: so a state is a function
    of the values that are bound, and the states that branches find for one row are united.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.used = 0

    def bit(self) -> int:
        """The number of a bit that nobody has yet."""
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
        found: dict[str, int] = {}
        for word in range(bits.start // _WORD, (bits.stop - 1) // _WORD + 1):
            low, high = max(bits.start - word * _WORD, 0), min(bits.stop - word * _WORD, _WORD)
            found[self.column(word)] = (1 << high) - (1 << low)
        return found


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of an `or`. `bits`: its own in the state of the nest, then those of the branches below it."""

    body: Conjunction
    bits: range


class OrExtender:
    """`or` / `or-join`: rows that satisfy at least one whole branch.

    The batch carries the state of the nest; the `or` looks at the bits of its branches, changes those and the ones
    below them, and leaves the rest. A variable local to one branch is a level like any other: the branches that do
    not know it carry their rows on with ABSENT. `rank` has the levels in their order. `check` is called for each
    branch that has rows, and may raise.
    """

    def __init__(
        self,
        nest: Nest,
        branches: Sequence[Branch],
        local: frozenset[str],
        rank: Mapping[str, int],
        check: Callable[[], None],
    ) -> None:
        self.nest = nest
        self.bodies = tuple(branch.body for branch in branches)
        self.local = local
        self._check = check
        self._row = _row_name()
        self._masks = [nest.masks(branch.bits) for branch in branches]
        firsts = [branch.bits.start for branch in branches]
        self._own = [(nest.column(first // _WORD), 1 << first % _WORD) for first in firsts]
        self._all = nest.masks(range(firsts[0], branches[-1].bits.stop))
        ahead = [START, *(name for name in rank if rank[name] >= 0)]
        self._taking = [frozenset(filter(body.participates, ahead)) for body in self.bodies]
        taken = local.union(*self._taking)
        self.levels = [name for name in ahead if name in taken]
        self.last = self.levels[-1]

    def participates(self, variable: str) -> bool:
        return variable in self.levels

    def _alive(self, batch: Batch, branch: int) -> NDArray[np.int64]:
        """Positions of the rows for which the branch is alive."""
        column, bit = self._own[branch]
        return np.flatnonzero(batch.columns[column] & bit)

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        total = np.zeros(batch.size, np.int64)
        for i, body in enumerate(self.bodies):
            rows = self._alive(batch, i)
            if not len(rows):
                continue
            self._check()
            if variable in self._taking[i]:
                total[rows] += body.count(batch.take_all(rows), variable)
            else:
                total[rows] += 1 if variable in self.local else UNBOUNDED
            # Saturate: the sum of two filters must not wrap around.
            np.minimum(total, UNBOUNDED, out=total)
        return total

    def propose(self, batch: Batch, variable: str) -> Batch:
        numbered = batch.having(self._row, np.arange(batch.size))
        pieces = []
        for i, body in enumerate(self.bodies):
            rows = self._alive(batch, i)
            if not len(rows):
                continue
            self._check()
            mine = numbered.take_all(rows)
            if variable in self._taking[i]:
                piece = body.propose(mine, variable)
            else:
                assert variable in self.local, "the planner lets an or propose only what all its branches know"
                piece = mine.having(variable, np.full(len(rows), ABSENT, np.int64))
            masks = {} if variable == self.last else self._masks[i]
            state = {name: piece.columns[name] & (masks.get(name, 0) | ~every) for name, every in self._all.items()}
            pieces.append(Batch(piece.size, {**piece.columns, **state}))
        if not pieces:
            return batch.take(np.empty(0, np.int64)).having(variable, np.empty(0, np.int64))
        united = pieces[0] if len(pieces) == 1 else self._united(concatenate(pieces), variable)
        return united.without(frozenset((self._row,)))

    def _united(self, batch: Batch, variable: str) -> Batch:
        """One row for each (prefix, value), with the bits of all branches that proposed it."""
        batch = batch.take(np.lexsort((batch.columns[variable], batch.columns[self._row])))
        row, value = batch.columns[self._row], batch.columns[variable]
        fresh = np.ones(batch.size, np.bool_)
        fresh[1:] = (row[1:] != row[:-1]) | (value[1:] != value[:-1])
        starts = np.flatnonzero(fresh)
        if len(starts) == batch.size:
            return batch
        state = {name: np.bitwise_or.reduceat(batch.columns[name], starts) for name in self._all}
        return Batch(len(starts), {**batch.take(starts).columns, **state})

    def intersect(self, batch: Batch, variable: str) -> Batch:
        found = {name: np.zeros(batch.size, np.int64) for name in self._all}
        numbered = batch.having(self._row, np.arange(batch.size))
        for i, body in enumerate(self.bodies):
            rows = self._alive(batch, i)
            if not len(rows):
                continue
            self._check()
            kept = numbered.take_all(rows)
            if variable in self._taking[i]:
                kept = body.intersect(kept, variable)
            at = kept.columns[self._row]
            for name, mask in self._masks[i].items():
                found[name][at] |= kept.columns[name] & mask
        alive = np.zeros(batch.size, np.bool_)
        state = {}
        for name, bits in found.items():
            alive |= bits != 0
            others = batch.columns[name] & ~self._all[name]
            state[name] = others if variable == self.last else others | bits
        return Batch(batch.size, {**batch.columns, **state}).keep(alive)


class NotExtender(Check):
    """`not` / `not-join`: strikes out the prefixes whose shared bindings the inner join extends to a match.

    It never proposes, and acts where the last of its shared variables is bound. `matches` runs the inner join from
    a batch of shared bindings and returns a mask of those that have a match. `distinct`: give it each binding once,
    which pays where the inner join has variables of its own, and costs more than it saves where it only looks up.
    """

    def __init__(
        self,
        shared: Sequence[str],
        matches: Callable[[Batch], NDArray[np.bool_]],
        rank: dict[str, int],
        check: Callable[[], None],
        *,
        distinct: bool,
    ) -> None:
        self.check = check
        self.distinct = distinct
        self.shared = tuple(shared)
        self.matches = matches
        last = max(shared, key=rank.__getitem__)
        self.level = START if rank[last] < 0 else last

    def participates(self, variable: str) -> bool:
        return variable == self.level

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        return np.full(batch.size, UNBOUNDED, np.int64)

    def propose(self, batch: Batch, variable: str) -> Batch:
        raise AssertionError("the planner never lets a not propose")

    def intersect(self, batch: Batch, variable: str) -> Batch:
        shared = batch.only(frozenset(self.shared))
        if not self.distinct:
            return batch.keep(~self.matches(shared))
        group, first = group_kernels.group_rows(stack(shared.columns.values()), self.check)
        return batch.keep(~self.matches(shared.take(first))[group])
