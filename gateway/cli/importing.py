"""`adalog import`: into a folder, with a Spark session if the files are large; or by a server."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from adalog.client.imports import MappingText, RejectedFolder, job_outcome, wish_of
from adalog.gateway.cli.backend import RemoteBackend
from adalog.gateway.cli.output.console import err, out
from adalog.gateway.cli.output.stages import progress_bar
from adalog.gateway.opening import open_database, started_session
from adalog.gateway.settings.config import Settings
from adalog.pipeline.folding import folding_on
from adalog.pipeline.importing.read.mapping import ImportPlan, mapping_text
from adalog.pipeline.importing.read.runner import ImportRunner, InProcessRunner, is_small
from adalog.pipeline.importing.read.spark_runner import SparkRunner
from adalog.pipeline.importing.write.loading import ImportOutcome, load
from adalog.store.new_folder import gone_if_unused

_SPARK_SECONDS = 240.0


def run_import(settings: Settings, plan: ImportPlan, *, max_errors: int, quarantine: str, dry_run: bool) -> bool:
    """Imports, and prints what came of it; whether it did. Raises AdalogError as `load` does."""
    with gone_if_unused(settings.data), ExitStack() as opened:
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
    text = MappingText(mapping_text(mapping), mapping)
    wish = wish_of(text, paths, max_errors=max_errors, dry_run=dry_run)
    rejected = RejectedFolder(Path(quarantine))
    with progress_bar() as shown:
        shown.stage("asking the server")
        outcome = ImportOutcome(**job_outcome(server.job("import", wish), shown, rejected.write))
    _say(outcome, quarantine, max_errors, dry_run=dry_run)
    return outcome.accepted


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
