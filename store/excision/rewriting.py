"""What is left of an entry of the log. It keeps the number of each value that went: a slot with another key, or the
value's own where something else has it still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from adalog.store.log.entry import LogEntry
from adalog.store.log.imported import LoggedFile, write_logged
from adalog.store.log.payload import Logged, LoggedColumn, Slot
from adalog.store.snapshot.free_ids import ids_in, ids_in_columns
from adalog.store.values import layout
from adalog.store.values.arrays import Bools, Int64s
from adalog.store.values.changes import BulkColumn, Effect
from adalog.store.values.codes import Codes
from adalog.store.values.schema import Schema


@dataclass(frozen=True, eq=False)
class RedactedRow:
    """An entry, and which of its datoms, of the rows of its columns and of the names of its tempids go."""

    entry: LogEntry
    logged: Logged
    datoms: Sequence[bool]
    columns: Sequence[Bools | None]
    names: Sequence[str]

    @property
    def takes(self) -> bool:
        """Whether something goes."""
        return any(self.datoms) or any(each is not None for each in self.columns) or len(self.names) > 0


@dataclass(frozen=True, eq=False)
class Rewriting:
    """t: of the excision. renamed: by tag and number, the keys in the place of those that nothing uses any more.
    folder: for new files of imports."""

    t: int
    schema: Schema
    codes: Codes
    renamed: Mapping[tuple[int, int], bytes]
    folder: Path | None

    def left(self, row: RedactedRow) -> Logged:
        """What is left of a row. Raises OSError."""
        logged = row.logged
        made = _Left(self.renamed, logged.slots)
        effects: list[Effect] = []
        for place, (datom, goes) in enumerate(zip(logged.datoms, row.datoms, strict=True)):
            made.keep_slots(place)
            if not goes:
                made.datoms.append(datom)
                continue
            e, a, value, added = datom
            code = self.codes.lookup(value)
            assert code is not None, "a value of the database"
            effects.append(Effect(e, a, code, added))
            self._fill(made, [code])
        columns = self._columns(row, made)
        ids = [logged.ids, np.array(sorted(ids_in(effects, self.schema, self.codes)), np.int64)]
        ids.append(ids_in_columns(columns, self.schema, self.codes))
        return replace(
            logged,
            datoms=made.datoms,
            columns=made.columns,
            tempids={name: id_ for name, id_ in logged.tempids.items() if name not in row.names},
            redacted=self.t,
            slots=made.slots,
            ids=np.unique(np.concatenate(ids)),
        )

    def _columns(self, row: RedactedRow, made: _Left) -> list[BulkColumn]:
        """Rewrites the columns; what goes of them."""
        went, before = list[BulkColumn](), len(row.logged.datoms)
        for number, (column, gone) in enumerate(zip(row.logged.columns, row.columns, strict=True)):
            made.keep_slots(before + number)
            if gone is None:
                made.columns.append(column)
                continue
            e, v = column.entities(), column.codes(self.codes)
            went.append(BulkColumn(column.attribute, e[gone], v[gone]))
            if isinstance(column, LoggedFile):
                self._fill(made, np.unique(v[gone]).tolist(), together=True)
                if not gone.all():
                    made.columns.append(self._file(row.entry.t, column, (e, v, column.assertions()), ~gone))
                continue
            # By their first appearance: so they got their numbers.
            first = np.sort(np.unique(v, return_index=True)[1])
            self._fill(made, v[first].tolist())
            if not gone.all():
                made.columns.append(LoggedColumn.of(column.attribute, e[~gone], v[~gone], self.codes))
        made.keep_slots(before + len(row.logged.columns) + 1)
        # Numbers of an import follow each other whatever file they are in.
        made.slots.sort(key=lambda slot: slot[:3] if slot.place < 0 else (0, 0, 0))
        return went

    def _file(self, t: int, column: LoggedFile, events: tuple[Int64s, Int64s, Bools], left: Bools) -> LoggedFile:
        assert self.folder is not None, "only the log of a folder names files"
        e, v, added = events
        return write_logged(self.folder, column.attribute, t, (e[left], v[left], added[left]), self.codes)

    def _fill(self, made: _Left, values: Sequence[int], *, together: bool = False) -> None:
        """Slots for the codes among these that have a number in a dictionary."""
        dictionaries = self.codes.dictionaries()
        for code in values:
            tag, number = layout.tag_of(code), code & layout.PAYLOAD_MASK
            if tag in dictionaries:
                made.fill(tag, number, dictionaries[tag].key(number), together=together)


@dataclass(eq=False)
class _Left:
    renamed: Mapping[tuple[int, int], bytes]
    known: Sequence[Slot]
    datoms: list[tuple[int, int, Any, bool]] = field(default_factory=list)
    columns: list[LoggedColumn | LoggedFile] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    _seen: set[tuple[int, int]] = field(default_factory=set)
    _kept: int = 0

    def fill(self, tag: int, number: int, key: bytes, *, together: bool = False) -> None:
        """A slot after what there is so far."""
        if (tag, number) not in self._seen:
            self._seen.add((tag, number))
            place = -1 if together else len(self.datoms) + len(self.columns)
            self.slots.append(Slot(place, tag, number, self.renamed.get((tag, number), key)))

    def keep_slots(self, until: int) -> None:
        """Slots that the entry has already, up to a place."""
        while self._kept < len(self.known) and self.known[self._kept].place <= until:
            place, tag, number, key = self.known[self._kept]
            self.fill(tag, number, key, together=place < 0)
            self._kept += 1
