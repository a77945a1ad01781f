"""What each turn of an event loop costs, counted in work rather than in time.

A turn is one callback of the loop. Its work is the number of calls, of Python's functions and of C's, that it makes
on the loop's own thread: the same on every machine. What one call into C costs is not seen by that, so the turn's
processor time is kept beside it, which waiting for other threads does not add to.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Turns:
    """The turns of the loops of one thread. `calls`, `seconds`: of the most expensive; `what` it was."""

    calls: int = 0
    seconds: float = 0.0
    what: str = ""
    count: int = 0
    _now: int = field(default=0, repr=False)

    def _called(self, _frame: Any, event: str, _argument: Any) -> None:
        if event in ("call", "c_call"):
            self._now += 1


@contextmanager
def watched_turns() -> Iterator[Turns]:
    """Counts what the loops of this thread do meanwhile. Not for two threads at once."""
    turns, here = Turns(), threading.get_ident()
    run = asyncio.Handle._run

    def counted(handle: Any) -> None:
        if threading.get_ident() != here:
            run(handle)
            return
        turns._now = 0
        before, started = sys.getprofile(), time.thread_time()
        sys.setprofile(turns._called)
        try:
            run(handle)
        finally:
            sys.setprofile(before)
            turns.count += 1
            turns.seconds = max(turns.seconds, time.thread_time() - started)
            if turns._now > turns.calls:
                turns.calls, turns.what = turns._now, repr(handle)[:300]

    asyncio.Handle._run = counted  # type: ignore[method-assign]
    try:
        yield turns
    finally:
        asyncio.Handle._run = run  # type: ignore[method-assign]
