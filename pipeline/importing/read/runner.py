"""What an import needs of the process that reads its files and runs its tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from adalog.cluster.tasks import TaskRunner
from adalog.pipeline.importing.read.chunks import RowChunk, SourceJob
from adalog.pipeline.importing.read.mapping import AnySource, DatomSource, RowSource


class ImportRunner(TaskRunner, Protocol):
    """Reads files and runs tasks. buckets: the least number of parts that keys are cut into."""

    buckets: int

    def named(self, source: DatomSource) -> Mapping[str, set[str]]:
        """The attributes that the lines of a source name, with the types of their values as they are written."""

    def columns(self, source: RowSource) -> Mapping[str, pa.DataType]:
        """The columns of a source's files. Raises ARG_INVALID where there are none."""

    def files(self, source: AnySource) -> Mapping[int, str]:
        """The files of a source by the hash that rows are told by."""

    def read(self, source: AnySource, names: Mapping[str, str], job: SourceJob) -> list[RowChunk]:
        """The chunks of a source's rows. names: the column of the files by the name that the job has for it."""

    def quarantine(self, source: AnySource, rejected: RejectedParts, reasons: Reasons, to: Path) -> None:
        """Writes rejected rows, as they are in the files, into a folder."""


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
