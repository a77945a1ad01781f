"""The folder in which a gateway keeps what it has of the files that gateways share."""

from __future__ import annotations

import os
import shutil
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adalog.datalog.errors import invalid_argument
from adalog.store.files.folder import Folder
from adalog.store.files.private_folder import PrivateFolder
from adalog.store.files.segment import write_text

_PREFIX = "adalog-copy-"
_IDENTITY = "copy-of"


@contextmanager
def copy_folder(path: str | None, identity: str) -> Iterator[Folder]:
    """A folder with the copies of one database's files, locked until the end. path: None for one that goes then.
    Raises BACKEND_UNAVAILABLE where another process has it, ARG_INVALID where it is another database's."""
    if path is None:
        with temporary_folder(_PREFIX) as folder:
            yield folder
        return
    with _locked(Path(path)) as folder:
        _check_same(folder, identity)
        yield folder


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Folder]:
    """A folder that goes at the end, and with the process. prefix: as of `PrivateFolder`."""
    private = PrivateFolder(prefix)
    # Also where a program ends without closing its database.
    gone = weakref.finalize(private, _remove_own, private.path, os.getpid())
    try:
        with _locked(private.path) as folder:
            yield folder
    finally:
        gone.detach()
        private.remove()


def _remove_own(path: Path, process: int) -> None:
    # A fork has the same finalizers, and the folder is its parent's.
    if os.getpid() == process:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[Folder]:
    folder = Folder(path)
    try:
        yield folder
    finally:
        folder.close()


def _check_same(folder: Folder, identity: str) -> None:
    if folder.log.exists():
        raise invalid_argument(
            f"{folder.path} is the folder of a database of its own; name another one for copies of shared files"
        )
    mark, known = folder.path / _IDENTITY, ""
    with suppress(FileNotFoundError):
        known = mark.read_text(encoding="utf-8").strip()
    if known not in ("", identity):
        raise invalid_argument(
            f"{folder.path} has copies of another database's files; name another folder, or empty it"
        )
    if not known:
        write_text(mark, identity)
