"""Which segment files are still needed, told by locks that end with their holder, however it ends.

A process that maps a segment holds a shared lock on its file until the mapping goes: open snapshots of this process
and tasks of Spark's workers. A copier holds one on the folder itself. Files that no checkpoint names and no process
holds are removed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def hold(descriptor: int) -> None:
    """Keeps an open file from being removed until its descriptor and all copies of it are closed."""
    # A file system that knows no locks: a mapping keeps the file's content all the same.
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH)


@contextmanager
def all_held(folder: Path) -> Iterator[None]:
    """Keeps every file of a folder from being removed until the end."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        hold(descriptor)
        yield
    finally:
        os.close(descriptor)


def remove_unheld(folder: Path, named: Collection[str]) -> list[str]:
    """Removes the files of a folder that are neither named nor held; the names of those that had to stay."""
    with _alone(folder) as alone:
        return [
            path.name
            for path in sorted(folder.iterdir())
            if path.name not in named and not (alone and _removed(path))
        ]


def _removed(path: Path) -> bool:
    try:
        with _alone(path) as alone:
            if alone:
                path.unlink(missing_ok=True)
            return alone
    except FileNotFoundError:
        return True
    except OSError:
        return False


@contextmanager
def _alone(path: Path) -> Iterator[bool]:
    """Whether a file or folder is locked exclusively until the end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
