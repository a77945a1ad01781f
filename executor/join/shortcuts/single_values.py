"""Taken where one part of a level has ranges, and knows a single value for each prefix: the values are a column.

Saves the ranges. Of entities that follow each other, the values of an attribute are a part of its trie's column.
"""

from __future__ import annotations

from collections.abc import Iterator

from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.level import BoundLevel
from adalog.executor.join.protocol import accepted


def single_values(level: BoundLevel, batch: Batch) -> Column | None:
    """The only value of each prefix; None where the shortcut does not apply, or another one saves more."""
    if len(level.ranged) > 1 or level.counted or level.only_asks(batch, level.others):
        return None
    if batch.weight is not None and level.kept == frozenset((level.variable,)):
        # Weights are added up without rows.
        return None
    return level.ranged[0].single_values(batch, level.variable)


def extend_by_column(level: BoundLevel, batch: Batch, values: Column) -> Iterator[Batch]:
    """The extensions of a batch by one value for each prefix, chunk by chunk."""
    level.counts.candidates += batch.size
    for start in range(0, batch.size, level.budget):
        part = batch.slice(start, start + level.budget)
        extended = part.having(level.variable, values[start : start + level.budget])
        yield accepted(extended, level.variable, level.others) if level.others else extended
