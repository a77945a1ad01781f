"""Work that is too long for the event loop, on other threads; it ends soon after its waiter was cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.failure import emptied
from adalog.executor.bounds.running import RUNNING

T = TypeVar("T")


async def elsewhere(work: Callable[[Cancel], T], cancel: Cancel | None = None) -> T:
    """What `work` returns. It should look at the flag it is given between steps."""
    cancel = cancel or Cancel()

    def tidy() -> T:
        # In a context of its own.
        RUNNING.set(cancel)
        try:
            return work(cancel)
        except BaseException as failure:
            emptied(failure)
            raise

    try:
        return await asyncio.to_thread(tidy)
    except asyncio.CancelledError:
        cancel.cancel()
        raise
