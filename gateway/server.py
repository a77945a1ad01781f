"""Opens the database, starts the engines, and serves until told to stop."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn
from rich.console import Console
from starlette.applications import Starlette

from adalog.datalog.errors import AdalogError, unavailable
from adalog.gateway.connections.connection import Connection
from adalog.gateway.connections.websocket import WebSocket
from adalog.gateway.connections.wire import Wire
from adalog.gateway.identity.auth import check_tokens
from adalog.gateway.observe.logs import json_line, start_logging
from adalog.gateway.observe.telemetry import traces
from adalog.gateway.process import descriptors
from adalog.gateway.process.backlog import SETTLE_SECONDS, is_readable, refuse_new
from adalog.gateway.process.listeners import listener_on
from adalog.gateway.process.shutdown import CUT, FINISH, LET_GO, Shutdown
from adalog.gateway.process.trimming import MemoryTrimming
from adalog.gateway.settings.config import Settings
from adalog.gateway.settings.location import shown_data
from adalog.gateway.startup import Startup, StartupApp
from adalog.gateway.workers import channel

if TYPE_CHECKING:
    from adalog.gateway.workers.supervisor_link import SupervisorLink
    from adalog.gateway.workers.workers import Workers
    from adalog.store.storage import ProcessGroup

# How long a thread keeps the interpreter from others that want it. Python's own 5 ms are counted for each change of
# threads, and a light query has three of them.
_SWITCH_SECONDS = 0.0005
# Young objects after which the collector looks through them. The requests of a moment have more than Python's own
# 700, so that the same ones would be looked through again and again.
_YOUNG_OBJECTS = 5_000
# Collections of young objects after which what they left is looked through once more. All threads wait meanwhile:
# with Python's own 10, for 15 to 30 ms where thousands of subscribers come.
_YOUNG_COLLECTIONS = 2
# In which the event loop accepts what waits at a port that is closed; one is enough where no new connection begins.
_MOST_TURNS = 100

_log = logging.getLogger("adalog.server")


def _nothing(*_: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Entrance:
    """Where connections come from. sockets: those that this process listens on. opened: called when the database is
    open, and all that stands on it; rehearsed: when the first query costs what any other does. Both on any thread.
    open: called when connections can be taken; close: when no more are, once those that wait are taken. counted:
    told how many are open."""

    sockets: list[socket.socket]
    opened: Callable[[], object] = _nothing
    rehearsed: Callable[[], object] = _nothing
    open: Callable[[Server], object] = _nothing
    close: Callable[[], object] = _nothing
    counted: Callable[[int], None] = _nothing


def _handed_connections(post: SupervisorLink) -> Entrance:
    beginning: set[asyncio.Task[None]] = set()

    def open(server: Server) -> None:
        def take(connection: socket.socket) -> None:
            task = asyncio.ensure_future(_begin(server, connection))
            beginning.add(task)
            task.add_done_callback(beginning.discard)

        post.open(take, server.drain)

    opened, rehearsed = partial(post.say, channel.OPENED), partial(post.say, channel.READY)
    return Entrance([], opened, rehearsed, open, post.close, post.counted)


async def _begin(server: Server, connection: socket.socket) -> None:
    """Begins to serve a connection, unless it is gone already."""
    connection.setblocking(False)
    try:
        await asyncio.get_running_loop().connect_accepted_socket(server.protocol, connection)
    except OSError:
        connection.close()


def run(settings: Settings, out: Console, begins: Callable[[], object] = lambda: None) -> int:
    """Serves in this thread, or with workers; the exit code. `begins`: called when the port is taken, before the
    database is opened. Raises AdalogError when the folder or the port is another's."""
    _set_up(settings)
    check_tokens(settings)
    with listening(settings) as listener:
        begins()
        host, port = listener.getsockname()[:2]
        settings = replace(settings, host=host, port=port)

        def opened() -> None:
            address = _address(settings)
            said = f"adalog serves {shown_data(settings.data)}: console at {address}/, GraphQL at {address}/graphql"
            if settings.log_format == "json":
                said = json_line(logging.INFO, said)
            out.print(said, markup=False, soft_wrap=True)

        if settings.workers > 1:
            from adalog.gateway.workers.supervisor import supervise

            return supervise(settings, listener, opened)
        _serve(settings, Entrance([listener], opened))
    return 0


def serve_as_worker(settings: Settings, post: SupervisorLink, siblings: ProcessGroup) -> None:
    from adalog.gateway.workers.workers import Workers

    _set_up(settings, post.number)
    _serve(settings, _handed_connections(post), siblings, Workers(post))


def _set_up(settings: Settings, worker: int | None = None) -> None:
    start_logging(settings, worker)
    os.umask(0o077)
    descriptors.allow_many()
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.set_threshold(_YOUNG_OBJECTS, _YOUNG_COLLECTIONS, gc.get_threshold()[2])


def _address(settings: Settings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def _serve(
    settings: Settings, entrance: Entrance, siblings: ProcessGroup | None = None, workers: Workers | None = None
) -> None:
    # A worker is told by its supervisor when the drain begins, and stops at the first signal.
    ending, trimming = Shutdown(settings.drain_seconds if workers is None else 0.0), MemoryTrimming()
    start = Startup(settings, entrance.rehearsed, siblings, workers)
    server = Server(start.front, settings, entrance)
    # What is ended from now on is ended by the signal: nothing is served, and the log is whole.
    ending.install()
    ending.kill = lambda: start.kill()
    ending.tell(server.drain, server.give_up)

    def opened() -> None:
        entrance.opened()
        trimming.start()

    try:
        with traces():
            start.begin(_address(settings), opened, server.give_up)
            server.run(sockets=entrance.sockets)
    finally:
        if workers is not None:
            workers.end()
        trimming.stop()
        start.close()
    if start.failure is not None:
        raise start.failure


class Server(uvicorn.Server):
    """uvicorn as adalog runs it."""

    def __init__(self, app: Starlette | StartupApp, settings: Settings, entrance: Entrance | None = None) -> None:
        """entrance: None where `run` is given sockets that are listened on."""
        self._entrance = entrance or Entrance([])
        self._app = app
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
        # By this thread, before another one loads the rest.
        config.load()
        super().__init__(config)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to serve, and to end connections that take too long."""
        asyncio.get_running_loop().set_exception_handler(_unheard)
        await super().startup(sockets)
        self._wire.start()
        self._wire.counted = self._entrance.counted
        self._entrance.open(self)

    def protocol(self) -> asyncio.Protocol:
        """The protocol of a connection that was accepted elsewhere; as uvicorn makes it for one of its own."""
        made: asyncio.Protocol = self.config.http_protocol_class(
            config=self.config,
            server_state=self.server_state,
            app_state=self.lifespan.state,
            _loop=asyncio.get_running_loop(),
        )  # type: ignore[call-arg]
        return made

    def drain(self) -> bool:
        """Has balancers send nothing more, while everything is answered. Returns False if nothing is served yet."""
        if isinstance(self._app, StartupApp) and not self._app.is_open:
            return False
        # A signal may interrupt the answer to a request, which the line does not belong to.
        Context().run(_log.info, "the server stops soon: /readyz is 503, and everything is still answered")
        self._wire.is_draining = True
        return True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Lets what runs finish for a moment, then has it answered that the server stops."""
        self._wire.stop()
        self._wire.is_draining = True
        for connection in tuple(self.server_state.connections):
            connection.shutdown()
        self._entrance.close()
        await self._close_ports(sockets or [])
        loop = asyncio.get_running_loop()
        loop.call_later(FINISH, self._app.state.stop.begin)
        loop.call_later(LET_GO, self._wire.let_go)
        await super().shutdown(sockets)
        # A client that reads nothing confirms no end either, and the loop would wait for its connection.
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()
        await asyncio.sleep(0)

    async def _close_ports(self, listeners: list[socket.socket]) -> None:
        """Returns when the event loop has accepted what waited; uvicorn closes the sockets."""
        for listener in listeners:
            refuse_new(listener)
        if listeners:
            await asyncio.sleep(SETTLE_SECONDS)
        for _ in range(_MOST_TURNS):
            if not any(is_readable(listener.fileno()) for listener in listeners):
                break
            await asyncio.sleep(0)

    def give_up(self) -> None:
        """Ends in order. On any thread."""
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to `Shutdown`: uvicorn would raise the one that ended it once more."""
        yield


def _unheard(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Logs what the event loop could not deliver. A refusal is no incident: its client has left."""
    if not isinstance(context.get("exception"), AdalogError):
        loop.default_exception_handler(context)


@contextmanager
def listening(settings: Settings) -> Iterator[socket.socket]:
    """The socket to serve on; port 0 takes a free one. Raises BACKEND_UNAVAILABLE when the port is taken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        listener = socket.create_server((settings.host, settings.port), family=family, backlog=1024)
    except OSError as error:
        raise unavailable(
            f"cannot listen on {settings.host}:{settings.port}: {_reason(error)}{_port_hint(settings.port, error)}"
        ) from None
    with listener:
        yield listener


def _port_hint(port: int, error: OSError) -> str:
    if error.errno in (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT) or isinstance(error, socket.gaierror):
        return "; --host (ADALOG_HOST) names an address of this machine"
    process = listener_on(port) if error.errno == errno.EADDRINUSE else None
    return f"{'' if process is None else f' by {process}'}; --port (ADALOG_PORT) takes another one, 0 any free one"


def _reason(error: OSError) -> str | None:
    # Of errors with a number Python says the address once more.
    return os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
