"""What backups still hold of what was excised since they were made.

The log says of each entry that lost something which excision was the last that took of it; a backup says which
excisions its entries know of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adalog.store.backup.catalogue import Backup
from adalog.store.checkpoint.checkpoint import Checkpoint
from adalog.store.log.log import Log


@dataclass(frozen=True)
class ExcisedEntries:
    """newest: the last excision, 0 for none. by: of each entry that lost something, the last excision that took it.
    seen: the last entry that was looked at."""

    newest: int = 0
    by: Mapping[int, int] = field(default_factory=dict)
    seen: int = 0

    @staticmethod
    def of(log: Log, known: int = 0, after: int = 0) -> ExcisedEntries:
        """Those of a log. known: the last excision up to entry `after`; where there is none since, `by` is left
        out. Raises as reading does."""
        seen = log.newest()
        newest = max((t for t, is_excision, _ in log.excised(after, seen) if is_excision), default=0)
        if not newest:
            return ExcisedEntries(known, {}, seen)
        return ExcisedEntries(newest, {t: by for t, _, by in log.excised(0, seen) if by}, seen)

    def taken_from(self, first: int, last: int, known: int) -> set[int]:
        """The excisions after `known` that took something of the entries from `first` to `last`."""
        return {by for t, by in self.by.items() if first <= t <= last and by > known}

    def held_by(self, backup: Backup) -> list[int]:
        """The excisions of which a backup holds what they took."""
        held = self.taken_from(1, backup.t, backup.cleaned)
        return sorted(held | self.held_by_checkpoint(backup))

    def held_by_checkpoint(self, backup: Backup) -> set[int]:
        if backup.checkpoint is None:
            return set()
        return self.taken_from(1, backup.checkpoint_t, excised_in(backup))


def excised_in(backup: Backup) -> int:
    """The last excision that the checkpoint of a backup knows of. Raises INTERNAL for a damaged one."""
    assert backup.checkpoint is not None
    return Checkpoint.parsed(backup.checkpoint, Path(), backup.file).counters.excised
