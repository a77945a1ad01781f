"""Exchange of rows between the tasks that find them and those that write them: each task leaves a file of rows, and
a task of the next job reads its part of all files.

Parts are made by the hash of some columns, so that equal rows meet, or by an order of the rows.
The files lie beside the output and are removed with it. They hold codes that mean the same in every task, and the
values that a task made up.

Source of the splitting by samples: Shi and Schaeffer, "Parallel sorting by regular sampling" (1992).
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adalog.cluster.array_files import read_arrays, write_arrays
from adalog.datalog.ast import FindAggregate
from adalog.datalog.values import sort_key
from adalog.executor.answer.columns import order_keys
from adalog.executor.answer.parquet import Output
from adalog.executor.answer.result import sorted_rows
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.join.batch import Batch, Column, concatenate
from adalog.executor.spark.made_values import made_up, translated
from adalog.executor.spark.wire import arrays_of, batch_of
from adalog.planner.model.plan import Plan
from adalog.store.files.packing import pack, unpack
from adalog.store.values.codes import Scratch
from adalog.store.values.keys import spell

_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
# Sample rows of each task, from which the driver chooses the ends of parts.
_SAMPLE: Final = 256
# A limit up to which one process makes the answer.
_FEW: Final = 1 << 16
_COLUMN: Final = "column."
_STARTS: Final = "starts"
_MADE: Final = "made"


@dataclass(frozen=True, slots=True)
class ByHash:
    """Into `parts` parts by the values of some columns; rows that agree in these meet."""

    names: tuple[str, ...]
    parts: int

    def arranged(self, rows: Batch, values: Scratch, cancel: Cancel) -> tuple[Batch, dict[str, NDArray[np.int64]]]:
        mixed = np.zeros(rows.size, np.uint64)
        for name in self.names:
            mixed = (mixed ^ _hashed(rows.columns[name], values)) * _SPREAD
            mixed ^= mixed >> np.uint64(29)
        part = (mixed % np.uint64(self.parts)).astype(np.int64)
        cancel.check()
        order = np.argsort(part, kind="stable")
        return rows.take(order), {_STARTS: np.searchsorted(part[order], np.arange(self.parts + 1))}


@dataclass(frozen=True, slots=True)
class ByOrder:
    """Into parts that follow one another in the order of some columns, (place, descending), then of the others."""

    keys: tuple[tuple[int, bool], ...]

    def arranged(self, rows: Batch, values: Scratch, cancel: Cancel) -> tuple[Batch, dict[str, NDArray[np.int64]]]:
        return rows.take(sorted_rows(list(rows.columns.values()), values, self.keys, cancel=cancel)), {}

    def place(self, row: Sequence[Any]) -> list[Any]:
        """The sort key of a row of values."""
        others = [place for place in range(len(row)) if all(place != key for key, _ in self.keys)]
        keys = [_Falling(sort_key(row[place])) if down else sort_key(row[place]) for place, down in self.keys]
        ranked = [*keys, *(sort_key(row[place]) for place in others)]
        # Nil is last in either direction.
        nil = [row[place] is None for place in (*(key for key, _ in self.keys), *others)]
        return list(zip(nil, ranked, strict=True))

    def edges(self, samples: Iterable[tuple[Batch, float]], parts: int, values: Scratch, cancel: Cancel) -> Batch:
        """The first rows of all parts but the first, for at most `parts` parts of about equal size. samples: some
        rows of each file, and how many rows each of them stands for."""
        held = [(rows, each) for rows, each in samples if rows.size]
        if not held:
            return Batch(0, {})
        weights = np.repeat([each for _, each in held], [rows.size for rows, _ in held])
        rows = concatenate([rows for rows, _ in held])
        order = sorted_rows(list(rows.columns.values()), values, self.keys, cancel=cancel)
        ends = np.cumsum(weights[order])
        marks = np.searchsorted(ends, np.linspace(0, float(ends[-1]), parts + 1)[1:-1])
        return rows.take(order[np.unique(marks[marks > 0])]).distinct(cancel.check)


Exchange = ByHash | ByOrder


def exchanges(plan: Plan, parts: int, *, apart: bool) -> tuple[Exchange, ...] | None:
    """The exchanges between the join's tasks and those that write the answer; () if the former can write it. None
    if the answer needs so few rows that one process makes it. parts: the largest number of writing tasks. apart: no
    row can be of two tasks."""
    query = plan.query
    elements = query.find.columns
    plain = tuple(each.var.name for each in elements if not isinstance(each, FindAggregate))
    aggregates = len(plain) < len(elements)
    stop = query.window[1]
    few = stop is not None and stop <= _FEW
    # What only orders rows is in no file of the answer, and equal rows of hidden groups do not meet.
    if not plain or (few and not aggregates) or query.hides_order or query.find.hides_keys:
        return None
    keys = tuple(order_keys(query))
    by_order = (ByOrder(keys),) if keys else ()
    # In an order equal rows meet anyway.
    if aggregates or (not apart and not keys):
        return (ByHash(plain, parts), *by_order)
    return by_order


def sent(
    exchange: Exchange, output: Output, name: str, rows: Batch, values: Scratch, known: int, cancel: Cancel
) -> tuple[str, Batch]:
    """Writes rows to a file: its path, and samples for an order. name: of the round and the task. known: the number
    of made-up values that the driver knows. Raises OSError."""
    rows, arrays = exchange.arranged(rows, values, cancel)
    arrays |= {f"{_COLUMN}{each}": column for each, column in arrays_of(rows).items()}
    numbers, made = made_up(rows, values, known)
    said = np.frombuffer(pack([numbers, made]), np.uint8)
    path = write_arrays(output.folder, f"{_stem(output)}{name}", {**arrays, _MADE: said})
    if isinstance(exchange, ByHash):
        return path, Batch(0, {})
    return path, rows.take(np.linspace(0, rows.size - 1, min(rows.size, _SAMPLE)).astype(np.int64))


@dataclass(frozen=True)
class ExchangedRows:
    """Rows in files for some tasks. edges: for an order, the first row of each task's part but the first."""

    files: Sequence[str]
    exchange: Exchange
    tasks: int
    edges: Batch

    def part(self, number: int, values: Scratch, cancel: Cancel) -> Batch:
        batches = []
        for path in self.files:
            cancel.check()
            file = _File(path)
            start, stop = self._within(file, number, values)
            if stop > start:
                batches.append(file.rows(start, stop, values))
        return concatenate(batches) if batches else Batch(0, {})

    def _within(self, file: _File, number: int, values: Scratch) -> tuple[int, int]:
        if isinstance(self.exchange, ByHash):
            starts, parts = file.arrays[_STARTS], self.exchange.parts
            return int(starts[number * parts // self.tasks]), int(starts[(number + 1) * parts // self.tasks])
        place = self.exchange.place

        def before(edge: int) -> int:
            wanted = place(_values(self.edges.slice(edge, edge + 1), values))
            return bisect_left(
                range(file.size), wanted, key=lambda at: place(_values(file.rows(at, at + 1, values), values))
            )

        start = 0 if number == 0 else before(number - 1)
        return start, file.size if number == self.tasks - 1 else before(number)


class _File:
    def __init__(self, path: str) -> None:
        self.arrays = read_arrays(path)
        self._columns = {
            name.removeprefix(_COLUMN): column for name, column in self.arrays.items() if name.startswith(_COLUMN)
        }
        self.size = len(next(iter(self._columns.values())))
        self._numbers, self._made = unpack(self.arrays[_MADE].tobytes())

    def rows(self, start: int, stop: int, values: Scratch) -> Batch:
        """Some rows, with this process's codes of made-up values."""
        columns = {name: np.array(column[start:stop]) for name, column in self._columns.items()}
        return translated(batch_of(stop - start, columns), self._numbers, self._made, values)


class _Falling:
    """A key in descending order."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __lt__(self, other: _Falling) -> bool:
        return bool(other.key < self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Falling) and bool(self.key == other.key)

    __hash__ = None  # type: ignore[assignment]


def remove(output: Output, name: str) -> None:
    """Removes the files of a round, with those of failed attempts."""
    for path in Path(output.folder).glob(f"{_stem(output)}{name}*"):
        path.unlink(missing_ok=True)


def _stem(output: Output) -> str:
    return f".{output.stem}-rows-"


def _values(row: Batch, values: Scratch) -> list[Any]:
    return [values.decode_many(column)[0] for column in row.columns.values()]


def _hashed(codes: Column, values: Scratch) -> NDArray[np.uint64]:
    """Hashes that all tasks agree on: of the code, or of the key of a made-up value."""
    hashes = codes.view(np.uint64).copy()
    numbers = values.made_numbers(codes)
    there = np.unique(numbers[numbers >= 0])
    if len(there):
        made = values.made()
        keys = np.array([_hash_of(made[number]) for number in there.tolist()], np.uint64)
        at = np.flatnonzero(numbers >= 0)
        hashes[at] = keys[np.searchsorted(there, numbers[at])]
    return hashes


def _hash_of(value: Any) -> int:
    tag, key = spell(value)
    return (tag << 32) ^ (zlib.crc32(key) if isinstance(key, bytes) else int(key) & 0xFFFFFFFF)
