"""The table of a query's result as a Parquet file, written in row groups, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from adalog.schema.writing.arrow import Pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# The key of the JSON among the file's metadata.
ANSWER: Final = "adalog.answer"
_GROUP_ROWS: Final = 1 << 17
# Of the end of a file, for each column of a row group: about, without statistics of long texts.
_CHUNK_BYTES: Final = 200


class ParquetFile:
    """A `RowFile`: a Parquet file whose metadata has the JSON. Readers begin at the end of a file, so that nothing
    may follow it; its end is written last."""

    def __init__(self, table: pa.Table, check: Callable[[], None]) -> None:
        """`check` may raise, between row groups."""
        import pyarrow.parquet as pq

        self._pieces = Pieces()
        self._writer = pq.ParquetWriter(pa.PythonFile(self._pieces, "w"), table.schema, compression="zstd")
        for batch in table.to_batches(_GROUP_ROWS):
            check()
            self._writer.write_batch(pa.record_batch(list(map(_compact, batch.columns)), schema=table.schema))
            self._pieces.flush()
        chunks = table.num_columns * -(-table.num_rows // _GROUP_ROWS)
        end = 2 * table.schema.serialize().size + _CHUNK_BYTES * chunks
        self.nbytes = sum(map(len, self._pieces.found)) + end

    def whole(self) -> list[bytes | memoryview]:
        self._writer.close()
        self._pieces.close()
        return self._pieces.found

    def with_answer(self, answer: Sequence[bytes]) -> list[bytes | memoryview]:
        self._writer.add_key_value_metadata({ANSWER: b"".join(answer).decode()})
        return self.whole()


def _compact(column: pa.Array) -> pa.Array:
    """A dictionary of the values that occur: each row group has all that its dictionary has."""
    if not pa.types.is_dictionary(column.type):
        return column
    import pyarrow.compute as pc

    used = column.indices.unique().drop_null()
    return pa.DictionaryArray.from_arrays(pc.index_in(column.indices, used), column.dictionary.take(used))
