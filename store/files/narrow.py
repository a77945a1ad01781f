"""Columns of whole numbers that a file holds in as few bytes as they need, and that are read in parts.

A column `c` is one of: `c` itself; `c.first`, the first of n numbers that follow each other, and n; `c.least`, the
least of n numbers, and n, with `c.above`, how far above it each is, unless they are all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

FIRST: Final = "first"
LEAST: Final = "least"
ABOVE: Final = "above"

Column = NDArray[np.int64]
Arrays = Mapping[str, NDArray[Any]]


def narrowed(name: str, column: Column, *, grows: bool = False) -> dict[str, NDArray[Any]]:
    """The arrays for a column. grows: its numbers may be changed in the file, each to a greater one."""
    if not len(column):
        return {name: column}
    least, greatest = int(column.min()), int(column.max())
    if least == greatest:
        return {f"{name}.{LEAST}": np.array([least, len(column)], np.int64)}
    if not grows and greatest - least == len(column) - 1 and bool((np.diff(column) == 1).all()):
        return {f"{name}.{FIRST}": np.array([least, len(column)], np.int64)}
    # With as much room again for what may be added.
    width = np.dtype(np.uint32) if grows else np.min_scalar_type(greatest - least)
    if width.itemsize >= column.itemsize or greatest - least > np.iinfo(width).max // (2 if grows else 1):
        return {name: column}
    above = np.subtract(column, least, dtype=np.int64).astype(width)
    return {f"{name}.{LEAST}": np.array([least, len(column)], np.int64), f"{name}.{ABOVE}": above}


def column_of(arrays: Arrays, name: str, start: int = 0, stop: int | None = None) -> Column:
    """The numbers of a column from place `start` up to `stop`. Costs what these are."""
    if name in arrays:
        return arrays[name][start:stop]
    start, stop, _ = slice(start, stop).indices(length_of(arrays, name))
    if f"{name}.{FIRST}" in arrays:
        first = int(arrays[f"{name}.{FIRST}"][0])
        return np.arange(first + start, first + max(start, stop), dtype=np.int64)
    least = int(arrays[f"{name}.{LEAST}"][0])
    above = arrays.get(f"{name}.{ABOVE}")
    if above is None:
        return np.full(max(stop - start, 0), least, np.int64)
    column: Column = above[start:stop].astype(np.int64) + least
    return column


def length_of(arrays: Arrays, name: str) -> int:
    """How many numbers a column has."""
    if name in arrays:
        return len(arrays[name])
    said = arrays.get(f"{name}.{FIRST}", arrays.get(f"{name}.{LEAST}"))
    assert said is not None
    length = int(said[1])
    above = arrays.get(f"{name}.{ABOVE}")
    return length if above is None else min(length, len(above))
