"""How long the past of attributes is kept, as `:db/retainDays`, `:db/retainTransactions` and `:db/retainAll` say.

For retention, and for warnings that a view may lack some of the past.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np

from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values import bootstrap
from adalog.store.values.attribute import FIRST_OWN_IDENT, TX_BASE, Attribute


def limits_of(snapshot: Snapshot) -> Mapping[int, tuple[int, int]]:
    """By entity, (attribute that limits, its value)."""
    found = {}
    for limit in bootstrap.RETAINING:
        held = snapshot.data_of(limit).columns(snapshot.t)
        found.update({e: (limit, v) for e, v in zip(held.e.tolist(), held.v.tolist(), strict=True)})
    return found


@dataclass(frozen=True)
class PastLimits:
    """The limits in a snapshot, with days counted back from an instant."""

    snapshot: Snapshot
    now: datetime
    # By number of days: the first transaction of the last so many days.
    _by_days: dict[int, int] = field(init=False, default_factory=dict)

    @staticmethod
    def of_view(view: Snapshot, now: datetime) -> PastLimits:
        """The limits in the database that a view shows, or shows a part of."""
        return PastLimits(_raw(view), now)

    @cached_property
    def _said(self) -> Mapping[int, tuple[int, int]]:
        return limits_of(self.snapshot)

    @cached_property
    def _of_all(self) -> tuple[int, int] | None:
        return self._said.get(self.snapshot.entid(bootstrap.RETENTION) or 0)

    def of(self, attribute: Attribute) -> tuple[int, int] | None:
        """(attribute that limits the past of this one, its value); None if nothing does, as with
        `:db/noHistory`."""
        is_forgetful = attribute.id in self.snapshot.schema.forgetful
        if not self._said or attribute.id < FIRST_OWN_IDENT or is_forgetful:
            return None
        limit = self._said.get(attribute.id, self._of_all)
        return None if limit is None or limit[0] == bootstrap.RETAIN_ALL else limit

    def point(self, attribute: Attribute) -> int:
        """The transaction before which retracted values may go; at most 1 if none may."""
        limit = self.of(attribute)
        if limit is None:
            return 0
        by, value = limit
        if by == bootstrap.RETAIN_TRANSACTIONS:
            return self.snapshot.t - value + 1
        if value not in self._by_days:
            # Instants rise with transactions. A search reads a few of them; a new view would build the whole
            # column.
            moment = self.now - timedelta(days=value)
            every = range(1, self.snapshot.t + 1)
            self._by_days[value] = bisect_right(every, moment, key=lambda t: _instant(self.snapshot, t)) + 1
        return self._by_days[value]


def may_lack(view: Snapshot) -> bool:
    """Whether retention may have taken something that the view would show: of a view of the past or a history, of a
    database with an excision."""
    return view.origin.excised > 0 and (view.is_past or view.is_history)


def forgotten_of(view: Snapshot) -> tuple[PastLimits, ...]:
    """The limits at each moment at which retention may have run, newest first, for a view of the past or a history;
    () if the view shows nothing that could be gone.

    A run leaves no mark. The last excision may have been one, and there may have been one just before each change
    of the limits.
    """
    if not may_lack(view):
        return ()
    excised = view.origin.excised
    raw = _raw(view)
    changed = {t for limit in bootstrap.RETAINING for t in raw.data_of(limit).events(0, excised).t.tolist()}
    runs = sorted({excised, *(t - 1 for t in changed if t > 1)}, reverse=True)
    return tuple(PastLimits(raw.at_most(t - 1), _instant(raw.at_most(t), t)) for t in runs)


def _raw(view: Snapshot) -> Snapshot:
    return view.raw if isinstance(view, GuardedSnapshot) else view


def _instant(snapshot: Snapshot, t: int) -> datetime:
    entity = np.array([TX_BASE + t], np.int64)
    instant: datetime = snapshot.codes.decode(int(snapshot.columns_of_entities(bootstrap.TX_INSTANT, entity).v[0]))
    return instant
