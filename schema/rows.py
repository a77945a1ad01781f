"""A query's result as JSON bytes, made once, when a field asks for it: the page's rows, and its `value`.

Works in slices, so that a result too large is noticed before it is built, and off the event loop when it is long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from datalog import edn
from schema.encoding import Encoding, encode_column, encode_rows
from schema.limits import Limits, exceeded

if TYPE_CHECKING:
    from executor.result import Result

_SLICE = 20_000
# Below this many cells the event loop is not worth leaving.
_INLINE_CELLS = 4_000


@dataclass(frozen=True)
class Page:
    """Rows start..stop of a result, to be written in one encoding."""

    result: Result
    start: int
    stop: int
    encoding: Encoding
    limits: Limits

    async def rows(self) -> orjson.Fragment:
        """The rows, a JSON array each (an EDN string each under EDN)."""
        return await self._make(self._rows)

    async def value(self) -> orjson.Fragment:
        """The page in the shape of the query's find spec."""
        return await self._make(self._value)

    async def _make(self, build: Callable[[], bytes]) -> orjson.Fragment:
        if (self.stop - self.start) * max(1, len(self.result.columns)) <= _INLINE_CELLS:
            return orjson.Fragment(build())
        return orjson.Fragment(await asyncio.to_thread(build))

    def _columns(self) -> tuple[list[Sequence[Any]], list[str]]:
        columns = self.result.columns
        decoded: list[Sequence[Any]] = [self.result.column(index) for index in range(len(columns))]
        if self.start or self.stop < len(self.result):
            decoded = [column[self.start : self.stop] for column in decoded]
        return decoded, [column.type for column in columns]

    def _slices(self) -> Iterator[list[Any]]:
        columns, types = self._columns()
        for start in range(0, self.stop - self.start, _SLICE):
            yield encode_rows([column[start : start + _SLICE] for column in columns], types, self.encoding)

    def _rows(self) -> bytes:
        return self._join(self._slices())

    def _value(self) -> bytes:
        shape = self.result.shape
        if shape in ("scalar", "tuple"):
            return self._first_row(shape)
        if self.encoding is Encoding.EDN:
            return self._edn_value(shape)
        if shape == "collection":
            columns, types = self._columns()
            return self._join(iter([list(encode_column(columns[0], types[0], self.encoding))]))
        if self.result.keys:
            keys = [key if type(key) is str else edn.write(key).removeprefix(":") for key in self.result.keys or ()]
            return self._join([dict(zip(keys, row, strict=True)) for row in part] for part in self._slices())
        return self._rows()

    def _first_row(self, shape: str) -> bytes:
        if self.stop <= self.start:
            return b"null"
        columns, types = self._columns()
        first = [column[:1] for column in columns]
        if shape == "scalar":
            return orjson.dumps(encode_column(first[0], types[0], self.encoding)[0])
        return orjson.dumps(encode_rows(first, types, self.encoding)[0])

    def _edn_value(self, shape: str) -> bytes:
        columns, types = self._columns()
        written = [encode_column(column, name, Encoding.EDN) for column, name in zip(columns, types, strict=True)]
        if shape == "collection":
            items: list[str] = list(written[0])
        elif self.result.keys:
            keys = [edn.write(key) for key in self.result.keys or ()]
            items = [
                "{" + " ".join(f"{k} {v}" for k, v in zip(keys, row, strict=True)) + "}"
                for row in zip(*written, strict=True)
            ]
        else:
            items = ["[" + " ".join(row) + "]" for row in zip(*written, strict=True)]
        return self._bounded(orjson.dumps("[" + " ".join(items) + "]"))

    def _join(self, parts: Iterator[list[Any]]) -> bytes:
        chunks: list[bytes] = []
        size = 2
        for part in parts:
            chunk = orjson.dumps(part, option=orjson.OPT_NON_STR_KEYS)[1:-1]
            size += len(chunk) + 1
            if size > self.limits.result_bytes:
                raise exceeded(
                    "bytes in the result; ask for pages with `first`", self.limits.result_bytes, "result_bytes"
                )
            chunks.append(chunk)
        return b"[" + b",".join(chunks) + b"]"

    def _bounded(self, text: bytes) -> bytes:
        if len(text) > self.limits.result_bytes:
            raise exceeded(
                "bytes in the result; ask for pages with `first`", self.limits.result_bytes, "result_bytes"
            )
        return text
