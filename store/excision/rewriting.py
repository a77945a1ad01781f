"""What is left of an entry of the log. It keeps the number of each value that went: a slot with another key, or the
value's own where something else has it still."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from adalog.store.files.segment import Segment
from adalog.store.log.entry import LogEntry, replaced
from adalog.store.log.imported import LoggedFile
from adalog.store.log.payload import DictionarySlot, ExcisedParts, Logged, LoggedColumn
from adalog.store.snapshot.free_ids import ids_in, ids_in_columns
from adalog.store.values import layout
from adalog.store.values.arrays import Bools, Int64s
from adalog.store.values.changes import BulkColumn, Effect, Excision
from adalog.store.values.codes import Codes
from adalog.store.values.schema import Schema


@dataclass(frozen=True, eq=False)
class RedactedRow:
    """An entry of the log with what goes of it: datoms, rows of columns, names of tempids. asserted: by place, the
    code of the value of each assertion among the datoms that go."""

    entry: LogEntry
    logged: Logged
    datoms: Sequence[bool]
    columns: Sequence[Bools | None]
    names: Sequence[str]
    asserted: Mapping[int, int]

    @property
    def takes(self) -> bool:
        """Whether something goes."""
        return any(self.datoms) or any(each is not None for each in self.columns) or len(self.names) > 0


@dataclass(frozen=True, eq=False)
class Rewriting:
    """renamed: (tag, number) of values that nothing uses any more. folder: for new files of imports. makers: by tag
    and number, a transaction by which the value had got the number; None where that is not known."""

    excision: Excision
    schema: Schema
    codes: Codes
    renamed: Set[tuple[int, int]]
    folder: Path | None
    makers: Mapping[int, Int64s] | None = None

    def replaced(self, row: RedactedRow, encoded: Callable[[Logged, LogEntry], bytes]) -> ReplacedEntry | None:
        """The rewritten entry of a row; None if it does not change. encoded: makes its payload. Raises OSError."""
        if not row.takes and not any(self._renames(slot) for slot in row.logged.slots):
            return None
        left = self.left(row)
        before, after = _files(row.logged.columns), _files(left.columns)
        entry = replaced(replace(row.entry, files=[each.file for each in after]), encoded(left, row.entry))
        return ReplacedEntry(entry, tuple(after - before), tuple(before - after))

    def _renames(self, slot: DictionarySlot) -> bool:
        return any((slot.tag, number) in self.renamed for number in range(slot.number, slot.stop))

    def left(self, row: RedactedRow) -> Logged:
        """What is left of a row. Raises OSError."""
        logged = row.logged
        made = _Left(self.excision.seed, self.renamed, logged.slots)
        effects: list[Effect] = []
        for place, (datom, goes) in enumerate(zip(logged.datoms, row.datoms, strict=True)):
            made.keep_slots(place)
            if not goes:
                made.datoms.append(datom)
                continue
            code = row.asserted.get(place)
            # A value that is retracted has got its number when it was asserted.
            if code is not None:
                effects.append(Effect(datom[0], datom[1], code, True))
                self._fill(made, row.entry.t, [code])
        columns = self._columns(row, made)
        ids = [logged.excised.ids, np.array(sorted(ids_in(effects, self.schema, self.codes)), np.int64)]
        ids.append(ids_in_columns(columns, self.schema, self.codes))
        return replace(
            logged,
            datoms=made.datoms,
            columns=made.columns,
            tempids={name: id_ for name, id_ in logged.tempids.items() if name not in row.names},
            excised=ExcisedParts(
                logged.excision, self.excision.t, made.joined_slots(), np.unique(np.concatenate(ids))
            ),
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
            self._fill(made, row.entry.t, sorted(set(codes)), together=is_file)
            if not gone.all():
                made.columns.append(self._without(row.entry.t, column, gone))
        made.keep_slots(before + 1 + len(row.logged.columns))
        return went

    def _without(self, t: int, column: LoggedColumn | LoggedFile, gone: Bools) -> LoggedColumn | LoggedFile:
        if isinstance(column, LoggedColumn):
            return column.without(gone)
        assert self.folder is not None, "only the log of a folder names files"
        return column.without(gone, self.folder, t)

    def _fill(self, made: _Left, t: int, values: Sequence[int], *, together: bool = False) -> None:
        """Slots for the codes among these that have a number in a dictionary, and may have got it by transaction
        t."""
        dictionaries, makers = self.codes.dictionaries(), self.makers
        for code in values:
            tag, number = layout.tag_of(code), code & layout.PAYLOAD_MASK
            if tag in dictionaries and (makers is None or t <= makers[tag][number]):
                renamed = (tag, number) in self.renamed
                made.fill(tag, number, b"" if renamed else dictionaries[tag].key(number), together=together)


@dataclass(frozen=True)
class ReplacedEntry:
    """made: files that it names and did not name before. outdated: the other way round."""

    entry: LogEntry
    made: Sequence[Segment] = ()
    outdated: Sequence[Segment] = ()


def _files(columns: Iterable[LoggedColumn | LoggedFile]) -> set[Segment]:
    return {each.segment for each in columns if isinstance(each, LoggedFile)}


@dataclass(eq=False)
class _Left:
    seed: int
    renamed: Set[tuple[int, int]]
    known: Sequence[DictionarySlot]
    datoms: list[tuple[int, int, Any, bool]] = field(default_factory=list)
    columns: list[LoggedColumn | LoggedFile] = field(default_factory=list)
    slots: list[DictionarySlot] = field(default_factory=list)
    is_after_datoms: bool = False
    _seen: set[tuple[int, int]] = field(default_factory=set)
    _kept: int = 0

    def fill(self, tag: int, number: int, key: bytes | int, *, together: bool = False) -> None:
        """A slot after what there is so far."""
        if (tag, number) not in self._seen:
            self._seen.add((tag, number))
            place = len(self.datoms)
            if self.is_after_datoms:
                place += 1 + len(self.columns)
            place = -1 if together else place
            self.slots.append(
                DictionarySlot(place, tag, number, 1, self.seed if (tag, number) in self.renamed else key)
            )

    def keep_slots(self, until: int) -> None:
        """Slots that the entry has already, up to a place."""
        while self._kept < len(self.known) and self.known[self._kept].place <= until:
            slot = self.known[self._kept]
            for number in range(slot.number, slot.stop):
                self.fill(slot.tag, number, slot.key, together=slot.place < 0)
            self._kept += 1

    def joined_slots(self) -> list[DictionarySlot]:
        """The slots in order, with placeholders of consecutive numbers joined."""
        made: list[DictionarySlot] = []
        for slot in sorted(self.slots, key=lambda slot: (slot.place, slot.tag, slot.number)):
            last = made[-1] if made else None
            if (
                last is not None
                and isinstance(slot.key, int)
                and (last.place, last.tag, last.stop, last.key) == (slot.place, slot.tag, slot.number, slot.key)
            ):
                made[-1] = last._replace(size=last.size + 1)
            else:
                made.append(slot)
        return made
