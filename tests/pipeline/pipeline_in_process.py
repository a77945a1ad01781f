"""Imports without Spark: the same steps, one after the other in this process."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from adalog.pipeline.importing.read.chunks import RowBatch, RowChunk, SourceJob, chunks, read_rejects
from adalog.pipeline.importing.read.datoms import named
from adalog.pipeline.importing.read.mapping import AnySource, DatomSource, RowSource
from adalog.pipeline.importing.read.mapping_reader import read_mapping
from adalog.pipeline.importing.read.runner import Reasons, RejectedParts
from adalog.pipeline.importing.write.loading import ImportOutcome, load
from adalog.store.database import Database

T = TypeVar("T")
R = TypeVar("R")


class InProcess:
    """A runner over tables by the names of their sources. Rows come `partitions` ways, `batch` at a time."""

    def __init__(
        self,
        tables: Mapping[str, pa.Table],
        buckets: int = 3,
        partitions: int = 2,
        rows: int = 3,
        batch: int = 2,
    ) -> None:
        self.buckets = buckets
        self._tables = tables
        self._partitions = partitions
        self._rows = rows
        self._batch = batch
        self.rejected: list[tuple[str, int, str]] = []

    def columns(self, source: RowSource) -> Mapping[str, pa.DataType]:
        table = self._tables[source.name]
        return {field.name: field.type for field in table.schema}

    def named(self, source: DatomSource) -> Mapping[str, set[str]]:
        return named(batch.column("value") for batch in self._tables[source.name].to_batches(2))

    def files(self, source: AnySource) -> Mapping[int, str]:
        return {hash(source.name): source.name}

    def read(self, source: AnySource, names: Mapping[str, str], job: SourceJob) -> list[RowChunk]:
        from dataclasses import replace

        job = replace(job, rows=self._rows)
        table = self._tables[source.name]
        made = []
        for partition, (start, part) in enumerate(self._parts(table)):
            batches = self._batches(part, names, hash(source.name), start)
            made += list(chunks(batches, pickle.loads(pickle.dumps(job)), partition))
        return made

    def _parts(self, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        size = -(-table.num_rows // self._partitions) if table.num_rows else 1
        for start in range(0, table.num_rows, size):
            yield start, table.slice(start, size)

    def _batches(self, part: pa.Table, names: Mapping[str, str], file: int, block: int) -> Iterator[RowBatch]:
        for batch in part.combine_chunks().to_batches(self._batch):
            columns = {key: batch.column(name) for key, name in names.items()}
            n = batch.num_rows
            yield RowBatch(columns, n, np.full(n, file, np.int64), np.full(n, block, np.int64))

    def each(self, stage: str, work: Callable[[T], R], items: Sequence[T]) -> list[R]:
        # As over a wire: what tasks get and give back pickles.
        work = pickle.loads(pickle.dumps(work))
        return [pickle.loads(pickle.dumps(work(pickle.loads(pickle.dumps(item))))) for item in items]

    def quarantine(self, source: AnySource, rejected: RejectedParts, reasons: Reasons, to: Path) -> None:
        starts = [start for start, _ in self._parts(self._tables[source.name])]
        for partition, each in ((number, each) for number, own in rejected.items() for each in own):
            found = read_rejects(each.paths)
            for row, column, reason in zip(*(part.tolist() for part in found), strict=True):
                place = starts[partition] + each.start + row
                self.rejected.append((source.name, place, reasons[column][reason]))


def imported(
    database: Database, folder: Path, mapping: Mapping[str, Any], tables: Mapping[str, pa.Table], **options: Any
) -> tuple[ImportOutcome, list[tuple[str, int, str]]]:
    """What an import did, and the rows that it rejected: source, number, reason. The mapping is YAML's data."""
    file = folder / "mapping.yaml"
    file.write_text(json.dumps(mapping))
    sizes = {name: options.pop(name) for name in ("buckets", "partitions", "rows") if name in options}
    runner = InProcess(tables, **sizes)
    outcome = load(database, runner, read_mapping(file, {}), quarantine=folder / "quarantine", **options)
    return outcome, sorted(runner.rejected)
