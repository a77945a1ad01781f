"""The log: every transaction's datoms in the order of t, one row each. The truth that everything else is made from.

An append is one insert per transaction and one commit for all of them; `t` is the primary key, so of two writers
one loses and hears of it. Rows carry a chained checksum: a row changed, lost or put in by other hands is noticed. A
commit that fails may have happened: that is `InDoubtError`, and `settle` finds out.

Idempotency keys are in a table beside it, written by the same commits, which remembers them for a while only.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from datalog.errors import AdalogError, Code
from store.private import opener

_METADATA: Final = sa.MetaData()
_TRANSACTIONS: Final = sa.Table(
    "transactions",
    _METADATA,
    sa.Column("t", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("instant", sa.BigInteger, nullable=False),
    # Of versions that remembered keys for ever; later ones leave it empty.
    sa.Column("idempotency_key", sa.Text, unique=True, nullable=True),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sa.Column("checksum", sa.BigInteger, nullable=False),
)
# at: when it was used, in milliseconds since 1970. digest: NULL where an older version used it.
_KEYS: Final = sa.Table(
    "idempotency_keys",
    _METADATA,
    sa.Column("t", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("key", sa.Text, unique=True, nullable=False),
    sa.Column("digest", sa.Text, nullable=True),
    sa.Column("at", sa.BigInteger, nullable=False, index=True),
)
# Files that entries name: part of the log, though they lie beside it.
_FILES: Final = sa.Table(
    "files",
    _METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("t", sa.BigInteger, nullable=False),
)
_IDENTITY: Final = sa.Table("identity", _METADATA, sa.Column("id", sa.Text, primary_key=True))
_PAGE: Final = 2000
# For those who may stop early; a transaction may be long.
_FEW: Final = 16
_END: Final = 1 << 62
# The last entries whose checksums are at hand.
_REMEMBERED: Final = 4_096
_INSERT: Final = _TRANSACTIONS.insert()
_INSERT_KEYS: Final = _KEYS.insert().prefix_with("OR REPLACE")
_COLUMNS: Final = _TRANSACTIONS.c
# Of a key, whether it was used too long ago.
_FORGOTTEN: Final = sa.or_(_KEYS.c.t <= sa.bindparam("last_t"), _KEYS.c.at <= sa.bindparam("last_at"))
# At most so many at once, which is more than an append adds: nobody waits long for it.
_FORGET: Final = sa.delete(_KEYS).where(_KEYS.c.t.in_(sa.select(_KEYS.c.t).where(_FORGOTTEN).limit(1000)))
_USE: Final = sa.select(_KEYS.c.t, _KEYS.c.key, _KEYS.c.digest).where(
    _KEYS.c.key == sa.bindparam("used_key"), ~_FORGOTTEN
)


# Errors of a commit that end it before its last page is in the file, without which nothing of it counts.
_NOTHING_WRITTEN: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE})
_BUSY_MS: Final = 1000


class InDoubtError(Exception):
    """A commit failed, and the log may hold its entries or not. The message is the disk's or server's."""


class KeyMemory(NamedTuple):
    """How long idempotency keys are remembered: those of so many last transactions, for so many seconds."""

    transactions: int = 1_000_000
    seconds: int = 86_400


class UsedKey(NamedTuple):
    """An idempotency key, and the digest of what was sent with it, None where that is not known."""

    key: str
    digest: str | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One transaction as the log keeps it. instant: milliseconds since 1970. row_key: its idempotency key where an
    older version put it into the row. used: its idempotency key; what is read back has none. files: the
    names of the files that its payload names; what is read back does not repeat them.
    """

    t: int
    instant: int
    row_key: str | None
    payload: bytes
    used: UsedKey | None = None
    files: Sequence[str] = ()


_KEY_MEMORY: Final = KeyMemory()


class Log:
    """Entries 1, 2, 3 … without a gap. One thread appends; any number read."""

    def __init__(self, engine: sa.Engine, keys: KeyMemory = _KEY_MEMORY, files_folder: Path | None = None) -> None:
        """files_folder: where the files are that entries name."""
        self.files_folder = files_folder
        self._engine = engine
        self._keys = keys
        self.checksum = 0
        # Of the last entries, by their t.
        self._last: dict[int, int] = {}
        # Appends that failed, by what came of them.
        self.failures = Counter({"not_applied": 0, "unknown": 0})
        # An in-memory database has one connection, which readers and the writer take turns at.
        self._in_memory = isinstance(engine.pool, StaticPool)
        self._turn: AbstractContextManager[object] = threading.RLock() if self._in_memory else nullcontext()
        with self._connection() as connection:
            has_keys = sa.inspect(connection).has_table(_KEYS.name)
            _METADATA.create_all(connection)
            if not has_keys:
                old = sa.select(_COLUMNS.t, _COLUMNS.idempotency_key, sa.null(), _COLUMNS.instant)
                connection.execute(
                    _KEYS.insert().from_select(list(_KEYS.c), old.where(_COLUMNS.idempotency_key.is_not(None)))
                )
            self.identity = _identity_in(connection)
            connection.commit()

    @staticmethod
    def in_memory(keys: KeyMemory = _KEY_MEMORY) -> Log:
        """A log that ends with the process."""
        arguments = {"check_same_thread": False}
        return Log(sa.create_engine("sqlite://", poolclass=StaticPool, connect_args=arguments), keys)

    @staticmethod
    def in_file(path: Path, keys: KeyMemory = _KEY_MEMORY, files_folder: Path | None = None) -> Log:
        """A log in an SQLite file, with the files it names in a folder; a commit that returned is on disk."""
        if not path.exists():
            # SQLite would make it readable to all, and its journals are as open as it is.
            os.close(opener(str(path), os.O_RDWR | os.O_CREAT))
        engine = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": 30})
        sa.event.listen(engine, "connect", _configure_sqlite)
        try:
            return Log(engine, keys, files_folder)
        except sa.exc.DatabaseError as error:
            engine.dispose()
            raise _unreadable(path.name, error) from None

    @staticmethod
    def reading(path: Path, files_folder: Path) -> Log:
        """The log of an SQLite file that another process may write to meanwhile; nothing may be appended."""
        address = f"sqlite:///file:{quote(str(path.absolute()))}?mode=ro&uri=true"
        engine = sa.create_engine(address, connect_args={"timeout": 30})
        try:
            return Log(engine, files_folder=files_folder)
        except sa.exc.DatabaseError as error:
            engine.dispose()
            raise _unreadable(path.name, error) from None

    @contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        with self._turn, self._engine.connect() as connection:
            yield connection

    def append(self, entries: Sequence[Entry]) -> None:
        """Make entries durable, all or none. They continue the log.

        Raises BACKEND_UNAVAILABLE where the disk or server refuses and nothing of them is kept, InDoubtError where
        that is not known. After that `settle` comes before any other append.
        """
        checksum, rows = self.checksum, []
        chained: list[tuple[int, int]] = []
        for entry in entries:
            checksum = _chained(checksum, entry)
            chained.append((entry.t, checksum))
            rows.append(
                {
                    "t": entry.t,
                    "instant": entry.instant,
                    "payload": entry.payload,
                    "checksum": checksum,
                }
            )
        used = [
            {"t": entry.t, "key": entry.used.key, "digest": entry.used.digest, "at": _now()}
            for entry in entries
            if entry.used is not None
        ]
        files = [{"name": name, "t": entry.t} for entry in entries for name in entry.files]
        committing = False
        try:
            with self._connection() as connection:
                connection.execute(_INSERT, rows)
                if files:
                    connection.execute(_FILES.insert(), files)
                if used:
                    connection.execute(_FORGET, self._oldest(entries[-1].t))
                    connection.execute(_INSERT_KEYS, used)
                committing = True
                connection.commit()
        except sa.exc.SQLAlchemyError as error:
            cause = error.__cause__ or error
            if committing and getattr(cause, "sqlite_errorcode", None) not in _NOTHING_WRITTEN:
                self.failures["unknown"] += 1
                raise InDoubtError(str(cause)) from error
            self.failures["not_applied"] += 1
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE, f"nothing was applied: the log could not be written ({cause})"
            ) from error
        for t, each in chained:
            self._continue(t, each)

    def settle(self, t: int) -> list[Entry]:
        """Makes certain what a commit in doubt left, and reads what the log holds after t, the last entry known.

        Whatever it holds is on disk then. Raises BACKEND_UNAVAILABLE where the disk still fails, INTERNAL where
        entry t is not there any more.
        """
        known = self.checksum
        try:
            if not self._in_memory:
                self._rewrite()
            found = self._stored_checksum(t)
        except sa.exc.SQLAlchemyError as error:
            raise AdalogError(Code.BACKEND_UNAVAILABLE, str(error.__cause__ or error)) from error
        if found != known:
            raise _damaged("the log", f"transaction {t}, which was on disk, is not there any more")
        try:
            return list(self.replay(t, known))
        except AdalogError:
            self.checksum = known
            raise

    def _rewrite(self) -> None:
        # Connections remember a log that ends before the commit in doubt; new ones read the files.
        self._engine.dispose()
        with self._connection() as connection:
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {_BUSY_MS}")
            # An fsync that failed may succeed the next time without having written anything: only pages written now
            # are sure to be on disk. The checkpoint writes the table's and empties SQLite's own log, and the update
            # writes the first of its new one, which no page of the old one fits.
            busy, *_ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
            if busy:
                raise sa.exc.TimeoutError("somebody reads the log for too long")
            connection.execute(sa.update(_IDENTITY).values(id=_IDENTITY.c.id))
            connection.commit()
        self._engine.dispose()

    def replay(self, after: int, checksum: int) -> Iterator[Entry]:
        """Every entry with t > after, oldest first, each checked; `checksum` is that of entry `after`.

        Raises INTERNAL for a gap or a row that is not what was written.
        """
        self._continue(after, checksum)
        for entry, verified in self._checked(after, _END, checksum):
            self._continue(entry.t, verified)
            yield entry

    def _continue(self, t: int, checksum: int) -> None:
        """The log goes on after entry t."""
        self.checksum = self._last[t] = checksum
        self._last.pop(t - _REMEMBERED, None)

    def entries(self, start: int, stop: int, limit: int) -> Iterator[Entry]:
        """At most `limit` entries with start <= t < stop, oldest first, each checked as in `replay`."""
        checksum = self.checksum_at(start - 1)
        if checksum is None:
            return iter(())
        return islice((entry for entry, _ in self._checked(start - 1, stop, checksum, _FEW)), limit)

    def _checked(self, after: int, before: int, checksum: int, page: int = _PAGE) -> Iterator[tuple[Entry, int]]:
        expected = after + 1
        for entry, stored in self._rows(after, before, page):
            if entry.t != expected:
                raise _damaged("the log", f"transaction {expected} is missing before {entry.t}")
            checksum = _chained(checksum, entry)
            if checksum != stored:
                raise _damaged("the log", f"transaction {entry.t} is not what was written")
            expected += 1
            yield entry, checksum

    def _rows(self, after: int, before: int, most: int) -> Iterator[tuple[Entry, int]]:
        """`most`: how many are read, and held, at once."""
        size = most
        while size == most:
            query = sa.select(_TRANSACTIONS).where(_COLUMNS.t > after, _COLUMNS.t < before)
            try:
                with self._connection() as connection:
                    page = connection.execute(query.order_by(_COLUMNS.t).limit(most)).all()
            except sa.exc.DatabaseError as error:
                raise _unreadable("the log", error) from None
            for t, instant, key, payload, checksum in page:
                after = t
                yield Entry(t, instant, key, payload), checksum
            size = len(page)

    def use_of(self, idempotency_key: str, last: int) -> tuple[int, UsedKey] | None:
        """The transaction that a key was used for, if that is remembered. last: the newest transaction."""
        try:
            with self._connection() as connection:
                found = connection.execute(_USE, {"used_key": idempotency_key, **self._oldest(last)}).first()
        except sa.exc.DatabaseError as error:
            raise _unreadable("the log", error) from None
        if found is None:
            return None
        t, key, digest = found
        return t, UsedKey(key, digest)

    def _oldest(self, last: int) -> dict[str, int]:
        """The last transaction and moment whose keys are forgotten when `last` is the newest transaction."""
        return {"last_t": last - self._keys.transactions, "last_at": _now() - 1000 * self._keys.seconds - 1}

    def checksum_at(self, t: int) -> int | None:
        """The chained checksum of entry t, 0 before the first, None where the log has no such entry.

        Raises BACKEND_UNAVAILABLE and INTERNAL where the log cannot be read.
        """
        try:
            return self._stored_checksum(t)
        except sa.exc.SQLAlchemyError as error:
            raise _unreadable("the log", error) from None

    def recent_checksum(self, t: int) -> int | None:
        """The same of one of the last entries, which is at hand; None where t is none of them."""
        return 0 if t == 0 else self._last.get(t)

    def _stored_checksum(self, t: int) -> int | None:
        if t == 0:
            return 0
        with self._connection() as connection:
            found: int | None = connection.execute(sa.select(_COLUMNS.checksum).where(_COLUMNS.t == t)).scalar()
        return found

    def files(self) -> frozenset[str]:
        """The names of all files that entries name."""
        with self._connection() as connection:
            return frozenset(connection.execute(sa.select(_FILES.c.name)).scalars())

    def nbytes(self, start: int, stop: int, limit: int) -> int:
        """The bytes of the payloads of at most `limit` entries with start <= t < stop, none of which is read."""
        found = sa.select(sa.func.length(_COLUMNS.payload).label("size")).where(
            _COLUMNS.t >= start, _COLUMNS.t < stop
        )
        first = found.order_by(_COLUMNS.t).limit(limit).subquery()
        try:
            with self._connection() as connection:
                size: int | None = connection.execute(sa.select(sa.func.sum(first.c.size))).scalar()
        except sa.exc.DatabaseError as error:
            raise _unreadable("the log", error) from None
        return size or 0

    def extent(self, after: int) -> tuple[int, int]:
        """How many entries there are after t, and the bytes of their payloads, none of which is read."""
        found = sa.select(sa.func.count(), sa.func.sum(sa.func.length(_COLUMNS.payload))).where(_COLUMNS.t > after)
        try:
            with self._connection() as connection:
                count, nbytes = connection.execute(found).one()
        except sa.exc.DatabaseError as error:
            raise _unreadable("the log", error) from None
        return count, nbytes or 0

    def instant_at(self, t: int) -> int | None:
        """When entry t was written, in milliseconds since 1970; None where the log has no such entry."""
        query = sa.select(_COLUMNS.instant).where(_COLUMNS.t == t)
        try:
            with self._connection() as connection:
                found: int | None = connection.execute(query).scalar()
        except sa.exc.DatabaseError as error:
            raise _unreadable("the log", error) from None
        return found

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()


def _now() -> int:
    """Milliseconds since 1970."""
    return int(time.time() * 1000)


def _identity_in(connection: sa.Connection) -> str:
    """What the database is told from others by, where they share a cache: given to it once."""
    found: str | None = connection.execute(sa.select(_IDENTITY.c.id).order_by(_IDENTITY.c.id).limit(1)).scalar()
    if found is None:
        found = uuid4().hex
        connection.execute(_IDENTITY.insert(), {"id": found})
    return found


def _configure_sqlite(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def _chained(previous: int, entry: Entry) -> int:
    head = f"{entry.t} {entry.instant} {entry.row_key!r} ".encode()
    return zlib.crc32(entry.payload, zlib.crc32(head, previous))


def _unreadable(what: str, error: sa.exc.SQLAlchemyError) -> AdalogError:
    if isinstance(error, sa.exc.TimeoutError):
        return AdalogError(Code.BACKEND_UNAVAILABLE, f"{what} cannot be read: too many read it at once")
    if isinstance(error, sa.exc.OperationalError):
        return AdalogError(
            Code.BACKEND_UNAVAILABLE, f"{what} cannot be read or written; SQLite says: {error.__cause__}"
        )
    return _damaged(what, f"SQLite says: {error.__cause__}")


def _damaged(what: str, why: str) -> AdalogError:
    return AdalogError(
        Code.INTERNAL,
        f"{what} is damaged: {why}. Nothing was changed; restore the data folder from a backup",
    )
