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
        description="Transaction data to apply to the basis before reading it; nobody else sees it, and it is "
        "never committed.",
    ),
]


# Of the pool's cost: some two microseconds for each that is read and applied.
_CHARACTER_COST = 30


async def read_snapshot(
    services: Services,
    basis: BasisInput | None,
    with_: str | None,
    deadline: float | None,
    told: list[Diagnostic] | None = None,
) -> Snapshot:
    """The snapshot that a basis names, with the transaction data applied, by the deadline, where there is any.
    `told`: is given what is suspicious about the basis and that data."""
    if basis is not None:
        await reached(services.database, basis.t, deadline)
    snapshot = await _opened(services, basis, deadline)
    if told is not None and basis is not None:
        told += basis_suspicions(services.database, basis)
    return snapshot if with_ is None else await _applied(services, snapshot, with_, None, deadline, told)


async def at_cursor(
    services: Services,
    cursor: Cursor,
    with_: str | None,
    deadline: float | None,
    told: list[Diagnostic] | None = None,
) -> Snapshot:
    """The snapshot that a cursor's page was read from, made again."""
    await reached(services.database, cursor.t, deadline)
    basis = BasisInput(t=Long(cursor.t), since=None if cursor.since is None else Long(cursor.since))
    basis.history = cursor.history
    snapshot = await _opened(services, basis, deadline)
    return snapshot if with_ is None else await _applied(services, snapshot, with_, cursor.start, deadline, told)


def cursor_on(snapshot: Snapshot, asked: str, offset: int) -> Cursor:
    """The cursor of the page that ends before row `offset` of what was asked of the snapshot."""
    start = snapshot.origin.start
    t = snapshot.t if start is None else snapshot.t - 1
    return Cursor(asked, offset, t, snapshot.since_t or None, snapshot.is_history, start)


async def _opened(services: Services, basis: BasisInput | None, deadline: float | None) -> Snapshot:
    """The snapshot that a basis names. Where that had another schema, it is read from the datoms, on the pool."""
    if basis is None or (basis.as_of is None and _has_this_schema(services.database.snapshot(), basis.t)):
        return snapshot_of(services.database, basis)
    return await services.pool.threaded(Cancel(deadline), lambda _: snapshot_of(services.database, basis))


def _has_this_schema(now: Snapshot, t: int | None) -> bool:
    return t is None or t >= now.schema_touched


async def _applied(
    services: Services,
    basis: Snapshot,
    tx: str,
    start: SpeculationStart | None,
    deadline: float | None,
    told: list[Diagnostic] | None,
) -> Snapshot:
    def apply(cancel: Cancel) -> tuple[Snapshot, tuple[Diagnostic, ...]]:
        after, report = services.database.speculate(basis, tx, start, cancel)
        if told is None:
            return after, ()
        # Looked for in the text, which may be long: here, and not on the event loop.
        with watching(cancel.check):
            return after, report.diagnostics()

    try:
        after, found = await services.pool.threaded(Cancel(deadline), apply, _CHARACTER_COST * len(tx))
    except AdalogError as error:
        raise AdalogError(
            error.code,
            f"{_within(error.position)}: {error.message}",
            retryable=error.retryable,
            retry_after=error.retry_after,
        ) from None
    if told is not None:
        told += (
            replace(each, message=f"{_within(each.position)}: {each.message}", position=None) for each in found
        )
    return after


def _within(position: Position | None) -> str:
    """Where in `with`; as a position it would be looked for in the query or pattern."""
    return f"with at {position.line}:{position.column}" if position else "with"
