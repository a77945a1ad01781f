"""What is left of an entry of the log. It keeps the number of each value that went: a slot with another key, or the
value's own where something else has it still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from adalog.store.log.entry import LogEntry
from adalog.store.log.imported import LoggedFile
from adalog.store.log.payload import DictionarySlot, ExcisedParts, Logged, LoggedColumn
from adalog.store.snapshot.free_ids import ids_in, ids_in_columns
from adalog.store.values import layout
from adalog.store.values.arrays import Bools
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
        ids = [logged.excised.ids, np.array(sorted(ids_in(effects, self.schema, self.codes)), np.int64)]
        ids.append(ids_in_columns(columns, self.schema, self.codes))
        return replace(
            logged,
            datoms=made.datoms,
            columns=made.columns,
            tempids={name: id_ for name, id_ in logged.tempids.items() if name not in row.names},
            excised=ExcisedParts(logged.excision, self.t, made.slots, np.unique(np.concatenate(ids))),
        )

    def _columns(self, row: RedactedRow, made: _Left) -> list[BulkColumn]:
        """Rewrites the columns; what goes of them."""
        went, before = list[BulkColumn](), len(row.logged.datoms)
        made.keep_slots(before)
        made.is_after_datoms = True
        for number, (column, gone) in enumerate(zip(row.logged.columns, row.columns, strict=True)):
            made.keep_slots(before + 1 + number)
            if gone is None:
                made.columns.append(column)
                continue
            rows = np.flatnonzero(gone)
            codes = column.known_codes(self.codes, rows)
            went.append(BulkColumn(column.attribute, column.entities()[rows], np.array(codes, np.int64)))
            is_file = isinstance(column, LoggedFile)
            self._fill(made, sorted(set(codes)), together=is_file)
            if not gone.all():
                made.columns.append(self._without(row.entry.t, column, gone))
        made.keep_slots(before + 1 + len(row.logged.columns))
        made.slots.sort(key=lambda slot: slot.place)
        return went

    def _without(self, t: int, column: LoggedColumn | LoggedFile, gone: Bools) -> LoggedColumn | LoggedFile:
        if isinstance(column, LoggedColumn):
            return column.without(gone)
        assert self.folder is not None, "only the log of a folder names files"
        return column.without(gone, self.folder, t)

    def _fill(self, made: _Left, values: Sequence[int], *, together: bool = False) -> None:
        """DictionarySlots for the codes among these that have a number in a dictionary."""
        dictionaries = self.codes.dictionaries()
        for code in values:
            tag, number = layout.tag_of(code), code & layout.PAYLOAD_MASK
            if tag in dictionaries:
                made.fill(tag, number, dictionaries[tag].key(number), together=together)


@dataclass(eq=False)
class _Left:
    renamed: Mapping[tuple[int, int], bytes]
    known: Sequence[DictionarySlot]
    datoms: list[tuple[int, int, Any, bool]] = field(default_factory=list)
    columns: list[LoggedColumn | LoggedFile] = field(default_factory=list)
    slots: list[DictionarySlot] = field(default_factory=list)
    is_after_datoms: bool = False
    _seen: set[tuple[int, int]] = field(default_factory=set)
    _kept: int = 0

    def fill(self, tag: int, number: int, key: bytes, *, together: bool = False) -> None:
        """A slot after what there is so far."""
        if (tag, number) not in self._seen:
            self._seen.add((tag, number))
            place = len(self.datoms)
            if self.is_after_datoms:
                place += 1 + len(self.columns)
            place = -1 if together else place
            self.slots.append(DictionarySlot(place, tag, number, self.renamed.get((tag, number), key)))

    def keep_slots(self, until: int) -> None:
        """DictionarySlots that the entry has already, up to a place."""
        while self._kept < len(self.known) and self.known[self._kept].place <= until:
            place, tag, number, key = self.known[self._kept]
            self.fill(tag, number, key, together=place < 0)
            self._kept += 1
