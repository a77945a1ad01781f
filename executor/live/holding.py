"""What is held for a subscriber until it has read it or caught up, paid from the memory of live queries."""

from __future__ import annotations

from dataclasses import dataclass

from executor.bounds.budget import Held
from executor.live.event import Message
from executor.maintain.view import View
from store.snapshot import Snapshot


class Chunks:
    """A snapshot in one form, for all who joined at its moment, paid for as long as somebody has not read it."""

    __slots__ = ("__weakref__", "_held", "messages", "nbytes")

    def __init__(self, messages: list[Message], held: Held) -> None:
        self.messages = messages
        self.nbytes = held.nbytes
        self._held = held

    def __del__(self) -> None:
        self._held.become(0)


@dataclass(slots=True)
class Private:
    """A view of one's own, at a moment, paid for as long as it is held."""

    view: View
    at: Snapshot
    held: Held

    def close(self) -> None:
        """Frees it."""
        self.held.become(0)
