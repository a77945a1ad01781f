"""Notices of other processes' appends to the log: quick, and not to be relied on. The log is the truth, which is
looked at now and then whatever the hints say."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol
from uuid import uuid4

from adalog.store.files.permissions import FOLDER_MODE

_ENDING: Final = ".socket"
_TOLD: Final = b"\n"
# A socket's path is shorter than a folder's may be: it is named by way of an open file.
_DESCRIPTORS: Final = Path("/proc/self/fd")


class AppendNotices(Protocol):
    """For one thread."""

    def fileno(self) -> int:
        """What becomes readable when there is something to hear."""

    def heard(self) -> bool:
        """Takes what came without waiting for more: whether others appended. Raises OSError or AdalogError where no
        more will come."""

    def close(self) -> None:
        """Ends it."""


class SocketNotices:
    """For processes of one machine: a datagram socket of each in a folder, to which the others write. `tell` may be
    called on another thread, which may also wait for `came`: set when something is heard."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError."""
        folder.mkdir(FOLDER_MODE, exist_ok=True)
        self.came = threading.Event()
        self._folder = folder
        self._name = f"{uuid4().hex}{_ENDING}"
        self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._short = f"{_DESCRIPTORS}/{self._descriptor}" if _DESCRIPTORS.is_dir() else str(folder)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self._socket.setblocking(False)
            self._socket.bind(self._path(self._name))
        except OSError:
            self.close()
            raise

    def fileno(self) -> int:
        return self._socket.fileno()

    def heard(self) -> bool:
        found = False
        # One look at the log answers for all that came.
        with suppress(BlockingIOError):
            while self._socket.recv(16):
                found = True
        if found:
            self.came.set()
        return found

    def tell(self) -> None:
        """Has the others hear that something was appended."""
        with suppress(OSError):
            for name in os.listdir(self._folder):
                if name.endswith(_ENDING) and name != self._name:
                    self._tell(name)

    def _tell(self, name: str) -> None:
        try:
            self._socket.sendto(_TOLD, self._path(name))
        except ConnectionRefusedError:
            # The process that made it has ended.
            (self._folder / name).unlink(missing_ok=True)
        except OSError:
            # One whose socket is full will look anyway.
            pass

    def close(self) -> None:
        with suppress(OSError):
            (self._folder / self._name).unlink(missing_ok=True)
        self._socket.close()
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _path(self, name: str) -> str:
        return f"{self._short}/{name}"
