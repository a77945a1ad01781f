"""What a transaction did, told from its log entry, whether it was just written or long ago."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, overload

from adalog.datalog.values import Keyword
from adalog.store.files.packing import instant
from adalog.store.log.entry import LogEntry
from adalog.store.log.payload import Logged
from adalog.store.values.datom import Datom, Telling, TxReport, nothing_to_tell

# The ident of an attribute's entity.
Naming = Callable[[int], Keyword]

_SLICE: Final = 4096


def report_of(entry: LogEntry, logged: Logged, ident: Naming, diagnostics: Telling = nothing_to_tell) -> TxReport:
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
    """The datoms of a bulk load or an import, made into objects when they are read."""

    def __init__(self, t: int, logged: Logged, ident: Naming) -> None:
        self._t = t
        self._logged = logged
        self._ident = ident

    def __len__(self) -> int:
        return self._logged.count

    def __iter__(self) -> Iterator[Datom]:
        for start in range(0, len(self), _SLICE):
            yield from self[start : start + _SLICE]

    @overload
    def __getitem__(self, index: int) -> Datom: ...
    @overload
    def __getitem__(self, index: slice) -> list[Datom]: ...
    def __getitem__(self, index: int | slice) -> Datom | list[Datom]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return self._between(start, stop)[::step] if step > 0 else [self[i] for i in range(start, stop, step)]
        place = range(len(self))[index]
        return self._between(place, place + 1)[0]

    def _between(self, start: int, stop: int) -> list[Datom]:
        logged, t = self._logged, self._t
        made = [Datom(e, self._ident(a), value, t, added) for e, a, value, added in logged.datoms[start:stop]]
        before = len(logged.datoms)
        for column in logged.columns:
            low, high = max(start - before, 0), min(stop - before, len(column))
            before += len(column)
            if low < high:
                ident = self._ident(column.attribute)
                e, added = column.entities(low, high).tolist(), column.assertions(low, high).tolist()
                rows = zip(e, column.values(low, high), added, strict=True)
                made += [Datom(one, ident, value, t, held) for one, value, held in rows]
        return made
