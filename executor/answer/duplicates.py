"""How many equal values fell together before they were aggregated, as far as the counts of a run tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from adalog.datalog.ast import Const
from adalog.executor.join.batch import Batch
from adalog.executor.join.level import LevelCounts
from adalog.planner.model.logical import DatomAtom
from adalog.planner.model.multiplicity import DroppedRows, Multiplicity
from adalog.planner.scope.resolve import attribute_of
from adalog.store.snapshot.snapshot import Snapshot

# Rows whose owners are looked up.
_LOOKED_UP: Final = 1 << 16


def dropped(
    how: Multiplicity | None, levels: Sequence[LevelCounts], rows: Batch, databases: Mapping[str, Snapshot]
) -> DroppedRows | None:
    """What fell together into these rows, which are distinct; None where nothing did, or nobody knows."""
    if how is None or not rows.size:
        return None
    if how.blank is not None:
        found = _looked_up(how.blank, rows, databases)
    elif any(each.rows + each.skipped != each.prefixes for each in levels[how.level + 1 :]):
        return None
    else:
        found = DroppedRows(levels[how.level].rows + levels[how.level].skipped - rows.size)
    if found is None or found.number <= 0 or not all(each.holds(databases) for each in how.singles):
        return None
    return found


def _looked_up(pattern: DatomAtom, rows: Batch, databases: Mapping[str, Snapshot]) -> DroppedRows | None:
    snapshot = databases.get(pattern.source)
    if snapshot is None or not isinstance(pattern.attribute, Const) or not isinstance(pattern.value, str):
        return None
    attribute = attribute_of(snapshot, pattern.attribute)
    if attribute is None:
        return None
    if len(rows.columns) == 1:
        counts = snapshot.statistics(attribute)
        if counts.values == rows.size:
            # These are all the values that there are.
            return DroppedRows(counts.count - rows.size)
    exact = rows.size <= _LOOKED_UP
    codes, times = np.unique(rows.columns[pattern.value][:_LOOKED_UP], return_counts=True)
    owners: Any = snapshot.ve(attribute).counts(codes)
    return DroppedRows(int((owners * times).sum()) - int(times.sum()), exact)
