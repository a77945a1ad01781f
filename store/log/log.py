"""The log: every transaction's datoms in the order of t, one row each. The truth that everything else is made from.

An append is one insert per transaction and one commit for all of them; `t` is the primary key, so of two writers
one loses and hears of it. Where several processes append to one log they do it in turns: the process with the turn
reads what it missed, and no other appends until the turn is over. Rows carry a chained checksum: a row changed,
lost or put in by other hands is noticed. A commit that fails may have happened: that is `InDoubtError`, and
`settle` finds out.

Idempotency keys are in a table beside it, written by the same commits, which remembers them for a while only.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.store.log import tables
from adalog.store.log.entry import (
    KEY_MEMORY,
    CopiedEntry,
    KeyMemory,
    LogEntry,
    UsedKey,
    chained,
    new_salts,
    now_ms,
    sealed_after,
)
from adalog.store.log.file_appends import FileAppends
from adalog.store.log.notices import AppendNotices
from adalog.store.log.reader import END, PAGE, PIECE, LogReader, continued, damaged, entry_of
from adalog.store.log.scrubbing import scrubbed
from adalog.store.log.sqlite import opened, opened_to_fill, opened_to_read, refused, wrote_nothing

# Entries that are inserted at once: SQLite bounds a statement's parameters.
_FEW_KEYS: Final = 2000
# The last entries whose checksums are at hand.
_REMEMBERED: Final = 4_096
_COLUMNS: Final = tables.TRANSACTIONS.c
_BUSY_MS: Final = 1000


class InDoubtError(Exception):
    """A commit failed, and the log may hold its entries or not. The message is the disk's or server's. number: of
    the append."""

    def __init__(self, why: str, number: int) -> None:
        super().__init__(why)
        self.number = number


class UnusableError(AdalogError):
    """The log's server cannot be used; for the operator. `reason`: the same for clients."""

    def __init__(self, message: str, reason: str, *, retryable: bool) -> None:
        super().__init__(Code.BACKEND_UNAVAILABLE, message, retryable=retryable)
        self.reason = reason


class OvertakenError(Exception):
    """Another writer appended at these places of the log, and nothing was applied. Resolve it again."""


@dataclass(frozen=True, slots=True)
class AppendTurn:
    """The right to append after `missed`, the entries that others appended meanwhile. The writer applies these
    first, then appends once. is_behind: there are more of them, so that nothing can be appended in this turn.

    use_of: as `Log.use_of`.
    """

    append: Callable[[Sequence[LogEntry]], None]
    use_of: Callable[[str, int], tuple[int, UsedKey] | None]
    missed: Sequence[LogEntry] = ()
    is_behind: bool = False


class Log(LogReader):
    """Entries 1, 2, 3 … without a gap. One thread appends; any number read.

    is_shared: other processes append, too. is_on_server: it is in PostgreSQL. settling: for how many seconds the
    outcome of a commit in doubt is waited for.
    """

    is_shared = False
    is_on_server = False
    # What dictionaries key their hashes with, where several processes are to read each other's; None: as they like.
    dictionary_secret: bytes | None = None
    # That all gateways on one PostgreSQL server share; None for a file and in memory.
    secret: bytes | None = None
    settling = 0.0
    # What is said of it where it does not work.
    failed = "the disk failed"

    def __init__(
        self,
        engine: sa.Engine,
        keys: KeyMemory = KEY_MEMORY,
        files_folder: Path | None = None,
        *,
        prepare: Callable[[sa.Connection], None] = tables.prepare_file,
        begin: Callable[[sa.Connection], None] | None = None,
    ) -> None:
        # Of the last entry that is known here.
        self.t = 0
        self.checksum = 0
        # Of the last entries, by their t.
        self._last: dict[int, int] = {}
        # Appends that failed, by what came of them.
        self.failures = Counter({"not_applied": 0, "unknown": 0})
        self._appends = FileAppends(engine)
        super().__init__(engine, keys, files_folder, prepare, begin)

    @staticmethod
    def in_memory(keys: KeyMemory = KEY_MEMORY) -> Log:
        """A log that ends with the process."""
        arguments = {"check_same_thread": False}
        return Log(sa.create_engine("sqlite://", poolclass=StaticPool, connect_args=arguments), keys)

    @staticmethod
    def in_file(path: Path, keys: KeyMemory = KEY_MEMORY, files_folder: Path | None = None) -> Log:
        """A log in an SQLite file, with the files it names in a folder; a commit that returned is on disk."""
        return opened(path, lambda engine: Log(engine, keys, files_folder))

    @staticmethod
    def reading(path: Path, files_folder: Path) -> Log:
        """The log of an SQLite file that another process may write to meanwhile; nothing may be appended."""
        made = partial(Log, files_folder=files_folder, prepare=lambda _: None, begin=tables.begin_reading)
        return opened_to_read(path, made)

    @staticmethod
    def to_fill(path: Path, files_folder: Path) -> Log:
        """A new log in an SQLite file, for `fill`: it is sure to be on disk after `close` and an fsync."""
        return Log(opened_to_fill(path), files_folder=files_folder)

    def listen(self) -> AppendNotices | None:
        """Something that tells when others appended; None where nobody else does. Raises where it cannot be had."""
        return None

    def turn(self, keys: Sequence[str] = ()) -> AbstractContextManager[AppendTurn]:
        """The right to append. Whatever is not appended within it never is. keys: idempotency keys that `use_of`
        will be asked for. Raises BACKEND_UNAVAILABLE where it cannot be had."""
        return nullcontext(AppendTurn(self.append, self.use_of))

    def missed(self) -> Sequence[LogEntry]:
        """What others appended after the last entry known here, at most PAGE entries. Raises as `replay` does."""
        return list(islice(self.replay(self.t, self.checksum), PAGE))

    def append(self, entries: Sequence[LogEntry]) -> None:
        """Make entries durable, all or none. They continue the log.

        Raises BACKEND_UNAVAILABLE where the disk or server refuses and nothing of them is kept, InDoubtError where
        that is not known. After that `settle` comes before any other append.
        """
        with self._lock:
            self._append_by_driver(entries)

    def _append_by_driver(self, entries: Sequence[LogEntry]) -> None:
        seals, chained = self._chained(entries)
        number, now = secrets.randbits(62), now_ms()
        whole = zip(entries, chained, seals, strict=True)
        rows = [(each.t, each.instant, each.payload, sum_, number, seal) for each, sum_, seal in whole]
        used, appends = _key_rows((entry, now) for entry in entries), self._appends
        committing = False
        try:
            driver = appends.driver()
            appends.insert(driver, rows, _file_rows(entries), used, self._oldest(entries[-1].t))
            if entries[0].replaces:
                appends.replace(driver, entries[0].replaces)
            committing = True
            appends.commit(driver)
        except sqlite3.Error as error:
            appends.end(error)
            if committing and not wrote_nothing(error):
                self.failures["unknown"] += 1
                raise InDoubtError(str(error), number) from error
            self.failures["not_applied"] += 1
            raise refused(error) from error
        self._appended(entries, chained)

    def _chained(self, entries: Sequence[LogEntry]) -> tuple[list[bytes], list[int]]:
        """New seals for entries that continue the log, and their checksums."""
        checksum, seals, found = self.checksum, list[bytes](), list[int]()
        for entry, salt in zip(entries, new_salts(len(entries)), strict=True):
            seal, checksum = sealed_after(checksum, entry, salt)
            seals.append(seal)
            found.append(checksum)
        return seals, found

    def _appended(self, entries: Sequence[LogEntry], chained: Sequence[int]) -> None:
        for entry, checksum in zip(entries, chained, strict=True):
            self._continue(entry.t, checksum)

    def scrub(self) -> bool:
        """Leaves nothing in the log's files of what was replaced or deleted; False where somebody reads it for too
        long, and may read it still. Waits for no turn. Raises BACKEND_UNAVAILABLE where the disk refuses."""
        if self._in_memory:
            return True
        try:
            with self._connection() as connection:
                return scrubbed(connection)
        except sa.exc.SQLAlchemyError as error:
            why = error.__cause__ or error
            raise unavailable(f"the log still has what was excised: it could not be written ({why})") from error

    def close(self) -> None:
        self._appends.close()
        super().close()

    def has_append(self, t: int, number: int) -> bool:
        """Whether entry t was written by the append of that number. Raises BACKEND_UNAVAILABLE."""
        query = sa.select(_COLUMNS.append).where(_COLUMNS.t == t)
        try:
            with self._connection() as connection:
                return connection.execute(query).scalar() == number
        except sa.exc.SQLAlchemyError as error:
            raise self._unreadable(error) from error

    def settle(self, t: int) -> list[LogEntry]:
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
            raise unavailable(str(error.__cause__ or error)) from error
        if found != known:
            raise damaged("the log", f"transaction {t}, which was on disk, is not there any more")
        try:
            return list(self.replay(t, known))
        except AdalogError:
            self.t, self.checksum = t, known
            raise

    def _rewrite(self) -> None:
        # Connections remember a log that ends before the commit in doubt; new ones read the files.
        self._appends.close()
        self.engine.dispose()
        with self._connection() as connection:
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {_BUSY_MS}")
            # An fsync that failed may succeed the next time without having written anything: only pages written now
            # are sure to be on disk. The checkpoint writes the table's and empties SQLite's own log, and the update
            # writes the first of its new one, which no page of the old one fits.
            busy, *_ = connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()
            if busy:
                raise sa.exc.TimeoutError("somebody reads the log for too long")
            own = tables.identity_table(connection)
            connection.execute(sa.update(own).values(id=own.c.id))
            connection.commit()
        self.engine.dispose()

    def replay(self, after: int, checksum: int) -> Iterator[LogEntry]:
        """Every entry with t > after, oldest first, each checked; `checksum` is that of entry `after`. Raises
        INTERNAL for a gap or a row that is not what was written."""
        self._continue(after, checksum)
        for entry, verified in self._checked(after, END, checksum):
            self._continue(entry.t, verified)
            yield entry

    def _verified(self, known: int | None, rows: Sequence[tuple[Any, ...]]) -> list[LogEntry]:
        """The rows that follow the last entry known here, which has the checksum `known` in the log, as entries.
        Raises INTERNAL where they do not."""
        if self.t and known != self.checksum:
            raise damaged("the log", f"transaction {self.t}, which was read from it, is not there any more")
        found = []
        for row in rows:
            entry, stored = entry_of(*row)
            found.append(entry)
            self._continue(entry.t, continued(self.t, self.checksum, entry, stored))
        return found

    def go_back(self, t: int) -> None:
        """Has the last entry known here be one that was known before."""
        checksum = self.recent_checksum(t)
        assert checksum is not None, "one of the last"
        self._continue(t, checksum)

    def _continue(self, t: int, checksum: int) -> None:
        self.t = t
        self.checksum = self._last[t] = checksum
        self._last.pop(t - _REMEMBERED, None)

    def recent_checksum(self, t: int) -> int | None:
        """The same of one of the last entries, which is at hand; None where t is none of them."""
        return 0 if t == 0 else self._last.get(t)

    def fill(self, identity: str, copies: Iterable[CopiedEntry]) -> None:
        """Makes an empty log the copy of the one with this identity, all or nothing. Raises INTERNAL for entries
        that do not continue each other, and BACKEND_UNAVAILABLE where the disk or server refuses.

        Idempotency keys are remembered with the time of their use: the opener of the log says for how long.
        """
        checksum, t = 0, 0
        try:
            with self._filling() as connection:
                connection.execute(sa.update(tables.identity_table(connection)).values(id=identity))
                for piece in _in_pieces(copies):
                    for copy in piece:
                        t, checksum = t + 1, chained(checksum, copy.entry)
                        if copy.entry.t != t or copy.checksum != checksum:
                            raise damaged("the copy of the log", f"its transaction {t} is not what was written")
                    self._insert(connection, piece)
        except sa.exc.SQLAlchemyError as error:
            raise unavailable(f"the log could not be written ({error.__cause__ or error})") from error
        self.identity = identity
        self._continue(t, checksum)

    @contextmanager
    def _filling(self) -> Iterator[sa.Connection]:
        with self._connection() as connection:
            yield connection
            connection.commit()

    def _insert(self, connection: sa.Connection, copies: Sequence[CopiedEntry]) -> None:
        names = ("t", "instant", "idempotency_key", "payload", "checksum", "seal")
        rows = [(e.t, e.instant, e.row_key, e.payload, checksum, e.seal) for e, checksum, _ in copies]
        connection.execute(tables.TRANSACTIONS.insert(), [dict(zip(names, row, strict=True)) for row in rows])
        used = _key_rows((entry, at) for entry, _, at in copies)
        if used:
            # A key that was forgotten and used again is the later transaction's.
            connection.execute(sa.delete(tables.KEYS).where(tables.KEYS.c.key.in_([each["key"] for each in used])))
            connection.execute(tables.KEYS.insert(), list({each["key"]: each for each in used}.values()))
        _insert_files(connection, [entry for entry, _, _ in copies])


def _key_rows(uses: Iterable[tuple[LogEntry, int | None]]) -> list[dict[str, Any]]:
    """The rows of the entries' idempotency keys, each with when it was used."""
    used = ((entry.t, entry.used, at) for entry, at in uses if entry.used is not None)
    return [{"t": t, "key": key, "digest": digest, "at": at} for t, (key, digest), at in used]


def _file_rows(entries: Iterable[LogEntry]) -> list[dict[str, Any]]:
    return [{"name": name, "t": entry.t} for entry in entries for name in entry.files]


def _insert_files(connection: sa.Connection, entries: Iterable[LogEntry]) -> None:
    if files := _file_rows(entries):
        connection.execute(tables.FILES.insert(), files)


def _in_pieces(copies: Iterable[CopiedEntry]) -> Iterator[list[CopiedEntry]]:
    piece: list[CopiedEntry] = []
    size = 0
    for copy in copies:
        piece.append(copy)
        size += len(copy.entry.payload)
        if size >= PIECE or len(piece) >= _FEW_KEYS:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece
