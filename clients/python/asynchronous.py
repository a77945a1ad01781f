"""The same calls for an event loop: each runs on a thread, and ends soon after its task is cancelled."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import datetime
from functools import partial
from typing import Any, Final, Self, TypeVar

from adalog.client.connecting import connect
from adalog.client.database import Connection, CurrentDatabase, Database
from adalog.client.errors import refusing
from adalog.client.given import Entity
from adalog.client.lifetime import closed
from adalog.client.progress import Show
from adalog.client.result import (
    Attribute,
    Change,
    Datom,
    Explanation,
    ExportReport,
    ImportReport,
    LiveChanges,
    PulledMap,
    Reason,
    Result,
    ResultList,
    TxReport,
    live_html,
    live_text,
)
from adalog.client.running import RUNNING, RunningCall
from adalog.client.warning import show

T = TypeVar("T")

# Calls of one connection that run at once; further ones wait.
_THREADS: Final = 16
_END: Final = object()


class Threads:
    """Where the calls of a connection run."""

    def __init__(self, most: int = _THREADS) -> None:
        self._is_closed = False
        self._executor = ThreadPoolExecutor(most, thread_name_prefix="adalog-client")

    async def run(self, work: Callable[[], T]) -> T:
        """What the work returns or raises. Cancelling the task cancels the work; a transaction on its way to the
        disk goes on."""
        if self._is_closed:
            with refusing():
                raise closed()
        running = RunningCall()
        context = copy_context()
        context.run(RUNNING.set, running)
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._executor, context.run, work)
        except asyncio.CancelledError:
            running.cancel()
            raise
        for text in running.warnings:
            show(text)
        return found

    def close(self) -> None:
        self._is_closed = True
        self._executor.shutdown(wait=False, cancel_futures=True)


class AsyncDatabase:
    """A moment of a database, as `Database`. Reads are awaited; `as_of`, `since`, `history`, `with_` and `as_user`
    read nothing, and give their database at once."""

    def __init__(self, own: Database, threads: Threads) -> None:
        self._own = own
        self._threads = threads

    async def q(
        self,
        query: str,
        *args: Any,
        as_of: int | datetime | str | None = None,
        since: int | datetime | str | None = None,
        timeout: float | None = None,
    ) -> Result:
        """As `Database.q`."""
        given = [_opened(each) for each in args]
        return await self._threads.run(
            partial(self._own.q, query, *given, as_of=as_of, since=since, timeout=timeout)
        )

    async def pull(self, pattern: str, entity: Entity, *, timeout: float | None = None) -> PulledMap | None:
        """As `Database.pull`."""
        return await self._threads.run(partial(self._own.pull, pattern, entity, timeout=timeout))

    async def pull_many(
        self, pattern: str, entities: Sequence[Entity], *, timeout: float | None = None
    ) -> ResultList[Any]:
        """As `Database.pull_many`."""
        return await self._threads.run(partial(self._own.pull_many, pattern, entities, timeout=timeout))

    async def explain(self, query: str, *args: Any, analyze: bool = False) -> Explanation:
        """As `Database.explain`."""
        given = [_opened(each) for each in args]
        return await self._threads.run(partial(self._own.explain, query, *given, analyze=analyze))

    async def why(self, query: str, *args: Any, row: Sequence[Any], timeout: float | None = None) -> Reason:
        """As `Database.why`."""
        given = [_opened(each) for each in args]
        return await self._threads.run(partial(self._own.why, query, *given, row=row, timeout=timeout))

    async def attributes(self) -> list[Attribute]:
        """As `Database.attributes`."""
        return await self._threads.run(self._own.attributes)

    async def datoms(self, index: str, *components: Any, limit: int | None = None) -> ResultList[Datom]:
        """As `Database.datoms`."""
        return await self._threads.run(partial(self._own.datoms, index, *components, limit=limit))

    async def export(
        self, folder: str | os.PathLike[str], *, format: str = "parquet", progress: bool | Show = True
    ) -> ExportReport:
        """As `Database.export`."""
        return await self._threads.run(partial(self._own.export, folder, format=format, progress=progress))

    def as_of(self, t: int | datetime | str) -> AsyncDatabase:
        """As `Database.as_of`."""
        return AsyncDatabase(self._own.as_of(t), self._threads)

    def since(self, t: int | datetime | str) -> AsyncDatabase:
        """As `Database.since`."""
        return AsyncDatabase(self._own.since(t), self._threads)

    def history(self) -> AsyncDatabase:
        """As `Database.history`."""
        return AsyncDatabase(self._own.history(), self._threads)

    def with_(self, tx: str | Sequence[Any], *, args: Mapping[str, Any] | None = None) -> AsyncDatabase:
        """As `Database.with_`."""
        return AsyncDatabase(self._own.with_(tx, args=args), self._threads)

    def as_user(self, claims: Mapping[str, Any], *, roles: Sequence[str] = ()) -> AsyncDatabase:
        """As `Database.as_user`."""
        return AsyncDatabase(self._own.as_user(claims, roles=roles), self._threads)

    def __repr__(self) -> str:
        return repr(self._own)

    def _repr_html_(self) -> str:
        return self._own._repr_html_()


class AsyncCurrentDatabase(AsyncDatabase):
    """The newest state of a database, to be read, written and followed, as `CurrentDatabase`."""

    def __init__(self, own: CurrentDatabase, threads: Threads, changes: set[AsyncChanges]) -> None:
        super().__init__(own, threads)
        self._current = own
        self._changes = changes

    def as_user(self, claims: Mapping[str, Any], *, roles: Sequence[str] = ()) -> AsyncCurrentDatabase:
        """As `CurrentDatabase.as_user`."""
        return AsyncCurrentDatabase(self._current.as_user(claims, roles=roles), self._threads, self._changes)

    async def transact(
        self,
        tx: str | Sequence[Any],
        *,
        args: Mapping[str, Any] | None = None,
        expected_basis_t: int | None = None,
        idempotency_key: str | None = None,
    ) -> TxReport:
        """As `CurrentDatabase.transact`. Cancelling the task does not undo what is on its way to the disk."""
        work = partial(
            self._current.transact,
            tx,
            args=args,
            expected_basis_t=expected_basis_t,
            idempotency_key=idempotency_key,
        )
        return await self._threads.run(work)

    async def revert(
        self, t: int, *, expected_basis_t: int | None = None, idempotency_key: str | None = None
    ) -> TxReport:
        """As `CurrentDatabase.revert`. Cancelling the task does not undo what is on its way to the disk."""
        work = partial(self._current.revert, t, expected_basis_t=expected_basis_t, idempotency_key=idempotency_key)
        return await self._threads.run(work)

    def live(self, query: str, *args: Any, resume: str | None = None, from_t: int | None = None) -> AsyncChanges:
        """As `CurrentDatabase.live`, for `async for`; it begins when the first event is asked for."""
        given = [_opened(each) for each in args]
        begin = partial(self._current.live, query, *given, resume=resume, from_t=from_t)
        changes = AsyncChanges(query, begin, self._changes.discard)
        self._changes.add(changes)
        return changes


class AsyncConnection(AsyncCurrentDatabase):
    """A database to be read and written, as `Connection`; `aconnect` makes one."""

    def __init__(self, own: Connection, threads: Threads) -> None:
        super().__init__(own, threads, set())
        self._connection = own

    async def import_(
        self,
        mapping: str | os.PathLike[str] | Mapping[str, Any],
        paths: Mapping[str, str | os.PathLike[str] | Any] | None = None,
        *,
        max_errors: int = 0,
        quarantine: str | os.PathLike[str] | None = None,
        dry_run: bool = False,
        progress: bool | Show = True,
    ) -> ImportReport:
        """As `Connection.import_`."""
        work = partial(
            self._connection.import_,
            mapping,
            paths,
            max_errors=max_errors,
            quarantine=quarantine,
            dry_run=dry_run,
            progress=progress,
        )
        return await self._threads.run(work)

    async def close(self) -> None:
        """As `Connection.close`."""
        if self._connection._lifetime.is_over():
            return
        for changes in tuple(self._changes):
            await changes.close()
        await self._threads.run(self._connection.close)
        self._threads.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncChanges(AsyncIterator[Change]):
    """The changes of a live query. `close`, or leaving its `async with`, ends it; so does cancelling its reader."""

    def __init__(self, query: str, begin: Callable[[], LiveChanges], left: Callable[[AsyncChanges], None]) -> None:
        self._query = query
        self._latest: Change | None = None
        self._begin = begin
        self._left = left
        # Waiting for a change keeps its thread.
        self._threads = Threads(1)
        self._changes: LiveChanges | None = None
        self._is_closed = False

    async def __anext__(self) -> Change:
        if self._is_closed:
            raise StopAsyncIteration
        try:
            found = await self._threads.run(self._next)
        except BaseException:
            await self.close()
            raise
        if not isinstance(found, Change):
            await self.close()
            raise StopAsyncIteration
        self._latest = found
        return found

    def _next(self) -> object:
        if self._changes is None:
            self._changes = self._begin()
            if self._is_closed:
                # Its reader went away while it began.
                self._changes.close()
        return next(self._changes, _END)

    async def close(self) -> None:
        self._is_closed = True
        if self._changes is not None:
            self._changes.close()
        self._threads.close()
        self._left(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return live_text(self._query, self._latest, is_closed=self._is_closed)

    def _repr_html_(self) -> str:
        return live_html(self._query, self._latest, is_closed=self._is_closed)


class Connecting:
    """What `aconnect` gives: to be awaited, or entered with `async with`."""

    def __init__(self, place: str | os.PathLike[str], token: str | None) -> None:
        self._open = partial(connect, place, token=token)
        self._opened: AsyncConnection | None = None

    def __await__(self) -> Generator[Any, None, AsyncConnection]:
        return self._connected().__await__()

    async def _connected(self) -> AsyncConnection:
        threads = Threads()
        try:
            return AsyncConnection(await threads.run(self._open), threads)
        except BaseException:
            threads.close()
            raise

    async def __aenter__(self) -> AsyncConnection:
        self._opened = await self
        return self._opened

    async def __aexit__(self, *_: object) -> None:
        if self._opened is not None:
            await self._opened.close()


def aconnect(place: str | os.PathLike[str], *, token: str | None = None) -> Connecting:
    """As `connect`, for an event loop.

    >>> import adalog, asyncio
    >>> async def main():
    ...     async with adalog.aconnect(":memory:") as db:
    ...         await db.transact([{"n/x": 1}])
    ...         return (await db.q("[:find ?x . :where [_ :n/x ?x]]")).value
    >>> asyncio.run(main())
    1
    """
    return Connecting(place, token)


def _opened(argument: Any) -> Any:
    return argument._own if isinstance(argument, AsyncDatabase) else argument
