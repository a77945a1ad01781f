"""A source's files, divided into shares for tasks: what their columns hold, their rows as chunks, rejected rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from adalog.datalog.errors import unavailable
from adalog.pipeline.importing.files.content import FileSplit, SourceFile, reading, shown
from adalog.pipeline.importing.files.listing import FileState, listed, state_of
from adalog.pipeline.importing.files.options import FileFormat, file_format
from adalog.pipeline.importing.files.parquet_files import ParquetFiles
from adalog.pipeline.importing.files.rows import (
    NO_STRUCTS,
    FileColumn,
    FileRows,
    FileStructs,
    NestedColumns,
    RowBatch,
    StructRows,
    Survey,
)
from adalog.pipeline.importing.read.chunks import RowChunk, SourceJob, chunks, read_rejects
from adalog.pipeline.importing.read.mapping import AnySource, RowSource
from adalog.pipeline.importing.read.runner import (
    FoundFile,
    ImportRunner,
    Reasons,
    RejectedParts,
    RejectedRows,
    UnreadableValue,
    no_files,
    said_of_row,
)
from adalog.store.files.permissions import opener

_LEAST_BYTES = 1 << 22

Share = tuple[FileSplit, ...]


@dataclass(frozen=True)
class SourceFiles:
    """One source's files. shares: what one task reads; by numbers of partitions. last: how far a table was read.
    states: of files here, before anything was read."""

    source: AnySource
    form: FileFormat
    files: Sequence[SourceFile]
    shares: Sequence[Share]
    last: str | None = None
    states: Mapping[str, FileState | None] = field(default_factory=dict)

    @classmethod
    def of(cls, source: AnySource, runner: ImportRunner, folder: Path, first: int) -> SourceFiles:
        """The files, which are numbered from `first` on. Raises ARG_INVALID if there are none."""
        last = None
        if isinstance(source, RowSource) and source.sql is not None:
            rows = runner.table(source, folder)
            found = [FoundFile(each, source.sql.name) for each in listed([str(rows.folder)], {}, literal=True)]
            form: FileFormat = ParquetFiles(rows.kinds)
            last = rows.last
        else:
            found, form = runner.files(source, folder), file_format(source.format, source.path, source.options)
        if not found:
            raise no_files(source)
        files = [
            SourceFile(number, each.file.path, each.name, each.file.size, each.file.partitions)
            for number, each in enumerate(found, first)
        ]
        states = {file.path: state_of(file.path) for file in files}
        size = max(_LEAST_BYTES, sum(file.size for file in files) // runner.buckets)
        size = min(size, runner.share_bytes)
        large = [file for file in files if file.size > size]
        starts = {}
        if large:
            found_starts = runner.each(f"dividing {source.name}", partial(_starts, form, size), large)
            starts = dict(zip([file.number for file in large], found_starts, strict=True))
        splits = [split for file in files for split in _splits(file, starts.get(file.number, [0]))]
        shares = list(_shares(splits, size))
        runner.buckets = max(runner.buckets, len(shares))
        return cls(source, form, files, shares, last, states)

    def survey(self, runner: ImportRunner, wanted: Collection[str], nested: Sequence[NestedColumns] = ()) -> Survey:
        """The columns of all files. wanted, nested: those whose types matter."""
        found = Survey()
        work = partial(_survey, self.form, tuple(sorted(wanted)), tuple(nested))
        for each in runner.each(f"looking at {self.source.name}", work, self.shares):
            found.merge(each)
        return found

    def read(
        self,
        runner: ImportRunner,
        names: Mapping[str, str],
        exact: Collection[str],
        job: SourceJob,
        nested: Sequence[NestedColumns] = (),
    ) -> list[RowChunk]:
        """The rows as chunks. names: the files' columns by the names that the job has for them. Raises
        BACKEND_UNAVAILABLE if a file was changed meanwhile."""
        reader = ShareReader(self.form, names, frozenset(exact), tuple(nested))
        folder = Path(job.folder)
        found = runner.each(
            f"reading {self.source.name}",
            partial(_chunks, reader, job),
            list(enumerate(self.shares)),
            lambda: _rows_written(folder),
        )
        for file in self.files:
            state = state_of(file.path)
            if state is not None and state != self.states[file.path]:
                raise unavailable(
                    f"{file.name} was changed while it was read, and nothing was imported; import it when it is "
                    "whole"
                )
        return [chunk for own in found for chunk in own]

    def quarantine(self, runner: ImportRunner, rejected: RejectedParts, reasons: Reasons, to: Path) -> None:
        """Writes rejected rows, as they are in the files, into a folder."""
        work = partial(_write_rejected, self.source.name, self.form, reasons, str(to.absolute()))
        items = [(number, self.shares[number], own) for number, own in rejected.items()]
        runner.each(f"writing rejected rows of {self.source.name}", work, items)


@dataclass(frozen=True)
class ShareReader:
    """names: columns of files by the names that batches have for them."""

    form: FileFormat
    names: Mapping[str, str]
    exact: frozenset[str]
    nested: tuple[NestedColumns, ...] = ()

    def batches(self, share: Share) -> Iterator[RowBatch]:
        for split in share:
            given = dict(split.file.partitions)
            wanted = [name for name in dict.fromkeys(self.names.values()) if name not in given]
            with reading(split.file):
                for rows in self.form.rows(split, wanted, self.exact, self.nested):
                    if rows.size:
                        yield self._batch(split, rows, given)

    def _batch(self, split: FileSplit, rows: FileRows, given: Mapping[str, str | None]) -> RowBatch:
        columns = {}
        for key, name in self.names.items():
            column = rows.columns.get(name)
            if column is None and given.get(name) is not None:
                column = FileColumn.of(pa.repeat(pa.scalar(given[name], pa.string()), rows.size))
            columns[key] = FileColumn(()) if column is None else column
        structs: dict[str, StructRows] = {}
        _flatten(self.nested, rows.structs, "", columns, structs)
        file, block = np.full(rows.size, split.file.number, np.int64), np.full(rows.size, split.start, np.int64)
        return RowBatch(columns, rows.size, file, block, rows.malformed, structs)


def _flatten(
    nested: Sequence[NestedColumns],
    found: Mapping[str, FileStructs],
    outer: str,
    columns: dict[str, FileColumn],
    structs: dict[str, StructRows],
) -> None:
    """Adds the structs, and their columns, to those of a batch. outer: the key of the structs that they are in."""
    for each in nested:
        own = found.get(each.key, NO_STRUCTS)
        structs[each.key] = StructRows(outer, tuple(each.columns), own.owners, own.bad, own.lists)
        columns |= {key: own.columns.get(name, FileColumn(())) for key, name in each.columns.items()}
        _flatten(each.nested, own.nested, each.key, columns, structs)


def _starts(form: FileFormat, size: int, file: SourceFile) -> list[int]:
    with reading(file):
        return list(form.starts(file, size))


def _splits(file: SourceFile, starts: Sequence[int]) -> Iterator[FileSplit]:
    for start, stop in pairwise((*starts, None)):
        assert start is not None
        yield FileSplit(file, start, stop)


def _shares(splits: Sequence[FileSplit], size: int) -> Iterator[Share]:
    """Splits one after the other; small files share a task."""
    held: list[FileSplit] = []
    left = 0
    for split in splits:
        is_whole = split.start == 0 and split.stop is None
        nbytes = split.file.size if is_whole else size
        if held and left < nbytes:
            yield tuple(held)
            held = []
        if not held:
            left = size
        held.append(split)
        left -= nbytes
    if held:
        yield tuple(held)


def _survey(form: FileFormat, wanted: Sequence[str], nested: Sequence[NestedColumns], share: Share) -> Survey:
    found = Survey()
    for split in share:
        with reading(split.file):
            found.merge(form.survey(split, wanted, nested))
        for name, value in split.file.partitions:
            found.columns[name] = {"string": str(value)}
    return found


def _chunks(reader: ShareReader, job: SourceJob, item: tuple[int, Share]) -> list[RowChunk]:
    partition, share = item
    return list(chunks(reader.batches(share), job, partition))


def _rows_written(folder: Path) -> int:
    return sum(int(path.name.split("-")[1]) for path in folder.glob("keys-*"))


def _write_rejected(
    source: str,
    form: FileFormat,
    reasons: Reasons,
    folder: str,
    item: tuple[int, Share, Sequence[RejectedRows]],
) -> None:
    """Writes the rejected rows of a share as JSON lines."""
    partition, share, rejected = item
    said: dict[int, str | UnreadableValue] = {}
    for chunk in rejected:
        for row, column, reason in zip(*(each.tolist() for each in read_rejects(chunk.paths)), strict=True):
            said[chunk.start + row] = reasons[column][reason]
    at = 0
    path = Path(folder) / f"{source}-{partition}.jsonl"
    with open(path, "wb", opener=opener) as out:
        for split in share:
            # Rows are numbered through the share.
            size = sum(rows.size for rows in form.rows(split, (), ())) if len(share) > 1 else 0
            own = {row - at for row in said if row >= at and (len(share) == 1 or row < at + size)}
            if own:
                for row, (line, content) in zip(sorted(own), form.told(split, own), strict=True):
                    _write_row(out, source, split, line, content, said[at + row])
            at += size


def _write_row(
    out: Any, source: str, split: FileSplit, line: int | None, content: Any, reason: str | UnreadableValue
) -> None:
    place = {} if line is None else {"line": line}
    if split.file.partitions and isinstance(content, dict):
        content = {**content, **dict(split.file.partitions)}
    told = {
        "source": source,
        "file": split.file.name,
        **place,
        "row": content,
        "reason": said_of_row(reason, content),
    }
    out.write(orjson.dumps(told, default=shown) + b"\n")
