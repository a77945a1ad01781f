"""Taken where all parts that may propose at a level have ranges: one call of a kernel intersects all of them.

Saves the step's rows between one part and the next: only values in all ranges are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from adalog.executor.join.batch import Batch
from adalog.executor.join.level import BoundLevel, chunks
from adalog.executor.join.protocol import accepted
from adalog.executor.join.shortcuts.intersection import count_ranges, intersect_ranges
from adalog.executor.join.shortcuts.one_range import extend_by_range
from adalog.executor.join.shortcuts.range_selection import least_of, select_ranges
from adalog.executor.join.shortcuts.single_values import extend_by_column, single_values
from adalog.executor.join.shortcuts.unread_values import having_any, weigh
from adalog.executor.join.shortcuts.value_sums import value_sums

# How many times as many candidates a chunk has if they are only counted, which takes no memory. The longer a chunk,
# the more often the kernel uses the bitmap of a long range.
_COUNTED: Final = 8


def extend_by_ranges(level: BoundLevel, batch: Batch) -> Iterator[Batch]:
    """The extensions of a batch, chunk by chunk."""
    variable = level.variable
    values = single_values(level, batch)
    if values is not None:
        yield from extend_by_column(level, batch, values)
        return
    if level.counts_alone:
        count = level.ranged[0].count(batch, variable)
        level.counts.candidates += int(count.sum())
        yield weigh(batch, count)
        return
    narrow, checking, rest = select_ranges(level.ranged, level.others, batch, variable)
    checks = [*checking, *rest]
    counting = level.counted and not checks
    asking = level.only_asks(batch, checks)
    if asking and len(narrow) == 1:
        level.counts.candidates += batch.size
        yield having_any(level, batch, narrow[0].length)
        return
    if len(narrow) == 1 and (counting or batch.weight is None) and narrow[0].total <= level.budget:
        # What most levels of a small query are: one range for each prefix, in one chunk.
        level.counts.candidates += narrow[0].total
        yield extend_by_range(level, batch, narrow[0], checks)
        return
    least = least_of(narrow)
    level.counts.candidates += int(least.sum())
    if counting and len(narrow) == 1:
        yield weigh(batch, least)
        return
    # The others may look at variables that are not kept.
    sums = None if level.others else value_sums(level, batch, narrow, least)
    if sums is not None:
        yield accepted(sums, variable, checks)
        return
    written_out = not (counting or asking)
    for start, stop in chunks(least, level.budget if written_out else _COUNTED * level.budget):
        part = batch.slice(start, stop)
        ranges = narrow if stop - start == batch.size else [each.slice(start, stop) for each in narrow]
        if counting:
            yield weigh(part, count_ranges(ranges, stop - start))
        elif asking:
            yield having_any(level, part, count_ranges(ranges, stop - start))
        elif len(ranges) == 1:
            yield extend_by_range(level, part, ranges[0], checks)
        else:
            parent, value = intersect_ranges(ranges, least[start:stop])
            yield accepted(part.extend(parent, variable, value), variable, checks)
