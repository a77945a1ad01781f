"""Counters of live queries, for the metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from adalog.executor.distribution import Distribution

_LAGS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(slots=True)
class LiveFigures:
    """What there is now, and what there was: `events` by their kind, for each subscriber; `ticks`, `tick_seconds`:
    transactions that touched a view, and the time they took of the hub's thread; `lags`: the seconds from the
    instant of each of these until its events were posted."""

    subscriptions: int = 0
    views: int = 0
    feeds: int = 0
    events: Counter[str] = field(default_factory=Counter)
    overflows: int = 0
    resets: int = 0
    refused: int = 0
    ticks: int = 0
    tick_seconds: float = 0.0
    lags: Distribution = field(default_factory=lambda: Distribution(_LAGS))
