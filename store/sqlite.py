"""SQLite's files: how they are opened so that a commit that returned is on disk, and nothing on disk is lost."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

import sqlalchemy as sa

from store.log_reading import unreadable
from store.private import opener

T = TypeVar("T")

WAIT_SECONDS: Final = 30
# What SQLite's write-ahead log is called beside its own name while the log is opened.
KEPT: Final = "-wal.kept"


def opened(path: Path, made: Callable[[sa.Engine], T]) -> T:
    """What is made of an engine over a file, which is there then. Raises INTERNAL where it is no database."""
    if not path.exists():
        # SQLite would make it readable to all, and its journals are as open as it is.
        os.close(opener(str(path), os.O_RDWR | os.O_CREAT))
    engine = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": WAIT_SECONDS})
    sa.event.listen(engine, "connect", _configure_sqlite)
    try:
        with write_ahead_kept(engine):
            return made(engine)
    except sa.exc.DatabaseError as error:
        raise unreadable(path.name, error) from None


@contextmanager
def write_ahead_kept(engine: sa.Engine) -> Iterator[None]:
    """Within it a first connection is made to a log that this process alone writes to. What goes wrong closes it.

    A connection that failed because the file `-shm` could not be opened, but for reading, removes SQLite's
    write-ahead log when it is closed, and with it all that is only there (SQLite 3.40). Another name of that file
    keeps it.
    """
    assert engine.url.database is not None
    ahead, kept = (Path(engine.url.database + end) for end in ("-wal", KEPT))
    # Of a process that was killed within.
    if kept.exists() and not ahead.exists():
        kept.rename(ahead)
    kept.unlink(missing_ok=True)
    # A file system without a second name for a file goes without.
    with suppress(OSError):
        os.link(ahead, kept)
    try:
        yield
    except BaseException:
        engine.dispose()
        if kept.exists() and not ahead.exists():
            kept.rename(ahead)
        raise
    finally:
        kept.unlink(missing_ok=True)


def opened_to_read(path: Path, made: Callable[[sa.Engine], T]) -> T:
    """The same of a file that another process may write to meanwhile, and this one may not."""
    address = f"sqlite:///file:{quote(str(path.absolute()))}?mode=ro&uri=true"
    engine = sa.create_engine(address, connect_args={"timeout": WAIT_SECONDS})
    try:
        return made(engine)
    except sa.exc.DatabaseError as error:
        engine.dispose()
        raise unreadable(path.name, error) from None


def opened_to_fill(path: Path) -> sa.Engine:
    """A new file that is sure to be on disk only after an fsync."""
    os.close(opener(str(path), os.O_RDWR | os.O_CREAT | os.O_EXCL))
    engine = sa.create_engine(f"sqlite:///{path}")
    sa.event.listen(engine, "connect", _configure_filling)
    return engine


def _configure_filling(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=OFF")
    cursor.execute("PRAGMA synchronous=OFF")
    cursor.close()


def _configure_sqlite(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()
