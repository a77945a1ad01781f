"""The tasks' answers together: the query's rows, counts by level and by task, errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from adalog.datalog.errors import Code, unavailable
from adalog.executor.answer.parquet import ParquetPart
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.evaluation.local import JoinOutcome, TaskCounts, collector_for
from adalog.executor.join.batch import Batch
from adalog.executor.join.level import LevelCounts
from adalog.executor.spark.exchange import ByOrder, Exchange, ExchangedRows
from adalog.executor.spark.made_values import translated
from adalog.executor.spark.shares import SharedQuery
from adalog.executor.spark.task import TaskAnswer
from adalog.planner.model.plan import Plan
from adalog.store.values.codes import Scratch

# What a task of a later job takes, where there is no more than that.
_ROWS_OF_A_TASK: Final = 1 << 17


def nothing(plan: Plan, most: int | None, cancel: Cancel, divided: SharedQuery | None = None) -> JoinOutcome:
    """The run of a query without rows. divided: its counts so far."""
    rows = collector_for(plan, most, cancel).rows()
    if divided is None:
        return JoinOutcome(rows, [LevelCounts() for _ in plan.levels])
    return JoinOutcome(rows, divided.counts, divided.strata, dropped=divided.dropped)


def gathered(
    plan: Plan, divided: SharedQuery, tasks: Sequence[TaskAnswer], values: Scratch, most: int | None, cancel: Cancel
) -> JoinOutcome:
    """The run of the tasks together, without rows that they wrote. Raises a task's error, unless another had enough
    rows for the whole answer."""
    _check(tasks)
    collector = collector_for(plan, most, cancel)
    for task in tasks:
        cancel.check()
        if task.error is None:
            _add(divided.counts, task.said["counts"])
            # Nothing has no weights, where other rows have them.
            if task.said["rows"] and not task.said["left"] and not collector(received(task, values)):
                break
    ran = [(share, task.said) for share, task in zip(divided.shares, tasks, strict=True) if task.error is None]
    done = [TaskCounts(share.work, said["seconds"], said["rows"], said["worker"]) for share, said in ran]
    return JoinOutcome(collector.rows(), divided.counts, divided.strata, done, dropped=divided.dropped)


def parts_of(tasks: Sequence[TaskAnswer]) -> list[ParquetPart]:
    """The files that tasks wrote. Raises a task's error."""
    _check(tasks)
    return [ParquetPart(*part) for part in _said(tasks, "part")]


def arrived_of(
    tasks: Sequence[TaskAnswer], exchange: Exchange, most: int, values: Scratch, cancel: Cancel
) -> ExchangedRows:
    """The rows that tasks left for at most `most` tasks of a later job. Raises a task's error."""
    _check(tasks)
    size = sum(_said(tasks, "left"))
    number = min(most, 1 + size // _ROWS_OF_A_TASK)
    edges = Batch(0, {})
    if isinstance(exchange, ByOrder):
        some = [(received(task, values), task.said["left"]) for task in tasks if task.said.get("left")]
        edges = exchange.edges(some, number, values, cancel)
        number = edges.size + 1
    return ExchangedRows(list(_said(tasks, "file")), exchange, number, edges)


def received(task: TaskAnswer, values: Scratch) -> Batch:
    """The rows of a task's answer, with this process's codes."""
    return translated(task.rows(), task.said["numbers"], task.said["made"], values)


def _said(tasks: Sequence[TaskAnswer], name: str) -> Iterator[Any]:
    for task in tasks:
        if task.said.get(name):
            yield task.said[name]


def _check(tasks: Sequence[TaskAnswer]) -> None:
    errors = [task.error for task in tasks if task.error is not None]
    if not errors or any(task.said.get("enough") for task in tasks):
        return
    for error in errors:
        if error.code is not Code.CANCELLED:
            raise error
    # The driver cancelled none of them, so the network failed.
    raise unavailable("the tasks of the query lost their connection with the gateway; try again")


def _add(counts: list[LevelCounts], more: Sequence[Sequence[Any]]) -> None:
    for count, (prefixes, candidates, rows, seconds, skipped) in zip(counts, more, strict=True):
        count.prefixes += prefixes
        count.candidates += candidates
        count.rows += rows
        count.skipped += skipped
        count.seconds += seconds
