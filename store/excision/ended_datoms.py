"""What a retention takes of each entry of the log: datoms that ended before a transaction, and their retractions.

All of them are known before the first entry is read, so that values that stay are not looked up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from adalog.store.excision.rewriting import RedactedRow
from adalog.store.log.entry import LogEntry
from adalog.store.log.imported import LoggedFile
from adalog.store.log.payload import Logged, LoggedColumn
from adalog.store.tries.base import ClosedDatoms
from adalog.store.values.arrays import Bools, are_of
from adalog.store.values.changes import Excision
from adalog.store.values.codes import Codes

_NONE: Final[Mapping[tuple[int, int], set[int]]] = {}


@dataclass(eq=False)
class EndedDatoms:
    """ended: by attribute, the datoms that go. codes: those of their values."""

    excision: Excision
    ended: Mapping[int, ClosedDatoms]
    codes: Codes
    # By transaction, and by entity and attribute: the codes of the values that were asserted and went.
    _asserted: dict[int, dict[tuple[int, int], set[int]]] = field(init=False)
    _before: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self._asserted = {}
        for a, ended in self.ended.items():
            rows = zip(ended.added.tolist(), ended.e.tolist(), ended.v.tolist(), strict=True)
            for t, e, v in rows:
                self._asserted.setdefault(t, {}).setdefault((e, a), set()).add(v)
        # Of each attribute the transactions that its retractions are of before.
        self._before = {a: self.excision.ended_before(a) for a in self.ended}

    def row(self, entry: LogEntry, logged: Logged) -> RedactedRow:
        """An entry of the log with the datoms of it that go."""
        t = entry.t
        own = self._asserted.get(t, _NONE)
        asserted: dict[int, int] = {}
        goes = [False] * len(logged.datoms)
        for place, (e, a, value, added) in enumerate(logged.datoms):
            if added:
                known = own.get((e, a))
                if known is not None:
                    code = self.codes.lookup(value)
                    assert code is not None, "a value of the database"
                    if code in known:
                        goes[place], asserted[place] = True, code
            elif t < self._before.get(a, 0):
                goes[place] = True
        columns = [self._of_column(t, own, column) for column in logged.columns]
        return RedactedRow(entry, logged, goes, columns, (), asserted)

    def _of_column(
        self, t: int, own: Mapping[tuple[int, int], set[int]], column: LoggedColumn | LoggedFile
    ) -> Bools | None:
        a = column.attribute
        if a not in self.ended:
            return None
        added = column.assertions()
        gone = ~added if t < self._before[a] else np.zeros(len(added), np.bool_)
        entities = np.array(sorted(e for e, attribute in own if attribute == a), np.int64)
        e = column.entities()
        candidates = np.flatnonzero(added & are_of(e, entities))
        if len(candidates):
            codes = column.known_codes(self.codes, candidates)
            pairs = zip(e[candidates].tolist(), codes, strict=True)
            gone[candidates] = [code in own[one, a] for one, code in pairs]
        return gone if gone.any() else None
