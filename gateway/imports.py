"""Imports that clients ask a server for: one at a time, on its Spark session, each in a thread of its own.

What there is to say of one goes through an `Outbox` to the event loop. A client that leaves, or a server that
stops, ends the import within a moment; nothing is left of it then, unless it was done already.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from datalog.errors import AdalogError, Code
from executor.pool import Pool
from executor.spark.engine import SparkEngine
from executor.spark.pipeline.loading import load
from executor.spark.pipeline.mapping import Plan
from executor.spark.pipeline.reading import SparkRunner, Watching
from executor.spark.pipeline.runner import Runner
from gateway.config import Settings
from schema.errors import describe, internal
from store.database import Database

_log = logging.getLogger("adalog.server")

_SPARK_SECONDS: Final = 240.0
_LOOK_SECONDS: Final = 0.1
# Events that wait for a client, but for progress, of which only the latest waits.
_WAITING: Final = 16
# Of rejected rows in one event.
_PIECE: Final = 1 << 16
# How long the end of a server waits for that of an import.
_END_SECONDS: Final = 2.0

LAST: Final = ("done", "error")
Event = tuple[str, Any]
"""Its kind, `progress`, `rejected`, `done` or `error`, and what is said, as JSON has it."""


Elsewhere = Callable[["Wish"], Generator[Event | None]]


class Outbox:
    """Events from the thread of an import to a task of the event loop. `reason`: why nobody wants them any more."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._events: deque[Event] = deque()
        self._room = threading.Condition()
        self.reason: AdalogError | None = None

    def put(self, kind: str, said: Any) -> None:
        """Has an event sent; waits where many wait. Raises the reason why nobody wants it."""
        with self._room:
            self.check()
            if kind == "progress" and self._events and self._events[-1][0] == kind:
                self._events.pop()
            self._room.wait_for(lambda: len(self._events) < _WAITING or self.reason is not None)
            self.check()
            self._events.append((kind, said))
        self._tell()

    def end(self, kind: str, said: Any) -> None:
        """The last event, which waits for nothing."""
        with self._room:
            self._events.append((kind, said))
        self._tell()

    def check(self) -> None:
        """Raises the reason why nobody wants anything any more, if there is one."""
        if self.reason is not None:
            raise AdalogError(self.reason.code, self.reason.message, retryable=self.reason.retryable)

    def close(self, reason: AdalogError) -> None:
        """Nobody wants anything any more."""
        with self._room:
            self.reason = self.reason or reason
            self._room.notify_all()

    async def taken(self, seconds: float) -> list[Event]:
        """The events that wait, of which there may be none after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return []
        self._changed.clear()
        with self._room:
            events = list(self._events)
            self._events.clear()
            self._room.notify_all()
        return events

    def _tell(self) -> None:
        # A loop that is closed has nobody left to tell.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._changed.set)


class ThreadsOutbox(Outbox):
    """The same to a thread."""

    def __init__(self) -> None:
        self._events = deque()
        self._room = threading.Condition()
        self.reason = None

    def waited(self, seconds: float) -> list[Event]:
        """The events that wait, of which there may be none after so many seconds."""
        with self._room:
            self._room.wait_for(lambda: bool(self._events), seconds)
            events = list(self._events)
            self._events.clear()
            self._room.notify_all()
        return events

    def _tell(self) -> None:
        with self._room:
            self._room.notify_all()


@dataclass(frozen=True, slots=True)
class Wish:
    """An import that is asked for, whose places were checked."""

    plan: Plan
    max_errors: int
    dry_run: bool
    key: str | None = None


class Imports:
    """Thread-safe. `runner`: makes who runs the tasks; None: the pool's Spark session, once that is there."""

    def __init__(
        self,
        database: Database,
        pool: Pool,
        settings: Settings,
        runner: Callable[[Watching], Runner] | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """elsewhere: has another process do them, which says first that one has begun, and None now and then."""
        self._database = database
        self._pool = pool
        self._settings = settings
        self.runner = runner or self._spark_runner
        self._elsewhere = elsewhere
        self._lock = threading.Lock()
        self._running: tuple[Outbox, threading.Thread] | None = None

    async def abegin(self, wish: Wish) -> Outbox:
        """Begins an import; what it says. Raises RATE_LIMITED while another one runs, and BACKEND_UNAVAILABLE
        without Spark."""
        if self._elsewhere is None:
            return self.begin(wish, Outbox())
        outbox, said = Outbox(), self._elsewhere(wish)
        await asyncio.to_thread(lambda: next(event for event in said if event is not None))
        threading.Thread(target=_hand_on, args=(said, outbox), name="adalog-import", daemon=True).start()
        return outbox

    def served(self, gone: Callable[[], bool], wish: Wish) -> Iterator[Event]:
        """What an import says that another process asks for; that it has begun first. gone: whether nobody wants
        it any more."""
        outbox = ThreadsOutbox()
        self.begin(wish, outbox)
        yield "begun", None
        try:
            while not gone():
                for event in outbox.waited(_LOOK_SECONDS):
                    yield event
                    if event[0] in LAST:
                        return
        finally:
            outbox.close(AdalogError(Code.CANCELLED, "the client went away, and nothing was imported"))

    def begin(self, wish: Wish, outbox: Outbox) -> Outbox:
        """Begins an import here, as `abegin`."""
        if self._pool.spark is None and self.runner == self._spark_runner:
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE, "this server has no Spark (ADALOG_SPARK is off)", retryable=False
            )
        with self._lock:
            if self._running is not None:
                raise AdalogError(
                    Code.RATE_LIMITED, "another import runs; try again when it has ended", retry_after=5
                )
            thread = threading.Thread(target=self._run, args=(wish, outbox), name="adalog-import", daemon=True)
            self._running = outbox, thread
            thread.start()
        return outbox

    def close(self, reason: AdalogError) -> None:
        """Ends the import that runs, if any, without waiting for its end."""
        running = self._running
        if running is not None:
            running[0].close(reason)

    def join(self) -> None:
        """Waits a moment for the end of what was closed."""
        running = self._running
        if running is not None:
            running[1].join(_END_SECONDS)

    # The thread

    def _run(self, wish: Wish, outbox: Outbox) -> None:
        try:
            said: Event = ("done", self._imported(wish, outbox))
        except AdalogError as error:
            said = ("error", {"errors": [describe(error)]})
        except Exception as error:  # noqa: BLE001 - it goes to the log, and its number to the client
            said = ("error", {"errors": [internal(error)]})
        with self._lock:
            self._running = None
        outbox.end(*said)

    def _imported(self, wish: Wish, outbox: Outbox) -> dict[str, Any]:
        with self._database.unfinished() as aside:
            told = _Told(outbox)
            told.stage("starting Spark")
            rejected = aside / "rejected"
            outcome = load(
                self._database,
                self.runner(told),
                wish.plan,
                max_errors=wish.max_errors,
                quarantine=rejected,
                dry_run=wish.dry_run,
                hold_seconds=self._settings.import_hold_seconds,
                key=wish.key,
            )
            _log.info("an import ended at t = %d: %s", outcome.t, outcome)
            if outcome.rejected:
                _tell_rejected(rejected, outbox)
            return asdict(outcome)

    def _spark_runner(self, told: Watching) -> Runner:
        spark = self._pool.spark
        assert isinstance(spark, SparkEngine), "looked at before"
        until = time.monotonic() + _SPARK_SECONDS
        spark.session.start()
        while not spark.session.wait(_LOOK_SECONDS) and spark.state == "starting" and time.monotonic() < until:
            told.tasks(0, 0, 0)
        return SparkRunner(spark.session.live(), told)


def _hand_on(said: Generator[Event | None], outbox: Outbox) -> None:
    """Has what another process says told to a client; ends it there when nobody wants it here."""
    try:
        with closing(said):
            for event in said:
                if event is None:
                    outbox.check()
                elif event[0] in LAST:
                    outbox.end(*event)
                    return
                else:
                    outbox.put(*event)
        raise _broken()
    except AdalogError as error:
        told = _broken() if error.code is Code.BACKEND_UNAVAILABLE and outbox.reason is None else error
        outbox.end("error", {"errors": [describe(told)]})
    except Exception as error:  # noqa: BLE001 - it goes to the log, and its number to the client
        outbox.end("error", {"errors": [internal(error)]})


def _broken() -> AdalogError:
    return AdalogError(
        Code.BACKEND_UNAVAILABLE,
        "the process that did the import ended, and whether it was done is not known; asked for again, it writes "
        "only what is not so already",
    )


def _tell_rejected(folder: Path, outbox: Outbox) -> None:
    for path in sorted(folder.iterdir()):
        with path.open(encoding="utf-8") as file:
            while lines := file.readlines(_PIECE):
                outbox.put("rejected", {"file": path.name, "text": "".join(lines)})


class _Told:
    """Stages of an import as events; whoever tells of them hears that nobody wants to know."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._stage = ""

    def stage(self, name: str) -> None:
        """Another stage begins."""
        self._stage = name
        self._outbox.put("progress", {"stage": name})

    def tasks(self, done: int, total: int, rows: int) -> None:
        """So many of the stage's tasks are done."""
        self._outbox.check()
        if total:
            self._outbox.put("progress", {"stage": self._stage, "done": done, "total": total, "rows": rows})
