"""What one worker of several may use: bounds on what is counted in each process are divided."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from adalog.gateway.settings.config import Settings


def own(share: Settings, number: int) -> Settings:
    """A share as one worker has it: what copies it keeps of shared files are in a folder of its own."""
    if share.segments_copy is None:
        return share
    return replace(share, segments_copy=str(Path(share.segments_copy) / f"worker-{number}"))


def share_of(settings: Settings) -> Settings:
    """The settings of each of the workers, with its part, rounded up, of what is divided. All else is one amount
    for all (`board`), or holds for each request, connection, subscription or worker."""
    divided: dict[str, Any] = {
        each.name: settings.share_of(getattr(settings, each.name))
        for each in fields(settings)
        if each.metadata["is_divided"]
    }
    return replace(settings, **divided)
