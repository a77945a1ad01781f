"""Backups without what was excised since they were made: each that holds some of it is written anew.

The entries that lost something are copied from the log as they are now. Their checksums are the same, so that all
else of a backup stays. A checkpoint with what went is left out: restoring replays the log instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adalog.datalog.errors import AdalogError, Code
from adalog.store.backup.backup_writer import BackupWriter
from adalog.store.backup.catalogue import Backup, Catalogue, catalogue, check_owner
from adalog.store.backup.excised import ExcisedEntries
from adalog.store.backup.progress import NO_PROGRESS, BackupProgress
from adalog.store.files.place import Place
from adalog.store.sources import LogSource


@dataclass(frozen=True)
class RewriteResult:
    """The numbers of the backups that were written anew, of those that have no checkpoint any more, and how many
    files were removed."""

    rewritten: list[int]
    without_checkpoint: list[int]
    removed: int


def rewrite(source: LogSource, place: Place, watching: BackupProgress = NO_PROGRESS) -> RewriteResult:
    """Writes the backups of a place anew that hold what was excised. One that is killed is begun again. Raises as
    `take` does, and INTERNAL where a backup cannot be read: nothing was changed then."""
    check_owner(place, source.log.identity)
    with place.alone():
        found = catalogue(place)
        for error in found.damaged.values():
            message = f"{error.message}. Delete it first: it may hold what was excised. Nothing was changed"
            raise AdalogError(Code.INTERNAL, message)
        entries = ExcisedEntries.of(source.log)
        outdated = [backup for backup in found.backups if entries.held_by(backup)]
        for backup in outdated:
            _check_same_history(source, backup, place)
        left = [backup for backup in found.backups if backup not in outdated]
        anew, without = list[int](), list[int]()
        for backup in outdated:
            watching.stage(f"rewriting backup {backup.number}")
            if any(each.number == backup.number for each in left):
                # A process was killed before the old one was removed.
                place.remove(backup.file)
                continue
            keeps = backup.checkpoint is not None and not entries.held_by_checkpoint(backup)
            writer = BackupWriter(replace(source, t=backup.t), place, Catalogue([backup], {}), watching, entries)
            fresh = writer.run_again(backup, keeps_checkpoint=keeps)
            place.remove(backup.file)
            left.append(fresh)
            anew.append(backup.number)
            if backup.checkpoint is not None and not keeps:
                without.append(backup.number)
        place.settle()
        return RewriteResult(anew, without, _remove_unnamed(place, outdated, left))


def outdated_backups(source: LogSource, found: Catalogue) -> dict[str, list[int]]:
    """By name of its file, the excisions of which a backup still holds what they took."""
    entries = ExcisedEntries.of(source.log)
    return {backup.name: entries.held_by(backup) for backup in found.backups}


def _remove_unnamed(place: Place, gone: list[Backup], left: list[Backup]) -> int:
    """Removes the files that only backups named that were written anew, and what a killed process left of them."""
    named = {name for backup in left for name in backup.parts()}
    files = {name for backup in gone for name in backup.parts()}
    files |= {f"{folder}/{name}" for folder in ("files", "log") for name in place.unnamed(folder, set())}
    for name in sorted(files - named):
        place.remove(name)
    place.settle()
    return len(files - named)


def _check_same_history(source: LogSource, backup: Backup, place: Place) -> None:
    if source.log.checksum_at(backup.t) != backup.log_checksum:
        raise AdalogError(
            Code.BASIS_CONFLICT,
            f"backup {backup.number} in {place.shown} is of t = {backup.t}, and this database has another "
            "transaction, or none, of that number: it is an older state or a copy. Nothing was changed",
        )
