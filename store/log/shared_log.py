"""A log in an SQLite file that several processes of this machine append to, in turns."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from adalog.datalog.errors import unavailable
from adalog.store.files.formats import LOG, check_not_outgrown
from adalog.store.log.entry import KeyMemory, LogEntry, UsedKey
from adalog.store.log.log import AppendTurn, Log
from adalog.store.log.notices import AppendNotices, SocketNotices
from adalog.store.log.reader import PAGE, unread
from adalog.store.log.sqlite import WAIT_SECONDS, refused
from adalog.store.log.tables import DICTIONARIES, SECRETS, file_version, prepare_file, secret_in
from adalog.store.values.dictionary import SECRET_BYTES

_KNOWN: Final = "SELECT checksum FROM transactions WHERE t = ?"
_MISSED: Final = (
    "SELECT t, instant, idempotency_key, payload, checksum, seal FROM transactions WHERE t > ? ORDER BY t LIMIT ?"
)
_USE: Final = (
    "SELECT t, key, digest FROM idempotency_keys WHERE key = :used_key AND NOT (t <= :last_t OR at <= :last_at)"
)
# How long one waits for its turn, and how soon it looks again, in seconds.
_TURN_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = (0.0002, 0.005)


class SharedFileLog(Log):
    """peers: the folder in which the processes hear of each other."""

    is_shared = True
    settling = 3.0

    def __init__(self, engine: sa.Engine, peers: Path, keys: KeyMemory, files_folder: Path | None) -> None:
        super().__init__(engine, keys, files_folder, prepare=self._prepare)
        self._peers = peers
        self._hint: SocketNotices | None = None

    def _prepare(self, connection: sa.Connection) -> None:
        prepare_file(connection)
        SECRETS.metadata.create_all(connection)
        self.dictionary_secret = secret_in(connection, DICTIONARIES)[:SECRET_BYTES]

    def listen(self) -> AppendNotices:
        self._hint = SocketNotices(self._peers)
        return self._hint

    @contextmanager
    def turn(self, keys: Sequence[str] = ()) -> Iterator[AppendTurn]:
        appends = self._appends
        try:
            driver = appends.driver()
            self._begin(driver)
            missed = self._missed_by(driver)
        except sqlite3.Error as error:
            appends.end(error)
            self.failures["not_applied"] += 1
            raise refused(error) from error
        except BaseException:
            appends.end()
            raise

        def append(entries: Sequence[LogEntry]) -> None:
            self._append_by_driver(entries)
            if self._hint is not None:
                self._hint.tell()

        try:
            yield AppendTurn(append, partial(self._use_by, driver), missed, len(missed) == PAGE)
        finally:
            appends.end()

    def _begin(self, driver: sqlite3.Connection) -> None:
        """Waits for the turn, until another process tells of its append, and tries periodically besides."""
        # SQLite's own patience sleeps for up to a tenth of a second between two looks.
        driver.execute("PRAGMA busy_timeout = 0")
        # Without notices it is never set, and periodic attempts are all there is.
        came = threading.Event() if self._hint is None else self._hint.came
        try:
            pause, most = _LOOK_SECONDS
            until = time.monotonic() + _TURN_SECONDS
            while True:
                # Before the attempt, so that no notice that comes during it is lost.
                came.clear()
                try:
                    driver.execute("BEGIN IMMEDIATE")
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                        raise
                    if time.monotonic() > until:
                        raise unavailable(
                            "nothing was applied: another process has had the turn to write to the log for more "
                            f"than {_TURN_SECONDS:g} seconds; an import may take that long"
                        ) from None
                    came.wait(pause)
                    pause = min(2 * pause, most)
                else:
                    return
        finally:
            driver.execute(f"PRAGMA busy_timeout = {1000 * WAIT_SECONDS}")

    def missed(self) -> Sequence[LogEntry]:
        """By the writer's connection, which has no turn meanwhile: each append of another process is looked for."""
        appends = self._appends
        try:
            return self._missed_by(appends.driver())
        except sqlite3.Error as error:
            appends.end(error)
            raise unread("the log", error) from error

    def _missed_by(self, driver: sqlite3.Connection) -> list[LogEntry]:
        [version] = driver.execute("PRAGMA main.user_version").fetchone()
        if version > LOG.newest:
            with self._connection() as connection:
                check_not_outgrown(*file_version(connection))
        known = driver.execute(_KNOWN, (self.t,)).fetchone()
        rows = driver.execute(_MISSED, (self.t, PAGE)).fetchall()
        return self._verified(None if known is None else known[0], rows)

    def _use_by(self, driver: sqlite3.Connection, key: str, last: int) -> tuple[int, UsedKey] | None:
        found = driver.execute(_USE, {"used_key": key, **self._oldest(last)}).fetchone()
        return None if found is None else (found[0], UsedKey(*found[1:]))
