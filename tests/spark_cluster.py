"""A cluster of Spark's on this machine: a master and two workers of one core each, in folders of their own."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from adalog.cluster.java import java_home
from adalog.cluster.processes import end_process
from tests.spark_processes import descendants, said_by
from tests.waiting import until

_KEPT = ("PATH", "HOME", "LANG", "TMPDIR")


@dataclass
class Standalone:
    """`master`: its address. `workers`: the processes that start executors."""

    master: str
    workers: list[subprocess.Popen[bytes]]
    folder: Path

    def executors(self) -> list[int]:
        """The processes of Java's that run tasks."""
        found = [pid for worker in self.workers for pid in descendants(worker.pid)]
        return [pid for pid in found if b"CoarseGrainedExecutorBackend" in said_by(pid)]


@contextmanager
def standalone(folder: Path) -> Iterator[Standalone]:
    import pyspark

    home = Path(pyspark.__file__).parent
    # Nothing that leads to the checkout, or to what the driver is set up with.
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment |= {"JAVA_HOME": java_home(), "SPARK_HOME": str(home), "SPARK_DAEMON_MEMORY": "192m"}
    environment |= {"SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1"}
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> Path:
        own = folder / name
        own.mkdir()
        with (own / "log").open("wb") as log:
            started.append(
                subprocess.Popen(
                    [str(home / "bin" / "spark-class"), *arguments],
                    env={**environment, "SPARK_LOCAL_DIRS": str(own / "scratch")},
                    cwd=own,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
        return own / "log"

    try:
        deploy = "org.apache.spark.deploy"
        log = start("master", f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = until(lambda: re.search(r"Starting Spark master at (spark://\S+)", log.read_text()))[1]
        own = ["--host", "127.0.0.1", "-c", "1", "-m", "1g", "--webui-port", "0", master]
        logs = [start(name, f"{deploy}.worker.Worker", "-d", str(folder / name), *own) for name in ("one", "two")]
        for each in logs:
            until(lambda each=each: "Successfully registered with master" in each.read_text())  # type: ignore[misc]
        yield Standalone(master, started[1:], folder)
    finally:
        for process in reversed(started):
            with suppress(ProcessLookupError):
                end_process(process)
