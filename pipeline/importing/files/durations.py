"""Columns of durations: those of Arrow are times, and Parquet's intervals of months, days and milliseconds."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from adalog.datalog.durations import Duration

INTERVAL: Final = pa.month_day_nano_interval()
_ROW: Final = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])
_IN_PARQUET: Final = np.dtype([("months", "<u4"), ("days", "<u4"), ("milliseconds", "<u4")])
_MOST: Final = 2**63 - 1
_NANOSECONDS: Final = 1_000_000
_PER_MILLISECOND: Final = {"ms": 1, "us": 1000, "ns": _NANOSECONDS}


def is_duration(kind: pa.DataType) -> bool:
    return bool(pa.types.is_duration(kind) or pa.types.is_interval(kind))


def months_days_milliseconds(
    values: pa.Array, *, rounded: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """int64[n, 3], and which are no durations here: too large, or finer than milliseconds unless these are rounded,
    halves away from zero. Nulls are anything."""
    parts = np.zeros((len(values), 3), np.int64)
    if pa.types.is_interval(values.type):
        rows = np.frombuffer(values.buffers()[1], _ROW)[values.offset : values.offset + len(values)]
        parts[:, 0], parts[:, 1] = rows["months"], rows["days"]
        parts[:, 2] = rows["nanoseconds"] // _NANOSECONDS
        # Those of Parquet have no sign: from 2^31 on they are negative here.
        return parts, (parts[:, 0] < 0) | (parts[:, 1] < 0)
    ticks = values.cast(pa.int64()).fill_null(0).to_numpy()
    if values.type.unit == "s":
        most = _MOST // 1000
        parts[:, 2] = 1000 * np.clip(ticks, -most, most)
        return parts, parts[:, 2] // 1000 != ticks
    per = _PER_MILLISECOND[values.type.unit]
    # The least integer has no opposite, and is no duration.
    whole, rest = np.divmod(np.abs(np.maximum(ticks, -_MOST)), per)
    parts[:, 2] = (whole + (2 * rest >= per)) * np.sign(ticks)
    return parts, (ticks < -_MOST) | ((rest > 0) & (not rounded))


def texts_of(values: pa.Array) -> pa.Array:
    """Each as ISO 8601 has it; those finer than milliseconds are rounded."""
    parts, _ = months_days_milliseconds(values)
    known = values.is_valid().to_pylist()
    rows = zip(parts.tolist(), known, strict=True)
    return pa.array([str(Duration(*row)) if is_known else None for row, is_known in rows], pa.string())


def intervals_in(file: pq.ParquetFile) -> frozenset[str]:
    """The columns of intervals, which Arrow takes for bytes."""
    columns = (file.schema.column(i) for i in range(len(file.schema)))
    return frozenset(each.path for each in columns if each.converted_type == "INTERVAL" and each.path == each.name)


def schema_of(file: pq.ParquetFile) -> pa.Schema:
    """The file's, with intervals as what they are."""
    intervals = intervals_in(file)
    return pa.schema([each.with_type(INTERVAL) if each.name in intervals else each for each in file.schema_arrow])


def with_intervals(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the columns of a schema of `schema_of`."""
    fields = [schema.field(name) for name in batch.schema.names]
    if not any(pa.types.is_interval(each.type) for each in fields):
        return batch
    columns = [
        _interval(column) if pa.types.is_interval(each.type) else column
        for column, each in zip(batch.columns, fields, strict=True)
    ]
    return pa.record_batch(columns, schema=pa.schema(fields))


def _interval(values: pa.Array) -> pa.Array:
    known = values.is_valid()
    raw = np.frombuffer(b"".join(each or bytes(12) for each in values.to_pylist()), _IN_PARQUET)
    rows = np.zeros(len(values), _ROW)
    rows["months"], rows["days"] = raw["months"].astype("<i4"), raw["days"].astype("<i4")
    rows["nanoseconds"] = raw["milliseconds"].astype("<i8") * _NANOSECONDS
    return pa.Array.from_buffers(INTERVAL, len(values), [known.buffers()[1], pa.py_buffer(rows)])
