"""Segments in an object store, for workers that do not see the data folder; a worker caches them on its disk.

Files are named by their content (BLAKE2b), so a name never gets other content: the driver uploads what is missing,
a worker fetches what it lacks. adalog removes nothing from an object store.

A folder that all see (`file://`) can take the store's place. There a file appears as a whole, since several drivers
may write the same one, and is removed when no driver has used it for a week.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final
from uuid import uuid4

from pyarrow import fs

from adalog.cluster.addresses import file_system_at, reporting_errors
from adalog.datalog.errors import unavailable
from adalog.store.files.addresses import shown
from adalog.store.files.leases import hold, remove_unheld
from adalog.store.files.permissions import FOLDER_MODE, opener
from adalog.store.files.segment import DamagedSegment, Segment

_AT_ONCE: Final = 1 << 23
_DIGEST: Final = 20
# For how long a file that was seen there is not looked for again.
_KNOWN_SECONDS: Final = 60.0
# For how long a folder keeps an unused file; a driver that looks for a file sets its time.
_KEPT_SECONDS: Final = 7 * 86_400.0
# Concurrent uploads, and how often a waiting query checks its deadline.
_UPLOADS: Final = 4
_WAIT_SECONDS: Final = 0.05
# The share of a worker's disk that stays free.
_FREE: Final = 0.05


class Depot:
    """The driver's side: uploads segments to an address. Thread-safe. Each segment is uploaded once, on a thread of
    its own: a cancelled query does not stop it for the others."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._names: dict[Segment, str] = {}
        self._uploads: dict[Segment, _Upload] = {}
        self._lock = threading.Lock()
        self._turns = threading.Semaphore(_UPLOADS)
        self._closed = False

    def put(self, segments: Iterable[Segment], check: Callable[[], None]) -> dict[Segment, Segment]:
        """Each segment under its name there. check: called again and again during uploads.

        Raises what `check` raises, ARG_INVALID for a wrong address, and BACKEND_UNAVAILABLE if writing fails.
        """
        uploads = {segment: self._upload(segment) for segment in segments}
        while True:
            check()
            _, missing = wait([upload.done for upload in uploads.values()], _WAIT_SECONDS, FIRST_EXCEPTION)
            if not missing or any(upload.failed for upload in uploads.values()):
                return {each: Segment(upload.done.result(), each.checksum) for each, upload in uploads.items()}

    def close(self) -> None:
        """Ends uploads at their next piece."""
        self._closed = True

    def _upload(self, segment: Segment) -> _Upload:
        with self._lock:
            upload = self._uploads.get(segment)
            if upload is None or upload.failed or upload.is_old:
                upload = self._uploads[segment] = _Upload()
                threading.Thread(target=self._run, args=(segment, upload), name="spark-depot", daemon=True).start()
            return upload

    def _run(self, segment: Segment, upload: _Upload) -> None:
        try:
            with self._turns, reporting_errors(self.address):
                name = self._names.get(segment)
                if name is None:
                    name = self._names[segment] = _name_of(Path(segment.path))
                system, folder = file_system_at(self.address)
                size = os.stat(segment.path).st_size
                info = system.get_file_info(f"{folder}/{name}")
                if info.type != fs.FileType.File or info.size != size:
                    self._write(Path(segment.path), system, folder, name)
                elif isinstance(system, fs.LocalFileSystem):
                    os.utime(f"{folder}/{name}")
        except Exception as error:  # noqa: BLE001 - raised where queries wait
            upload.done.set_exception(error)
        else:
            upload.at = time.monotonic()
            upload.done.set_result(name)

    def _write(self, path: Path, system: fs.FileSystem, folder: str, name: str) -> None:
        to = written = f"{folder}/{name}"
        if isinstance(system, fs.LocalFileSystem):
            system.create_dir(folder)
            _tidy(Path(folder))
            # A store's objects appear as a whole by themselves.
            written = f"{to}.{uuid4().hex}.tmp"
        with path.open("rb") as file, system.open_output_stream(written) as stream:
            self._copy(file, stream)
        if written != to:
            system.move(written, to)

    def _copy(self, file: BinaryIO, stream: fs.NativeFile) -> None:
        while piece := file.read(_AT_ONCE):
            if self._closed:
                raise unavailable("Spark was shut down")
            stream.write(piece)


def _tidy(folder: Path) -> None:
    """Removes files that have not been used for a week."""
    before = time.time() - _KEPT_SECONDS
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if path.suffix in (".seg", ".tmp") and path.stat().st_mtime < before:
                path.unlink()


@dataclass(slots=True)
class _Upload:
    """An upload. done: the segment's name there. at: when it was last seen there."""

    done: Future[str] = field(default_factory=Future)
    at: float = 0.0

    @property
    def failed(self) -> bool:
        return self.done.done() and self.done.exception() is not None

    @property
    def is_old(self) -> bool:
        """Whether it may have been removed there since it was seen."""
        return self.done.done() and time.monotonic() - self.at >= _KNOWN_SECONDS


def fetched(address: str, segment: Segment) -> Segment:
    """A segment at an address as a file of this machine. Raises BACKEND_UNAVAILABLE if it cannot be read,
    DamagedSegment if its content is not what its name says."""
    name = Path(segment.path).name
    folder = _folder()
    path = folder / name
    if not path.exists():
        system, place = file_system_at(address)
        temporary = folder / f".{name}.{uuid4().hex}"
        try:
            with reporting_errors(address), system.open_input_stream(f"{place}/{name}") as stream:
                _make_room(folder, system.get_file_info(f"{place}/{name}").size or 0)
                with open(temporary, "wb", opener=opener) as file:
                    # Against other workers' `_make_room`.
                    hold(file.fileno())
                    shutil.copyfileobj(stream, file, _AT_ONCE)
            if _name_of(temporary) != name:
                raise DamagedSegment(f"{shown(address)}/{name}", "it is not what was put there")
            temporary.rename(path)
        finally:
            temporary.unlink(missing_ok=True)
    return Segment(str(path), segment.checksum)


def discard(segment: Segment) -> None:
    """Removes the file here, which is damaged or gone, so that it is fetched again."""
    (_folder() / Path(segment.path).name).unlink(missing_ok=True)


def _name_of(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=_DIGEST)
    with path.open("rb") as file:
        while content := file.read(_AT_ONCE):
            digest.update(content)
    return f"{digest.hexdigest()}.seg"


def _folder() -> Path:
    """The cache of all workers of this machine; this user's alone."""
    path = Path(tempfile.gettempdir()) / f"adalog-segments-{os.getuid()}"
    path.mkdir(FOLDER_MODE, exist_ok=True)
    status = path.lstat()
    if path.is_symlink() or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise unavailable(
            f"{path} is not this user's alone, and segments are kept there; remove it, or set TMPDIR",
            retryable=False,
        )
    return path


def _make_room(folder: Path, size: int) -> None:
    """Removes unused files if the disk would be full otherwise."""
    disk = shutil.disk_usage(folder)
    if disk.free < size + _FREE * disk.total:
        remove_unheld(folder, ())
