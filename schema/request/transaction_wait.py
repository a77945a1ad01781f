"""Waiting for a transaction that another process answered, and this one has not read yet."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import abandoned

if TYPE_CHECKING:
    from adalog.store.database import Database

# In seconds; it takes milliseconds, unless a worker hangs.
_PATIENCE: Final = 10.0


class NotReadError(AdalogError):
    """BACKEND_UNAVAILABLE: transaction `t` was answered elsewhere, and is not read here yet."""

    def __init__(self, t: int) -> None:
        message = f"this process has not read transaction {t} yet, which was answered; try again"
        super().__init__(Code.BACKEND_UNAVAILABLE, message)
        self.t = t


async def reached(database: Database, t: int | None, deadline: float | None) -> None:
    """Returns when transaction t can be read, or at the deadline, in seconds of `time.monotonic()`: a read then
    raises BASIS_FUTURE. Returns at once if no other process writes to the log."""
    waiting = None if t is None else database.reached(t)
    if waiting is None:
        return
    left = None if deadline is None else deadline - time.monotonic()
    # Not `wait_for`, which has to run in a task, as this may be a request's first step.
    there = asyncio.wrap_future(waiting)
    try:
        await asyncio.wait((there,), timeout=left)
    finally:
        abandoned(there)


def missed(database: Database, seen: int | None) -> int | None:
    """The newest transaction that was answered elsewhere and cannot be read here yet; None where there is none.

    `seen`: the newest that the client has seen. If no other process writes to the log, a newer one than there is
    belongs to another database, one before a restore for example, and does not count."""
    t = max(database.missed or 0, seen if seen is not None and database.log.is_shared else 0)
    return t if t > database.snapshot().t else None


async def caught_up(database: Database, seen: int | None) -> None:
    """Returns when all can be read that another process of this server has answered, and that the client has seen.

    Raises BACKEND_UNAVAILABLE if that takes too long: no client sees an older database than it, or another client
    of this server, has seen."""
    t = missed(database, seen)
    if t is None:
        return
    await reached(database, t, time.monotonic() + _PATIENCE)
    if missed(database, seen) is not None and database.snapshot().t < t:
        raise NotReadError(t)
