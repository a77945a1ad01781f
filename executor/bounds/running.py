"""The flag of what a thread computes, for work that is begun on its way and is handed none: guards of snapshots."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final, Protocol


class Flag(Protocol):
    """What says that work should stop."""

    def check_flag(self, now: float) -> None:
        """Raises the reason why it should. `now`: as `time.monotonic()` says."""


RUNNING: Final[ContextVar[Flag | None]] = ContextVar("running", default=None)
"""None where nothing says when the work should stop."""
