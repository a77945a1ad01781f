"""What a first query would wait for, done before anybody asks: kernels compiled, every way of a request gone once.

For the server, which says that it is ready when this is over. The requests go to an app of its own over a small
database, so that they show in no metric and no cache.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Final

import orjson
from starlette.types import ASGIApp, Message

from adalog.executor.kernels.loading import ensure_kernels
from adalog.executor.pool import Pool
from adalog.gateway.app import create_app
from adalog.gateway.opening import cache_settings
from adalog.gateway.settings.config import Settings
from adalog.store.database import Database

_DATA: Final = (
    """[{:db/ident :n/name :db/valueType :db.type/string :db/cardinality :db.cardinality/one
         :db/unique :db.unique/identity}
        {:db/ident :n/to :db/valueType :db.type/ref :db/cardinality :db.cardinality/many}]""",
    """[{:db/id "a" :n/name "a" :n/size 1 :n/to ["b" "c"]} {:db/id "b" :n/name "b" :n/size 2 :n/to "c"}
        {:db/id "c" :n/name "c" :n/size 3 :n/to "a"}]""",
)
_QUERIES: Final = (
    "[:find ?b :in $ ?name :where [?a :n/name ?name] [?a :n/to ?b]]",
    """[:find ?b (count ?c) (sum ?s) :in $ ?name
        :where [?a :n/name ?name] [?a :n/to ?b] [?b :n/to ?c] [?c :n/to ?a] [?a :n/size ?s] [(< ?s 9)]
               (or [?b :n/to ?c] [?c :n/to ?b]) (not [?b :n/size 7])
        :order-by [?b]]""",
    """[:find ?c :in $ ?name :where [?a :n/name ?name] (far ?a ?b) [?b :n/name ?c]
        :rules [[(far ?a ?b) [?a :n/to ?b]] [(far ?a ?c) [?a :n/to ?b] (far ?b ?c)]]]""",
    "[:find (pull ?a [:n/name {:n/to [:n/name]}]) :in $ ?name :where [?a :n/name ?name]]",
)
_DOCUMENT: Final = (
    "query ($query: EDN!, $args: [JSON!]) { q(query: $query, args: $args) { columns { name type } rows basisT "
    "stats { engine elapsedMs } warnings { code message } } }"
)


_MOMENT_SECONDS: Final = 0.5


class WarmUp:
    """Begins in a thread of its own; `over` once the first query costs what any other does."""

    def __init__(self, settings: Settings, then: Callable[[], object] = lambda: None) -> None:
        """then: called on its thread when it is over, unless it was stopped."""
        self._settings = settings
        self._then = then
        self._over = threading.Event()
        self._database: Database | None = None
        self._opened = threading.Event()
        self._stopped = threading.Event()
        # A process that is told to stop waits for none of this but a request that is under way.
        self._thread = threading.Thread(target=self._run, name="rehearsal", daemon=True)
        self._thread.start()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def wait(self, seconds: float) -> bool:
        return self._over.wait(seconds)

    def stop(self) -> None:
        """Begins nothing more, and waits a moment for what was begun: the process ends."""
        self._stopped.set()
        self._opened.set()
        self._thread.join(_MOMENT_SECONDS)

    def on(self, database: Database) -> None:
        """Has the rehearsal read what queries of this database will want."""
        self._database = database
        self._opened.set()

    def _run(self) -> None:
        try:
            ensure_kernels()
            rehearse(self._settings, self._stopped)
            self._opened.wait()
            if not self._stopped.is_set() and self._database is not None:
                self._database.snapshot().prepare()
        finally:
            # Also where it fails, which Python prints: queries do without, the first ones only take longer.
            self._over.set()
        if not self._stopped.is_set():
            self._then()


def rehearse(settings: Settings, stopped: threading.Event | None = None) -> None:
    """Sends a request of each kind to an app over a small database in memory, until it is `stopped`."""
    stopped = stopped or threading.Event()
    if stopped.is_set():
        return
    with Database.open(":memory:") as database:
        for text in _DATA:
            database.transact(text)
        pool = Pool(database, cache=cache_settings(Settings(cache_bytes=settings.cache_bytes)))
        try:
            asyncio.run(_asked(create_app(database, pool, Settings(data=":memory:")), stopped))
        finally:
            pool.close()


async def _asked(app: ASGIApp, stopped: threading.Event) -> None:
    for query in _QUERIES:
        for name in ("a", "b"):
            if stopped.is_set():
                return
            await _post(app, {"query": _DOCUMENT, "variables": {"query": query, "args": [name]}})


async def _post(app: ASGIApp, content: object) -> None:
    """One request, by the app's own protocol. Raises RuntimeError where it is not answered."""
    body = orjson.dumps(content)
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"accept", b"*/*")]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
        "path": "/graphql", "raw_path": b"/graphql", "query_string": b"", "root_path": "", "headers": headers,
        "client": None, "server": None,
    }  # fmt: skip
    answer: list[Message] = []
    asked = False

    async def receive() -> Message:
        nonlocal asked
        if asked:
            await asyncio.Event().wait()
        asked = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        answer.append(message)

    await app(scope, receive, send)
    said = b"".join(message.get("body", b"") for message in answer)
    if b'"errors"' in said:
        raise RuntimeError(said.decode())
