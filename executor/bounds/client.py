"""Who asks: what fairness between queries goes by."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Client:
    """`principal`: the name that somebody is known by, or the address. `request`: equal for all that one request
    asks."""

    principal: str = ""
    request: int = 0


NOBODY: Final = Client()
ASKING: Final[ContextVar[Client]] = ContextVar("asking", default=NOBODY)
"""The client whose request this task or thread answers."""
