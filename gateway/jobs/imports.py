"""Imports that clients ask a server for: in its process, on its Spark session, or by another worker."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from adalog.cluster.tasks import JobProgress
from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.executor.pool import Pool
from adalog.executor.spark.engine import SparkEngine
from adalog.gateway.jobs.jobs import AnyOutbox, Jobs
from adalog.gateway.jobs.outbox import LAST, Event, Outbox, ProgressEvents, ThreadsOutbox
from adalog.gateway.settings.config import Settings
from adalog.schema.request.errors import describe, internal
from adalog.store.database import Database

if TYPE_CHECKING:
    # Loaded by the first import, on a thread of its own: most servers do none.
    from adalog.pipeline.importing.read.mapping import ImportPlan
    from adalog.pipeline.importing.read.runner import ImportRunner

_log = logging.getLogger("adalog.server")

_SPARK_SECONDS: Final = 240.0
_LOOK_SECONDS: Final = 0.1
# Of rejected rows in one event.
_PIECE: Final = 1 << 16
# Imports that wait for the one that runs.
_ROOM: Final = 16
# Of sources in an import's name.
_NAMED: Final = 5
# So many new entities may be made in others' transactions while an import is decided, and its ids stay as they are.
_LEEWAY: Final = 1 << 16

Elsewhere = Callable[["ImportRequest"], Generator[Event | None]]


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """An import that is asked for, whose places were checked. small: one process can do it. principal: whose
    transaction it is."""

    plan: ImportPlan
    small: bool
    max_errors: int
    dry_run: bool
    key: str | None = None
    principal: str | None = None


class Imports:
    """Thread-safe. `runner`: makes the runner of an import's tasks; None: in this process if the files are small,
    else on the pool's Spark session, once that is there."""

    def __init__(
        self,
        database: Database,
        pool: Pool,
        settings: Settings,
        runner: Callable[[JobProgress, ImportPlan], ImportRunner] | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """elsewhere: has another process do them, which says first that one has begun, and None now and then."""
        self._database = database
        self._pool = pool
        self._settings = settings
        self.runner = runner or self._runner
        self._elsewhere = elsewhere
        self.jobs = Jobs("import", _ROOM)

    async def abegin(self, wish: ImportRequest) -> Outbox:
        """Begins an import, which waits for others; what it says. Raises RATE_LIMITED where too many wait, and
        BACKEND_UNAVAILABLE if a large one needs Spark and there is none."""
        if self._elsewhere is None:
            return self.begin(wish, Outbox())
        outbox, said = Outbox(), self._elsewhere(wish)
        await asyncio.to_thread(lambda: next(event for event in said if event is not None))
        threading.Thread(target=_hand_on, args=(said, outbox), name="adalog-import", daemon=True).start()
        return outbox

    def served(self, gone: Callable[[], bool], wish: ImportRequest) -> Iterator[Event]:
        """What an import says that another process asks for; that it has begun first. gone: whether no client wants
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

    def begin(self, wish: ImportRequest, outbox: AnyOutbox) -> AnyOutbox:
        """Begins an import here, as `abegin`."""
        if self._pool.spark is None and self.runner == self._runner and not wish.small:
            raise unavailable(
                "this server has no Spark (ADALOG_SPARK is off), which an import of large files, or from a SQL "
                "database, needs",
                retryable=False,
            )
        return self.jobs.begin(lambda outbox: self._imported(wish, outbox), outbox, _name(wish.plan))

    # On the job's thread

    def _imported(self, wish: ImportRequest, outbox: Outbox) -> dict[str, Any]:
        from adalog.pipeline.importing.write.loading import load

        with self._database.unfinished() as aside:
            told = ProgressEvents(outbox)
            rejected = aside / "rejected"
            outcome = load(
                self._database,
                self.runner(told, wish.plan),
                wish.plan,
                max_errors=wish.max_errors,
                quarantine=rejected,
                dry_run=wish.dry_run,
                hold_seconds=self._settings.import_hold_seconds,
                key=wish.key,
                leeway=_LEEWAY,
                principal=wish.principal,
            )
            _log.info("an import ended at t = %d: %s", outcome.t, outcome)
            if outcome.rejected:
                _tell_rejected(rejected, outbox)
            return asdict(outcome)

    def _runner(self, told: JobProgress, plan: ImportPlan) -> ImportRunner:
        from adalog.pipeline.importing.read.runner import InProcessRunner, is_small

        if is_small(plan):
            return InProcessRunner(told)
        from adalog.pipeline.importing.read.spark_runner import SparkRunner

        told.stage("starting Spark")
        spark = self._pool.spark
        assert isinstance(spark, SparkEngine), "looked at before"
        until = time.monotonic() + _SPARK_SECONDS
        spark.session.start()
        while not spark.session.wait(_LOOK_SECONDS) and spark.state == "starting" and time.monotonic() < until:
            told.tasks(0, 0, 0)
        return SparkRunner(spark.session.live(), told)


def _name(plan: ImportPlan) -> str:
    """What other imports are told that they wait for."""
    names = [source.name for source in plan.sources] + [source.name for source in plan.datoms]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"an import of {', '.join(names[:_NAMED])}{more}"


def _hand_on(said: Generator[Event | None], outbox: Outbox) -> None:
    """Has what another process says told to a client; ends it there when its client here is gone."""
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
    return unavailable(
        "the process that did the import ended, and whether it was done is not known; asked for again, it writes "
        "only what is not so already"
    )


def _tell_rejected(folder: Path, outbox: Outbox) -> None:
    for path in sorted(folder.iterdir()):
        with path.open(encoding="utf-8") as file:
            while lines := file.readlines(_PIECE):
                outbox.put("rejected", {"file": path.name, "text": "".join(lines)})
