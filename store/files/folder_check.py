"""Whether a data folder is of a format that this version knows, found out before anything of it is touched.

Needs little of the rest, so that a process that only supervises others can ask, too.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from adalog.store.files.folder import FolderLayout
from adalog.store.files.formats import CHECKPOINT, LOG, check_format
from adalog.store.files.segment import check_known

_MAGIC: Final = b"SQLite format 3\0"
# Bytes: of a page, as much as its number takes; of the write-ahead log's header and of each of its frames'.
_BEGINNING: Final = 64
_WAL_HEADER: Final = 32
_FRAME_HEADER: Final = 24
_FIRST: Final = (1).to_bytes(4, "big")
_NO_COMMIT: Final = bytes(4)


def check_folder(path: Path) -> None:
    """Raises NewerFormat for a folder that a later version wrote to. Whatever else is wrong with it is found when
    it is opened."""
    layout = FolderLayout(path)
    _check_log(layout.log)
    _check_checkpoint(layout.checkpoint)
    for folder in (layout.segments, layout.imported):
        for file in folder.glob("*.seg"):
            check_known(file)


def _check_log(path: Path) -> None:
    found = _user_version(path)
    if found > LOG.newest:
        check_format(LOG, found, "the log", _release(path, found))


def _user_version(path: Path) -> int:
    """SQLite's number, which stands in the first page: in the file, or committed in its write-ahead log.

    SQLite itself is not asked: one that may not open everything may remove that log (see `store.log.sqlite`), and
    one that may folds it. https://www.sqlite.org/fileformat2.html
    """
    found = 0
    with suppress(OSError):
        with path.open("rb") as file:
            found = _number(file.read(_BEGINNING))
        with path.with_name(f"{path.name}-wal").open("rb") as file:
            header, pending = file.read(_WAL_HEADER), found
            page_size, salts = int.from_bytes(header[8:12], "big"), header[16:24]
            while len(frame := file.read(_FRAME_HEADER)) == _FRAME_HEADER and frame[8:16] == salts:
                page = file.read(_BEGINNING)
                if frame[:4] == _FIRST:
                    pending = _number(page)
                if frame[4:8] != _NO_COMMIT:
                    found = pending
                file.seek(page_size - len(page), os.SEEK_CUR)
    return found


def _number(page: bytes) -> int:
    return int.from_bytes(page[60:64], "big", signed=True) if page.startswith(_MAGIC) else 0


def _release(path: Path, found: int) -> str | None:
    ahead = path.with_name(f"{path.name}-wal")
    # The last process to close it left no write-ahead log, and none is made by this.
    whole = "" if ahead.exists() and ahead.stat().st_size else "&immutable=1"
    address = f"file:{quote(str(path.absolute()))}?mode=ro{whole}"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            said = connection.execute("SELECT adalog FROM schema_version WHERE version = ?", (found,)).fetchone()
    except sqlite3.DatabaseError:
        return None
    return None if said is None else said[0]


def _check_checkpoint(path: Path) -> None:
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        version, release = whole["version"], whole.get("adalog")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return
    if type(version) is int:
        check_format(CHECKPOINT, version, path.name, release)
