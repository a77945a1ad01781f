"""Entries of the log as compressed files: each holds some that follow each other, and is named by its content.

    of each entry: length of its head · length of its payload · head (MessagePack) · payload; all of it in zstd

A backup adds what is new. Short files at the end are written again together with that, so that there are few, and
an entry is written again a logarithmic number of times.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgpack  # type: ignore[import-untyped]
import pyarrow as pa

from adalog.datalog.errors import AdalogError, Code
from adalog.store.files.place import Place
from adalog.store.log.entry import CopiedEntry, LogEntry, UsedKey, chained

_LENGTHS: Final = struct.Struct("<IQ")
# Bytes of a file's payloads, before compression.
_FULL: Final = 32 << 20
# What an entry takes besides its payload, more or less.
_HEAD: Final = 64


class DamagedBackup(AdalogError):
    """A file of a backup that is missing or not what was written. `file`: its name in the place."""

    def __init__(self, shown: str, file: str, why: str) -> None:
        super().__init__(Code.INTERNAL, f"{file} of the backups in {shown} is damaged: {why}")
        self.file = file
        self.why = why


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Entries `first` to `last`, whose instant is that of the last one. before, checksum: the log's checksums of
    the entry before them and of the last one. plain: bytes before compression, more or less. digest: SHA-256 of the
    file, whose bytes are `size`."""

    first: int
    last: int
    instant: int
    before: int
    checksum: int
    plain: int
    digest: str
    size: int

    @property
    def file(self) -> str:
        """Its name in the place."""
        return f"log/{self.first}-{self.last}-{self.digest[:16]}"


@dataclass(frozen=True)
class PackedChunk:
    chunk: LogChunk
    content: pa.Buffer


def packed(copies: Iterable[CopiedEntry], before: int) -> Iterator[PackedChunk]:
    """Entries as chunks, of which only one is held at a time. before: the checksum of the entry before them."""
    own: list[CopiedEntry] = []
    size = 0
    for copy in copies:
        bytes_ = len(copy.entry.payload) + _HEAD
        if own and size + bytes_ > _FULL:
            yield _packed(own, before, size)
            own, size, before = [], 0, own[-1].checksum
        own.append(copy)
        size += bytes_
    if own:
        yield _packed(own, before, size)


def _packed(copies: Sequence[CopiedEntry], before: int, plain: int) -> PackedChunk:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        for entry, checksum, used_at in copies:
            used = (None, None) if entry.used is None else entry.used
            head = msgpack.packb(
                (entry.t, entry.instant, entry.row_key, checksum, *used, used_at, list(entry.files), entry.seal)
            )
            stream.write(_LENGTHS.pack(len(head), len(entry.payload)) + head)
            # By itself, and so without a copy, and without the lock that others wait for.
            stream.write(entry.payload)
    content = sink.getvalue()
    digest = hashlib.sha256(content).hexdigest()
    first, last = copies[0].entry, copies[-1].entry
    chunk = LogChunk(first.t, last.t, last.instant, before, copies[-1].checksum, plain, digest, content.size)
    return PackedChunk(chunk, content)


def kept(chunks: Sequence[LogChunk], payloads: int, entries: int) -> Sequence[LogChunk]:
    """The chunks that stay when entries come after them with so many bytes of payloads; the others are written
    again together with these."""
    stay, new = len(chunks), payloads + _HEAD * entries
    while stay and chunks[stay - 1].plain <= min(2 * new, _FULL // 2):
        stay -= 1
        new += chunks[stay].plain
    return chunks[:stay]


def read(place: Place, chunk: LogChunk) -> list[CopiedEntry]:
    """The entries of a chunk. Raises DamagedBackup for a file that is missing or not what was written."""
    content = content_of(place, chunk)
    copies: list[CopiedEntry] = []
    try:
        with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
            while lengths := stream.read(_LENGTHS.size):
                head_size, size = _LENGTHS.unpack(lengths)
                copies.append(_copied(msgpack.unpackb(stream.read(head_size)), stream.read(size)))
    except (OSError, ValueError, TypeError, struct.error, pa.ArrowException) as error:
        raise DamagedBackup(place.shown, chunk.file, f"it does not say what it should ({error})") from None
    checksum = chunk.before
    for t, copy in enumerate(copies, chunk.first):
        checksum = chained(checksum, copy.entry)
        if (copy.entry.t, copy.checksum) != (t, checksum):
            raise DamagedBackup(place.shown, chunk.file, f"its transaction {t} is not what was written")
    if not copies or (copies[-1].entry.t, checksum) != (chunk.last, chunk.checksum):
        raise DamagedBackup(place.shown, chunk.file, "it holds other transactions than it should")
    return copies


def content_of(place: Place, chunk: LogChunk) -> bytes:
    """A chunk's file, whose checksum is right. Raises DamagedBackup."""
    try:
        content = place.read(chunk.file)
    except AdalogError as error:
        raise DamagedBackup(place.shown, chunk.file, error.message) from None
    if hashlib.sha256(content).hexdigest() != chunk.digest:
        why = f"it has {len(content):,} bytes, not {chunk.size:,}"
        raise DamagedBackup(place.shown, chunk.file, why if len(content) != chunk.size else "its checksum is wrong")
    return content


def _copied(head: Sequence[Any], payload: bytes) -> CopiedEntry:
    # Those of format 1 have no seals.
    t, instant, row_key, checksum, key, digest, used_at, files, *seals = head
    used = None if key is None else UsedKey(key, digest)
    return CopiedEntry(LogEntry(t, instant, row_key, payload, used, files, *seals), checksum, used_at)
