"""The facts of a linear closure, kept from moment to moment by compiled loops.

A fact (fixed, node) holds where a rule that reads nothing of its own stratum derives it (its exit), or where it
follows along an edge of the graph from a fact that holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.facts.facts import RowTable, Take, resized
from adalog.executor.facts.maintained import DerivationClock, MaintainedFacts, Marks
from adalog.executor.join.batch import Column
from adalog.executor.kernels import walk_kernels
from adalog.executor.kernels.range_kernels import Ints
from adalog.executor.kernels.seed import SEED
from adalog.store.tries.trie import EMPTY, Trie, distinct

EXIT: Final = 8
"""The mark of a row that a rule derives which reads nothing of its own stratum."""

# Steps between two looks at the deadline, and a number of pairs that is worth a new base in any case.
_STEPS: Final = 1 << 22
_PAIRS: Final = 4096
# For facts that others lead to, at first.
_ROOM: Final = 64

Pairs = tuple[Column, Column]
"""Starts and ends of edges."""


class Edges(RowTable):
    """A graph that changes: the tries of one moment, from starts to ends and back, and the pairs that differ."""

    def __init__(self, ahead: Trie, back: Trie) -> None:
        self._tries = ahead, back
        self.ahead, self.back = ahead.base.arrays, back.base.arrays
        super().__init__(2, 2, lambda _: None)
        self._holds: Marks = np.zeros(self.rows.shape[1], np.uint8)
        self._chains: Ints = np.empty(self.rows.shape, np.int64)
        self._heads: Ints = np.zeros((2, len(self.table)), np.int64)
        for level in reversed(ahead.levels):
            starts = np.repeat(level.keys, np.diff(level.offsets))
            self.put(starts[level.added], level.values[level.added], 1)
            self.put(starts[~level.added], level.values[~level.added], 0)

    @property
    def overlay(self) -> tuple[Ints, Marks, Ints, Ints, Ints, int]:
        """What differs, as the kernels take it."""
        return self.rows, self._holds, self.table, self._heads, self._chains, self.count

    @property
    def is_stale(self) -> bool:
        """Whether so much differs that the tries of now are a better base."""
        return self.count > max(_PAIRS, len(self._tries[0].base.values) // 4)

    def nbytes(self) -> int:
        """Bytes of what differs; the tries are the database's."""
        return sum(each.nbytes for each in (self.rows, self._holds, self._chains, self.table, self._heads))

    def put(self, starts: Column, ends: Column, holds: int) -> None:
        """Says of pairs whether they hold from now on."""
        if len(starts):
            self.reserve(len(starts))
            self.count = walk_kernels.put(*self.overlay, starts, ends, holds, SEED)

    def resize(self, capacity: int) -> None:
        super().resize(capacity)
        self._holds = resized(self._holds, self.count, capacity)
        self._chains = resized(self._chains, self.count, capacity)

    def index(self, more: int) -> None:
        super().index(more)
        self._heads = np.zeros((2, len(self.table)), np.int64)
        for heads, nodes, chain in zip(self._heads, self.rows, self._chains, strict=True):
            walk_kernels.link(heads, nodes, chain, 0, self.count, SEED)


class ClosureFacts(MaintainedFacts):
    """Facts of two columns, of which `fixed` is the one that stays the same along an edge."""

    def __init__(self, fixed: int, clock: DerivationClock | None = None, take: Take = lambda _: None) -> None:
        super().__init__(2, clock, take)
        self._fixed = fixed
        self._chain: Ints = np.empty(self.rows.shape[1], np.int64)
        self._heads: Ints = np.zeros(len(self.table), np.int64)
        self._linked = 0

    def nbytes(self) -> int:
        return super().nbytes() + self._chain.nbytes + self._heads.nbytes

    # Those that a rule without recursion derives

    def leave_by(self, columns: Sequence[Column]) -> Column:
        """The numbers of those rows among some that have an exit."""
        if not len(columns[0]):
            return EMPTY.values
        rows = self.find(columns)
        return distinct(rows[(rows >= 0) & self._marked(rows, EXIT)])

    def exits(self, columns: Sequence[Column]) -> None:
        """Gives rows an exit, and has them hold."""
        if len(columns[0]):
            rows = distinct(self.enter(columns))
            self._marks[rows] |= EXIT
            self.hold(self.missing(rows))

    def close(self, rows: Column) -> None:
        """Takes the exits of rows away."""
        self._marks[rows] &= ~np.uint8(EXIT)

    def clear(self) -> None:
        super().clear()
        self._marks[: self.count] &= ~np.uint8(EXIT)

    # Along the edges

    def met(self, starts: Column, ends: Column) -> list[Column]:
        """The columns of the facts that follow along some edges from facts that hold, and do not hold yet."""
        self._link()
        facts = self.rows, self._marks, self.table, self._fixed
        return list(walk_kernels.met(*facts, self._heads, self._chain, starts, ends, False, SEED))

    def change(self, edges: Edges, went: Pairs, came: Pairs, closed: Column, most: int) -> bool:
        """Puts edges into the graph and out of it, and takes away what edges that went and facts without an exit
        derived: all that follows from nothing earlier, and in turn what followed from that. What of it follows from
        facts of any time holds again. False where more than so many facts would go: then they are to be derived
        afresh."""
        self._link()
        edges.reserve(len(went[0]) + len(came[0]))
        gone, again, edges.count, too_many = walk_kernels.change(
            self._facts,
            self._heads,
            self._chain,
            edges.ahead,
            edges.back,
            edges.overlay,
            went,
            came,
            closed,
            most,
            SEED,
        )
        if len(gone):
            self.size -= len(gone)
            self._touch(gone)
            self.hold(again)
        return not too_many

    def gain(self, edges: Edges, cancel: Cancel) -> None:
        """Follows the recent rows along the edges, and what they lead to."""
        rows = self.recent
        done, tail = 0, len(rows)
        queue: Ints = rows
        overlay = edges.overlay
        more = _ROOM
        if tail <= _ROOM:
            # Most changes lead to few facts: with room for them, the kernel is called once.
            self.reserve(more)
            queue = np.concatenate((queue, np.empty(more, np.int64)))
        while done < tail:
            cancel.check()
            self._link()
            at = done
            reached = queue, done, tail, self.count, self.clock.time
            done, tail, self.count, self.clock.time = walk_kernels.gain(
                self._facts, self._heads, self._chain, edges.ahead, overlay, *reached, _STEPS, SEED
            )
            self._linked = self.count
            if done == at:
                # The next fact leads to more than there was room for.
                more = max(2 * more, self.count)
                self.reserve(more)
                queue = np.concatenate((queue[:tail], np.empty(more, np.int64)))
        self.size += tail - len(rows)
        if tail > len(rows):
            self._touch(queue[len(rows) : tail])

    @property
    def _facts(self) -> tuple[Ints, Ints, Marks, Ints, int]:
        return self.rows, self._times, self._marks, self.table, self._fixed

    def _link(self) -> None:
        """Puts new rows into the chains of their nodes."""
        if len(self._heads) != len(self.table):
            self._heads = np.zeros(len(self.table), np.int64)
            self._linked = 0
        if len(self._chain) < self.rows.shape[1]:
            self._chain = resized(self._chain, self._linked, self.rows.shape[1])
        if self._linked < self.count:
            nodes = self.rows[1 - self._fixed]
            walk_kernels.link(self._heads, nodes, self._chain, self._linked, self.count, SEED)
            self._linked = self.count

    def _renumber(self) -> None:
        super()._renumber()
        self._heads = np.zeros(len(self.table), np.int64)
        self._linked = 0
