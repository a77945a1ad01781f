"""Reading everything of a database beside the process that serves it: what is damaged, where, and what to do.

The log first, which is the truth; then what is made from it: the checkpoint and its segments, which are also
compared with the log where that is asked for. Nothing is changed.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Final

from adalog.datalog.errors import AdalogError
from adalog.store.backup.check_checkpoint import CheckpointCheck, replayed
from adalog.store.backup.check_log import LogCheck
from adalog.store.backup.findings import CheckReport, Findings, OutdatedCheckError, Remedies, Tell, said
from adalog.store.backup.progress import NO_PROGRESS, BackupProgress
from adalog.store.checkpoint.files import Files, FolderFiles
from adalog.store.files.folder import FolderLayout, is_address
from adalog.store.files.formats import NewerFormat
from adalog.store.log.log import Log
from adalog.store.log.reader import END
from adalog.store.sources import held_folder, source_of

_CURSOR_KEY_BYTES: Final = 32
_FOLDER: Final = Remedies(
    "restore the folder from a backup: `adalog restore OUT --data NEW`",
    "nothing is lost: it is made again from the log when the folder is opened next",
    "nothing is lost, but answers may be wrong until you delete checkpoint.json while nobody has the folder: all "
    "segments are then made again from the log",
)
_SERVER: Final = Remedies(
    "restore a backup into another database: `adalog restore OUT --data postgresql://…`",
    "nothing is lost: gateways that lack it make it again from the log, and share another one when they fold next",
    "nothing is lost, but answers may be wrong until you stop the gateways, DELETE FROM checkpoints on the server, "
    "and empty the folders of ADALOG_SEGMENTS_COPY: all segments are then made again from the log",
)


def check_data(
    location: str,
    tell: Tell = lambda _: None,
    *,
    segments: str | None = None,
    deep: bool = False,
    watching: BackupProgress = NO_PROGRESS,
) -> CheckReport:
    """Checks the database of a folder or server. segments: where a server's gateways share files. tell: is given
    what is damaged as it is found. deep: the log is replayed too, and what comes of it compared with the segments;
    that takes as much memory as the database. Raises BACKEND_UNAVAILABLE where there is no database, or access is
    denied, NewerFormat where a later version wrote to it: what is right there is not known here."""
    with ExitStack() as holding:
        if is_address(location):
            source = holding.enter_context(source_of(location, segments))
            from adalog.store.log.server import shown_address

            findings = Findings(tell, shown_address(location), _SERVER)
            return _checked(source.log, source.files, findings, watching, deep=deep)
        folder = held_folder(location)
        files, findings = FolderFiles(folder), Findings(tell, FolderLayout.LOG, _FOLDER)
        holding.enter_context(files.held())
        _check_cursor_key(folder, findings)
        try:
            log = Log.reading(folder.log, folder.imported)
        except NewerFormat:
            raise
        except AdalogError as error:
            findings.add_of_log(said(error))
            return findings.checked
        holding.callback(log.close)
        findings.read(folder.log.stat().st_size)
        checked = _checked(log, files, findings, watching, deep=deep)
        checked.unused = _unused(log, files)
        return checked


def _checked(
    log: Log, files: Files | None, findings: Findings, watching: BackupProgress, *, deep: bool
) -> CheckReport:
    """Starts again if an excision happens meanwhile: it changes entries that were read, and removes files."""
    while True:
        begun, excised = _newest(log), _excised_in(files)

        def is_outdated(begun: int = begun, excised: int = excised) -> bool:
            with suppress(AdalogError):
                return _excised_in(files) > excised or bool(log.excisions(begun))
            return False

        known = replace(findings.checked, findings=list(findings.checked.findings))
        attempt = replace(findings, checked=known, is_outdated=is_outdated)
        with suppress(OutdatedCheckError):
            return _check_once(log, files, attempt, watching, deep=deep)


def _newest(log: Log) -> int:
    """The newest transaction; `END` if the log cannot be read."""
    with suppress(AdalogError):
        return log.newest()
    return END


def _excised_in(files: Files | None) -> int:
    """The last excision in the checkpoint; 0 if there is none, or it cannot be read."""
    with suppress(AdalogError):
        found = None if files is None else files.checkpoint()
        return 0 if found is None else found[1].counters.excised
    return 0


def _check_once(
    log: Log, files: Files | None, findings: Findings, watching: BackupProgress, *, deep: bool
) -> CheckReport:
    """Raises OutdatedCheckError."""
    whole = LogCheck(log, files, findings, watching).run()
    check = None if files is None else CheckpointCheck(log, files, findings, watching)
    checkpoint = None if check is None else check.run()
    if deep and whole:
        if check is not None and checkpoint is not None:
            check.compare(checkpoint)
        elif findings.checked.unread is None:
            replayed(log, findings.checked.t, findings, watching)
    return findings.checked


def _unused(log: Log, files: FolderFiles) -> int:
    """How many files nothing names; 0 where that cannot be told."""
    try:
        found = files.checkpoint()
        named = log.files() | (frozenset() if found is None else found[1].files())
        held = [path.name for folder in (files.segments, files.imported) for path in folder.glob("*")]
    except (AdalogError, OSError):
        return 0
    return sum(name not in named for name in held)


def _check_cursor_key(folder: FolderLayout, findings: Findings) -> None:
    key = folder.path / "cursor.key"
    if not key.exists():
        return
    try:
        size = len(key.read_bytes())
    except OSError as error:
        findings.add(key.name, f"it cannot be read ({error.strerror})", "let its owner read it")
        return
    if size != _CURSOR_KEY_BYTES:
        remedy = "delete it to have another one made; pages under way are then begun anew"
        findings.add(key.name, f"it has {size} bytes, not {_CURSOR_KEY_BYTES}", remedy)
