"""Taken where an `or`, a function or a collection may propose: all ranges together are one part of the step.

Saves the step's split of the prefixes where one part proposes for all of them, and counting again for each chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch
from adalog.executor.join.protocol import UNBOUNDED, Check, Extender, accepted
from adalog.executor.join.ranges import RangeExtender, Ranges, expand
from adalog.executor.join.shortcuts.intersection import intersect_ranges
from adalog.executor.join.shortcuts.range_selection import least_of, select_ranges
from adalog.executor.join.step import extend


@dataclass(slots=True)
class Offers:
    """What the parts of a conjunction could add to each prefix of a batch. `narrow`: the ranges to intersect, where
    there are some. `checks`: parts with ranges that only check what those propose; `rest`: the other parts that do.
    `counts`: int64[n] for the ranges, then for each other part."""

    narrow: list[Ranges]
    checks: list[Extender]
    rest: list[Extender]
    counts: list[NDArray[np.int64]]

    @property
    def least(self) -> NDArray[np.int64]:
        """Per prefix the least of the counts."""
        least = self.counts[0]
        for count in self.counts[1:]:
            least = np.minimum(least, count)
        return least

    @property
    def only_proposer(self) -> int | None:
        """The part that proposes the least for all prefixes; None where they differ."""
        counts = self.counts
        if len(counts) == 1:
            return 0
        if len(counts[0]) == 1:
            return min(range(len(counts)), key=lambda i: int(counts[i][0]))
        proposers = [i for i, count in enumerate(counts) if count.min(initial=UNBOUNDED) < UNBOUNDED]
        return None if len(proposers) > 1 else proposers[0] if proposers else 0

    def slice(self, start: int, stop: int) -> Offers:
        """The offers to some of the prefixes."""
        if stop - start == len(self.counts[0]):
            return self
        narrow = [each.slice(start, stop) for each in self.narrow]
        return Offers(narrow, self.checks, self.rest, [count[start:stop] for count in self.counts])


def offers_of(ranged: Sequence[RangeExtender], others: list[Extender], batch: Batch, variable: str) -> Offers:
    """What the parts could add to each prefix."""
    narrow, checks, rest = select_ranges(ranged, others, batch, variable)
    # Parts with ranges that only check do not count: they do not propose, and may check a level later.
    counts = [least_of(narrow) if narrow else np.full(batch.size, UNBOUNDED, np.int64)]
    return Offers(narrow, checks, rest, [*counts, *(part.count(batch, variable) for part in others)])


def proposed(
    ranged: Sequence[RangeExtender],
    others: Sequence[Extender],
    batch: Batch,
    variable: str,
    offers: Offers,
    row: str,
) -> Batch:
    """The step over the ranges together and the other parts. row: as `extend` has it."""
    if not batch.size:
        return batch.having(variable, np.empty(0, np.int64))
    only = offers.only_proposer
    if only is None:
        return extend((_Intersection(ranged, offers, row), *others), batch, variable, offers.counts, row)
    if only == 0:
        return accepted(_from_ranges(batch, variable, offers.narrow), variable, (*offers.checks, *offers.rest))
    proposal = others[only - 1].propose(batch, variable)
    return accepted(proposal, variable, (*ranged, *others[: only - 1], *others[only:]))


@dataclass(slots=True)
class _Intersection(Check):
    """The ranges of a batch's prefixes as one part of the step, which numbers the prefixes in the column `row`."""

    ranged: Sequence[RangeExtender]
    offers: Offers
    row: str

    def participates(self, variable: str) -> bool:
        return bool(self.ranged)

    def propose(self, batch: Batch, variable: str) -> Batch:
        rows = batch.columns[self.row]
        narrow = [each.take(rows) for each in self.offers.narrow]
        return accepted(_from_ranges(batch, variable, narrow), variable, self.offers.checks)

    def intersect(self, batch: Batch, variable: str) -> Batch:
        return accepted(batch, variable, self.ranged)


def _from_ranges(batch: Batch, variable: str, narrow: list[Ranges]) -> Batch:
    parent, value = expand(narrow[0]) if len(narrow) == 1 else intersect_ranges(narrow, least_of(narrow))
    return batch.extend(parent, variable, value)
