"""Restoring a backup: into a folder that is empty, to its newest transaction or an earlier one.

Everything is written to a folder within that one, opened there once, and moved to its places at the end, the log
last: until then nothing of it opens as a database. What is read is verified. Segments only save time, so where one
is damaged the log is replayed instead.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from adalog.datalog.errors import AdalogError, Code, invalid_argument, unavailable
from adalog.store.backup.catalogue import Backup, Catalogue, KeptFile, catalogue
from adalog.store.backup.chunks import DamagedBackup, read
from adalog.store.backup.excised import excised_in
from adalog.store.backup.progress import NO_PROGRESS, BackupProgress
from adalog.store.backup.selection import chosen, reached
from adalog.store.database import Database
from adalog.store.files.folder import Folder, FolderLayout
from adalog.store.files.permissions import FOLDER_MODE, opener
from adalog.store.files.place import Place, place_of
from adalog.store.files.private_folder import PrivateFolder
from adalog.store.files.segment import synced, write_text
from adalog.store.log.driver import require_driver
from adalog.store.log.entry import CopiedEntry
from adalog.store.log.log import Log

# What may lie in a folder that is empty otherwise: a new file system has one.
_NOTHING: Final = frozenset({"lock", "lost+found"})
_PREFIX: Final = "adalog-restore-"


@dataclass(frozen=True)
class RestoreResult:
    """What was restored: the number of the backup, the last transaction, the datoms that hold. replayed: why the
    log was replayed although the backup has segments, if it was."""

    number: int
    t: int
    datoms: int
    replayed: str | None = None


def restore(
    place: Place,
    path: Path,
    *,
    moment: int | datetime | None = None,
    number: int | None = None,
    watching: BackupProgress = NO_PROGRESS,
) -> RestoreResult:
    """Restores a backup into a folder: the newest one, or that of a number; as of a transaction or an instant.
    Raises ARG_INVALID for a place without backups, a number that none has, and a folder that is not empty;
    BASIS_FUTURE for a transaction that no backup has; INTERNAL where a file that is needed is damaged; and
    BACKEND_UNAVAILABLE where something cannot be read or written. The folder is as it was then."""
    with place.shared():
        found = catalogue(place)
        backup = chosen(found, place, moment, number)
        t = reached(place, backup, moment)
        with _staged(path) as staging:
            replayed = _Restoring(place, found, backup, t, staging, watching).run()
            watching.stage("opening it")
            datoms = _opened(staging.path, t)
        return RestoreResult(backup.number, t, datoms, replayed)


def restore_to_server(
    place: Place,
    address: str,
    *,
    moment: int | datetime | None = None,
    number: int | None = None,
    segments: str | None = None,
    watching: BackupProgress = NO_PROGRESS,
) -> RestoreResult:
    """The same into a PostgreSQL server that has no database yet, all or nothing. segments: where gateways share
    checkpoints and the files of imports, without which a backup with imports is refused; with it a checkpoint is
    shared, so that the first gateway replays no more than any other. No gateway may run on it meanwhile: it would
    know it by another identity."""
    require_driver()
    from adalog.store.log.server import ServerLog

    with place.shared():
        found = catalogue(place)
        backup = chosen(found, place, moment, number)
        t = reached(place, backup, moment)
        files = None if segments is None else place_of(segments, backup.identity)
        with closing(ServerLog(address)) as log, _private() as staging:
            restoring = _Restoring(place, found, backup, t, staging, watching)
            # First what may fail and leave nothing.
            replayed = restoring.checkpoint()
            log.fill(backup.identity, restoring.to_server(files))
            watching.stage("opening it")
            with Database.open(address, segments=segments, copy=str(staging.path)) as database:
                if segments is not None:
                    watching.stage("sharing a checkpoint")
                    database.compact()
                return RestoreResult(
                    backup.number, database.snapshot().t, database.snapshot().datom_count, replayed
                )


@contextmanager
def _private() -> Iterator[FolderLayout]:
    """A folder for what is not to stay."""
    own = PrivateFolder(_PREFIX)
    try:
        # The folder itself is locked already.
        staging = FolderLayout(own.path / "copy")
        for path in (staging.path, staging.segments, staging.imported):
            path.mkdir(FOLDER_MODE)
        yield staging
    finally:
        own.remove()


def _check_empty(path: Path) -> None:
    """Raises ARG_INVALID for a folder with anything in it but what a killed restore left."""
    try:
        found = set(os.listdir(path)) - _NOTHING
        layout = FolderLayout(path)
        if layout.restoring.name in found and not layout.log.exists():
            # Segments and the checkpoint may have been moved to their places already.
            found -= {layout.restoring.name, layout.segments.name, layout.imported.name, layout.checkpoint.name}
        elif layout.segments.name in found and not os.listdir(layout.segments):
            found.remove(layout.segments.name)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unavailable(f"{path} cannot be restored into: {error.strerror}", retryable=False) from None
    if found:
        raise invalid_argument(
            f"{path} is not empty (it holds {', '.join(sorted(found)[:3])}); a backup is restored into a new or "
            "empty folder. Nothing was changed"
        )


@contextmanager
def _staged(path: Path) -> Iterator[FolderLayout]:
    """A folder within a data folder, whose files are moved to their places at the end. All of it goes where that is
    not reached."""
    is_new = not path.exists()
    _check_empty(path)
    with ExitStack() as undo:
        folder = Folder(path)
        undo.callback(folder.close)
        # Another restore may have ended before this one had the lock.
        _check_empty(path)
        staging = FolderLayout(folder.restoring)
        try:
            with _telling(path):
                _clear(folder)
                staging.path.mkdir(FOLDER_MODE)
                # Whatever wants to be opened meanwhile is refused for it.
                synced(path)
            staging.segments.mkdir(FOLDER_MODE)
            staging.imported.mkdir(FOLDER_MODE)
            yield staging
            with _telling(path):
                _moved(staging, folder)
        except BaseException:
            with suppress(OSError):
                # The folder was empty, so it is this one's, and without the others no database.
                folder.log.unlink(missing_ok=True)
                _clear(folder)
                folder.segments.rmdir()
                (path / "lock").unlink()
                if is_new:
                    path.rmdir()
            raise


def _clear(folder: Folder) -> None:
    """Removes what a restore left that did not come to its end; the mark of it last."""
    for path in (folder.segments, folder.imported):
        shutil.rmtree(path, ignore_errors=True)
    folder.segments.mkdir(FOLDER_MODE, exist_ok=True)
    folder.checkpoint.unlink(missing_ok=True)
    synced(folder.path)
    shutil.rmtree(folder.restoring, ignore_errors=True)


def _moved(staging: FolderLayout, folder: Folder) -> None:
    assert not staging.log.with_name(f"{FolderLayout.LOG}-wal").exists(), (
        "the last to close the log leaves one file"
    )
    for path in (staging.segments, staging.imported, staging.path):
        if path.is_dir():
            synced(path)
    staging.segments.rename(folder.segments)
    if any(staging.imported.iterdir()):
        staging.imported.rename(folder.imported)
    if staging.checkpoint.exists():
        staging.checkpoint.rename(folder.checkpoint)
    synced(folder.path)
    staging.log.rename(folder.log)
    synced(folder.path)
    shutil.rmtree(staging.path, ignore_errors=True)


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unavailable(
            f"{error.filename or path} cannot be written: {error.strerror}; nothing was restored", retryable=False
        ) from None


def _opened(path: Path, t: int) -> int:
    """Opens what was restored, with which it has a checkpoint where it needs one; how many datoms hold."""
    with Database.open(str(path)) as database:
        assert database.snapshot().t == t, "the log ends there"
        return database.snapshot().datom_count


@dataclass
class _Restoring:
    """One restore under way, into a layout that is empty but for the folders."""

    _place: Place
    _found: Catalogue
    _backup: Backup
    _t: int
    _staging: FolderLayout
    _watching: BackupProgress
    _named: set[str] = field(default_factory=set)

    def to_server(self, files: Place | None) -> Iterator[CopiedEntry]:
        """The log's entries, and at their end the files that they name are in a place."""
        self._watching.stage("restoring the log")
        for copy in self._copies():
            if copy.entry.files and files is None:
                raise invalid_argument(
                    f"transaction {copy.entry.t} is an import, whose files gateways on a server share: set "
                    "ADALOG_SEGMENTS to a folder or address for them"
                )
            yield copy
        if files is not None:
            for file in self._imported():
                files.write(f"imported/{file.name}", verified_pieces(self._place, file))
            if self._named:
                files.settle()

    def run(self) -> str | None:
        """Writes the log, the files it names, and a checkpoint; as `checkpoint`."""
        self._log()
        self._watching.stage("restoring the files of imports")
        self._files(self._imported())
        return self.checkpoint()

    def _imported(self) -> list[KeptFile]:
        """The files that the restored part of the log names."""
        imported = [file for file in self._backup.files if file.folder == "imported" and file.name in self._named]
        missing = self._named - {file.name for file in imported}
        if missing:
            why = f"it lacks {min(missing)}, which its log names"
            raise DamagedBackup(self._place.shown, self._backup.file, why)
        for file in imported:
            self._check_name(file)
        return imported

    def _log(self) -> None:
        self._watching.stage("restoring the log")
        with _telling(self._staging.path):
            log = Log.to_fill(self._staging.log, self._staging.imported)
            try:
                log.fill(self._backup.identity, self._copies())
                checksum = log.checksum
            finally:
                log.close()
            synced(self._staging.log)
        if self._t == self._backup.t and checksum != self._backup.log_checksum:
            raise DamagedBackup(self._place.shown, self._backup.file, "its log is of other transactions")

    def _copies(self) -> Iterator[CopiedEntry]:
        chunks = [chunk for chunk in self._backup.chunks if chunk.first <= self._t]
        total, done, last = sum(chunk.size for chunk in chunks), 0, 0
        for chunk in chunks:
            self._watching.bytes(done, total)
            if chunk.first != last + 1:
                raise DamagedBackup(self._place.shown, self._backup.file, f"it has no transaction {last + 1}")
            try:
                copies = read(self._place, chunk)
            except DamagedBackup as error:
                raise self._lost(error, chunk.first - 1) from None
            for copy in copies:
                if copy.entry.t <= self._t:
                    self._named.update(copy.entry.files)
                    yield copy
            done, last = done + chunk.size, chunk.last
        if last < self._t:
            raise DamagedBackup(self._place.shown, self._backup.file, f"it has no transaction {last + 1}")

    def _lost(self, error: DamagedBackup, last: int) -> AdalogError:
        """What to do about a damaged part of the log, before which it goes to `last`."""
        before = f", and with --t {last} what comes before it is restored" if last else ""
        return AdalogError(
            Code.INTERNAL,
            f"{error.message}. It holds transactions from {last + 1} on; `adalog check` says what else is damaged"
            f"{before}. Nothing was restored",
        )

    def _files(self, files: Sequence[KeptFile]) -> None:
        total, done = sum(file.size for file in files), 0
        for file in files:
            self._file(file, done, total)
            done += file.size

    def _file(self, file: KeptFile, done: int, total: int) -> None:
        self._check_name(file)
        path = self._staging.path / file.folder / file.name
        with _telling(path), open(path, "wb", opener=opener) as target:
            for piece in verified_pieces(self._place, file):
                self._watching.bytes(done, total)
                target.write(piece)
                done += len(piece)
            target.flush()
            os.fsync(target.fileno())

    def _check_name(self, file: KeptFile) -> None:
        if "/" in file.name or file.name.startswith(".") or file.folder not in ("segments", "imported"):
            raise DamagedBackup(self._place.shown, self._backup.file, f"it names {file.folder}/{file.name}")

    def checkpoint(self) -> str | None:
        """Writes the newest checkpoint that knows nothing later, with its segments; why there is none, if it is not
        that no backup has one."""
        fits = [
            each
            for each in self._found.backups
            if each.checkpoint is not None and each.checkpoint_t <= self._t and self._goes_with(each)
        ]
        if self._backup in fits:
            fits.append(self._backup)
        best = max(fits, key=lambda each: (each.checkpoint_t, each is self._backup), default=None)
        if best is None or best.checkpoint is None:
            return None
        self._watching.stage("restoring segments")
        try:
            self._files([file for file in best.files if file.folder == "segments"])
        except DamagedBackup as error:
            shutil.rmtree(self._staging.segments)
            self._staging.segments.mkdir(FOLDER_MODE)
            return error.message
        with _telling(self._staging.checkpoint):
            write_text(self._staging.checkpoint, best.checkpoint)
        return None

    def _goes_with(self, other: Backup) -> bool:
        """Whether the checkpoint of a backup has nothing that was excised from the restored log, or loses it when
        the log is replayed."""
        cleaned = self._backup.cleaned
        return cleaned <= self._t or excised_in(other) >= cleaned


def verified_pieces(place: Place, file: KeptFile) -> Iterator[bytes]:
    """A kept file, piece by piece. Raises DamagedBackup, at its end, where it is not what was written."""
    digest, size = hashlib.sha256(), 0
    try:
        for piece in place.pieces(file.file):
            digest.update(piece)
            size += len(piece)
            yield piece
    except AdalogError as error:
        raise DamagedBackup(place.shown, file.file, f"{error.message}; it is {file.folder}/{file.name}") from None
    if digest.hexdigest() != file.digest:
        why = f"it has {size:,} bytes, not {file.size:,}" if size != file.size else "its checksum is wrong"
        raise DamagedBackup(place.shown, file.file, f"{why}; it is {file.folder}/{file.name}")
