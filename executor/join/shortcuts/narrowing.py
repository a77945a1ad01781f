"""Taken where nothing in the prefix narrows a level's candidates, and a comparison can say which part it accepts.

Saves writing and checking all values of a sorted column: the accepted ones are a range of it, found by a search.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.protocol import Check, Extender
from adalog.executor.join.ranges import Ranges, Unwritten, written


@dataclass(frozen=True, slots=True)
class Within:
    """Per prefix a range `codes[first:end]`, in an order in which the accepted codes lie together. `is_sorted`:
    each range is in the order of codes. `is_inside`: all of them are in the given column; if not, its owner has to
    check them."""

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
        """The accepted part of the sorted column of a variable's candidates; None if checking each is better."""


class OrderedColumn(Unwritten, ABC):
    """A column with an index of its values' order, so that it need not be written for what some checks accept."""

    @abstractmethod
    def narrowed(self, batch: Batch, variable: str, others: list[Extender]) -> tuple[Within, list[Extender]] | None:
        """As of `narrowed_column`; None where the index is no help."""


def narrowed_column(
    batch: Batch, variable: str, column: Column | Unwritten, others: list[Extender]
) -> tuple[Within | None, list[Extender]]:
    """(the part of a column that comparisons accept, if one can say; the extenders that are left to check)."""
    if others and isinstance(column, OrderedColumn):
        found = column.narrowed(batch, variable, others)
        if found is not None:
            return found
    within: Within | None = None
    rest: list[Extender] = []
    for part in others:
        own = None
        if isinstance(part, Narrowing) and part.can_narrow:
            own = part.within(batch, variable, written(column))
        if own is None or (within is not None and within.codes is not own.codes):
            rest.append(part)
        elif within is None:
            within = own
        else:
            first, end = np.maximum(within.first, own.first), np.minimum(within.end, own.end)
            within = replace(within, first=first, end=end)
    return within, rest


def ranges_of(within: Within) -> Ranges:
    end = np.maximum(within.first, within.end)
    return Ranges.within(within.codes, within.first, end, is_sorted=within.is_sorted)
