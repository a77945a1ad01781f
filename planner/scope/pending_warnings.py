"""Warnings whose proposals (`did you mean …?`) are not searched yet: only warnings that are shown are worth it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from adalog.datalog.diagnostics import MOST, Diagnostic, Suspicion
from adalog.datalog.errors import Position
from adalog.datalog.values import Keyword
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.bootstrap import IDENT
from adalog.store.values.name_index import NameIndex

# Idents that a proposal is looked for among: a database may have any number.
_IDENTS: Final = 100_000


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
        index = self._idents_of(unknown.database) if unknown.ident else unknown.database.schema.names
        return index.hint(unknown.name)

    def _idents_of(self, database: Snapshot) -> NameIndex:
        found = self._idents.get(database)
        if found is None:
            plain = database.plain
            codes = plain.trie(IDENT, inverse=True).keys[:_IDENTS]
            found = self._idents[database] = NameIndex(plain.codes.decode_many(codes))
        return found


def diagnostics_of(suspected: Sequence[PendingWarning]) -> tuple[Diagnostic, ...]:
    """The first `MOST` as diagnostics, and one more that says how many others there are."""
    proposals = Proposals()
    shown = [
        Diagnostic(
            each.code,
            each.before + ("" if each.unknown is None else proposals.hint(each.unknown)) + each.after,
            each.position,
        )
        for each in islice(suspected, MOST)
    ]
    return (*shown, *_others(suspected[MOST:]))


def _others(left: Iterable[PendingWarning]) -> Iterable[Diagnostic]:
    counts = Counter(each.code for each in left)
    for code, _ in counts.most_common(1):
        yield Diagnostic(code, f"{counts.total():,} more warnings are left out")
