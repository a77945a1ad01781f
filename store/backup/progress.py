"""The progress of a backup, a restore or a check."""

from __future__ import annotations

from typing import Final, Protocol


class BackupProgress(Protocol):
    """Receives a job's progress, and may end the job by raising."""

    def stage(self, name: str) -> None:
        """Another stage begins."""

    def bytes(self, done: int, total: int) -> None:
        """So many of the stage's bytes are done."""


class NoProgress:
    """Ignores progress."""

    def stage(self, name: str) -> None: ...

    def bytes(self, done: int, total: int) -> None: ...


NO_PROGRESS: Final = NoProgress()
