"""Taken where parts have ranges: those that no bound variable narrows, or that are long and unwritten, only check.

Saves expanding a whole column for each prefix, and writing rows of which other ranges leave little.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.protocol import Extender
from adalog.executor.join.ranges import RangeExtender, Ranges, Unwritten, is_worth_writing
from adalog.executor.join.shortcuts.narrowing import narrowed_column, ranges_of


def select_ranges(
    ranged: Sequence[RangeExtender], others: list[Extender], batch: Batch, variable: str
) -> tuple[list[Ranges], list[Extender], list[Extender]]:
    """(the ranges to intersect; parts with ranges that only check; the others that are left to check). At least one
    range if any part has one."""
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
            within, others = narrowed_column(batch, variable, smallest, others)
            narrow.append(Ranges.constant(smallest, batch.size) if within is None else ranges_of(within))
            if within is not None and not within.is_inside:
                checks.append(proposer)
    # A part that looks for the prefix at the next level finds out there, at the same cost, whether it is there.
    kept: list[Extender] = [part for part in checks if not part.narrows_next(variable)] if checks else []
    if len(owners) > 1 and any(each.unwritten for each in narrow):
        spare = _spared(narrow)
        kept += [owner for owner, unneeded in zip(owners, spare, strict=True) if unneeded]
        narrow = [each for each, unneeded in zip(narrow, spare, strict=True) if not unneeded]
    return narrow, kept, others


def least_of(ranges: Sequence[Ranges]) -> NDArray[np.int64]:
    """Per prefix the least length among the ranges."""
    least = ranges[0].length
    for other in ranges[1:]:
        least = np.minimum(least, other.length)
    return least


def _spared(ranges: list[Ranges]) -> list[bool]:
    """Which ranges are better only checked than written: where the others leave few candidates for them."""
    spared = [False] * len(ranges)
    for i in sorted(range(len(ranges)), key=lambda i: -ranges[i].unwritten):
        others = [each for j, each in enumerate(ranges) if j != i and not spared[j]]
        spared[i] = bool(others) and not is_worth_writing(ranges[i].unwritten, int(least_of(others).sum()))
    return spared
