"""The content of a file as UTF-8, a few megabytes at a time, whatever its compression and encoding."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, NamedTuple

import pyarrow as pa

from adalog.datalog.errors import AdalogError, Code, invalid_argument

COMPRESSED: Final = (".gz", ".bz2", ".zst", ".lz4")
UTF8: Final = "utf-8"
PIECE: Final = 1 << 22
_BOM: Final = "\ufeff".encode()


class SourceFile(NamedTuple):
    """number: among all files of an import. name: as it is said. partitions: what the names of its folders say, as
    `region=001`."""

    number: int
    path: str
    name: str
    size: int
    partitions: tuple[tuple[str, str | None], ...] = ()


class FileSplit(NamedTuple):
    """A part of a file, with whole rows: a range of bytes, or of row groups. stop: None: to the end."""

    file: SourceFile
    start: int = 0
    stop: int | None = None


def is_divisible(file: SourceFile, encoding: str) -> bool:
    """Whether bytes of the middle can be read alone, and separators are bytes of their own."""
    return (encoding == UTF8 or _is_single_byte(encoding)) and not file.path.lower().endswith(COMPRESSED)


@lru_cache
def _is_single_byte(encoding: str) -> bool:
    """Whether each byte is a letter, and the first 128 are ASCII's."""
    # With an escape to another character set, which only single bytes do not have.
    ascii_bytes = b"\x1b$B" + bytes(range(128))
    try:
        if ascii_bytes.decode(encoding) != ascii_bytes.decode("ascii"):
            return False
    except UnicodeDecodeError:
        return False
    others = bytes(range(128, 256)).decode(encoding, "replace")
    return len(others) == 128 and not any(letter.isascii() for letter in others)


@contextmanager
def reading(file: SourceFile) -> Iterator[None]:
    """Raises ARG_INVALID where a file cannot be read. It can be retried: the file may be half written."""
    try:
        yield
    except (OSError, EOFError, UnicodeDecodeError, pa.ArrowException) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        if isinstance(error, UnicodeDecodeError) or "invalid utf" in why.lower():
            encoding, meant = getattr(error, "encoding", "UTF-8"), "windows-1252"
            with open(file.path, "rb") as content:
                meant = "utf-16" if content.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else meant
            raise invalid_argument(
                f"{file.name} is not {encoding}; say how it is encoded, as `options: {{encoding: {meant}}}`"
            ) from None
        raise AdalogError(Code.ARG_INVALID, f"{file.name} cannot be read: {why}", retryable=True) from None


def pieces(split: FileSplit, encoding: str) -> Iterator[bytes]:
    """The bytes of a split as UTF-8, without a byte order mark."""
    decoder = None if encoding == UTF8 else codecs.getincrementaldecoder(encoding)()
    is_first = split.start == 0
    try:
        for raw in _raw(split):
            piece = raw if decoder is None else decoder.decode(raw).encode()
            if is_first and piece:
                piece, is_first = piece.removeprefix(_BOM), False
            yield piece
        if decoder is not None and (piece := decoder.decode(b"", final=True).encode()):
            yield piece
    except UnicodeDecodeError as error:
        # Codecs of single bytes call themselves charmap.
        error.encoding = encoding
        raise


def _raw(split: FileSplit) -> Iterator[bytes]:
    path = split.file.path
    if split.start == 0 and split.stop is None:
        compression = "detect" if path.lower().endswith(COMPRESSED) else None
        with pa.input_stream(path, compression=compression) as stream:
            while piece := stream.read(PIECE):
                yield piece
        return
    with open(path, "rb") as file:
        file.seek(split.start)
        left = -1 if split.stop is None else split.stop - split.start
        while left and (piece := file.read(PIECE if left < 0 else min(PIECE, left))):
            left = left if left < 0 else left - len(piece)
            yield piece


def mark_length(file: SourceFile) -> int:
    """The bytes of a file's byte order mark, which `pieces` leaves out."""
    with open(file.path, "rb") as content:
        return len(_BOM) if content.read(len(_BOM)) == _BOM else 0


def line_batches(split: FileSplit, encoding: str) -> Iterator[list[bytes]]:
    """The lines of a split, without their ends."""
    rest = b""
    for piece in pieces(split, encoding):
        *lines, rest = (rest + piece).split(b"\n")
        yield lines
    if rest:
        yield [rest]


def lines_before(split: FileSplit) -> int:
    """The number of lines of the file that come before a split."""
    if not split.start:
        return 0
    before = FileSplit(split.file, 0, split.start)
    return sum(map(line_ends, pieces(before, UTF8)))


def line_ends(text: bytes) -> int:
    return text.count(b"\n") + text.count(b"\r") - text.count(b"\r\n")


def line_starts(file: SourceFile, size: int) -> Iterator[int]:
    """Starts of lines about `size` bytes apart, the first one 0."""
    yield 0
    with open(file.path, "rb") as content:
        for place in range(size, file.size, size):
            content.seek(place - 1)
            content.readline()
            if content.tell() < file.size:
                yield content.tell()


def shown(value: Any) -> Any:
    """What JSON has no notation for, as text."""
    return value.hex() if isinstance(value, bytes) else str(value)
