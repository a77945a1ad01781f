"""What a transaction did, told from its log entry, whether it was just written or long ago."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import overload

from datalog.values import Keyword
from store.datom import Datom, Telling, TxReport, nothing_to_tell
from store.log import Entry
from store.payload import Logged
from store.wire import instant

# The ident of an attribute's entity.
Naming = Callable[[int], Keyword]


def report_of(entry: Entry, logged: Logged, ident: Naming, diagnostics: Telling = nothing_to_tell) -> TxReport:
    """The report of an entry."""
    return TxReport(
        t=entry.t,
        basis_before=entry.t - 1,
        tx_instant=instant(entry.instant),
        tempids=dict(logged.tempids),
        datoms=_Datoms(entry.t, logged, ident) if logged.columns else _plain(entry.t, logged, ident),
        diagnostics=diagnostics,
    )


def _plain(t: int, logged: Logged, ident: Naming) -> list[Datom]:
    return [Datom(e, ident(a), value, t, added) for e, a, value, added in logged.datoms]


class _Datoms(Sequence[Datom]):
    """A bulk load's datoms, made into objects only if somebody looks at them."""

    def __init__(self, t: int, logged: Logged, ident: Naming) -> None:
        self._t = t
        self._logged = logged
        self._ident = ident
        self._made: list[Datom] | None = None

    def __len__(self) -> int:
        return self._logged.count

    @overload
    def __getitem__(self, index: int) -> Datom: ...
    @overload
    def __getitem__(self, index: slice) -> list[Datom]: ...
    def __getitem__(self, index: int | slice) -> Datom | list[Datom]:
        if self._made is None:
            self._made = _plain(self._t, self._logged, self._ident)
            for column in self._logged.columns:
                ident, t = self._ident(column.attribute), self._t
                pairs = zip(column.e.tolist(), column.values(), strict=True)
                self._made += [Datom(e, ident, value, t, True) for e, value in pairs]
        return self._made[index]
