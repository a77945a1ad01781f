"""What an import needs of the process that finds its files and runs its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from adalog.cluster.tasks import InProcessTasks, JobProgress, TaskRunner
from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.pipeline.importing.files.content import COMPRESSED
from adalog.pipeline.importing.files.listing import ListedFile, listed
from adalog.pipeline.importing.read.chunks import ROWS, RowChunk
from adalog.pipeline.importing.read.mapping import AnySource, ImportPlan, RowSource
from adalog.pipeline.importing.sql.jdbc import SqlRows
from adalog.store.files.allowed_places import is_address, local

SMALL_BYTES: Final = 1 << 28
"""Sources up to this size are imported in one process, which on two cores is faster than Spark with its start."""
# How many bytes of text one of a file stands for, about.
_PACKED: Final = {".parquet": 4, **dict.fromkeys(COMPRESSED, 8)}
SHARE_BYTES: Final = 1 << 25
"""What a task reads, about."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of a source as tasks read it. name: as it is said."""

    file: ListedFile
    name: str


class ImportRunner(TaskRunner, Protocol):
    """Finds files and runs tasks. buckets: the least number of parts that keys are cut into. chunk_rows: rows of a
    chunk. share_bytes: what a task reads, about."""

    buckets: int
    chunk_rows: int
    share_bytes: int

    def files(self, source: AnySource, folder: Path) -> list[FoundFile]:
        """The files of a source, those of other machines as copies in the folder."""

    def table(self, source: RowSource, folder: Path) -> SqlRows:
        """The new rows of a source that is a table, as files in the folder."""


class InProcessRunner(InProcessTasks):
    """An `ImportRunner` for what one process can hold, without Spark."""

    def __init__(self, progress: JobProgress | None = None) -> None:
        super().__init__(progress)
        self.buckets = 1
        self.chunk_rows = ROWS
        self.share_bytes = SHARE_BYTES

    def files(self, source: AnySource, folder: Path) -> list[FoundFile]:
        return local_files(source, paths_of(source))

    def table(self, source: RowSource, folder: Path) -> SqlRows:
        raise AssertionError("`is_small` has tables read by Spark")


def paths_of(source: AnySource) -> Sequence[str]:
    """The paths and addresses of a source."""
    if source.files:
        return source.files
    return [source.path if is_address(source.path) else str(Path(local(source.path)).absolute())]


def local_files(source: AnySource, paths: Sequence[str]) -> list[FoundFile]:
    found = listed([local(path) for path in paths], source.options, literal=bool(source.files))
    return [FoundFile(each, each.path) for each in found]


def is_small(plan: ImportPlan) -> bool:
    """Whether one process can hold what a plan reads, which is all on this machine."""
    size = 0
    every: tuple[AnySource, ...] = (*plan.sources, *plan.datoms)
    if any(source.sql is not None for source in plan.sources):
        return False
    for source in every:
        paths = paths_of(source)
        if any(map(is_address, paths)):
            return False
        options = source.options if source.format != "adalog" else {"recursiveFileLookup": "true"}
        for file in listed([local(path) for path in paths], options, literal=bool(source.files)):
            size += file.size * _PACKED.get(Path(file.path).suffix.lower(), 1)
            if size > SMALL_BYTES:
                return False
    return True


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """Rejected rows of a chunk: how many rows of its partition come before it, files of the rows."""

    start: int
    paths: tuple[str, ...]


RejectedParts = Mapping[int, Sequence[RejectedRows]]
"""Those of a source by partition."""
Reasons = Sequence[Sequence[str]]
"""What is said of a row, by column and `Reason`."""


def rejected_rows(source: int, chunks: Sequence[RowChunk], rejected: Sequence[Sequence[str]]) -> RejectedParts:
    """What was rejected of a source. rejected: of each chunk the files that name its rows."""
    starts: dict[int, int] = {}
    rows: dict[int, list[RejectedRows]] = {}
    for chunk, paths in zip(chunks, rejected, strict=True):
        number, partition, _ = chunk.order
        if number != source:
            continue
        start = starts.get(partition, 0)
        starts[partition] = start + chunk.rows
        if paths:
            rows.setdefault(partition, []).append(RejectedRows(start, tuple(paths)))
    return rows


def no_files(source: AnySource) -> AdalogError:
    return invalid_argument(
        f"source {source.name} cannot be read: there are no files at {source.path}; those whose names begin with _ "
        "or . do not count"
    )
