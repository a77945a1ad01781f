"""Which segment files somebody still needs, told by locks that end with their holder, however it ends.

Whoever maps a segment holds a shared lock on its file until the mapping goes: open snapshots of this process and
tasks of Spark's workers. Whoever copies the folder holds one on the folder of segments itself. What no checkpoint
names and nobody holds is removed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def hold(descriptor: int) -> None:
    """Keeps an open file from being removed until its descriptor and all copies of it are closed."""
    # A file system that knows no locks: whoever has the file mapped keeps what is in it all the same.
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
    """Removes the files of a folder that are not named and nobody holds; the names of those that had to stay."""
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
    """Whether nobody else holds a file or folder, nor can until the end."""
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
