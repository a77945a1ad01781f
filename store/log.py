"""The log: every transaction's datoms in the order of t, one row each. The truth that everything else is made from.

An append is one insert per transaction and one commit for all of them; `t` is the primary key, so of two writers
one loses and hears of it. Rows carry a chained checksum: a row changed, lost or put in by other hands is noticed.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from datalog.errors import AdalogError, Code

_METADATA: Final = sa.MetaData()
_TRANSACTIONS: Final = sa.Table(
    "transactions",
    _METADATA,
    sa.Column("t", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("instant", sa.BigInteger, nullable=False),
    sa.Column("idempotency_key", sa.Text, unique=True, nullable=True),
    sa.Column("payload", sa.LargeBinary, nullable=False),
    sa.Column("checksum", sa.BigInteger, nullable=False),
)
_IDENTITY: Final = sa.Table("identity", _METADATA, sa.Column("id", sa.Text, primary_key=True))
_PAGE: Final = 2000
# For those who may stop early; a transaction may be long.
_FEW: Final = 16
_END: Final = 1 << 62
_INSERT: Final = _TRANSACTIONS.insert()
_COLUMNS: Final = _TRANSACTIONS.c


@dataclass(frozen=True, slots=True)
class Entry:
    """One transaction as the log keeps it. instant: milliseconds since 1970."""

    t: int
    instant: int
    idempotency_key: str | None
    payload: bytes


class Log:
    """Entries 1, 2, 3 … without a gap. One thread appends; any number read."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._checksum = 0
        # An in-memory database has one connection, which readers and the writer take turns at.
        shared = isinstance(engine.pool, StaticPool)
        self._turn: AbstractContextManager[object] = threading.RLock() if shared else nullcontext()
        with self._connection() as connection:
            _METADATA.create_all(connection)
            self.identity = _identity_in(connection)
            connection.commit()

    @staticmethod
    def in_memory() -> Log:
        """A log that ends with the process."""
        return Log(sa.create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}))

    @staticmethod
    def in_file(path: Path) -> Log:
        """A log in an SQLite file; a commit that returned is on disk."""
        engine = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": 30})
        sa.event.listen(engine, "connect", _configure_sqlite)
        try:
            return Log(engine)
        except sa.exc.DatabaseError as error:
            engine.dispose()
            raise _damaged(path.name, f"SQLite says: {error.__cause__}") from None

    @contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        with self._turn, self._engine.connect() as connection:
            yield connection

    def append(self, entries: Sequence[Entry]) -> None:
        """Make entries durable, all or none. They continue the log.

        Raises BACKEND_UNAVAILABLE where the disk or server refuses; nothing of them is kept then.
        """
        checksum, rows = self._checksum, []
        for entry in entries:
            checksum = _chained(checksum, entry)
            rows.append(
                {
                    "t": entry.t,
                    "instant": entry.instant,
                    "idempotency_key": entry.idempotency_key,
                    "payload": entry.payload,
                    "checksum": checksum,
                }
            )
        try:
            with self._connection() as connection:
                connection.execute(_INSERT, rows)
                connection.commit()
        except sa.exc.SQLAlchemyError as error:
            if self._kept(entries[-1].t, checksum):
                self._checksum = checksum
                return
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE,
                f"nothing was applied: the log could not be written ({error.__cause__ or error})",
            ) from error
        self._checksum = checksum

    def _kept(self, t: int, checksum: int) -> bool:
        """Whether a commit that reported an error happened all the same."""
        try:
            with self._connection() as connection:
                found = connection.execute(sa.select(_COLUMNS.checksum).where(_COLUMNS.t == t)).scalar()
        except sa.exc.SQLAlchemyError:
            return False
        return bool(found == checksum)

    def replay(self, after: int, checksum: int) -> Iterator[Entry]:
        """Every entry with t > after, oldest first, each checked; `checksum` is that of entry `after`.

        Raises INTERNAL for a gap or a row that is not what was written.
        """
        self._checksum = checksum
        for entry, verified in self._checked(after, _END, checksum):
            self._checksum = verified
            yield entry

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
                raise _damaged("the log", f"SQLite says: {error.__cause__}") from None
            for t, instant, key, payload, checksum in page:
                after = t
                yield Entry(t, instant, key, payload), checksum
            size = len(page)

    def t_of_key(self, idempotency_key: str) -> int | None:
        """The transaction that an idempotency key was used for."""
        with self._connection() as connection:
            query = sa.select(_COLUMNS.t).where(_COLUMNS.idempotency_key == idempotency_key)
            found: int | None = connection.execute(query).scalar()
        return found

    def checksum_at(self, t: int) -> int | None:
        """The chained checksum of entry t, 0 before the first, None where the log has no such entry."""
        if t == 0:
            return 0
        with self._connection() as connection:
            found: int | None = connection.execute(sa.select(_COLUMNS.checksum).where(_COLUMNS.t == t)).scalar()
        return found

    def close(self) -> None:
        """Let go of the file."""
        self._engine.dispose()


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
    head = f"{entry.t} {entry.instant} {entry.idempotency_key!r} ".encode()
    return zlib.crc32(entry.payload, zlib.crc32(head, previous))


def _damaged(what: str, why: str) -> AdalogError:
    return AdalogError(
        Code.INTERNAL,
        f"{what} is damaged: {why}. Nothing was changed; restore the data folder from a backup",
    )
