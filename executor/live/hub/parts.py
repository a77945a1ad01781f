"""What the parts of the hub share."""

from __future__ import annotations

from dataclasses import dataclass

from adalog.executor.live.hub.figures import LiveFigures
from adalog.executor.live.hub.memory import LiveMemory
from adalog.executor.live.hub.pool_jobs import PoolJobs
from adalog.executor.live.settings import LiveSettings
from adalog.executor.pool import Pool


@dataclass(frozen=True, slots=True)
class HubParts:
    """`pool_jobs` and `figures` belong to the hub's thread; the rest is thread-safe."""

    pool: Pool
    settings: LiveSettings
    memory: LiveMemory
    pool_jobs: PoolJobs
    figures: LiveFigures
