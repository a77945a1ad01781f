"""What an excision takes of the log: the entries that hold some of it, and the payloads that take their place.

Entries are looked at in order. A retraction goes where its assertion goes. A payload keeps the number of each value
that went from it: a slot with another key, or with the value's own where something else has it still.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from adalog.datalog.errors import AdalogError, Code
from adalog.store.log.entry import LogEntry, replaced
from adalog.store.log.imported import LoggedFile
from adalog.store.log.payload import Logged, LoggedColumn, Slot
from adalog.store.snapshot.free_ids import ids_in
from adalog.store.values import layout
from adalog.store.values.arrays import Bools, Int64s
from adalog.store.values.changes import Effect, Excision
from adalog.store.values.codes import Codes
from adalog.store.values.keys import Spelling, spell
from adalog.store.values.schema import Schema

Key = tuple[int, bytes]
"""A value with a number in a dictionary: its tag and its key."""


@dataclass(frozen=True, eq=False)
class _Row:
    """An entry, and which of its datoms and of the rows of its columns go."""

    entry: LogEntry
    logged: Logged
    datoms: Sequence[bool]
    columns: Sequence[Bools | None]


@dataclass(eq=False)
class Redaction:
    """forgetful: attributes of which the log has values that nothing else has. gone: keys of values that went.
    used: of those attributes the keys that stay."""

    excision: Excision
    schema: Schema
    codes: Codes
    forgetful: Collection[int] = ()
    gone: set[Key] = field(default_factory=set)
    used: set[Key] = field(default_factory=set)
    _rows: list[_Row] = field(default_factory=list)
    _open: set[tuple[int, int, Spelling]] = field(default_factory=set)

    def look(self, entry: LogEntry, logged: Logged) -> None:
        """The next entry of which something may go, or that has slots."""
        datoms = [self._takes(entry.t, datom) for datom in logged.datoms]
        columns = [self._takes_of(entry.t, column) for column in logged.columns]
        if self.forgetful:
            self._keep(logged, datoms)
        if any(datoms) or any(each is not None for each in columns) or logged.slots or self._names(entry.t, logged):
            self._rows.append(_Row(entry, logged, datoms, columns))

    def _takes(self, t: int, datom: tuple[int, int, Any, bool]) -> bool:
        e, a, value, added = datom
        if added:
            is_ref = self._is_ref(a)
            if not any(
                scope.has(a)
                and t < scope.before
                and (
                    scope.entities is None
                    or _among(e, scope.entities)
                    or (scope.with_refs and is_ref and _among(value, scope.entities))
                )
                for scope in self.excision.scopes
            ):
                return False
        spelling = spell(value)
        if added:
            self._open.add((e, a, spelling))
        elif (e, a, spelling) in self._open:
            self._open.discard((e, a, spelling))
        else:
            return False
        if isinstance(spelling[1], bytes):
            self.gone.add((spelling[0], spelling[1]))
        return True

    def _takes_of(self, t: int, column: LoggedColumn | LoggedFile) -> Bools | None:
        a = column.attribute
        if not any(scope.has(a) for scope in self.excision.scopes):
            return None
        e = column.entities()
        v = column.codes(self.codes)
        gone = self.excision.takes(a, e, v, np.full(len(e), t, np.int64), is_ref=self._is_ref(a))
        if isinstance(column, LoggedFile) and gone is not None:
            raise _unsupported(t)
        for place in () if gone is None else np.flatnonzero(gone).tolist():
            spelling = spell(self.codes.decode(int(v[place])))
            self._open.add((int(e[place]), a, spelling))
            if isinstance(spelling[1], bytes):
                self.gone.add((spelling[0], spelling[1]))
        return gone

    def _keep(self, logged: Logged, gone: Sequence[bool]) -> None:
        for (_, a, value, _), goes in zip(logged.datoms, gone, strict=True):
            if not goes and a in self.forgetful:
                self._use([value])
        for column in logged.columns:
            if column.attribute in self.forgetful:
                self._use(column.values())

    def _use(self, values: Iterable[Any]) -> None:
        for value in values:
            tag, key = spell(value)
            if isinstance(key, bytes):
                self.used.add((tag, key))

    def _names(self, t: int, logged: Logged) -> bool:
        return any(self._is_named_of(t, id_) for id_ in logged.tempids.values())

    def _is_named_of(self, t: int, id_: int) -> bool:
        """Whether the name of an entity goes: that of a tempid of a whole entity."""
        return any(
            scope.attributes is None
            and scope.entities is not None
            and t < scope.before
            and _among(id_, scope.entities)
            for scope in self.excision.scopes
        )

    def _is_ref(self, a: int) -> bool:
        attribute = self.schema.get(a)
        return attribute is not None and attribute.is_ref

    def replaced(self, renamed: Mapping[tuple[int, int], bytes]) -> list[LogEntry]:
        """The entries with what is left of them. renamed: by tag and number, the keys in the place of those that
        nothing uses any more."""
        made = []
        for row in self._rows:
            takes = any(row.datoms) or any(each is not None for each in row.columns)
            if (
                takes
                or self._names(row.entry.t, row.logged)
                or any(each[1:3] in renamed for each in row.logged.slots)
            ):
                left = self._left(row, renamed)
                made.append(replaced(row.entry, left.encoded()))
        return made

    def _left(self, row: _Row, renamed: Mapping[tuple[int, int], bytes]) -> Logged:
        logged, slots, seen = row.logged, list[Slot](), set[tuple[int, int]]()
        datoms, columns, effects = (
            list[tuple[int, int, Any, bool]](),
            list[LoggedColumn | LoggedFile](),
            list[Effect](),
        )
        before = iter((*logged.slots, None))
        waiting = next(before)

        def fill(place: int, tag: int, number: int, key: bytes) -> None:
            if (tag, number) not in seen:
                seen.add((tag, number))
                slots.append(Slot(place, tag, number, renamed.get((tag, number), key)))

        def fill_known(until: int) -> None:
            nonlocal waiting
            while waiting is not None and waiting.place <= until:
                fill(len(datoms) + len(columns), *waiting[1:])
                waiting = next(before)

        for place, (datom, goes) in enumerate(zip(logged.datoms, row.datoms, strict=True)):
            fill_known(place)
            if not goes:
                datoms.append(datom)
                continue
            e, a, value, added = datom
            tag, key = spell(value)
            code = key if isinstance(key, int) else self.codes.lookup_key(tag, key)
            assert code is not None, "a value of the database"
            effects.append(Effect(e, a, code, added))
            if isinstance(key, bytes):
                fill(len(datoms), tag, code & layout.PAYLOAD_MASK, key)
        ids = [logged.ids, np.array(sorted(ids_in(effects, self.schema, self.codes)), np.int64)]
        for number, (column, gone) in enumerate(zip(logged.columns, row.columns, strict=True)):
            fill_known(len(logged.datoms) + number)
            if gone is None:
                columns.append(column)
                continue
            known, v = column.entities(), column.codes(self.codes)
            first = np.sort(np.unique(v, return_index=True)[1])
            for made in v[first][np.isin(layout.tags_of(v[first]), layout.DICTIONARY_TAGS)].tolist():
                tag, slot = layout.tag_of(made), made & layout.PAYLOAD_MASK
                fill(len(datoms) + len(columns), tag, slot, self.codes.dictionaries()[tag].key(slot))
            ids += [known[gone], v[gone]] if self._is_ref(column.attribute) else [known[gone]]
            if not gone.all():
                columns.append(LoggedColumn.of(column.attribute, known[~gone], v[~gone], self.codes))
        fill_known(len(logged.datoms) + len(logged.columns))
        return replace(
            logged,
            datoms=datoms,
            columns=columns,
            tempids={name: id_ for name, id_ in logged.tempids.items() if not self._is_named_of(row.entry.t, id_)},
            redacted=self.excision.t,
            slots=slots,
            ids=np.unique(np.concatenate(ids)),
        )


def _among(id_: Any, entities: Int64s) -> bool:
    at = int(entities.searchsorted(id_))
    return at < len(entities) and int(entities[at]) == id_


def _unsupported(t: int) -> AdalogError:
    return AdalogError(
        Code.TX_INVALID,
        f"transaction {t} is an import, and what imports brought cannot be excised; nothing was. Retract it",
    )
