"""The files of an export as an import reads them, in a folder or at an address: schema, attributes, datoms.

Tasks read the chunks of a file, and write its rejected rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from adalog.datalog import edn
from adalog.datalog.errors import invalid_argument
from adalog.datalog.values import EdnMap, Keyword
from adalog.pipeline.exporting.folder import SCHEMA, Listing, read_manifest
from adalog.pipeline.exporting.origin import ExportOrigin
from adalog.pipeline.importing.files.edn_lines import LINE
from adalog.pipeline.importing.files.rows import FileColumn, RowBatch
from adalog.pipeline.importing.read.chunks import RowChunk, SourceJob, chunks, read_rejects
from adalog.pipeline.importing.read.datoms import IGNORED, DatomReader
from adalog.pipeline.importing.read.edn_columns import LIMITS
from adalog.pipeline.importing.read.mapping import DatomSource
from adalog.pipeline.importing.read.runner import Reasons, RejectedRows
from adalog.store.files.permissions import opener

_IDENT: Final = Keyword("db/ident")
_PREDS: Final = Keyword("db.attr/preds")
_BATCH: Final = 1 << 16
# Bytes of lines that are read at once.
_PIECE: Final = 1 << 22


class PartFile(NamedTuple):
    """A file of an export. number: among all. name: below the export's place. lines: of EDN, not Parquet."""

    number: int
    origin: ExportOrigin
    name: str
    attribute: str
    lines: bool

    @property
    def path(self) -> str:
        """Where it is, as it may be said."""
        return self.origin.shown(self.name)


@dataclass(frozen=True)
class ExportListing:
    manifest: Listing
    forms: Sequence[EdnMap]
    files: tuple[PartFile, ...]

    @property
    def attributes(self) -> list[str]:
        return [each.attribute for each in self.manifest.attributes if each.attribute not in IGNORED]

    def preds(self, ident: Keyword) -> set[str]:
        """The predicates of an attribute's values there."""
        for form in self.forms:
            if form.get(_IDENT) == ident:
                return set(map(str, form.get(_PREDS, ())))
        return set()


def read_export(source: DatomSource) -> ExportListing:
    """The listing of a source's export. Raises ARG_INVALID if there is none, or it is incomplete."""
    origin = ExportOrigin(source.files[0] if source.files else source.path.removeprefix("file://"))
    manifest = read_manifest(origin)
    try:
        forms = edn.read(origin.content(SCHEMA).decode(), LIMITS)
    except (OSError, UnicodeDecodeError) as error:
        raise invalid_argument(f"{origin.shown(SCHEMA)} cannot be read: {error}") from None
    if type(forms) is not tuple or not all(isinstance(form, EdnMap) for form in forms):
        raise invalid_argument(f"{origin.shown(SCHEMA)} is no vector of maps")
    named = [
        (f"{each.folder}/{file.name}", each.attribute)
        for each in manifest.attributes
        if each.attribute not in IGNORED
        for file in each.files
    ]
    lines = manifest.format == "edn"
    files = tuple(PartFile(number, origin, *each, lines) for number, each in enumerate(named))
    return ExportListing(manifest, forms, files)


def read_part(job: SourceJob, part: PartFile) -> list[RowChunk]:
    assert isinstance(job.reader, DatomReader)
    if not part.lines:
        job = replace(job, reader=replace(job.reader, own=part.attribute))
    return list(chunks(_rows(part), job, part.number))


def _rows(part: PartFile) -> Iterator[RowBatch]:
    for batch in _batches(part):
        columns = {name: FileColumn.of(batch.column(name)) for name in batch.schema.names}
        n = batch.num_rows
        yield RowBatch(columns, n, np.full(n, part.number, np.int64), np.zeros(n, np.int64))


def _batches(part: PartFile) -> Iterator[pa.RecordBatch]:
    """The rows of a file: its columns, or its lines. Raises ARG_INVALID for what is no such file."""
    try:
        with part.origin.file(part.name) as file:
            if part.lines:
                yield from _line_batches(file)
                return
            with pq.ParquetFile(file) as parquet:
                yield from parquet.iter_batches(_BATCH)
    except (OSError, pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise invalid_argument(f"{part.path} cannot be read: {error}") from None


def _line_batches(file: Any) -> Iterator[pa.RecordBatch]:
    rest = b""
    while piece := file.read(_PIECE):
        *lines, rest = (rest + piece).split(b"\n")
        yield _lines_batch(lines)
    if rest:
        yield _lines_batch([rest])


def _lines_batch(lines: Sequence[bytes]) -> pa.RecordBatch:
    return pa.record_batch({LINE: pa.array(lines, pa.large_binary()).cast(pa.large_string())})


def write_rejected(
    source: str, reasons: Reasons, folder: str, item: tuple[PartFile, Sequence[RejectedRows]]
) -> int:
    """Writes the rejected rows of a file as JSON lines; how many."""
    said: dict[int, str] = {}
    part, rejected = item
    for chunk in rejected:
        for row, column, reason in zip(*(each.tolist() for each in read_rejects(chunk.paths)), strict=True):
            said[chunk.start + row] = str(reasons[column][reason])
    path = Path(folder) / f"{source}-{part.number}.jsonl"
    at = 0
    with open(path, "wb", opener=opener) as out:
        for batch in _batches(part):
            places = [place for place in range(at, at + batch.num_rows) if place in said]
            rows = batch.take(pa.array([place - at for place in places], pa.int64())).to_pylist()
            for place, row in zip(places, rows, strict=True):
                line: dict[str, Any] = {"source": source, "file": part.path}
                if part.lines:
                    line |= {"line": place + 1, "row": {"value": row[LINE]}}
                else:
                    line |= {"row": {"a": part.attribute, **row}}
                line["reason"] = said[place]
                out.write(orjson.dumps(line, default=str) + b"\n")
            at += batch.num_rows
    return len(said)
