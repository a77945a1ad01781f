"""What the built-ins that look into a database (`get-else`, `missing?`, `tx-ids` …) may ask of a snapshot."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import numpy as np

from adalog.datalog.values import Keyword
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.tries.columns import Columns
from adalog.store.values.attribute import TX_BASE, Attribute


class SnapshotAccess:
    """`datalog.builtins.DatabaseAccess` over one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def values(self, entity: Any, attribute: Keyword) -> tuple[Any, ...]:
        """The entity's values of the attribute; none where either is unknown, or the entity nil."""
        found = self.snapshot.attribute(attribute)
        entity = None if entity is None else self.snapshot.entid(entity)
        if found is None or entity is None:
            return ()
        return tuple(self.snapshot.codes.decode_many(self.snapshot.values_of(found, entity)))

    def entid(self, entity: Any) -> int | None:
        """The id of the entity that a number, an ident or a lookup ref names; None where there is none."""
        return self.snapshot.entid(entity)

    def tx_ids(self, start: int | datetime | None, end: int | datetime | None) -> tuple[int, ...]:
        """Transaction entities of this view with start <= t < end; either may be a number, an entity id, an instant
        or nil."""

        def number(bound: int | datetime | None, default: int) -> int:
            if bound is None:
                return default
            if isinstance(bound, datetime):
                # The first transaction at or after it.
                return self.snapshot.as_of_instant(bound - timedelta(milliseconds=1)) + 1
            return bound - TX_BASE if bound >= TX_BASE else bound

        first = max(number(start, 1), self.snapshot.since_t + 1)
        last = min(number(end, self.snapshot.t + 1), self.snapshot.t + 1)
        return tuple(TX_BASE + t for t in range(first, last))

    def tx_data(self, transaction: int) -> tuple[tuple[Any, ...], ...]:
        """The datoms of one transaction as [e a v tx added], every attribute as its entity."""
        t = transaction - TX_BASE if transaction >= TX_BASE else transaction
        rows: list[tuple[Any, ...]] = []
        for attribute, columns in self._by_transaction:
            start, stop = np.searchsorted(columns.t, (t, t + 1)).tolist()
            for i, value in enumerate(self.snapshot.codes.decode_many(columns.v[start:stop]), start):
                rows.append((int(columns.e[i]), attribute.id, value, TX_BASE + t, bool(columns.added[i])))
        return tuple(rows)

    @cached_property
    def _by_transaction(self) -> list[tuple[Attribute, Columns]]:
        """Every attribute's datoms, those that no longer hold too, in the order of their transactions."""
        past = self.snapshot.history()
        found = ((attribute, past.columns(attribute)) for attribute in past.attributes())
        return [(attribute, columns.take(np.argsort(columns.t, kind="stable"))) for attribute, columns in found]
