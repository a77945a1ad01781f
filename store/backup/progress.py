"""The progress of a backup, a restore or a check."""

from __future__ import annotations

from typing import Final


class BackupProgress:
    """Receives a job's progress, and may end the job by raising. As it stands it ignores it."""

    def stage(self, name: str) -> None:
        """Another stage begins."""

    def bytes(self, done: int, total: int) -> None:
        """So many of the stage's bytes are done."""


NO_PROGRESS: Final = BackupProgress()
