"""How the Spark session is set up, and the private folder that holds everything it writes.

Two settings carry most of the weight. Python workers are spoken to over Unix sockets: over TCP every task waits
some 40 ms for a delayed acknowledgement. And a worker comes from our own daemon, with the engine already loaded.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import executor

_QUIET = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d %p %c{1}: %m%n%xEx{8}
# What goes wrong in a task is told by the query's own error.
logger.executor.name = org.apache.spark.executor
logger.executor.level = off
logger.scheduler.name = org.apache.spark.scheduler
logger.scheduler.level = off
logger.python.name = org.apache.spark.api.python
logger.python.level = off
logger.sql.name = org.apache.spark.sql
logger.sql.level = off
logger.util.name = org.apache.spark.util
logger.util.level = off
"""

_FAIR = """\
<?xml version="1.0"?>
<allocations>
  <pool name="default"><schedulingMode>FAIR</schedulingMode><weight>1</weight><minShare>0</minShare></pool>
</allocations>
"""


_PREFIX = "adalog-spark-"


def private_folder() -> Path:
    """A new folder that only this user can enter. Its name is short: a Unix socket's path has some 100 bytes.

    Those of processes that were killed before they could remove theirs are removed.
    """
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        owner = left.name.removeprefix(_PREFIX).split("-")[0]
        if owner.isdigit() and not _runs(int(owner)):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def configuration(master: str, folder: Path) -> dict[str, str]:
    """Spark's settings, by name. Writes the files that some of them name into the folder."""
    quiet, fair = folder / "log4j2.properties", folder / "fair.xml"
    quiet.write_text(_QUIET)
    fair.write_text(_FAIR)
    chosen = {
        "spark.app.name": "adalog",
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": fair.as_uri(),
        "spark.locality.wait": "0",
        # Our jobs are one stage of tasks already cut to size: nothing for the planner to adapt.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.shuffle.partitions": "8",
        # One task for each row of a local relation, and each row to Python as soon as it is there.
        "spark.sql.leafNodeDefaultParallelism": "1000000",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.python.daemon.module": "executor.spark.daemon",
        "spark.python.worker.reuse": "true",
        "spark.python.task.killTimeout": "200ms",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(folder),
        "spark.executorEnv.PYTHONPATH": _python_path(),
        # Each task is one of as many processes as there are cores: more threads would only get in the way.
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
        "spark.executorEnv.OMP_NUM_THREADS": "1",
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={quiet.as_uri()} -Djava.io.tmpdir={folder} -XX:+UseParallelGC"
        ),
        "spark.driver.maxResultSize": "2g",
        "spark.driver.memory": "4g",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.sql.catalogImplementation": "in-memory",
    }
    if is_local(master):
        chosen |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # Other users of this machine reach these ports too. Java makes the secret itself, a new one for each
            # session. That of a cluster is set where the cluster is.
            "spark.authenticate": "true",
            "spark.network.crypto.enabled": "true",
            "spark.local.dir": str(folder),
        }
    return chosen


def is_local(master: str) -> bool:
    """Whether the workers are processes of this machine, which can read the private folder."""
    return master == "local" or master.startswith("local[")


def _python_path() -> str:
    """Where the workers find the packages that this process has."""
    root = str(Path(executor.__file__).resolve().parent.parent)
    given = os.environ.get("PYTHONPATH", "")
    return os.pathsep.join([root, *(path for path in given.split(os.pathsep) if path)])


def set_environment(java_home: str) -> None:
    """What PySpark reads from the environment alone."""
    os.environ["JAVA_HOME"] = java_home
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.pop("PYSPARK_SUBMIT_ARGS", None)
