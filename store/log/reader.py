"""Reading the log: entries one after the other, each checked, or copied as they are stored; what is told of others.

Many threads may read, and other processes append meanwhile. Few entries are held at once.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.store.files.segment import Segment
from adalog.store.log.entry import CopiedEntry, KeyMemory, LogEntry, UsedKey, chained, now_ms
from adalog.store.log.imported import LoggedFile
from adalog.store.log.payload import EXCISED, Logged
from adalog.store.log.tables import FILES, FORGOTTEN, KEYS, TRANSACTIONS, identity_in
from adalog.store.values.changes import Excision

MOST_PARTS: Final = 16
"""With more parts to look for, reading all entries costs less than `LogReader.holding`."""
PAGE: Final = 2000
"""Entries that are read, and held, at once."""
# Bytes of payloads that are copied at once, more or less.
PIECE: Final = 8 << 20
# For readers that may stop early; a transaction may be long.
_FEW: Final = 16
# Entries that are read one by one, rather than with all between them.
_SINGLY: Final = 200
END: Final = 1 << 62
_COLUMNS: Final = TRANSACTIONS.c
ROW: Final = sa.select(
    _COLUMNS.t, _COLUMNS.instant, _COLUMNS.idempotency_key, _COLUMNS.payload, _COLUMNS.checksum, _COLUMNS.seal
).order_by(_COLUMNS.t)
UNSEALED_ROW: Final = sa.select(
    *(_COLUMNS.t, _COLUMNS.instant, _COLUMNS.idempotency_key, _COLUMNS.payload, _COLUMNS.checksum),
    sa.null().label("seal"),
).order_by(_COLUMNS.t)
"""The same of a table that no version with seals has written to."""
_USE: Final = sa.select(KEYS.c.t, KEYS.c.key, KEYS.c.digest).where(
    KEYS.c.key == sa.bindparam("used_key"), ~FORGOTTEN
)


class LogReader:
    """Entries 1, 2, 3 … without a gap. Thread-safe."""

    def __init__(
        self,
        engine: sa.Engine,
        keys: KeyMemory,
        files_folder: Path | None,
        prepare: Callable[[sa.Connection], None],
        begin: Callable[[sa.Connection], None] | None = None,
    ) -> None:
        """files_folder: where the files are that entries name. prepare: makes the tables. begin: comes first on a
        connection each time that it is used, of which nothing is kept."""
        self.files_folder = files_folder
        # Has files that entries name be in the folder, where they are kept elsewhere; `keep` puts new ones there.
        self.bring: Callable[[Sequence[Segment]], None] | None = None
        self.keep: Callable[[Sequence[Segment]], None] | None = None
        self.engine = engine
        self._keys = keys
        self._begin_using = begin
        # How rows are read.
        self._row: sa.Select[Any] = ROW
        # An in-memory database has one connection, which readers and the writer take turns at.
        self._in_memory = isinstance(engine.pool, StaticPool)
        self._lock: AbstractContextManager[object] = threading.RLock() if self._in_memory else nullcontext()
        with self._connection() as connection:
            prepare(connection)
            self.identity = identity_in(connection)
            if begin is None:
                connection.commit()

    @contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        with self._lock, self.engine.connect() as connection:
            if self._begin_using is not None:
                self._begin_using(connection)
            yield connection

    @contextmanager
    def _reads(self) -> Iterator[sa.Connection]:
        """A connection to read with. Raises BACKEND_UNAVAILABLE and INTERNAL where the log cannot be read."""
        try:
            with self._connection() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            raise self._unreadable(error) from None

    def newest(self) -> int:
        """The number of the newest entry, 0 where there is none."""
        with self._reads() as connection:
            found: int | None = connection.execute(sa.select(sa.func.max(_COLUMNS.t))).scalar()
        return found or 0

    def entries(self, start: int, stop: int, limit: int) -> Iterator[LogEntry]:
        """At most `limit` entries with start <= t < stop, oldest first, each checked as in `replay`."""
        checksum = self.checksum_at(start - 1)
        if checksum is None:
            return iter(())
        return islice((entry for entry, _ in self._checked(start - 1, stop, checksum, _FEW)), limit)

    def _checked(self, after: int, before: int, checksum: int, page: int = PAGE) -> Iterator[tuple[LogEntry, int]]:
        for entry, stored in self._rows(after, before, page):
            checksum = continued(after, checksum, entry, stored)
            after = entry.t
            yield entry, checksum

    def _rows(self, after: int, before: int, most: int) -> Iterator[tuple[LogEntry, int]]:
        """`most`: how many are read, and held, at once."""
        size = most
        while size == most:
            query = self._row.where(_COLUMNS.t > after, _COLUMNS.t < before).limit(most)
            with self._reads() as connection:
                page = connection.execute(query).all()
            for row in page:
                after = row[0]
                yield entry_of(*row)
            size = len(page)

    def copied(self, after: int, until: int) -> Iterator[CopiedEntry]:
        """Every entry with after < t <= until, oldest first, with its idempotency key and files, as it is stored.
        Nothing is checked: the copier compares `chained`. Few of them are held at once."""
        while after < until:
            last = self._last_of_piece(after, until)
            if last is None:
                return
            yield from self._copied(after, last)
            after = last

    def _last_of_piece(self, after: int, until: int) -> int | None:
        size = sa.func.length(_COLUMNS.payload)
        query = sa.select(_COLUMNS.t, size).where(_COLUMNS.t > after, _COLUMNS.t <= until).order_by(_COLUMNS.t)
        with self._reads() as connection:
            found = connection.execute(query.limit(PAGE)).all()
        last, total = None, 0
        for t, length in found:
            total += length
            if last is not None and total > PIECE:
                break
            last = t
        return last

    def _copied(self, after: int, last: int) -> list[CopiedEntry]:
        rows = self._row.where(_COLUMNS.t > after, _COLUMNS.t <= last)
        used = sa.select(KEYS).where(KEYS.c.t > after, KEYS.c.t <= last)
        with self._reads() as connection:
            page = connection.execute(rows).all()
            keys = {t: (UsedKey(key, digest), at) for t, key, digest, at in connection.execute(used)}
            files = self._files_of(connection, page)
        copies = []
        for row in page:
            entry, checksum = entry_of(*row)
            key, at = keys.get(entry.t, (None, None))
            entry = replace(entry, used=key, files=files.get(entry.t, ()))
            copies.append(CopiedEntry(entry, checksum, at))
        return copies

    def _files_of(self, connection: sa.Connection, rows: Sequence[Any]) -> Mapping[int, Sequence[str]]:
        """The names of the files that some entries, which follow each other, name: by transaction."""
        found: dict[int, list[str]] = {}
        if rows:
            named = sa.select(FILES).where(FILES.c.t >= rows[0][0], FILES.c.t <= rows[-1][0])
            for name, t in connection.execute(named.order_by(FILES.c.name)):
                found.setdefault(t, []).append(name)
        return found

    def unnamed(self, files: Iterable[str]) -> set[str]:
        """Which of some files of imports no entry names."""
        return set(files) - self.files()

    def files(self, until: int = END) -> frozenset[str]:
        """The names of all files that entries with t <= until name."""
        with self._reads() as connection:
            return frozenset(connection.execute(sa.select(FILES.c.name).where(FILES.c.t <= until)).scalars())

    def entries_of(self, times: Sequence[int]) -> Iterator[LogEntry]:
        """The entries of some transactions, which are in order, each checked as in `replay`."""
        if len(times) <= _SINGLY:
            for t in times:
                yield from self.entries(t, t + 1, 1)
            return
        wanted, first = set(times), times[0]
        for entry, _ in self._checked(first - 1, times[-1] + 1, self.checksum_at(first - 1) or 0):
            if entry.t in wanted:
                yield entry

    def excised(self, after: int, until: int) -> Iterator[tuple[int, bool, int]]:
        """Of the transactions with after < t <= until that are excisions, or lost something to some: the number,
        whether it is one, and the last one that took something of it, 0 for none."""
        is_excised = sa.func.substr(_COLUMNS.payload, 1, 1) == EXCISED
        query = sa.select(_COLUMNS.t, _COLUMNS.payload).where(_COLUMNS.t > after, _COLUMNS.t <= until, is_excised)
        with self._reads() as connection:
            # Names of files are names, wherever the files are.
            for t, payload in connection.execute(query.order_by(_COLUMNS.t)):
                logged = Logged.decoded(bytes(payload), Path())
                yield t, logged.excision is not None, logged.excised.redacted

    def excisions(self, after: int) -> list[Excision]:
        """Those after a transaction, in order. Raises BACKEND_UNAVAILABLE and INTERNAL."""
        times = [t for t, is_excision, _ in self.excised(after, self.newest()) if is_excision]
        found = (Logged.decoded(entry.payload, Path()).excision for entry in self.entries_of(times))
        return [each for each in found if each is not None]

    def excisions_back(self, last: int, after: int) -> Iterator[Excision]:
        """The excision of transaction `last` and those before it down to another transaction, newest first. Ends
        before one that the log does not have: a backup was restored as of before it."""
        t = last
        while t > after:
            entry = next(self.entries(t, t + 1, 1), None)
            excision = None if entry is None else self.decoded(entry).excision
            if excision is None:
                return
            yield excision
            t = excision.previous

    def holding(self, parts: Sequence[bytes], after: int = 0) -> list[int]:
        """The transactions after one, in order, whose payloads have one of the parts in them, or are written in any
        other way than plainly."""
        payload = _COLUMNS.payload
        find = sa.func.instr if self.engine.dialect.name == "sqlite" else sa.func.pg_catalog.position
        found = [sa.func.substr(payload, 1, 1) != b"\0", *(find(payload, part) > 0 for part in parts)]
        with self._reads() as connection:
            query = sa.select(_COLUMNS.t).where(_COLUMNS.t > after, sa.or_(*found))
            return list(connection.execute(query.order_by(_COLUMNS.t)).scalars())

    def rewritten(self) -> list[int]:
        """The transactions, in order, that are excisions or have lost something to one."""
        is_excised = sa.func.substr(_COLUMNS.payload, 1, 1) == EXCISED
        with self._reads() as connection:
            return list(connection.execute(sa.select(_COLUMNS.t).where(is_excised).order_by(_COLUMNS.t)).scalars())

    def nbytes(self, start: int, stop: int, limit: int) -> int:
        """The bytes of the payloads of at most `limit` entries with start <= t < stop, none of which is read."""
        sizes = sa.select(sa.func.length(_COLUMNS.payload).label("size")).order_by(_COLUMNS.t).limit(limit)
        first = sizes.where(_COLUMNS.t >= start, _COLUMNS.t < stop).subquery()
        with self._reads() as connection:
            size: int | None = connection.execute(sa.select(sa.func.sum(first.c.size))).scalar()
        return size or 0

    def extent(self, after: int) -> tuple[int, int]:
        """How many entries there are after t, and the bytes of their payloads, none of which is read."""
        found = sa.select(sa.func.count(), sa.func.sum(sa.func.length(_COLUMNS.payload))).where(_COLUMNS.t > after)
        with self._reads() as connection:
            count, nbytes = connection.execute(found).one()
        return int(count), int(nbytes or 0)

    def checksum_at(self, t: int) -> int | None:
        """The chained checksum of entry t, 0 before the first, None where the log has no such entry. Raises
        BACKEND_UNAVAILABLE and INTERNAL where the log cannot be read."""
        try:
            return self._stored_checksum(t)
        except sa.exc.SQLAlchemyError as error:
            raise self._unreadable(error) from None

    def _stored_checksum(self, t: int) -> int | None:
        if t == 0:
            return 0
        with self._connection() as connection:
            found: int | None = connection.execute(sa.select(_COLUMNS.checksum).where(_COLUMNS.t == t)).scalar()
        return found

    def use_of(self, idempotency_key: str, last: int) -> tuple[int, UsedKey] | None:
        """The transaction that a key was used for, if that is remembered. last: the newest transaction."""
        with self._reads() as connection:
            found = connection.execute(_USE, {"used_key": idempotency_key, **self._oldest(last)}).first()
        return None if found is None else (found[0], UsedKey(*found[1:]))

    def _oldest(self, last: int) -> dict[str, int]:
        """The last transaction and moment whose keys are forgotten when `last` is the newest transaction."""
        return {"last_t": last - self._keys.transactions, "last_at": now_ms() - 1000 * self._keys.seconds - 1}

    def decoded(self, entry: LogEntry) -> Logged:
        """What an entry says; the files that it names are at hand then. Raises BACKEND_UNAVAILABLE."""
        return self._with_files(Logged.decoded(entry.payload, self.files_folder))

    def decoded_with(self, entry: LogEntry, parts: Sequence[bytes]) -> Logged | None:
        """The same as `Logged.decoded_with`. Raises BACKEND_UNAVAILABLE."""
        logged = Logged.decoded_with(entry.payload, self.files_folder, parts)
        return None if logged is None else self._with_files(logged)

    def _with_files(self, logged: Logged) -> Logged:
        files = [each.segment for each in logged.columns if isinstance(each, LoggedFile)]
        if files and self.bring is not None:
            self.bring(files)
        return logged

    def opened(self, entry: LogEntry) -> Logged:
        """The same with its files open, so that they may be removed afterwards. Raises BACKEND_UNAVAILABLE, and
        INTERNAL for a file that is damaged or missing.

        Another process's excision may have rewritten the entry since it was read, and removed the files that it
        named. Then the entry is read again; what is left of it names the excision.
        """
        while True:
            try:
                logged = self.decoded(entry)
                for column in logged.columns:
                    if isinstance(column, LoggedFile):
                        column.open()
                return logged
            except AdalogError:
                newer = next(self.entries(entry.t, entry.t + 1, 1), None)
                if newer is None or newer.payload == entry.payload:
                    raise
                entry = newer

    def faults(self) -> list[str]:
        """What the storage engine finds wrong: SQLite reads every page of its file."""
        try:
            with self._connection() as connection:
                found = connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars().all()
        except sa.exc.SQLAlchemyError as error:
            return [f"SQLite says: {error.__cause__}"]
        lines = [line for each in found for line in str(each).splitlines()]
        return [] if found == ["ok"] else [f"SQLite says: {line}" for line in lines]

    def close(self) -> None:
        """Let go of the file or server."""
        self.engine.dispose()

    def _unreadable(self, error: sa.exc.SQLAlchemyError) -> AdalogError:
        return unreadable("the log", error)


def entry_of(
    t: int, instant: int, row_key: str | None, payload: bytes, checksum: int, seal: bytes | None
) -> tuple[LogEntry, int]:
    """A row of the log as an entry, and its checksum."""
    return LogEntry(t, instant, row_key, bytes(payload), seal=None if seal is None else bytes(seal)), checksum


def continued(t: int, checksum: int, entry: LogEntry, stored: int) -> int:
    """The checksum of the entry after entry t, whose checksum is given. Raises INTERNAL for another entry, and for
    one that is not what was written; stored: the checksum that it has in the log."""
    if entry.t != t + 1:
        raise damaged("the log", f"transaction {t + 1} is missing before {entry.t}")
    if chained(checksum, entry) != stored:
        raise damaged("the log", f"transaction {entry.t} is not what was written")
    return stored


def unreadable(what: str, error: sa.exc.SQLAlchemyError) -> AdalogError:
    """The refusal of a read that failed."""
    if isinstance(error, sa.exc.TimeoutError):
        return unavailable(f"{what} cannot be read: too many read it at once")
    if isinstance(error, sa.exc.OperationalError):
        return unavailable(f"{what} cannot be read or written; SQLite says: {error.__cause__}")
    return unread(what, error.__cause__)


def unread(what: str, error: BaseException | None) -> AdalogError:
    """The same for an error of the driver."""
    if isinstance(error, sqlite3.OperationalError):
        return unavailable(f"{what} cannot be read or written; SQLite says: {error}")
    return damaged(what, f"SQLite says: {error}")


def damaged(what: str, why: str) -> AdalogError:
    """The refusal of what holds something else than was written."""
    return AdalogError(
        Code.INTERNAL, f"{what} is damaged: {why}. Nothing was changed; restore the data folder from a backup"
    )
