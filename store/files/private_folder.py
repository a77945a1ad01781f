"""Private folders for what a process needs while it runs: gone with it, or at the next start if it was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path


class PrivateFolder:
    """A new folder that only this user can enter, locked for as long as this process has it."""

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        """prefix: of its name, the same for all of one kind. Removes, too, those of its kind beside it whose
        processes ended without."""
        parent = parent or Path(tempfile.gettempdir())
        remove_abandoned(prefix, parent)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
            held = _locked(self.path)
            # Another process may have taken it for abandoned in the moment before the lock.
            if held is not None and self.path.is_dir():
                self._held = held
                return

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self.let_go()

    def let_go(self) -> None:
        """Unlocks it, so that what is left of it is abandoned."""
        if self._held >= 0:
            os.close(self._held)
            self._held = -1


def remove_abandoned(prefix: str, parent: Path) -> None:
    """Removes the folders of processes that ended without removing them."""
    for left in parent.glob(f"{prefix}*"):
        held = _locked(left)
        if held is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(held)


def _locked(folder: Path) -> int | None:
    """A descriptor with the folder's lock; None where another process has it, or the folder is not ours."""
    with suppress(OSError):
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            if os.fstat(held).st_uid == os.getuid():
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return held
            os.close(held)
        except OSError:
            os.close(held)
    return None
