"""What one worker of several may use: bounds on what is counted in each process are divided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from adalog.gateway.settings.config import Settings

# Each worker has its share, rounded up. What is not named here is one amount for all (`board`), or holds for each
# request, connection or subscription, or for each worker.
DIVIDED: Final = (
    *("cache_bytes", "plan_cache_bytes"),
    *("connections", "connections_per_address", "live_subscriptions", "live_subscriptions_per_principal"),
    *("queries_at_once", "heavy_queries_at_once", "queries_waiting", "transactions_waiting"),
)


def own(share: Settings, number: int) -> Settings:
    """A share as one worker has it: what copies it keeps of shared files are in a folder of its own."""
    if share.segments_copy is None:
        return share
    return replace(share, segments_copy=str(Path(share.segments_copy) / f"worker-{number}"))


def share_of(settings: Settings) -> Settings:
    """The settings of each of the workers."""
    return replace(settings, **{name: -(-getattr(settings, name) // settings.workers) for name in DIVIDED})
