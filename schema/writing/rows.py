"""A query's result as JSON bytes, made once, when a field asks for it: the page's rows, and its `value`.

Works in slices, so that a result too large is noticed before it is built, and off the event loop when it is long.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.question.cost import few
from adalog.schema.request.attachment import Attachment, RowFile
from adalog.schema.request.budget import JsonChunks, RepeatedWork, ResponseBudget
from adalog.schema.writing.arrow import ArrowStream, row_table
from adalog.schema.writing.encoding import Encoding, encode_column, encode_maps, encode_rows
from adalog.schema.writing.parquet import ParquetFile

if TYPE_CHECKING:
    from adalog.executor.answer.result import Result
    from adalog.executor.pool import Pool
    from adalog.executor.pull.written import ValueTexts

# Cells, and bytes of text in them, that are written at once.
_SLICE: Final = 20_000
PART_BYTES: Final = 4 << 20
# Below this many cells the event loop is not worth leaving.
_INLINE_CELLS: Final = 4_000
_INLINE_COLUMNS: Final = 100
_FILE_CELLS: Final = 400
CODED_CELLS: Final = 4_000
"""Of an answer that is written from codes."""
_INLINE_BYTES: Final = 200_000

# Of the pool's cost: about half a microsecond.
_CELL_COST: Final = 8

_Columns = list[Sequence[Any]]


@dataclass(frozen=True)
class Page:
    """Rows start..stop of a result, to be written in one encoding. `pool`: writes long ones; `take`: is told of
    bytes instead of the budget, where work may be begun more than once. `attachment`: of the response, if it may
    have one. `texts`: of the database's codes, from which short answers are written."""

    result: Result
    start: int
    stop: int
    encoding: Encoding
    budget: ResponseBudget
    pool: Pool
    take: Callable[[int], None] | None = None
    attachment: Attachment | None = None
    texts: ValueTexts | None = None

    async def rows(self) -> JsonChunks | orjson.Fragment:
        """The rows, a JSON array each (an EDN string each under EDN)."""
        return self._from_codes() or await self._make(Page._rows)

    async def value(self) -> JsonChunks | orjson.Fragment:
        """The page in the shape of the query's find spec."""
        coded = self._from_codes() if self.result.shape == "relation" else None
        return coded or await self._make(Page._value)

    async def arrow(self) -> JsonChunks:
        """The rows as an Arrow IPC stream: the response's attachment, and null here, or base64 in a JSON string."""
        return await self._file("arrow", lambda table, _: ArrowStream(table))

    async def parquet(self) -> JsonChunks:
        """The same as a Parquet file."""
        return await self._file("parquet", lambda table, cancel: ParquetFile(table, cancel.check))

    async def _file(self, field: str, write: Callable[[pa.Table, Cancel], RowFile]) -> JsonChunks:
        attachment = self.attachment if self.attachment is not None and self.attachment.claim(field) else None

        def written(page: Page, cancel: Cancel) -> JsonChunks:
            take = page.take or page.budget.take
            file = write(row_table(page.result, page.start, page.stop, page.budget.estimate().take), cancel)
            if attachment is None:
                text = b'"' + base64.b64encode(b"".join(file.whole())) + b'"'
                take(len(text))
                return JsonChunks((text,))
            take(file.nbytes)
            attachment.file = file
            return JsonChunks((b"null",))

        if (self.stop - self.start) * len(self.result.columns) > _FILE_CELLS or self.result.pulled:
            return await self._threaded(written)
        return written(self, Cancel())

    async def _make(self, build: Callable[[Page, Iterator[_Columns]], JsonChunks]) -> JsonChunks | orjson.Fragment:
        width = len(self.result.columns)
        if (self.stop - self.start) * width > _INLINE_CELLS or width > _INLINE_COLUMNS:
            return await self._threaded(lambda page, cancel: build(page, self._slices(cancel)))
        made = self._made(self.start, self.stop)
        if self._light(made):
            return orjson.Fragment(b"".join(build(self, iter((made,))).chunks))
        return await self._threaded(lambda page, _: build(page, self._parts(made)))

    def _from_codes(self) -> orjson.Fragment | None:
        """Few rows of short values, written without decoding what was written before; None for any others."""
        result, texts = self.result, self.texts
        if (
            texts is None
            or self.encoding is not Encoding.PLAIN
            or (self.stop - self.start) * len(result.columns) > CODED_CELLS
            or result.pulled
            or result.decoded
            or not result.values.is_of(texts.codes)
        ):
            return None
        text = texts.rows([codes[self.start : self.stop] for codes in result.codes])
        if text is None:
            return None
        (self.take or self.budget.take)(len(text) - len("[]"))
        return orjson.Fragment(text)

    async def _threaded(self, work: Callable[[Page, Cancel], JsonChunks]) -> JsonChunks:
        """On the pool's threads, when it is this client's turn; it may be begun more than once."""
        held = RepeatedWork(self.budget.take)

        def write(cancel: Cancel) -> JsonChunks:
            held.begin()
            return work(replace(self, take=held.take), cancel)

        question = self.result.question
        cancel = Cancel(None if question is None else question.deadline)
        cells = (self.stop - self.start) * len(self.result.columns)
        return await self.pool.threaded(cancel, write, _CELL_COST * cells)

    def _made(self, start: int, stop: int) -> _Columns:
        return [self.result.column(index, start, stop) for index in range(len(self.result.columns))]

    def _slices(self, cancel: Cancel) -> Iterator[_Columns]:
        """The page's columns, about `_SLICE` cells at a time, fewer where they are long."""
        step = max(1, _SLICE // max(1, len(self.result.columns)))
        for start in range(self.start, self.stop, step):
            for part in self._parts(self._made(start, min(start + step, self.stop))):
                cancel.check()
                yield part

    def _parts(self, columns: _Columns) -> Iterator[_Columns]:
        """The columns in parts that are written at once: few rows where their values are long."""
        count = len(columns[0]) if columns else 0
        if count <= 1 or self._text(columns) <= PART_BYTES:
            yield columns
            return
        middle = count // 2
        yield from self._parts([column[:middle] for column in columns])
        yield from self._parts([column[middle:] for column in columns])

    def _light(self, columns: _Columns) -> bool:
        """Whether the columns are written in no time."""
        if self._text(columns) > _INLINE_BYTES:
            return False
        nested = [each for each, kind in zip(columns, self._types, strict=True) if kind in ("any", "map")]
        return not nested or few(nested, 2 * _INLINE_CELLS)

    def _text(self, columns: _Columns) -> int:
        """Characters of text and bytes in columns, those within other values left out."""
        found = 0
        for column, kind in zip(columns, self._types, strict=True):
            if kind in ("string", "bytes", "uri"):
                found += sum(map(len, column))
            elif kind == "any":
                found += sum(len(value) for value in column if isinstance(value, str | bytes))
        return found

    @property
    def _types(self) -> list[str]:
        return [column.type for column in self.result.columns]

    def _rows(self, slices: Iterator[_Columns]) -> JsonChunks:
        weigh = self.budget.estimate().take
        return self._json(encode_rows(columns, self._types, self.encoding, weigh) for columns in slices)

    def _value(self, slices: Iterator[_Columns]) -> JsonChunks:
        shape = self.result.shape
        if shape in ("scalar", "tuple"):
            return JsonChunks((self._weigh(self._first(shape, next(slices, []))),))
        items = (self._items(shape, columns, self._types) for columns in slices)
        if self.encoding is Encoding.EDN:
            return self._edn(items)
        return self._json(items)

    def _items(self, shape: str, columns: list[Sequence[Any]], types: list[str]) -> Sequence[Any]:
        weigh = self.budget.estimate().take
        if shape == "collection":
            return encode_column(columns[0], types[0], self.encoding, weigh)
        rows = encode_rows(columns, types, self.encoding, weigh)
        return encode_maps(self.result.keys, rows, columns, types, self.encoding) if self.result.keys else rows

    def _first(self, shape: str, columns: _Columns) -> bytes:
        if self.stop <= self.start:
            return b"null"
        first = [column[:1] for column in columns]
        if shape == "scalar":
            return orjson.dumps(encode_column(first[0], self._types[0], self.encoding)[0])
        return orjson.dumps(encode_rows(first, self._types, self.encoding)[0])

    def _json(self, parts: Iterator[Sequence[Any]]) -> JsonChunks:
        return JsonChunks.list_of(self._weigh(orjson.dumps(part)[1:-1]) for part in parts)

    def _edn(self, parts: Iterator[Sequence[str]]) -> JsonChunks:
        """One string: each part as JSON has it, without its quotes."""
        chunks = [b'"[']
        for part in parts:
            if part:
                chunks += (self._weigh(orjson.dumps(" ".join(part))[1:-1]), b" ")
        if len(chunks) > 1:
            chunks.pop()
        return JsonChunks((*chunks, b']"'))

    def _weigh(self, chunk: bytes) -> bytes:
        """The chunk, while all that the response holds stays within its bytes."""
        (self.take or self.budget.take)(len(chunk))
        return chunk
