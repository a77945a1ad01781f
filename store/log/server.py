"""The log on a PostgreSQL server, which any number of gateways append to in turns.

A turn is a transaction that holds an advisory lock, whose queue is the server's, and fair. Two messages make it:
one takes the lock and reads what was missed, one inserts and commits. A gateway that pauses between them is
disconnected by the server, so that the others go on. That `t` is the primary key keeps the log right even where the
lock should fail. Commits tell those who LISTEN.
"""

from __future__ import annotations

import logging
import secrets
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from psycopg import conninfo, errors, pq

from adalog.datalog.errors import AdalogError, Code, invalid_argument, limit_exceeded, unavailable
from adalog.store.files.folder import as_libpq
from adalog.store.log import server_statements as statements
from adalog.store.log import tables
from adalog.store.log.entry import KEY_MEMORY, KeyMemory, LogEntry, UsedKey, now_ms
from adalog.store.log.imported import transaction_of
from adalog.store.log.log import AppendTurn, InDoubtError, Log, OvertakenError, UnusableError
from adalog.store.log.payload import FILES_KEY, Logged
from adalog.store.log.reader import END, PAGE, UNSEALED_ROW
from adalog.store.log.server_connection import SILENT_SECONDS, BoundedConnection, SilentError
from adalog.store.log.server_faults import ServerErrorLog, is_lasting, reason, said
from adalog.store.log.server_statements import results
from adalog.store.values.dictionary import SECRET_BYTES

_LOGGER: Final = logging.getLogger("adalog.store")
# What holds unless the address says otherwise: a server that is gone is noticed, and of several the one that writes
# is chosen.
_DEFAULTS: Final = {
    "connect_timeout": "5",
    "application_name": "adalog",
    "target_session_attrs": "read-write",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "15000",
}
# For how long a server may be silent that is only read from, before it is looked whether it answers others.
_READ_SECONDS: Final = 3.0
# A gateway that has the turn and is silent for so long loses it; the others wait longer.
_IDLE_SECONDS: Final = 5
_LOCK_SECONDS: Final = 12
# A turn that takes longer says now and then that it is alive, in seconds.
_SIGN_SECONDS: Final = 1.0
_SESSION: Final = (
    "SET standard_conforming_strings = on; SET bytea_output = 'hex'; SET client_min_messages = warning; "
    "SET statement_timeout = 0; SET client_encoding = 'UTF8'; "
    f"SET lock_timeout = '{_LOCK_SECONDS}s'; SET idle_in_transaction_session_timeout = '{_IDLE_SECONDS}s'"
).encode()
_POOL: Final = 5
# Of the payloads of one append: a message of the protocol has less than a gigabyte, and these are written in
# hexadecimals.
_MOST_BYTES: Final = 400_000_000
# What a server is given time for, at least.
_BYTES_A_SECOND: Final = 10_000_000
# Forgetting old keys is no hurry.
_FORGET_SECONDS: Final = 1.0
_SECRET: Final = "gateways"
# What prepared statements fail with that are gone, or whose columns have other types now.
_STALE: Final = (errors.InvalidSqlStatementName, errors.FeatureNotSupported)
_Results = list[pq.abc.PGresult]


def shown_address(location: str) -> str:
    """The address without what may be secret in it."""
    try:
        said = _parameters(location)
    except AdalogError:
        return "postgresql://…"
    host, user = str(said.get("host") or "localhost"), said.get("user")
    port = f":{said['port']}" if said.get("port") else ""
    return f"postgresql://{f'{user}@' if user else ''}{host}{port}/{said.get('dbname') or ''}"


def check_address(location: str) -> None:
    """Raises BACKEND_UNAVAILABLE for an address that cannot be one."""
    _parameters(location)


def server_holds_database(location: str) -> bool:
    """Whether a database was made on the server, which is left as it is. Raises BACKEND_UNAVAILABLE."""
    try:
        with psycopg.connect(**_parameters(location), autocommit=True) as connection:
            found = connection.execute("SELECT to_regclass('transactions') IS NOT NULL").fetchone()
    except psycopg.Error as error:
        raise unusable(location, error) from None
    return found is not None and bool(found[0])


def unusable(location: str, error: BaseException) -> UnusableError:
    """The refusal to open what is at an address."""
    message = f"the log at {shown_address(location)} cannot be used; PostgreSQL says: {said(error)}"
    return UnusableError(message, reason(error), retryable=not is_lasting(error))


def _parameters(location: str) -> Mapping[str, Any]:
    try:
        found = conninfo.conninfo_to_dict(as_libpq(location))
    except psycopg.Error:
        # What is wrong with it stays unsaid: the driver quotes it, and there may be a password in it.
        found = None
    said = found or {}
    ports = str(said.get("port") or "").replace(",", "")
    if found is None or "@" in str(said.get("host") or "") or not (ports.isdecimal() or not ports):
        raise unavailable(
            "the address of the data is none that PostgreSQL knows; write "
            "postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with %40 for an @, %3A for a : and %2F for a / in the "
            "password",
            retryable=False,
        )
    return {**_DEFAULTS, **found}


class ServerLog(Log):
    """A log on a server. One thread takes turns; any number read."""

    is_shared = True
    is_on_server = True
    settling = 5.0
    failed = "the connection to PostgreSQL failed"

    def __init__(self, address: str, keys: KeyMemory = KEY_MEMORY, *, only_reads: bool = False) -> None:
        """only_reads: the tables are left as they are, and nothing may be appended. Raises BACKEND_UNAVAILABLE if
        the server cannot be reached or the tables cannot be made, NewerFormat."""
        self._parameters = _parameters(address)
        # What a listener tells its own process's appends by.
        self._own = secrets.token_hex(6)
        self._writing: BoundedConnection | None = None
        self._alive = _Alive()
        self._told = ServerErrorLog()
        # Which a connection of turns prepares.
        self._statements = statements.TO_READ if only_reads else statements.TO_WRITE
        self._forgot = 0.0
        engine = sa.create_engine(
            "postgresql+psycopg://",
            creator=lambda: self._reads_on(self._connect()),
            isolation_level="AUTOCOMMIT",
            pool_size=_POOL,
            pool_pre_ping=True,
            hide_parameters=True,
            use_native_hstore=False,
        )
        prepared = engine.execution_options(isolation_level="READ COMMITTED")

        def prepare(own: sa.Connection) -> None:
            if only_reads:
                if tables.check_server(own) is None:
                    raise unavailable(f"there is no database to read at {shown_address(address)}", retryable=False)
                if not tables.server_has_seals(own):
                    self._row = UNSEALED_ROW
                found = tables.found_secret(own, tables.DICTIONARIES)
                self.dictionary_secret = None if found is None else found[:SECRET_BYTES]
                return
            with prepared.begin() as connection:
                tables.prepare_server(connection)
                self.secret = tables.secret_in(connection, _SECRET)
                self.dictionary_secret = tables.secret_in(connection, tables.DICTIONARIES)[:SECRET_BYTES]

        try:
            super().__init__(engine, keys, prepare=prepare)
        except BaseException as error:
            self._alive.close()
            engine.dispose()
            if isinstance(error, sa.exc.SQLAlchemyError | psycopg.Error):
                raise unusable(address, error) from None
            raise

    def _connect(self, gives_up: Callable[[], bool] = lambda: True) -> BoundedConnection:
        """gives_up: as in `BoundedConnection`."""
        connection = BoundedConnection.connect(**self._parameters, autocommit=True, prepare_threshold=5)
        connection.gives_up = gives_up
        try:
            connection.execute(_SESSION)
            _check_durable(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _reads_on(self, connection: BoundedConnection) -> BoundedConnection:
        """The connection, on which a server that is silent is given up soon, unless it answers others: it is long
        about something."""
        connection.seconds = min(connection.seconds, _READ_SECONDS)
        connection.gives_up = lambda: not self._answers()
        return connection

    def _answers(self) -> bool:
        try:
            psycopg.connect(**{**self._parameters, "connect_timeout": str(round(_READ_SECONDS))}).close()
        except psycopg.Error:
            return False
        return True

    # Turns

    @contextmanager
    def turn(self, keys: Sequence[str] = ()) -> Iterator[AppendTurn]:
        try:
            connection, missed, used = self._begin(keys)
        except psycopg.Error as error:
            self.failures["not_applied"] += 1
            raise self._refused(error) from error
        ended = False

        def append(entries: Sequence[LogEntry]) -> None:
            nonlocal ended
            ended = True
            self._commit(connection, entries)

        try:
            with self._alive.while_(connection):
                yield AppendTurn(append, lambda key, _: used.get(key), missed, len(missed) == PAGE)
        finally:
            if not ended:
                self._give_back(connection)

    def _begin(
        self, keys: Sequence[str]
    ) -> tuple[BoundedConnection, list[LogEntry], dict[str, tuple[int, UsedKey]]]:
        """Takes the turn. Nothing has happened where that fails."""

        def ask(connection: BoundedConnection) -> _Results:
            parts = [statements.BEGIN, statements.reading(self.t)]
            if keys:
                parts.append(statements.finding(connection, keys, self._oldest(self.t)))
            return results(connection, b"; ".join(parts))

        connection, (_, _, version, known, rows, *uses) = self._asked(ask)
        try:
            missed = self._verified(*statements.found_log(version, known, rows))
        except AdalogError:
            self._give_back(connection)
            raise
        return connection, missed, statements.found_uses(uses[0]) if uses else {}

    def _commit(self, connection: BoundedConnection, entries: Sequence[LogEntry]) -> None:
        """One message, so that a gateway that pauses delays no other."""
        seals, checksums = self._chained(entries)
        number = secrets.randbits(62)
        size = sum(len(entry.payload) for entry in (*entries, *entries[0].replaces))
        if size > _MOST_BYTES:
            self._give_back(connection)
            raise limit_exceeded(
                f"the transaction has {size:,} bytes, and a log in PostgreSQL takes {_MOST_BYTES:,} at once; load "
                "it in several transactions"
            )
        message = b"; ".join(self._inserts(connection, entries, (seals, checksums), number))
        connection.seconds = SILENT_SECONDS + size / _BYTES_A_SECOND
        try:
            ended = results(connection, message)[-1].command_status
        except psycopg.Error as error:
            certain = not connection.closed and connection.info.transaction_status != pq.TransactionStatus.UNKNOWN
            self._give_back(connection)
            if not certain:
                self.failures["unknown"] += 1
                raise InDoubtError(self._told.tell("the log failed while it was written", error), number) from error
            if isinstance(error, errors.UniqueViolation):
                raise OvertakenError from error
            self.failures["not_applied"] += 1
            raise self._refused(error) from error
        if ended != b"COMMIT":
            raise OvertakenError
        self._appended(entries, checksums)

    def _inserts(
        self,
        connection: psycopg.Connection[Any],
        entries: Sequence[LogEntry],
        chain: tuple[Sequence[bytes], Sequence[int]],
        number: int,
    ) -> Iterator[bytes]:
        """chain: the entries' seals and checksums."""
        yield from statements.appending(entries, *chain, number)
        if entries[0].replaces:
            yield from statements.replacing(entries[0].replaces)
        used = [(entry.t, entry.used) for entry in entries if entry.used is not None]
        if used:
            if time.monotonic() > self._forgot + _FORGET_SECONDS:
                self._forgot = time.monotonic()
                yield statements.forgetting(self._oldest(entries[-1].t))
            yield statements.using(connection, used, now_ms())
        yield statements.notifying(self._own)
        yield b"COMMIT"

    def _give_back(self, connection: psycopg.Connection[Any]) -> None:
        """Ends a turn in which nothing was appended, or a connection of which one does not know."""
        with suppress(psycopg.Error):
            if not connection.closed and connection.info.transaction_status != pq.TransactionStatus.IDLE:
                connection.execute(b"ROLLBACK", prepare=False)
            if not connection.closed and connection.info.transaction_status == pq.TransactionStatus.IDLE:
                return
        connection.close()

    def _asked(self, ask: Callable[[BoundedConnection], _Results]) -> tuple[BoundedConnection, _Results]:
        """The connection of turns, with what it is asked: a new one where the old one is dead."""
        connection = self._writing
        if connection is not None and not connection.closed:
            try:
                return connection, ask(connection)
            except psycopg.Error as error:
                was_open = not connection.closed
                self._give_back(connection)
                if isinstance(error, _STALE):
                    connection.close()
                # One that is silent does not let anybody else in either.
                elif was_open or isinstance(error, SilentError):
                    raise
        connection = self._connect()
        try:
            results(connection, self._statements)
        except BaseException:
            connection.close()
            raise
        self._writing = connection
        try:
            return connection, ask(connection)
        except psycopg.Error:
            self._give_back(connection)
            raise

    def missed(self) -> Sequence[LogEntry]:
        def ask(connection: BoundedConnection) -> _Results:
            before = connection.seconds, connection.gives_up
            self._reads_on(connection)
            try:
                return results(connection, statements.reading(self.t))
            finally:
                connection.seconds, connection.gives_up = before

        try:
            _, (version, known, rows) = self._asked(ask)
        except psycopg.Error as error:
            raise self._unread(error) from error
        return self._verified(*statements.found_log(version, known, rows))

    def settle(self, t: int) -> list[LogEntry]:
        # While this gateway has the turn, no commit of an earlier turn is under way.
        assert t == self.t, "the last entry that is known here"
        found: list[LogEntry] = []
        while True:
            with self.turn() as turn:
                found += turn.missed
                if not turn.is_behind:
                    return found

    # Files of imports, of which the list has only those that came with a backup: entries alone tell.

    def _files_of(self, connection: sa.Connection, rows: Sequence[Any]) -> Mapping[int, Sequence[str]]:
        found = {}
        for t, _, _, payload, *_ in rows:
            # A damaged entry, or one of a later version, is reported where it is decoded.
            with suppress(AdalogError, ValueError, TypeError, KeyError, OSError, struct.error):
                found[t] = sorted(Logged.files_in(bytes(payload)))
        return found

    def unnamed(self, files: Iterable[str]) -> set[str]:
        left = set(files)
        for entry in self.entries_of(sorted({t for t in map(transaction_of, left) if t is not None})):
            left.difference_update(Logged.files_in(entry.payload))
        return left

    def files(self, until: int = END) -> frozenset[str]:
        times = [t for t in self.holding([FILES_KEY]) if t <= until]
        return frozenset(name for each in self.entries_of(times) for name in Logged.files_in(each.payload))

    @contextmanager
    def _filling(self) -> Iterator[sa.Connection]:
        with self.engine.execution_options(isolation_level="READ COMMITTED").begin() as connection:
            # Reading what comes next may take longer than others would wait for.
            connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            connection.exec_driver_sql(tables.TURN)
            if connection.exec_driver_sql("SELECT 1 FROM transactions LIMIT 1").first() is not None:
                raise invalid_argument(
                    "there is a database already; a backup is restored into an empty one (createdb NAME). Nothing "
                    "was changed"
                )
            yield connection

    def scrub(self) -> bool:
        """The server looks after its own pages: VACUUM FULL is its operator's."""
        return True

    def faults(self) -> list[str]:
        """The server looks after its own pages."""
        return []

    # Others

    def listen(self) -> _Notified:
        try:
            return _Notified(self._connect(), self._own)
        except psycopg.Error as error:
            raise _unheard(error) from error

    def close(self) -> None:
        self._alive.close()
        if self._writing is not None:
            self._writing.close()
        super().close()

    def _unreadable(self, error: sa.exc.SQLAlchemyError) -> AdalogError:
        if isinstance(error, sa.exc.TimeoutError):
            return unavailable("the log cannot be read: too many read it at once")
        return self._unread(error)

    def _unread(self, error: BaseException) -> AdalogError:
        why = self._told.tell("the log cannot be read", error)
        return UnusableError(f"the log cannot be read: {why}", why, retryable=True)

    def _refused(self, error: psycopg.Error) -> AdalogError:
        if isinstance(error, errors.ReadOnlySqlTransaction):
            return AdalogError(
                Code.READ_ONLY,
                "nothing was applied: the PostgreSQL server takes no writes at the moment; reading goes on",
                retryable=True,
            )
        if isinstance(error, errors.LockNotAvailable):
            return unavailable(
                f"nothing was applied: others have had the turn to write to the log for {_LOCK_SECONDS} seconds"
            )
        why = self._told.tell("nothing was applied: the log could not be written", error)
        return unavailable(f"nothing was applied: the log could not be written: {why}")


class _Notified:
    """LISTEN on a connection of its own."""

    def __init__(self, connection: psycopg.Connection[Any], own: str) -> None:
        self._connection = connection
        self._own = own.encode()
        try:
            (name,) = connection.execute(b"SELECT 'adalog_' || 'transactions'::regclass::oid").fetchone() or ("",)
            connection.execute(b"LISTEN " + bytes(name, "ascii"))
        except BaseException:
            connection.close()
            raise

    def fileno(self) -> int:
        return self._connection.fileno()

    def heard(self) -> bool:
        found, connection = False, self._connection.pgconn
        try:
            connection.consume_input()
            while (notice := connection.notifies()) is not None:
                found = found or notice.extra != self._own
        except psycopg.Error as error:
            raise _unheard(error) from error
        if connection.status != pq.ConnStatus.OK:
            raise unavailable("the connection to PostgreSQL is lost")
        return found

    def close(self) -> None:
        self._connection.close()


class _Alive:
    """Gives a sign of life on the connection of a turn that takes long, so that the server does not end it. A
    process that is stopped gives none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        self._since = 0.0
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="adalog-alive", daemon=True)
        self._thread.start()

    @contextmanager
    def while_(self, connection: psycopg.Connection[Any]) -> Iterator[None]:
        with self._lock:
            self._connection, self._since = connection, time.monotonic()
        try:
            yield
        finally:
            with self._lock:
                self._connection = None

    def close(self) -> None:
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.wait(_SIGN_SECONDS):
            with self._lock:
                if self._connection is not None and time.monotonic() > self._since + _SIGN_SECONDS:
                    with suppress(psycopg.Error):
                        self._connection.execute(b"SELECT 1", prepare=False)


def _check_durable(connection: psycopg.Connection[Any]) -> None:
    """Has commits be on disk when they are answered, whatever the server's default."""
    found = connection.execute("SELECT current_setting('synchronous_commit'), current_setting('fsync')").fetchone()
    assert found is not None, "a row"
    synchronous, fsync = found
    if synchronous == "off":
        connection.execute("SET synchronous_commit = on")
    if fsync == "off" and not _warned:
        _warned.append(True)
        _LOGGER.warning(
            "PostgreSQL runs with fsync = off: transactions that were answered may be lost with its machine"
        )


_warned: Final[list[bool]] = []


def _unheard(error: psycopg.Error) -> AdalogError:
    """Of hints, of which the log alone hears."""
    return unavailable(f"PostgreSQL says: {said(error)}")
