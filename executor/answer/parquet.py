"""Rows as Parquet files: a column has one type in all of them, or is EDN text."""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from adalog.datalog.edn import write
from adalog.executor.answer.types import type_of
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.join.batch import Column
from adalog.store.values.codes import Scratch
from adalog.store.values.decimals import DecimalDigits, digits_among
from adalog.store.values.layout import NIL

_AT_ONCE: Final = 1 << 18
_DECIMAL: Final = "bigdec"
_TEXT: Final = pa.large_string()
_TYPES: Final = {
    "long": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "instant": pa.timestamp("ms", "UTC"),
    "string": _TEXT,
    "keyword": _TEXT,
    "symbol": _TEXT,
    "uri": _TEXT,
    "duration": _TEXT,
    "bytes": pa.large_binary(),
    "nil": pa.null(),
}


@dataclass(frozen=True, slots=True)
class Output:
    """Where rows are written, and the places of the columns that are written as EDN text. `stem`: what the names of
    files begin with until all are there."""

    folder: str
    texts: frozenset[int] = frozenset()
    stem: str = field(default_factory=lambda: uuid.uuid4().hex)

    def discard(self) -> None:
        with suppress(OSError):
            for name in os.listdir(self.folder):
                if name.lstrip(".").startswith(self.stem):
                    Path(self.folder, name).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """A file that was written, by its name. `types`: of each column the type that all its values have, or `any`, or
    `nil` if it has no other; of bigdecs with their digits before and after the point."""

    file: str
    rows: int
    types: tuple[str, ...]


def write_part(
    output: Output, number: int, names: Sequence[str], codes: Sequence[Column], values: Scratch, cancel: Cancel
) -> ParquetPart:
    """Writes rows, columns of codes, as file number so and so. Raises OSError; then there is no such file."""
    file = f"{output.stem}-{number}.parquet"
    import pyarrow.parquet as pq

    kinds = tuple("any" if place in output.texts else _kind(column, values) for place, column in enumerate(codes))
    schema = pa.schema([(name, _arrow_type(kind)) for name, kind in zip(names, kinds, strict=True)])
    size = len(codes[0])
    made, temporary = Path(output.folder) / file, Path(output.folder) / f".{file}.tmp"
    try:
        with pq.ParquetWriter(temporary, schema) as writer:
            for start in range(0, size, _AT_ONCE):
                cancel.check()
                some = [column[start : start + _AT_ONCE] for column in codes]
                columns = [_column(kind, each, values) for kind, each in zip(kinds, some, strict=True)]
                writer.write_batch(pa.record_batch(columns, schema=schema))
        temporary.replace(made)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return ParquetPart(file, size, kinds)


def _kind(codes: Column, values: Scratch) -> str:
    there = codes[codes != NIL]
    kind = type_of(there) if len(there) else "nil"
    if kind != _DECIMAL:
        return kind
    distinct = np.unique(codes)
    digits = digits_among(values.decode_many(distinct[distinct != NIL]))
    return "any" if digits.type is None else f"{_DECIMAL} {digits.whole} {digits.fraction}"


def _arrow_type(kind: str) -> pa.DataType:
    digits = _digits(kind)
    return _TYPES.get(kind, _TEXT) if digits is None else digits.type


def _digits(kind: str) -> DecimalDigits | None:
    """Of a part's column, if it has bigdecs."""
    name, *digits = kind.split()
    return DecimalDigits(*map(int, digits)) if name == _DECIMAL else None


def _column(kind: str, codes: Column, values: Scratch) -> pa.Array:
    if _digits(kind) is not None:
        distinct, index = np.unique(codes, return_inverse=True)
        return pa.array(values.decode_many(distinct), _arrow_type(kind)).take(pa.array(index))
    wanted = _TYPES.get(kind)
    if kind == "nil":
        return pa.nulls(len(codes))
    if wanted is None:
        return pa.array([_text(value) for value in values.decode_many(codes)], _TEXT)
    try:
        return values.to_arrow(codes).cast(wanted)
    except ValueError:
        # Longs of two kinds, values that the query made up, or nil among others.
        found = values.decode_many(codes)
        if wanted == _TEXT:
            found = [None if value is None else str(value) for value in found]
        return pa.array(found, wanted)


def _text(value: Any) -> str | None:
    return None if value is None else write(value)


def mixed(parts: Collection[ParquetPart]) -> frozenset[int]:
    """The places of columns that have values of several types in all, or bigdecs that no column holds."""
    return frozenset(place for place, kinds in enumerate(_columns(parts)) if _common(kinds) is None)


def widened(output: Output, parts: Sequence[ParquetPart]) -> list[ParquetPart]:
    """The files with the same type of decimals in all. Raises OSError."""
    kinds = tuple(_common(each) or "any" for each in _columns(parts))
    made = []
    for part in parts:
        own = list(map(_arrow_type, part.types))
        if part.rows and own != list(map(_arrow_type, kinds)):
            part = _rewritten(output, part, 0, part.rows, kinds)
        made.append(part)
    return made


def _columns(parts: Collection[ParquetPart]) -> list[tuple[str, ...]]:
    """The types of each column in the files with rows."""
    return list(zip(*(part.types for part in parts if part.rows), strict=True))


def _common(kinds: Sequence[str]) -> str | None:
    """The type of a column that has these in its files; None if there is none."""
    kinds = [each for each in kinds if each != "nil"] or ["any"]
    digits = [each for each in map(_digits, kinds) if each is not None]
    if len(digits) < len(kinds):
        return kinds[0] if len(set(kinds)) == 1 else None
    every = reduce(DecimalDigits.union, digits)
    return None if every.type is None else f"{_DECIMAL} {every.whole} {every.fraction}"


def trimmed(output: Output, parts: Sequence[ParquetPart], start: int, stop: int | None) -> list[ParquetPart]:
    """The files of the rows start..stop of all: others are removed, or cut. Raises OSError."""
    kept, at = [], 0
    for part in parts:
        first, last = max(start - at, 0), part.rows if stop is None else min(stop - at, part.rows)
        at += part.rows
        if first >= last:
            Path(output.folder, part.file).unlink()
        elif last - first == part.rows:
            kept.append(part)
        else:
            kept.append(_rewritten(output, part, first, last, part.types))
    return kept


def _rewritten(output: Output, part: ParquetPart, first: int, last: int, kinds: tuple[str, ...]) -> ParquetPart:
    """A file with some of its rows, and columns of these types."""
    import pyarrow.parquet as pq

    made, temporary = Path(output.folder) / part.file, Path(output.folder) / f".{part.file}.tmp"
    names = pq.read_schema(made).names
    schema = pa.schema([(name, _arrow_type(kind)) for name, kind in zip(names, kinds, strict=True)])
    with pq.ParquetFile(made) as file, pq.ParquetWriter(temporary, schema) as writer:
        at = 0
        for batch in file.iter_batches(_AT_ONCE):
            here = batch.slice(max(first - at, 0), max(0, min(last, at + batch.num_rows) - max(first, at)))
            if len(here):
                columns = [column.cast(kind) for column, kind in zip(here.columns, schema.types, strict=True)]
                writer.write_batch(pa.record_batch(columns, schema=schema))
            at += batch.num_rows
    temporary.replace(made)
    return ParquetPart(part.file, last - first, kinds)


def settled(output: Output, parts: Sequence[ParquetPart]) -> list[ParquetPart]:
    """Gives the files of an answer that is complete their names: part-00000.parquet and so on."""
    made = []
    for number, part in enumerate(each for each in parts if each.rows):
        name = f"part-{number:05}.parquet"
        os.rename(Path(output.folder) / part.file, Path(output.folder) / name)
        made.append(ParquetPart(name, part.rows, part.types))
    return made
