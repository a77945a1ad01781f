"""Values that the functions of a query made up, between processes with different codes for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adalog.executor.join.batch import Batch
from adalog.store.values.codes import Scratch


def made_up(rows: Batch, values: Scratch, known: int) -> tuple[list[int], list[Any]]:
    """(numbers, values) of the made-up values in the rows, without the first `known`, which the others have."""
    made = values.made()
    if len(made) == known:
        return [], []
    numbers = [np.unique(values.made_numbers(column)) for column in rows.columns.values()]
    used = np.unique(np.concatenate(numbers)) if numbers else np.empty(0, np.int64)
    used = used[used >= known]
    return used.tolist(), [made[number] for number in used.tolist()]


def translated(rows: Batch, numbers: Sequence[int], made: Sequence[Any], values: Scratch) -> Batch:
    """The rows with this process's codes for another one's made-up values, given by number and value."""
    if not len(numbers):
        return rows
    theirs = np.asarray(numbers, np.int64)
    columns = dict(rows.columns)
    for name, column in columns.items():
        own = values.made_numbers(column)
        at = np.minimum(np.searchsorted(theirs, own), len(theirs) - 1)
        places = np.flatnonzero(theirs[at] == own)
        if len(places):
            used, which = np.unique(at[places], return_inverse=True)
            codes = np.array([values.intern(made[number]) for number in used.tolist()], np.int64)
            columns[name] = column.copy()
            columns[name][places] = codes[which]
    return Batch(rows.size, columns, rows.weight)
