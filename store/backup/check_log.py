"""Reading all of a log: every entry with its checksum, and the files that entries name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from adalog.datalog.errors import AdalogError
from adalog.store.backup.findings import Findings, said, why
from adalog.store.backup.progress import BackupProgress
from adalog.store.checkpoint.files import Files, size_of
from adalog.store.files.formats import NewerFormat
from adalog.store.files.narrow import length_of
from adalog.store.files.segment import Segment, open_segment
from adalog.store.files.shared_files import IMPORTED
from adalog.store.log.entry import CopiedEntry, chained
from adalog.store.log.imported import LoggedFile
from adalog.store.log.log import Log
from adalog.store.log.payload import Logged


def read_segment(files: Files, segment: Segment, findings: Findings, remedy: str) -> dict[str, NDArray[Any]] | None:
    """The arrays of a file; None for a damaged one, which is a finding. Raises NewerFormat."""
    try:
        files.bring([segment])
        arrays = open_segment(segment)
        findings.read(size_of(segment))
    except NewerFormat:
        raise
    except AdalogError as error:
        findings.add(files.shown(segment), why(error, segment.file), remedy)
        return None
    return arrays


class LogCheck:
    """One check under way. files: where the files are that entries name; None if not given."""

    def __init__(self, log: Log, files: Files | None, findings: Findings, watching: BackupProgress) -> None:
        self._log = log
        self._files = files
        self._findings = findings
        self._watching = watching

    def run(self) -> bool:
        """Reads everything; whether all is right."""
        findings, before = self._findings, len(self._findings.checked.findings)
        self._watching.stage("reading the log")
        for fault in self._log.faults():
            findings.add_of_log(fault)
        try:
            last = findings.checked.t = self._log.newest()
            total = self._log.nbytes(1, last + 1, last)
            named = self._entries(self._log.copied(0, last), last, total)
            listed = self._log.files(last)
        except NewerFormat:
            raise
        except AdalogError as error:
            findings.add_of_log(said(error))
            return False
        for name in sorted(listed ^ named):
            findings.add_of_log(f"its list of files and its entries differ in {name}")
        return len(findings.checked.findings) == before

    def _entries(self, copies: Iterator[CopiedEntry], last: int, total: int) -> set[str]:
        """Reads all entries; the files that they name."""
        findings = self._findings
        named: set[str] = set()
        expected, checksum, instant, done = 1, 0, 0, 0
        for copy in copies:
            entry, t = copy.entry, copy.entry.t
            done += len(entry.payload)
            self._watching.bytes(done, total)
            if t != expected:
                missing = (
                    f"transactions {expected} to {t - 1} are" if t > expected + 1 else f"transaction {expected} is"
                )
                findings.add_of_log(f"{missing} missing", expected - 1)
            elif chained(checksum, entry) != copy.checksum:
                findings.add_of_log(f"transaction {t} is not what was written", t - 1)
            else:
                named |= self._payload(copy, instant)
            expected, checksum, instant = t + 1, copy.checksum, entry.instant
        if expected != last + 1:
            findings.add_of_log(f"transactions {expected} to {last} are missing", expected - 1)
        return named

    def _payload(self, copy: CopiedEntry, instant: int) -> set[str]:
        entry, findings = copy.entry, self._findings
        if entry.instant < instant:
            findings.add_of_log(f"transaction {entry.t} is older than the one before it", entry.t - 1)
        try:
            # Names of files are names, wherever the files are.
            logged = Logged.decoded(entry.payload, self._log.files_folder or Path(IMPORTED))
        except NewerFormat:
            raise
        except Exception as error:  # noqa: BLE001 - whatever its bytes make go wrong
            findings.add_of_log(f"transaction {entry.t} cannot be read ({error!r})", entry.t - 1)
            return set()
        imported = [column for column in logged.columns if isinstance(column, LoggedFile)]
        for file in imported:
            self._imported(file, entry.t)
        return {file.segment.file for file in imported}

    def _imported(self, file: LoggedFile, t: int) -> None:
        findings, segment = self._findings, file.segment
        if self._files is None:
            findings.checked.unread = (
                "the files of imports are where the gateways share them, and were not read: say where that is, "
                "with --segments or ADALOG_SEGMENTS"
            )
            return
        remedy = findings.remedies.until(t - 1)
        arrays = read_segment(self._files, segment, findings, remedy)
        if arrays is not None and not length_of(arrays, "e") == length_of(arrays, "v") == len(file):
            findings.add(
                self._files.shown(segment),
                f"it does not hold the {len(file):,} datoms that transaction {t} says",
                remedy,
            )
