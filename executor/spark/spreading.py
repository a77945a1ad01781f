"""Rows that several tasks may have, made distinct by tasks: each spreads its rows by their hash into a file of its
own, and others take one part of all files each.

The files lie beside what is written, under names that go with it, and hold codes that mean the same in every task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from executor.answer.parquet import Output
from executor.join.batch import Batch, Column, concatenate
from executor.spark.staged import read_staged, write_staged

_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


def spread(output: Output, number: int, rows: Batch, parts: int) -> str:
    """A file of the rows, each in the part that its values tell; its path. Raises OSError."""
    part = _part_of(rows, parts)
    order = np.argsort(part, kind="stable")
    arrays = {f"column.{name}": column[order] for name, column in rows.columns.items()}
    arrays["starts"] = np.searchsorted(part[order], np.arange(parts + 1))
    return write_staged(output.folder, f"{_stem(output)}{number}", arrays)


def together(files: Sequence[str], number: int, check: Callable[[], None]) -> Batch:
    """The rows of one part, each once."""
    batches = []
    for file in files:
        arrays = read_staged(file)
        start, stop = arrays["starts"][number : number + 2].tolist()
        columns = {
            name.removeprefix("column."): np.array(column[start:stop])
            for name, column in arrays.items()
            if name.startswith("column.")
        }
        batches.append(Batch(stop - start, columns))
    return concatenate(batches).distinct(check)


def remove(output: Output) -> None:
    """Removes the files, those of attempts at a task that was tried again, too."""
    for path in Path(output.folder).glob(f"{_stem(output)}*"):
        path.unlink(missing_ok=True)


def _stem(output: Output) -> str:
    return f".{output.stem}-rows-"


def _part_of(rows: Batch, parts: int) -> Column:
    mixed = np.zeros(rows.size, np.uint64)
    for name in sorted(rows.columns):
        mixed = (mixed ^ rows.columns[name].view(np.uint64)) * _SPREAD
        mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(parts)).astype(np.int64)
