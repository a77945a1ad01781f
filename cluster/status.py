"""What other processes know of a Spark session."""

from __future__ import annotations

from typing import Final, NamedTuple

STATES: Final = ("off", "starting", "ready", "failed")


class SessionStatus(NamedTuple):
    """state: one of STATES."""

    state: str
    cores: int
    tasks: int
    idle_seconds: float
