"""Prefix extenders: the one interface that every part of a query is evaluated through.

GenericJoin binds one variable at a time. For the variable at hand an extender says how many values it could add to
each prefix (`count`), adds them (`propose`), or strikes out the values that others proposed and it does not know
(`intersect`). Data patterns, relations, functions, `and`, `or` and `not` are all extenders, so they nest at will.

The interface is Ngo, Ré and Rudra's Generic Join (arXiv 1310.3314) in the form popularised by McSherry's
"dogsdogsdogs", over columns of prefixes in place of one prefix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from executor import kernels
from executor.batch import Batch, Column, Mask
from store.trie import EMPTY, Csr, Trie

UNBOUNDED = np.iinfo(np.int64).max // 4
"""The count of an extender that cannot propose: a filter."""

START = ""
"""The level before the first variable: what an extender checks there has all its variables in the first batch."""


class Extender(Protocol):
    """One part of a query. `variable` is the level's variable; a batch's columns are the variables bound before."""

    def participates(self, variable: str) -> bool:
        """Whether it constrains this variable (at START: whether the first batch binds all that it needs)."""

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        """Per prefix an upper bound on its extensions; UNBOUNDED where it can only intersect."""

    def propose(self, batch: Batch, variable: str) -> Batch:
        """Every prefix with each of its extensions: distinct per prefix, in the prefixes' order."""

    def intersect(self, batch: Batch, variable: str) -> Batch:
        """The rows it accepts, of a batch in which `variable` is bound already; repeats stay."""


@dataclass(slots=True)
class Ranges:
    """Per prefix a sorted range of candidate values: `over[lo:hi]` where src is 1, else `base[lo:hi]`."""

    base: Column
    over: Column
    src: NDArray[np.uint8]
    lo: Column
    hi: Column
    span: Callable[[], tuple[int, int]]

    @staticmethod
    def constant(values: Column, size: int, span: Callable[[], tuple[int, int]] | None = None) -> Ranges:
        """The same range for every prefix."""

        def own_span() -> tuple[int, int]:
            return (int(values[0]), int(values[-1])) if len(values) else (0, 0)

        return Ranges(
            values,
            EMPTY.values,
            np.zeros(size, np.uint8),
            np.zeros(size, np.int64),
            np.full(size, len(values), np.int64),
            span or own_span,
        )

    @property
    def length(self) -> NDArray[np.int64]:
        return self.hi - self.lo

    def singles(self) -> Column | None:
        """Each prefix's only candidate, if every prefix has just one: an attribute that all have one value of."""
        if self.src.any() or not (self.lo + 1 == self.hi).all():
            return None
        return self.base[self.lo]

    def slice(self, start: int, stop: int) -> Ranges:
        return Ranges(
            self.base, self.over, self.src[start:stop], self.lo[start:stop], self.hi[start:stop], self.span
        )

    def take(self, rows: NDArray[np.int64]) -> Ranges:
        return Ranges(self.base, self.over, self.src[rows], self.lo[rows], self.hi[rows], self.span)


class RangeExtender(ABC):
    """An extender whose candidates lie in sorted ranges, so that the join can intersect several at once.

    A subclass says where the ranges are. `whole(variable)` is the sorted column of all candidates when nothing it
    shares with the prefix narrows them: such an extender proposes only as a last resort and else answers
    `holds`, which may be quicker than a search in that column.
    """

    variables: frozenset[str]
    rank: dict[str, int]

    def participates(self, variable: str) -> bool:
        if variable == START:
            return all(self.rank[name] < 0 for name in self.variables)
        return variable in self.variables

    @abstractmethod
    def whole(self, batch: Batch, variable: str) -> Column | None:
        """The sorted column of all candidates, where nothing in the prefix narrows them."""

    @abstractmethod
    def ranges(self, batch: Batch, variable: str) -> Ranges:
        """Per prefix its candidates."""

    @abstractmethod
    def holds(self, batch: Batch, variable: str) -> Mask:
        """Mask of the rows, `variable` bound, that it accepts."""

    def narrows_next(self, variable: str) -> bool:
        """Whether the next level binds a variable of it."""
        following = self.rank[variable] + 1
        return any(self.rank[name] == following for name in self.variables)

    def newest(self, variable: str) -> int:
        """The rank of the latest bound variable that its ranges at `variable` depend on; -1 for none."""
        rank = self.rank[variable]
        return max((self.rank[name] for name in self.variables if self.rank[name] < rank), default=-1)

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        whole = self.whole(batch, variable)
        if whole is not None:
            return np.full(batch.size, len(whole), np.int64)
        return self.ranges(batch, variable).length

    def extensions(self, batch: Batch, variable: str) -> tuple[NDArray[np.int64], Column]:
        """(parent, value) of every candidate of every prefix."""
        whole = self.whole(batch, variable)
        return expand(self.ranges(batch, variable) if whole is None else Ranges.constant(whole, batch.size))

    def propose(self, batch: Batch, variable: str) -> Batch:
        parent, value = self.extensions(batch, variable)
        return batch.extend(parent, variable, value)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        return batch.keep(self.holds(batch, variable))


def expand(ranges: Ranges) -> tuple[NDArray[np.int64], Column]:
    """(parent, value) of every value in the ranges."""
    return kernels.expand(ranges.base, ranges.over, ranges.src, ranges.lo, ranges.hi, int(ranges.length.sum()))


def csr_span(csr: Csr) -> tuple[int, int]:
    """The least and the greatest value of a trie level; O(n) the first time, then kept."""
    cached = csr.__dict__.get("_span")
    if cached is None:
        cached = (int(csr.values.min()), int(csr.values.max())) if len(csr.values) else (0, 0)
        csr.__dict__["_span"] = cached
    return cached


def trie_ranges(trie: Trie, keys: Column) -> Ranges:
    """Per key its run of values."""
    base, over = trie.base, trie.over
    src, lo, hi = kernels.lookup(base.keys, base.dense, base.offsets, over.keys, over.offsets, keys)
    return Ranges(base.values, over.values, src, lo, hi, lambda: csr_span(base))


class PairExtender(RangeExtender):
    """`[?e :attribute ?v]`: a binary relation read through its two tries.

    Either end is a variable's name, a constant's code, or None for a blank. `forward` gives the trie from first to
    second, `backward` the other; both are asked for only when needed, since a snapshot builds them lazily.
    """

    def __init__(
        self,
        first: str | int | None,
        second: str | int | None,
        forward: Callable[[], Trie],
        backward: Callable[[], Trie],
        rank: dict[str, int],
    ) -> None:
        self.first = first
        self.second = second
        self.forward = forward
        self.backward = backward
        self.rank = rank
        self.variables = frozenset(end for end in (first, second) if isinstance(end, str))
        self._fixed: dict[str, Column] = {}

    def _sides(self, variable: str) -> tuple[Callable[[], Trie], Callable[[], Trie], str | int | None]:
        """(trie keyed by `variable`, trie keyed by the other end, the other end)."""
        if variable == self.first:
            return self.forward, self.backward, self.second
        return self.backward, self.forward, self.first

    def _row(self, variable: str) -> Column | None:
        """The candidates where they are the same for every prefix: the other end is a constant or the same."""
        fixed = self._fixed.get(variable)
        if fixed is None:
            _, reverse, other = self._sides(variable)
            if isinstance(other, int):
                fixed = reverse().row(other)
            elif other == variable:
                keys, values = self.forward().merged.pairs()
                fixed = np.ascontiguousarray(keys[keys == values])
            else:
                return None
            self._fixed[variable] = fixed
        return fixed

    def whole(self, batch: Batch, variable: str) -> Column | None:
        own, _, other = self._sides(variable)
        if other is None or (isinstance(other, str) and other != variable and other not in batch.columns):
            return own().keys
        return None

    def ranges(self, batch: Batch, variable: str) -> Ranges:
        row = self._row(variable)
        if row is not None:
            return Ranges.constant(row, batch.size)
        _, reverse, other = self._sides(variable)
        assert isinstance(other, str)
        return trie_ranges(reverse(), batch.columns[other])

    def holds(self, batch: Batch, variable: str) -> Mask:
        if variable == START:
            variable = max(self.variables, key=self.rank.__getitem__)
        column = batch.columns[variable]
        own, _, other = self._sides(variable)
        if other is None or (isinstance(other, str) and other not in batch.columns):
            trie = own()
            base, over = trie.base, trie.over
            return kernels.contains_key(base.keys, base.dense, over.keys, over.offsets, column)
        ranges = self.ranges(batch, variable)
        return kernels.contains(ranges.base, ranges.over, ranges.src, ranges.lo, ranges.hi, column)
