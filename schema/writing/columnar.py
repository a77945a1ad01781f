"""Lists of objects held as columns, written as JSON without GraphQL's completion of each object.

The fields of each object are worked out once (`FieldShape`). Each piece of the list becomes bytes that are counted,
so that a list that is too large fails before it is built. Works on any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

import orjson

from adalog.executor.bounds.cancel import Cancel
from adalog.schema.request.budget import JsonChunks, Prepaid

Reading = Mapping[str, Callable[[Any], Any]]

_SHORT: Final = 50
_PIECE: Final = 2_000


class ColumnarPiece(Protocol):
    """Some objects of a list."""

    def __len__(self) -> int: ...

    def column(self, field: str) -> Sequence[Any]:
        """What the GraphQL field `field` shows, one for each: JSON values, or lists held as columns."""


class Columnar(Protocol):
    """A list of objects, a piece at a time. `short`: written in no time. `prepaid`: for what is held of it. `cost`:
    of writing it, in the planner's measure. `deadline`: of the request."""

    @property
    def short(self) -> bool: ...
    @property
    def prepaid(self) -> Prepaid | None: ...
    @property
    def cost(self) -> float: ...
    @property
    def deadline(self) -> float | None: ...

    def pieces(self, cancel: Cancel) -> Iterator[ColumnarPiece]:
        """The pieces in order; the flag is looked at as they are made."""


@dataclass(frozen=True, slots=True)
class FieldShape:
    """`fields`: response name, field, and the shape of what it shows where that is a list of objects."""

    type_name: str
    fields: Sequence[tuple[str, str, FieldShape | None]]


def free(_: int) -> None:
    """The budget of what has to be told, whatever its size."""


@dataclass(frozen=True, slots=True)
class ColumnarWriter:
    """`take` is told of bytes as they are written, and may raise."""

    take: Callable[[int], None]
    cancel: Cancel

    def written(self, items: Columnar, shape: FieldShape) -> JsonChunks:
        chunks = []
        for piece in items.pieces(self.cancel):
            rows, nbytes = self._within(piece, shape)
            chunk = orjson.dumps(rows)[1:-1]
            self.take(len(chunk) - nbytes)
            chunks.append(chunk)
        return JsonChunks.list_of(chunks)

    def row(self, piece: ColumnarPiece, shape: FieldShape) -> dict[str, Any]:
        """The one object that a piece consists of, as orjson writes it."""
        ((row,), _) = self._within(piece, shape)
        return row

    def _within(self, piece: ColumnarPiece, shape: FieldShape) -> tuple[list[dict[str, Any]], int]:
        """(the objects, bytes of the lists within, which were taken when they were written)."""
        names, columns, nbytes = [], [], 0
        for name, field, inner in shape.fields:
            names.append(name)
            column: Iterable[Any]
            if field == "__typename":
                column = [shape.type_name] * len(piece)
            elif inner is None:
                column = piece.column(field)
            else:
                lists = [self.written(each, inner) for each in piece.column(field)]
                nbytes += sum(each.nbytes for each in lists)
                column = [orjson.Fragment(b"".join(each.chunks)) for each in lists]
            columns.append(column)
        if not columns:
            return [{}] * len(piece), 0
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)], nbytes


@dataclass(frozen=True, slots=True)
class Objects:
    """Columns from whatever objects there are; `read`: by the fields' names how to take each from an object."""

    items: Sequence[Any]
    read: Reading
    deadline: float | None = None
    prepaid: ClassVar[None] = None
    cost: ClassVar[float] = 0.0

    @property
    def short(self) -> bool:
        return len(self.items) <= _SHORT

    def __len__(self) -> int:
        return len(self.items)

    def column(self, field: str) -> Sequence[Any]:
        return list(map(self.read[field], self.items))

    def pieces(self, cancel: Cancel) -> Iterator[ColumnarPiece]:
        for start in range(0, len(self.items), _PIECE):
            cancel.check()
            yield Objects(self.items[start : start + _PIECE], self.read)
