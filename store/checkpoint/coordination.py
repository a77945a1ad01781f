"""Which process on one log writes checkpoints, and how the others get them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext

from adalog.datalog.errors import AdalogError
from adalog.store.checkpoint.checkpoint import Checkpoint
from adalog.store.files.folder import Folder
from adalog.store.files.leases import all_held

_LOGGER = logging.getLogger("adalog.store")


class FoldCoordinator:
    """For the thread that folds. As it stands: of a folder with one process, or none."""

    has_others = False
    """Whether others may fold, so that `newest` is to be asked now and then."""

    def may_fold(self) -> bool:
        """Whether segments and checkpoints are this process's to write."""
        return True

    def may_remove(self) -> bool:
        """Whether files that the folder's checkpoint does not name are this process's to remove."""
        return True

    def saved(self, checkpoint: Checkpoint) -> None:
        """The checkpoint is in the folder."""

    def forget(self) -> None:
        """Removes what is of before the last excision, where processes share it: the folder's checkpoint is not."""

    def forget_imports(self, unnamed: Callable[[Collection[str]], Collection[str]]) -> None:
        """Removes files of imports, where processes share them: those among all that `unnamed` tells. In the turn
        to append."""

    def newest(self) -> Checkpoint | None:
        """The folder's checkpoint where another process has made one since this was asked last."""
        return None

    def holding(self) -> AbstractContextManager[None]:
        """No file of the folder goes until the end."""
        return nullcontext()


class FolderPeers(FoldCoordinator):
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

    def holding(self) -> AbstractContextManager[None]:
        return all_held(self._folder.segments)

    def _stamp(self) -> tuple[int, int] | None:
        """Another one for each checkpoint, which is a new file."""
        try:
            found = self._folder.checkpoint.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns
