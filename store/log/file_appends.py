"""Appends to a log in SQLite by the driver alone: SQLAlchemy takes twenty times as long as SQLite does.

The connection is one of the engine's and is kept between appends. For the writer's thread; all errors are the
driver's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from typing import Any, Final

import sqlalchemy as sa

from adalog.store.log.entry import LogEntry, record_size
from adalog.store.log.sqlite import is_read_only

_ROWS: Final = "INSERT INTO transactions (t, instant, payload, checksum, append, seal) VALUES "
_ROW: Final = "(?, ?, ?, ?, ?, ?)"
# How many rows one statement inserts: with each one the thread lets go of the interpreter, and may wait for it. Few
# different ones stay prepared.
_TOGETHER: Final = tuple(1 << power for power in range(7, -1, -1))
_FILE: Final = "INSERT INTO files (name, t) VALUES (:name, :t)"
# A key that was forgotten may be used anew.
_KEY: Final = (
    "INSERT INTO idempotency_keys (t, key, digest, at) VALUES (:t, :key, :digest, :at) ON CONFLICT (key) "
    "DO UPDATE SET t = excluded.t, digest = excluded.digest, at = excluded.at"
)
# At most so many at once, which is more than an append adds: it takes little time.
_FORGET: Final = (
    "DELETE FROM idempotency_keys WHERE t IN "
    "(SELECT t FROM idempotency_keys WHERE t <= :last_t OR at <= :last_at LIMIT 1000)"
)

_SIZES: Final = "SELECT length(payload), length(seal) FROM transactions WHERE t = ?"
_REPLACE: Final = "UPDATE transactions SET payload = :payload, seal = :seal WHERE t = :t"
# By a digest of what was sent with a key guesses of what is gone could be tested.
_FORGET_DIGEST: Final = "UPDATE idempotency_keys SET digest = NULL WHERE t = :t"
_UNNAME: Final = "DELETE FROM files WHERE t = :t"

Row = tuple[int, int, bytes, int, int, bytes | None]
"""t, instant, payload, checksum, number of the append, seal."""


@cache
def _inserting(count: int) -> str:
    """Inserts so many rows."""
    return _ROWS + ", ".join([_ROW] * count)


class FileAppends:
    """The writer's connection to a log in SQLite."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._kept: sa.PoolProxiedConnection | None = None

    def driver(self) -> sqlite3.Connection:
        """The connection, opened anew where there is none."""
        if self._kept is None:
            self._kept = self._engine.raw_connection()
        driver = self._kept.driver_connection
        assert isinstance(driver, sqlite3.Connection)
        return driver

    def insert(
        self,
        driver: sqlite3.Connection,
        rows: Sequence[Row],
        files: Sequence[Mapping[str, Any]],
        keys: Sequence[Mapping[str, Any]],
        oldest: Mapping[str, int],
    ) -> None:
        """Inserts what an append has. oldest: what is forgotten of the keys, if there are some."""
        start = 0
        for count in _TOGETHER:
            while len(rows) - start >= count:
                driver.execute(_inserting(count), [*chain.from_iterable(rows[start : start + count])])
                start += count
        if files:
            driver.executemany(_FILE, files)
        if keys:
            driver.execute(_FORGET, oldest)
            driver.executemany(_KEY, keys)

    def replace(self, driver: sqlite3.Connection, entries: Sequence[LogEntry]) -> None:
        """Puts other payloads in the place of those of entries that are there, which is overwritten. Rows of
        another size may be moved to other pages, and leave something behind: the log loses its mark then."""
        if not all(self._fits(driver, each) for each in entries):
            driver.execute("PRAGMA application_id = 0")
        rows = [{"t": each.t, "payload": each.payload, "seal": each.seal} for each in entries]
        driver.executemany(_REPLACE, rows)
        driver.executemany(_FORGET_DIGEST, rows)
        driver.executemany(_UNNAME, rows)
        driver.executemany(_FILE, [{"name": name, "t": each.t} for each in entries for name in each.files])

    def _fits(self, driver: sqlite3.Connection, entry: LogEntry) -> bool:
        payload, seal = driver.execute(_SIZES, (entry.t,)).fetchone()
        assert entry.seal is not None, "of an entry whose payload is replaced"
        # Rows of older versions have no place for a seal.
        return seal is not None and record_size(payload, seal) == record_size(len(entry.payload), len(entry.seal))

    def commit(self, driver: sqlite3.Connection) -> None:
        driver.commit()

    def end(self, error: BaseException | None = None) -> None:
        """Rolls back what was not committed. A connection that may only read is closed with all others, since the
        process has one shared memory file, which may be what was opened read-only. The next append opens the file
        anew."""
        if self._kept is None:
            return
        with suppress(sqlite3.Error):
            self.driver().rollback()
        if error is not None and is_read_only(error):
            self._kept.invalidate()
            self._kept = None
            self._engine.dispose()

    def close(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()
