"""Taken for a batch of a single prefix where all proposers have ranges: its candidates are a few sorted rows.

Saves the arrays of ranges and the kernel's arguments, which cost more than the work. Small queries and live ones
consist mostly of such batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adalog.executor.join.batch import Batch, Column
from adalog.executor.join.level import BoundLevel
from adalog.executor.join.protocol import Extender, accepted
from adalog.executor.join.ranges import RangeExtender, Unwritten, is_worth_writing, written
from adalog.executor.join.shortcuts.narrowing import narrowed_column
from adalog.executor.join.shortcuts.one_row import common
from adalog.executor.join.shortcuts.unread_values import having_any, weigh

_Row = tuple[Column | Unwritten, RangeExtender]
"""Sorted candidates, and the part that has them."""


def extend_one(level: BoundLevel, batch: Batch) -> Batch:
    """The extensions of the batch's only prefix."""
    variable = level.variable
    rows, checks = _rows(level.ranged, level.others, batch, variable)
    shortest = rows[0][0]
    level.counts.candidates += len(shortest)
    if not checks and len(rows) == 1:
        if level.counted:
            return weigh(batch, np.array([len(shortest)]))
        if level.only_asks(batch, checks):
            return having_any(level, batch, np.array([len(shortest)]))
    first = value = written(shortest)
    for row, owner in rows[1:]:
        if not len(value):
            break
        if is_worth_writing(row.size if isinstance(row, Unwritten) and not row.is_written else 0, len(value)):
            value = common(value, written(row))
        else:
            checks = [*checks, owner]
    if level.counted and not checks:
        return weigh(batch, np.array([len(value)]))
    columns = {name: column.repeat(len(value)) for name, column in batch.columns.items()}
    columns[variable] = value
    weight = batch.weight
    extended = Batch(len(value), columns, None if weight is None else weight.repeat(len(value)))
    if checks:
        extended = accepted(extended, variable, checks)
    if extended.columns[variable] is first:
        # A part of a trie's column would keep all of it.
        extended = extended.having(variable, first.copy())
    return extended


def _rows(
    ranged: Sequence[RangeExtender], others: list[Extender], batch: Batch, variable: str
) -> tuple[list[_Row], list[Extender]]:
    """(the sorted rows to intersect, the shortest first; the parts that only check)."""
    if len(ranged) == 1:
        part = ranged[0]
        whole = part.whole(batch, variable)
        if whole is None:
            return [(part.row(batch, variable), part)], others
        row, checks = _accepted_part(batch, variable, (whole, part), others)
        return [(row, part)], checks
    rows: list[_Row] = []
    wide: list[_Row] = []
    for part in ranged:
        whole = part.whole(batch, variable)
        if whole is None:
            rows.append((part.row(batch, variable), part))
        else:
            wide.append((whole, part))
    if not rows:
        wide.sort(key=_length)
        shortest = wide.pop(0)
        row, others = _accepted_part(batch, variable, shortest, others)
        rows.append((row, shortest[1]))
    rows.sort(key=_length)
    return rows, [*(part for _, part in wide if not part.narrows_next(variable)), *others]


def _accepted_part(
    batch: Batch, variable: str, whole: _Row, others: list[Extender]
) -> tuple[Column | Unwritten, list[Extender]]:
    """(the part of a column that comparisons leave to the prefix; the parts that are left to check)."""
    column, owner = whole
    within, checks = narrowed_column(batch, variable, column, others)
    if within is None:
        return column, checks
    if not within.is_inside:
        checks = [owner, *checks]
    row = within.codes[int(within.first[0]) : int(within.end[0])]
    return row if within.is_sorted else np.sort(row), checks


def _length(row: _Row) -> int:
    return len(row[0])
