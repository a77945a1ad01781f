"""Searching a database or its backups for texts: the bytes of every file, and what is compressed in them.

It proves that nothing is left of what was excised: it reads all files there are, whatever names them, and the free
space in them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import UUID

import numpy as np
import pyarrow as pa

from adalog.datalog.errors import AdalogError
from adalog.store.backup.catalogue import catalogue
from adalog.store.backup.chunks import LogChunk, read
from adalog.store.backup.progress import BackupProgress
from adalog.store.files.folder import FolderLayout, is_address
from adalog.store.files.place import FOLDERS, Place, place_of
from adalog.store.files.segment import Arrays, Segment, open_segment
from adalog.store.files.shared_files import CHECKPOINTS, FILES, IMPORTED, pieces
from adalog.store.log.entry import CopiedEntry
from adalog.store.log.log import Log
from adalog.store.log.payload import Logged
from adalog.store.sources import held_folder, source_of

# Of SQLite's files: where the size of a page is, and what comes before what a page of a long row has of it.
_PAGE_SIZE: Final = slice(16, 18)
_LINK_BYTES: Final = 4
# Halves of shorter texts are found by chance.
_LEAST_SPLIT: Final = 16


class TextSearch:
    """Texts to search for, and what was found. tell: hears where one is, and its number from 1.

    files, bytes: that were read. found: how many places have a text.
    """

    def __init__(self, texts: Sequence[str], tell: Callable[[str, int], None]) -> None:
        self._patterns = [(number, each) for number, text in enumerate(texts, 1) for each in _patterns(text)]
        self._longest = max(len(each) for _, each in self._patterns)
        self._tell = tell
        self.files = 0
        self.bytes = 0
        self.found = 0

    def look(self, where: str, content: bytes | memoryview) -> None:
        """Some content that is not a file."""
        self._say(where, {number: 1 for number, each in self._patterns if each in bytes(content)})

    def read(self, where: str, parts: Iterable[bytes], arrays: Arrays | None = None) -> None:
        """A file, piece by piece. arrays: if it has some."""
        counts = dict.fromkeys((number for number, _ in self._patterns), 0)
        last = b""
        for part in parts:
            self.bytes += len(part)
            whole = last + part
            for number, pattern in self._patterns:
                # What lies in the end of the last piece alone was counted.
                start = max(len(last) - len(pattern) + 1, 0)
                counts[number] += whole.count(pattern, start)
            last = whole[-self._longest + 1 :] if self._longest > 1 else b""
        self.files += 1
        if arrays is not None and any(counts.values()):
            for number, pattern in self._patterns:
                counts[number] -= _between_values(arrays, pattern)
        self._say(where, counts)

    def pages(self, where: str, file: Path) -> None:
        """The pages of a file of SQLite's, each alone: of a long row that is gone two may have a half."""
        split = [(number, each) for number, each in self._patterns if len(each) >= _LEAST_SPLIT]
        with file.open("rb") as content:
            size = int.from_bytes(content.read(100)[_PAGE_SIZE], "big") or 1
            size = 65_536 if size == 1 else size
            content.seek(0)
            found: dict[int, int] = {}
            while split and (page := content.read(size)):
                for number, pattern in split:
                    half, head = len(pattern) // 2, page[_LINK_BYTES : _LINK_BYTES + len(pattern)]
                    ends = any(page.endswith(pattern[:end]) for end in range(half, len(pattern)))
                    if ends or any(head.startswith(pattern[start:]) for start in range(1, len(pattern) - half)):
                        found[number] = 1
        self._say(f"{where}, in part", found)

    def _say(self, where: str, counts: dict[int, int]) -> None:
        for number, count in counts.items():
            if count > 0:
                self.found += 1
                self._tell(where, number)


def search_data(location: str, search: TextSearch, watching: BackupProgress, segments: str | None = None) -> None:
    """Searches the database of a folder or server. segments: where a server's gateways share files. Raises as
    `source_of` does."""
    with source_of(location, segments) as source:
        _search_log(source.log, search, watching)
    watching.stage("searching the files")
    if not is_address(location):
        folder = held_folder(location)
        search.pages(folder.log.name, folder.log)
        for path in _files_in(folder.path):
            name = str(path.relative_to(folder.path))
            with suppress(FileNotFoundError):
                search.read(name, pieces(path), _arrays(path))
    elif segments is not None:
        place = place_of(segments, source.log.identity)
        for kind in (FILES, CHECKPOINTS, IMPORTED):
            for name in sorted(place.sizes(kind)):
                _search_file(place, f"{kind}/{name}", search)


def search_backups(place: Place, search: TextSearch, watching: BackupProgress) -> None:
    """Searches a place of backups, also what is in no backup. Raises ARG_INVALID for a place that has none."""
    with place.shared():
        found = catalogue(place)
        chunks = {chunk.file: chunk for backup in found.backups for chunk in backup.chunks}
        watching.stage("searching the backups")
        total = sum(sum(place.sizes(kind).values()) for kind in FOLDERS)
        for kind in FOLDERS:
            for name in sorted(place.sizes(kind)):
                watching.bytes(search.bytes, total)
                file = f"{kind}/{name}"
                if kind == "log":
                    _search_chunk(place, file, chunks.get(file), search)
                else:
                    _search_file(place, file, search)


def _search_log(log: Log, search: TextSearch, watching: BackupProgress) -> None:
    watching.stage("searching the log")
    for copy in log.copied(0, log.newest()):
        _search_entry(f"{FolderLayout.LOG}: transaction {copy.entry.t}", copy, search)


def _search_entry(where: str, copy: CopiedEntry, search: TextSearch) -> None:
    search.look(where, Logged.uncompressed(copy.entry.payload))
    for used in copy.entry.used or ():
        search.look(f"{where}, its idempotency key", (used or "").encode())


def _search_chunk(place: Place, file: str, chunk: LogChunk | None, search: TextSearch) -> None:
    if chunk is not None:
        for copy in read(place, chunk):
            _search_entry(f"{file}: transaction {copy.entry.t}", copy, search)
    search.read(file, _decompressed(place.read(file)))


def _decompressed(content: bytes) -> Iterator[bytes]:
    yield content
    with suppress(OSError, pa.ArrowException), pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
        while piece := stream.read(1 << 20):
            yield piece


def _search_file(place: Place, file: str, search: TextSearch) -> None:
    path = place.local(file)
    search.read(file, place.pieces(file), None if path is None else _arrays(path))


def _files_in(folder: Path) -> Iterator[Path]:
    for path, _, names in os.walk(folder):
        for name in sorted(names):
            file = Path(path, name)
            if file.is_file():
                yield file


def _arrays(path: Path) -> Arrays | None:
    """The arrays of a file that is a segment."""
    if path.suffix != ".seg" and path.parent.name != FOLDERS[0]:
        return None
    try:
        return open_segment(Segment(str(path), 0), trusted=True)
    except (AdalogError, ValueError, KeyError):
        return None


def _between_values(arrays: Arrays, pattern: bytes) -> int:
    """How often a pattern is made of the end of a value and the beginning of the next."""
    between = 0
    for name, heap in arrays.items():
        prefix, _, kind = name.rpartition(".")
        offsets = arrays.get(f"{prefix}.offsets" if prefix else "offsets")
        if kind != "heap" or offsets is None:
            continue
        content, at = heap.tobytes(), -1
        ends = np.asarray(offsets)
        while (at := content.find(pattern, at + 1)) >= 0:
            value = int(ends.searchsorted(at, side="right"))
            between += value < len(ends) and at + len(pattern) > int(ends[value])
    return between


def _patterns(text: str) -> list[bytes]:
    """The bytes that a text is kept as; those of a UUID as well."""
    found = [text.encode()]
    with suppress(ValueError):
        found.append(UUID(text).bytes)
    return found
