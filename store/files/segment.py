"""Segment files: named arrays, written once, checksummed, then mapped by every process that reads them.

    magic · length of the header · header (MessagePack: name -> type, length, offset) · arrays · CRC-32 of it all

A file appears under its name only when it is whole and on disk. Opening it reads all of it, to compare the
checksum, unless the caller knows it to be right (`store.files.verified`); what is damaged raises and is never read
as data.
"""

from __future__ import annotations

import errno
import io
import mmap
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgpack  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

from adalog.datalog.errors import OUT_OF_FILES, AdalogError, Code, unavailable
from adalog.store.files import leases
from adalog.store.files.formats import SEGMENT, check_format
from adalog.store.files.permissions import opener

Arrays = Mapping[str, NDArray[Any]]
_INT64: Final = np.dtype(np.int64)


@dataclass(frozen=True, eq=False)
class JoinedArray:
    """An array of integers in parts, which are made one after the other when they are written."""

    length: int
    parts: Callable[[], Iterator[NDArray[Any]]]
    dtype: np.dtype[Any] = _INT64

    def __len__(self) -> int:
        return self.length

    @property
    def nbytes(self) -> int:
        return self.length * self.dtype.itemsize


# The format, one byte, follows.
_MAGIC: Final = b"ADALOG\x00"
MAGIC_BYTES: Final = len(_MAGIC) + 1
PLAIN: Final = 1
NARROW: Final = 2
SPARSE: Final = 3
"""The formats of files without and with columns that have fewer bytes than eight for each number, and of those with
a block that lacks some keys."""
_PREFIX: Final = struct.Struct("<8sI")
_CHECKSUM: Final = struct.Struct("<I")
CHECKSUM_BYTES: Final = _CHECKSUM.size
_ALIGNMENT: Final = 64
READ_BYTES: Final = 1 << 20
"""How much of a file is read at a time."""


class Segment(NamedTuple):
    """Where a file is, and the checksum that its content must have."""

    path: str
    checksum: int

    @property
    def file(self) -> str:
        return Path(self.path).name


@contextmanager
def removed_on_failure(temporary: Path) -> Iterator[None]:
    """A file that is being written, and of which nothing stays if that fails."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def write_segment(
    folder: Path, stem: str, arrays: Mapping[str, NDArray[Any] | JoinedArray], form: int = PLAIN
) -> Segment:
    """A new segment of the arrays. form: PLAIN, NARROW or SPARSE. Raises OSError where the disk refuses; nothing is
    left behind then."""
    header, places = header_of(arrays, form)
    temporary = folder / f".{stem}.tmp"
    with removed_on_failure(temporary):
        with open(temporary, "wb", opener=opener) as file:
            file.write(header)
            checksum, at = zlib.crc32(header), len(header)
            for name, place in places.items():
                for part in chain((bytes(place - at),), _contents(arrays[name])):
                    file.write(part)
                    checksum = zlib.crc32(part, checksum)
                at = place + arrays[name].nbytes
                assert file.tell() == at, "parts are as long as was said"
            file.write(_CHECKSUM.pack(checksum))
            file.flush()
            os.fsync(file.fileno())
        path = folder / f"{stem}-{checksum:08x}.seg"
        temporary.rename(path)
        synced(folder)
        return Segment(str(path), checksum)


def _contents(array: NDArray[Any] | JoinedArray) -> Iterator[bytes | memoryview[Any]]:
    for part in array.parts() if isinstance(array, JoinedArray) else (array,):
        yield np.ascontiguousarray(part).view(np.uint8).data


def _magic(form: int) -> bytes:
    return _MAGIC + bytes((form,))


def header_of(arrays: Mapping[str, NDArray[Any] | JoinedArray], form: int = PLAIN) -> tuple[bytes, dict[str, int]]:
    """The file's beginning, and where each array goes; places do not depend on the header's own length."""
    relative, at = {}, 0
    for name, array in arrays.items():
        relative[name] = at
        at += -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
    described = {name: (array.dtype.str, len(array), relative[name]) for name, array in arrays.items()}
    packed = msgpack.packb(described)
    start = _data_start(len(packed))
    return _PREFIX.pack(_magic(form), len(packed)) + packed, {
        name: start + place for name, place in relative.items()
    }


def _data_start(header_length: int) -> int:
    return -(-(_PREFIX.size + header_length) // _ALIGNMENT) * _ALIGNMENT


def open_segment(segment: Segment, *, trusted: bool = False) -> dict[str, NDArray[Any]]:
    """The arrays of a segment, mapped; its file is held for as long as one of them is there.

    trusted: what this process has just written, or what is as it was when it was last read, is not read again.
    Raises DamagedSegment for a file that is missing or not what was written, NewerFormat for one of a later
    version.
    """
    try:
        with io.FileIO(segment.path) as file:
            # The mapping has a copy of the descriptor, and with it the lease.
            leases.hold(file.fileno())
            # By reading: what is mapped and looked at counts as memory of the process.
            found = segment.checksum if trusted else _checksum_of(file)
            # Private and writable, though never written: kernels compiled for ordinary arrays take them.
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.ENOMEM:
            # Of addresses, or of mappings: the file is as good as it was.
            raise unavailable(
                "the process has as many memory mappings as it may; on Linux vm.max_map_count says how many"
            ) from None
        if isinstance(error, OSError) and error.errno in OUT_OF_FILES:
            raise unavailable("the process has as many files open as it may") from None
        raise DamagedSegment(segment.file, f"it cannot be read ({error})") from None
    view = memoryview(mapped)
    if len(view) - _CHECKSUM.size < _PREFIX.size or found != segment.checksum:
        raise DamagedSegment(segment.file, "its checksum is wrong")
    check_magic(segment.file, bytes(view[:MAGIC_BYTES]))
    return arrays_of(view)


def _checksum_of(file: io.FileIO, pause: Callable[[], None] = lambda: None) -> int:
    """The checksum of an open file's content, without the checksum at its end."""
    left, checksum = os.fstat(file.fileno()).st_size - CHECKSUM_BYTES, 0
    buffer = memoryview(bytearray(max(min(left, READ_BYTES), 0)))
    while left > 0 and (count := file.readinto(buffer[: min(left, READ_BYTES)])):
        checksum = zlib.crc32(buffer[:count], checksum)
        left -= count
        pause()
    return checksum


def check_content(segment: Segment, pause: Callable[[], None]) -> None:
    """Reads a file and compares its checksum; `pause` is called after each piece. Raises DamagedSegment,
    FileNotFoundError."""
    try:
        with io.FileIO(segment.path) as file:
            found = _checksum_of(file, pause)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DamagedSegment(segment.file, f"it cannot be read ({error})") from None
    if found != segment.checksum:
        raise DamagedSegment(segment.file, "its checksum is wrong")


def check_magic(file: str, head: bytes) -> None:
    """Raises NewerFormat, or DamagedSegment, for a file whose beginning is not that of a segment that is known. Its
    checksum is right, so that it is what was written."""
    if head[:-1] != _MAGIC or head[-1] < SEGMENT.oldest:
        raise DamagedSegment(file, "it is no segment")
    check_format(SEGMENT, head[-1], file)


def check_known(path: Path) -> None:
    """Raises NewerFormat for a file of a later version. Reads its beginning alone if it is none; what is damaged is
    found when it is opened."""
    try:
        with path.open("rb") as file:
            head = file.read(MAGIC_BYTES)
            if len(head) < MAGIC_BYTES or head[:-1] != _MAGIC or head[-1] <= SEGMENT.newest:
                return
            content = head + file.read()
    except OSError:
        return
    if content[-CHECKSUM_BYTES:] == _CHECKSUM.pack(zlib.crc32(memoryview(content)[:-CHECKSUM_BYTES])):
        check_magic(path.name, head)


def arrays_of(view: memoryview[Any]) -> dict[str, NDArray[Any]]:
    _, header_length = _PREFIX.unpack_from(view)
    described = msgpack.unpackb(view[_PREFIX.size : _PREFIX.size + header_length])
    start = _data_start(header_length)
    return {
        key: np.frombuffer(view, kind, length, start + place) for key, (kind, length, place) in described.items()
    }


def reseal(mapped: mmap.mmap) -> int:
    """Makes the checksum that of a file's content, which was changed, and has both on disk; the checksum."""
    end = len(mapped) - _CHECKSUM.size
    with memoryview(mapped) as view:
        checksum = zlib.crc32(view[:end])
    mapped[end:] = _CHECKSUM.pack(checksum)
    mapped.flush()
    return checksum


class DamagedSegment(AdalogError):
    """A file that is missing or not what was written."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(
            Code.INTERNAL, f"{file} is damaged: {why}; restore it, or delete it to have it rebuilt from the log"
        )


def write_text(path: Path, text: str) -> None:
    """Replace a small file as a whole, durably."""
    temporary = path.with_name(f".{path.name}.tmp")
    with removed_on_failure(temporary):
        with open(temporary, "w", encoding="utf-8", opener=opener) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    synced(path.parent)


def synced(path: Path) -> None:
    """Makes what was written to a file durable, or the renames in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
