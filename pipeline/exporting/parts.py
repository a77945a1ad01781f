"""What tasks do: each writes files of some entities' datoms of some attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from adalog.cluster.shipping import ShippedSnapshot
from adalog.datalog.edn.writer import write
from adalog.datalog.errors import invalid_argument
from adalog.pipeline.exporting.edn_columns import lines_of, texts_of
from adalog.pipeline.exporting.folder import File
from adalog.pipeline.exporting.target import ExportTarget
from adalog.pipeline.exporting.value_columns import OtherType, TooLarge, column_of, decimal_texts, type_of
from adalog.store.tries.columns import Columns
from adalog.store.values import layout
from adalog.store.values.codes import Codes
from adalog.store.values.decimals import DecimalDigits, digits_of

ATTRIBUTE_KEY: Final = "adalog.attribute"
TYPE_KEY: Final = "adalog.type"

# Rows of a group of Parquet, and of what is made EDN at once.
_GROUP: Final = {"parquet": 1 << 19, "edn": 1 << 17}
_NUMBERS: Final = frozenset({"long", "ref"})
_NO_DICTIONARY: Final = frozenset({"long", "ref", "double", "float", "instant", "boolean"})


@dataclass(frozen=True, slots=True)
class ExportJob:
    to: ExportTarget
    format: str
    history: bool


class ExportShare(NamedTuple):
    """An attribute's datoms of the entities from `low` to before `high`: one file, with its number. database: the
    part that is needed. decimals: of all the attribute's values, if a column of decimals holds them."""

    database: ShippedSnapshot
    attribute: int
    ident: str
    type: str
    folder: str
    number: int
    low: int
    high: int
    decimals: DecimalDigits | None = None


def decimals_of(shares: Sequence[ExportShare]) -> list[tuple[int, DecimalDigits]]:
    """By attribute, the digits of a share's bigdecs."""
    found = []
    for share in shares:
        snapshot = share.database.open()
        v = snapshot.columns_between(share.attribute, share.low, share.high).v
        own = v[layout.tags_of(v) == layout.TAG_BIGDEC]
        found.append((share.attribute, digits_of(decimal_texts(snapshot.codes, own))))
    return found


def write_shares(job: ExportJob, shares: Sequence[ExportShare]) -> list[tuple[int, File]]:
    written = []
    for share in shares:
        snapshot = share.database.open()
        rows = snapshot.columns_between(share.attribute, share.low, share.high)
        # Another attempt at this task may write, too.
        name = f"part-{share.number:05}-{uuid4().hex[:8]}.{job.format}"
        with job.to.file(f"{share.folder}/{name}") as file:
            if job.format == "parquet":
                _write_parquet(file, job, share, rows, snapshot.codes)
            else:
                _write_edn(file, share, rows, snapshot.codes)
            size = file.tell()
        written.append((share.attribute, File(name, len(rows), size)))
    return written


def _write_parquet(file: BinaryIO, job: ExportJob, share: ExportShare, rows: Columns, codes: Codes) -> None:
    kind = type_of(share.type) if share.decimals is None else share.decimals.type
    is_text = share.type not in _NO_DICTIONARY
    fields = [
        pa.field("e", pa.int64(), nullable=False),
        pa.field(
            "v", pa.dictionary(pa.int32(), kind) if is_text and share.decimals is None else kind, nullable=False
        ),
        pa.field("t", pa.int64(), nullable=False),
    ]
    if job.history:
        fields.append(pa.field("added", pa.bool_(), nullable=False))
    schema = pa.schema(fields)
    packed = ["e", "v"] if share.type in _NUMBERS else ["e"]
    options: dict[str, Any] = {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": ["t", "v"] if is_text else ["t"],
        "column_encoding": dict.fromkeys(packed, "DELTA_BINARY_PACKED"),
        "sorting_columns": [pq.SortingColumn(0)],
        # Readers need not know of dictionaries.
        "store_schema": False,
    }
    with pq.ParquetWriter(file, schema, **options) as writer:
        writer.add_key_value_metadata({ATTRIBUTE_KEY: share.ident, TYPE_KEY: share.type})
        for piece in _pieces(rows, _GROUP["parquet"]):
            for columns in _parquet_columns(piece, share, job.history, codes):
                writer.write_batch(pa.record_batch(columns, schema=schema), row_group_size=len(piece))


def _parquet_columns(rows: Columns, share: ExportShare, history: bool, codes: Codes) -> Iterator[list[pa.Array]]:
    """The columns of a row group, or of several, where the values are large."""
    try:
        v = column_of(codes, rows.v, share.type)
        if share.decimals is not None:
            v = v.dictionary.cast(share.decimals.type).take(v.indices)
    except TooLarge:
        for half in _halves(rows):
            yield from _parquet_columns(half, share, history, codes)
        return
    except OtherType:
        raise invalid_argument(
            f"{share.ident} had values of other types before it became a {share.type}, which a column cannot hold: "
            "export with --format edn, or without --history"
        ) from None
    yield [pa.array(rows.e), v, pa.array(rows.t), *([pa.array(rows.added)] if history else [])]


def _write_edn(file: BinaryIO, share: ExportShare, rows: Columns, codes: Codes) -> None:
    for piece in _pieces(rows, _GROUP["edn"]):
        for lines in _lines(piece, share, codes):
            ends = np.frombuffer(lines.buffers()[1], np.int64)
            file.write(
                memoryview(lines.buffers()[2])[int(ends[lines.offset]) : int(ends[lines.offset + len(lines)])]
            )


def _lines(rows: Columns, share: ExportShare, codes: Codes) -> Iterator[pa.Array]:
    try:
        v = texts_of(codes, rows.v, share.type)
    except TooLarge:
        for half in _halves(rows):
            yield from _lines(half, share, codes)
        return
    except OtherType:
        v = pa.array([write(value) for value in codes.decode_many(rows.v)], pa.large_string())
    yield lines_of(rows.e, share.ident, v, rows.t, rows.added)


def _pieces(rows: Columns, size: int) -> Iterator[Columns]:
    for start in range(0, len(rows), size):
        yield _slice(rows, start, start + size)


def _halves(rows: Columns) -> tuple[Columns, Columns]:
    middle = len(rows) // 2
    assert middle, "a single value is smaller"
    return _slice(rows, 0, middle), _slice(rows, middle, len(rows))


def _slice(rows: Columns, start: int, stop: int) -> Columns:
    which = slice(start, stop)
    return Columns(rows.e[which], rows.v[which], rows.t[which], rows.added[which])
