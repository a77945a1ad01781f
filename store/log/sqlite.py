"""SQLite's files: how they are opened so that a commit that returned is on disk, and nothing on disk is lost."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

import sqlalchemy as sa

from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.store.files.permissions import opener
from adalog.store.log.reader import unreadable

T = TypeVar("T")

WAIT_SECONDS: Final = 30
# What SQLite's write-ahead log is called beside its own name while a connection is made.
KEPT: Final = "-wal.kept"
# What is deleted or moved is overwritten.
_ERASING: Final = "PRAGMA secure_delete=ON"
# Errors of a commit that end it before its last page is in the file, without which nothing of it counts.
_NOTHING_WRITTEN: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE})


def opened(path: Path, made: Callable[[sa.Engine], T]) -> T:
    """What is made of an engine over a file, which is there then. Raises INTERNAL where it is no database."""
    if not path.exists():
        # SQLite would make it readable to all, and its journals are as open as it is.
        os.close(opener(str(path), os.O_RDWR | os.O_CREAT))
    engine = sa.create_engine(f"sqlite:///{path}", creator=_connecting(path))
    sa.event.listen(engine, "handle_error", _forget)
    try:
        return made(engine)
    except BaseException as error:
        engine.dispose()
        if isinstance(error, sa.exc.DatabaseError):
            raise unreadable(path.name, error) from None
        raise


def _connecting(path: Path) -> Callable[[], sqlite3.Connection]:
    turn = threading.Lock()

    def connect() -> sqlite3.Connection:
        with turn, _write_ahead_kept(path):
            connection = sqlite3.connect(path, timeout=WAIT_SECONDS, check_same_thread=False)
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute(_ERASING)
            except BaseException:
                connection.close()
                raise
            return connection

    return connect


@contextmanager
def _write_ahead_kept(path: Path) -> Iterator[None]:
    """Within it a connection is made to a log that this process alone writes to. What goes wrong closes it.

    A connection that failed because the file `-shm` could not be opened, but for reading, removes SQLite's
    write-ahead log when it is closed as the last one, and with it all that is only there (SQLite 3.40). Another
    name of that file keeps it.
    """
    ahead, kept = (path.with_name(path.name + end) for end in ("-wal", KEPT))
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
        if kept.exists() and not ahead.exists():
            kept.rename(ahead)
        raise
    finally:
        kept.unlink(missing_ok=True)


def _forget(context: sa.ExceptionContext) -> None:
    # Where a file could not be opened to be written, SQLite opens it to be read, and the connection stays so.
    if is_read_only(context.original_exception):
        context.is_disconnect = True


def wrote_nothing(error: BaseException) -> bool:
    """Whether a commit that failed with the error is sure to have written nothing."""
    return getattr(error, "sqlite_errorcode", None) in _NOTHING_WRITTEN


def refused(error: BaseException) -> AdalogError:
    """What is said of an append that failed with the error, and of which nothing was written."""
    if is_read_only(error):
        return AdalogError(
            Code.READ_ONLY,
            f"nothing was applied: the log's file can only be read at the moment ({error}); the next "
            "transaction has it opened anew, and reading goes on",
            retryable=True,
        )
    return unavailable(f"nothing was applied: the log could not be written ({error})")


def is_read_only(error: BaseException) -> bool:
    """Whether the connection with the error may only read."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF == sqlite3.SQLITE_READONLY


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
    quick = f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; {_ERASING}"
    sa.event.listen(engine, "connect", lambda connection, _: connection.executescript(quick))
    return engine
