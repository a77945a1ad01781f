"""Datoms as data frames, partitioned by ranges of entities; tasks read only what the filters leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import types
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema

from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.datalog.values import Keyword
from adalog.executor.source.arrow_types import EDN, arrow_column, spark_type
from adalog.executor.source.data_folder import DataFolder
from adalog.executor.source.filters import DatomFilter
from adalog.executor.source.refusals import refusing
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.columns import Columns
from adalog.store.tries.trie import distinct
from adalog.store.values.attribute import Attribute

# Rows of a batch, and the entities that are looked up for one.
_BATCH: Final = 1 << 16
ROWS: Final = 1_000_000
"""Rows of a partition, more or less."""


def schema_of(place: DataFolder, ident: Keyword | None) -> types.StructType:
    """The columns of all datoms, or of one attribute's, whose values then have its type."""
    v = types.StringType() if ident is None else spark_type(type_of(named(place.open(), ident)))
    columns: list[tuple[str, types.DataType]] = [("e", types.LongType())]
    columns += [("a", types.StringType())] if ident is None else []
    columns += [("v", v), ("t", types.LongType())]
    columns += [("added", types.BooleanType())] if place.history else []
    return types.StructType([types.StructField(name, kind) for name, kind in columns])


def named(snapshot: Snapshot, ident: Keyword) -> Attribute:
    """The attribute of an ident. Raises UNKNOWN_ATTRIBUTE."""
    attribute = snapshot.attribute(ident)
    if attribute is None:
        raise AdalogError(Code.UNKNOWN_ATTRIBUTE, f"there is no attribute {ident}")
    return attribute


def type_of(attribute: Attribute) -> str:
    """What its values are in a data frame."""
    return EDN if attribute.kind.value_type in (None, "tuple") else str(attribute.kind.value_type)


@dataclass(frozen=True, slots=True)
class EntityRange:
    """An attribute's datoms with `first` <= e <= `last`."""

    attribute: int
    first: int
    last: int


class DatomPartition(InputPartition):
    def __init__(self, parts: tuple[EntityRange, ...]) -> None:
        super().__init__(parts)
        self.parts = parts


class DatomsReader(DataSourceReader):
    """`attribute`: only its datoms. `rows`: of a partition, more or less."""

    def __init__(self, place: DataFolder, attribute: Keyword | None, schema: types.StructType, rows: int) -> None:
        self._place = place
        self._attribute = attribute
        self._schema = schema
        self._rows = rows
        self._filter = DatomFilter()
        known = schema_of(place, attribute).fieldNames()
        for name in schema.fieldNames():
            if name not in known:
                raise invalid_argument(f"datoms have no column {name}; they have {', '.join(known)}")

    @refusing
    def partitions(self) -> list[InputPartition]:
        """Large attributes in several, small ones together."""
        snapshot = self._place.open()
        partitions: list[InputPartition] = []
        held: list[EntityRange] = []
        size = 0
        for attribute in self._attributes(snapshot):
            count = snapshot.statistics(attribute).count
            if not count or self._filter.entities.first > self._filter.entities.last:
                continue
            for part in self._cut(snapshot, attribute, -(-count // self._rows)):
                held.append(part)
                size += min(count, self._rows)
                if size >= self._rows:
                    partitions.append(DatomPartition(tuple(held)))
                    held, size = [], 0
        return [*partitions, DatomPartition(tuple(held))] if held or not partitions else partitions

    def _attributes(self, snapshot: Snapshot) -> list[Attribute]:
        if self._attribute is not None:
            return [named(snapshot, self._attribute)]
        return [each for each in snapshot.attributes() if self._filter.takes(each.ident)]

    def _cut(self, snapshot: Snapshot, attribute: Attribute, pieces: int) -> Iterator[EntityRange]:
        first, last = self._filter.entities.first, self._filter.entities.last
        if pieces == 1:
            yield EntityRange(attribute.id, first, last)
            return
        keys = snapshot.trie(attribute.id, inverse=False).keys
        if snapshot.is_history:
            keys = distinct(snapshot.columns(attribute).e)
        keys = keys[keys.searchsorted(first) : keys.searchsorted(last, side="right")]
        at = np.linspace(0, len(keys), pieces + 1).astype(np.int64)[1:-1]
        starts = [first, *keys[np.unique(at[at < len(keys)])].tolist()]
        for start, stop in pairwise([*starts, None]):
            end = last if stop is None else stop - 1
            if start <= end:
                yield EntityRange(attribute.id, start, end)

    @refusing
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        snapshot = self._place.open()
        kinds = to_arrow_schema(self._schema, timezone="UTC")
        parts = partition.parts if isinstance(partition, DatomPartition) else ()
        for part in parts:
            attribute = snapshot.attribute(part.attribute)
            assert attribute is not None, "it was there when the partitions were made"
            for columns in _read(snapshot, part):
                rows = self._filter.of(columns)
                for start in range(0, len(rows), _BATCH):
                    some = rows.take(np.arange(start, min(start + _BATCH, len(rows))))
                    yield self._batch(snapshot, attribute, some, kinds)

    def _batch(self, snapshot: Snapshot, attribute: Attribute, rows: Columns, kinds: pa.Schema) -> pa.RecordBatch:
        value_type = EDN if self._attribute is None else type_of(attribute)

        def column(field: Any) -> pa.Array:
            if field.name == "v":
                return arrow_column(snapshot.codes, rows.v, value_type, field.type)
            if field.name == "a":
                return pa.repeat(str(attribute.ident), len(rows)).cast(field.type)
            return pa.array({"e": rows.e, "t": rows.t, "added": rows.added}[field.name]).cast(field.type)

        return pa.record_batch([column(field) for field in kinds], schema=kinds)


class FilteredReader(DatomsReader):
    """The same with Spark's filters, which it hands on to those alone for which its setting says so."""

    @refusing
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Keeps the filters that it can, and gives back the others."""
        snapshot = self._place.open()
        attribute = None if self._attribute is None else named(snapshot, self._attribute)
        for each in filters:
            narrowed = self._filter.narrowed(each, attribute, snapshot)
            if narrowed is None:
                yield each
            else:
                self._filter = narrowed


def _read(snapshot: Snapshot, part: EntityRange) -> Iterator[Columns]:
    """The datoms of a part, some entities at a time where that costs what these have."""
    if snapshot.is_plain and snapshot.t >= snapshot.data_of(part.attribute).relation.last:
        keys = snapshot.trie(part.attribute, inverse=False).keys
        keys = keys[keys.searchsorted(part.first) : keys.searchsorted(part.last, side="right")]
        for start in range(0, len(keys), _BATCH):
            yield snapshot.columns_of_entities(part.attribute, keys[start : start + _BATCH])
        return
    columns = snapshot.columns_of(part.attribute)
    first, last = columns.e.searchsorted(part.first), columns.e.searchsorted(part.last, side="right")
    yield columns.take(np.arange(first, last))
