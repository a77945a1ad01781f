"""Whether a data folder is of a format that this version knows, found out before anything of it is touched.

Needs little of the rest, so that a process that only supervises others can ask, too.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from store.folder import Layout
from store.formats import CHECKPOINT, LOG, check_format
from store.segment import check_known


def check_folder(path: Path) -> None:
    """Raises NewerFormat for a folder that a later version wrote to. Whatever else is wrong with it is found when
    it is opened."""
    layout = Layout(path)
    _check_log(layout.log)
    _check_checkpoint(layout.checkpoint)
    for folder in (layout.segments, layout.imported):
        for file in folder.glob("*.seg"):
            check_known(file)


def _check_log(path: Path) -> None:
    if not path.is_file():
        return
    ahead = path.with_name(f"{path.name}-wal")
    # Whoever closed it as the last one has left no write-ahead log, and none is made by this.
    whole = "" if ahead.exists() and ahead.stat().st_size else "&immutable=1"
    found, release = 0, None
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro{whole}", uri=True)) as connection:
            (found,) = connection.execute("PRAGMA user_version").fetchone()
            if found > LOG.newest:
                said = connection.execute(
                    "SELECT adalog FROM schema_version WHERE version = ?", (found,)
                ).fetchone()
                release = None if said is None else said[0]
    except sqlite3.DatabaseError:
        # Where only the release is not said, the number is known.
        pass
    check_format(LOG, found, "the log", release)


def _check_checkpoint(path: Path) -> None:
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        version, release = whole["version"], whole.get("adalog")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return
    if type(version) is int:
        check_format(CHECKPOINT, version, path.name, release)
