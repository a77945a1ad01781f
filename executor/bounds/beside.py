"""An amount of bytes that is for several processes: what those beside this one hold of it."""

from __future__ import annotations

from typing import Final, Protocol


class Beside(Protocol):
    """Quick, and thread-safe. Two processes that take in the same instant may pass the amount by what one takes."""

    def others(self) -> int:
        """Bytes that other processes hold."""

    def tell(self, held: int) -> None:
        """This process holds so many."""


class _Nobody:
    def others(self) -> int:
        return 0

    def tell(self, held: int) -> None:
        """Nobody is to know."""


NOBODY: Final[Beside] = _Nobody()
