"""A gateway to talk to: the app in process, or a real server on a free port."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx
from starlette.applications import Starlette

from adalog.executor.cache.settings import CacheSettings
from adalog.executor.pool import Pool, PoolSettings
from adalog.gateway.app import create_app
from adalog.gateway.connections.wire import Wire
from adalog.gateway.server import Server, listening
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database

T = TypeVar("T")
FAMILY = """
[{:person/name "Ada" :person/born 1815 :person/child ["byron" "anne" "ralph"]}
 {:db/id "byron" :person/name "Byron"}
 {:db/id "anne" :person/name "Anne"}
 {:db/id "ralph" :person/name "Ralph"}]
"""
SCHEMA = """
[{:db/ident :person/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
  :db/unique :db.unique/identity
  :db/doc "What they are called"}
 {:db/ident :person/born :db/valueType :db.type/long :db/cardinality :db.cardinality/one}
 {:db/ident :person/child :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]
"""


class InProcess:
    """An HTTP client that calls the app without a socket; an exception of the app is the caller's."""

    def __init__(self, app: Starlette) -> None:
        self._runner = asyncio.Runner()
        self._client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self._runner.run(self._client.request(method, path, **more))

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.request("GET", path, **more)

    def post(self, path: str, **more: Any) -> httpx.Response:
        return self.request("POST", path, **more)

    def call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What a coroutine returns on the client's event loop."""
        return self._runner.run(coroutine)

    def close(self) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()


def scope_of(body: bytes, headers: Iterable[tuple[bytes, bytes]] = ()) -> dict[str, Any]:
    """ASGI's scope of a POST of JSON to /graphql, with more headers."""
    return {
        "type": "http",
        "path": "/graphql",
        "method": "POST",
        "scheme": "http",
        "query_string": b"",
        "client": ("127.0.0.1", 1),
        "headers": [
            (b"host", b"127.0.0.1"),
            (b"content-type", b"application/json"),
            *headers,
            (b"content-length", b"%d" % len(body)),
        ],
    }


class Gateway:
    """One app over one database, asked over HTTP within the process."""

    def __init__(self, database: Database, pool: Any, settings: Settings | None = None) -> None:
        self.database = database
        self.pool = pool
        self.settings = settings or Settings(data=":memory:")
        self.wire = Wire(self.settings)
        self.app: Starlette = create_app(database, pool, self.settings, wire=self.wire)
        self.http = InProcess(self.app)

    def post(self, document: str, headers: Mapping[str, str] | None = None, **variables: Any) -> httpx.Response:
        body = {"query": document, "variables": variables}
        return self.http.post("/graphql", json=body, headers=dict(headers or {}))

    def post_directly(self, document: str, headers: Mapping[str, str] | None = None, **variables: Any) -> bytes:
        """What a connection answers to the same where it reads the request: the response but for its headers. Of
        the app's, the body."""
        body = {"query": document, "variables": variables}
        found = self.http.call(self._directly(json.dumps(body).encode(), headers or {}))
        return found or self.post(document, headers, **variables).content

    async def _directly(self, body: bytes, given: Mapping[str, str]) -> bytes | None:
        assert self.wire.direct is not None, "no proxies are trusted"
        headers = [(name.lower().encode(), value.encode()) for name, value in given.items()]
        answer = self.wire.direct.answer(scope_of(body, headers), body, _nothing)
        if answer is not None and not isinstance(answer, tuple):
            if isinstance(answer.work, asyncio.Future):
                await asyncio.wait((answer.work,))
                answer.settle()
            else:
                await answer.work
            answer = answer.response()
        return None if answer is None else answer[1].partition(b"\r\n\r\n")[2]

    def data(self, document: str, **variables: Any) -> Any:
        """The answer's data, which must come without errors."""
        answer = self.post(document, **variables).json()
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    def error(self, document: str, **variables: Any) -> Any:
        """The answer's one error."""
        answer = self.post(document, **variables).json()
        assert len(answer["errors"]) == 1, answer
        return answer["errors"][0]

    def code(self, document: str, **variables: Any) -> str:
        code: str = self.error(document, **variables)["extensions"]["code"]
        return code

    def q(self, query: str, *args: Any, **more: Any) -> Any:
        """The rows of a query."""
        document = "query($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args) { rows } }"
        return self.data(document, query=query, args=list(args) or None, **more)["q"]["rows"]


async def _nothing() -> Any:
    """Of a client that says nothing more, and stays."""
    await asyncio.Future()


def place_of(error: Mapping[str, Any]) -> tuple[Any, ...]:
    """Which argument an error is about, and where in it."""
    return tuple(error["extensions"].get(name) for name in ("origin", "line", "column"))


@contextmanager
def gateway(
    settings: Settings | None = None, *transactions: str, cache: CacheSettings | None = None, threads: int = 2
) -> Iterator[Gateway]:
    """A gateway over a new database in memory that has seen these transactions. cache: how answers are kept.
    threads: for each query."""
    with Database.open(":memory:") as database:
        pool = Pool(database, PoolSettings(threads=threads), cache=cache)
        try:
            for text in transactions:
                database.transact(text)
            opened = Gateway(database, pool, settings)
            with opened.app.state.hub:
                yield opened
            opened.app.state.surfaces.close()
            opened.http.close()
        finally:
            pool.close()


@contextmanager
def served(app: Starlette, settings: Settings | None = None) -> Iterator[str]:
    """The app behind a real uvicorn on a free port; its address."""
    settings = settings or Settings(port=0)
    ready = threading.Event()

    class Told(Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready.set()

    server = Told(app, settings)
    # Signals belong to the main thread.
    server.capture_signals = _no_signals  # type: ignore[method-assign,assignment]
    with listening(settings) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            assert ready.wait(20), "the server did not start"
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive(), "the server did not stop"


@contextmanager
def _no_signals() -> Iterator[None]:
    yield
