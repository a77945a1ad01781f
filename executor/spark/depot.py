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
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import uuid4

from pyarrow import fs

from datalog.errors import AdalogError, Code
from executor.spark.addresses import opened, reached, shown
from store.leases import hold, remove_unheld
from store.private import FOLDER_MODE, opener
from store.segment import DamagedSegment, Segment

_AT_ONCE: Final = 1 << 23
_DIGEST: Final = 20
# For how long a file that was there is taken to be there.
_KNOWN_SECONDS: Final = 60.0
# For how long a folder keeps what no driver wants; each says so as often as it looks whether a file is there.
_KEPT_SECONDS: Final = 7 * 86_400.0
# What is left of a worker's disk.
_FREE: Final = 0.05


class Depot:
    """The driver's side: puts segments to an address. Thread-safe."""

    def __init__(self, address: str) -> None:
        """Raises ARG_INVALID for what is no address."""
        self.address = address
        self._system, self._path = opened(address)
        self._names: dict[Segment, str] = {}
        self._seen: dict[str, float] = {}
        self._lock = threading.Lock()

    def put(self, segment: Segment) -> Segment:
        """The segment under its name there. Raises BACKEND_UNAVAILABLE where that cannot be written."""
        with self._lock, reached(self.address):
            name = self._names.get(segment)
            if name is None:
                name = self._names[segment] = _name_of(Path(segment.path))
            if time.monotonic() - self._seen.get(name, -_KNOWN_SECONDS) >= _KNOWN_SECONDS:
                size = os.stat(segment.path).st_size
                found = self._system.get_file_info(f"{self._path}/{name}")
                if found.type != fs.FileType.File or found.size != size:
                    self._written(Path(segment.path), name)
                elif self._is_folder:
                    os.utime(f"{self._path}/{name}")
                self._seen[name] = time.monotonic()
        return Segment(name, segment.checksum)

    @property
    def _is_folder(self) -> bool:
        return isinstance(self._system, fs.LocalFileSystem)

    def _written(self, path: Path, name: str) -> None:
        to = written = f"{self._path}/{name}"
        if self._is_folder:
            self._system.create_dir(self._path)
            self._tidy()
            # A store's objects appear as a whole by themselves.
            written = f"{to}.{uuid4().hex}.tmp"
        with path.open("rb") as file, self._system.open_output_stream(written) as stream:
            shutil.copyfileobj(file, stream, _AT_ONCE)
        if written != to:
            self._system.move(written, to)

    def _tidy(self) -> None:
        """Removes from the folder what nobody wanted for long."""
        before = time.time() - _KEPT_SECONDS
        for path in Path(self._path).iterdir():
            with suppress(FileNotFoundError):
                if path.suffix in (".seg", ".tmp") and path.stat().st_mtime < before:
                    path.unlink()


def taken(address: str, segment: Segment) -> Segment:
    """A segment that was put at an address, as a file of this machine.

    Raises BACKEND_UNAVAILABLE where it cannot be read, DamagedSegment where it is not what was put there.
    """
    name = Path(segment.path).name
    folder = _folder()
    path = folder / name
    if not path.exists():
        system, place = opened(address)
        temporary = folder / f".{name}.{uuid4().hex}"
        try:
            with reached(address), system.open_input_stream(f"{place}/{name}") as stream:
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


def dropped(segment: Segment) -> None:
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
