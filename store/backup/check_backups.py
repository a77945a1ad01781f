"""Reading everything of a place of backups, and saying what is damaged, of which backups, and what to do."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from adalog.datalog.errors import AdalogError, Code
from adalog.store.backup import restoration
from adalog.store.backup.catalogue import OWNER, Backup, Catalogue, KeptFile, catalogue, owner
from adalog.store.backup.check import check_data
from adalog.store.backup.chunks import DamagedBackup, LogChunk, read
from adalog.store.backup.findings import CheckReport, Findings, Tell
from adalog.store.backup.progress import NO_PROGRESS, BackupProgress
from adalog.store.files.place import FOLDERS, Place


def check_backups(
    place: Place, tell: Tell = lambda _: None, *, deep: bool = False, watching: BackupProgress = NO_PROGRESS
) -> CheckReport:
    """Checks all backups of a place, each file once. deep: the newest is restored to a temporary folder, too, and
    that is checked. Raises ARG_INVALID for a place that has no backups."""
    with place.shared():
        found = catalogue(place)
        check = _Check(place, found, Findings(tell), watching)
        check.run()
        if deep and found.newest is not None and not check.findings.checked.findings:
            check.deep()
        return check.findings.checked


@dataclass
class _Check:
    _place: Place
    _catalogue: Catalogue
    findings: Findings
    _watching: BackupProgress

    def _found(self, error: DamagedBackup, remedy: str) -> None:
        self.findings.add(error.file, error.why, remedy)

    def run(self) -> None:
        """Reads the catalogue, every part of the log, every file."""
        backups, checked = self._catalogue.backups, self.findings.checked
        for error in self._catalogue.damaged.values():
            self._found(error, "delete it; what it names then goes with the next backup that is taken with --keep")
        identity = self._owner()
        for backup in backups:
            if identity is not None and backup.identity != identity:
                self.findings.add(backup.file, "it is of another database", "delete it")
        chunks = {chunk.file: chunk for backup in backups for chunk in backup.chunks}
        files = {file.file: file for backup in backups for file in backup.files}
        total = sum(chunk.size for chunk in chunks.values()) + sum(file.size for file in files.values())
        self._watching.stage("reading the backups")
        for chunk in chunks.values():
            self._watching.bytes(checked.bytes, total)
            self._chunk(chunk)
        for file in files.values():
            self._watching.bytes(checked.bytes, total)
            self._file(file)
        for backup in backups:
            self._continues(backup)
        if backups:
            checked.t = backups[-1].t
        if not self._catalogue.damaged:
            named = {*chunks, *files}
            checked.unused = sum(
                f"{folder}/{name}" not in named
                for folder in FOLDERS[:2]
                for name in self._place.sizes(folder)
                if name
            )

    def _owner(self) -> str | None:
        """Whose backups the place says that it holds, None where it does not say, or not what they all say."""
        known = {backup.identity for backup in self._catalogue.backups}
        whose = next(iter(known)) if len(known) == 1 else "IDENTITY"
        try:
            said = owner(self._place)
            if len(known) != 1 or said in known:
                return said
            raise DamagedBackup(self._place.shown, OWNER, f"it says {said!r}, and all backups are of {whose!r}")
        except DamagedBackup as error:
            self._found(error, f'write {{"identity": "{whose}"}} into it')
            return None

    def _of(self, part: LogChunk | KeptFile) -> str:
        numbers = [
            str(each.number)
            for each in self._catalogue.backups
            if part in (each.chunks if isinstance(part, LogChunk) else each.files)
        ]
        few = f"{', '.join(numbers[:5])}{' …' if len(numbers) > 5 else ''}"
        return f"backup{'s' if len(numbers) > 1 else ''} {few}"

    def _chunk(self, chunk: LogChunk) -> None:
        try:
            read(self._place, chunk)
            self.findings.read(chunk.size)
        except DamagedBackup as error:
            self._found(error, self._remedy(chunk, _before(chunk)))

    def _file(self, file: KeptFile) -> None:
        try:
            for _ in restoration.verified_pieces(self._place, file):
                pass
            self.findings.read(file.size)
        except DamagedBackup as error:
            is_segment = file.folder == "segments"
            lost = "; restoring replays the log instead" if is_segment else "; none of them can be restored"
            self._found(error, self._remedy(file, lost))

    def _remedy(self, part: LogChunk | KeptFile, first: str) -> str:
        return (
            f"it is of {self._of(part)}{first}. Delete it and back up again: it is copied anew if the database has "
            "it still"
        )

    def _continues(self, backup: Backup) -> None:
        """Whether the parts of a backup's log continue each other."""
        t, checksum, instant = 0, 0, 0
        for chunk in backup.chunks:
            if (chunk.first, chunk.before) != (t + 1, checksum):
                break
            t, checksum, instant = chunk.last, chunk.checksum, chunk.instant
        if (t, checksum, instant) != (backup.t, backup.log_checksum, backup.instant):
            self.findings.add(backup.file, f"its log breaks off after transaction {t}", "delete it")

    def deep(self) -> None:
        """Restores the newest backup, and checks that."""
        with tempfile.TemporaryDirectory(prefix="adalog-check-") as folder:
            path = Path(folder) / "restored"
            try:
                restoration.restore(self._place, path, watching=self._watching)
                inner = check_data(str(path), deep=True, watching=self._watching)
            except AdalogError as error:
                if error.code is not Code.INTERNAL:
                    # No room for it, say: that is no damage.
                    raise
                self.findings.add("backups", error.message, "back up again")
                return
            for found in inner.findings:
                remedy = "back up again, after `adalog check --data` of the database"
                self.findings.add(f"the newest backup, restored: {found.where}", found.what, remedy)


def _before(chunk: LogChunk) -> str:
    return f"; with --t {chunk.first - 1} what comes before it is restored" if chunk.first > 1 else ""
