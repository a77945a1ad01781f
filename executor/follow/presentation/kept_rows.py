"""The rows that a view keeps of one answer: all of them, or of an ordered answer those of a window and some on
either side of it, so that rows which enter and leave move the window without asking for the whole again.

Rows are columns of codes. The order is total: by the terms of `:order-by`, then by the columns in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from adalog.executor.answer.result import Result, sorted_rows
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.join.batch import Column, Mask, stack
from adalog.executor.kernels.group_kernels import group_rows
from adalog.store.values.codes import Scratch

_LEAST_MARGIN: Final = 64
_MOST_MARGIN: Final = 1024


@dataclass(frozen=True, slots=True)
class Window:
    """The rows number `start` to `stop` of an answer whose order is `keys`: (column, descending)."""

    start: int
    stop: int | None
    keys: tuple[tuple[int, bool], ...]

    @property
    def margin(self) -> int:
        """How many rows are kept on either side."""
        size = _MOST_MARGIN if self.stop is None else self.stop - self.start
        return max(_LEAST_MARGIN, min(size, _MOST_MARGIN))

    @property
    def kept(self) -> tuple[int, int | None]:
        """The rows to ask for."""
        return max(0, self.start - self.margin), None if self.stop is None else self.stop + self.margin


@dataclass(frozen=True, slots=True)
class KeptRows:
    """`columns`: int64[n] each. `values`: their codes. `window`: which of them are shown; None: all, in no order.
    `first`: the number of the first row. `to_end`: no row comes after the last."""

    columns: Sequence[Column]
    values: Scratch
    window: Window | None = None
    first: int = 0
    to_end: bool = True

    @staticmethod
    def of(result: Result, window: Window | None) -> KeptRows:
        """An answer, or the part of it that a window keeps."""
        columns = [np.ascontiguousarray(result.codes_of(i, 0, len(result))) for i in range(len(result.columns))]
        if window is None:
            return KeptRows(columns, result.values)
        first, stop = window.kept
        return KeptRows(columns, result.values, window, first, stop is None or len(result) < stop - first)

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def shown(self) -> slice:
        """The places of the rows that are shown."""
        if self.window is None:
            return slice(0, len(self))
        stop = self.window.stop
        return slice(self.window.start - self.first, len(self) if stop is None else stop - self.first)

    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns) + 100 * len(self.values.made())

    def moved(
        self, added: Sequence[Column], removed: Sequence[Column], values: Scratch, cancel: Cancel
    ) -> KeptRows | None:
        """With the rows that entered the whole answer and without those that left it; None where those kept do not
        tell which are shown. `values`: the codes of all rows, these included."""
        if self.window is None:
            left = among(self.columns, removed, cancel)
            return KeptRows(_joined([each[~left] for each in self.columns], added), values)
        if not len(self) and not (self.to_end and self.first == 0):
            # Where the rows lie that entered and left is not known.
            return None
        return self._moved(self.window, added, removed, values, cancel)

    def _moved(
        self, window: Window, added: Sequence[Column], removed: Sequence[Column], values: Scratch, cancel: Cancel
    ) -> KeptRows | None:
        kept = len(self)
        left = among(self.columns, removed, cancel)
        elsewhere = ~among(removed, self.columns, cancel)
        changes = _joined(added, [each[elsewhere] for each in removed])
        columns = _joined(self.columns, changes)
        order = sorted_rows(columns, values, window.keys, None, cancel)
        places = np.flatnonzero(order < kept)
        since, until = (int(places[0]), int(places[-1]) + 1) if kept else (0, len(order))
        came = len(added[0])
        before, first = order[:since], self.first
        if first:
            first += int((before < kept + came).sum()) - int((before >= kept + came).sum())
        else:
            since = 0
        if self.to_end:
            until = len(order)
        inside = order[since:until]
        stays = np.ones(len(columns[0]), np.bool_)
        stays[:kept] = ~left
        stays[kept + came :] = False
        inside = inside[stays[inside]]
        return _trimmed([each[inside] for each in columns], values, window, first, self.to_end)


def _trimmed(
    columns: Sequence[Column], values: Scratch, window: Window, first: int, to_end: bool
) -> KeptRows | None:
    """The rows with no more on either side than are worth keeping; None where some of the window are missing."""
    size = len(columns[0])
    if first > window.start or (not to_end and (window.stop is None or first + size < window.stop)):
        return None
    least = max(0, window.start - 2 * window.margin)
    begin, end = max(0, least - first), size
    if window.stop is not None and window.stop + 2 * window.margin < first + size:
        end, to_end = window.stop + 2 * window.margin - first, False
    return KeptRows([each[begin:end] for each in columns], values, window, first + begin, to_end)


def own_codes(columns: Sequence[Column], values: Scratch, own: Scratch) -> list[Column]:
    """Columns of codes of `values` as codes of another, which may know more of the database's."""
    found: list[Column] = []
    for column in columns:
        places = np.flatnonzero(Scratch.made_numbers(column) >= 0)
        if len(places):
            column = column.copy()
            column[places] = own.intern_many(values.decode_many(column[places]))
        found.append(column)
    return found


def among(rows: Sequence[Column], others: Sequence[Column], cancel: Cancel) -> Mask:
    """Which of some rows are among others."""
    found = np.ones(len(rows[0]), np.bool_)
    for column, other in zip(rows, others, strict=True):
        if not found.any():
            return found
        found &= np.isin(column, other)
    places = np.flatnonzero(found)
    if len(places) and len(rows) > 1:
        group, _ = group_rows(stack(_joined([each[places] for each in rows], others)), cancel.check)
        found[places] = np.isin(group[: len(places)], group[len(places) :])
    return found


def _joined(rows: Sequence[Column], others: Sequence[Column]) -> list[Column]:
    return [np.concatenate(each) for each in zip(rows, others, strict=True)]
