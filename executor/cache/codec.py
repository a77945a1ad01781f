"""Cached answers as bytes that any gateway can read: Arrow IPC with lz4, in an envelope that says what it is.

The envelope has a format version, the key and a checksum; what does not match is no entry. Columns of one type are
Arrow's own, everything else is MessagePack of the value as it is, cell by cell. Nothing is ever unpickled.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Protocol
from uuid import UUID

import numpy as np
import pyarrow as pa

from adalog.datalog.durations import Duration
from adalog.datalog.values import BigInt, Float, Keyword, Symbol, Uri
from adalog.executor.answer.result import Result
from adalog.executor.answer.types import type_of
from adalog.planner.model.multiplicity import DroppedRows
from adalog.store.files.packing import instant, milliseconds, pack_as_written, unpack
from adalog.store.values.layout import tags_of

VERSION: Final = 1
KEY_BYTES: Final = 32
_OPTIONS: Final = pa.ipc.IpcWriteOptions(compression="lz4")

Values = Sequence[Any]


class NotAnEntryError(ValueError):
    """Bytes that are not the entry of that key in this format."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """How the values of one type are held by Arrow. None stands for nil."""

    storage: pa.DataType
    write: Callable[[Any], Any] | None
    read: Callable[[Any], Any] | None


_KINDS: Final[Mapping[str, _Kind]] = {
    "long": _Kind(pa.int64(), None, None),
    "string": _Kind(pa.large_string(), None, None),
    "double": _Kind(pa.float64(), None, None),
    "boolean": _Kind(pa.bool_(), None, None),
    "bytes": _Kind(pa.large_binary(), None, None),
    "float": _Kind(pa.float32(), None, Float),
    "keyword": _Kind(pa.large_string(), lambda value: value.name, Keyword),
    "symbol": _Kind(pa.large_string(), lambda value: value.name, Symbol),
    "uri": _Kind(pa.large_string(), str, Uri),
    "uuid": _Kind(pa.binary(16), lambda value: value.bytes, lambda data: UUID(bytes=data)),
    "instant": _Kind(pa.int64(), milliseconds, instant),
    "bigint": _Kind(pa.large_string(), lambda value: f"{value:x}", lambda text: BigInt(text, 16)),
    "duration": _Kind(pa.large_string(), str, Duration.read),
    "bigdec": _Kind(pa.large_string(), str, Decimal),
    "any": _Kind(pa.large_binary(), pack_as_written, unpack),
}


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """One column of an entry; its values are made when they are read."""

    type: str
    array: pa.Array

    def __len__(self) -> int:
        return len(self.array)

    def values(self, start: int = 0, stop: int | None = None) -> list[Any]:
        stop = len(self.array) if stop is None else min(stop, len(self.array))
        values: list[Any] = self.array.slice(start, max(0, stop - start)).to_pylist()
        read = _KINDS[self.type].read
        if read is None:
            return values
        if self.type == "keyword":
            # The same few many times over.
            known = {text: Keyword(text) for text in set(values)}
            return [known[text] for text in values]
        return [read(value) for value in values]


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """The columns of an answer, the engine that computed it, and how many equal values fell together on the way."""

    columns: tuple[StoredColumn, ...]
    engine: str = ""
    dropped: Mapping[str, DroppedRows] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return sum(column.array.nbytes for column in self.columns)


def entry_of(result: Result) -> CacheEntry:
    columns = []
    for codes, column in zip(result.codes, result.columns, strict=True):
        kind = type_of(codes) if len(codes) or column.type not in _KINDS else column.type
        if kind == "long" and not tags_of(codes).any():
            columns.append(StoredColumn(kind, pa.array(np.ascontiguousarray(codes))))
        elif kind == "string":
            columns.append(StoredColumn(kind, result.values.to_arrow(codes).cast(pa.large_string())))
        else:
            columns.append(stored(kind, result.values.decode_many(codes) if len(codes) else []))
    return CacheEntry(tuple(columns), result.engine, result.dropped)


def stored(kind: str, values: Values) -> StoredColumn:
    write = _KINDS[kind].write
    written = values if write is None else list(map(write, values))
    return StoredColumn(kind, pa.array(written, _KINDS[kind].storage))


class Seal(Protocol):
    """What ties an entry's bytes to its key. `magic`: the format's name and version."""

    magic: bytes
    size: int

    def over(self, key: bytes, body: bytes) -> bytes: ...


class Checksum:
    """Finds damage, but no forgery: any client of Redis can make one."""

    magic: bytes = b"adalog" + bytes((VERSION,))
    size: int = 16

    def over(self, key: bytes, body: bytes) -> bytes:
        return hashlib.blake2b(body, digest_size=self.size, key=key).digest()


class Signature:
    """HMAC-SHA256 by a secret that all gateways share."""

    magic: bytes = b"adalog" + bytes((VERSION | 0x80,))
    size: int = 32

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    def over(self, key: bytes, body: bytes) -> bytes:
        return hmac.digest(self._secret, b"".join((self.magic, key, body)), "sha256")


UNSIGNED: Final = Checksum()


def encode(key: bytes, entry: CacheEntry, seal: Seal = UNSIGNED) -> bytes:
    names = [f"{place} {column.type}" for place, column in enumerate(entry.columns)]
    batch = pa.record_batch([column.array for column in entry.columns], names=names)
    metadata = {"engine": entry.engine}
    if entry.dropped:
        metadata["dropped"] = json.dumps(entry.dropped)
    batch = batch.replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_OPTIONS) as writer:
        writer.write_batch(batch)
    body = sink.getvalue().to_pybytes()
    return b"".join((seal.magic, key, seal.over(key, body), body))


def decode(key: bytes, data: bytes, seal: Seal = UNSIGNED) -> CacheEntry:
    """The entry under that key and seal. Raises NotAnEntryError for everything else, whatever the bytes are."""
    start = len(seal.magic)
    if data[:start] != seal.magic:
        raise NotAnEntryError("another format, or none")
    sealed = start + KEY_BYTES
    if data[start:sealed] != key:
        raise NotAnEntryError("the entry of another key")
    body = data[sealed + seal.size :]
    if not hmac.compare_digest(data[sealed : sealed + seal.size], seal.over(key, body)):
        raise NotAnEntryError("damaged, or not signed by the secret")
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            batch = reader.read_next_batch()
        batch.validate(full=True)
        pairs = zip([name.partition(" ")[2] for name in batch.schema.names], batch.columns, strict=True)
        columns = tuple(StoredColumn(kind, _checked(kind, array)) for kind, array in pairs)
        metadata = batch.schema.metadata or {}
        engine = metadata[b"engine"].decode()
        dropped = _dropped(json.loads(metadata.get(b"dropped", b"{}")))
    except (pa.ArrowException, StopIteration, KeyError, ValueError, TypeError, OSError) as error:
        raise NotAnEntryError(str(error)) from None
    return CacheEntry(columns, engine, dropped)


def _dropped(said: Any) -> dict[str, DroppedRows]:
    """What an entry's text says fell together. Raises ValueError for anything else."""
    if not isinstance(said, dict):
        raise ValueError("no numbers by their rules")
    found = {}
    for name, pair in said.items():
        match pair:
            case [int() as number, bool() as exact] if not isinstance(number, bool):
                found[name] = DroppedRows(number, exact)
            case _:
                raise ValueError(f"no number and whether it is exact: {pair}")
    return found


def _checked(kind: str, array: pa.Array) -> pa.Array:
    if array.type != _KINDS[kind].storage:
        raise NotAnEntryError(f"a column of type {kind} is held as {array.type}")
    return array
