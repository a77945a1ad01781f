"""A data folder that is made for one task: it goes again with a task that wrote nothing into it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from adalog.datalog.errors import AdalogError
from adalog.store.database import IN_MEMORY
from adalog.store.files.folder import Folder, holds_database, is_address
from adalog.store.log.log import Log


@contextmanager
def gone_if_unused(location: str) -> Iterator[None]:
    """For a block that opens the database at a location and closes it: one that was not there before, and has no
    transaction afterwards, is removed with the folders that were made for it."""
    path = Path(location).absolute()
    if location == IN_MEMORY or is_address(location) or holds_database(path):
        yield
        return
    missing = [each for each in (path, *path.parents) if not each.exists()]
    before = frozenset(os.listdir(path)) if path.is_dir() else frozenset()
    try:
        yield
    finally:
        _remove_unused(path, before)
        # With what others put there meanwhile, a folder stays.
        with suppress(OSError):
            for each in missing:
                each.rmdir()


def _remove_unused(path: Path, before: frozenset[str]) -> None:
    if not path.is_dir():
        return
    try:
        # No other process writes while this one has the lock.
        with closing(Folder(path)) as folder:
            if folder.log.exists():
                with closing(Log.reading(folder.log, folder.imported)) as log:
                    if any(True for _ in log.replay(0, 0)):
                        return
            for name in Folder.OWN - before:
                _remove(path / name)
    except (AdalogError, OSError):
        # It is in use, or not to be had: it stays.
        return


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
