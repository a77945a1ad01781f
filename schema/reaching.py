"""Waiting for a transaction that another process answered, and this one has not read yet."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from store.database import Database


async def reached(database: Database, t: int | None, deadline: float | None) -> None:
    """Returns when transaction t can be read, or at the deadline, a moment of `time.monotonic()`: whoever reads
    then is told BASIS_FUTURE. At once where nobody else writes to the log."""
    waiting = None if t is None else database.reached(t)
    if waiting is None:
        return
    left = None if deadline is None else deadline - time.monotonic()
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.wrap_future(waiting), left)
