"""Compiled kernels on disk, by the content of what they were compiled from. Processes share them without locks.

A file holds one kernel for one signature and processor, a hash of which is in its name. It is written under another
name first, so processes that compile the same kernel at once write the same file. A damaged file is compiled again.
Kernels are read beside the sources, where `make` and the image put them, and from a folder of the user, to which
they are written. NUMBA_CACHE_DIR names another folder for these.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

VARIABLE: Final = "NUMBA_CACHE_DIR"
IMPORTING: Final = threading.RLock()
"""Held while Numba is imported: its modules import each other, so a second thread may find parts of them."""
_SOURCES: Final = Path(__file__).parent
# Beside the sources: made by an installation, never by a process that runs queries.
INSTALLED: Final = _SOURCES / "compiled"
_PREFIX: Final = "adalog-"
_SUFFIX: Final = ".nbc"
_DIGEST_BYTES: Final = 32
_READABLE: Final = 0o644
# Kernels of other versions that no process has read for this long are deleted, in seconds.
_FORGOTTEN: Final = 30 * 86_400


@cache
def edition() -> str:
    """A name for what all kernels are compiled from: sources, compiler and Python. The code of a kernel has that of
    others in it, so a change of one is a change of all."""
    with IMPORTING:
        import llvmlite
        import numba
    import numpy as np

    digest = hashlib.blake2b(digest_size=10)
    for path in sorted(_SOURCES.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    versions = (numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag)
    digest.update(repr(versions).encode())
    return _PREFIX + digest.hexdigest()


def file_name(kernel: str, signature: str, processor: str) -> str:
    """The name of a kernel's file."""
    digest = hashlib.blake2b(f"{signature}\0{processor}".encode(), digest_size=10)
    return f"{kernel}-{digest.hexdigest()}{_SUFFIX}"


def read(name: str) -> bytes | None:
    """The content that was kept under a name; None if there is none, or it is damaged."""
    for folder in _folders():
        try:
            content = (folder / name).read_bytes()
        except OSError:
            continue
        kept = content[_DIGEST_BYTES:]
        if content[:_DIGEST_BYTES] == _digest(kept):
            return kept
    return None


def keep(name: str, content: bytes) -> None:
    """Keeps the content under a name. Where nothing can be written it does nothing."""
    folder = writable()
    if folder is None:
        return
    unfinished = None
    with suppress(OSError):
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
            unfinished = file.name
            file.write(_digest(content) + content)
            # Those of an image are compiled by another user than the one that runs it.
            os.fchmod(file.fileno(), _READABLE)
        os.replace(unfinished, folder / name)
        return
    if unfinished is not None:
        with suppress(OSError):
            os.unlink(unfinished)


def files() -> list[Path]:
    """The files of all kernels of this edition, one of each name."""
    found = {path.name: path for folder in _folders() if folder.is_dir() for path in folder.glob(f"*{_SUFFIX}")}
    return sorted(found.values())


@cache
def writable() -> Path | None:
    """The folder to which kernels of this edition are written, made if need be; None if there is none."""
    for base in _bases():
        with suppress(OSError):
            folder = base / edition()
            folder.mkdir(parents=True, exist_ok=True)
            # Only a folder that is used is of this time.
            os.utime(folder)
            tempfile.TemporaryFile(dir=folder).close()
            return folder
    return None


def forget_other_editions() -> None:
    """Deletes kernels of other versions that were not used for a month."""
    own = writable()
    if own is None:
        return
    for other in own.parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if other != own and other.is_dir() and other.stat().st_mtime < time.time() - _FORGOTTEN:
                shutil.rmtree(other)


def _folders() -> Iterator[Path]:
    yield INSTALLED / edition()
    own = writable()
    if own is not None:
        yield own


def _bases() -> Iterator[Path]:
    named = os.environ.get(VARIABLE)
    if named:
        yield Path(named).absolute()
        return
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for base in (Path(home, "adalog", "kernels"), Path(tempfile.gettempdir(), f"adalog-kernels-{os.geteuid()}")):
        with suppress(OSError):
            # Without a home folder a path is relative.
            if not base.is_absolute():
                continue
            base.mkdir(mode=0o700, parents=True, exist_ok=True)
            if _is_own(base):
                yield base


def _is_own(folder: Path) -> bool:
    """Whether the folder is private: code that is read from it is run."""
    found = folder.lstat()
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.geteuid()
        and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()
