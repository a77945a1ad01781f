"""What one worker of several may use: bounds that are meant for the machine or for its clients are divided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from gateway.config import PREFIX, SettingError, Settings

# Each worker has its share, rounded up. What is not named here holds for each request, connection or subscription,
# or for each worker.
DIVIDED: Final = (
    *("memory_bytes", "responses_bytes", "cache_bytes", "plan_cache_bytes", "bodies_bytes"),
    *("live_bytes", "live_mailboxes_bytes"),
    *("connections", "connections_per_address", "live_subscriptions", "live_subscriptions_per_principal"),
    *("queries_at_once", "heavy_queries_at_once", "queries_waiting", "transactions_waiting"),
)


def own(share: Settings, number: int) -> Settings:
    """A share as one worker has it: what copies it keeps of shared files are in a folder of its own."""
    if share.segments_copy is None:
        return share
    return replace(share, segments_copy=str(Path(share.segments_copy) / f"worker-{number}"))


def share_of(settings: Settings) -> Settings:
    """The settings of each of the workers. Raises SettingError where a share is too small."""
    count = settings.workers
    whole = {name: -(-getattr(settings, name) // count) for name in DIVIDED}
    share = replace(settings, **whole)
    try:
        return share.checked()
    except SettingError as error:
        raise SettingError(f"{error}; {PREFIX}WORKERS is {count}, and each has its share of what is set") from None
