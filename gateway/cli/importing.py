"""`adalog import`: into a folder, with a Spark session if the files are large; or by a server."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from adalog.gateway.cli.backend import RemoteBackend
from adalog.gateway.cli.output.console import err, out
from adalog.gateway.cli.output.stages import progress_bar
from adalog.gateway.opening import open_database, started_session
from adalog.gateway.settings.config import Settings
from adalog.pipeline.folding import folding_on
from adalog.pipeline.importing.read.mapping import ImportPlan, mapping_text
from adalog.pipeline.importing.read.mapping_reader import mapping_of
from adalog.pipeline.importing.read.runner import ImportRunner, InProcessRunner, is_small
from adalog.pipeline.importing.read.spark_runner import SparkRunner
from adalog.pipeline.importing.write.loading import ImportOutcome, load

_SPARK_SECONDS = 240.0


def run_import(settings: Settings, plan: ImportPlan, *, max_errors: int, quarantine: str, dry_run: bool) -> bool:
    """Imports, and prints what came of it; whether it did. Raises AdalogError as `load` does."""
    with ExitStack() as opened:
        session = None if is_small(plan) else opened.enter_context(started_session(settings))
        database, shown = opened.enter_context(open_database(settings)), opened.enter_context(progress_bar())
        runner: ImportRunner = InProcessRunner(shown)
        if session is not None:
            shown.stage("starting Spark")
            session.wait(_SPARK_SECONDS)
            database.compactor.have_folded(folding_on(session))
            runner = SparkRunner(session.live(), shown)
        rejected = Path(quarantine)
        outcome = load(database, runner, plan, max_errors=max_errors, quarantine=rejected, dry_run=dry_run)
    _say(outcome, quarantine, max_errors, dry_run=dry_run)
    return outcome.accepted


def ask_for_import(
    server: RemoteBackend,
    mapping: Path,
    paths: Mapping[str, str],
    *,
    max_errors: int,
    quarantine: str,
    dry_run: bool,
) -> bool:
    """The same by a server, which reads the sources itself. The mapping and its schema are read here, and rejected
    rows are written here."""
    wish = wish_of(mapping, paths, max_errors=max_errors, dry_run=dry_run)
    rejected = RejectedFolder(Path(quarantine))
    with progress_bar() as shown:
        shown.stage("asking the server")
        outcome = ImportOutcome(**shown.followed(server.job("import", wish), rejected.write))
    _say(outcome, quarantine, max_errors, dry_run=dry_run)
    return outcome.accepted


def wish_of(mapping: Path, paths: Mapping[str, str], *, max_errors: int, dry_run: bool) -> dict[str, Any]:
    text = mapping_text(mapping)
    plan = mapping_of(text, mapping, paths, os.environ)
    tables = [source.sql for source in plan.sources if source.sql is not None]
    return {
        "mapping": text,
        "file": str(mapping.absolute()),
        "schema": plan.schema_text(),
        "passwords": {table.variable: table.password for table in tables if table.variable is not None},
        "paths": {name: path if "://" in path else str(Path(path).absolute()) for name, path in paths.items()},
        "maxErrors": max_errors,
        "dryRun": dry_run,
    }


class RejectedFolder:
    """The folder of rejected rows: each file is written anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._begun: set[str] = set()

    def write(self, name: str, text: str) -> None:
        # A server has no say in which folder is written to.
        path = self._folder / Path(name).name
        self._folder.mkdir(parents=True, exist_ok=True)
        with path.open("a" if path.name in self._begun else "w", encoding="utf-8") as file:
            file.write(text)
        self._begun.add(path.name)


def _say_report(outcome: ImportOutcome) -> None:
    """A table of what a dry run found, by attribute."""
    counts = ("come", "change", "go", "rejected")
    rows = [("attribute", *counts, "samples")]
    rows += [
        (each["attribute"], *(f"{each[name]:,}" for name in counts), "; ".join(each["samples"]))
        for each in outcome.report
    ]
    widths = [max(len(row[at]) for row in rows) for at in range(1 + len(counts))]
    for row in rows if outcome.report else ():
        name, *numbers = (
            cell.ljust(width) if not at else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=False))
        )
        err.tell("  ".join((name, *numbers, row[-1])).rstrip())
    if outcome.going:
        err.tell(f"{outcome.going:,} entities would go")


def _say(outcome: ImportOutcome, quarantine: str, max_errors: int, *, dry_run: bool) -> None:
    for warning in outcome.warnings:
        err.tell(f"adalog: {warning}")
    if outcome.rejected:
        where = f"{outcome.rejected:,} rows were rejected; {quarantine} has them, with reasons"
        end = "" if outcome.accepted else f". More than {max_errors:,} are too many: nothing was imported"
        err.tell(f"adalog: {where}{end}")
    if dry_run:
        _say_report(outcome)
    if dry_run and outcome.accepted:
        err.tell("a dry run: nothing was imported", "dim")
    out.json(outcome.told())
