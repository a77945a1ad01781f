"""Parquet, by row groups. Only the columns that are asked for matter."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from adalog.datalog.errors import invalid_argument
from adalog.pipeline.importing.files.content import FileSplit, SourceFile
from adalog.pipeline.importing.files.rows import FileColumn, FileRows, Survey

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
        with pq.ParquetFile(file.path) as parquet:
            groups = [parquet.metadata.row_group(each) for each in range(parquet.num_row_groups)]
        packed = file.size / max(sum(group.total_byte_size for group in groups), 1)
        held = 0.0
        for number, group in enumerate(groups):
            if held and held + group.total_byte_size * packed > size:
                yield number
                held = 0.0
            held += group.total_byte_size * packed

    def rows(self, split: FileSplit, wanted: Sequence[str], exact: Collection[str]) -> Iterator[FileRows]:
        with pq.ParquetFile(split.file.path) as parquet:
            names = parquet.schema_arrow.names
            own = [name for name in wanted if name in names]
            for name in own:
                _check(split.file, name, parquet.schema_arrow)
            for batch in parquet.iter_batches(_BATCH, _groups(parquet, split), own):
                columns = {name: FileColumn.of(_plain(batch.column(name))) for name in own}
                yield FileRows(columns, batch.num_rows)

    def survey(self, split: FileSplit, wanted: Collection[str]) -> Survey:
        found = Survey(rows=True)
        with pq.ParquetFile(split.file.path) as parquet:
            for each in parquet.schema_arrow:
                kind = _plain_type(each.type)
                if _is_list(kind):
                    found.many.add(each.name)
                    kind = kind.value_type
                known = self.kinds.get(each.name) or _kind(kind)
                found.add(each.name, known, f"{each.type} in {split.file.name}")
        return found

    def told(self, split: FileSplit, wanted: Collection[int]) -> Iterator[tuple[int | None, Any]]:
        at = 0
        with pq.ParquetFile(split.file.path) as parquet:
            for batch in parquet.iter_batches(_BATCH, _groups(parquet, split)):
                own = np.array([place - at for place in wanted if at <= place < at + batch.num_rows], np.int64)
                rows = batch.take(pa.array(np.sort(own)))
                texts = pa.table({name: _shown(rows.column(at)) for at, name in enumerate(rows.schema.names)})
                for row in texts.to_pylist():
                    yield None, {name: value for name, value in row.items() if value is not None}
                at += batch.num_rows


def _shown(values: pa.Array) -> pa.Array:
    """Times as texts: Python does not have all of them."""
    if not pa.types.is_timestamp(values.type):
        return values
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return values.cast(pa.int64())


def _groups(parquet: pq.ParquetFile, split: FileSplit) -> range:
    return range(split.start, parquet.num_row_groups if split.stop is None else split.stop)


def _check(file: SourceFile, name: str, schema: pa.Schema) -> None:
    """Raises ARG_INVALID for a column that cannot be read."""
    if len(schema.get_all_field_indices(name)) > 1:
        raise invalid_argument(f"{file.name} has several columns {name}; give them names of their own")
    kind = _plain_type(schema.field(name).type)
    kind = _plain_type(kind.value_type) if _is_list(kind) else kind
    if pa.types.is_duration(kind):
        raise invalid_argument(
            f"column {name} of {file.name} holds durations ({kind}), which no attribute has; write them as numbers"
        )
    if pa.types.is_nested(kind):
        raise invalid_argument(f"column {name} of {file.name} holds maps or lists of lists")
    if _kind(kind) is None and not pa.types.is_null(kind):
        raise invalid_argument(f"column {name} of {file.name} holds {kind}, which no attribute has")


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _plain(values: pa.Array) -> pa.Array:
    """The same without what only says how values are stored."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_float16(values.type):
        return values.cast(pa.float32())
    if pa.types.is_fixed_size_list(values.type):
        return values.cast(pa.list_(values.type.value_type))
    if pa.types.is_string_view(values.type):
        return values.cast(pa.large_string())
    return values.cast(pa.large_binary()) if pa.types.is_binary_view(values.type) else values


def _kind(kind: pa.DataType) -> str | None:
    """The type that an attribute of such values has."""
    types = pa.types
    for name, tests in (
        ("string", (types.is_string, types.is_large_string, types.is_string_view)),
        ("long", (types.is_integer,)),
        ("double", (types.is_floating,)),
        ("boolean", (types.is_boolean,)),
        ("instant", (types.is_timestamp, types.is_date)),
        ("bigdec", (types.is_decimal,)),
        ("bytes", (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary)),
    ):
        if any(test(kind) for test in tests):
            return name
    return None
