"""Counters of live queries, for the metrics."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

LAGS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(slots=True)
class LiveFigures:
    """What there is now, and what there was: `events` by their kind, for each subscriber; `ticks`, `tick_seconds`:
    transactions that touched a view, and the time they took of the hub's thread; `lags`: how many of them were done
    at most so many seconds of `LAGS` after their instant, and after all of them; `lag_seconds`: in all."""

    subscriptions: int = 0
    views: int = 0
    feeds: int = 0
    events: Counter[str] = field(default_factory=Counter)
    overflows: int = 0
    resets: int = 0
    refused: int = 0
    ticks: int = 0
    tick_seconds: float = 0.0
    lags: list[int] = field(default_factory=lambda: [0] * (len(LAGS) + 1))
    lag_seconds: float = 0.0

    def lagged(self, seconds: float) -> None:
        """Counts a transaction whose events were posted so long after its instant."""
        self.lags[bisect_left(LAGS, seconds)] += 1
        self.lag_seconds += seconds
