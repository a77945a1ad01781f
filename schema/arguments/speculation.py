"""The argument `with`: transaction data that is applied for one request and never committed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import strawberry

from adalog.datalog.diagnostics import Diagnostic
from adalog.datalog.errors import AdalogError, Position
from adalog.datalog.watched import watching
from adalog.executor.bounds.cancel import Cancel
from adalog.schema.arguments.values import BasisInput, basis_suspicions, snapshot_of
from adalog.schema.request.context import Services
from adalog.schema.request.cursor import Cursor
from adalog.schema.request.transaction_wait import reached
from adalog.schema.writing.scalars import EDN, Long

if TYPE_CHECKING:
    from adalog.store.snapshot.snapshot import Snapshot, SpeculationStart

# GraphQL's `with`, which Python keeps for itself.
With = Annotated[
    EDN | None,
    strawberry.argument(
        name="with",
    ),
]


# Of the pool's cost: some two microseconds for each that is read and applied.
_CHARACTER_COST = 30


async def read_snapshot(
    services: Services, basis: BasisInput | None, with_: str | None, deadline: float | None, told: list[Diagnostic]
) -> Snapshot:
    """The snapshot that a basis names, with the transaction data applied, by the deadline, where there is any.
    `told`: is given what is suspicious about the basis and that data."""
    if basis is not None:
        await reached(services.database, basis.t, deadline)
    snapshot = await _opened(services, basis, deadline)
    if basis is not None:
        told += basis_suspicions(services.database, basis)
    return snapshot if with_ is None else await _applied(services, snapshot, with_, None, deadline, told)


async def page_start(
    services: Services,
    basis: BasisInput | None,
    with_: str | None,
    after: str | None,
    asked: str,
    deadline: float | None,
    told: list[Diagnostic],
) -> tuple[Snapshot, int]:
    """(the snapshot that a page is read from, the number of its first row): those of the cursor `after`, which has
    to belong to the question `asked`; without one as `read_snapshot`."""
    if after is None:
        return await read_snapshot(services, basis, with_, deadline, told), 0
    cursor = services.cursors.read(after, asked)
    await reached(services.database, cursor.t, deadline)
    basis = BasisInput(t=Long(cursor.t), since=None if cursor.since is None else Long(cursor.since))
    basis.history = cursor.history
    snapshot = await _opened(services, basis, deadline)
    if with_ is not None:
        snapshot = await _applied(services, snapshot, with_, cursor.start, deadline, told)
    return snapshot, cursor.offset


def cursor_on(snapshot: Snapshot, asked: str, offset: int) -> Cursor:
    """The cursor of the page that ends before row `offset` of what was asked of the snapshot."""
    start = snapshot.origin.start
    t = snapshot.t if start is None else snapshot.t - 1
    return Cursor(asked, offset, t, snapshot.since_t or None, snapshot.is_history, start)


async def _opened(services: Services, basis: BasisInput | None, deadline: float | None) -> Snapshot:
    """The snapshot that a basis names. Where that had another schema, it is read from the datoms, on the pool."""
    database = services.database
    if basis is None or (
        basis.as_of is None and (basis.t is None or basis.t >= database.snapshot().schema_touched)
    ):
        return snapshot_of(database, basis)
    return await services.pool.threaded(Cancel(deadline), lambda _: snapshot_of(database, basis))


async def _applied(
    services: Services,
    basis: Snapshot,
    tx: str,
    start: SpeculationStart | None,
    deadline: float | None,
    told: list[Diagnostic],
) -> Snapshot:
    def apply(cancel: Cancel) -> tuple[Snapshot, tuple[Diagnostic, ...]]:
        after, report = services.database.speculate(basis, tx, start, cancel)
        # Looked for in the text, which may be long: here, and not on the event loop.
        with watching(cancel.check):
            return after, report.diagnostics()

    try:
        after, found = await services.pool.threaded(Cancel(deadline), apply, _CHARACTER_COST * len(tx))
    except AdalogError as error:
        message = f"{_within(error.position)}: {error.message}"
        again = error.retry_after
        raise AdalogError(error.code, message, retryable=error.retryable, retry_after=again) from None
    told += (
        each if each.left_out else replace(each, message=f"{_within(each.position)}: {each.message}", position=None)
        for each in found
    )
    return after


def _within(position: Position | None) -> str:
    """Where in `with`; as a position it would be looked for in the query or pattern."""
    return f"with at {position.line}:{position.column}" if position else "with"
