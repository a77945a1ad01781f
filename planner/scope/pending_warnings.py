"""Warnings whose proposals (`did you mean …?`) are not searched yet: only warnings that are shown are worth it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from adalog.datalog.diagnostics import MOST, Diagnostic, Suspicion, bounded
from adalog.datalog.errors import Position
from adalog.datalog.values import Keyword
from adalog.store.snapshot.ident_names import ident_names
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.name_index import NameIndex


@dataclass(frozen=True, slots=True)
class UnknownName:
    """The name of an undeclared attribute, or (`ident`) an ident that no entity has."""

    name: Keyword
    database: Snapshot
    ident: bool = False


@dataclass(frozen=True, slots=True)
class PendingWarning:
    """A diagnostic as `before`, the proposal for `unknown` where there is one, and `after`."""

    code: Suspicion
    before: str
    position: Position | None = None
    unknown: UnknownName | None = None
    after: str = ""


@dataclass
class Proposals:
    """Looks up the names that misspelt ones probably meant, for the suspicions of one request."""

    _idents: dict[Snapshot, NameIndex] = field(default_factory=dict)

    def hint(self, unknown: UnknownName) -> str:
        """` (did you mean :person/name?)`, or nothing."""
        index = unknown.database.schema.names
        if unknown.ident:
            if unknown.database not in self._idents:
                self._idents[unknown.database] = ident_names(unknown.database)
            index = self._idents[unknown.database]
        return index.hint(unknown.name)


def diagnostics_of(suspected: Sequence[PendingWarning]) -> tuple[Diagnostic, ...]:
    """The first `MOST` as diagnostics, and one more that says how many others there are."""
    proposals = Proposals()
    shown: list[Diagnostic] = []
    for each in suspected[:MOST]:
        hint = "" if each.unknown is None else proposals.hint(each.unknown)
        shown.append(Diagnostic(each.code, f"{each.before}{hint}{each.after}", each.position))
    return bounded(shown, Counter(each.code for each in suspected[MOST:]))
