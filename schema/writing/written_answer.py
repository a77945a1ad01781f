"""A whole answer as it is sent, made without a wait."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """Without errors. `rows`: what its queries gave, for the metrics."""

    text: bytes
    rows: int
