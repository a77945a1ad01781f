"""The past of attributes with `:db/noHistory`, which the log alone has: assertions with their retractions.

Most of it is read beside the writer, which reads what came since. For each pair of entity and value assertions and
retractions alternate in the log. Rows are sorted when many have been read; assertions whose retraction has not come
stay open.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from adalog.store.files.packing import pack
from adalog.store.log.entry import LogEntry
from adalog.store.log.payload import Logged
from adalog.store.log.reader import MOST_PARTS, LogReader
from adalog.store.tries.attribute_data import AttributeData
from adalog.store.tries.base import ClosedDatoms, settle
from adalog.store.tries.columns import NO_COLUMNS, Columns
from adalog.store.tries.trie import distinct
from adalog.store.values.arrays import Int64s
from adalog.store.values.codes import Codes

# So many rows are read before they are sorted, at least.
_ROWS: Final = 1 << 20
# A row of events: entity, code of the value, transaction, whether asserted.
_WIDTH: Final = 4


def entries_with(log: LogReader, attributes: Collection[int], after: int, until: int) -> Iterator[LogEntry]:
    """The entries with after < t <= until that may have datoms of the attributes, or are excisions: in order."""
    if len(attributes) > MOST_PARTS:
        return log.entries_of(range(after + 1, until + 1))
    return log.entries_of([t for t in log.holding([pack(a) for a in attributes], after) if t <= until])


def once_forgetful(declared: AttributeData, t: int) -> frozenset[int]:
    """The attributes that have, or had, `:db/noHistory`: of these the log has more than memory. declared: the data
    of that attribute."""
    return frozenset(declared.events(-1, t).e.tolist())


@dataclass(eq=False)
class LoggedPast:
    """attributes: those that have, or had, `:db/noHistory`. points: of those of which something goes, the
    transaction before which it was retracted. excised: the last excision before it was read."""

    attributes: frozenset[int]
    points: Mapping[int, int]
    codes: Codes
    excised: int
    # The last transaction that was read.
    _read: int = 0
    # By attribute: rows of before its point that are not paired yet; the number of rows at which they are sorted
    # again; the pairs that were found.
    _open: dict[int, array[int]] = field(default_factory=dict)
    _full: dict[int, int] = field(default_factory=dict)
    _ended: dict[int, list[ClosedDatoms]] = field(default_factory=dict)
    # Codes of values of later entries, which stay: sorted, and read since.
    _stays: Int64s = field(default_factory=lambda: np.empty(0, np.int64))
    _later: array[int] = field(default_factory=lambda: array("q"))

    def suits(self, attributes: frozenset[int], points: Mapping[int, int], excised: int) -> bool:
        """Whether it is of these, and what it has read is in the log still."""
        return (self.attributes, self.points, self.excised) == (attributes, points, excised)

    def read(self, log: LogReader, until: int) -> None:
        """Reads the entries up to a transaction that were not read yet; the codes have their values. Raises
        BACKEND_UNAVAILABLE and INTERNAL where the log cannot be read."""
        if self.attributes:
            for entry in entries_with(log, self.attributes, self._read, until):
                self._look(entry.t, log.opened(entry))
        self._read = until

    def _look(self, t: int, logged: Logged) -> None:
        """Reads the next entry that may have datoms of the attributes."""
        for e, a, value, added in logged.datoms:
            if a not in self.attributes:
                continue
            code = self.codes.lookup(value)
            assert code is not None, "a value of the database"
            if t < self.points.get(a, 0):
                self._rows(a).extend((e, code, t, added))
            else:
                self._later.append(code)
        for column in logged.columns:
            a = column.attribute
            if a not in self.attributes:
                continue
            v = np.array(column.known_codes(self.codes, np.arange(len(column))), np.int64)
            if t < self.points.get(a, 0):
                columns = (column.entities(), v, np.full(len(v), t, np.int64), column.assertions())
                self._rows(a).frombytes(np.column_stack(columns).astype(np.int64).tobytes())
            else:
                self._later.frombytes(distinct(np.sort(v)).astype(np.int64).tobytes())
        for a, rows_of in self._open.items():
            if len(rows_of) >= _WIDTH * self._full[a]:
                self._sort(a)
        if len(self._later) >= _ROWS:
            self._stays, self._later = self.used(), array("q")

    def _rows(self, a: int) -> array[int]:
        if a not in self._open:
            self._open[a], self._full[a], self._ended[a] = array("q"), _ROWS, []
        return self._open[a]

    def _sort(self, a: int) -> None:
        """Takes the pairs that ended out of those that are open."""
        rows = np.array(self._open[a], np.int64).reshape(-1, _WIDTH)
        e, v, t, added = (np.ascontiguousarray(rows[:, number]) for number in range(_WIDTH))
        left, ended = settle(NO_COLUMNS, NO_COLUMNS, Columns(e, v, t, added.astype(np.bool_)))
        self._ended[a].append(ended)
        kept = np.column_stack((left.e, left.v, left.t, left.added)).astype(np.int64)
        self._open[a] = array("q", kept.tobytes())
        self._full[a] = max(_ROWS, 2 * len(kept))

    def ended(self) -> dict[int, ClosedDatoms]:
        """By attribute, the datoms that go."""
        for a in self._open:
            self._sort(a)
        return {
            a: ClosedDatoms(
                *(
                    np.concatenate([getattr(part, name) for part in parts])
                    for name in ("e", "v", "added", "retracted")
                )
            )
            for a, parts in self._ended.items()
        }

    def used(self) -> Int64s:
        """The codes of the values that stay, distinct and in order. Comes after `ended`."""
        left = [np.array(rows, np.int64).reshape(-1, _WIDTH)[:, 1] for rows in self._open.values()]
        return distinct(np.sort(np.concatenate([self._stays, np.array(self._later, np.int64), *left])))
