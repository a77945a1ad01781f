"""Imports into and exports of a database in this process: on Spark where one process is not enough."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from adalog.client.imports import MappingText
from adalog.cluster.tasks import InProcessTasks, JobProgress, SparkTasks, TaskRunner
from adalog.datalog.extras import require
from adalog.executor.kernels.loading import compiled_kernels
from adalog.pipeline.exporting import export as exporting
from adalog.pipeline.exporting.target import check_target
from adalog.pipeline.importing.read.runner import ImportRunner, InProcessRunner, is_small
from adalog.pipeline.importing.write.loading import ImportOutcome, load

if TYPE_CHECKING:
    from adalog.cluster.cluster import Cluster
    from adalog.store.database import Database
    from adalog.store.snapshot.snapshot import Snapshot

_SPARK_SECONDS: Final = 240.0


def imported(
    database: Database,
    mapping: MappingText,
    paths: Mapping[str, str],
    quarantine: Path,
    progress: JobProgress,
    *,
    max_errors: int,
    dry_run: bool,
) -> ImportOutcome:
    """Raises as `load` does."""
    from adalog.pipeline.importing.read.mapping_reader import mapping_of

    plan = mapping_of(mapping.text, mapping.file, paths, os.environ)

    def run(runner: ImportRunner) -> ImportOutcome:
        return load(database, runner, plan, max_errors=max_errors, quarantine=quarantine, dry_run=dry_run)

    if is_small(plan):
        return run(InProcessRunner(progress))
    with _spark(progress, "an import of large files or a SQL database", database) as cluster:
        from adalog.pipeline.importing.read.spark_runner import SparkRunner

        return run(SparkRunner(cluster, progress))


def exported(view: Snapshot, to: str, form: str, progress: JobProgress) -> exporting.ExportOutcome:
    """Raises as `export` does."""

    def run(runner: TaskRunner) -> exporting.ExportOutcome:
        return exporting.export(view, runner, to, form)

    check_target(to)
    if exporting.is_small(view):
        return run(InProcessTasks(progress))
    with _spark(progress, "an export of so many datoms", None) as cluster:
        return run(SparkTasks(cluster, progress))


@contextmanager
def _spark(progress: JobProgress, what: str, database: Database | None) -> Iterator[Cluster]:
    """A session on this machine for the time of the block. database: has its large folds done there, too."""
    require("pyspark", "spark", what)
    from adalog.cluster.session import Session
    from adalog.pipeline.folding import folding_on

    progress.stage("starting Spark")
    session = Session("local[*]", kernels=compiled_kernels)
    session.start()
    try:
        session.wait(_SPARK_SECONDS)
        if database is not None:
            database.compactor.have_folded(folding_on(session))
        yield session.live()
    finally:
        session.close()
