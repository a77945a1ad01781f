"""`adalog import`: a folder and a Spark session for the time of one import, and what is said of it."""

from __future__ import annotations

import time
from pathlib import Path

import orjson
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn

from datalog.errors import AdalogError, Code
from executor.spark.pipeline.loading import Outcome, load
from executor.spark.pipeline.mapping import Plan
from executor.spark.pipeline.reading import SparkRunner
from executor.spark.session import Session
from gateway.config import Settings
from gateway.opening import open_database
from store.database import Database

_SPARK_SECONDS = 240.0


def run_import(
    settings: Settings,
    plan: Plan,
    out: Console,
    err: Console,
    *,
    max_errors: int,
    quarantine: str,
    dry_run: bool,
) -> bool:
    """Imports, and prints what came of it; whether it did. Raises AdalogError as `load` does."""
    session = Session(settings.spark_master)
    session.start()
    try:
        with _opened(settings) as database, _bar(err) as bar:
            shown = _Shown(bar)
            shown.stage("starting Spark")
            session.wait(_SPARK_SECONDS)
            outcome = load(
                database,
                SparkRunner(session.live(), shown),
                plan,
                max_errors=max_errors,
                quarantine=Path(quarantine),
                dry_run=dry_run,
            )
    finally:
        session.close()
    _say(outcome, err, quarantine, max_errors, dry_run=dry_run)
    told = {name: getattr(outcome, name) for name in ("t", "rows", "entities", "datoms", "rejected", "seconds")}
    out.out(orjson.dumps(told).decode(), highlight=False)
    return outcome.accepted


def _opened(settings: Settings) -> Database:
    try:
        return open_database(settings)
    except AdalogError as error:
        if "in use by another" not in error.message:
            raise
        raise AdalogError(
            Code.BACKEND_UNAVAILABLE,
            f"the data folder {settings.data} is in use by another adalog process, and an import has it alone: "
            "stop that one first",
            retryable=False,
        ) from None


def _say(outcome: Outcome, err: Console, quarantine: str, max_errors: int, *, dry_run: bool) -> None:
    if outcome.rejected:
        where = f"{outcome.rejected:,} rows were rejected; {quarantine} has them, with reasons"
        end = "" if outcome.accepted else f". More than {max_errors:,} are too many: nothing was imported"
        err.print(f"adalog: {where}{end}", markup=False, soft_wrap=True)
    if dry_run and outcome.accepted:
        err.print("a dry run: nothing was imported", style="dim", markup=False, soft_wrap=True)


def _bar(err: Console) -> Progress:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[pace]}"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


class _Shown:
    """Stages of an import as a progress bar: tasks done, rows a second, time left."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task: TaskID | None = None
        self._began = 0.0

    def stage(self, name: str) -> None:
        """Another stage begins."""
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._began = time.monotonic()
        self._task = self._bar.add_task(name, total=None, pace="")

    def tasks(self, done: int, total: int, rows: int) -> None:
        """So many of the stage's tasks are done; while files are read, about so many rows."""
        if self._task is None or not total:
            return
        seconds = max(time.monotonic() - self._began, 0.001)
        pace = f"{rows / seconds:,.0f} rows/s" if rows else ""
        self._bar.update(self._task, completed=done, total=total, pace=pace)
