"""Connections to PostgreSQL that do not wait for ever: a server may be stopped, or its disk, while the machine's
network still acknowledges whatever it is sent.

libpq knows no such limit but for connecting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any, Final

import psycopg

# For how long a server may be silent, in seconds: longer than a gateway waits for its turn.
SILENT_SECONDS: Final = 15.0


class SilentError(psycopg.OperationalError):
    """The server has said nothing for too long. The message is ours, and may be told to anybody."""


class BoundedConnection(psycopg.Connection[Any]):
    """gives_up: is asked each time that the server was silent for `seconds`; where it says so, the connection is
    closed, and what was asked raises SilentError."""

    seconds = SILENT_SECONDS
    gives_up: Callable[[], bool] = staticmethod(lambda: True)

    def wait(self, gen: Generator[Any, Any, Any], *given: Any, **named: Any) -> Any:
        return super().wait(self._bounded(gen), *given, **named)

    def _bounded(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        heard = time.monotonic()
        try:
            wants = next(gen)
            while True:
                # What the socket is ready for; nothing, now and then, where nothing has happened.
                ready = yield wants
                if ready:
                    heard = time.monotonic()
                elif time.monotonic() > heard + self.seconds:
                    if self.gives_up():
                        self.pgconn.finish()
                        raise SilentError(f"the server has been silent for {self.seconds:g} seconds")
                    heard = time.monotonic()
                wants = gen.send(ready)
        except StopIteration as end:
            return end.value
