"""Taking a backup: what is new of a database goes to a place, while it is written to.

The checkpoint's files are held by their lease and never change, and so do entries of the log that are there: the
writer is not asked for anything. A backup that fails removes what it wrote; one that is killed leaves files that no
backup names, which the next one uses or removes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from adalog.datalog.errors import AdalogError, Code, invalid_argument
from adalog.store.backup.backup_writer import BackupWriter
from adalog.store.backup.catalogue import Catalogue, catalogue, check_owner, claim
from adalog.store.backup.excised import ExcisedEntries
from adalog.store.backup.progress import NO_PROGRESS, BackupProgress
from adalog.store.checkpoint.files import Files
from adalog.store.files.place import FOLDERS, LocalPlace, Place
from adalog.store.log.last_backup import note_backup
from adalog.store.log.log import Log
from adalog.store.sources import LogSource


@dataclass(frozen=True)
class BackupResult:
    """A backup that was taken: its number and transaction, the bytes of all its files, and those that were written
    for it, in so many files. removed: older backups that went. left_out: why the checkpoint is not in it, if it is
    not though there is one."""

    number: int
    t: int
    bytes: int
    written: int
    files: int
    removed: Sequence[int]
    left_out: str | None = None


def take(
    source: LogSource, place: Place, keep: int | None = None, watching: BackupProgress = NO_PROGRESS
) -> BackupResult:
    """Takes a backup, then removes all but the newest `keep` ones. Raises ARG_INVALID for a place that is no place
    for this database's backups, BASIS_CONFLICT where its backups are of another history, RATE_LIMITED where another
    backup is under way there, BACKEND_UNAVAILABLE where it cannot be written or the database not be read, INTERNAL
    where the log is damaged."""
    _check_apart(source.files, place)
    # Before anything is made of it.
    check_owner(place, source.log.identity)
    with place.alone():
        claim(place, source.log.identity)
        found = catalogue(place)
        _check_same_history(source.log, found, place)
        with nullcontext() if source.files is None else source.files.held():
            newest = found.newest
            known = (0, 0) if newest is None else (newest.cleaned, newest.t)
            entries = ExcisedEntries.of(source.log, *known)
            backup, written, files, left_out = BackupWriter(source, place, found, watching, entries).run()
        note_backup(source.log, None if source.files is None else source.files.path, backup.made)
        removed: list[int] = []
        if keep is not None:
            watching.stage("removing older backups")
            try:
                removed = prune(place, keep)
            except AdalogError as error:
                message = f"backup {backup.number} was taken, but older ones could not be removed: {error.message}"
                raise AdalogError(error.code, message, retryable=False) from None
        return BackupResult(
            backup.number, backup.t, sum(backup.parts().values()), written, files, removed, left_out
        )


def prune(place: Place, keep: int) -> list[int]:
    """Removes all but the newest `keep` backups, and the files that none of these names; the removed ones' numbers.
    Nothing but backups is removed where one cannot be read, and so not what it names."""
    found = catalogue(place)
    gone = found.backups[: max(len(found.backups) - keep, 0)]
    for backup in gone:
        place.remove(backup.file)
    place.settle()
    if not found.damaged:
        named = {name for backup in found.backups[len(gone) :] for name in backup.parts()}
        for folder in FOLDERS[:2]:
            own = {name.partition("/")[2] for name in named if name.startswith(f"{folder}/")}
            for name in place.unnamed(folder, own):
                place.remove(f"{folder}/{name}")
        place.settle()
    return [backup.number for backup in gone]


def _check_apart(files: Files | None, place: Place) -> None:
    if files is None or files.path is None or not isinstance(place, LocalPlace):
        return
    data, own = files.path.resolve(), place.path.resolve()
    if own == data or data in own.parents:
        raise invalid_argument(
            f"{place.shown} lies in the data folder {files.path}, with which it would be lost; name a place "
            "outside of it, best on another disk or machine"
        )


def _check_same_history(log: Log, found: Catalogue, place: Place) -> None:
    """Raises BASIS_CONFLICT where the newest backup is of transactions that the log does not have."""
    newest = found.newest
    if newest is None:
        return
    checksum = log.checksum_at(newest.t)
    if checksum == newest.log_checksum:
        return
    why = (
        f"is of t = {newest.t}, which this database has not reached"
        if checksum is None
        else f"is of t = {newest.t}, and this database has another transaction {newest.t}"
    )
    raise AdalogError(
        Code.BASIS_CONFLICT,
        f"{place.shown} holds backups of another history: backup {newest.number} {why}. It is an older state of "
        "that database or a copy that went its own way; name another place for its backups",
    )
