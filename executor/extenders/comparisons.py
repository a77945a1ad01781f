"""Comparisons as extenders: an equality gives a variable the value of another, an order a range of a column.

Where nothing else narrows the values that a clause proposes, those that a comparison accepts are found in the order
of values, and not tried one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from adalog.executor.expressions.calls import Call
from adalog.executor.extenders.functions import FilterExtender
from adalog.executor.extenders.indexed_values import SliceCheck
from adalog.executor.extenders.same_numbers import same_in
from adalog.executor.extenders.value_order import Places, ValueOrder, order_of
from adalog.executor.join.batch import Batch, Column, Mask
from adalog.executor.join.protocol import AtLevel, level_of
from adalog.executor.join.ranges import RangeExtender, Ranges
from adalog.executor.join.shortcuts.narrowing import Narrowing, Within
from adalog.executor.join.small.parts import Encoded, Part, Slots
from adalog.store.tries.value_index import IndexedValues
from adalog.store.values.codes import Scratch
from adalog.store.values.layout import NIL, TAG_BOOLEAN, code_of

# No value has it.
_NO_CODE: Final = code_of(TAG_BOOLEAN, 3)
_TURNED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "=="}


class EqualityExtender(AtLevel, RangeExtender, Encoded):
    """`[(= ?a ?b)]`, `[(= ?a 1)]`, `[(identity ?a) ?b]`: the variable that is bound last has the other's value.
    `nil_fits`: whether nil equals nil; what a function gives is never nil."""

    def __init__(self, left: str, right: str | int, rank: dict[str, int], *, nil_fits: bool) -> None:
        self.terms: Sequence[str | int] = (left, right)
        self.rank = rank
        self.nil_fits = nil_fits
        self.variables = frozenset(term for term in self.terms if isinstance(term, str))
        self.level = level_of(self.variables, rank)
        fixed = [] if right == NIL and not nil_fits else [right]
        self._fixed = None if isinstance(right, str) else np.array(fixed, np.int64)

    def _other(self, variable: str) -> str:
        left, right = self.terms
        other = right if left == variable else left
        assert isinstance(other, str), "a constant is the same for all"
        return other

    def whole(self, batch: Batch, variable: str) -> Column | None:
        return self._fixed

    def ranges(self, batch: Batch, variable: str) -> Ranges:
        column = batch.columns[self._other(variable)]
        at = np.arange(batch.size)
        fits = True if self.nil_fits else column != NIL
        return Ranges.within(column, at, at + fits)

    def part(self, variable: str, slots: Slots) -> Part | None:
        left, right = self.terms
        if left == right:
            return None
        assert isinstance(left, str)
        never = _NO_CODE if self.nil_fits else NIL
        if isinstance(right, int):
            return Part.equal(slots[left], right, constant=True, never=never)
        own, other = (right, left) if right == variable else (left, right)
        return Part.equal(slots[own], slots[other], constant=False, never=never)

    def holds(self, batch: Batch, variable: str) -> Mask:
        left, right = (batch.columns[term] if isinstance(term, str) else term for term in self.terms)
        same: Mask = np.equal(left, right)
        return same if self.nil_fits else same & (left != NIL)


class ComparisonExtender(FilterExtender, SliceCheck, Narrowing):
    """`[(< ?a ?b)]` and its like, `[(== ?a ?b)]`: of a column of candidates a range in the order of values."""

    def __init__(self, call: Call, rank: dict[str, int]) -> None:
        super().__init__(call, rank)
        self._running = call.running
        left, right = call.arguments
        assert isinstance(left, str | int)
        assert isinstance(right, str | int)
        self._turned = right == self.level
        self._other = left if self._turned else right
        self._name = _TURNED[call.name] if self._turned else call.name
        self.can_narrow = left != right and self.level in (left, right)

    @property
    def values(self) -> Scratch:  # type: ignore[override]
        return self._running.run.values

    def is_one(self, batch: Batch, variable: str) -> bool:
        other = self._other
        if not self.can_narrow or self._name == "==":
            return False
        return isinstance(other, int) or (batch.size == 1 and other in batch.columns)

    def slice_of(self, batch: Batch, indexed: IndexedValues) -> tuple[int, int]:
        other = self._other
        code = other if isinstance(other, int) else int(batch.columns[other][0])
        return indexed.compared(self._name, self.values.decode(code))

    def within(self, batch: Batch, variable: str, column: Column) -> Within | None:
        run, other = self._running.run, self._other
        probes = batch.columns[other] if isinstance(other, str) else np.array([other])
        if self._name == "==":
            found = same_in(column, probes, run)
        else:
            order = order_of(column, run, batch.size)
            found = None if order is None else _accepted(self._name, order, order.places(probes, run.values))
        if found is None or isinstance(other, str):
            return found
        n = batch.size
        return replace(found, first=np.full(n, found.first[0]), end=np.full(n, found.end[0]))


def _accepted(name: str, order: ValueOrder, places: Places) -> Within:
    """What of a column stands so to each of some values: `<` is less than it."""
    first, end = {
        "<": (places.start, places.below),
        "<=": (places.start, places.above),
        ">": (places.above, places.end),
        ">=": (places.below, places.end),
    }[name]
    return Within(order.codes, order.is_sorted, first, end)
