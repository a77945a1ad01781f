"""`and` as an extender over extenders: the body of a query, of a branch, of a `not`.

It takes the join's step (`executor.join.step`) for each variable that its parts constrain.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch
from adalog.executor.join.protocol import START, Extender, accepted
from adalog.executor.join.ranges import RangeExtender
from adalog.executor.join.shortcuts.offers import Offers, offers_of, proposed

_numbers = itertools.count()


def row_name() -> str:
    """A column for the number of the prefix that a row extends; each extender has its own, since they nest."""
    return f"#row{next(_numbers)}"


class Conjunction:
    """Extenders that must all accept."""

    def __init__(self, parts: Sequence[Extender]) -> None:
        self.parts = tuple(parts)
        self._row = row_name()
        self._at: dict[str, tuple[list[RangeExtender], list[Extender]]] = {}

    def participates(self, variable: str) -> bool:
        return any(part.participates(variable) for part in self.parts)

    def at(self, variable: str) -> tuple[list[RangeExtender], list[Extender]]:
        """The parts that take part at a level: those with ranges, the oldest first, and the others."""
        parts = self._at.get(variable)
        if parts is None:
            taking = [part for part in self.parts if part.participates(variable)]
            ranged = [part for part in taking if isinstance(part, RangeExtender)]
            if variable != START:
                ranged.sort(key=lambda part: part.newest(variable))
            parts = ranged, [part for part in taking if not isinstance(part, RangeExtender)]
            self._at[variable] = parts
        return parts

    def offers(self, batch: Batch, variable: str) -> Offers:
        """What the parts could add to each prefix."""
        return offers_of(*self.at(variable), batch, variable)

    def count(self, batch: Batch, variable: str) -> NDArray[np.int64]:
        return self.offers(batch, variable).least

    def propose(self, batch: Batch, variable: str) -> Batch:
        return self.proposed(batch, variable, self.offers(batch, variable))

    def proposed(self, batch: Batch, variable: str, offers: Offers) -> Batch:
        """`propose`, by the offers of the parts to these prefixes."""
        return proposed(*self.at(variable), batch, variable, offers, self._row)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        ranged, others = self.at(variable)
        return accepted(batch, variable, (*ranged, *others))
