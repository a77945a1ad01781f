"""A query's result as JSON bytes, made once, when a field asks for it: the page's rows, and its `value`.

Works in slices, so that a result too large is noticed before it is built, and off the event loop when it is long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from schema.encoding import Encoding, encode_column, encode_maps, encode_rows
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
    weight: list[int] = field(default_factory=lambda: [0])

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

    def _slices(self) -> Iterator[tuple[list[Sequence[Any]], list[str]]]:
        """The page's columns and their types, `_SLICE` rows at a time."""
        columns = self.result.columns
        types = [column.type for column in columns]
        for start in range(self.start, self.stop, _SLICE):
            stop = min(start + _SLICE, self.stop)
            yield [self.result.column(index, start, stop) for index in range(len(columns))], types

    def _rows(self) -> bytes:
        return self._json(encode_rows(columns, types, self.encoding) for columns, types in self._slices())

    def _value(self) -> bytes:
        shape = self.result.shape
        if shape in ("scalar", "tuple"):
            return self._first(shape)
        items = (self._items(shape, columns, types) for columns, types in self._slices())
        if self.encoding is Encoding.EDN:
            return self._edn(items)
        return self._json(items)

    def _items(self, shape: str, columns: list[Sequence[Any]], types: list[str]) -> Sequence[Any]:
        if shape == "collection":
            return encode_column(columns[0], types[0], self.encoding)
        rows = encode_rows(columns, types, self.encoding)
        return encode_maps(self.result.keys, rows, columns, types, self.encoding) if self.result.keys else rows

    def _first(self, shape: str) -> bytes:
        if self.stop <= self.start:
            return b"null"
        types = [column.type for column in self.result.columns]
        first = [self.result.column(index, self.start, self.start + 1) for index in range(len(types))]
        if shape == "scalar":
            return orjson.dumps(encode_column(first[0], types[0], self.encoding)[0])
        return orjson.dumps(encode_rows(first, types, self.encoding)[0])

    def _json(self, parts: Iterator[Sequence[Any]]) -> bytes:
        chunks = [self._weigh(orjson.dumps(part)[1:-1]) for part in parts]
        return b"[" + b",".join(chunks) + b"]"

    def _edn(self, parts: Iterator[Sequence[str]]) -> bytes:
        chunks = [self._weigh(" ".join(part).encode()) for part in parts]
        return orjson.dumps("[" + b" ".join(chunks).decode() + "]")

    def _weigh(self, chunk: bytes) -> bytes:
        """The chunk, while all of them so far stay within the limit on bytes."""
        self.weight[0] += len(chunk)
        if self.weight[0] > self.limits.result_bytes:
            raise exceeded(
                "bytes in the result; ask for pages with `first`", self.limits.result_bytes, "result_bytes"
            )
        return chunk
