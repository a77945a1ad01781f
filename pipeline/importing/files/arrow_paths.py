"""Paths into columns of Arrow: fields of structs, keys of maps, the structs of lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from adalog.pipeline.importing.files.rows import FileColumn, FileStructs, Int32s, NestedColumns

# Levels of structs that a survey shows.
_DEPTH: Final = 8


def is_list(kind: pa.DataType) -> bool:
    types = pa.types
    return any(test(kind) for test in (types.is_list, types.is_large_list, types.is_fixed_size_list, _is_list_view))


def _is_list_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def is_struct(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind))


def is_map(kind: pa.DataType) -> bool:
    return bool(pa.types.is_map(kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def plain(values: pa.Array) -> pa.Array:
    """The same without what only says how values are stored."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_float16(values.type):
        return values.cast(pa.float32())
    if pa.types.is_decimal32(values.type) or pa.types.is_decimal64(values.type):
        return values.cast(pa.decimal128(values.type.precision, values.type.scale))
    if pa.types.is_fixed_size_list(values.type) or _is_list_view(values.type):
        return values.cast(pa.list_(values.type.value_type))
    if pa.types.is_string_view(values.type):
        return values.cast(pa.large_string())
    return values.cast(pa.large_binary()) if pa.types.is_binary_view(values.type) else values


def splits(path: str) -> Iterator[tuple[str, str]]:
    """A path as a name and the path from there, the longest name first."""
    yield path, ""
    at = path.rfind(".")
    while at > 0:
        yield path[:at], path[at + 1 :]
        at = path.rfind(".", 0, at)


def type_at(kind: pa.DataType, path: str) -> pa.DataType | None:
    """The type of the values at a path; None if there are none."""
    kind = plain_type(kind)
    if not path:
        return kind
    if is_list(kind):
        inner = type_at(kind.value_type, path)
        return None if inner is None else pa.list_(inner)
    if is_map(kind):
        return plain_type(kind.item_type) if _key(kind, path) is not None else None
    for name, rest in splits(path) if is_struct(kind) else ():
        if kind.get_field_index(name) >= 0:
            return type_at(kind.field(name).type, rest)
    return None


def values_at(values: pa.Array, path: str) -> pa.Array:
    """The values at a path that `type_at` knows."""
    values = plain(values)
    if not path:
        return values
    if is_list(values.type):
        inner = values_at(values.values, path)
        return pa.LargeListArray.from_arrays(_offsets(values), inner, mask=values.is_null())
    if is_map(values.type):
        return plain(pc.map_lookup(values, _key(values.type, path), "last"))
    for name, rest in splits(path):
        at = values.type.get_field_index(name)
        if at >= 0:
            return values_at(pc.struct_field(values, [at]), rest)
    raise AssertionError("checked by type_at")


def _offsets(values: pa.Array) -> pa.Array:
    return pa.array(values.offsets.to_numpy().astype(np.int64))


def _key(kind: pa.DataType, path: str) -> pa.Scalar | None:
    """A path as a key of a map."""
    try:
        return pa.scalar(path, pa.string()).cast(plain_type(kind.key_type))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def struct_type(kind: pa.DataType | None, *, entries: bool) -> pa.DataType | None:
    """The type of the structs in a column, or of the entries of a map; None where it has none."""
    if kind is None:
        return None
    kind = plain_type(kind)
    if entries:
        return pa.struct([("key", kind.key_type), ("value", kind.item_type)]) if is_map(kind) else None
    kind = plain_type(kind.value_type) if is_list(kind) else kind
    return kind if is_struct(kind) else None


def paths_of(kind: pa.DataType, name: str, depth: int = 0) -> Iterator[tuple[str, pa.DataType]]:
    """The paths below a column, as a survey calls them, with their types."""
    kind = plain_type(kind)
    inner, ways = kind, [f"{name}."]
    if is_map(kind):
        inner, ways = struct_type(kind, entries=True), [f"{name}[]."]
    elif is_list(kind) and is_struct(plain_type(kind.value_type)):
        inner, ways = plain_type(kind.value_type), [f"{name}[].", f"{name}."]
    elif is_struct(kind):
        ways = [f"{name}.", f"{name}[]."]
    else:
        return
    for field in inner if depth < _DEPTH else ():
        for way in ways:
            is_many = is_list(kind) and way == f"{name}."
            yield way + field.name, pa.list_(field.type) if is_many else field.type
            yield from paths_of(field.type, way + field.name, depth + 1)


def structs_of(
    values: pa.Array, wanted: NestedColumns, column_of: Callable[[pa.Array, str], FileColumn | None]
) -> FileStructs:
    """The structs of a column for which `struct_type` has a type. column_of: a column of them, if they have it."""
    structs, owners, lists = _flat(values, entries=wanted.entries)
    columns = {name: column_of(structs, name) for name in wanted.names}
    nested = {}
    for each in wanted.nested:
        if struct_type(type_at(structs.type, each.column), entries=each.entries) is not None:
            nested[each.key] = structs_of(values_at(structs, each.column), each, column_of)
    return FileStructs(
        owners,
        {name: column for name, column in columns.items() if column is not None},
        np.empty(0, np.int32),
        lists,
        nested,
    )


def _flat(values: pa.Array, *, entries: bool) -> tuple[Any, Int32s, Int32s]:
    """The structs of all rows, the row of each, and the rows with a list."""
    values = plain(values)
    if entries:
        struct = pa.StructArray.from_arrays([values.keys, values.items], ["key", "value"])
        values = pa.LargeListArray.from_arrays(_offsets(values), struct, mask=values.is_null())
    rows = np.arange(len(values), dtype=np.int32)
    present = values.is_valid().to_numpy(zero_copy_only=False)
    lists = rows[:0]
    if is_list(values.type):
        lists = rows[present]
        rows = pc.list_parent_indices(values).to_numpy().astype(np.int32)
        values = plain(pc.list_flatten(values))
        present = values.is_valid().to_numpy(zero_copy_only=False)
    return values.filter(pa.array(present)), rows[present], lists
