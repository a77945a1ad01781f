"""Who is told how far a backup, a restore or a check is."""

from __future__ import annotations

from typing import Final, Protocol


class BackupProgress(Protocol):
    """Who is told how far a job is, and may end it by raising."""

    def stage(self, name: str) -> None:
        """Another stage begins."""

    def bytes(self, done: int, total: int) -> None:
        """So many of the stage's bytes are done."""


class NoProgress:
    """Nobody is told."""

    def stage(self, name: str) -> None:
        """Nothing happens."""

    def bytes(self, done: int, total: int) -> None:
        """Nothing happens."""


NO_PROGRESS: Final = NoProgress()
