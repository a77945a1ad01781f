"""Which process on one log writes checkpoints, and how the others get them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from adalog.datalog.errors import AdalogError
from adalog.store.checkpoint.checkpoint import Checkpoint
from adalog.store.files.folder import Folder
from adalog.store.files.leases import all_held

_LOGGER = logging.getLogger("adalog.store")


class FoldCoordinator(Protocol):
    """For the thread that folds."""

    has_others: bool
    """Whether others may fold, so that `newest` is to be asked now and then."""

    def may_fold(self) -> bool:
        """Whether segments and checkpoints are this process's to write."""

    def may_remove(self) -> bool:
        """Whether files that the folder's checkpoint does not name are this process's to remove."""

    def saved(self, checkpoint: Checkpoint) -> None:
        """The checkpoint is in the folder."""

    def newest(self) -> Checkpoint | None:
        """The folder's checkpoint where another process has made one since this was asked last."""

    @contextmanager
    def holding(self) -> Iterator[None]:
        """No file of the folder goes until the end."""


class SoleProcess:
    """A folder with one process, or none."""

    has_others = False

    def may_fold(self) -> bool:
        return True

    def may_remove(self) -> bool:
        return True

    def saved(self, checkpoint: Checkpoint) -> None:
        """There are no others."""

    def newest(self) -> None:
        return None

    @contextmanager
    def holding(self) -> Iterator[None]:
        yield


class FolderPeers:
    """A folder that processes of one machine share: one of them folds, until it ends, and all map its files."""

    has_others = True

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._seen = self._stamp()

    def may_fold(self) -> bool:
        return self._folder.may_fold()

    def may_remove(self) -> bool:
        return self._folder.folds

    def saved(self, checkpoint: Checkpoint) -> None:
        self._seen = self._stamp()

    def newest(self) -> Checkpoint | None:
        stamp = self._stamp()
        if stamp == self._seen:
            return None
        self._seen = stamp
        try:
            return Checkpoint.load(self._folder)
        except AdalogError as error:
            _LOGGER.warning("another process's checkpoint cannot be used: %s", error.message)
            return None

    @contextmanager
    def holding(self) -> Iterator[None]:
        with all_held(self._folder.segments):
            yield

    def _stamp(self) -> tuple[int, int] | None:
        """Another one for each checkpoint, which is a new file."""
        try:
            found = self._folder.checkpoint.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns
