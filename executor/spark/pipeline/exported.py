"""The folder of an export as what an import reads: its schema, its attributes, and, of Parquet, its files.

Ends with what tasks do: they read a file's chunks, and write the rows of it that were rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from datalog import edn
from datalog.errors import AdalogError, Code
from datalog.values import EdnMap, Keyword
from executor.spark.exporting.folder import SCHEMA, Listing, read_manifest
from executor.spark.pipeline.chunks import Chunk, Rows, SourceJob, chunks, read_rejects
from executor.spark.pipeline.datoms import IGNORED, DatomReader
from executor.spark.pipeline.edn_values import LIMITS
from executor.spark.pipeline.mapping import DatomSource
from executor.spark.pipeline.runner import Reasons, RejectedRows
from store.private import opener

_IDENT: Final = Keyword("db/ident")
_PREDS: Final = Keyword("db.attr/preds")
_BATCH: Final = 1 << 16


class PartFile(NamedTuple):
    """A file of an export. number: among all of them."""

    number: int
    path: str
    attribute: str


@dataclass(frozen=True)
class Exported:
    """What an export's folder says. files: those of Parquet."""

    folder: Path
    manifest: Listing
    forms: Sequence[EdnMap]
    files: tuple[PartFile, ...]

    @property
    def attributes(self) -> list[str]:
        """Those that an import reads."""
        return [each.attribute for each in self.manifest.attributes if each.attribute != IGNORED]

    @property
    def has_lines(self) -> bool:
        """Whether it has lines of EDN."""
        return self.manifest.format == "edn" and bool(self.manifest.attributes)

    def preds(self, ident: Keyword) -> set[str]:
        """The predicates that an attribute's values satisfied there."""
        for form in self.forms:
            if form.get(_IDENT) == ident:
                return set(map(str, form.get(_PREDS, ())))
        return set()


def read_export(source: DatomSource) -> Exported:
    path = source.files[0] if source.files else source.path.removeprefix("file://")
    if "://" in path:
        raise AdalogError(
            Code.ARG_INVALID, f"source {source.name}: an export is read from a folder that workers see, not {path}"
        )
    folder = Path(path).absolute()
    manifest = read_manifest(folder)
    try:
        forms = edn.read((folder / SCHEMA).read_text(encoding="utf-8"), LIMITS)
    except (OSError, UnicodeDecodeError) as error:
        raise AdalogError(Code.ARG_INVALID, f"{folder / SCHEMA} cannot be read: {error}") from None
    if type(forms) is not tuple or not all(isinstance(form, EdnMap) for form in forms):
        raise AdalogError(Code.ARG_INVALID, f"{folder / SCHEMA} is no vector of maps")
    files: list[PartFile] = []
    if manifest.format == "parquet":
        for each in manifest.attributes:
            if each.attribute != IGNORED:
                paths = [str(folder / each.folder / file.name) for file in each.files]
                files += [PartFile(len(files) + place, path, each.attribute) for place, path in enumerate(paths)]
    return Exported(folder, manifest, forms, tuple(files))


# Tasks


def read_part(job: SourceJob, part: PartFile) -> list[Chunk]:
    """The chunks of a file of an export."""
    assert isinstance(job.reader, DatomReader)
    job = replace(job, reader=replace(job.reader, own=part.attribute))
    return list(chunks(_rows(part), job, part.number))


def _rows(part: PartFile) -> Iterator[Rows]:
    with _opened(part) as file:
        for batch in file.iter_batches(_BATCH):
            columns = {name: batch.column(name) for name in batch.schema.names}
            n = batch.num_rows
            yield Rows(columns, n, np.full(n, part.number, np.int64), np.zeros(n, np.int64))


def _opened(part: PartFile) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(part.path)
    except (OSError, pa.ArrowInvalid) as error:
        raise AdalogError(Code.ARG_INVALID, f"{part.path} cannot be read: {error}") from None


class RejectedPart(NamedTuple):
    """What was rejected of a file: of each chunk how many rows come before it, and the files that name its rows."""

    part: PartFile
    chunks: tuple[tuple[int, tuple[str, ...]], ...]


def by_part(parts: Sequence[PartFile], rejected: Sequence[RejectedRows]) -> list[RejectedPart]:
    found: dict[int, list[tuple[int, tuple[str, ...]]]] = {}
    for rows in rejected:
        found.setdefault(rows.partition, []).append((rows.start, rows.paths))
    return [RejectedPart(parts[number], tuple(own)) for number, own in found.items()]


def write_rejected(source: str, reasons: Reasons, folder: str, rejected: RejectedPart) -> int:
    """Writes the rejected rows of a file as JSON lines; how many."""
    said: dict[int, str] = {}
    for start, paths in rejected.chunks:
        for row, column, reason in zip(*(each.tolist() for each in read_rejects(paths)), strict=True):
            said[start + row] = reasons[column][reason]
    path = Path(folder) / f"{source}-{rejected.part.number}.jsonl"
    at = 0
    with _opened(rejected.part) as file, open(path, "wb", opener=opener) as out:
        for batch in file.iter_batches(_BATCH):
            places = [place for place in range(at, at + batch.num_rows) if place in said]
            rows = batch.take(pa.array([place - at for place in places], pa.int64())).to_pylist()
            for place, row in zip(places, rows, strict=True):
                line = {
                    "source": source,
                    "file": rejected.part.path,
                    "row": {"a": rejected.part.attribute, **row},
                    "reason": said[place],
                }
                out.write(orjson.dumps(line, default=str) + b"\n")
            at += batch.num_rows
    return len(said)
