"""A data folder and the one process that may use it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from datalog.errors import AdalogError, Code


class Folder:
    """The folder's files, held by a lock that ends with the process, however it ends."""

    def __init__(self, path: Path) -> None:
        """Raises BACKEND_UNAVAILABLE where another process has it or it cannot be made."""
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self.segments.mkdir(exist_ok=True)
            self._lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE,
                f"the data folder {path} cannot be used: {error.strerror}",
                retryable=False,
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE,
                f"the data folder {path} is in use by another adalog process; ask that one with --url, "
                "say --url http://127.0.0.1:8080",
                retryable=False,
            ) from None

    @property
    def log(self) -> Path:
        """The log's file."""
        return self.path / "log.sqlite"

    @property
    def segments(self) -> Path:
        """Where segment files are."""
        return self.path / "segments"

    @property
    def checkpoint(self) -> Path:
        """The file that names the segments in use."""
        return self.path / "checkpoint.json"

    def close(self) -> None:
        """Let another process in. Once is enough; the number of a closed file may be another's."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            os.close(lock)
