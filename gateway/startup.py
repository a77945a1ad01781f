"""What answers while the database is opened: probes at once, the rest as soon as it can.

The port is there from the beginning, before most of the program is loaded. A thread of its own loads it and opens
the database; the event loop says how far it is.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.datastructures import Headers, State
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import stopping
from adalog.gateway.connections.guards import Guard, SecurityHeaders
from adalog.gateway.connections.request_ids import RequestIds
from adalog.gateway.connections.wire import Wire
from adalog.gateway.process import descriptors
from adalog.gateway.settings.config import Settings
from adalog.gateway.settings.location import shown_data
from adalog.gateway.settings.origins import Origins
from adalog.schema.request.errors import describe
from adalog.store.files.folder import is_address
from adalog.store.files.gc_pause import uncollected
from adalog.store.files.progress import OpeningStopped, Progress

if TYPE_CHECKING:
    from adalog.gateway.workers.workers import Workers
    from adalog.store.database import Database
    from adalog.store.storage import ProcessGroup

# A request that comes while the database is opened waits so long: that is what opening mostly takes. A balancer
# with another gateway to ask says less, by `Prefer: wait=0` (RFC 7240).
_PATIENCE_SECONDS: Final = 2.0
_PREFERRED: Final = re.compile(r"(?:^|[,\s])wait\s*=\s*(\d{1,9})(?=$|[;,\s])", re.IGNORECASE)
# What a client is told to wait at most before it asks again, and what it is told where nothing is known.
_MOST_SECONDS: Final = 30
_SOME_SECONDS: Final = 1
# When the log tells of a start that takes long, for the first time and then again.
_FIRST_WORD_SECONDS: Final = 1.0
_WORD_SECONDS: Final = 10.0
# How long a server that is away is left alone before it is tried again, at first and at most.
_FIRST_PAUSE_SECONDS: Final = 0.25
_LONGEST_PAUSE_SECONDS: Final = 5.0

_LOGGER: Final = logging.getLogger("adalog.server")
_NO_STORE: Final = {"Cache-Control": "no-store"}


class StartupApp:
    """An ASGI app: what says that the server starts, and once that is over the app itself."""

    def __init__(self, settings: Settings, progress: Progress) -> None:
        self.wire = Wire(settings)
        self._progress = progress
        self._app: Starlette | None = None
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._starting = State()
        self._starting.wire, self._starting.stop = self.wire, self
        origins = Origins.of(settings.allowed_origins)
        self._before = Starlette(
            routes=[Route("/healthz", self._health), Route("/readyz", self._ready), Mount("/", self._refuse)],
            middleware=[
                Middleware(RequestIds),
                Middleware(SecurityHeaders, origins=origins),
                *origins.middleware(),
                Middleware(Guard, settings=settings),
            ],
        )

    @property
    def state(self) -> State:
        """That of the app, and before there is one `wire` and `stop`."""
        return self._starting if self._app is None else self._app.state

    @property
    def is_open(self) -> bool:
        """Whether the app answers."""
        return self._app is not None

    def begin(self) -> None:
        """Gives up what is not opened yet: the server stops."""
        self._progress.stop()
        self._wake()

    def open(self, app: Starlette) -> None:
        """The app answers from now on. On any thread."""
        self._app = app
        self._wake()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None and scope["path"] not in ("/healthz", "/readyz"):
            await self._opened(_patience(scope))
        await (self._app or self._before)(scope, receive, send)

    async def _opened(self, seconds: float) -> None:
        """Returns once the app is there, or after so long."""
        waiting = asyncio.get_running_loop(), asyncio.Event()
        self._waiting.add(waiting)
        try:
            # It may have come before this request waited.
            if self._app is None:
                async with asyncio.timeout(seconds):
                    await waiting[1].wait()
        except TimeoutError:
            pass
        finally:
            self._waiting.discard(waiting)

    def _wake(self) -> None:
        for loop, waiting in tuple(self._waiting):
            loop.call_soon_threadsafe(waiting.set)

    async def _health(self, request: Request) -> JSONResponse:
        return JSONResponse({"status": "alive"}, headers=_NO_STORE)

    async def _ready(self, request: Request) -> JSONResponse:
        progress = self._progress
        left = progress.seconds_left
        answer = {
            "status": "starting",
            "why": str(progress),
            "datoms": progress.datoms,
            "ofDatoms": progress.of_datoms,
            "transactions": progress.transactions,
            "ofTransactions": progress.of_transactions,
            "secondsLeft": None if left is None else round(left, 1),
        }
        return JSONResponse(answer, 503, _NO_STORE)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        left = self._progress.seconds_left
        seconds = _SOME_SECONDS if left is None else min(max(1, math.ceil(left)), _MOST_SECONDS)
        error = AdalogError(
            Code.BACKEND_UNAVAILABLE,
            f"the server is starting, {self._progress}; ask again then. /readyz says how far it is",
            retry_after=seconds,
        )
        if scope["type"] == "websocket":
            await receive()
        headers = {**_NO_STORE, "Retry-After": str(seconds)}
        await JSONResponse({"errors": [describe(error)]}, 503, headers)(scope, receive, send)


def _patience(scope: Scope) -> float:
    """How long a request waits for the app, at most as long as its client prefers to."""
    found = _PREFERRED.search(", ".join(Headers(scope=scope).getlist("prefer")))
    return _PATIENCE_SECONDS if found is None else min(_PATIENCE_SECONDS, int(found[1]))


class Startup:
    """Opens the database and all that stands on it, on a thread of its own. `failure`: why that did not go well."""

    def __init__(
        self,
        settings: Settings,
        rehearsed: Callable[[], object],
        siblings: ProcessGroup | None = None,
        workers: Workers | None = None,
    ) -> None:
        """rehearsed: as in `WarmUp`. siblings: as in `open_database`. workers: as in `create_app`."""
        self._settings = settings
        self._siblings = siblings
        self._workers = workers
        self._rehearsed = rehearsed
        self._progress = Progress()
        self.front = StartupApp(settings, self._progress)
        self.failure: BaseException | None = None
        # What is open, to be closed in the opposite order.
        self._open = ExitStack()
        self._thread: threading.Thread | None = None
        # Ends what may not outlive the process, on any thread.
        self.kill: Callable[[], None] = lambda: None
        self._over = threading.Event()

    def begin(self, address: str, opened: Callable[[], object], failed: Callable[[], object]) -> None:
        """Begins. `opened` is called once everything is, or `failed`, each on the thread. address: where it is
        listened, for the log of a start that takes a while."""
        told = address, opened, failed
        self._thread = threading.Thread(target=self._run, args=told, name="adalog-opening", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Closes what is open; gives up what is not."""
        self._over.set()
        self._progress.stop()
        if self._thread is not None:
            self._thread.join()
        self._open.close()

    def _tell(self, address: str) -> None:
        pause = _FIRST_WORD_SECONDS
        while not self._over.wait(pause):
            _LOGGER.info("starting, %s; %s/readyz says how far it is", self._progress, address)
            pause = _WORD_SECONDS

    def _run(self, address: str, opened: Callable[[], object], failed: Callable[[], object]) -> None:
        try:
            self._open_all(address)
            opened()
        except OpeningStopped:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again by `_serve`
            self.failure = error
            failed()
        finally:
            self._over.set()

    def _opened_database(self) -> Database:
        """The database; where its server is away, once it is there. Raises what is wrong for good, and
        OpeningStopped."""
        from adalog.gateway.opening import open_database
        from adalog.store.log.log import UnusableError

        progress, pause, told = self._progress, _FIRST_PAUSE_SECONDS, ""
        # Workers have a supervisor, which has the folder.
        address = self._settings.local_address if self._siblings is None else None
        while True:
            try:
                database = open_database(self._settings, self._siblings, progress, address)
            except UnusableError as error:
                if not error.retryable:
                    raise
                progress.waits_for = error.reason
                if error.message != told:
                    _LOGGER.warning("the database cannot be opened yet, and is tried again: %s", error.message)
                told = error.message
            else:
                if is_address(self._settings.data) and not database.snapshot().t:
                    _LOGGER.info("the database in %s is new, and holds nothing", shown_data(self._settings.data))
                return database
            self._over.wait(pause)
            progress.check()
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _open_all(self, address: str) -> None:
        # Seconds of loading, which /healthz does not wait for; by one thread, as libraries import
        # each other in circles.
        with uncollected():
            from adalog.gateway.app import create_app
            from adalog.gateway.opening import start_pool
            from adalog.gateway.warm_up import WarmUp

        self._progress.check()
        threading.Thread(target=self._tell, args=(address,), name="adalog-telling", daemon=True).start()
        settings, opening = self._settings, self._open
        rehearsal = WarmUp(settings, self._rehearsed)
        opening.callback(rehearsal.stop)
        database = opening.enter_context(self._opened_database())
        rehearsal.on(database)
        self._progress.check()
        pool = start_pool(database, settings, spark=settings.spark, workers=self._workers)
        self.kill = pool.kill
        opening.callback(pool.close)
        app = create_app(database, pool, settings, lambda: rehearsal.over, self.front.wire, self._workers)
        opening.enter_context(app.state.hub)
        opening.callback(app.state.surfaces.close)
        kinds = (app.state.imports.jobs, app.state.backups.jobs)
        for jobs in kinds:
            opening.callback(jobs.join)
        for jobs in kinds:
            opening.callback(jobs.close, stopping())
        self.front.wire.fit(descriptors.free())
        self.front.open(app)
