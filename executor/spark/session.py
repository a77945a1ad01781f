"""The one long-lived Spark session of this process: started in the background, watched, started anew when it dies.

For the engine. Knows nothing of queries: it offers a session, and a way to run a piece of work in it that can be
interrupted and that does not outlive it.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from datalog.errors import AdalogError, Code
from executor.spark.configuration import configuration, is_local, private_folder, set_environment
from executor.spark.java import java_home
from executor.spark.job import each_in_a_task

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("adalog.spark")

_JOBS_AT_ONCE = 16
_AGAIN_SECONDS = 60.0
# What a session is given to leave a cluster in order.
_STOP_SECONDS = 1.5
_JOIN_SECONDS = 2.0
_PY4J = (os.path.join("py4j", "clientserver.py"), os.path.join("py4j", "java_gateway.py"))

T = TypeVar("T")


class Live:
    """A running session, its Java process, and the threads that speak with it."""

    def __init__(self, spark: SparkSession, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.spark = spark
        self.process = process
        self.folder = folder
        self.cores = int(spark.sparkContext.defaultParallelism)
        self._jobs = ThreadPoolExecutor(_JOBS_AT_ONCE, thread_name_prefix="spark-job")
        self._interrupts = ThreadPoolExecutor(1, thread_name_prefix="spark-interrupt")
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
                return True
        except (Py4JError, OSError, AttributeError) as error:
            _log.debug("the Spark session does not answer: %s", error)
        self._ended = True
        end_process(self.process)
        return False

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

    def interrupt(self, tag: str, running: Future[Any]) -> None:
        """Stops the jobs of a tag, now and until its work is done; returns at once."""

        def interrupting() -> None:
            # A job that had not begun when it was first interrupted is met the next time.
            for _ in range(100):
                if running.cancel() or running.done() or not self.alive:
                    return
                with suppress(Exception):
                    self.spark.sparkContext.cancelJobsWithTag(tag)
                time.sleep(0.05)

        with suppress(RuntimeError):
            self._interrupts.submit(interrupting)

    def close(self) -> None:
        """Ends the Java process and forgets it."""
        self._jobs.shutdown(wait=False, cancel_futures=True)
        self._interrupts.shutdown(wait=False, cancel_futures=True)
        end_process(self.process)
        forget_session()
        shutil.rmtree(self.folder, ignore_errors=True)

    def leave(self) -> None:
        """Has a cluster know that nothing more comes; takes a moment at most."""
        leaving = threading.Thread(target=self._stop_context, name="spark-stop", daemon=True)
        leaving.start()
        leaving.join(_STOP_SECONDS)

    def _stop_context(self) -> None:
        with suppress(Exception):
            self.spark.stop()


class Session:
    """Holds a `Live` session, or the reason why there is none. Thread-safe."""

    def __init__(self, master: str) -> None:
        self.master = master
        self._changed = threading.Condition()
        self._state = "starting"
        self._live: Live | None = None
        self._reason = ""
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

    def live(self) -> Live:
        """The session. Raises BACKEND_UNAVAILABLE where there is none."""
        live = self._live
        if live is None or not live.alive:
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE, self._reason or "Spark is still starting; try again shortly"
            )
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
            return self._process

    def _become(self, state: str, live: Live | None, reason: str = "") -> None:
        with self._changed:
            self._state, self._live, self._reason = state, live, reason
            self._changed.notify_all()

    def _keep(self) -> None:
        """Starts a session, waits for its end, starts the next."""
        while not self._closing.is_set():
            try:
                live = start_session(self.master, self._launch)
            except AdalogError as error:
                if self._process is not None:
                    end_process(self._process)
                if self._closing.is_set():
                    break
                _log.warning("%s", error.message)
                self._become("failed", None, error.message)
                self._closing.wait(_AGAIN_SECONDS)
                continue
            self._become("ready", live)
            _log.info("Spark is ready on %s with %d cores", self.master, live.cores)
            while live.alive and not self._closing.wait(0.1):
                pass
            self._become("starting", None)
            if not self._closing.is_set():
                _log.warning("the Spark session ended with code %s; starting another", live.process.poll())
            live.close()
        self._become("failed", None, "Spark was shut down")


def start_session(master: str, launch: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen) -> Live:
    """Starts Java, with `launch`, and a session in it; takes seconds. Raises where that fails, leaving nothing
    behind."""
    set_environment(java_home())
    try:
        from pyspark import SparkConf, SparkContext, java_gateway
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise AdalogError(Code.BACKEND_UNAVAILABLE, f"Spark did not start: {error}") from error
    logging.getLogger("py4j").setLevel(logging.WARNING)
    logging.getLogger().addFilter(_is_not_py4j)
    folder = private_folder()
    process: subprocess.Popen[bytes] | None = None
    said = folder / "spark.log"
    try:
        conf = SparkConf(loadDefaults=False)
        conf.setAll(list(configuration(master, folder).items()))
        with said.open("wb") as log:
            # A session of its own: what stops this process by its group is for us to pass on, in our own time.
            options = {"stdout": log, "stderr": log, "start_new_session": True}
            # PySpark keeps the process to itself until it has answered, which is too late to end it.
            java_gateway.Popen = launch  # type: ignore[attr-defined,assignment]
            gateway = java_gateway.launch_gateway(conf, options)  # type: ignore[no-untyped-call]
        process = gateway.proc
        context = SparkContext(gateway=gateway, conf=conf)
        # When Java ends this server has a traceback to print; that the session ended is said once, by us.
        context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
        live = Live(SparkSession.builder.config(conf=conf).getOrCreate(), process, folder)
        _warm_up(live)
        return live
    except Exception as error:
        last = said.read_text(errors="replace").strip().splitlines()[-3:] if said.exists() else []
        if process is not None:
            end_process(process)
        forget_session()
        shutil.rmtree(folder, ignore_errors=True)
        raise AdalogError(
            Code.BACKEND_UNAVAILABLE, " ".join(["Spark did not start:", str(error).split("\n")[0], *last])
        ) from error


def _is_not_py4j(record: logging.LogRecord) -> bool:
    """Whether a record is not one of py4j, which tells the root logger of each conversation that was cut."""
    return not record.pathname.endswith(_PY4J)


def _warm_up(live: Live) -> None:
    """A job that does nothing, on every core: has Java load its classes, and the workers' parent started."""
    each_in_a_task(live.spark, pa.array([b""] * live.cores, pa.binary()), unchanged)


def unchanged(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
    """The work of a job that does nothing."""
    yield from columns


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Ends Java, and all that it started: they have nothing to lose, and none of them outlives this."""
    with suppress(ProcessLookupError):
        process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()
    # Twice, as one that is about to end may have started another.
    for _ in range(2):
        for pid in _members(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def _members(session: int) -> list[int]:
    """The processes of a session: Java's children, whatever groups they made for themselves."""
    if os.path.isdir("/proc/self"):
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    else:
        said = subprocess.run(["ps", "-axo", "pid="], capture_output=True, text=True, check=False).stdout
        pids = [int(pid) for pid in said.split()]
    return [pid for pid in pids if _session_of(pid) == session]


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


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
