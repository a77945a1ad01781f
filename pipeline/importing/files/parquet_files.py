"""Parquet, by row groups. Only the columns that are asked for matter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from adalog.datalog.errors import invalid_argument
from adalog.pipeline.importing.files.arrow_paths import (
    is_list,
    is_map,
    is_struct,
    paths_of,
    plain,
    plain_type,
    splits,
    struct_type,
    structs_of,
    type_at,
    values_at,
)
from adalog.pipeline.importing.files.content import FileSplit, SourceFile
from adalog.pipeline.importing.files.durations import is_duration, schema_of, texts_of, with_intervals
from adalog.pipeline.importing.files.rows import FileColumn, FileRows, NestedColumns, Survey, no_column

_BATCH: Final = 1 << 16


@dataclass(frozen=True)
class ParquetFiles:
    """kinds: the types of columns that are texts in the files."""

    kinds: Mapping[str, str] = field(default_factory=dict)

    def starts(self, file: SourceFile, size: int) -> Iterator[int]:
        """Numbers of row groups, about `size` bytes apart."""
        yield 0
        if file.size <= size:
            return
        with _opened(file) as parquet:
            groups = [parquet.metadata.row_group(each) for each in range(parquet.num_row_groups)]
        packed = file.size / max(sum(group.total_byte_size for group in groups), 1)
        held = 0.0
        for number, group in enumerate(groups):
            if held and held + group.total_byte_size * packed > size:
                yield number
                held = 0.0
            held += group.total_byte_size * packed

    def rows(
        self,
        split: FileSplit,
        wanted: Sequence[str],
        exact: Collection[str],
        nested: Sequence[NestedColumns] = (),
    ) -> Iterator[FileRows]:
        with _opened(split.file) as parquet:
            schema = schema_of(parquet)
            cases = {name.lower() for name in schema.names}
            for name in wanted:
                # A missing column is null, and a misspelt one is not meant so.
                if name.lower() in cases and not any(_roots(name, schema)):
                    raise no_column(split.file.name, name, schema.names)
                _check(split.file, name, schema)
            for each in nested:
                _check_structs(split.file, each, schema)
            roots = {root for name in (*wanted, *(each.column for each in nested)) for root in _roots(name, schema)}
            for batch in parquet.iter_batches(_BATCH, _groups(parquet, split), sorted(roots)):
                rows = with_intervals(batch, schema).to_struct_array()
                found = {name: _column(rows, name) for name in wanted}
                structs = {
                    each.key: structs_of(values_at(rows, each.column), each, _column)
                    for each in nested
                    if type_at(rows.type, each.column) is not None
                }
                columns = {name: column for name, column in found.items() if column is not None}
                yield FileRows(columns, batch.num_rows, structs=structs)

    def survey(self, split: FileSplit, wanted: Collection[str], nested: Sequence[NestedColumns] = ()) -> Survey:
        found = Survey(rows=True)
        with _opened(split.file) as parquet:
            schema = schema_of(parquet)
            for each in schema:
                _survey_type(found, each.name, each.type, split.file)
                for path, kind in paths_of(each.type, each.name):
                    _survey_type(found, path, kind, split.file)
            for name in wanted:
                self._survey_key(found, name, pa.struct(list(schema)), name, split.file)
            for nest in nested:
                self._survey_keys(found, nest, pa.struct(list(schema)), str, split.file)
        for name, kind in self.kinds.items():
            found.columns[name] = {kind: f"{kind} in {split.file.name}"}
        return found

    def _survey_keys(
        self,
        found: Survey,
        nested: NestedColumns,
        kind: pa.DataType,
        said: Callable[[str], str],
        file: SourceFile,
    ) -> None:
        inner = struct_type(type_at(kind, nested.column), entries=nested.entries)
        for name in nested.names if inner is not None else ():
            self._survey_key(found, name, inner, said(nested.within(name)), file)
        for each in nested.nested if inner is not None else ():
            self._survey_keys(found, each, inner, lambda name: said(nested.within(name)), file)

    def _survey_key(self, found: Survey, name: str, kind: pa.DataType, said: str, file: SourceFile) -> None:
        """A path that ends with a key of a map, which no type names."""
        inner = type_at(kind, name)
        if inner is not None and said not in found.columns:
            _survey_type(found, said, inner, file)

    def told(self, split: FileSplit, wanted: Collection[int]) -> Iterator[tuple[int | None, Any]]:
        at = 0
        with _opened(split.file) as parquet:
            schema = schema_of(parquet)
            for batch in parquet.iter_batches(_BATCH, _groups(parquet, split)):
                own = np.array([place - at for place in wanted if at <= place < at + batch.num_rows], np.int64)
                rows = with_intervals(batch, schema).take(pa.array(np.sort(own)))
                texts = pa.table({name: _shown(rows.column(at)) for at, name in enumerate(rows.schema.names)})
                for row in texts.to_pylist():
                    yield None, {name: value for name, value in row.items() if value is not None}
                at += batch.num_rows


def _opened(file: SourceFile) -> pq.ParquetFile:
    # INT96, as Spark writes moments: nanoseconds would reach to the year 2262 alone, and go on in 1677.
    return pq.ParquetFile(file.path, coerce_int96_timestamp_unit="us")


def _shown(values: pa.Array) -> pa.Array:
    """Times as texts: Python does not have all of them."""
    if is_duration(values.type):
        return texts_of(values)
    if not pa.types.is_timestamp(values.type):
        return values
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return values.cast(pa.int64())


def _groups(parquet: pq.ParquetFile, split: FileSplit) -> range:
    return range(split.start, parquet.num_row_groups if split.stop is None else split.stop)


def _roots(path: str, schema: pa.Schema) -> Iterator[str]:
    """The column that a path begins with."""
    for name, _ in splits(path):
        if name in schema.names:
            yield name
            return


def _column(rows: pa.Array, name: str) -> FileColumn | None:
    if type_at(rows.type, name) is None:
        return None
    found = FileColumn.of(values_at(rows, name))
    # Items of lists, too.
    return replace(found, parts=[part._replace(values=plain(part.values)) for part in found.parts])


def _survey_type(found: Survey, name: str, kind: pa.DataType, file: SourceFile) -> None:
    inner = plain_type(kind)
    if is_list(inner) or is_map(inner):
        found.many.add(name)
    if is_list(inner):
        inner = plain_type(inner.value_type)
    found.add(name, _kind(inner), f"{kind} in {file.name}")


def _check(file: SourceFile, name: str, schema: pa.Schema, kind: pa.DataType | None = None, of: str = "") -> None:
    """Raises ARG_INVALID for a column that cannot be read. kind: of structs with it, in place of the rows."""
    if kind is None and len(schema.get_all_field_indices(name)) > 1:
        raise invalid_argument(f"{file.name} has several columns {name}; give them names of their own")
    if kind is None and not any(_roots(name, schema)):
        return
    found = type_at(pa.struct(list(schema)) if kind is None else kind, name)
    name = of + name
    if found is None:
        # Fields may be missing, as columns may.
        return
    found = plain_type(found.value_type) if is_list(found) else found
    if is_struct(found) or is_map(found):
        raise invalid_argument(
            f"column {name} of {file.name} holds {'structs' if is_struct(found) else 'maps'}; map the columns in "
            f"them, as `column: {name}.x`, or make them entities of their own with `attributes`"
        )
    if pa.types.is_nested(found):
        raise invalid_argument(f"column {name} of {file.name} holds lists of lists")
    if _kind(found) is None and not pa.types.is_null(found):
        raise invalid_argument(f"column {name} of {file.name} holds {found}, which no attribute has")


def _check_structs(
    file: SourceFile, wanted: NestedColumns, schema: pa.Schema, kind: pa.DataType | None = None, of: str = ""
) -> None:
    """Raises ARG_INVALID for a column without structs, and for columns in them that cannot be read."""
    found = type_at(pa.struct(list(schema)) if kind is None else kind, wanted.column)
    if found is None:
        return
    inner = struct_type(found, entries=wanted.entries)
    if inner is None:
        what = "a map" if wanted.entries else "a struct, or a list of them"
        more = ""
        if not wanted.entries and is_map(found):
            more = "; with `entries: true` each entry is an entity, with the columns key and value"
        raise invalid_argument(f"column {of}{wanted.column} of {file.name} holds {found}, and not {what}{more}")
    for name in wanted.names:
        _check(file, name, schema, inner, f"{of}{wanted.within('')}")
    for each in wanted.nested:
        _check_structs(file, each, schema, inner, f"{of}{wanted.within('')}")


def _kind(kind: pa.DataType) -> str | None:
    """The type that an attribute of such values has."""
    types = pa.types
    for name, tests in (
        ("string", (types.is_string, types.is_large_string, types.is_string_view)),
        ("long", (types.is_integer,)),
        ("double", (types.is_floating,)),
        ("boolean", (types.is_boolean,)),
        ("instant", (types.is_timestamp, types.is_date)),
        ("duration", (is_duration,)),
        ("bigdec", (types.is_decimal,)),
        ("bytes", (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)),
    ):
        if any(test(kind) for test in tests):
            return name
    return None
