"""Lines of EDN. A blank line, and one that begins with `;`, is no row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from adalog.pipeline.importing.files.content import (
    UTF8,
    FileSplit,
    SourceFile,
    is_divisible,
    line_batches,
    line_starts,
    lines_before,
)
from adalog.pipeline.importing.files.rows import FileColumn, FileRows, NestedColumns, Survey

LINE: Final = "line"
"""The column of lines."""


@dataclass(frozen=True)
class EdnLines:
    encoding: str = UTF8

    def starts(self, file: SourceFile, size: int) -> Iterator[int]:
        return line_starts(file, size) if is_divisible(file, self.encoding) else iter((0,))

    def rows(
        self,
        split: FileSplit,
        wanted: Sequence[str],
        exact: Collection[str],
        nested: Sequence[NestedColumns] = (),
    ) -> Iterator[FileRows]:
        for lines in line_batches(split, self.encoding):
            texts = [line for line in lines if _is_row(line)]
            values = pa.array(texts, pa.large_binary()).cast(pa.large_string())
            yield FileRows({LINE: FileColumn.of(values)}, len(texts))

    def survey(self, split: FileSplit, wanted: Collection[str], nested: Sequence[NestedColumns] = ()) -> Survey:
        return Survey({LINE: {"string": ""}})

    def told(self, split: FileSplit, wanted: Collection[int]) -> Iterator[tuple[int | None, Any]]:
        at, first = 0, lines_before(split) + 1
        for number, line in enumerate(chain.from_iterable(line_batches(split, self.encoding)), first):
            if _is_row(line):
                if at in wanted:
                    yield number, {"value": line.decode().removesuffix("\r")}
                at += 1


def _is_row(line: bytes) -> bool:
    return not (line.startswith(b";") or line.isspace() or not line)
