"""Taken where only one part of a level has ranges: its values are the extensions, as they are.

Saves the intersection, and where each prefix has one value the list of parents.
"""

from __future__ import annotations

from collections.abc import Sequence

from adalog.executor.join.batch import Batch
from adalog.executor.join.level import BoundLevel
from adalog.executor.join.protocol import Extender, accepted
from adalog.executor.join.ranges import Ranges, expand
from adalog.executor.join.shortcuts.unread_values import weigh


def extend_by_range(level: BoundLevel, batch: Batch, ranges: Ranges, checks: Sequence[Extender]) -> Batch:
    """The extensions of a batch by one range for each prefix."""
    if level.counted and not checks:
        return weigh(batch, ranges.length)
    single = ranges.singles()
    if single is not None:
        extended = batch.having(level.variable, single)
    else:
        parent, value = expand(ranges)
        extended = batch.extend(parent, level.variable, value)
    return accepted(extended, level.variable, checks) if checks else extended
