"""Prefix extenders: the one interface that every part of a query is evaluated through.

GenericJoin binds one variable at a time. For the variable at hand an extender says how many values it could add to
each prefix (`count`), adds them (`propose`), or strikes out the values that others proposed and it does not know
(`intersect`). Data patterns, relations, functions, `and`, `or` and `not` are all extenders, so they nest at will.

The interface is Ngo, Ré and Rudra's Generic Join (arXiv 1310.3314) in the form popularised by McSherry's
"dogsdogsdogs", over columns of prefixes in place of one prefix. What every extender must keep is written down, and
run over all kinds of them, in `tests/engine/test_extender_laws.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch, Column, Mask
from adalog.executor.kernels import range_kernels
from adalog.store.tries.signed import Signed
from adalog.store.tries.trie import EMPTY, Csr, Trie, distinct

UNBOUNDED = np.iinfo(np.int64).max // 4
"""The count of an extender that cannot propose: a filter."""

# Keys that are looked for in a level before it gets a filter, and a filter without effect.
_FEW_ASKED = 64
_ALL_PASS = np.full(1, np.iinfo(np.uint64).max)

START = ""
"""The level before the first variable: what an extender checks there has all its variables in the first batch."""


class Extender(Protocol):
    """One part of a query. `variable` is the level's variable; a batch's columns are the variables bound before."""

    def participates(self, variable: str) -> bool:
        """Whether it constrains this variable (at START: whether the first batch binds all that it needs)."""

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        """Per prefix an upper bound on its extensions; UNBOUNDED where it can only intersect."""

    def propose(self, batch: Batch, variable: str) -> Batch:
        """Every prefix with each of its extensions: sorted and distinct per prefix, in the prefixes' order."""

    def intersect(self, batch: Batch, variable: str) -> Batch:
        """The rows it accepts, of a batch in which `variable` is bound already; repeats stay."""


class Check:
    """An extender that never proposes, and only looks at the variables that are bound."""


@dataclass(frozen=True, slots=True)
class Within:
    """Per prefix a range `codes[first:end]` of codes, in an order in which those that are accepted lie together.

    `is_sorted`: each range is in the order of codes. `is_inside`: all of them are in the column that was given;
    else that is left to ask.
    """

    codes: Column
    is_sorted: bool
    first: Column
    end: Column
    is_inside: bool = True


class Narrowing(Check, ABC):
    """A check that can say which part of a column it accepts, without a look at each value."""

    can_narrow: bool

    @abstractmethod
    def within(self, batch: Batch, variable: str, column: Column) -> Within | None:
        """What it accepts of the sorted column of a variable's candidates; None where it had better check each."""


class Unwritten:
    """A sorted column that is written out when somebody reads it; its length is known before."""

    __slots__ = ("_column", "_make", "size")

    def __init__(self, size: int, make: Callable[[], Column]) -> None:
        self.size = size
        self._make = make
        self._column: Column | None = None

    def __len__(self) -> int:
        return self.size

    @property
    def is_written(self) -> bool:
        return self._column is not None

    def column(self) -> Column:
        """The column; the same one for whoever asks again."""
        column = self._column
        if column is None:
            # Two threads may both write it; either is right.
            column = self._column = self._make()
            assert len(column) == self.size, "a row is not as long as its count says"
        return column


class Ranges:
    """Per prefix a sorted range of candidate values: `over[lo:hi]` where src is 1, else `base[lo:hi]`.

    `over` holds what signed pairs changed and is written when it is read; lengths are known without it. `span`
    gives bounds of the values in `base`. `known`: the length of all ranges together, and whether each is one value
    of `base`, where whoever made them knows. Without `is_sorted` they are ranges of another order, to be read by
    `expand` alone.
    """

    __slots__ = ("_known", "_over", "base", "hi", "is_sorted", "lo", "span", "src")

    def __init__(
        self,
        base: Column,
        over: Column | Unwritten,
        src: NDArray[np.uint8],
        lo: Column,
        hi: Column,
        span: Callable[[], tuple[int, int]],
        known: tuple[int, bool] | None = None,
        *,
        is_sorted: bool = True,
    ) -> None:
        self._known = known
        self.is_sorted = is_sorted
        self.base = base
        self._over = over
        self.src = src
        self.lo = lo
        self.hi = hi
        self.span = span

    @staticmethod
    def constant(
        values: Column | Unwritten, size: int, span: Callable[[], tuple[int, int]] | None = None
    ) -> Ranges:
        """The same range for every prefix."""

        def own_span() -> tuple[int, int]:
            column = values.column() if isinstance(values, Unwritten) else values
            return (int(column[0]), int(column[-1])) if len(column) else (0, 0)

        unwritten = isinstance(values, Unwritten)
        return Ranges(
            EMPTY.values if isinstance(values, Unwritten) else values,
            values if unwritten else EMPTY.values,
            np.full(size, unwritten, np.uint8),
            np.zeros(size, np.int64),
            np.full(size, len(values), np.int64),
            span or own_span,
            (size * len(values), len(values) == 1 and not unwritten),
        )

    @property
    def over(self) -> Column:
        """The column of the ranges whose src is 1."""
        return self._over.column() if isinstance(self._over, Unwritten) else self._over

    @property
    def unwritten(self) -> int:
        """How many values have to be written out before the ranges can be read."""
        return len(self._over) if isinstance(self._over, Unwritten) and not self._over.is_written else 0

    @property
    def length(self) -> NDArray[np.int64]:
        return self.hi - self.lo

    @property
    def total(self) -> int:
        """The candidates of all prefixes together."""
        return int(self.length.sum()) if self._known is None else self._known[0]

    def singles(self) -> Column | None:
        """Each prefix's only candidate, if every prefix has just one: an attribute that all have one value of."""
        if self._known is None:
            self._known = self.total, not self.src.any() and bool((self.lo + 1 == self.hi).all())
        return self.base[self.lo] if self._known[1] else None

    def slice(self, start: int, stop: int) -> Ranges:
        src, lo, hi = self.src[start:stop], self.lo[start:stop], self.hi[start:stop]
        return Ranges(self.base, self._over, src, lo, hi, self.span, is_sorted=self.is_sorted)

    def take(self, rows: NDArray[np.int64]) -> Ranges:
        src, lo, hi = self.src[rows], self.lo[rows], self.hi[rows]
        return Ranges(self.base, self._over, src, lo, hi, self.span, is_sorted=self.is_sorted)


class RangeExtender(ABC):
    """An extender whose candidates lie in sorted ranges, so that the join can intersect several at once.

    A subclass says where the ranges are. `whole(variable)` is the sorted column of all candidates when nothing it
    shares with the prefix narrows them: such an extender proposes only as a last resort and else answers
    `holds`, which may be quicker than a search in that column.
    """

    variables: frozenset[str]
    rank: dict[str, int]

    def participates(self, variable: str) -> bool:
        if variable != START:
            return variable in self.variables
        return all(self.rank[name] < 0 for name in self.variables)

    @abstractmethod
    def whole(self, batch: Batch, variable: str) -> Column | Unwritten | None:
        """The sorted column of all candidates, where nothing in the prefix narrows them."""

    @abstractmethod
    def ranges(self, batch: Batch, variable: str) -> Ranges:
        """Per prefix its candidates."""

    def row(self, batch: Batch, variable: str) -> Column | Unwritten:
        """The candidates of a batch's only prefix."""
        ranges = self.ranges(batch, variable)
        return (ranges.over if ranges.src[0] else ranges.base)[int(ranges.lo[0]) : int(ranges.hi[0])]

    @abstractmethod
    def holds(self, batch: Batch, variable: str) -> Mask:
        """Mask of the rows, `variable` bound, that it accepts."""

    def narrows_next(self, variable: str) -> bool:
        """Whether the next level binds a variable of it."""
        rank, following = self.rank, self.rank[variable] + 1
        for name in self.variables:  # noqa: SIM110 - on the way of every small query
            if rank[name] == following:
                return True
        return False

    def newest(self, variable: str) -> int:
        """The rank of the latest bound variable that its ranges at `variable` depend on; -1 for none."""
        ranks, rank, newest = self.rank, self.rank[variable], -1
        for name in self.variables:
            if newest < ranks[name] < rank:
                newest = ranks[name]
        return newest

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
    parent, value = range_kernels.expand(ranges.base, ranges.over, ranges.src, ranges.lo, ranges.hi, ranges.total)
    if not ranges.is_sorted:
        value = value[np.lexsort((value, parent))]
    return parent, value


def trie_ranges(trie: Trie, keys: Column) -> Ranges:
    """Per key its run of values."""
    base = trie.base
    # Looked at once: another thread may make them meanwhile.
    has_over = trie.has_over
    over = trie.over if has_over else EMPTY
    src, lo, hi, total, single = range_kernels.lookup(
        base.keys, base.dense, base.offsets, over.keys, over.offsets, keys
    )
    if trie.levels and not has_over:
        touched = _touched(trie, keys)
        if len(touched):
            if trie.written > trie.over_cost:
                # So many touched rows were written one by one that it is time to write all of them.
                _ = trie.over
                return trie_ranges(trie, keys)
            return _with_touched(
                trie, keys, touched, Ranges(base.values, EMPTY.values, src, lo, hi, lambda: base.span)
            )
    return Ranges(base.values, over.values, src, lo, hi, lambda: base.span, (total, single))


def _row_of(trie: Trie, key: int) -> Column | Unwritten:
    """The values of one key, not written out yet where that costs."""
    touched = trie.touched_count(key)
    if touched is not None:
        return Unwritten(touched, lambda: trie.row(key))
    row = trie.base.row(key)
    return EMPTY.values if row is None else row


def _filter(level: Signed, asked: int) -> NDArray[np.uint64]:
    """The filter of a level; where too few keys are looked for to make it, one that lets all pass."""
    return level.filter if asked > _FEW_ASKED or level.has_filter else _ALL_PASS


def _touched(trie: Trie, keys: Column) -> NDArray[np.int64]:
    """The positions of keys that have signed pairs."""
    mask = np.zeros(len(keys), np.bool_)
    found = 0
    for level in trie.levels:
        found += range_kernels.mark_touched(level.keys, _filter(level, len(keys)), keys, mask)
    return np.flatnonzero(mask) if found else EMPTY.values


def _with_touched(trie: Trie, keys: Column, touched: NDArray[np.int64], ranges: Ranges) -> Ranges:
    """The ranges with the rows of touched keys, each once, which are written when they are read."""
    wanted = distinct(keys[touched])
    sizes = trie.counts(wanted)
    ends = np.cumsum(sizes)
    at = np.searchsorted(wanted, keys[touched])
    ranges.src[touched] = 1
    ranges.lo[touched] = (ends - sizes)[at]
    ranges.hi[touched] = ends[at]

    def write() -> Column:
        trie.written += int(ends[-1])
        return trie.rows_of(wanted)[1]

    over = Unwritten(int(ends[-1]), write)
    return Ranges(ranges.base, over, ranges.src, ranges.lo, ranges.hi, ranges.span)


def touched_rows(trie: Trie, keys: Column) -> Csr:
    """The rows of those of the keys, sorted and distinct, that have signed pairs; empty ones too."""
    wanted = keys[_touched(trie, keys)]
    sizes, values = trie.rows_of(wanted)
    return Csr(wanted, np.append(0, np.cumsum(sizes)), values)


def pairs_hold(trie: Trie, keys: Column, values: Column) -> Mask:
    """Mask of the pairs (keys[i], values[i]) that the trie has."""
    base = trie.base
    mask = range_kernels.holds_pairs(base.keys, base.dense, base.offsets, base.values, keys, values)
    for level in reversed(trie.levels):
        filter_ = _filter(level, len(keys))
        range_kernels.decide(level.keys, filter_, level.offsets, level.values, level.added, keys, values, mask)
    return mask


def keys_hold(trie: Trie, keys: Column) -> Mask:
    """Mask of the keys that have values."""
    base = trie.base
    mask = range_kernels.contains_key(base.keys, base.dense, keys)
    for level in reversed(trie.levels):
        range_kernels.decide_keys(level.keys, _filter(level, len(keys)), level.counts, keys, mask)
    return mask


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
        self._fixed: dict[str, Column | Unwritten] = {}

    def forget(self) -> None:
        """Lets go of rows that were found: the tries may be others by now."""
        if self._fixed:
            self._fixed = {}

    def _sides(self, variable: str) -> tuple[Callable[[], Trie], Callable[[], Trie], str | int | None]:
        """(trie keyed by `variable`, trie keyed by the other end, the other end)."""
        if variable == self.first:
            return self.forward, self.backward, self.second
        return self.backward, self.forward, self.first

    def _row(self, variable: str) -> Column | Unwritten | None:
        """The candidates where they are the same for every prefix: the other end is a constant or the same."""
        fixed = self._fixed.get(variable)
        if fixed is None:
            _, reverse, other = self._sides(variable)
            if isinstance(other, int):
                fixed = _row_of(reverse(), other)
            elif other == variable:
                fixed = self.forward().diagonal
            else:
                return None
            self._fixed[variable] = fixed
        return fixed

    def whole(self, batch: Batch, variable: str) -> Column | Unwritten | None:
        own, _, other = self._sides(variable)
        if other is None or (isinstance(other, str) and other != variable and other not in batch.columns):
            trie = own()
            return Unwritten(trie.rows, lambda: trie.keys) if trie.levels else trie.keys
        return None

    def row(self, batch: Batch, variable: str) -> Column | Unwritten:
        row = self._row(variable)
        if row is not None:
            return row
        _, reverse, other = self._sides(variable)
        assert isinstance(other, str)
        return _row_of(reverse(), int(batch.columns[other][0]))

    def ranges(self, batch: Batch, variable: str) -> Ranges:
        if batch.size == 1:
            return Ranges.constant(self.row(batch, variable), 1)
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
        own, reverse, other = self._sides(variable)
        if other is None or (isinstance(other, str) and other not in batch.columns):
            return keys_hold(own(), column)
        row = self._row(variable)
        if row is None:
            assert isinstance(other, str)
            return pairs_hold(reverse(), batch.columns[other], column)
        if isinstance(row, Unwritten) and not row.is_written:
            assert isinstance(other, int)
            return pairs_hold(reverse(), np.full(batch.size, other, np.int64), column)
        ranges = Ranges.constant(row, batch.size)
        return range_kernels.contains(ranges.base, ranges.over, ranges.src, ranges.lo, ranges.hi, column)
