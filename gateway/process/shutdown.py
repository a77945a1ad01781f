"""How the process ends: in order where that is quick, and in any case within seconds of being told to.

What was answered is on disk, so nothing is lost by an end that does not wait.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from types import FrameType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from adalog.executor.live.hub.hub import Hub
    from adalog.executor.pool import Pool
    from adalog.schema.typed.changes import SchemaChanges
    from adalog.store.database import Database

# Seconds after the signal: when what still runs is told to stop, when clients are let go that do not take what was
# sent, when connections are cut whatever runs, when all is over.
FINISH: Final = 1.0
LET_GO: Final = 1.5
CUT: Final = 2
GONE: Final = 3.5

_log = logging.getLogger("adalog.server")


class StoppedAnswers:
    """Tells clients that wait for an answer, or follow one, that none will come. Lives on the event loop."""

    def __init__(self, database: Database, pool: Pool, hub: Hub, changes: SchemaChanges) -> None:
        self._database = database
        self._pool = pool
        self._hub = hub
        self._changes = changes
        self._waiting: set[asyncio.Future[None]] = set()
        # Requests whose body is still on the way.
        self.reading: set[asyncio.Task[None]] = set()
        self.has_begun = False

    def begin(self) -> None:
        """Ends queries, and refuses the transactions that have not begun; one that has is answered."""
        self.has_begun = True
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(None)
        for task in self.reading:
            task.cancel()
        self._hub.stop()
        self._changes.stop()
        self._database.writer.stop()
        self._pool.stop()

    def told(self) -> asyncio.Future[None]:
        """Is done as soon as it begins. `forget` it when there is an answer."""
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        if self.has_begun:
            waiting.set_result(None)
        return waiting

    def forget(self, waiting: asyncio.Future[None]) -> None:
        """Its client does not wait any more."""
        self._waiting.discard(waiting)
        waiting.cancel()


class ShutdownStep(Enum):
    """How far the end of a process is."""

    SERVING = auto()
    DRAINING = auto()
    STOPPING = auto()
    ENDING = auto()


def after_signal(step: ShutdownStep, number: int, *, drains: bool) -> ShutdownStep:
    """The next step. SIGTERM drains first, if that is wanted; SIGINT comes from a person who waits."""
    if step is ShutdownStep.SERVING and number == signal.SIGTERM and drains:
        return ShutdownStep.DRAINING
    return ShutdownStep.STOPPING if step in (ShutdownStep.SERVING, ShutdownStep.DRAINING) else ShutdownStep.ENDING


class Shutdown:
    """Takes SIGTERM and SIGINT. The first SIGTERM begins the drain. Its end, another signal, or SIGINT stops the
    process in order and in time; a further signal ends it at once."""

    def __init__(self, drain_seconds: float = 0.0) -> None:
        self._step = ShutdownStep.SERVING
        self._drain_seconds = drain_seconds
        self.kill: Callable[[], None] = lambda: None
        self._drain: Callable[[], bool] = lambda: False
        self._stop: Callable[[], object] = lambda: None

    def install(self) -> None:
        """From now on; in the main thread."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._signalled)

    def tell(self, drain: Callable[[], bool], stop: Callable[[], object]) -> None:
        """Sets the callbacks; `stop` is called at once if a signal came before. drain: returns False if nothing is
        served yet."""
        self._drain, self._stop = drain, stop
        if self._step is not ShutdownStep.SERVING:
            stop()

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self._step = after_signal(self._step, number, drains=self._drain_seconds > 0)
        if self._step is ShutdownStep.DRAINING and not self._drain():
            self._step = ShutdownStep.STOPPING
        if self._step is ShutdownStep.ENDING:
            self._in(0, 128 + number)
        elif self._step is ShutdownStep.STOPPING:
            self._begin()
        else:
            timer = threading.Timer(self._drain_seconds, self._drained)
            timer.daemon = True
            timer.start()

    def _drained(self) -> None:
        if self._step is ShutdownStep.DRAINING:
            self._step = ShutdownStep.STOPPING
            self._begin()

    def _begin(self) -> None:
        self._in(GONE, 0)
        self._stop()

    def _in(self, seconds: float, code: int) -> None:
        timer = threading.Timer(seconds, self._end, (code,))
        timer.daemon = True
        timer.start()

    def _end(self, code: int) -> None:
        """Whatever still runs: a kernel that holds its thread, a fold."""
        _log.warning("the process ends without waiting for what still runs; nothing that was answered is lost")
        with suppress(Exception):
            self.kill()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        os._exit(code)
