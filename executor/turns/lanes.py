"""Lanes, and how many may be in them: what a scheduler is made with, and what it counts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Lane(StrEnum):
    LIGHT = "LIGHT"
    HEAVY = "HEAVY"


@dataclass(frozen=True, slots=True)
class LaneSlots:
    """`light` and `heavy` queries that run at once, `waiting` more before the rest are refused.

    `slice_seconds`: computing time after which work is heavy if others wait for its slot, and five times that if
    none do; one that never looks at its turn is counted as heavy after twice that. `cost`: what the planner
    expects of work that takes about so long. `quantum_seconds`: how long a heavy query keeps its place from a
    client with fewer. `begun`: queries that may wait with what they have computed so far. `away`: those that may
    compute elsewhere at once.
    """

    light: int = 4
    heavy: int = os.cpu_count() or 1
    waiting: int = 256
    slice_seconds: float = 0.02
    cost: float = 3e5
    quantum_seconds: float = 0.5
    begun: int = 8
    away: int = 8


@dataclass
class LaneFigures:
    """What happened in a lane: queries that got a place, the seconds that they waited for it, refusals."""

    started: int = 0
    waited: float = 0.0
    refused: int = 0
    # Of recent queries, the mean seconds that they kept a place.
    service: float = 0.0


@dataclass(frozen=True, slots=True)
class SchedulerFigures:
    """For the metrics: by lane what runs, waits and has happened; how often work changed lanes or places."""

    running: Mapping[Lane, int]
    waiting: Mapping[Lane, int]
    lanes: Mapping[Lane, LaneFigures]
    moves: Mapping[str, int]
