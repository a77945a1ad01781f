"""The arguments `with` and `withArgs`: transaction data that is applied for one request and never committed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated

import strawberry

from adalog.datalog.diagnostics import Diagnostic
from adalog.datalog.errors import invalid_argument
from adalog.executor.bounds.cancel import Cancel
from adalog.schema.arguments.transactions import transaction_data
from adalog.schema.arguments.values import BasisInput, basis_suspicions, snapshot_of
from adalog.schema.request.context import Context
from adalog.schema.request.cursor import Cursor, excised_since
from adalog.schema.request.transaction_wait import reached
from adalog.schema.writing.scalars import EDN, JSON, Long

if TYPE_CHECKING:
    from adalog.schema.request.visible_database import VisibleDatabase
    from adalog.store.snapshot.snapshot import Snapshot, SpeculationStart

# GraphQL's `with`, which Python keeps for itself.
With = Annotated[
    EDN | None,
    strawberry.argument(
        name="with",
    ),
]


# Values of variables in `with`.
WithArgs = JSON | None

# Of the pool's cost: some two microseconds for each that is read and applied.
_CHARACTER_COST = 30


@dataclass(frozen=True, slots=True)
class BasisReading:
    """The database that a request reads: its basis, with transaction data applied, as `visible` shows it. `told`:
    what is suspicious about these."""

    context: Context
    visible: VisibleDatabase
    basis: BasisInput | None
    with_: str | None
    deadline: float | None
    with_args: WithArgs = None
    told: list[Diagnostic] = field(default_factory=list)

    async def snapshot(self) -> Snapshot:
        basis, database = self.basis, self.visible.raw
        if basis is not None:
            await reached(database, basis.t, self.deadline)
        snapshot = await self._opened(basis)
        if basis is not None:
            self.told.extend(basis_suspicions(database, basis))
        if self.with_ is None and self.with_args is not None:
            raise invalid_argument("withArgs are values of variables in `with`; give that, too")
        return snapshot if self.with_ is None else await self._applied(snapshot, self.with_, None)

    async def page(self, after: str | None, asked: str) -> tuple[Snapshot, int]:
        """(the snapshot that a page is read from, the number of its first row): those of the cursor `after`, which
        has to belong to the question `asked`; without one as `snapshot`."""
        if after is None:
            return await self.snapshot(), 0
        cursor = self.context.services.cursors.read(after, asked)
        await reached(self.visible.raw, max(cursor.t, cursor.excised), self.deadline)
        basis = BasisInput(t=Long(cursor.t), since=None if cursor.since is None else Long(cursor.since))
        basis.history = cursor.history
        snapshot = await self._opened(basis)
        cursor.check(snapshot)
        if self.with_ is not None:
            snapshot = await self._applied(snapshot, self.with_, cursor.start)
        return snapshot, cursor.offset

    async def _opened(self, basis: BasisInput | None) -> Snapshot:
        """The snapshot that a basis names. Where that had another schema, it is read from the datoms, on the
        pool."""
        visible, pool = self.visible, self.context.services.pool
        if basis is None or (
            basis.as_of is None and (basis.t is None or basis.t >= visible.raw.snapshot().schema_touched)
        ):
            return snapshot_of(visible, basis)
        return await pool.threaded(Cancel(self.deadline), lambda _: snapshot_of(visible, basis))

    async def _applied(self, basis: Snapshot, tx: str, start: SpeculationStart | None) -> Snapshot:
        def apply(cancel: Cancel) -> tuple[Snapshot, tuple[Diagnostic, ...]]:
            read = partial(transaction_data, self.visible.raw, tx, self.with_args, "withArgs")
            return self.visible.applied(basis, read, start, cancel)

        pool = self.context.services.pool
        after, found = await pool.threaded(Cancel(self.deadline), apply, _CHARACTER_COST * len(tx))
        self.told.extend(found)
        return after


def cursor_on(snapshot: Snapshot, asked: str, offset: int) -> Cursor:
    """The cursor of the page that ends before row `offset` of what was asked of the snapshot."""
    start = snapshot.origin.start
    t = snapshot.t if start is None else snapshot.t - 1
    excised = excised_since(snapshot, t)
    return Cursor(asked, offset, t, snapshot.since_t or None, snapshot.is_history, start, excised)
