"""The kinds of connection on which the contract of the library is run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import adalog

if TYPE_CHECKING:
    from tests.postgres_servers import PostgresServer

Opened = Iterator[adalog.Connection]


@contextmanager
def in_memory(folder: Path, server: Callable[[], PostgresServer]) -> Opened:
    with adalog.connect(":memory:") as db:
        yield db


@contextmanager
def in_folder(folder: Path, server: Callable[[], PostgresServer]) -> Opened:
    with adalog.connect(folder / "data") as db:
        yield db


@contextmanager
def on_postgres(folder: Path, server: Callable[[], PostgresServer]) -> Opened:
    with adalog.connect(server().new_database()) as db:
        yield db


@contextmanager
def _served() -> Iterator[str]:
    # The library alone, as a wheel, runs the others.
    from tests.gateway.support import gateway, served

    with gateway() as opened, served(opened.app) as url:
        yield url


@contextmanager
def over_http(folder: Path, server: Callable[[], PostgresServer]) -> Opened:
    with _served() as url, adalog.connect(url) as db:
        yield db


class Awaited:
    """An asynchronous database behind the names of a synchronous one: calls run on a loop of another thread."""

    def __init__(self, own: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._own = own
        self._loop = loop

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._own, name)
        if not callable(found):
            return found

        def call(*args: Any, **more: Any) -> Any:
            given = found(*(each._own if isinstance(each, Awaited) else each for each in args), **more)
            given = self._run(given) if asyncio.iscoroutine(given) else given
            return Awaited(given, self._loop) if hasattr(given, "_threads") else given

        return call

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self._run(anext(self._own))
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self) -> Awaited:
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._own.close())

    def __repr__(self) -> str:
        return repr(self._own)


@contextmanager
def _awaited(place: str) -> Iterator[Any]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def opened() -> adalog.AsyncConnection:
        return await adalog.aconnect(place)

    try:
        with Awaited(asyncio.run_coroutine_threadsafe(opened(), loop).result(), loop) as db:
            yield db
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def async_in_memory(folder: Path, server: Callable[[], PostgresServer]) -> Opened:
    with _awaited(":memory:") as db:
        yield db


@contextmanager
def async_in_folder(folder: Path, server: Callable[[], PostgresServer]) -> Opened:
    with _awaited(str(folder / "data")) as db:
        yield db


@contextmanager
def async_on_postgres(folder: Path, server: Callable[[], PostgresServer]) -> Opened:
    with _awaited(server().new_database()) as db:
        yield db


@contextmanager
def async_over_http(folder: Path, server: Callable[[], PostgresServer]) -> Opened:
    with _served() as url, _awaited(url) as db:
        yield db


KINDS = {
    "async memory": async_in_memory,
    "async folder": async_in_folder,
    "async postgresql": async_on_postgres,
    "async http": async_over_http,
    "http": over_http,
    "memory": in_memory,
    "folder": in_folder,
    "postgresql": on_postgres,
}
