"""Files and folders that only their owner may read, whatever the umask says."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from pathlib import Path
from typing import Final

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
_OTHERS: Final = 0o077
_LOGGER: Final = logging.getLogger("adalog.store")


def opener(path: str, flags: int) -> int:
    """For `open`: makes a file that only its owner may read."""
    return os.open(path, flags | os.O_CLOEXEC, FILE_MODE)


def close_to_others(folder: Path, own: Collection[str]) -> None:
    """Takes from others what they may do with the folder and the files of these names in it, and below. A folder
    that holds anything else is left as it is, and warned of: it may be shared for a reason."""
    try:
        names = os.listdir(folder)
        for name in names:
            if name in own:
                _close(folder / name)
        if not folder.stat().st_mode & _OTHERS:
            return
        if set(names) <= set(own):
            _close(folder)
            _LOGGER.info("%s was open to other users of this machine; it is not any more", folder)
            return
    except OSError as error:
        _LOGGER.warning("the files of %s may be open to others: %s", folder, error.strerror)
        return
    _LOGGER.warning(
        "%s is open to other users of this machine, and stays so as there are files of others in it; "
        "adalog's own are closed to them",
        folder,
    )


def _close(path: Path) -> None:
    mode = path.stat().st_mode
    if path.is_dir():
        if mode & _OTHERS:
            for inner in path.iterdir():
                _close(inner)
            path.chmod(FOLDER_MODE)
    elif mode & _OTHERS:
        path.chmod(FILE_MODE)
