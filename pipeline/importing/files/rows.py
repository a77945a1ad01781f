"""Rows of files as batches of columns. Each value keeps the type that it has in its own row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from adalog.datalog.errors import AdalogError, invalid_argument
from adalog.datalog.hints import nearest

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

NO_ROWS: Final = np.empty(0, np.int32)


class ColumnPart(NamedTuple):
    """Values of one type: rows[i] has values[i], and may have several. digits: numbers as the texts that stand in
    the file."""

    rows: Int32s
    values: pa.Array
    digits: bool = False


@dataclass(frozen=True, eq=False)
class FileColumn:
    """A column's values by type. bad: the rows with what no attribute can hold. lists: those with a list, which may
    be empty."""

    parts: Sequence[ColumnPart]
    bad: Int32s = field(default_factory=NO_ROWS.copy)
    lists: Int32s = field(default_factory=NO_ROWS.copy)

    @classmethod
    def of(cls, values: pa.Array) -> FileColumn:
        """Row i has the value at place i."""
        rows = np.arange(len(values), dtype=np.int32)
        if not (pa.types.is_list(values.type) or pa.types.is_large_list(values.type)):
            return cls((ColumnPart(rows, values),))
        lists = rows[values.is_valid().to_numpy(zero_copy_only=False)]
        # A null may have items, which flattening leaves out and numbering does not.
        values = values.drop_null()
        owners = lists[pc.list_parent_indices(values).to_numpy()]
        return cls((ColumnPart(owners, pc.list_flatten(values)),), lists=lists)

    @classmethod
    def concat(cls, columns: Sequence[FileColumn], sizes: Sequence[int]) -> FileColumn:
        """The columns one below the other. sizes: the rows of each."""
        parts: dict[tuple[pa.DataType, bool], list[ColumnPart]] = {}
        bad, lists, start = [], [], 0
        for column, size in zip(columns, sizes, strict=True):
            for part in column.parts:
                own = part._replace(rows=part.rows + np.int32(start))
                parts.setdefault((part.values.type, part.digits), []).append(own)
            bad.append(column.bad + np.int32(start))
            lists.append(column.lists + np.int32(start))
            start += size
        return cls(
            [
                ColumnPart(
                    np.concatenate([part.rows for part in own]),
                    pa.concat_arrays([part.values for part in own]),
                    digits,
                )
                for (_, digits), own in parts.items()
            ],
            np.concatenate(bad),
            np.concatenate(lists),
        )

    @property
    def values(self) -> pa.Array:
        """The values of a column that has one for each row."""
        [part] = self.parts
        return part.values

    @property
    def nbytes(self) -> int:
        return sum(part.values.nbytes for part in self.parts)


def no_column(place: str, name: str, names: Collection[str]) -> AdalogError:
    return invalid_argument(
        f"{place} has no column {name}{nearest(name, names)}; its columns are {', '.join(names)}"
    )


@dataclass(frozen=True)
class NestedColumns:
    """The wanted columns of the structs in a column. key: their name in batches. columns: names in structs by names
    in batches. exact: those whose numbers a double might change. entries: the column is a map, and its entries are
    the structs, with `key` and `value`."""

    key: str
    column: str
    columns: Mapping[str, str]
    exact: frozenset[str] = frozenset()
    entries: bool = False
    nested: tuple[NestedColumns, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.columns.values()))

    def within(self, name: str) -> str:
        """What a survey calls a column of the structs."""
        return f"{self.column}[].{name}"


class FileStructs(NamedTuple):
    """The structs of a column. owners: the row of each, or the struct that it is in. bad: owners with what is no
    struct. lists: owners with a list, which may be empty."""

    owners: Int32s
    columns: Mapping[str, FileColumn]
    bad: Int32s
    lists: Int32s
    nested: Mapping[str, FileStructs]


NO_STRUCTS: Final = FileStructs(NO_ROWS, MappingProxyType({}), NO_ROWS, NO_ROWS, MappingProxyType({}))


class FileRows(NamedTuple):
    """Some rows of a file. malformed: those that break their format. structs: by key."""

    columns: Mapping[str, FileColumn]
    size: int
    malformed: Int32s = NO_ROWS
    structs: Mapping[str, FileStructs] = MappingProxyType({})


class StructRows(NamedTuple):
    """Structs of a batch, as `FileStructs`. outer: the key of the structs that they are in, "" for rows. columns:
    the keys of theirs."""

    outer: str
    columns: tuple[str, ...]
    owners: Int32s
    bad: Int32s
    lists: Int32s


class RowBatch(NamedTuple):
    """Some rows of a source, with the number of each one's file and the start of its split. Columns of structs
    number these, which are by key, the outer ones first."""

    columns: Mapping[str, FileColumn]
    size: int
    file: Int64s
    block: Int64s
    malformed: Int32s = NO_ROWS
    structs: Mapping[str, StructRows] = MappingProxyType({})


@dataclass
class Survey:
    """The columns of files in their order: an example of each type that their values have. many: columns with
    lists. rows: whether there is a row that does not break its format."""

    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    many: set[str] = field(default_factory=set)
    rows: bool = False

    def add(self, name: str, kind: str | None = None, example: str = "") -> None:
        kinds = self.columns.setdefault(name, {})
        if kind is not None:
            kinds.setdefault(kind, example)

    def merge(self, other: Survey) -> None:
        for name, kinds in other.columns.items():
            self.add(name)
            for kind, example in kinds.items():
                self.add(name, kind, example)
        self.many |= other.many
        self.rows |= other.rows
