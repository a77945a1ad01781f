"""A state as an identity sees it, and what the identity may do to it, for transactions.

Names resolve in what is visible: look-ups here find no more. What a transaction may change is checked datom by
datom, by `store.transact.permission_check`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from adalog.datalog.values import Keyword
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.state import DatabaseState
from adalog.store.values.arrays import Bools, CodeColumn, Int64s
from adalog.store.values.attribute import Attribute
from adalog.store.values.schema import Schema

CREATE: Final = Keyword("create")
UPDATE: Final = Keyword("update")
DELETE: Final = Keyword("delete")
ADMINS_DECLARE: Final = "while policies are enforced, admins alone declare and change attributes"


class WriteGuard(Protocol):
    """What an identity may see and change, by the policies of one moment. The query engine's: it runs rules."""

    def view(self, snapshot: Snapshot) -> GuardedSnapshot:
        """What it shows of a snapshot."""

    def names(self, op: Keyword, attribute: Attribute) -> bool:
        """Whether a policy grants the operation on the attribute, for some entities at least."""

    def allows(self, op: Keyword, attribute: Attribute, e: CodeColumn, v: CodeColumn, state: Snapshot) -> Bools:
        """Which operations on datoms are granted at a raw plain state."""


@dataclass(frozen=True, slots=True)
class _VisibleRows:
    view: GuardedSnapshot
    attribute: Attribute

    def holds(self, e: int, v: int) -> bool:
        return v in self.values(e)

    def values(self, e: int) -> list[int]:
        return self._row(e, inverse=False)

    def entities(self, v: int) -> list[int]:
        return self._row(v, inverse=True)

    def _row(self, key: int, *, inverse: bool) -> list[int]:
        found: list[int] = self.view.pairs_of(self.attribute, np.array([key], np.int64), inverse=inverse)[
            1
        ].tolist()
        return found


@dataclass(frozen=True, slots=True)
class _NoRows:
    def holds(self, _e: int, _v: int) -> bool:
        return False

    def values(self, _e: int) -> list[int]:
        return []

    def entities(self, _v: int) -> list[int]:
        return []


class GuardedState(DatabaseState):
    """What a guard shows of the state `whole`. raw: its snapshot, as a transaction changes it. now: the snapshot
    that has to grant besides it, where the state is a past one."""

    def __init__(self, whole: DatabaseState, raw: Snapshot, guard: WriteGuard, now: Snapshot | None) -> None:
        super().__init__(whole.codes, whole.t, whole.instant, whole.free, whole.next_ident)
        self._whole = whole
        self._states = (raw,) if now is None else (raw, now)
        self.guard = guard
        self.view = guard.view(raw)
        # Those that it may write without seeing any of their datoms are known by name.
        seen = self.view.schema
        self.schema = Schema(
            each
            for each in whole.schema.all()
            if seen.get(each.id) is not None or any(guard.names(op, each) for op in (CREATE, UPDATE, DELETE))
        )

    @property
    def whole(self) -> DatabaseState:
        return self._whole

    def live(self, attribute: int) -> _VisibleRows | _NoRows:
        found = self.view.schema.get(attribute)
        return _NoRows() if found is None else _VisibleRows(self.view, found)

    def snapshot(self) -> Snapshot:
        return self.view

    def allows(self, op: Keyword, attribute: Attribute, e: Int64s, v: Int64s) -> Bools:
        """Which operations on datoms are granted before the transaction."""
        granted = np.ones(len(e), np.bool_)
        for state in self._states:
            granted &= self.guard.allows(op, attribute, e, v, state)
        return granted

    def visible_datoms(self, entities: Int64s) -> set[tuple[int, int, int]]:
        """(attribute, entity, value) of every visible datom of some entities, which are sorted and distinct, but
        those of composites."""
        found: set[tuple[int, int, int]] = set()
        for attribute in self.view.attributes_of(entities):
            if attribute.kind.tuple_attrs is None:
                own, values = self.view.pairs_of(attribute, entities, inverse=False)
                found.update((attribute.id, e, v) for e, v in zip(own.tolist(), values.tolist(), strict=True))
        return found


def unseen(view: Snapshot, entities: Iterable[int]) -> set[int]:
    """Those of the entities of which a view shows nothing."""
    left = np.array(sorted(set(entities)), np.int64)
    for attribute in view.attributes_of(left) if len(left) else ():
        own, _ = view.pairs_of(attribute, left, inverse=False)
        left = left[~np.isin(left, own)]
        if not len(left):
            break
    return set(left.tolist())
