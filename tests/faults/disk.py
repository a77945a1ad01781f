"""A disk that fails when it is told to, and what it has after the power was cut."""

from __future__ import annotations

import mmap
import os
import random
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from enum import IntFlag
from pathlib import Path

import pytest

from tests.property.model import examples

# `ADALOG_FAULTS=300` makes so many runs of each kind, `ADALOG_FAULTS=300-400` those from 300 on.
_ASKED = [int(each) for each in os.environ.get("ADALOG_FAULTS", "0").split("-")]
RUNS = range(*_ASKED) if len(_ASKED) == 2 else range(_ASKED[0] or examples(80))
_PAGE = 4096
_HEAD = struct.Struct("<cHQI")


class Kind(IntFlag):
    """Which calls fail; as in shim.c."""

    WRITE_EIO = 1
    WRITE_ENOSPC = 2
    WRITE_SHORT = 4
    SYNC_EIO = 8
    TRUNCATE = 16
    RENAME = 32
    OPEN = 64
    MAP = 128


ALL = Kind(255)


def built(folder: Path) -> Path:
    """The shim; skips where it cannot be built."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler, and Linux")
    library = folder / "shim.so"
    source = Path(__file__).with_name("shim.c")
    made = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl", "-lpthread"], check=False
    )
    if made.returncode:
        pytest.skip("the C compiler does not work")
    return library


class Control:
    """Says when a process's disk fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(bytes(_PAGE))
        with path.open("r+b") as file:
            self._shared = mmap.mmap(file.fileno(), _PAGE)

    def _put(self, place: int, number: int) -> None:
        self._shared[4 * place : 4 * place + 4] = struct.pack("<I", number)

    def fails(self, share: float, kinds: Kind = ALL) -> None:
        """From now on so many of the calls fail."""
        self._put(1, kinds)
        self._put(0, round(share * 1_000_000))

    def always(self, kinds: Kind) -> None:
        """From now on all calls of these kinds fail."""
        self._put(3, kinds)

    def writes_only(self) -> None:
        """Files can be opened to read, whatever else fails."""
        self._put(5, 1)

    def held(self) -> None:
        """From now on an fsync takes until the disk is well."""
        self._put(2, 1)

    def well(self) -> None:
        for place in (0, 2, 3, 5):
            self._put(place, 0)

    @property
    def faults(self) -> int:
        """Calls that failed by chance."""
        return int(struct.unpack("<I", self._shared[16:20])[0])


class _File:
    """What programs see of a file, what the disk has of it, and which pages the disk may have newer."""

    def __init__(self, content: bytes) -> None:
        self.seen, self.durable = bytearray(content), bytearray(content)
        self.dirty: set[int] = set()
        # Written, and forgotten by an fsync that failed: the next one does not bring them to the disk.
        self.lost: set[int] = set()

    def write(self, at: int, data: bytes) -> None:
        end = at + len(data)
        if len(self.seen) < end:
            self.seen.extend(bytes(end - len(self.seen)))
        self.seen[at:end] = data
        pages = range(at // _PAGE, (end - 1) // _PAGE + 1)
        self.dirty.update(pages)
        self.lost.difference_update(pages)

    def truncate(self, length: int) -> None:
        """Sizes are the file system's own, whose journal is not what is looked at here."""
        for content in (self.seen, self.durable):
            if len(content) > length:
                del content[length:]
            else:
                content.extend(bytes(length - len(content)))

    def sync(self) -> None:
        self._keep(self.dirty)
        self.dirty = set()

    def fail(self) -> None:
        self.lost |= self.dirty
        self.dirty = set()

    def _keep(self, pages: set[int]) -> None:
        if len(self.durable) < len(self.seen):
            self.durable.extend(bytes(len(self.seen) - len(self.durable)))
        for page in pages:
            self.durable[page * _PAGE : (page + 1) * _PAGE] = self.seen[page * _PAGE : (page + 1) * _PAGE]

    def cut(self, dice: random.Random) -> bytes:
        """What is left: what was synced, and by chance of the rest."""
        self._keep({page for page in sorted(self.dirty | self.lost) if dice.random() < 0.5})
        return bytes(self.durable)


def cut_power(before: dict[str, bytes], journal: Path, dice: random.Random) -> None:
    """Leaves of the files what a disk has of them when the power is cut. before: what was on it at the begin."""
    files = {path: _File(content) for path, content in before.items()}
    for kind, path, at, data in _records(journal.read_bytes()):
        file = files.setdefault(path, _File(b""))
        if kind == b"w":
            file.write(at, data)
        elif kind == b"t":
            file.truncate(at)
        elif kind == b"s":
            file.sync()
        elif kind == b"f":
            file.fail()
        elif kind == b"l":
            files[data.decode()] = file
        elif kind == b"r":
            files[data.decode()] = files.pop(path)
    for path, file in files.items():
        here = Path(path)
        if here.name.endswith("-shm"):
            here.unlink(missing_ok=True)
        elif here.is_file():
            here.write_bytes(file.cut(dice))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _records(journal: bytes) -> Iterator[tuple[bytes, str, int, bytes]]:
    at = 0
    while at + _HEAD.size <= len(journal):
        kind, path_length, number, length = _HEAD.unpack_from(journal, at)
        at += _HEAD.size
        path = journal[at : at + path_length].decode()
        at += path_length
        data = b""
        if kind in b"wlr":
            data = journal[at : at + length]
            at += length
            if len(data) < length:
                return
        yield kind, path, number, data
