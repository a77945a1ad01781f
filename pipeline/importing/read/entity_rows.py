"""Rows of which each is about an entity: their values, the entities that they retract, and their faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from adalog.cluster.array_files import Arrays
from adalog.pipeline.importing.files.rows import FileColumn, Int32s, RowBatch
from adalog.pipeline.importing.read.chunks import (
    DELETED,
    ENDING,
    NO_DOMAIN,
    OWNERS,
    PRESENT,
    TOPS,
    ColumnPlan,
    Reason,
    Rejects,
    RowValues,
    rejects_for,
    rejects_of,
    tops_of,
)
from adalog.pipeline.importing.read.typed_columns import INLINE, TypedColumn, ValuePart, typed
from adalog.store.values import layout

_PLAIN: Final = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean)
JOINING: Final = "|"
"""Between the texts of a key of several columns."""


class EntityReader:
    """Reads rows of which each is about an entity."""

    def read(self, rows: RowBatch, columns: Sequence[ColumnPlan]) -> RowValues:
        return _values(rows, columns)


def _values(rows: RowBatch, columns: Sequence[ColumnPlan]) -> RowValues:
    places = _places(rows, columns)
    read = [
        _read(column, rows, _size(rows, column.structs or columns[column.outer].structs))
        for column in columns
        if not column.removal
    ]
    read = _without_empty_structs(rows, columns, read)
    parts = [(number, part) for number, column in enumerate(read) for part in column.parts]
    rejected = [
        rejects_for(tops_of(columns, number, column.bad, places), number, Reason.UNREADABLE)
        for number, column in enumerate(read)
    ]
    rejected += _unreadable_structs(rows, columns, read, places)
    has_entity = _with_entity(read[0], rows.size)
    if columns[0].domain == NO_DOMAIN:
        has_entity[:] = True
    describes = np.ones(rows.size, np.bool_)
    for number, column in enumerate(columns):
        if column.removal == DELETED:
            describes, bad = _not_deleted(column, rows)
            rejected.append(rejects_for(bad, number, Reason.UNREADABLE))
            parts = [(own, part.kept(describes[tops_of(columns, own, part.rows, places)])) for own, part in parts]
            parts += [(number, part.kept(~describes[part.rows])) for part in read[0].parts]
        elif column.removal == PRESENT:
            parts += [(number, part.kept(has_entity[part.rows])) for part in read[0].parts]
    rejects = _unreadable(rejected, has_entity, read[0].bad, rows.malformed)
    describes[rejects.rows] = False
    for number, column in enumerate(columns):
        if column.replaces or column.retracts:
            within = np.flatnonzero(_ending(column, rows, read[number], _size(rows, columns[column.outer].structs)))
            tops = places[f"{TOPS}{column.outer}"][within] if column.outer else within
            places[f"{ENDING}{number}"] = within[describes[tops]].astype(np.int32)
    return RowValues(parts, rejects, places)


def _size(rows: RowBatch, structs: str) -> int:
    """The number of structs by their key; without one, of rows."""
    return len(rows.structs[structs].owners) if structs else rows.size


def _places(rows: RowBatch, columns: Sequence[ColumnPlan]) -> Arrays:
    """The owners of all structs, and the rows that they are in, by the columns with their entities."""
    arrays: Arrays = {}
    for number, column in enumerate(columns):
        if column.structs:
            owners = rows.structs[column.structs].owners
            arrays[f"{OWNERS}{number}"] = owners
            arrays[f"{TOPS}{number}"] = arrays[f"{TOPS}{column.outer}"][owners] if column.outer else owners
    return arrays


def _without_empty_structs(
    rows: RowBatch, columns: Sequence[ColumnPlan], read: Sequence[TypedColumn]
) -> list[TypedColumn]:
    """The columns without structs that have neither a key nor values, which are no entities."""
    found = list(read)
    # Inner structs, which come after those around them, are values of these.
    for number in reversed([number for number, column in enumerate(columns) if column.is_unnamed]):
        has_values = np.zeros(_size(rows, columns[number].structs), np.bool_)
        inner = [at for at, column in enumerate(columns) if column.outer == number and not column.removal]
        for at in inner:
            owners = rows.structs[columns[at].structs].owners if columns[at].structs else None
            for part in found[at].parts if columns[at].structs or columns[at].name is not None else ():
                has_values[part.rows if owners is None else owners[part.rows]] = True
        constant = [at for at in inner if not columns[at].structs and columns[at].name is None]
        for at in (number, *constant):
            parts = [part.kept(has_values[part.rows]) for part in found[at].parts]
            found[at] = TypedColumn(parts, found[at].bad)
    return found


def _unreadable_structs(
    rows: RowBatch, columns: Sequence[ColumnPlan], read: Sequence[TypedColumn], places: Arrays
) -> list[Rejects]:
    """The rows with something else than structs, and with structs that do not name their entities."""
    rejected = []
    for number, (column, own) in enumerate(zip(columns, read, strict=False)):
        if not column.structs:
            continue
        bad = rows.structs[column.structs].bad
        bad = places[f"{TOPS}{column.outer}"][bad] if column.outer else bad
        rejected.append(rejects_for(np.unique(bad).astype(np.int32), number, Reason.MALFORMED))
        if column.domain != NO_DOMAIN:
            missing = ~_with_entity(own, _size(rows, column.structs))
            missing[own.bad] = False
            tops = places[f"{TOPS}{number}"][missing]
            rejected.append(rejects_for(np.unique(tops).astype(np.int32), number, Reason.NO_ENTITY))
    return rejected


def joined(columns: Sequence[FileColumn], size: int) -> FileColumn:
    """The texts of several columns as one, from which they can be told: null where one of them is empty."""
    texts, bad = [], [column.bad for column in columns]
    for column in columns:
        text, others = _texts(column, size)
        bad.append(others)
        text = pc.if_else(pc.equal(pc.utf8_trim_whitespace(text), ""), pa.scalar(None, text.type), text)
        text = pc.replace_substring(text, "\\", "\\\\")
        texts.append(pc.replace_substring(text, JOINING, f"\\{JOINING}"))
    keys = pc.binary_join_element_wise(*texts, pa.scalar(JOINING, pa.large_string()), null_handling="emit_null")
    return FileColumn(FileColumn.of(keys).parts, np.unique(np.concatenate(bad)))


def _texts(column: FileColumn, size: int) -> tuple[pa.Array, Int32s]:
    """A column's texts, whole numbers and booleans as texts, one a row; and the rows that have another value, or
    several."""
    places, found, bad = np.full(size, -1, np.int64), [], [column.lists]
    start = 0
    for part in column.parts:
        rows = part.rows[part.values.is_valid().to_numpy(zero_copy_only=False)]
        if part.digits or not any(test(part.values.type) for test in _PLAIN):
            bad.append(rows)
            continue
        places[rows] = start + np.arange(len(rows))
        found.append(part.values.drop_null().cast(pa.large_string()))
        start += len(rows)
    values = pa.concat_arrays(found) if found else pa.array([], pa.large_string())
    return values.take(pa.array(places, mask=places < 0)), np.concatenate(bad)


def _with_entity(entity: TypedColumn, count: int) -> NDArray[np.bool_]:
    """Which rows have a value that names their entity."""
    found = np.zeros(count, np.bool_)
    for part in entity.parts:
        found[part.rows] = True
        empty = _empty(part)
        if empty is not None:
            found[part.rows[part.index == empty]] = False
    return found


def _not_deleted(column: ColumnPlan, rows: RowBatch) -> tuple[NDArray[np.bool_], Int32s]:
    """Which rows do not retract their entities, and the rows that do not tell."""
    if column.name is None:
        return np.zeros(rows.size, np.bool_), np.empty(0, np.int32)
    found = np.ones(rows.size, np.bool_)
    read = _read(column, rows, rows.size)
    for part in read.parts:
        if part.domain == column.domain:
            keys = part.keys.tolist() if part.domain == INLINE else part.keys.to_pylist()
            if column.key in keys:
                found[part.rows[part.index == keys.index(column.key)]] = False
    return found, read.bad


def _ending(column: ColumnPlan, rows: RowBatch, read: TypedColumn, size: int) -> NDArray[np.bool_]:
    """The rows or structs that retract what their entities have of a column's attribute, unless rows assert it.
    size: how many there are."""
    structs = rows.structs[column.structs] if column.structs else None
    has_values = np.zeros(size, np.bool_)
    for part in read.parts:
        has_values[part.rows if structs is None else structs.owners[part.rows]] = True
    found = np.zeros(size, np.bool_)
    if column.replaces:
        found |= has_values
        # An empty list is a whole list, too.
        if structs is not None:
            found[structs.lists] = True
        elif column.name is not None and not column.joined:
            found[rows.columns[column.name].lists] = True
    if column.retracts:
        found |= ~has_values
    return found


def _read(column: ColumnPlan, rows: RowBatch, size: int) -> TypedColumn:
    if column.joined:
        texts = joined([rows.columns[name] for name in column.joined], size)
        return typed(texts, column.read_as, column.value_type)
    if column.name is None:
        every = np.arange(size, dtype=np.int32)
        if column.domain == NO_DOMAIN:
            # Their numbers among those of the import follow.
            numbers = [ValuePart(INLINE, every, every, every.astype(np.int64))] if column.is_unnamed else []
            return TypedColumn(numbers, every[:0])
        keys = np.array([column.key]) if column.domain == INLINE else pa.array([column.key], pa.large_binary())
        return TypedColumn([ValuePart(column.domain, every, np.zeros(size, np.int32), keys)], every[:0])
    return typed(
        rows.columns[column.name],
        column.read_as,
        column.value_type,
        column.split,
        rounded=column.rounded,
        notation=column.notation,
    )


def _unreadable(rejected: list[Rejects], has_entity: NDArray[np.bool_], bad: Int32s, malformed: Int32s) -> Rejects:
    """All that is wrong with rows. bad: those with an unreadable entity."""
    missing = ~has_entity
    missing[bad] = False
    rejected.append(rejects_for(np.flatnonzero(missing).astype(np.int32), 0, Reason.NO_ENTITY))
    if len(malformed):
        # Other faults of such a row follow from this one.
        others = [np.isin(each.rows, malformed, invert=True) for each in rejected]
        rejected = [Rejects(*(col[own] for col in each)) for each, own in zip(rejected, others, strict=True)]
        rejected.append(rejects_for(malformed, 0, Reason.MALFORMED))
    return rejects_of(rejected)


def _empty(part: ValuePart) -> int | None:
    """The number of the empty text among a part's keys."""
    if part.domain != layout.TAG_STRING:
        return None
    offsets = np.frombuffer(part.keys.buffers()[1], np.int64)[
        part.keys.offset : part.keys.offset + len(part.keys) + 1
    ]
    found = np.flatnonzero(offsets[1:] == offsets[:-1])
    return int(found[0]) if len(found) else None
