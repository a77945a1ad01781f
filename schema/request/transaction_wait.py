"""Waiting for a transaction that another process answered, and this one has not read yet."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from adalog.datalog.errors import unavailable

if TYPE_CHECKING:
    from adalog.store.database import Database

# In seconds; it takes milliseconds, unless a worker hangs.
_PATIENCE: Final = 10.0


async def reached(database: Database, t: int | None, deadline: float | None) -> None:
    """Returns when transaction t can be read, or at the deadline, in seconds of `time.monotonic()`: a read then
    raises BASIS_FUTURE. Returns at once if no other process writes to the log."""
    waiting = None if t is None else database.reached(t)
    if waiting is None:
        return
    left = None if deadline is None else deadline - time.monotonic()
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.wrap_future(waiting), left)


async def caught_up(database: Database) -> None:
    """Returns when all can be read that another process of this server has answered.

    Raises BACKEND_UNAVAILABLE if that takes too long: no client sees an older database than another has seen."""
    t = database.missed
    if t is None:
        return
    await reached(database, t, time.monotonic() + _PATIENCE)
    if database.missed is not None and database.snapshot().t < t:
        raise unavailable(f"this worker has not read transaction {t} yet, which was answered; try again")
