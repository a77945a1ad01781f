"""The one long-lived Spark session of this process: started in the background, watched, restarted when it dies."""

from __future__ import annotations

import atexit
import logging
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from adalog.cluster.cancellation import CancellationServer, cancellation_server
from adalog.cluster.cluster import TASKS_PER_CORE, Cluster, forget_session
from adalog.cluster.configuration import configuration, is_local, no_kernels, python_of, set_environment
from adalog.cluster.depot import Depot
from adalog.cluster.failures import start_error
from adalog.cluster.java import java_home
from adalog.cluster.job import run_tasks
from adalog.cluster.processes import end_process, end_with
from adalog.cluster.properties import properties_text, spark_defaults
from adalog.cluster.shipping import Shipping
from adalog.datalog.errors import AdalogError, unavailable
from adalog.datalog.extras import require
from adalog.store.files.private_folder import PrivateFolder

if TYPE_CHECKING:
    from pyspark import SparkContext

_log = logging.getLogger("adalog.spark")

# How the names of a session's folders begin. A Unix socket's path has some 100 bytes, so these are short.
_FOLDERS = "adalog-spark-"
_AGAIN_SECONDS = 60.0
_JOIN_SECONDS = 2.0
_NICENESS = 5
_PY4J = (os.path.join("py4j", "clientserver.py"), os.path.join("py4j", "java_gateway.py"))


class Session:
    """Holds a running `Cluster`, or the reason why there is none. Thread-safe."""

    def __init__(
        self,
        master: str,
        properties: Mapping[str, str] | None = None,
        kernels: Callable[[], Sequence[Path]] = no_kernels,
        segments: str | None = None,
    ) -> None:
        """properties: Spark's, as `cluster.properties` reads them. kernels: as of `configuration`. segments: the
        address that segments are uploaded to for workers; None: workers see the data folder."""
        self.master = master
        self._kernels = kernels
        self._properties = properties or {}
        self._depot = None if segments is None else Depot(segments)
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
        """The running session. Raises BACKEND_UNAVAILABLE if there is none."""
        live = self._live
        if live is None or not live.alive:
            reason = self._reason
            if reason is None:
                raise unavailable("Spark is still starting; try again shortly")
            raise AdalogError(reason.code, reason.message, retryable=reason.retryable)
        return live

    def close(self) -> None:
        """Ends the session with its jobs, also while it starts. No process or file is left after a moment."""
        if self._depot is not None:
            self._depot.close()
        with self._launching:
            self._closing.set()
        atexit.unregister(self.close)
        with self._changed:
            self._changed.notify_all()
        # Threads that still speak with Java log broken connections.
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
                raise unavailable("Spark was shut down")
            self._process = subprocess.Popen(*command, **options)
            if is_local(self.master):
                # Java goes after this process where both want the same cores: light queries are short. It is a
                # session of its own, and so a group; there is one thread yet, from which the others have it.
                with suppress(OSError):
                    os.setpriority(os.PRIO_PGRP, self._process.pid, _NICENESS)
            return self._process

    def _become(self, state: str, live: Cluster | None, reason: AdalogError | None = None) -> None:
        with self._changed:
            self._state, self._live, self._reason = state, live, reason
            self._changed.notify_all()

    def _keep(self) -> None:
        """Starts a session, waits for its end, starts the next."""
        while not self._closing.is_set():
            try:
                live = start_session(self.master, self._properties, self._launch, self._kernels, self._depot)
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
        self._become("failed", None, unavailable("Spark was shut down"))


def start_session(
    master: str,
    properties: Mapping[str, str] | None = None,
    launch: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen,
    kernels: Callable[[], Sequence[Path]] = no_kernels,
    depot: Depot | None = None,
) -> Cluster:
    """Starts Java, with `launch`, and a session in it; takes seconds. Java ends with the calling thread. A failure
    raises AdalogError, and leaves nothing behind."""
    require("pyspark", "spark", "Spark")
    home = java_home()
    from pyspark import SparkConf, SparkContext, java_gateway
    from pyspark.sql import SparkSession

    logging.getLogger("py4j").setLevel(logging.WARNING)
    logging.getLogger().addFilter(_is_not_py4j)
    folders: list[PrivateFolder] = []
    process: subprocess.Popen[bytes] | None = None
    cancellation: CancellationServer | None = None
    java_log: Path | None = None
    try:
        folders.append(PrivateFolder(_FOLDERS))
        folder = folders[0].path
        java_log = folder / "spark.log"
        chosen = configuration(master, folder, properties or {}, spark_defaults(os.environ), kernels)
        folders += [PrivateFolder(_FOLDERS, Path(each)) for each in _scratch(chosen, master)]
        conf = SparkConf(loadDefaults=False)
        conf.setAll(list(chosen.items()))
        file = folder / "spark.properties"
        file.write_text(properties_text(chosen), encoding="utf-8")
        set_environment(home, python_of(chosen, master), file)
        with java_log.open("wb") as log:
            # A session of its own: what stops this process by its group is for us to pass on, in our own time.
            options = {"stdout": log, "stderr": log, "start_new_session": True}
            # PySpark keeps the process to itself until it has answered, which is too late to end it.
            java_gateway.Popen = _ending_with_us(launch, folders[1:] or folders)  # type: ignore[attr-defined,assignment]
            gateway = java_gateway.launch_gateway(None, options)  # type: ignore[no-untyped-call]
        process = gateway.proc
        context = SparkContext(gateway=gateway, conf=conf)
        # When Java ends this server has a traceback to print; that the session ended is said once, by us.
        context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
        cancellation = _cancellation(master, folder, context)
        shipping = Shipping(folder if is_local(master) else None, depot)
        spark = SparkSession.builder.config(conf=conf).getOrCreate()
        cluster = Cluster(spark, process, folders, cancellation, shipping)
        _warm_up(cluster)
        return cluster
    except Exception as error:
        reason = start_error(error, java_log, [each.path for each in folders])
        if cancellation is not None:
            cancellation.stop()
        if process is not None:
            end_process(process)
        forget_session()
        for each in folders:
            each.remove()
        raise reason from error
    finally:
        os.environ.pop("PYSPARK_SUBMIT_ARGS", None)


def _scratch(properties: Mapping[str, str], master: str) -> list[str]:
    """The folders that are configured for what Spark writes here; none: our own will do. Those of a cluster are its
    workers', and here where they happen to be."""
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


def _cancellation(master: str, folder: Path, context: SparkContext) -> CancellationServer:
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


def _warm_up(cluster: Cluster) -> None:
    """Jobs that do nothing, on every core: have Java load its classes, and the workers' parents started."""
    cluster.usable()
    for tasks in (1, TASKS_PER_CORE):
        began = time.perf_counter()
        run_tasks(cluster.spark, pa.array([b""] * (tasks * cluster.cores), pa.binary()), unchanged)
        cluster.idle_seconds = time.perf_counter() - began
    cluster.usable()


def unchanged(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
    yield from columns
