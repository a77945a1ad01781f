"""Where backups are kept: a folder, or an address that PyArrow's file systems read, such as s3://bucket/backups.

Files are named by folder and name, `files/…`; each appears as a whole, and is never changed. A folder is locked:
one backup at a time, and nothing is removed during a read. Object stores know no locks, so what nothing
names is removed there only when it is a day old.
"""

from __future__ import annotations

import fcntl
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from adalog.datalog.errors import AdalogError, Code, invalid_argument, unavailable
from adalog.store.files.addresses import check_name, local_path, shown, without_secrets
from adalog.store.files.permissions import FOLDER_MODE, opener
from adalog.store.files.segment import removed_on_failure, synced

PIECE: Final = 1 << 20
FOLDERS: Final = ("files", "log", "backups")
_LOCK: Final = "lock"
_ENDING: Final = ".tmp"
_DAY_SECONDS: Final = 86_400.0
# Bytes after which what was written goes to the disk: a log beside it waits for no more than these.
_TO_DISK: Final = 4 << 20


class Place(ABC):
    """`shown`: its address, without what may be secret in it."""

    shown: str

    @abstractmethod
    def top(self) -> list[str]:
        """The names of what lies in it directly; none where it is not there."""

    @abstractmethod
    def sizes(self, folder: str) -> dict[str, int]:
        """The bytes of the files of one of its folders, by name."""

    @abstractmethod
    def pieces(self, name: str) -> Iterator[bytes]:
        """A file, piece by piece. Raises BACKEND_UNAVAILABLE where it cannot be read."""

    @abstractmethod
    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        """A new file. Raises BACKEND_UNAVAILABLE where it cannot be written; it is not there then, or too short."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""

    @abstractmethod
    def settle(self) -> None:
        """Returns once what was written is there for good."""

    @abstractmethod
    def unnamed(self, folder: str, named: set[str]) -> list[str]:
        """The files of a folder that are not named and that no other backup may be about to name."""

    @abstractmethod
    def older(self, folder: str, before: float) -> list[str]:
        """The files of a folder that were written before a moment, in seconds since 1970."""

    @abstractmethod
    def alone(self) -> AbstractContextManager[None]:
        """The sole writer until the end; makes the place if need be. RATE_LIMITED if another one writes."""

    @abstractmethod
    def shared(self) -> AbstractContextManager[None]:
        """Nothing is removed until the end, where the place has locks."""

    def read(self, name: str) -> bytes:
        return b"".join(self.pieces(name))

    def local(self, name: str) -> Path | None:
        """Where a file lies on this machine, if it does."""
        return None


def place_of(address: str, under: str = "") -> Place:
    """The place of a path or address, or the folder `under` it. Raises ARG_INVALID for an address that cannot be
    used."""
    check_name(address)
    if "://" not in address and not address.startswith("file:"):
        return LocalPlace(Path(address) / under)
    path = local_path(address) if address.startswith("file:") else None
    if path is not None:
        return LocalPlace(Path(path) / under)
    said = shown(address)
    import pyarrow as pa
    from pyarrow.fs import FileSystem

    try:
        system, path = FileSystem.from_uri(address)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = without_secrets(str(error).replace(address, said))
        raise invalid_argument(f"{said} is no place for backups: {reason}") from None
    return ObjectStore(system, f"{path}/{under}", said)


class LocalPlace(Place):
    """A folder of this machine; its owner's alone."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.shown = str(path)

    def top(self) -> list[str]:
        with self._telling("read"):
            try:
                return [name for name in os.listdir(self.path) if name != _LOCK]
            except FileNotFoundError:
                return []

    def sizes(self, folder: str) -> dict[str, int]:
        with self._telling("read"):
            try:
                with os.scandir(self.path / folder) as found:
                    return {each.name: each.stat().st_size for each in found if not each.name.endswith(_ENDING)}
            except FileNotFoundError:
                return {}

    def pieces(self, name: str) -> Iterator[bytes]:
        with self._telling("read"), (self.path / name).open("rb") as file:
            while piece := file.read(PIECE):
                yield piece

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        path = self.path / name
        temporary = path.with_name(f".{path.name}{_ENDING}")
        with removed_on_failure(temporary), self._telling("written"):
            path.parent.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
            with open(temporary, "wb", opener=opener, buffering=0) as file:
                _write_through(file, pieces)
            temporary.rename(path)

    def remove(self, name: str) -> None:
        with self._telling("written"):
            (self.path / name).unlink(missing_ok=True)

    def settle(self) -> None:
        with self._telling("written"):
            for folder in (self.path, *self.path.iterdir()):
                if folder.is_dir():
                    synced(folder)

    def unnamed(self, folder: str, named: set[str]) -> list[str]:
        return [name for name in self.sizes(folder) if name not in named]

    def older(self, folder: str, before: float) -> list[str]:
        with self._telling("read"), suppress(FileNotFoundError), os.scandir(self.path / folder) as found:
            return [each.name for each in found if each.stat().st_mtime < before]
        return []

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._telling("written"):
            self.path.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
            lock = opener(str(self.path / _LOCK), os.O_RDWR | os.O_CREAT)
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AdalogError(
                    Code.RATE_LIMITED,
                    f"another backup to {self.shown} is under way, or somebody restores or checks it; try again "
                    "when that has ended",
                    retry_after=5,
                ) from None
            except OSError as error:
                raise self._error("locked", error) from None
            self._remove_leftovers()
            yield
        finally:
            os.close(lock)

    def _remove_leftovers(self) -> None:
        with self._telling("written"):
            for folder in FOLDERS:
                for path in (self.path / folder).glob(f".*{_ENDING}"):
                    path.unlink(missing_ok=True)

    @contextmanager
    def shared(self) -> Iterator[None]:
        try:
            lock = os.open(self.path / _LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            # A copy without its lock, where nothing is removed.
            yield
            return
        try:
            with suppress(OSError):
                fcntl.flock(lock, fcntl.LOCK_SH)
            yield
        finally:
            os.close(lock)

    def local(self, name: str) -> Path | None:
        return self.path / name

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._error(what, error) from None

    def _error(self, what: str, error: OSError) -> AdalogError:
        where = error.filename if isinstance(error.filename, str) else self.shown
        return unavailable(f"{where} cannot be {what}: {error.strerror or error}", retryable=False)


def _write_through(file: BinaryIO, pieces: Iterable[bytes]) -> None:
    waiting = 0
    for piece in pieces:
        left = memoryview(piece)
        while left:
            left = left[file.write(left) :]
        waiting += len(piece)
        if waiting >= _TO_DISK:
            os.fdatasync(file.fileno())
            waiting = 0
    os.fsync(file.fileno())


class ObjectStore(Place):
    """A folder of any file system of PyArrow's; a file appears when it was written to its end."""

    def __init__(self, system: Any, path: str, shown: str) -> None:
        self._system = system
        self._path = path.rstrip("/")
        self.shown = shown

    def _listed(self, folder: str) -> list[Any]:
        from pyarrow.fs import FileSelector

        with self._telling("read"):
            path = f"{self._path}/{folder}".rstrip("/")
            return list(self._system.get_file_info(FileSelector(path, allow_not_found=True)))

    def _files(self, folder: str) -> list[Any]:
        from pyarrow.fs import FileType

        return [each for each in self._listed(folder) if each.type == FileType.File]

    def top(self) -> list[str]:
        return [each.base_name for each in self._listed("") if each.base_name]

    def sizes(self, folder: str) -> dict[str, int]:
        return {each.base_name: each.size for each in self._files(folder)}

    def pieces(self, name: str) -> Iterator[bytes]:
        with self._telling("read"), self._system.open_input_stream(f"{self._path}/{name}") as stream:
            while piece := stream.read(PIECE):
                yield piece

    def write(self, name: str, pieces: Iterable[bytes]) -> None:
        with self._telling("written"):
            self._system.create_dir(f"{self._path}/{name}".rpartition("/")[0], recursive=True)
            with self._system.open_output_stream(f"{self._path}/{name}") as stream:
                for piece in pieces:
                    stream.write(piece)

    def remove(self, name: str) -> None:
        from pyarrow.fs import FileType

        # Another process may remove it, too.
        with self._telling("written"), suppress(FileNotFoundError):
            if self._system.get_file_info(f"{self._path}/{name}").type == FileType.File:
                self._system.delete_file(f"{self._path}/{name}")

    def settle(self) -> None:
        """A file is there for good when it was written to its end."""

    def unnamed(self, folder: str, named: set[str]) -> list[str]:
        return [name for name in self.older(folder, time.time() - _DAY_SECONDS) if name not in named]

    def older(self, folder: str, before: float) -> list[str]:
        return [
            each.base_name
            for each in self._files(folder)
            if each.mtime is not None and each.mtime.timestamp() < before
        ]

    def alone(self) -> AbstractContextManager[None]:
        return nullcontext()

    def shared(self) -> AbstractContextManager[None]:
        return nullcontext()

    @contextmanager
    def _telling(self, what: str) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise unavailable(
                f"{self.shown} cannot be {what}: {without_secrets(str(error))}", retryable=False
            ) from None
