"""What the tasks of a query sent, brought together: the answer's rows, counts by level and by task, errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from datalog.errors import AdalogError, Code
from executor.answer.parquet import Part
from executor.bounds.cancel import Cancel
from executor.evaluation.local import Ran, TaskCounts, collector_for
from executor.join.batch import Batch
from executor.join.generic_join import LevelCounts
from executor.spark.shares import Divided, Share
from executor.spark.task import Answered
from planner.plan import Plan
from store.codes import Scratch


def nothing(plan: Plan, most: int | None, cancel: Cancel, divided: Divided | None = None) -> Ran:
    """A run of a query that comes to no rows, with what happened on the way."""
    counts = [LevelCounts() for _ in plan.levels] if divided is None else divided.counts
    return Ran(collector_for(plan, most, cancel).rows(), counts, [] if divided is None else divided.strata)


def gathered(
    plan: Plan,
    divided: Divided,
    tasks: Sequence[Answered],
    values: Scratch,
    most: int | None,
    cancel: Cancel,
    *,
    written: bool,
) -> Ran:
    """The run that the tasks come to. written: they wrote their rows, and sent none.

    Raises what was wrong in a task, unless another had enough rows for the whole answer.
    """
    _check(tasks)
    collector = collector_for(plan, most, cancel)
    for task in tasks:
        cancel.check()
        if task.error is None:
            _add(divided.counts, task.said["counts"])
            # Nothing has no weights, where other rows have them.
            if task.said["rows"] and not collector(translated(task.rows(), task.said, values)):
                break
    done = [_count(*each) for each in zip(divided.shares, tasks, strict=True) if each[1].error is None]
    return Ran(collector.rows(), divided.counts, divided.strata, done, parts_of(tasks) if written else None)


def parts_of(tasks: Sequence[Answered]) -> list[Part]:
    """The files that tasks wrote. Raises what was wrong in one."""
    _check(tasks)
    return [Part(*part) for part in _said(tasks, "part")]


def files_of(tasks: Sequence[Answered]) -> list[str] | None:
    """Where tasks spread their rows to; None where some of these have values that a task made up. Raises what was
    wrong in one."""
    _check(tasks)
    return None if any(task.said["made"] for task in tasks) else list(_said(tasks, "file"))


def _said(tasks: Sequence[Answered], name: str) -> Iterator[Any]:
    for task in tasks:
        if task.said.get(name):
            yield task.said[name]


def _check(tasks: Sequence[Answered]) -> None:
    errors = [task.error for task in tasks if task.error is not None]
    if not errors or any(task.said.get("enough") for task in tasks):
        return
    for error in errors:
        if error.code is not Code.CANCELLED:
            raise error
    # Nobody here ended them, so it was the network between us.
    raise AdalogError(
        Code.BACKEND_UNAVAILABLE, "the tasks of the query lost their connection with the gateway; try again"
    )


def _count(share: Share, task: Answered) -> TaskCounts:
    return TaskCounts(share.work, task.said["seconds"], task.said["rows"], task.said["worker"])


def translated(rows: Batch, said: Mapping[str, Any], values: Scratch) -> Batch:
    """The rows with a task's own codes of made-up values replaced by this process's."""
    numbers = np.array(said["numbers"], np.int64)
    if not len(numbers):
        return rows
    codes = np.array([values.intern(value) for value in said["made"]], np.int64)
    columns = dict(rows.columns)
    for name, column in columns.items():
        own = values.made_numbers(column)
        at = np.minimum(np.searchsorted(numbers, own), len(numbers) - 1)
        columns[name] = np.where(numbers[at] == own, codes[at], column)
    return Batch(rows.size, columns)


def _add(counts: list[LevelCounts], more: Sequence[Sequence[Any]]) -> None:
    for count, (prefixes, candidates, rows, seconds) in zip(counts, more, strict=True):
        count.prefixes += prefixes
        count.candidates += candidates
        count.rows += rows
        count.seconds += seconds
