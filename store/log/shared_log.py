"""A log in an SQLite file that several processes of this machine append to, in turns."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from adalog.datalog.errors import unavailable
from adalog.store.files.formats import check_not_outgrown
from adalog.store.log.entry import KeyMemory, LogEntry
from adalog.store.log.log import AppendTurn, Log
from adalog.store.log.notices import AppendNotices, SocketNotices
from adalog.store.log.reader import PAGE, ROW
from adalog.store.log.sqlite import WAIT_SECONDS, refused
from adalog.store.log.tables import DICTIONARIES, SECRETS, TRANSACTIONS, file_version, prepare_file, secret_in
from adalog.store.values.dictionary import SECRET_BYTES

_COLUMNS: Final = TRANSACTIONS.c
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
        with self._connection() as connection:
            try:
                self._begin(connection)
                missed = self._missed_on(connection)
            except sa.exc.SQLAlchemyError as error:
                self.failures["not_applied"] += 1
                raise refused(error.__cause__ or error) from error

            def append(entries: Sequence[LogEntry]) -> None:
                self._append_on(connection, entries)
                if self._hint is not None:
                    self._hint.tell()

            # The connection goes back to its pool at the end, and what was not committed with it.
            yield AppendTurn(append, partial(self._use_on, connection), missed, len(missed) == PAGE)

    def _begin(self, connection: sa.Connection) -> None:
        # SQLite's own patience sleeps for up to a tenth of a second between two looks.
        connection.exec_driver_sql("PRAGMA busy_timeout = 0")
        try:
            pause, most = _LOOK_SECONDS
            until = time.monotonic() + _TURN_SECONDS
            while True:
                try:
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                except sa.exc.OperationalError as error:
                    if getattr(error.__cause__, "sqlite_errorcode", None) != sqlite3.SQLITE_BUSY:
                        raise
                    if time.monotonic() > until:
                        raise unavailable(
                            "nothing was applied: another process has had the turn to write to the log for more "
                            f"than {_TURN_SECONDS:g} seconds; an import may take that long"
                        ) from None
                    time.sleep(pause)
                    pause = min(2 * pause, most)
                else:
                    return
        finally:
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {1000 * WAIT_SECONDS}")

    def missed(self) -> Sequence[LogEntry]:
        try:
            with self._connection() as connection:
                check_not_outgrown(*file_version(connection))
        except sa.exc.SQLAlchemyError as error:
            raise self._unreadable(error) from None
        return super().missed()

    def _missed_on(self, connection: sa.Connection) -> list[LogEntry]:
        check_not_outgrown(*file_version(connection))
        known = connection.execute(sa.select(_COLUMNS.checksum).where(_COLUMNS.t == self.t)).scalar()
        rows = connection.execute(ROW.where(_COLUMNS.t > self.t).limit(PAGE)).all()
        return self._verified(known, [tuple(row) for row in rows])
