"""Batches as bytes between the driver and its workers: an Arrow stream with metadata.

A share or an answer crosses Spark as one binary value, so that the Java side never takes rows apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from adalog.executor.join.batch import Batch, Column
from adalog.store.files.packing import pack, unpack

_SAID: Final = b"said"
_SIZE: Final = "size"
_WEIGHT: Final = "#weight"
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="lz4")


def arrays_of(batch: Batch) -> dict[str, Column]:
    """A batch's columns, its weights under a name that no variable can have."""
    return {**batch.columns, _WEIGHT: batch.weight} if batch.weight is not None else dict(batch.columns)


def batch_of(size: int, arrays: dict[str, Column]) -> Batch:
    weight = arrays.pop(_WEIGHT, None)
    return Batch(size, arrays, weight)


def to_bytes(batch: Batch, said: Mapping[str, Any]) -> pa.Buffer:
    """`said`: EDN values, or lists and string-keyed dicts of them."""
    columns = arrays_of(batch)
    schema = pa.schema([(name, pa.int64()) for name in columns]).with_metadata(
        {_SAID: pack({**said, _SIZE: batch.size})}
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=_OPTIONS) as writer:
        if columns:
            writer.write_batch(pa.record_batch([pa.array(column) for column in columns.values()], schema=schema))
    return sink.getvalue()


def from_bytes(data: bytes | pa.Buffer) -> tuple[Batch, dict[str, Any]]:
    """The batch, in arrays of its own, and what was said beside it."""
    with pa.ipc.open_stream(data) as reader:
        said = unpack(reader.schema.metadata[_SAID])
        columns: dict[str, np.ndarray[Any, np.dtype[np.int64]]] = {}
        if len(reader.schema):
            table = reader.read_all()
            for name in reader.schema.names:
                # Kernels are compiled for arrays that may be written to.
                columns[name] = np.array(table.column(name).to_numpy())
    return batch_of(said.pop(_SIZE), columns), said


def said_in(data: bytes | pa.Buffer) -> dict[str, Any]:
    """What was said beside a batch, which is not read."""
    with pa.ipc.open_stream(data) as reader:
        said: dict[str, Any] = unpack(reader.schema.metadata[_SAID])
    return said


def column_of(values: Sequence[pa.Buffer]) -> pa.Array:
    """The values as one Arrow column; a single one, which may be large, without a copy."""
    if len(values) != 1:
        return pa.array([value.to_pybytes() for value in values], pa.binary())
    ends = pa.py_buffer(np.array([0, values[0].size], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, ends, values[0]])
