"""A data folder and the one process that may use it."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.store.files.permissions import FOLDER_MODE, close_to_others, opener

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/")


_MOST_ANNOUNCED: Final = 300
_ANNOUNCED: Final = re.compile(rb"([0-9]{1,9}) (https?://[!-~]+)\n")
_SERVER: Final = re.compile(r"postgres(?:ql)?(?:\+psycopg)?://")


def is_address(location: str) -> bool:
    """Whether a location is on a PostgreSQL server."""
    return _SERVER.match(location) is not None


def as_libpq(location: str) -> str:
    """The address of a location on a server, as PostgreSQL's own library reads it."""
    return _SERVER.sub("postgresql://", location, count=1)


def check_is_folder(location: str) -> None:
    """Raises BACKEND_UNAVAILABLE for the address of a database server, of which a folder would be made."""
    found = _SCHEME.match(location)
    if found is not None:
        # The rest of it stays unsaid: there may be a password in it.
        raise unavailable(
            f"the data is at an address that begins with {found[1]}://, where adalog keeps none; name a folder, "
            ":memory:, or for several gateways postgresql://USER:PASSWORD@HOST/DATABASE",
            retryable=False,
        )


class FolderLayout:
    """The paths of a data folder, without a lock on it."""

    LOG = "log.sqlite"
    LAST_BACKUP = "last-backup"
    # All that a data folder holds.
    OWN = frozenset(
        [
            *("lock", "segments", LOG, f"{LOG}-wal", f"{LOG}-wal.kept", f"{LOG}-shm", f"{LOG}-journal"),
            *("checkpoint.json", ".checkpoint.json.tmp", "cursor.key", ".cursor.key.tmp"),
            *("imported", "importing", "peers", "folding", "copy-of", ".copy-of.tmp"),
            *("restoring", LAST_BACKUP, "verified.json", ".verified.json.tmp"),
        ]
    )

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path / self.LOG
        self.segments = path / "segments"
        # The files that the log names.
        self.imported = path / "imported"
        # What an import writes, which may never be seen.
        self.importing = path / "importing"
        # Sockets of the processes that share the folder.
        self.peers = path / "peers"
        # A backup under restoration, which is moved to its places when it is whole.
        self.restoring = path / "restoring"
        # Names the segments in use.
        self.checkpoint = path / "checkpoint.json"
        # Says of which segments the content was found right.
        self.verified = path / "verified.json"


class FolderInUseError(AdalogError):
    """BACKEND_UNAVAILABLE: another process has the lock of a folder. advice: what to do then."""

    def __init__(self, path: Path, advice: str) -> None:
        message = f"the data folder {path} is in use by another adalog process{advice}"
        super().__init__(Code.BACKEND_UNAVAILABLE, message, retryable=False)
        self.path = path


class Folder(FolderLayout):
    """The same, held by a lock that ends with the process, however it ends, or with the last of several. is_shared:
    whether other processes have it, too."""

    def __init__(self, path: Path, *, shared: bool = False, lock: int | None = None) -> None:
        """shared: with other processes that say so, too. lock: the descriptor of the lock that one process holds
        for all of them. Raises BACKEND_UNAVAILABLE where another process has it or it cannot be made."""
        super().__init__(path)
        self.is_shared = shared or lock is not None
        self._folding = -1
        if lock is not None:
            self._lock = lock
            return
        try:
            path.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
            self.segments.mkdir(FOLDER_MODE, exist_ok=True)
            self._lock = opener(str(path / "lock"), os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise unavailable(
                f"the data folder {path} cannot be used: {_reason(path, error)}", retryable=False
            ) from None
        try:
            fcntl.flock(self._lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            address = _announced(self._lock)
            os.close(self._lock)
            hint = "--url and the address that it printed" if address is None else f"--url {address}"
            raise FolderInUseError(path, f"; ask that one with {hint}") from None
        close_to_others(path, self.OWN)

    def announce(self, address: str) -> None:
        """Tells processes that find the folder in use where its server listens. The lock's file has that until the
        process ends; what a process that was killed left there is told by its number."""
        with suppress(OSError):
            os.ftruncate(self._lock, 0)
            os.pwrite(self._lock, f"{os.getpid()} {address}\n".encode(), 0)

    @property
    def descriptor(self) -> int:
        """That of the lock, which processes that inherit it share."""
        return self._lock

    @property
    def folds(self) -> bool:
        """Whether `may_fold` was true."""
        return not self.is_shared or self._folding >= 0

    def may_fold(self) -> bool:
        """Whether this process writes the folder's segments and checkpoints, and removes garbage. Of
        the processes that share it one does, until it ends. Raises OSError."""
        if not self.is_shared or self._folding >= 0:
            return True
        descriptor = opener(str(self.path / "folding"), os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._folding = descriptor
        return True

    def check_log(self) -> None:
        """Raises INTERNAL for a folder that has lost its log: its segments are of a database, but not all of it."""
        if self.log.exists():
            return
        if self.restoring.exists():
            raise AdalogError(
                Code.INTERNAL,
                f"a backup was being restored into {self.path}, which did not come to its end; restore it again, "
                "or name another folder to begin a new database",
            )
        # Whatever no log names would be removed from these.
        found = [each.name for each in (self.segments, self.imported, self.importing) if _holds_files(each)]
        if self.checkpoint.exists():
            found.append(self.checkpoint.name)
        if not found:
            return
        raise AdalogError(
            Code.INTERNAL,
            f"the data folder {self.path} has {' and '.join(found)}, but its log {self.LOG} is gone, or it never "
            f"was adalog's. Nothing was changed; restore {self.LOG} from a backup, or name another folder to begin "
            "a new database",
        )

    def remove_halves(self) -> None:
        """Removes files that were being written when an earlier process ended; needs the lock."""
        for name in self.OWN:
            if name.endswith(".tmp"):
                with suppress(OSError):
                    (self.path / name).unlink()
        # The log, which is there, comes last: nothing of it is needed any more.
        shutil.rmtree(self.restoring, ignore_errors=True)

    def close(self) -> None:
        """Let another process in. Once is enough; the number of a closed file may be another's."""
        locks, self._lock, self._folding = (self._folding, self._lock), -1, -1
        for lock in locks:
            if lock >= 0:
                os.close(lock)


def _announced(lock: int) -> str | None:
    """The address that a process which still runs wrote into the lock's file."""
    found = _ANNOUNCED.fullmatch(os.pread(lock, _MOST_ANNOUNCED, 0))
    if found is None:
        return None
    try:
        os.kill(int(found[1]), 0)
    except ProcessLookupError:
        return None
    except OSError:
        # It is another user's.
        pass
    return found[2].decode()


def _reason(path: Path, error: OSError) -> str | None:
    return "it is a file" if path.is_file() else error.strerror


def _holds_files(path: Path) -> bool:
    return path.is_dir() and any(path.iterdir())


def holds_database(path: Path) -> bool:
    """Whether a database was made in the folder, which is left as it is. Raises OSError if access is denied."""
    return (path / Folder.LOG).is_file()
