"""`adalog stream`: a Spark session that watches, and a folder or a server that each batch is imported into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from adalog.client.imports import MappingText, RejectedFolder, wish_of
from adalog.cluster.cluster import Cluster
from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.gateway.cli.backend import RemoteBackend
from adalog.gateway.cli.output.console import err, out
from adalog.gateway.opening import open_database, started_session
from adalog.gateway.settings.config import Settings
from adalog.pipeline.importing.read.mapping import ImportPlan, mapping_text
from adalog.pipeline.importing.read.row_intake import check_parts
from adalog.pipeline.importing.read.spark_runner import SparkRunner
from adalog.pipeline.importing.write.loading import ImportOutcome, load
from adalog.pipeline.importing.write.streaming import Sink, Streaming
from adalog.store.database import Database

_SPARK_SECONDS: Final = 240.0
# Rows of a batch that may be rejected by default.
ANY: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class StreamOptions:
    mapping: Path
    checkpoint: Path
    quarantine: Path
    max_errors: int
    once: bool


def run_stream(
    place: RemoteBackend | Settings, settings: Settings, plan: ImportPlan, chosen: StreamOptions
) -> None:
    """Imports what appears, until it is interrupted; a line of JSON for each batch. Raises what a batch was refused
    with. `settings`: those of Spark count."""
    if plan.datoms:
        raise invalid_argument(f"source {plan.datoms[0].name} has datoms, and a stream follows rows: import it")
    check_parts(plan)
    with started_session(settings) as session:
        session.wait(_SPARK_SECONDS)
        live = session.live()
        streams: list[Streaming] = []

        def tell(source: str, number: int, came: ImportOutcome | AdalogError | str) -> None:
            if isinstance(came, str):
                err.tell(f"adalog: {came}")
            elif isinstance(came, AdalogError):
                err.tell(f"batch {number} of {source} is tried again: {came.message}")
            else:
                out.json({"source": source, "batch": number, **came.told()})
                out.file.flush()

        told = _Stoppable(lambda: any(stream.stopped for stream in streams))
        with _sink(place, live, chosen, told) as sink:
            stream = Streaming(live, plan, chosen.checkpoint, chosen.quarantine, sink, tell)
            streams.append(stream)
            stream.run(once=chosen.once)


@contextmanager
def _sink(
    place: RemoteBackend | Settings, live: Cluster, chosen: StreamOptions, told: _Stoppable
) -> Iterator[Sink]:
    if isinstance(place, RemoteBackend):
        yield _Server(place, chosen, told)
        return
    with open_database(place) as database:
        yield _Folder(database, live, chosen, told)


@dataclass
class _Folder:
    """Batches into a folder that this process has."""

    database: Database
    live: Cluster
    chosen: StreamOptions
    told: _Stoppable

    def imported(self, plan: ImportPlan, key: str, quarantine: Path) -> ImportOutcome:
        runner, most = SparkRunner(self.live, self.told), self.chosen.max_errors
        outcome = load(self.database, runner, plan, max_errors=most, quarantine=quarantine, key=key)
        return _accepted(outcome, quarantine)


@dataclass
class _Server:
    """Batches into a server's database, which reads the files itself."""

    server: RemoteBackend
    chosen: StreamOptions
    told: _Stoppable

    def imported(self, plan: ImportPlan, key: str, quarantine: Path) -> ImportOutcome:
        [source] = plan.sources
        mapping = MappingText(mapping_text(self.chosen.mapping), self.chosen.mapping)
        wish = wish_of(mapping, {}, max_errors=self.chosen.max_errors, dry_run=False)
        wish |= {"files": {source.name: list(source.files)}, "idempotencyKey": key}
        rejected = RejectedFolder(quarantine)
        for kind, said in self.server.job("import", wish):
            self.told.tasks(0, 0, 0)
            if kind == "rejected":
                rejected.write(said["file"], said["text"])
            elif kind == "done":
                return _accepted(ImportOutcome(**said), quarantine)
        raise AssertionError("done comes last, or an error was raised")


def _accepted(outcome: ImportOutcome, quarantine: Path) -> ImportOutcome:
    if not outcome.accepted:
        raise invalid_argument(
            f"{outcome.rejected:,} rows of a batch were rejected, and nothing of it was imported; {quarantine} has "
            "them, with reasons. When they or the mapping are mended, or --max-errors is, the same command goes on"
        )
    return outcome


@dataclass
class _Stoppable:
    """Takes the progress of a batch, and ends it on request."""

    stopped: Callable[[], bool]

    def stage(self, name: str) -> None:
        self.tasks(0, 0, 0)

    def tasks(self, done: int, total: int, rows: int) -> None:
        if self.stopped():
            raise AdalogError(Code.CANCELLED, "the stream was stopped")
