"""Columns that came as Arrow, and the values in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC
from typing import Any, Final
from uuid import UUID

import orjson
import pyarrow as pa

from adalog.client.result import ResultWarning
from adalog.datalog import values
from adalog.schema.writing.arrow import METADATA, TEXTS
from adalog.schema.writing.encoding import decode


class ArrowAnswer:
    """As of `Answer`: a table as `schema.writing.arrow` makes it, which came over HTTP or was pickled."""

    def __init__(self, table: Any, warnings: list[ResultWarning]) -> None:
        self._table = table
        self._warnings = warnings
        self.about = orjson.loads(table.schema.metadata[METADATA])
        self.shown = table.select(list(range(len(self.about["types"])))).replace_schema_metadata()

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def values(self, column: int, most: int | None = None) -> Sequence[Any]:
        tagged, kind = self.about["tagged"][column], self.about["types"][column]
        chunks = self._table.column(column if tagged is None else tagged).slice(0, most).chunks
        found: list[Any] = []
        for chunk in chunks:
            if not isinstance(chunk, pa.DictionaryArray):
                found += _read(chunk.to_pylist(), kind, tagged is not None)
                continue
            distinct = _read(chunk.dictionary.to_pylist(), kind, tagged is not None)
            found += [None if place is None else distinct[place] for place in chunk.indices.to_pylist()]
        return found

    def table(self) -> Any:
        return self.shown

    def warnings(self) -> list[ResultWarning]:
        return self._warnings


def _read(given: list[Any], kind: str, tagged: bool) -> list[Any]:
    if tagged:
        return [None if each is None else decode(orjson.loads(each)) for each in given]
    read = _READERS.get(kind)
    return given if read is None else [None if each is None else read(each) for each in given]


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "keyword": lambda text: values.Keyword(text[1:]),
    "uuid": UUID,
    "uri": values.Uri,
    "instant": lambda moment: moment.replace(tzinfo=UTC),
}
assert TEXTS - {"string"} <= _READERS.keys()
