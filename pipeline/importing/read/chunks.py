"""The first step: some hundred thousand rows of one source are typed and written as a chunk.

A chunk's values are numbers into its own lists of keys. The lists are cut into buckets by the keys' hashes, so that
a later step can unite the lists of one bucket over all chunks (`keys`). Unreadable rows are rejected.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from adalog.cluster.array_files import Arrays, read_arrays, write_arrays
from adalog.datalog.values import Keyword
from adalog.pipeline.importing.files.notation import PLAIN, Notation
from adalog.pipeline.importing.files.rows import FileColumn, Int32s, Int64s, RowBatch, StructRows
from adalog.pipeline.importing.read.typed_columns import INLINE, ValuePart, united
from adalog.store.transact.resolve import uses_type
from adalog.store.tries.signed import run_starts
from adalog.store.values import layout
from adalog.store.values.blocks.block import hashes_of
from adalog.store.values.bootstrap import LATER_TYPES
from adalog.store.values.keys import value_of_key

ROWS: Final = 1 << 19
"""Rows of a chunk."""
_MOST_BYTES: Final = 1 << 28

# What a key is used for, by an identity attribute: bits.
NAMED: Final = 1
"""A row's entity has it."""
CREATED: Final = 2
"""A ref means the entity that has it, and creates it if there is none."""
DELETED: Final = 4
"""A row retracts the entity that has it."""
PRESENT: Final = 8
"""A row of a whole table is about the entity that has it, whether the row was rejected or not."""

NO_DOMAIN: Final = -1
"""The domain of a column that has no value in any row; of that of the entities: each row is a new one."""
# Rows of a chunk, chunks of a partition, partitions of a source: so many bits of a row's own number.
_BITS: Final = (22, 15, 16)

_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


ENDING: Final = "ending-"
"""Begins the names of arrays of rows: whatever their entities have of the column's attribute ends."""
OWNERS: Final = "owners-"
"""Begins the names of arrays, by the column of the structs' entities: the row, or the struct, that has each."""
TOPS: Final = "tops-"
"""The same: the row that each struct is in, however deep."""
# Structs of a chunk, and chunks of a partition, in the numbers of structs that are new entities.
_STRUCT_BITS: Final = (28, 9, 16)


class Reason(IntEnum):
    NO_ENTITY = 0
    UNREADABLE = 1
    NO_TARGET = 2
    SECOND_VALUE = 3
    TAKEN = 4
    NO_DATOM = 5
    OWN_ATTRIBUTE = 6
    MALFORMED = 7


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """How tasks read one mapped column. name: in the frame; None: `key` of `domain` for every row. joined: in place
    of `name`, columns whose texts together are the value. identity: the number of the identity attribute whose
    values name entities: the row's own in the first column of a source, in others those that a ref means. replaces,
    retracts: as in the mapping. removal: DELETED or PRESENT for a column without values of its own, which has the
    entities of some rows; DELETED: of those with `key` in the named column, or of all. rounded: instants and
    durations are rounded to milliseconds. notation: how texts are written. structs: the column has the entities of
    structs; their key in batches. outer: the column with the entity that has the values: that of the row (0), or of
    the structs that the column is in. owns: entities of structs go with the values that a row replaces. new: the
    first part of the numbers of structs that are new entities."""

    name: str | None
    attribute: int
    read_as: str
    value_type: str
    split: str | None = None
    identity: int | None = None
    create: bool = False
    domain: int = 0
    key: int | bytes = 0
    replaces: bool = False
    retracts: bool = False
    removal: int = 0
    joined: tuple[str, ...] = ()
    rounded: bool = False
    notation: Notation = PLAIN
    structs: str = ""
    outer: int = 0
    owns: bool = False
    new: int = 0

    @property
    def is_unnamed(self) -> bool:
        """Whether it has the entities of structs without a key."""
        return bool(self.structs) and self.domain == NO_DOMAIN

    def usage(self, number: int) -> int:
        """What the keys of the column with this number are used for."""
        return self.removal or (NAMED if number == 0 else CREATED if self.create else 0)


class RowValues(NamedTuple):
    """Values by column, rejected rows, and more arrays: of all rows, or of columns' rows."""

    parts: list[tuple[int, ValuePart]]
    rejects: Rejects
    more: Arrays


class RowReader(Protocol):
    def read(self, rows: RowBatch, columns: Sequence[ColumnPlan]) -> RowValues:
        """The values of a batch. columns: the entity's first."""


@dataclass(frozen=True, slots=True)
class SourceJob:
    """What the tasks that read one source share. columns: the entity's first."""

    number: int
    columns: tuple[ColumnPlan, ...]
    folder: str
    buckets: int
    secrets: Mapping[int, bytes]
    reader: RowReader
    rows: int = ROWS


class RowChunk(NamedTuple):
    """A chunk's files and sizes. order: source, partition, number. values: how many per column. types: of those
    that were built in later, the ones of items of its tuples."""

    order: tuple[int, int, int]
    values_path: str
    keys_path: str
    rejects_path: str
    rows: int
    rejected: int
    values: tuple[int, ...]
    types: frozenset[Keyword] = frozenset()


class Rejects(NamedTuple):
    """Rejected rows of a chunk, in order, each once, with the column at fault and the reason."""

    rows: Int32s
    columns: Int32s
    reasons: Int32s


NO_REJECTS: Final = Rejects(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32))


def rejects_of(parts: Sequence[Rejects]) -> Rejects:
    """All of them together; of several reasons a row has the first."""
    if not parts:
        return NO_REJECTS
    rows, columns, reasons = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.lexsort((columns, reasons, rows))
    rows, columns, reasons = rows[order], columns[order], reasons[order]
    first = run_starts(rows)
    return Rejects(rows[first], columns[first], reasons[first])


def chunks(batches: Iterator[RowBatch], job: SourceJob, partition: int) -> Iterator[RowChunk]:
    ordinals: dict[tuple[int, int], int] = {}
    for number, rows in enumerate(_gathered(batches, job.rows)):
        yield _written(rows, job, (job.number, partition, number), ordinals)


def _gathered(batches: Iterator[RowBatch], wanted: int) -> Iterator[RowBatch]:
    """Batches of the wanted size, the last one less."""
    held: list[RowBatch] = []
    size = nbytes = 0
    for batch in batches:
        held.append(batch)
        size += batch.size
        nbytes += sum(column.nbytes for column in batch.columns.values())
        if size >= wanted or nbytes >= _MOST_BYTES:
            yield _joined(held)
            held, size, nbytes = [], 0, 0
    if size:
        yield _joined(held)


def _joined(parts: Sequence[RowBatch]) -> RowBatch:
    sizes = [part.size for part in parts]
    starts = np.cumsum([0, *sizes], dtype=np.int32)
    inner = {key: [len(part.structs[key].owners) for part in parts] for key in parts[0].structs}
    within = {name: key for key, own in parts[0].structs.items() for name in own.columns}
    return RowBatch(
        {
            name: FileColumn.concat([part.columns[name] for part in parts], inner.get(within.get(name, ""), sizes))
            for name in parts[0].columns
        },
        sum(sizes),
        np.concatenate([part.file for part in parts]),
        np.concatenate([part.block for part in parts]),
        np.concatenate([part.malformed + start for part, start in zip(parts, starts, strict=False)]),
        {
            key: _joined_structs([part.structs[key] for part in parts], inner.get(own.outer, sizes))
            for key, own in parts[0].structs.items()
        },
    )


def _joined_structs(parts: Sequence[StructRows], sizes: Sequence[int]) -> StructRows:
    """sizes: how many owners the parts have."""
    starts = np.cumsum([0, *sizes[:-1]], dtype=np.int32)
    owners, bad, lists = (
        np.concatenate([array + start for array, start in zip(own, starts, strict=True)])
        for own in zip(*(part[2:] for part in parts), strict=True)
    )
    return StructRows(*parts[0][:2], owners, bad, lists)


def _written(
    rows: RowBatch, job: SourceJob, order: tuple[int, int, int], ordinals: dict[tuple[int, int], int]
) -> RowChunk:
    parts, rejects, more = job.reader.read(rows, job.columns)
    accepted = accepted_rows(rows.size, rejects)
    parts = [(number, _renumbered(job.columns[number], part, order)) for number, part in parts]
    if len(rejects.rows):
        parts = [
            (
                number,
                part
                if job.columns[number].removal == PRESENT
                else part.kept(accepted[tops_of(job.columns, number, part.rows, more)]),
            )
            for number, part in parts
        ]
    if job.columns[0].domain == NO_DOMAIN:
        parts = [(0, _own_numbers(rows.size, order).kept(accepted)), *parts]
    stem = "-".join(map(str, order))
    values, keys = _numbered(parts, job)
    values |= _places(rows, ordinals) | more
    return RowChunk(
        order,
        write_arrays(job.folder, f"values-{stem}", values),
        write_arrays(job.folder, f"keys-{rows.size}-{stem}", keys),
        write_rejects(job.folder, stem, rejects) if len(rejects.rows) else "",
        rows.size,
        len(rejects.rows),
        tuple(sum(len(part.rows) for number, part in parts if number == at) for at in range(len(job.columns))),
        frozenset(ident for _, part in parts for ident in _types_within(part)),
    )


def _types_within(part: ValuePart) -> Iterator[Keyword]:
    """The types of `LATER_TYPES` among the items of tuples, whose attributes need not declare them."""
    if part.domain == layout.TAG_OTHER:
        used = part.keys.take(pa.array(np.unique(part.index)))
        for key in used.to_pylist():
            value = value_of_key(layout.TAG_OTHER, key)
            yield from (ident for ident in LATER_TYPES if uses_type(value, ident))


def accepted_rows(count: int, rejects: Rejects) -> NDArray[np.bool_]:
    accepted = np.ones(count, np.bool_)
    accepted[rejects.rows] = False
    return accepted


def _own_numbers(count: int, order: tuple[int, int, int]) -> ValuePart:
    """A number for each row of a chunk that no other row of the import has."""
    number = 0
    for own, bits in zip(order, (0, *_BITS[:0:-1]), strict=True):
        assert bits == 0 or own < 1 << bits, "more chunks than their numbers"
        number = (number << bits) | own
    assert count <= 1 << _BITS[0]
    codes = (number << _BITS[0]) + np.arange(count, dtype=np.int64)
    every = np.arange(count, dtype=np.int32)
    return ValuePart(INLINE, every, every, codes)


def _renumbered(column: ColumnPlan, part: ValuePart, order: tuple[int, int, int]) -> ValuePart:
    """Numbers of structs of a chunk that are new entities as numbers that no row of the import has, and no other
    struct."""
    if not column.is_unnamed:
        return part
    within, chunk, partition = _STRUCT_BITS
    assert len(part.keys) <= 1 << within
    assert order[2] < 1 << chunk
    assert order[1] < 1 << partition
    first = (((column.new << partition) | order[1]) << chunk | order[2]) << within
    return replace(part, keys=first + part.keys)


def tops_of(columns: Sequence[ColumnPlan], number: int, places: Int32s, arrays: Arrays) -> Int32s:
    """The rows that places of a column's values are in: places are rows already, or structs."""
    column = columns[number]
    within = number if column.structs else column.outer
    return arrays[f"{TOPS}{within}"][places] if within else places


def write_rejects(folder: str, stem: str, rejects: Rejects) -> str:
    return write_arrays(folder, f"rejects-{stem}", rejects._asdict())


def read_rejects(paths: Sequence[str]) -> Rejects:
    return rejects_of([Rejects(**read_arrays(path)) for path in paths])


def rejects_for(rows: Int32s, column: int, reason: Reason) -> Rejects:
    count = len(rows)
    return Rejects(rows, np.full(count, column, np.int32), np.full(count, reason, np.int32))


def _places(rows: RowBatch, ordinals: dict[tuple[int, int], int]) -> Arrays:
    """Runs of rows of one block of a file: first row, file, block, and the first row's number within the block."""
    first = np.flatnonzero(run_starts(rows.file, rows.block))
    ends = np.append(first[1:], rows.size)
    ordinal = []
    for start, end in zip(first.tolist(), ends.tolist(), strict=True):
        key = int(rows.file[start]), int(rows.block[start])
        ordinal.append(ordinals.get(key, 0))
        ordinals[key] = ordinal[-1] + end - start
    return {
        "first": first.astype(np.int64),
        "file": rows.file[first],
        "block": rows.block[first],
        "ordinal": np.array(ordinal, np.int64),
    }


def _numbered(parts: Sequence[tuple[int, ValuePart]], job: SourceJob) -> tuple[Arrays, Arrays]:
    """The chunk's values, and its keys by bucket."""
    values: Arrays = {}
    by_domain: dict[int, list[tuple[int, ValuePart]]] = defaultdict(list)
    for number, part in parts:
        if part.domain == INLINE and job.columns[number].identity is None:
            values[f"{number}.code.rows"] = part.rows
            values[f"{number}.code.values"] = part.keys[part.index]
        else:
            by_domain[part.domain].append((number, part))
    keys: Arrays = {}
    for domain, own in by_domain.items():
        every, numbers = united([part for _, part in own])
        values[f"size.{domain}"] = np.array([len(every)], np.int64)
        usage: dict[int, NDArray[np.uint8]] = {}
        used, sought = np.zeros(len(every), np.bool_), np.zeros(len(every), np.bool_)
        for (number, part), local in zip(own, numbers, strict=True):
            index = local[part.index]
            values[f"{number}.{domain}.rows"] = part.rows
            values[f"{number}.{domain}.values"] = index
            column = job.columns[number]
            (sought if column.removal else used)[index] = True
            if column.identity is not None:
                flags = usage.setdefault(column.identity, np.zeros(len(every), np.uint8))
                flags[index] |= np.uint8(column.usage(number))
        keys |= _bucketed(domain, every, used, sought & ~used, usage, job)
    return values, keys


def _bucketed(
    domain: int,
    keys: Int64s | pa.LargeBinaryArray,
    asserted: NDArray[np.bool_],
    sought: NDArray[np.bool_],
    usage: Mapping[int, NDArray[np.uint8]],
    job: SourceJob,
) -> Arrays:
    """asserted: the keys that rows may assert. sought: those that are only looked up."""
    hashes, used = None, np.flatnonzero(asserted | sought)
    if domain == INLINE:
        bucket = ((keys[used].view(np.uint64) * _SPREAD) >> np.uint64(33)) % np.uint64(job.buckets)
    else:
        hashes = hashes_of(keys.take(pa.array(used)).to_pylist(), job.secrets[domain])
        bucket = hashes % np.uint32(job.buckets)
    arrays: Arrays = {}
    order = np.argsort(bucket, kind="stable")
    ends = np.searchsorted(bucket[order], np.arange(job.buckets + 1))
    for number in range(job.buckets):
        chosen = order[ends[number] : ends[number + 1]]
        if not len(chosen):
            continue
        at, name = used[chosen], f"{number}.{domain}"
        arrays[f"{name}.index"] = at.astype(np.int32)
        if domain == INLINE:
            arrays[f"{name}.keys"] = keys[at]
        else:
            arrays |= binary_arrays(name, keys.take(pa.array(at)))
            assert hashes is not None
            arrays[f"{name}.hashes"] = hashes[chosen]
        if sought[at].any():
            arrays[f"{name}.sought"] = sought[at]
        for identity, flags in usage.items():
            arrays[f"{name}.usage.{identity}"] = flags[at]
    return arrays


def binary_arrays(name: str, keys: pa.LargeBinaryArray) -> Arrays:
    """Keys as arrays of a staged file."""
    ends = np.frombuffer(keys.buffers()[1], np.int64)[keys.offset : keys.offset + len(keys) + 1]
    heap = keys.buffers()[2]
    content = np.empty(0, np.uint8) if heap is None else np.frombuffer(heap, np.uint8)[ends[0] : ends[-1]]
    return {f"{name}.offsets": ends - ends[0], f"{name}.heap": content}


def binary_of(name: str, arrays: Arrays) -> pa.LargeBinaryArray:
    offsets, heap = arrays[f"{name}.offsets"], arrays[f"{name}.heap"]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(heap)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def places_of(values: Arrays, rows: Int32s) -> tuple[Int64s, Int64s, Int64s]:
    """(file hash, start of the block, number within the block) of rows of a chunk."""
    first: Int64s = values["first"]
    at = first.searchsorted(rows, side="right") - 1
    ordinal: Int64s = values["ordinal"][at] + (rows - first[at])
    return values["file"][at], values["block"][at], ordinal
