"""A running Spark session, as queries and the data pipeline use it: `submit` a job, `ship` a snapshot, `fail`.

Knows nothing of queries or imports.
"""

from __future__ import annotations

import logging
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from adalog.cluster.cancellation import CancellationServer
from adalog.cluster.failures import is_full, job_error, session_ended
from adalog.cluster.processes import end_process
from adalog.cluster.shipping import ShippedSnapshot, Shipping
from adalog.datalog.errors import AdalogError
from adalog.store.files.private_folder import PrivateFolder
from adalog.store.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE: Final = 6
"""Of a job: several, so that wrongly estimated work leaves no core idle for long."""

_JOBS_AT_ONCE: Final = 16
_POLL_SECONDS: Final = 0.02
_INTERRUPT_SECONDS: Final = 0.1
_INTERRUPTS: Final = 100
# How often the session is asked for its state, and how long an answer may take.
_LOOK_SECONDS: Final = 5.0
_SILENT_SECONDS: Final = 60.0
# What a cluster's master is given to unregister the application.
_STOP_SECONDS: Final = 1.5

_log = logging.getLogger("adalog.spark")

T = TypeVar("T")


class Cluster:
    """A running session, its Java process, the threads that speak with it, and its folders. Thread-safe. `cores`:
    tasks that run at once, as far as workers have registered. `idle_seconds`: the duration of a job that does
    nothing, of as many tasks as a query's."""

    def __init__(
        self,
        spark: SparkSession,
        process: subprocess.Popen[bytes],
        folders: Sequence[PrivateFolder],
        cancellation: CancellationServer,
        shipping: Shipping,
    ) -> None:
        self.spark = spark
        self.process = process
        self.folder = folders[0].path
        self.cancellation = cancellation
        self.cores = 1
        self.idle_seconds = 0.0
        self._shipping = shipping
        self._folders = folders
        self._jobs = ThreadPoolExecutor(_JOBS_AT_ONCE, thread_name_prefix="spark-job")
        self._interrupts = ThreadPoolExecutor(_JOBS_AT_ONCE, thread_name_prefix="spark-interrupt")
        self._ended = False

    def submit(
        self,
        tag: str,
        work: Callable[[SparkSession], T],
        check: Callable[[], None],
        *,
        patience: float = 0.0,
        ending: float = 0.0,
    ) -> T:
        """What `work` returns; its Spark jobs carry the tag. Blocks, and calls `check` again and again. If `check`
        raises, tasks that listen under the tag (`cancellation`) learn it, and have `patience` seconds to end by
        themselves before Spark ends them. `ending` seconds are waited for that, because tasks that still write
        would leave files behind. Raises BACKEND_UNAVAILABLE if the session ends, and what Spark raises (see
        `fail`)."""
        self.cancellation.open(tag)
        try:
            running = self._jobs.submit(self._tagged, tag, work)
        except RuntimeError:
            self.cancellation.close(tag)
            raise session_ended() from None
        try:
            while True:
                try:
                    return running.result(_POLL_SECONDS)
                except NotYet:
                    check()
                    if not self.alive:
                        raise session_ended() from None
        except CancelledError:
            raise session_ended() from None
        except (AdalogError, KeyboardInterrupt):
            self.cancellation.close(tag)
            self._interrupt(tag, running, patience)
            wait([running], ending)
            raise
        finally:
            self.cancellation.close(tag)

    def ship(self, snapshot: Snapshot, check: Callable[[], None]) -> ShippedSnapshot:
        """What a job carries for a snapshot. check: called during uploads of segments. Raises as `Shipping`."""
        return self._shipping.ship(snapshot, check)

    def fail(self, error: Exception) -> AdalogError | None:
        """The error of a failed job that does not depend on the kind of job; None for others."""
        return job_error(error, self)

    def _tagged(self, tag: str, work: Callable[[SparkSession], T]) -> T:
        # The context's tags and not the session's, which only the thread that set them may interrupt.
        context = self.spark.sparkContext
        context.addJobTag(tag)
        try:
            return work(self.spark)
        finally:
            with suppress(Exception):
                context.removeJobTag(tag)

    def _interrupt(self, tag: str, running: Future[Any], patience: float) -> None:
        """Stops the jobs of a tag. Does not wait. Spark kills the worker of a task that it stops."""

        def interrupting() -> None:
            if running.cancel():
                return
            wait([running], patience)
            # A job that had not begun at the first interruption is met by the next one.
            for _ in range(_INTERRUPTS):
                if running.done() or not self.alive:
                    return
                with suppress(Exception):
                    self.spark.sparkContext.cancelJobsWithTag(tag)
                wait([running], _INTERRUPT_SECONDS)

        with suppress(RuntimeError):
            self._interrupts.submit(interrupting)

    @property
    def alive(self) -> bool:
        """Whether its process runs and it was not found unusable."""
        return not self._ended and self.process.poll() is None

    def usable(self) -> bool:
        """Whether it can still run jobs. If not, it is ended, so that another takes its place."""
        from py4j.protocol import Py4JError

        try:
            if self.alive and not self.spark.sparkContext._jsc.sc().isStopped():
                self.cores = int(self.spark.sparkContext.defaultParallelism)
                return True
        except (Py4JError, OSError, AttributeError) as error:
            _log.debug("the Spark session does not answer: %s", error)
        self.end()
        return False

    @property
    def disk_is_full(self) -> bool:
        return any(is_full(each.path) for each in self._folders)

    def watched(self) -> Iterator[None]:
        """Looks after the session; stops when it has ended or was found unusable."""
        looks = ThreadPoolExecutor(1, thread_name_prefix="spark-look")
        look, since = looks.submit(self.usable), time.monotonic()
        try:
            while self.alive:
                now = time.monotonic()
                if look.done():
                    if now - since > _LOOK_SECONDS:
                        look, since = looks.submit(self.usable), now
                elif now - since > _SILENT_SECONDS:
                    _log.warning("the Spark session has not answered for %d seconds", _SILENT_SECONDS)
                    self.end()
                    return
                yield
        finally:
            looks.shutdown(wait=False, cancel_futures=True)

    def end(self) -> None:
        """Kills it with its jobs."""
        self._ended = True
        end_process(self.process)

    def leave(self) -> None:
        """Unregisters from a cluster; takes a moment at most."""
        leaving = threading.Thread(target=self._stop_context, name="spark-stop", daemon=True)
        leaving.start()
        leaving.join(_STOP_SECONDS)

    def _stop_context(self) -> None:
        with suppress(Exception):
            self.spark.stop()

    def close(self) -> None:
        """Ends the Java process and forgets it."""
        self._jobs.shutdown(wait=False, cancel_futures=True)
        self._interrupts.shutdown(wait=False, cancel_futures=True)
        self.cancellation.stop()
        end_process(self.process)
        forget_session()
        for each in self._folders:
            each.remove()


def forget_session() -> None:
    """Clears what PySpark keeps of a session in its classes, without which no other can start in this process."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    for server in (SparkContext._gateway, getattr(context, "_accumulatorServer", None)):
        if server is not None:
            with suppress(Exception):
                server.shutdown()
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
