"""What happened to live queries, for the metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Figures:
    """What there is now, and what there was: `events` by their kind, for each subscriber; `ticks`, `tick_seconds`:
    transactions that touched a view, and the time they took of the hub's thread."""

    subscriptions: int = 0
    views: int = 0
    feeds: int = 0
    events: Counter[str] = field(default_factory=Counter)
    overflows: int = 0
    resets: int = 0
    refused: int = 0
    ticks: int = 0
    tick_seconds: float = 0.0
