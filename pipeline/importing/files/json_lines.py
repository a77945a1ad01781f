"""JSON: an object on each line, or (`multiLine`) objects and lists of them over several lines."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import Any, Final

import numpy as np
import orjson

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
from adalog.pipeline.importing.files.json_objects import Digits, JsonObjects
from adalog.pipeline.importing.files.rows import NO_ROWS, FileRows, Int32s, NestedColumns, Survey

_ROWS: Final = 1 << 14
# A double may change it: more than fifteen digits, and a point or exponent.
_LONG_NUMBER: Final = re.compile(rb"[0-9][0-9.]{16}")
_BLANKS: Final = " \t\r\n"


@dataclass(frozen=True)
class JsonFiles:
    multi_line: bool = False
    encoding: str = UTF8

    def starts(self, file: SourceFile, size: int) -> Iterator[int]:
        if not self.multi_line and is_divisible(file, self.encoding):
            return line_starts(file, size)
        return iter((0,))

    def rows(
        self,
        split: FileSplit,
        wanted: Sequence[str],
        exact: Collection[str],
        nested: Sequence[NestedColumns] = (),
    ) -> Iterator[FileRows]:
        for texts in self._texts(split):
            objects, malformed = _objects(texts)
            every = JsonObjects(objects, lru_cache(1)(partial(_exact_object, texts)))
            columns = {name: every.column(name, name in exact) for name in wanted}
            structs = {each.key: every.structs(each) for each in nested}
            yield FileRows(columns, len(texts), malformed, structs)

    def survey(self, split: FileSplit, wanted: Collection[str], nested: Sequence[NestedColumns] = ()) -> Survey:
        found = Survey()
        for texts in self._texts(split):
            objects, malformed = _objects(texts)
            found.rows |= len(malformed) < len(texts)
            every = JsonObjects(objects, lru_cache(1)(partial(_exact_object, texts)))
            every.survey(found, wanted, nested)
        return found

    def objects(self, split: FileSplit) -> Iterator[Sequence[Mapping[str, Any]]]:
        """The objects of a split, empty where a row is none. Those with numbers of many digits have numbers as they
        stand."""
        for texts in self._texts(split):
            objects, _ = _objects(texts)
            yield [
                (_exactly(text) or row) if row and _LONG_NUMBER.search(text) else row
                for row, text in zip(objects, texts, strict=True)
            ]

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


def _exact_object(texts: Sequence[bytes], place: int) -> Any:
    return _exactly(texts[place])


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


def _shown(text: bytes) -> Any:
    """A row as it stands in the file: JSON, or text that is none."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return text.decode("utf-8", "replace")
    return orjson.Fragment(text.strip())
