"""An amount of bytes that several processes share: how much of it the other processes hold."""

from __future__ import annotations

from typing import Final, Protocol


class OtherProcesses(Protocol):
    """Quick, and thread-safe. Two processes that take in the same instant may pass the amount by what one takes."""

    def others(self) -> int:
        """Bytes that other processes hold."""

    def tell(self, held: int) -> None:
        """This process holds so many."""


class _NoOthers:
    def others(self) -> int:
        return 0

    def tell(self, held: int) -> None:
        """There is no process to tell."""


NO_OTHERS: Final[OtherProcesses] = _NoOthers()
