"""The segment files of a folder: those that its checkpoint names, and the removal of the others.

For the compactor, which knows when files may be removed.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from adalog.store.files.leases import remove_unheld


class NamedFiles:
    """named: the files that the folder's checkpoint names; None where that is not known."""

    def __init__(self, named: Collection[str] | None) -> None:
        self.named = named
        # Files that no checkpoint names, and that the last sweep left since readers hold them.
        self._held: list[str] = []
        # Files that a checkpoint named at some time and that are still there.
        self._once_named = set(named or ())

    @property
    def has_held(self) -> bool:
        """Whether files are left only since readers hold them."""
        return bool(self._held)

    def name(self, files: Collection[str]) -> None:
        """The folder's checkpoint names these files and no others."""
        self.named = files
        self._once_named.update(files)

    def name_also(self, files: Collection[str]) -> None:
        """The folder's checkpoint is the one before, or one that names these files: those of both stay."""
        self.named = None if self.named is None else {*self.named, *files}

    def release_held(self) -> None:
        """Has a forced sweep also remove files that readers hold and that no checkpoint of this process named."""
        self._once_named.update(self._held)

    def sweep(self, folder: Path, *, forced: bool) -> bool:
        """Removes files that are neither named nor held. forced: also held ones that were named once, as readers
        keep what they have mapped. Returns whether there was one. Raises OSError."""
        if self.named is None:
            return False
        before = sum(1 for _ in folder.iterdir())
        self._held = remove_unheld(folder, self.named)
        self._once_named.intersection_update((*self._held, *self.named))
        if forced:
            for name in self._once_named.difference(self.named):
                (folder / name).unlink(missing_ok=True)
            self._held = [name for name in self._held if name not in self._once_named]
        return before > len(self._held) + len(self.named)
