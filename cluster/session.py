"""The one long-lived Spark session of this process: started in the background, watched, started anew when it dies.

For the engine. Knows nothing of queries: it offers a session, and a way to run a piece of work in it that can be
interrupted and that does not outlive it.
"""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from adalog.cluster.cancellation import CancellationServer, cancellation_server
from adalog.cluster.configuration import configuration, is_local, nothing, python_of, set_environment
from adalog.cluster.failures import is_full, start_error
from adalog.cluster.java import java_home
from adalog.cluster.job import run_tasks
from adalog.cluster.processes import end_process, end_with
from adalog.cluster.properties import spark_defaults, written
from adalog.datalog.errors import AdalogError, Code
from adalog.store.files.private_folder import PrivateFolder

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_log = logging.getLogger("adalog.spark")

TASKS_PER_CORE = 6
"""Of a job: more than one, so that work that was estimated wrongly leaves no core idle for long."""

_JOBS_AT_ONCE = 16
# How the names of a session's folders begin. A Unix socket's path has some 100 bytes, so these are short.
_FOLDERS = "adalog-spark-"
_AGAIN_SECONDS = 60.0
# What a session is given to leave a cluster in order.
_STOP_SECONDS = 1.5
_JOIN_SECONDS = 2.0
_NICENESS = 5
# How often a session is asked how it is, and how long it may take to say so.
_LOOK_SECONDS = 5.0
_SILENT_SECONDS = 60.0
# Between two interruptions of a job.
_INTERRUPT_SECONDS = 0.1
_INTERRUPTS = 100
_PY4J = (os.path.join("py4j", "clientserver.py"), os.path.join("py4j", "java_gateway.py"))

T = TypeVar("T")


class Cluster:
    """A running session, its Java process, the threads that speak with it, and what it writes.

    `cores`: tasks that run at once, as far as workers have said that they are there. `idle_seconds`: what a job
    takes that does nothing, of as many tasks as a query's.
    """

    def __init__(
        self,
        spark: SparkSession,
        process: subprocess.Popen[bytes],
        folders: Sequence[PrivateFolder],
        cancellation_server: CancellationServer,
    ) -> None:
        self.spark = spark
        self.process = process
        self.folder = folders[0].path
        self.switchboard = cancellation_server
        self.cores = 1
        self.idle_seconds = 0.0
        self._folders = folders
        self._jobs = ThreadPoolExecutor(_JOBS_AT_ONCE, thread_name_prefix="spark-job")
        self._interrupts = ThreadPoolExecutor(_JOBS_AT_ONCE, thread_name_prefix="spark-interrupt")
        self._ended = False

    @property
    def alive(self) -> bool:
        """Whether its process runs and nobody has found it unusable."""
        return not self._ended and self.process.poll() is None

    def usable(self) -> bool:
        """Whether it can still run jobs; where it cannot, it is ended, so that another takes its place."""
        from py4j.protocol import Py4JError

        try:
            if self.alive and not self.spark.sparkContext._jsc.sc().isStopped():
                self.cores = int(self.spark.sparkContext.defaultParallelism)
                return True
        except (Py4JError, OSError, AttributeError) as error:
            _log.debug("the Spark session does not answer: %s", error)
        self.end()
        return False

    def end(self) -> None:
        """Ends it at once, with what runs in it."""
        self._ended = True
        end_process(self.process)

    def watched(self) -> Iterator[None]:
        """Looks after it, again and again; ends when it has ended, or is found to be of no use."""
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

    @property
    def disk_is_full(self) -> bool:
        """Whether the disk of its scratch files has no space left."""
        return any(is_full(each.path) for each in self._folders)

    def submit(self, tag: str, work: Callable[[SparkSession], T]) -> Future[T]:
        """Runs `work` in a thread of its own; the Spark jobs that it starts carry the tag."""

        def tagged() -> T:
            # The context's tags and not the session's, which only the thread that set them may interrupt.
            context = self.spark.sparkContext
            context.addJobTag(tag)
            try:
                return work(self.spark)
            finally:
                with suppress(Exception):
                    context.removeJobTag(tag)

        return self._jobs.submit(tagged)

    def interrupt(self, tag: str, running: Future[Any], patience: float = 0.0) -> None:
        """Stops the jobs of a tag, until its work is done. Does not wait.

        patience: seconds that they have to end by themselves. Spark ends the worker of a task that it stops.
        """

        def interrupting() -> None:
            if running.cancel():
                return
            wait([running], patience)
            # A job that had not begun when it was first interrupted is met the next time.
            for _ in range(_INTERRUPTS):
                if running.done() or not self.alive:
                    return
                with suppress(Exception):
                    self.spark.sparkContext.cancelJobsWithTag(tag)
                wait([running], _INTERRUPT_SECONDS)

        with suppress(RuntimeError):
            self._interrupts.submit(interrupting)

    def close(self) -> None:
        """Ends the Java process and forgets it."""
        self._jobs.shutdown(wait=False, cancel_futures=True)
        self._interrupts.shutdown(wait=False, cancel_futures=True)
        self.switchboard.stop()
        end_process(self.process)
        forget_session()
        for each in self._folders:
            each.remove()

    def leave(self) -> None:
        """Has a cluster know that nothing more comes; takes a moment at most."""
        leaving = threading.Thread(target=self._stop_context, name="spark-stop", daemon=True)
        leaving.start()
        leaving.join(_STOP_SECONDS)

    def _stop_context(self) -> None:
        with suppress(Exception):
            self.spark.stop()


class Session:
    """Holds a `Cluster` session, or the reason why there is none. Thread-safe."""

    def __init__(
        self,
        master: str,
        properties: Mapping[str, str] | None = None,
        warm_up: Callable[[], None] = nothing,
    ) -> None:
        """properties: Spark's, as `cluster.properties` reads them. warm_up: as `configuration` has it."""
        self.master = master
        self._warm_up = warm_up
        self.properties = properties or {}
        self._changed = threading.Condition()
        self._state = "starting"
        self._live: Cluster | None = None
        self._reason: AdalogError | None = None
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        # Java's, from its first moment; none is started once this was closed.
        self._process: subprocess.Popen[bytes] | None = None
        self._launching = threading.Lock()

    @property
    def state(self) -> str:
        """starting, ready or failed."""
        live = self._live
        return "starting" if live is not None and not live.alive else self._state

    @property
    def cores(self) -> int:
        """Tasks that run at once; 0 while there is no session."""
        live = self._live
        return 0 if live is None else live.cores

    @property
    def idle_seconds(self) -> float:
        """What a job takes that does nothing, of as many tasks as a query's."""
        live = self._live
        return 0.0 if live is None else live.idle_seconds

    def start(self) -> None:
        """Begins to start, in the background. Once."""
        with self._changed:
            if self._thread is None and not self._closing.is_set():
                self._thread = threading.Thread(target=self._keep, name="spark-session", daemon=True)
                self._thread.start()
                atexit.register(self.close)

    def wait(self, timeout: float | None) -> bool:
        """Waits while the state is starting, at most so many seconds; whether it is ready."""
        with self._changed:
            self._changed.wait_for(lambda: self.state != "starting" or self._closing.is_set(), timeout)
            return self.state == "ready"

    def live(self) -> Cluster:
        """The session. Raises BACKEND_UNAVAILABLE where there is none."""
        live = self._live
        if live is None or not live.alive:
            reason = self._reason
            if reason is None:
                raise AdalogError(Code.BACKEND_UNAVAILABLE, "Spark is still starting; try again shortly")
            raise AdalogError(reason.code, reason.message, retryable=reason.retryable)
        return live

    def close(self) -> None:
        """Ends the session and what runs in it, also while it starts. Nothing of it is left after a moment."""
        with self._launching:
            self._closing.set()
        atexit.unregister(self.close)
        with self._changed:
            self._changed.notify_all()
        # Whoever still speaks with Java has it end in the middle of a word.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        live = self._live
        if live is not None and live.alive and not is_local(self.master):
            live.leave()
        if self._process is not None:
            end_process(self._process)
        if self._thread is not None:
            self._thread.join(_JOIN_SECONDS)

    def _launch(self, *command: Any, **options: Any) -> subprocess.Popen[bytes]:
        with self._launching:
            if self._closing.is_set():
                raise AdalogError(Code.BACKEND_UNAVAILABLE, "Spark was shut down")
            self._process = subprocess.Popen(*command, **options)
            if is_local(self.master):
                _give_way(self._process)
            return self._process

    def _become(self, state: str, live: Cluster | None, reason: AdalogError | None = None) -> None:
        with self._changed:
            self._state, self._live, self._reason = state, live, reason
            self._changed.notify_all()

    def _keep(self) -> None:
        """Starts a session, waits for its end, starts the next."""
        while not self._closing.is_set():
            try:
                live = start_session(self.master, self.properties, self._launch, self._warm_up)
            except AdalogError as error:
                if self._process is not None:
                    end_process(self._process)
                if self._closing.is_set():
                    break
                _log.warning("%s", error.message)
                self._become("failed", None, error)
                self._closing.wait(_AGAIN_SECONDS)
                continue
            self._become("ready", live)
            _log.info("Spark is ready on %s with %d cores", self.master, live.cores)
            for _ in live.watched():
                if self._closing.wait(0.1):
                    break
            self._become("starting", None)
            if not self._closing.is_set():
                _log.warning("the Spark session ended with code %s; starting another", live.process.poll())
            live.close()
        self._become("failed", None, AdalogError(Code.BACKEND_UNAVAILABLE, "Spark was shut down"))


def start_session(
    master: str,
    properties: Mapping[str, str] | None = None,
    launch: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen,
    warm_up: Callable[[], None] = nothing,
) -> Cluster:
    """Starts Java, with `launch`, and a session in it; takes seconds. Raises where that fails, leaving nothing
    behind. Java ends with the thread that this is called on."""
    home = java_home()
    try:
        from pyspark import SparkConf, SparkContext, java_gateway
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise AdalogError(Code.BACKEND_UNAVAILABLE, f"Spark did not start: {error}") from error
    logging.getLogger("py4j").setLevel(logging.WARNING)
    logging.getLogger().addFilter(_is_not_py4j)
    folders: list[PrivateFolder] = []
    process: subprocess.Popen[bytes] | None = None
    cancellation_server: CancellationServer | None = None
    said: Path | None = None
    try:
        folders.append(PrivateFolder(_FOLDERS))
        folder = folders[0].path
        said = folder / "spark.log"
        chosen = configuration(master, folder, properties or {}, spark_defaults(os.environ), warm_up)
        folders += [PrivateFolder(_FOLDERS, Path(each)) for each in _scratch(chosen, master)]
        conf = SparkConf(loadDefaults=False)
        conf.setAll(list(chosen.items()))
        file = folder / "spark.properties"
        file.write_text(written(chosen), encoding="utf-8")
        set_environment(home, python_of(chosen, master), file)
        with said.open("wb") as log:
            # A session of its own: what stops this process by its group is for us to pass on, in our own time.
            options = {"stdout": log, "stderr": log, "start_new_session": True}
            # PySpark keeps the process to itself until it has answered, which is too late to end it.
            java_gateway.Popen = _ending_with_us(launch, folders[1:] or folders)  # type: ignore[attr-defined,assignment]
            gateway = java_gateway.launch_gateway(None, options)  # type: ignore[no-untyped-call]
        process = gateway.proc
        context = SparkContext(gateway=gateway, conf=conf)
        # When Java ends this server has a traceback to print; that the session ended is said once, by us.
        context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
        cancellation_server = _switchboard(master, folder, context)
        live = Cluster(SparkSession.builder.config(conf=conf).getOrCreate(), process, folders, cancellation_server)
        _warm_up(live)
        return live
    except Exception as error:
        reason = start_error(error, said, [each.path for each in folders])
        if cancellation_server is not None:
            cancellation_server.stop()
        if process is not None:
            end_process(process)
        forget_session()
        for each in folders:
            each.remove()
        raise reason from error
    finally:
        os.environ.pop("PYSPARK_SUBMIT_ARGS", None)


def _scratch(properties: Mapping[str, str], master: str) -> list[str]:
    """The folders that are configured for what Spark writes here; none: our own will do.

    Those of a cluster are its workers', and here where they happen to be.
    """
    named = [each for each in properties.get("spark.local.dir", "").split(",") if each]
    return named if is_local(master) else [each for each in named if os.path.isdir(each)]


def _ending_with_us(
    launch: Callable[..., subprocess.Popen[bytes]], scratch: Sequence[PrivateFolder]
) -> Callable[..., subprocess.Popen[bytes]]:
    """The same for a process that ends with this thread, and writes into these folders."""

    def launched(*command: Any, **options: Any) -> subprocess.Popen[bytes]:
        parent, before = os.getpid(), options.pop("preexec_fn", None)

        def prepare() -> None:
            if before is not None:
                before()
            end_with(parent)

        # Not `spark.local.dir`, which goes to the workers as well.
        options["env"]["SPARK_LOCAL_DIRS"] = ",".join(str(each.path) for each in scratch)
        return launch(*command, preexec_fn=prepare, **options)

    return launched


def _switchboard(master: str, folder: Path, context: SparkContext) -> CancellationServer:
    if is_local(master):
        return cancellation_server(str(folder), None, None, 0)
    conf = context.getConf()
    return cancellation_server(
        str(folder),
        conf.get("spark.driver.host"),
        conf.get("spark.driver.bindAddress"),
        int(conf.get("spark.adalog.port", "0") or 0),
    )


def _is_not_py4j(record: logging.LogRecord) -> bool:
    """Whether a record is not one of py4j, which tells the root logger of each conversation that was cut."""
    return not record.pathname.endswith(_PY4J)


def _warm_up(live: Cluster) -> None:
    """Jobs that do nothing, on every core: have Java load its classes, and the workers' parents started."""
    live.usable()
    for tasks in (1, TASKS_PER_CORE):
        began = time.perf_counter()
        run_tasks(live.spark, pa.array([b""] * (tasks * live.cores), pa.binary()), unchanged)
        live.idle_seconds = time.perf_counter() - began
    live.usable()


def unchanged(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
    """The work of a job that does nothing."""
    yield from columns


def _give_way(process: subprocess.Popen[bytes]) -> None:
    """Has what Java will start go after this process, where both want the same cores: light queries are short."""
    # It is a session of its own, and so a group; there is one thread yet, from which the others have it.
    with suppress(OSError):
        os.setpriority(os.PRIO_PGRP, process.pid, _NICENESS)


def forget_session() -> None:
    """Clears what PySpark keeps of a session in its classes, without which no other can start in this process."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    gateway = SparkContext._gateway
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()
    context = SparkContext._active_spark_context
    server = getattr(context, "_accumulatorServer", None)
    if server is not None:
        with suppress(Exception):
            server.shutdown()
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
