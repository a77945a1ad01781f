"""Opens the database, starts the engines, and serves until told to stop."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from rich.console import Console
from starlette.applications import Starlette

from datalog.errors import AdalogError, Code
from executor.bounds.cancel import stopping
from gateway import descriptors
from gateway.app import create_app
from gateway.config import Settings
from gateway.connection import Connection
from gateway.ending import CUT, FINISH, LET_GO, Ending, Stop
from gateway.opening import open_database, start_pool
from gateway.rehearsal import Rehearsal
from gateway.texts import shown_data
from gateway.trimming import Trimming
from gateway.websocket import WebSocket
from gateway.wire import Wire

# How long a thread keeps the interpreter from others that want it. Python's own 5 ms are counted for each change of
# threads, and a light query has three of them.
_SWITCH_SECONDS = 0.0005


def run(settings: Settings, out: Console) -> None:
    """Serves in this thread. Raises AdalogError when the folder or the port is taken."""
    logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    os.umask(0o077)
    descriptors.allow_many()
    sys.setswitchinterval(_SWITCH_SECONDS)
    ending, rehearsal, trimming = Ending(), Rehearsal(settings), Trimming()
    with listening(settings) as listener, open_database(settings) as database:
        # What is ended before is ended by the signal: nothing is served, and the log is whole.
        ending.install()
        rehearsal.on(database)
        pool = start_pool(database, settings, spark=settings.spark)
        try:
            app = create_app(database, pool, settings, lambda: rehearsal.over)
            with app.state.hub:
                app.state.wire.fit(descriptors.free())
                server = Server(app, settings)
                ending.kill = pool.kill
                ending.tell(server.handle_exit)
                host, port = listener.getsockname()[:2]
                shown = f"[{host}]" if ":" in host else host
                out.print(
                    f"adalog serves {shown_data(settings.data)}: explorer and GraphQL at http://{shown}:{port}/graphql",
                    markup=False,
                    soft_wrap=True,
                )
                trimming.start()
                try:
                    server.run(sockets=[listener])
                finally:
                    app.state.imports.close(stopping())
                    app.state.imports.join()
        finally:
            trimming.stop()
            rehearsal.stop()
            pool.close()


class Server(uvicorn.Server):
    """uvicorn as adalog runs it."""

    def __init__(self, app: Starlette, settings: Settings) -> None:
        self._stop: Stop = app.state.stop
        self._wire: Wire = app.state.wire
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http=partial(Connection, self._wire),  # type: ignore[arg-type]
            ws=partial(WebSocket, self._wire),  # type: ignore[arg-type]
            ws_max_size=settings.request_bytes,
            # The wire's own clock pings, and what is short gains nothing from being compressed.
            ws_ping_interval=None,
            ws_per_message_deflate=False,
            lifespan="off",
            access_log=False,
            server_header=False,
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=settings.trusted_proxies,
            timeout_keep_alive=settings.idle_seconds,  # type: ignore[arg-type]
            log_level="warning",
            log_config=None,
            timeout_graceful_shutdown=CUT,
        )
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to serve, and to end connections that take too long."""
        asyncio.get_running_loop().set_exception_handler(_unheard)
        await super().startup(sockets)
        self._wire.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Lets what runs finish for a moment, then has it answered that the server stops."""
        self._wire.stop()
        loop = asyncio.get_running_loop()
        loop.call_later(FINISH, self._stop.begin)
        loop.call_later(LET_GO, self._wire.let_go)
        await super().shutdown(sockets)
        # A client that reads nothing confirms no end either, and the loop would wait for its connection.
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to `Ending`: uvicorn would raise the one that ended it once more."""
        yield


def _unheard(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Logs what the event loop could tell nobody. A refusal is no incident: whoever it was for has left."""
    if not isinstance(context.get("exception"), AdalogError):
        loop.default_exception_handler(context)


@contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """The socket to serve on; port 0 takes a free one. Raises BACKEND_UNAVAILABLE when the port is taken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family, backlog=1024)
    except OSError as error:
        raise AdalogError(
            Code.BACKEND_UNAVAILABLE,
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror}; "
            "--port takes another one (0: any free)",
        ) from None
    with listener:
        yield listener
