"""Segments in an object store, for workers that do not see the data folder; what they read they keep on their disk.

Files are named by what is in them (BLAKE2b), so that nobody ever writes another content under a name: the driver
puts there what is missing, a worker takes what it has not. Nothing is removed from an object store by adalog.

In its place may be a folder that all see (`file://`): there a file appears as a whole, as several drivers may put
the same one, and goes when no driver wanted it for a week.
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

from adalog.cluster.addresses import file_system_at, reporting_errors, shown
from adalog.datalog.errors import AdalogError, Code
from adalog.store.files.leases import hold, remove_unheld
from adalog.store.files.permissions import FOLDER_MODE, opener
from adalog.store.files.segment import DamagedSegment, Segment

_AT_ONCE: Final = 1 << 23
_DIGEST: Final = 20
# For how long a file that was there is taken to be there.
_KNOWN_SECONDS: Final = 60.0
# For how long a folder keeps what no driver wants; each says so as often as it looks whether a file is there.
_KEPT_SECONDS: Final = 7 * 86_400.0
# Segments on their way at once, and how long a query waits for them between two looks at its deadline.
_UPLOADS: Final = 4
_WAIT_SECONDS: Final = 0.05
# What is left of a worker's disk.
_FREE: Final = 0.05


class Depot:
    """The driver's side: puts segments to an address. Thread-safe.

    A segment is put once, on a thread of its own, whichever queries wait for it: one that is cancelled leaves the
    others their segment.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._names: dict[Segment, str] = {}
        self._put: dict[Segment, _Put] = {}
        self._lock = threading.Lock()
        self._turns = threading.Semaphore(_UPLOADS)
        self._closed = False

    def put(self, segments: Iterable[Segment], check: Callable[[], None]) -> dict[Segment, Segment]:
        """Each segment under its name there. check: called again and again while they are on their way.

        Raises what `check` raises, ARG_INVALID for what is no address, and BACKEND_UNAVAILABLE where it cannot be
        written.
        """
        begun = {segment: self._begun(segment) for segment in segments}
        while True:
            check()
            _, missing = wait([put.done for put in begun.values()], _WAIT_SECONDS, FIRST_EXCEPTION)
            if not missing or any(put.failed for put in begun.values()):
                return {segment: Segment(put.done.result(), segment.checksum) for segment, put in begun.items()}

    def close(self) -> None:
        """Ends what is on its way, at its next piece."""
        self._closed = True

    def _begun(self, segment: Segment) -> _Put:
        with self._lock:
            put = self._put.get(segment)
            if put is None or put.failed or put.is_old:
                put = self._put[segment] = _Put()
                threading.Thread(target=self._run, args=(segment, put), name="spark-depot", daemon=True).start()
            return put

    def _run(self, segment: Segment, put: _Put) -> None:
        try:
            with self._turns, reporting_errors(self.address):
                name = self._names.get(segment)
                if name is None:
                    name = self._names[segment] = _name_of(Path(segment.path))
                system, folder = file_system_at(self.address)
                size = os.stat(segment.path).st_size
                found = system.get_file_info(f"{folder}/{name}")
                if found.type != fs.FileType.File or found.size != size:
                    self._write(Path(segment.path), system, folder, name)
                elif isinstance(system, fs.LocalFileSystem):
                    os.utime(f"{folder}/{name}")
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            put.done.set_exception(error)
        else:
            put.at = time.monotonic()
            put.done.set_result(name)

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
                raise AdalogError(Code.BACKEND_UNAVAILABLE, "Spark was shut down")
            stream.write(piece)


def _tidy(folder: Path) -> None:
    """Removes from a folder what nobody wanted for long."""
    before = time.time() - _KEPT_SECONDS
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if path.suffix in (".seg", ".tmp") and path.stat().st_mtime < before:
                path.unlink()


@dataclass(slots=True)
class _Put:
    """A segment on its way, or there. done: its name there. at: when it was last seen there."""

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
    """A segment that was put at an address, as a file of this machine.

    Raises BACKEND_UNAVAILABLE where it cannot be read, DamagedSegment where it is not what was put there.
    """
    name = Path(segment.path).name
    folder = _folder()
    path = folder / name
    if not path.exists():
        system, place = file_system_at(address)
        temporary = folder / f".{name}.{uuid4().hex}"
        try:
            with reporting_errors(address), system.open_input_stream(f"{place}/{name}") as stream:
                found = system.get_file_info(f"{place}/{name}")
                _make_room(folder, found.size or 0)
                with open(temporary, "wb", opener=opener) as file:
                    # From who makes room meanwhile.
                    hold(file.fileno())
                    shutil.copyfileobj(stream, file, _AT_ONCE)
            if _name_of(temporary) != name:
                raise DamagedSegment(f"{shown(address)}/{name}", "it is not what was put there")
            temporary.rename(path)
        finally:
            temporary.unlink(missing_ok=True)
    return Segment(str(path), segment.checksum)


def discard(segment: Segment) -> None:
    """Has it taken anew: the file here is gone, or damaged."""
    (_folder() / Path(segment.path).name).unlink(missing_ok=True)


def _name_of(path: Path) -> str:
    digest = hashlib.blake2b(digest_size=_DIGEST)
    with path.open("rb") as file:
        while content := file.read(_AT_ONCE):
            digest.update(content)
    return f"{digest.hexdigest()}.seg"


def _folder() -> Path:
    """This user's alone, for all workers of this machine."""
    path = Path(tempfile.gettempdir()) / f"adalog-segments-{os.getuid()}"
    path.mkdir(FOLDER_MODE, exist_ok=True)
    found = path.lstat()
    if path.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise AdalogError(
            Code.BACKEND_UNAVAILABLE,
            f"{path} is not this user's alone, and segments are kept there; remove it, or set TMPDIR",
            retryable=False,
        )
    return path


def _make_room(folder: Path, size: int) -> None:
    """Removes what nobody has open, where the disk would be full otherwise."""
    disk = shutil.disk_usage(folder)
    if disk.free < size + _FREE * disk.total:
        remove_unheld(folder, ())
