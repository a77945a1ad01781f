"""Opens the database, starts the engines, and serves until told to stop."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from rich.console import Console

from datalog.errors import AdalogError, Code
from gateway.app import create_app
from gateway.config import Settings
from gateway.opening import open_database, start_pool

_GRACE_SECONDS = 5
# How long a thread keeps the interpreter from others that want it. Python's own 5 ms are counted for each change of
# threads, and a light query has three of them.
_SWITCH_SECONDS = 0.0005


def run(settings: Settings, out: Console) -> None:
    """Serves in this thread. Raises AdalogError when the folder or the port is taken."""
    logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s")
    sys.setswitchinterval(_SWITCH_SECONDS)
    with listening(settings) as listener, open_database(settings) as database:
        pool = start_pool(database, settings, spark=settings.spark)
        try:
            server = Server(create_app(database, pool, settings), settings)
            # uvicorn raises the signal that ended it once more; the default would end the process before it closes.
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, server.handle_exit)
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            out.print(
                f"adalog serves {settings.data}: explorer and GraphQL at http://{shown}:{port}/graphql",
                markup=False,
                soft_wrap=True,
            )
            server.run(sockets=[listener])
        finally:
            pool.close()


class Server(uvicorn.Server):
    """uvicorn as adalog runs it."""

    def __init__(self, app: object, settings: Settings) -> None:
        config = uvicorn.Config(
            app,  # type: ignore[arg-type]
            loop="uvloop",
            http="httptools",
            ws="none",
            lifespan="off",
            access_log=False,
            server_header=False,
            log_level="warning",
            log_config=None,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        super().__init__(config)


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
