"""Files whose checksum was found right, so that opening them again need not read them: what the file system said of
each is kept beside them, in the data folder.

A file that was changed, copied or replaced has another inode, size or time of change, and is read again. What no
write causes, such as a failing disk, is found by `store.checkpoint.rechecks`, which reads each file once a day.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from adalog.store.files.segment import Segment, write_text

_LOGGER: Final = logging.getLogger("adalog.store")
_RECHECK_SECONDS: Final = 86_400.0
# File systems count time in steps of at most so many seconds: a later change gets another time.
_STEP_SECONDS: Final = 0.02
# Held to change a record: threads of one process do.
_CHANGING: Final = threading.Lock()


class _Identity(NamedTuple):
    """What every write changes. The times are in nanoseconds."""

    inode: int
    size: int
    modified: int
    changed: int


class _Entry(NamedTuple):
    """read: when the file was read last, in seconds since 1970; 0 if that was never, as it was only written."""

    checksum: int
    identity: _Identity
    read: float


_Entries = Mapping[str, _Entry]


class VerifiedFiles:
    """The record of one data folder as it is now. Of processes that share a folder one saves it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries = _loaded(path)

    def knows(self, segment: Segment) -> bool:
        """Whether a file is as it was when its content was right."""
        return self._entry(segment) is not None

    def due(self, segments: Iterable[Segment]) -> list[Segment]:
        """Those of the files that are known, but were not read for a day."""
        oldest = time.time() - _RECHECK_SECONDS
        known = ((each, self._entry(each)) for each in segments)
        return [each for each, entry in known if entry is not None and entry.read < oldest]

    def _entry(self, segment: Segment) -> _Entry | None:
        entry = self._entries.get(segment.file)
        is_same = entry is not None and entry.checksum == segment.checksum and entry.identity == _identity(segment)
        return entry if is_same else None

    def save(self, segments: Collection[Segment], *, read: bool) -> None:
        """Makes these the files of the record. They are right: they were known, this process wrote them, or with
        `read` it has read them. A failure is logged, and costs time at the next opening."""
        if all(map(self.knows, segments)) and len(segments) == len(self._entries):
            return
        time.sleep(_STEP_SECONDS)
        moment = time.time() if read else 0.0
        with _CHANGING:
            self._entries = _loaded(self._path)
            entries = {}
            for each in segments:
                known, identity = self._entry(each), _identity(each)
                if identity is not None:
                    entries[each.file] = known or _Entry(each.checksum, identity, moment)
            self._write(entries)

    def was_read(self, segment: Segment, *, is_right: bool) -> None:
        """A file of the record was read again. One that is damaged leaves the record."""
        with _CHANGING:
            self._entries = _loaded(self._path)
            entry = self._entry(segment)
            if entry is None:
                return
            others = {file: each for file, each in self._entries.items() if file != segment.file}
            self._write({**others, segment.file: entry._replace(read=time.time())} if is_right else others)

    def _write(self, entries: _Entries) -> None:
        self._entries = entries
        try:
            write_text(self._path, json.dumps({"version": 1, "files": entries}))
        except OSError as error:
            _LOGGER.warning("%s cannot be written, and files will be read again: %s", self._path.name, error)


def _identity(segment: Segment) -> _Identity | None:
    try:
        found = Path(segment.path).stat()
    except OSError:
        return None
    return _Identity(found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _loaded(path: Path) -> _Entries:
    """Nothing where there is no record, or none that can be read: it saves time alone."""
    try:
        whole: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        files = whole["files"] if whole["version"] == 1 else {}
        return {
            name: _Entry(checksum, _Identity(*identity), float(read))
            for name, (checksum, identity, read) in files.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
