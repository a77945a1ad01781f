"""A query's result as an Arrow table that loses nothing, and as an IPC stream: for the Python library, over HTTP.

Each column is as `Result.to_arrow` has it. A column from which values cannot be read back exactly has a companion
with its values as TAGGED JSON. The schema's metadata has the types, the shape, the keys and the companions' places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa

from adalog.executor.answer.arrow_columns import Distinct, distinct_column, edn_column, spread
from adalog.schema.writing.encoding import Encoding, encode_column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from adalog.executor.answer.result import Result

METADATA: Final = b"adalog"
# Of these an Arrow column has all there is, each value in a few bytes.
FIXED: Final = frozenset({"long", "ref", "double", "boolean", "instant"})
# Of these the text has all there is.
TEXTS: Final = frozenset({"string", "keyword", "uuid", "uri"})


class Pieces:
    """A file of what is written to it, not copied: Arrow gives the buffers of columns themselves."""

    closed = False

    def __init__(self) -> None:
        self.found: list[bytes | memoryview] = []
        self._short: list[bytes] = []

    def write(self, piece: Any) -> int:
        if isinstance(piece, bytes):
            self._short.append(piece)
            return len(piece)
        self._put_together()
        self.found.append(memoryview(piece))
        return int(piece.size)

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        self._put_together()

    def close(self) -> None:
        self._put_together()

    def _put_together(self) -> None:
        if self._short:
            self.found.append(b"".join(self._short))
            self._short.clear()


class ArrowStream:
    """A `RowFile`: the stream, then the JSON. Readers of Arrow stop at the end of the stream."""

    def __init__(self, table: pa.Table) -> None:
        pieces = Pieces()
        with pa.PythonFile(pieces, "w") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
        self._pieces = pieces.found

    @property
    def nbytes(self) -> int:
        return sum(map(len, self._pieces))

    def whole(self) -> list[bytes | memoryview]:
        return self._pieces

    def with_answer(self, answer: Sequence[bytes]) -> list[bytes | memoryview]:
        return [*self._pieces, *answer]


def row_table(result: Result, start: int, stop: int, take: Callable[[int], None]) -> pa.Table:
    """Rows start..stop. `take` is told of the bytes of each column, and may raise."""
    shown: list[Any] = []
    tagged: list[Any] = []
    places: list[int | None] = []
    width = len(result.columns)
    for index in range(width):
        array, companion = (
            _pulled(result, index, start, stop) if index in result.pulled else _coded(result, index, start, stop)
        )
        take(array.nbytes + (0 if companion is None else companion.nbytes))
        shown.append(array)
        places.append(None if companion is None else width + len(tagged))
        if companion is not None:
            tagged.append(companion)
    about = {
        "types": [column.type for column in result.columns],
        "shape": result.shape,
        "keys": None if result.keys is None else [getattr(each, "name", each) for each in result.keys],
        "tagged": places,
    }
    names = [*(column.name for column in result.columns), *(f"tagged {number}" for number in range(len(tagged)))]
    return pa.table([*shown, *tagged], names=names).replace_schema_metadata({METADATA: orjson.dumps(about)})


def _coded(result: Result, index: int, start: int, stop: int) -> tuple[Any, Any]:
    """(the column, its companion)."""
    kind = result.columns[index].type
    if kind in FIXED or kind in TEXTS:
        return result.arrow_column(index, start, stop), None
    values = result.values
    distinct = Distinct.of(result.codes_of(index, start, stop))
    texts = _tagged_texts(values.decode_many(distinct.codes), kind)
    if not len(distinct.places):
        return result.arrow_column(index, start, start), spread(texts, distinct.places)
    return spread(distinct_column(distinct.codes, values), distinct.places), spread(texts, distinct.places)


def _pulled(result: Result, index: int, start: int, stop: int) -> tuple[Any, Any]:
    values = result.column(index, start, stop)
    return edn_column(values), _tagged_texts(values, "map")


def _tagged_texts(values: Sequence[Any], kind: str) -> Any:
    encoded = encode_column(values, kind, Encoding.TAGGED)
    return pa.array([orjson.dumps(each).decode() for each in encoded], pa.string())
