"""JSON: an object on each line, or (`multiLine`) objects and lists of them over several lines."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa

from adalog.datalog.errors import invalid_argument
from adalog.pipeline.importing.files.content import (
    UTF8,
    FileSplit,
    SourceFile,
    is_divisible,
    line_batches,
    line_starts,
    lines_before,
    pieces,
)
from adalog.pipeline.importing.files.rows import NO_ROWS, ColumnPart, FileColumn, FileRows, Int32s, Survey

_ROWS: Final = 1 << 14
# From here on whole numbers are doubles for the fast reader.
_ROUGH: Final = 2.0**63
_LONGS: Final = range(-(1 << 63), 1 << 63)
_BLANKS: Final = " \t\r\n"
_NONE: Final = type(None)


class Digits(str):
    """A number as it stands in the file."""

    __slots__ = ()


@dataclass(frozen=True)
class JsonLines:
    multi_line: bool = False
    encoding: str = UTF8

    def starts(self, file: SourceFile, size: int) -> Iterator[int]:
        if not self.multi_line and is_divisible(file, self.encoding):
            return line_starts(file, size)
        return iter((0,))

    def rows(self, split: FileSplit, wanted: Sequence[str], exact: Collection[str]) -> Iterator[FileRows]:
        for texts in self._texts(split):
            objects, malformed = _objects(texts)
            columns = {name: _column(name, objects, texts, name in exact) for name in wanted}
            yield FileRows(columns, len(texts), malformed)

    def survey(self, split: FileSplit, wanted: Collection[str]) -> Survey:
        found = Survey()
        for texts in self._texts(split):
            objects, malformed = _objects(texts)
            found.rows |= len(malformed) < len(texts)
            for name in dict.fromkeys(chain.from_iterable(objects)):
                found.add(name)
                if name not in wanted:
                    continue
                if any(type(row.get(name)) is list for row in objects):
                    found.many.add(name)
                column = _column(name, objects, texts, exact=False)
                for part in column.parts:
                    _survey_part(found, name, part)
        return found

    def told(self, split: FileSplit, wanted: Collection[int]) -> Iterator[tuple[int | None, Any]]:
        for at, (line, text) in enumerate(self._numbered(split)):
            if at in wanted:
                yield line, _shown(text)

    def _texts(self, split: FileSplit) -> Iterator[list[bytes]]:
        """The texts of rows, some thousand at a time."""
        if self.multi_line:
            every = [text for _, text in self._numbered(split)]
            yield from (every[start : start + _ROWS] for start in range(0, len(every), _ROWS))
            return
        for lines in line_batches(split, self.encoding):
            texts = [line for line in lines if line and not line.isspace()]
            yield from (texts[start : start + _ROWS] for start in range(0, len(texts), _ROWS))

    def _numbered(self, split: FileSplit) -> Iterator[tuple[int, bytes]]:
        """The rows' texts with the lines that they begin on."""
        if self.multi_line:
            yield from _values(split, b"".join(pieces(split, self.encoding)).decode())
            return
        number = lines_before(split)
        for line in chain.from_iterable(line_batches(split, self.encoding)):
            number += 1
            if line and not line.isspace():
                yield number, line


def _values(split: FileSplit, text: str) -> Iterator[tuple[int, bytes]]:
    """The values of a whole file: one after the other, or in a list."""
    decoder, at, line, counted = json.JSONDecoder(), 0, 1, 0

    def skipped(at: int, more: str = "") -> int:
        while at < len(text) and (text[at] in _BLANKS or text[at] in more):
            at += 1
        return at

    at = skipped(0)
    listed = text.startswith("[", at)
    at = skipped(at + 1) if listed else at
    try:
        while at < len(text) and not (listed and text[at] == "]"):
            _, end = decoder.raw_decode(text, at)
            line, counted = line + text.count("\n", counted, at), at
            yield line, text[at:end].encode("utf-8", "surrogatepass")
            at = skipped(end)
            if listed:
                if not text.startswith((",", "]"), at):
                    raise json.JSONDecodeError("a comma or ] is missing", text, at)
                at = skipped(at + 1) if text[at] == "," else at
        if listed and (at == len(text) or skipped(at + 1) < len(text)):
            raise json.JSONDecodeError("the list does not end, or more follows it", text, at)
    except json.JSONDecodeError as error:
        raise invalid_argument(
            f"{split.file.name}, line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None


def _objects(texts: Sequence[bytes]) -> tuple[list[Mapping[str, Any]], Int32s]:
    """The objects of texts, empty where a text is none; and where that is."""
    try:
        rows: list[Any] = list(map(orjson.loads, texts))
    except orjson.JSONDecodeError:
        rows = [_object(text) for text in texts]
    if set(map(type, rows)) == {dict}:
        return rows, NO_ROWS
    malformed = [place for place, row in enumerate(rows) if type(row) is not dict]
    for place in malformed:
        rows[place] = {}
    return rows, np.array(malformed, np.int32)


def _object(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # Numbers may be too large for a double.
        return _exactly(text)


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _exactly(text: bytes) -> Any:
    """The value of a text, with numbers as they stand there; None if it is not JSON."""
    try:
        value = json.loads(text.decode(), parse_float=Digits, parse_int=Digits, parse_constant=_refused)
        # Half a surrogate pair is no text.
        orjson.dumps(value)
    except (ValueError, RecursionError, orjson.JSONEncodeError):
        return None
    return value


def _column(name: str, objects: Sequence[Mapping[str, Any]], texts: Sequence[bytes], exact: bool) -> FileColumn:
    try:
        values: list[Any] = list(map(itemgetter(name), objects))
    except KeyError:
        values = [row.get(name) for row in objects]
    kinds = set(map(type, values))
    if list in kinds or (float in kinds and (exact or _any_rough(values))):
        for place, value in enumerate(values):
            if _is_rough(value, exact):
                values[place] = _exactly(texts[place])[name]
                kinds.add(type(values[place]))
    if list not in kinds and len(kinds - {_NONE}) == 1:
        [kind] = kinds - {_NONE}
        if kind in _ARROW:
            return _whole(values, np.arange(len(values), dtype=np.int32), kind)
    rows: dict[type, list[int]] = {}
    found: dict[type, list[Any]] = {}
    bad = []
    lists = [place for place, value in enumerate(values) if type(value) is list]
    for place, value in enumerate(values):
        for each in value if type(value) is list else (value,):
            if each is None:
                continue
            kind = type(each)
            if kind not in _ARROW:
                bad.append(place)
                break
            rows.setdefault(kind, []).append(place)
            found.setdefault(kind, []).append(each)
    parts = [
        part for kind, own in found.items() for part in _whole(own, np.array(rows[kind], np.int32), kind).parts
    ]
    return FileColumn(parts, np.unique(np.array(bad, np.int32)), np.array(lists, np.int32))


def _any_rough(values: Sequence[Any]) -> bool:
    floats = [value for value in values if type(value) is float]
    return max(floats) >= _ROUGH or min(floats) <= -_ROUGH


def _is_rough(value: Any, exact: bool) -> bool:
    """Whether a value's text is to be read, since a double might differ from it."""
    if type(value) is float:
        return exact or abs(value) >= _ROUGH
    return type(value) is list and any(_is_rough(each, exact) for each in value)


def _whole(values: Sequence[Any], rows: Int32s, kind: type) -> FileColumn:
    """Values of one type, or None."""
    if kind is not int:
        return FileColumn([ColumnPart(rows, pa.array(values, _ARROW[kind]), kind is Digits)])
    try:
        return FileColumn([ColumnPart(rows, pa.array(values, pa.int64()))])
    except OverflowError:
        texts = [None if value is None else str(value) for value in values]
        return FileColumn([ColumnPart(rows, pa.array(texts, pa.string()), digits=True)])


_ARROW: Final[Mapping[type, pa.DataType]] = {
    str: pa.string(),
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    Digits: pa.string(),
}
_KINDS: Final[Mapping[pa.DataType, str]] = {
    pa.string(): "string",
    pa.bool_(): "boolean",
    pa.int64(): "long",
    pa.float64(): "double",
}


def _survey_part(found: Survey, name: str, part: ColumnPart) -> None:
    values = part.values.drop_null()
    if not len(values):
        return
    if not part.digits:
        found.add(name, _KINDS[part.values.type], orjson.dumps(values[0].as_py()).decode())
        return
    for text in values.to_pylist():
        is_whole = text.removeprefix("-").isdecimal()
        kind = ("long" if int(text) in _LONGS else "bigint") if is_whole else "bigdec"
        found.add(name, kind, text)


def _shown(text: bytes) -> Any:
    """A row as it stands in the file: JSON, or text that is none."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return text.decode("utf-8", "replace")
    return orjson.Fragment(text.strip())
