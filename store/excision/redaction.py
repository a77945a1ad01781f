"""What an excision takes of the log, entry by entry in their order. A retraction goes where its assertion goes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adalog.store.excision.rewriting import RedactedRow, ReplacedEntry, Rewriting
from adalog.store.log.entry import LogEntry
from adalog.store.log.imported import LoggedFile
from adalog.store.log.payload import Logged, LoggedColumn
from adalog.store.values.arrays import Bools, Int64s
from adalog.store.values.changes import Excision
from adalog.store.values.codes import Codes
from adalog.store.values.schema import Schema


@dataclass(eq=False)
class Redaction:
    """forgetful: attributes of which the log has values that nothing else has. gone: codes of values that went.
    used: of the forgetful attributes, those that stay."""

    excision: Excision
    schema: Schema
    codes: Codes
    forgetful: Collection[int] = ()
    gone: set[int] = field(default_factory=set)
    used: set[int] = field(default_factory=set)
    _rows: list[RedactedRow] = field(default_factory=list)
    # Pairs whose assertion went and whose retraction did not come yet; looked at only where some assertions stay.
    _open: set[tuple[int, int, int]] = field(default_factory=set)

    @property
    def _takes_all(self) -> bool:
        """Whether it takes whatever was asserted so far, and so all retractions."""
        return all(scope.before >= self.excision.t for scope in self.excision.scopes)

    def look(self, entry: LogEntry, logged: Logged) -> None:
        """The next entry of which something may go, or that has slots."""
        codes = [self._takes(entry.t, datom) for datom in logged.datoms]
        datoms = [code is not None for code in codes]
        asserted = {
            place: code
            for place, (code, (_, _, _, added)) in enumerate(zip(codes, logged.datoms, strict=True))
            if code is not None and added
        }
        columns = [self._takes_of(entry.t, column) for column in logged.columns]
        if self.forgetful:
            self._keep(logged, datoms, columns)
        names = [name for name, id_ in logged.tempids.items() if self._is_whole(entry.t, id_)]
        row = RedactedRow(entry, logged, datoms, columns, names, asserted)
        if row.takes or logged.slots:
            self._rows.append(row)

    def _takes(self, t: int, datom: tuple[int, int, Any, bool]) -> int | None:
        """The code of a datom's value if it goes, None if it stays."""
        e, a, value, added = datom
        if not any(scope.has(a) for scope in self.excision.scopes):
            return None
        if (added or self._takes_all) and not self._is_in_scope(t, e, a, value):
            return None
        code = self.codes.lookup(value)
        assert code is not None, "a value of the database"
        if not self._takes_all:
            pair = (e, a, code)
            if added:
                self._open.add(pair)
            elif pair in self._open:
                self._open.discard(pair)
            else:
                return None
        self.gone.add(code)
        return code

    def _is_in_scope(self, t: int, e: int, a: int, value: Any) -> bool:
        is_ref = self._is_ref(a)
        return any(
            scope.has(a)
            and t < scope.before
            and (
                scope.entities is None
                or _among(e, scope.entities)
                or (scope.with_refs and is_ref and _among(value, scope.entities))
            )
            for scope in self.excision.scopes
        )

    def _takes_of(self, t: int, column: LoggedColumn | LoggedFile) -> Bools | None:
        """Which rows of a column go; None for none."""
        a = column.attribute
        if not any(scope.has(a) for scope in self.excision.scopes):
            return None
        is_ref, e = self._is_ref(a), column.entities()
        v = column.refs() if is_ref else e
        # Whenever they were asserted.
        within = self.excision.takes(a, e, v, np.zeros(len(e), np.int64), is_ref=is_ref)
        if within is None:
            return None
        rows = np.flatnonzero(within)
        codes = column.known_codes(self.codes, rows)
        if self._takes_all:
            self.gone.update(codes)
            return within
        early = self.excision.takes(a, e[rows], v[rows], np.full(len(rows), t, np.int64), is_ref=is_ref)
        gone, added = np.zeros(len(e), np.bool_), column.assertions()[rows].tolist()
        for number, (place, code) in enumerate(zip(rows.tolist(), codes, strict=True)):
            pair = (int(e[place]), a, code)
            if not added[number]:
                gone[place] = pair in self._open
                self._open.discard(pair)
            elif early is not None and early[number]:
                gone[place] = True
                self._open.add(pair)
            if gone[place]:
                self.gone.add(code)
        return gone if gone.any() else None

    def _keep(self, logged: Logged, datoms: Sequence[bool], columns: Sequence[Bools | None]) -> None:
        for (_, a, value, _), goes in zip(logged.datoms, datoms, strict=True):
            code = None if goes or a not in self.forgetful else self.codes.lookup(value)
            if code is not None:
                self.used.add(code)
        for column, gone in zip(logged.columns, columns, strict=True):
            if column.attribute in self.forgetful:
                v = column.codes(self.codes)
                self.used.update(np.unique(v if gone is None else v[~gone]).tolist())

    def _is_whole(self, t: int, id_: int) -> bool:
        """Whether all of an entity goes, and with it the name of a tempid for it."""
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

    def replaced(self, rewriting: Rewriting) -> Iterator[ReplacedEntry]:
        """The rewritten entries. Raises OSError."""
        for row in self._rows:
            made = rewriting.replaced(row, Logged.in_place_of)
            if made is not None:
                yield made


def _among(id_: Any, entities: Int64s) -> bool:
    at = int(entities.searchsorted(id_))
    return at < len(entities) and int(entities[at]) == id_
