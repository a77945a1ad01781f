"""A column of codes in the order of their values, so that what a comparison accepts is a range of it.

Codes are in the order of values among longs and among instants only; a column of anything else is sorted once by
what its codes stand for. Numbers are compared by value, exactly, whatever their types: a double beside longs is
never rounded to one, nor a long to a double.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import floor
from operator import itemgetter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adalog.datalog.values import NUMBER, order_key
from adalog.executor.bounds.run import QueryRun
from adalog.executor.join.batch import Column
from adalog.store.values import layout
from adalog.store.values.codes import Scratch

_ORDER, _NUMBERS = "order", "order of numbers"

# Values that are decoded at once, and the most that are sorted as Python's objects.
AT_ONCE: Final = 1 << 14
MOST_OBJECTS: Final = 1 << 19
# Bytes of a double's place in an order, and of an object's.
_DOUBLE_BYTES: Final = 24
_OBJECT_BYTES: Final = 200
# Prefixes for which it is worth sorting objects.
_WORTH: Final = 4
NUMBERS: Final = (0, layout.TAG_DOUBLE, layout.TAG_FLOAT, layout.TAG_LONG, layout.TAG_BIGINT, layout.TAG_BIGDEC)


@dataclass(frozen=True, slots=True)
class Places:
    """Where values stand among those of a column that they have an order with, which are `start` to `end`:
    `below` is where those begin that are not less, `above` those that are greater. All int64[n]; a value that has
    no order with any has all four equal."""

    start: Column
    below: Column
    above: Column
    end: Column

    @staticmethod
    def nowhere(n: int) -> Places:
        """Those of values that have no order with any of the column."""
        return Places(*(np.zeros(n, np.int64) for _ in range(4)))

    def put(self, rows: NDArray[np.int64], start: Any, below: Any, above: Any, end: Any) -> None:
        self.start[rows], self.below[rows], self.above[rows], self.end[rows] = start, below, above, end


class ValueOrder(ABC):
    """`codes`: the column in the order of values. `is_sorted`: whether that is the order of codes, too."""

    codes: Column
    is_sorted: bool

    @abstractmethod
    def places(self, probes: Column, values: Scratch) -> Places:
        """Where the values of some codes stand."""


@dataclass
class _Longs(ValueOrder):
    """Longs that are their own codes."""

    codes: Column
    is_sorted = True

    def places(self, probes: Column, values: Scratch) -> Places:
        found = Places.nowhere(len(probes))
        tags = layout.tags_of(probes)
        end = len(self.codes)
        for tag in present(tags):
            rows = np.flatnonzero(tags == tag)
            if tag == 0:
                below = self.codes.searchsorted(probes[rows])
                found.put(rows, 0, below, self.codes.searchsorted(probes[rows], side="right"), end)
            elif tag == layout.TAG_DOUBLE:
                numbers = values.doubles(probes[rows])
                rows, numbers = rows[~np.isnan(numbers)], numbers[~np.isnan(numbers)]
                # Nothing of a column of these is as large as what is left of it by the bounds.
                whole = np.floor(np.clip(numbers, 2.0 * layout.LONG_MIN, 2.0 * layout.LONG_MAX))
                below, above = self._around(whole.astype(np.int64), whole == numbers)
                found.put(rows, 0, below, above, end)
            elif tag in NUMBERS:
                decoded = values.decode_many(probes[rows])
                left = [(row, v) for row, v in zip(rows.tolist(), decoded, strict=True) if v == v]
                limited = [_floor(v) for _, v in left]
                whole = np.array([each for each, _ in limited], np.int64)
                below, above = self._around(whole, np.array([exact for _, exact in limited], np.bool_))
                found.put(np.array([row for row, _ in left], np.int64), 0, below, above, end)
        return found

    def _around(self, whole: Column, exact: NDArray[np.bool_]) -> tuple[Column, Column]:
        """(below, above) of numbers of which the integer below is known, and whether they are that integer."""
        above = self.codes.searchsorted(whole, side="right")
        return np.where(exact, self.codes.searchsorted(whole), above), above


def _floor(value: Any) -> tuple[int, bool]:
    """(the integer at or below a number, within twice the range of longs; whether it is the number)."""
    if value > layout.LONG_MAX:
        return 2 * layout.LONG_MAX, False
    if value < layout.LONG_MIN:
        return 2 * layout.LONG_MIN, False
    whole = floor(value)
    return whole, whole == value


@dataclass
class _Instants(ValueOrder):
    """Instants, whose codes hold the milliseconds."""

    codes: Column
    is_sorted = True

    def places(self, probes: Column, values: Scratch) -> Places:
        found = Places.nowhere(len(probes))
        rows = np.flatnonzero(layout.tags_of(probes) == layout.TAG_INSTANT)
        first = self.codes.searchsorted(probes[rows])
        found.put(rows, 0, first, self.codes.searchsorted(probes[rows], side="right"), len(self.codes))
        return found


class _Doubles(ValueOrder):
    """Doubles, NaN last."""

    is_sorted = False

    def __init__(self, column: Column, numbers: NDArray[np.float64]) -> None:
        order = np.argsort(numbers)
        self.codes = column[order]
        self._end = len(numbers) - int(np.isnan(numbers).sum())
        self._numbers = numbers[order[: self._end]]
        self._listed: list[float] | None = None

    def places(self, probes: Column, values: Scratch) -> Places:
        found = Places.nowhere(len(probes))
        tags = layout.tags_of(probes)
        for tag in present(tags):
            rows = np.flatnonzero(tags == tag)
            if tag == layout.TAG_DOUBLE:
                numbers = values.doubles(probes[rows])
                rows, numbers = rows[~np.isnan(numbers)], numbers[~np.isnan(numbers)]
                below = self._numbers.searchsorted(numbers)
                found.put(rows, 0, below, self._numbers.searchsorted(numbers, side="right"), self._end)
            elif tag == 0:
                # A long that no double is stands beside the nearest one: nothing lies between the two.
                nearest = probes[rows].astype(np.float64)
                back = nearest.astype(np.int64)
                below = self._numbers.searchsorted(nearest)
                above = self._numbers.searchsorted(nearest, side="right")
                less, more = back < probes[rows], back > probes[rows]
                found.put(rows, 0, np.where(less, above, below), np.where(more, below, above), self._end)
            elif tag in NUMBERS:
                if self._listed is None:
                    self._listed = self._numbers.tolist()
                _bisected(found, rows, values.decode_many(probes[rows]), self._listed, 0)
        return found


def _bisected(
    found: Places, rows: NDArray[np.int64], values: Sequence[Any], among: Sequence[Any], start: int
) -> None:
    """Puts values, NaN excepted, where they stand among others in their order."""
    for row, value in zip(rows.tolist(), values, strict=True):
        if value == value:
            below, above = bisect_left(among, value), bisect_right(among, value)
            found.put(row, start, start + below, start + above, start + len(among))


class _Objects(ValueOrder):
    """Values of any types, in groups that have an order; what has none comes last."""

    is_sorted = False

    def __init__(self, column: Column, groups: dict[str, list[tuple[Any, int]]], loose: Sequence[int]) -> None:
        self._groups: dict[str, tuple[int, list[Any]]] = {}
        order: list[int] = []
        for name, members in groups.items():
            members.sort(key=itemgetter(0))
            self._groups[name] = (len(order), [key for key, _ in members])
            order.extend(at for _, at in members)
        order.extend(loose)
        self.codes = column[order]

    def places(self, probes: Column, values: Scratch) -> Places:
        found = Places.nowhere(len(probes))
        distinct, where = np.unique(probes, return_inverse=True)
        few = Places.nowhere(len(distinct))
        for at in range(0, len(distinct), AT_ONCE):
            for row, value in enumerate(values.decode_many(distinct[at : at + AT_ONCE]), at):
                ordered = order_key(value)
                if ordered is not None and ordered[0] in self._groups:
                    start, keys = self._groups[ordered[0]]
                    _bisected(few, np.array([row]), [ordered[1]], keys, start)
        found.put(np.arange(len(probes)), few.start[where], few.below[where], few.above[where], few.end[where])
        return found


def present(tags: NDArray[np.int8]) -> list[int]:
    found: list[int] = np.flatnonzero(np.bincount(tags, minlength=16)).tolist()
    return found


def order_of(column: Column, run: QueryRun, prefixes: int, *, numbers_alone: bool = False) -> ValueOrder | None:
    """The order of a sorted column; None where finding it costs more than it saves so many prefixes, or where some
    values are compared item by item. `numbers_alone`: nothing else will be looked for."""
    known = run.made.get((id(column), _ORDER)) or (run.made.get((id(column), _NUMBERS)) if numbers_alone else None)
    if known is not None:
        found: ValueOrder = known[1]
        return found
    made = _order_of(column, run, prefixes, numbers_alone=numbers_alone)
    if made is not None:
        kind = _NUMBERS if numbers_alone and isinstance(made, _Objects) else _ORDER
        # The column is kept with it, so that no other has its identity.
        run.made[id(column), kind] = column, made
    return made


def _order_of(column: Column, run: QueryRun, prefixes: int, *, numbers_alone: bool) -> ValueOrder | None:
    values, take = run.values, run.cancel.budget.take
    if are_longs(column):
        return _Longs(column)
    kinds = present(layout.tags_of(column))
    if kinds == [layout.TAG_INSTANT]:
        return _Instants(column)
    if kinds == [layout.TAG_DOUBLE]:
        take(_DOUBLE_BYTES * len(column))
        return _Doubles(column, values.doubles(column))
    if len(column) > MOST_OBJECTS or prefixes < _WORTH:
        return None
    take(_OBJECT_BYTES * len(column))
    return _objects(column, values, run.cancel.check, numbers_alone=numbers_alone)


def are_longs(column: Column) -> bool:
    """Whether a sorted column has nothing but longs that are their own codes."""
    return not len(column) or bool(column[0] >= layout.LONG_MIN and column[-1] <= layout.LONG_MAX)


def _objects(column: Column, values: Scratch, check: Callable[[], None], *, numbers_alone: bool) -> _Objects | None:
    groups: dict[str, list[tuple[Any, int]]] = {}
    loose: list[int] = []
    for start in range(0, len(column), AT_ONCE):
        check()
        for at, value in enumerate(values.decode_many(column[start : start + AT_ONCE]), start):
            if isinstance(value, tuple) and not numbers_alone:
                return None
            ordered = order_key(value)
            if ordered is None or (numbers_alone and ordered[0] != NUMBER):
                loose.append(at)
            else:
                groups.setdefault(ordered[0], []).append((ordered[1], at))
    return _Objects(column, groups, loose)
