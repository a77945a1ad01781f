"""The log: every transaction's datoms in the order of t, one row each. The truth that everything else is made from.

An append is one insert per transaction and one commit for all of them; `t` is the primary key, so of two writers
one loses and hears of it. Where several processes append to one log they do it in turns: whoever has the turn reads
what it missed, and nobody else appends until it is over. Rows carry a chained checksum: a row changed, lost or put
in by other hands is noticed. A commit that fails may have happened: that is `InDoubtError`, and `settle` finds out.

Idempotency keys are in a table beside it, written by the same commits, which remembers them for a while only.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from datalog.errors import AdalogError, Code
from store.dictionary import SECRET_BYTES
from store.hints import Hint, SocketHint
from store.imported import LoggedFile
from store.payload import Logged
from store.private import opener
from store.segment import Segment
from store.tables import (
    DICTIONARIES,
    FILES,
    FORGET,
    FORGOTTEN,
    IDENTITY,
    INSERT,
    INSERT_KEYS,
    KEYS,
    SECRETS,
    TRANSACTIONS,
    identity_in,
    prepare_file,
    secret_in,
)

# Entries that are read, and held, at once.
PAGE: Final = 2000
# Bytes of payloads that are copied at once, more or less.
_PIECE: Final = 8 << 20
# Of one statement's parameters, which SQLite bounds.
_FEW_KEYS: Final = 2000
# For those who may stop early; a transaction may be long.
_FEW: Final = 16
_END: Final = 1 << 62
# The last entries whose checksums are at hand.
_REMEMBERED: Final = 4_096
_COLUMNS: Final = TRANSACTIONS.c
_ROW: Final = sa.select(
    _COLUMNS.t, _COLUMNS.instant, _COLUMNS.idempotency_key, _COLUMNS.payload, _COLUMNS.checksum
).order_by(_COLUMNS.t)
_USE: Final = sa.select(KEYS.c.t, KEYS.c.key, KEYS.c.digest).where(
    KEYS.c.key == sa.bindparam("used_key"), ~FORGOTTEN
)

# Errors of a commit that end it before its last page is in the file, without which nothing of it counts.
_NOTHING_WRITTEN: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE})
_BUSY_MS: Final = 1000
_WAIT_SECONDS: Final = 30
# How long one waits for its turn, and how soon it looks again, in seconds.
_TURN_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = (0.0002, 0.005)


class InDoubtError(Exception):
    """A commit failed, and the log may hold its entries or not. The message is the disk's or server's. number: of
    the append."""

    def __init__(self, why: str, number: int) -> None:
        super().__init__(why)
        self.number = number


class OvertakenError(Exception):
    """Somebody else appended at these places of the log, and nothing was applied. It is to be resolved again."""


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


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to append after `missed`, the entries that others appended meanwhile. Only who has taken these over
    may append, once. is_behind: there are more of them, so that nothing can be appended in this turn.

    use_of: as `Log.use_of`.
    """

    append: Callable[[Sequence[Entry]], None]
    use_of: Callable[[str, int], tuple[int, UsedKey] | None]
    missed: Sequence[Entry] = ()
    is_behind: bool = False


_KEY_MEMORY: Final = KeyMemory()


class Copied(NamedTuple):
    """An entry with all that the log has of it: the chained checksum, and when its idempotency key was used, in
    milliseconds since 1970, None without one."""

    entry: Entry
    checksum: int
    used_at: int | None


class Log:
    """Entries 1, 2, 3 … without a gap. One thread appends; any number read.

    is_shared: other processes append, too. settling: for how many seconds whoever is in doubt may wait for
    certainty.
    """

    is_shared = False
    # What dictionaries key their hashes with, where several processes are to read each other's; None: as they like.
    dictionary_secret: bytes | None = None
    settling = 0.0
    # What is said of it where it does not work.
    failed = "the disk failed"

    def __init__(
        self,
        engine: sa.Engine,
        keys: KeyMemory = _KEY_MEMORY,
        files_folder: Path | None = None,
        *,
        prepare: Callable[[sa.Connection], None] = prepare_file,
    ) -> None:
        """files_folder: where the files are that entries name. prepare: makes the tables."""
        self.files_folder = files_folder
        # Has files that entries name be in the folder, where they are kept elsewhere; `keep` puts new ones there.
        self.bring: Callable[[Sequence[Segment]], None] | None = None
        self.keep: Callable[[Sequence[Segment]], None] | None = None
        self._engine = engine
        self._keys = keys
        # Of the last entry that is known here.
        self.t = 0
        self.checksum = 0
        # Of the last entries, by their t.
        self._last: dict[int, int] = {}
        # Appends that failed, by what came of them.
        self.failures = Counter({"not_applied": 0, "unknown": 0})
        # An in-memory database has one connection, which readers and the writer take turns at.
        self._in_memory = isinstance(engine.pool, StaticPool)
        self._lock: AbstractContextManager[object] = threading.RLock() if self._in_memory else nullcontext()
        with self._connection() as connection:
            prepare(connection)
            self.identity = identity_in(connection)
            connection.commit()

    @staticmethod
    def in_memory(keys: KeyMemory = _KEY_MEMORY) -> Log:
        """A log that ends with the process."""
        arguments = {"check_same_thread": False}
        return Log(sa.create_engine("sqlite://", poolclass=StaticPool, connect_args=arguments), keys)

    @staticmethod
    def in_file(path: Path, keys: KeyMemory = _KEY_MEMORY, files_folder: Path | None = None) -> Log:
        """A log in an SQLite file, with the files it names in a folder; a commit that returned is on disk."""
        return _opened(path, lambda engine: Log(engine, keys, files_folder))

    @staticmethod
    def shared_file(
        path: Path, peers: Path, keys: KeyMemory = _KEY_MEMORY, files_folder: Path | None = None
    ) -> Log:
        """The same for several processes of this machine. peers: the folder in which they hear of each other."""
        return _opened(path, lambda engine: SharedFileLog(engine, peers, keys, files_folder))

    @staticmethod
    def reading(path: Path, files_folder: Path) -> Log:
        """The log of an SQLite file that another process may write to meanwhile; nothing may be appended."""
        address = f"sqlite:///file:{quote(str(path.absolute()))}?mode=ro&uri=true"
        engine = sa.create_engine(address, connect_args={"timeout": _WAIT_SECONDS})
        try:
            return Log(engine, files_folder=files_folder, prepare=lambda _: None)
        except sa.exc.DatabaseError as error:
            engine.dispose()
            raise _unreadable(path.name, error) from None

    @staticmethod
    def to_fill(path: Path, files_folder: Path) -> Log:
        """A new log in an SQLite file, for `fill`: it is sure to be on disk after `close` and an fsync."""
        os.close(opener(str(path), os.O_RDWR | os.O_CREAT | os.O_EXCL))
        engine = sa.create_engine(f"sqlite:///{path}")
        sa.event.listen(engine, "connect", _configure_filling)
        return Log(engine, files_folder=files_folder)

    @contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        with self._lock, self._engine.connect() as connection:
            yield connection

    def listen(self) -> Hint | None:
        """Something that tells when others appended; None where nobody else does. Raises where it cannot be had."""
        return None

    def turn(self, keys: Sequence[str] = ()) -> AbstractContextManager[Turn]:
        """The right to append. Whatever is not appended within it never is. keys: idempotency keys that `use_of`
        will be asked for.

        Raises BACKEND_UNAVAILABLE where it cannot be had.
        """
        return nullcontext(Turn(self.append, self.use_of))

    def missed(self) -> Sequence[Entry]:
        """What others appended after the last entry known here, at most PAGE entries. Raises as `replay` does."""
        return list(islice(self.replay(self.t, self.checksum), PAGE))

    def append(self, entries: Sequence[Entry]) -> None:
        """Make entries durable, all or none. They continue the log.

        Raises BACKEND_UNAVAILABLE where the disk or server refuses and nothing of them is kept, InDoubtError where
        that is not known. After that `settle` comes before any other append.
        """
        with self._connection() as connection:
            self._append_on(connection, entries)

    def _append_on(self, connection: sa.Connection, entries: Sequence[Entry]) -> None:
        chained, number = self._chained(entries), secrets.randbits(62)
        rows = [
            {
                "t": entry.t,
                "instant": entry.instant,
                "payload": entry.payload,
                "checksum": checksum,
                "append": number,
            }
            for entry, checksum in zip(entries, chained, strict=True)
        ]
        used = [
            {"t": entry.t, "key": entry.used.key, "digest": entry.used.digest, "at": now_ms()}
            for entry in entries
            if entry.used is not None
        ]
        files = [{"name": name, "t": entry.t} for entry in entries for name in entry.files]
        committing = False
        try:
            connection.execute(INSERT, rows)
            if files:
                connection.execute(FILES.insert(), files)
            if used:
                connection.execute(FORGET, self._oldest(entries[-1].t))
                connection.execute(INSERT_KEYS, used)
            committing = True
            connection.commit()
        except sa.exc.SQLAlchemyError as error:
            cause = error.__cause__ or error
            if committing and getattr(cause, "sqlite_errorcode", None) not in _NOTHING_WRITTEN:
                self.failures["unknown"] += 1
                raise InDoubtError(str(cause), number) from error
            self.failures["not_applied"] += 1
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE, f"nothing was applied: the log could not be written ({cause})"
            ) from error
        self._appended(entries, chained)

    def _chained(self, entries: Sequence[Entry]) -> list[int]:
        """The checksums of entries that continue the log."""
        checksum, found = self.checksum, []
        for entry in entries:
            checksum = chained(checksum, entry)
            found.append(checksum)
        return found

    def _appended(self, entries: Sequence[Entry], chained: Sequence[int]) -> None:
        for entry, checksum in zip(entries, chained, strict=True):
            self._continue(entry.t, checksum)

    def has_append(self, t: int, number: int) -> bool:
        """Whether entry t was written by the append of that number. Raises BACKEND_UNAVAILABLE."""
        query = sa.select(_COLUMNS.append).where(_COLUMNS.t == t)
        try:
            with self._connection() as connection:
                return connection.execute(query).scalar() == number
        except sa.exc.SQLAlchemyError as error:
            raise AdalogError(Code.BACKEND_UNAVAILABLE, str(error.__cause__ or error)) from error

    def settle(self, t: int) -> list[Entry]:
        """Makes certain what a commit in doubt left, and reads what the log holds after t, the last entry known.

        Whatever it holds is on disk then. Raises BACKEND_UNAVAILABLE where the disk still fails, INTERNAL where
        entry t is not there any more.
        """
        known = self.checksum
        assert t == self.t, "the last entry that is known here"
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
            self.t, self.checksum = t, known
            raise

    def _rewrite(self) -> None:
        # Connections remember a log that ends before the commit in doubt; new ones read the files.
        self._engine.dispose()
        kept = nullcontext() if self.is_shared else _write_ahead_kept(self._engine)
        with kept, self._connection() as connection:
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {_BUSY_MS}")
            # An fsync that failed may succeed the next time without having written anything: only pages written now
            # are sure to be on disk. The checkpoint writes the table's and empties SQLite's own log, and the update
            # writes the first of its new one, which no page of the old one fits.
            busy, *_ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
            if busy:
                raise sa.exc.TimeoutError("somebody reads the log for too long")
            connection.execute(sa.update(IDENTITY).values(id=IDENTITY.c.id))
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

    def _verified(self, known: int | None, rows: Sequence[tuple[Any, ...]]) -> list[Entry]:
        """The rows that follow the last entry known here, which has the checksum `known` in the log, as entries.
        Raises INTERNAL where they do not."""
        if self.t and known != self.checksum:
            raise _damaged("the log", f"transaction {self.t}, which was read from it, is not there any more")
        found = []
        for t, instant, key, payload, stored in rows:
            entry = Entry(t, instant, key, bytes(payload))
            if t != self.t + 1:
                raise _damaged("the log", f"transaction {self.t + 1} is missing before {t}")
            checksum = chained(self.checksum, entry)
            if checksum != stored:
                raise _damaged("the log", f"transaction {t} is not what was written")
            self._continue(t, checksum)
            found.append(entry)
        return found

    def go_back(self, t: int) -> None:
        """Has the last entry known here be one that was known before."""
        checksum = self.recent_checksum(t)
        assert checksum is not None, "one of the last"
        self._continue(t, checksum)

    def _continue(self, t: int, checksum: int) -> None:
        """The log goes on after entry t."""
        self.t = t
        self.checksum = self._last[t] = checksum
        self._last.pop(t - _REMEMBERED, None)

    def entries(self, start: int, stop: int, limit: int) -> Iterator[Entry]:
        """At most `limit` entries with start <= t < stop, oldest first, each checked as in `replay`."""
        checksum = self.checksum_at(start - 1)
        if checksum is None:
            return iter(())
        return islice((entry for entry, _ in self._checked(start - 1, stop, checksum, _FEW)), limit)

    def _checked(self, after: int, before: int, checksum: int, page: int = PAGE) -> Iterator[tuple[Entry, int]]:
        expected = after + 1
        for entry, stored in self._rows(after, before, page):
            if entry.t != expected:
                raise _damaged("the log", f"transaction {expected} is missing before {entry.t}")
            checksum = chained(checksum, entry)
            if checksum != stored:
                raise _damaged("the log", f"transaction {entry.t} is not what was written")
            expected += 1
            yield entry, checksum

    def _rows(self, after: int, before: int, most: int) -> Iterator[tuple[Entry, int]]:
        """`most`: how many are read, and held, at once."""
        size = most
        while size == most:
            query = _ROW.where(_COLUMNS.t > after, _COLUMNS.t < before).limit(most)
            try:
                with self._connection() as connection:
                    page = connection.execute(query).all()
            except sa.exc.SQLAlchemyError as error:
                raise self._unreadable(error) from None
            for t, instant, key, payload, checksum in page:
                after = t
                yield Entry(t, instant, key, payload), checksum
            size = len(page)

    def newest(self) -> int:
        """The number of the newest entry, 0 where there is none."""
        try:
            with self._connection() as connection:
                found: int | None = connection.execute(sa.select(sa.func.max(_COLUMNS.t))).scalar()
        except sa.exc.SQLAlchemyError as error:
            raise self._unreadable(error) from None
        return found or 0

    def copied(self, after: int, until: int) -> Iterator[Copied]:
        """Every entry with after < t <= until, oldest first, with its idempotency key and files, as it is stored.

        Nothing is checked: whoever copies compares `chained`. Few of them are held at once.
        """
        while after < until:
            last = self._last_of_piece(after, until)
            if last is None:
                return
            yield from self._copied(after, last)
            after = last

    def _last_of_piece(self, after: int, until: int) -> int | None:
        size = sa.func.length(_COLUMNS.payload)
        query = sa.select(_COLUMNS.t, size).where(_COLUMNS.t > after, _COLUMNS.t <= until).order_by(_COLUMNS.t)
        try:
            with self._connection() as connection:
                found = connection.execute(query.limit(PAGE)).all()
        except sa.exc.SQLAlchemyError as error:
            raise self._unreadable(error) from None
        last, total = None, 0
        for t, length in found:
            total += length
            if last is not None and total > _PIECE:
                break
            last = t
        return last

    def _copied(self, after: int, last: int) -> list[Copied]:
        rows = _ROW.where(_COLUMNS.t > after, _COLUMNS.t <= last)
        used = sa.select(KEYS).where(KEYS.c.t > after, KEYS.c.t <= last)
        named = sa.select(FILES).where(FILES.c.t > after, FILES.c.t <= last).order_by(FILES.c.name)
        try:
            with self._connection() as connection:
                page = connection.execute(rows).all()
                keys = {t: (UsedKey(key, digest), at) for t, key, digest, at in connection.execute(used)}
                files: dict[int, list[str]] = {}
                for name, t in connection.execute(named):
                    files.setdefault(t, []).append(name)
        except sa.exc.SQLAlchemyError as error:
            raise self._unreadable(error) from None
        copies = []
        for t, instant, row_key, payload, checksum in page:
            key, at = keys.get(t, (None, None))
            copies.append(Copied(Entry(t, instant, row_key, bytes(payload), key, files.get(t, ())), checksum, at))
        return copies

    def fill(self, identity: str, copies: Iterable[Copied]) -> None:
        """Makes an empty log the copy of the one with this identity, all or nothing. Raises INTERNAL for entries
        that do not continue each other, and BACKEND_UNAVAILABLE where the disk or server refuses.

        Idempotency keys are remembered with the time of their use: for how long is said by whoever opens the log.
        """
        checksum, t = 0, 0
        try:
            with self._filling() as connection:
                connection.execute(sa.update(IDENTITY).values(id=identity))
                for piece in _in_pieces(copies):
                    for copy in piece:
                        t, checksum = t + 1, chained(checksum, copy.entry)
                        if copy.entry.t != t or copy.checksum != checksum:
                            raise _damaged("the copy of the log", f"its transaction {t} is not what was written")
                    self._insert(connection, piece)
        except sa.exc.SQLAlchemyError as error:
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE, f"the log could not be written ({error.__cause__ or error})"
            ) from error
        self.identity = identity
        self._continue(t, checksum)

    @contextmanager
    def _filling(self) -> Iterator[sa.Connection]:
        with self._connection() as connection:
            yield connection
            connection.commit()

    def _insert(self, connection: sa.Connection, copies: Sequence[Copied]) -> None:
        rows = [
            {
                "t": entry.t,
                "instant": entry.instant,
                "idempotency_key": entry.row_key,
                "payload": entry.payload,
                "checksum": checksum,
            }
            for entry, checksum, _ in copies
        ]
        connection.execute(INSERT, rows)
        used = [
            {"t": entry.t, "key": entry.used.key, "digest": entry.used.digest, "at": at}
            for entry, _, at in copies
            if entry.used is not None
        ]
        if used:
            # A key that was forgotten and used again is the later transaction's.
            connection.execute(sa.delete(KEYS).where(KEYS.c.key.in_([each["key"] for each in used])))
            connection.execute(KEYS.insert(), list({each["key"]: each for each in used}.values()))
        files = [{"name": name, "t": entry.t} for entry, _, _ in copies for name in entry.files]
        if files:
            connection.execute(FILES.insert(), files)

    def faults(self) -> list[str]:
        """What whoever keeps it finds wrong with it: SQLite reads every page of its file."""
        try:
            with self._connection() as connection:
                found = connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars().all()
        except sa.exc.SQLAlchemyError as error:
            return [f"SQLite says: {error.__cause__}"]
        lines = [line for each in found for line in str(each).splitlines()]
        return [] if found == ["ok"] else [f"SQLite says: {line}" for line in lines]

    def use_of(self, idempotency_key: str, last: int) -> tuple[int, UsedKey] | None:
        """The transaction that a key was used for, if that is remembered. last: the newest transaction."""
        try:
            with self._connection() as connection:
                return self._use_on(connection, idempotency_key, last)
        except sa.exc.SQLAlchemyError as error:
            raise self._unreadable(error) from None

    def _use_on(self, connection: sa.Connection, key: str, last: int) -> tuple[int, UsedKey] | None:
        found = connection.execute(_USE, {"used_key": key, **self._oldest(last)}).first()
        if found is None:
            return None
        t, used, digest = found
        return t, UsedKey(used, digest)

    def _oldest(self, last: int) -> dict[str, int]:
        """The last transaction and moment whose keys are forgotten when `last` is the newest transaction."""
        return {"last_t": last - self._keys.transactions, "last_at": now_ms() - 1000 * self._keys.seconds - 1}

    def decoded(self, entry: Entry) -> Logged:
        """What an entry says; the files that it names are at hand then. Raises BACKEND_UNAVAILABLE."""
        logged = Logged.decoded(entry.payload, self.files_folder)
        files = [each.segment for each in logged.columns if isinstance(each, LoggedFile)]
        if files and self.bring is not None:
            self.bring(files)
        return logged

    def checksum_at(self, t: int) -> int | None:
        """The chained checksum of entry t, 0 before the first, None where the log has no such entry.

        Raises BACKEND_UNAVAILABLE and INTERNAL where the log cannot be read.
        """
        try:
            return self._stored_checksum(t)
        except sa.exc.SQLAlchemyError as error:
            raise self._unreadable(error) from None

    def recent_checksum(self, t: int) -> int | None:
        """The same of one of the last entries, which is at hand; None where t is none of them."""
        return 0 if t == 0 else self._last.get(t)

    def _stored_checksum(self, t: int) -> int | None:
        if t == 0:
            return 0
        with self._connection() as connection:
            found: int | None = connection.execute(sa.select(_COLUMNS.checksum).where(_COLUMNS.t == t)).scalar()
        return found

    def files(self, until: int = _END) -> frozenset[str]:
        """The names of all files that entries with t <= until name."""
        try:
            with self._connection() as connection:
                found = connection.execute(sa.select(FILES.c.name).where(FILES.c.t <= until))
                return frozenset(found.scalars())
        except sa.exc.SQLAlchemyError as error:
            raise self._unreadable(error) from None

    def nbytes(self, start: int, stop: int, limit: int) -> int:
        """The bytes of the payloads of at most `limit` entries with start <= t < stop, none of which is read."""
        found = sa.select(sa.func.length(_COLUMNS.payload).label("size")).where(
            _COLUMNS.t >= start, _COLUMNS.t < stop
        )
        first = found.order_by(_COLUMNS.t).limit(limit).subquery()
        try:
            with self._connection() as connection:
                size: int | None = connection.execute(sa.select(sa.func.sum(first.c.size))).scalar()
        except sa.exc.SQLAlchemyError as error:
            raise self._unreadable(error) from None
        return size or 0

    def extent(self, after: int) -> tuple[int, int]:
        """How many entries there are after t, and the bytes of their payloads, none of which is read."""
        found = sa.select(sa.func.count(), sa.func.sum(sa.func.length(_COLUMNS.payload))).where(_COLUMNS.t > after)
        try:
            with self._connection() as connection:
                count, nbytes = connection.execute(found).one()
        except sa.exc.DatabaseError as error:
            raise _unreadable("the log", error) from None
        return int(count), int(nbytes or 0)

    def instant_at(self, t: int) -> int | None:
        """When entry t was written, in milliseconds since 1970; None where the log has no such entry."""
        query = sa.select(_COLUMNS.instant).where(_COLUMNS.t == t)
        try:
            with self._connection() as connection:
                found: int | None = connection.execute(query).scalar()
        except sa.exc.SQLAlchemyError as error:
            raise self._unreadable(error) from None
        return found

    def close(self) -> None:
        """Let go of the file or server."""
        self._engine.dispose()

    def _unreadable(self, error: sa.exc.SQLAlchemyError) -> AdalogError:
        return _unreadable("the log", error)


class SharedFileLog(Log):
    """A log in an SQLite file that several processes of this machine append to."""

    is_shared = True
    settling = 3.0

    def __init__(self, engine: sa.Engine, peers: Path, keys: KeyMemory, files_folder: Path | None) -> None:
        super().__init__(engine, keys, files_folder, prepare=self._prepare)
        self._peers = peers
        self._hint: SocketHint | None = None

    def _prepare(self, connection: sa.Connection) -> None:
        prepare_file(connection)
        SECRETS.metadata.create_all(connection)
        self.dictionary_secret = secret_in(connection, DICTIONARIES)[:SECRET_BYTES]

    def listen(self) -> Hint:
        self._hint = SocketHint(self._peers)
        return self._hint

    @contextmanager
    def turn(self, keys: Sequence[str] = ()) -> Iterator[Turn]:
        with self._connection() as connection:
            try:
                self._begin(connection)
                missed = self._missed_on(connection)
            except sa.exc.SQLAlchemyError as error:
                self.failures["not_applied"] += 1
                raise AdalogError(
                    Code.BACKEND_UNAVAILABLE,
                    f"nothing was applied: the log could not be written ({error.__cause__ or error})",
                ) from error

            def append(entries: Sequence[Entry]) -> None:
                self._append_on(connection, entries)
                if self._hint is not None:
                    self._hint.tell()

            # The connection goes back to its pool at the end, and what was not committed with it.
            yield Turn(append, lambda key, last: self._use_on(connection, key, last), missed, len(missed) == PAGE)

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
                        raise AdalogError(
                            Code.BACKEND_UNAVAILABLE,
                            "nothing was applied: another process has had the turn to write to the log for more "
                            f"than {_TURN_SECONDS:g} seconds; an import may take that long",
                        ) from None
                    time.sleep(pause)
                    pause = min(2 * pause, most)
                else:
                    return
        finally:
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {1000 * _WAIT_SECONDS}")

    def _missed_on(self, connection: sa.Connection) -> list[Entry]:
        known = connection.execute(sa.select(_COLUMNS.checksum).where(_COLUMNS.t == self.t)).scalar()
        rows = connection.execute(_ROW.where(_COLUMNS.t > self.t).limit(PAGE)).all()
        return self._verified(known, [tuple(row) for row in rows])


# What SQLite's write-ahead log is called beside its own name while the log is opened.
KEPT: Final = "-wal.kept"


def now_ms() -> int:
    """Milliseconds since 1970."""
    return int(time.time() * 1000)


def _opened(path: Path, made: Callable[[sa.Engine], Log]) -> Log:
    if not path.exists():
        # SQLite would make it readable to all, and its journals are as open as it is.
        os.close(opener(str(path), os.O_RDWR | os.O_CREAT))
    engine = sa.create_engine(f"sqlite:///{path}", connect_args={"timeout": _WAIT_SECONDS})
    sa.event.listen(engine, "connect", _configure_sqlite)
    try:
        with _write_ahead_kept(engine):
            return made(engine)
    except sa.exc.DatabaseError as error:
        raise _unreadable(path.name, error) from None


@contextmanager
def _write_ahead_kept(engine: sa.Engine) -> Iterator[None]:
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


def _configure_filling(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=OFF")
    cursor.execute("PRAGMA synchronous=OFF")
    cursor.close()


def _in_pieces(copies: Iterable[Copied]) -> Iterator[list[Copied]]:
    piece: list[Copied] = []
    size = 0
    for copy in copies:
        piece.append(copy)
        size += len(copy.entry.payload)
        if size >= _PIECE or len(piece) >= _FEW_KEYS:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _configure_sqlite(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.close()


def chained(previous: int, entry: Entry) -> int:
    """The checksum of an entry, given that of the one before it."""
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
