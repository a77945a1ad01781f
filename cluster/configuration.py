"""How the Spark session is set up.

Two settings carry most of the weight. Python workers are spoken to over Unix sockets: over TCP every task waits
some 40 ms for a delayed acknowledgement. And a worker comes from our own daemon, with the engine already loaded.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import adalog.cluster
from adalog.cluster.archive import FOLDER, write_archive
from adalog.cluster.properties import REQUIRED

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


def no_kernels() -> Sequence[Path]:
    """Of code that needs none."""
    return ()


def configuration(
    master: str,
    folder: Path,
    given: Mapping[str, str],
    defaults: Mapping[str, str],
    kernels: Callable[[], Sequence[Path]] = no_kernels,
) -> dict[str, str]:
    """Spark's properties, by name. Writes the files that some of them name into the folder.

    given: what was set for adalog; it goes before the defaults of all programs here, which go before ours. kernels:
    the files of all compiled kernels, which are packed for workers elsewhere: each would else compile its own.
    """
    quiet, fair = folder / "log4j2.properties", folder / "fair.xml"
    quiet.write_text(_QUIET)
    fair.write_text(_FAIR)
    chosen = {
        "spark.app.name": "adalog",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": fair.as_uri(),
        "spark.locality.wait": "0",
        "spark.sql.shuffle.partitions": "8",
        # A task whose worker dies is tried once more. What is wrong with a query comes back as an answer.
        "spark.task.maxFailures": "2",
        "spark.python.task.killTimeout": "200ms",
        "spark.python.unix.domain.socket.enabled": "true",
        # Each task is one of as many processes as there are cores: more threads would only get in the way.
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
        "spark.executorEnv.OMP_NUM_THREADS": "1",
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
            "spark.python.unix.domain.socket.dir": str(folder),
        }
    chosen |= {**defaults, **given, **REQUIRED, "spark.master": _tolerant(master)}
    code = _code(master, folder, kernels)
    chosen |= {
        **code,
        **{name: _joined(code[name], chosen.get(name), between) for name, between in _LISTS if name in code},
        "spark.driver.extraJavaOptions": _joined(
            f"-Dlog4j2.configurationFile={quiet.as_uri()} -Djava.io.tmpdir={folder} -XX:+UseParallelGC "
            "-XX:-UsePerfData",
            chosen.get("spark.driver.extraJavaOptions"),
            " ",
        ),
    }
    return chosen


# What was configured, before a session of this process writes its own there.
_PYTHON: Final = os.environ.get("PYSPARK_PYTHON", "python3")
_LISTS: Final = (("spark.executorEnv.PYTHONPATH", os.pathsep), ("spark.archives", ","))


def _joined(ours: str, theirs: str | None, between: str) -> str:
    return between.join([ours, theirs]) if theirs else ours


def _code(master: str, folder: Path, kernels: Callable[[], Sequence[Path]]) -> dict[str, str]:
    """How workers find adalog: as this process does, or in an archive, which is unpacked where an executor runs."""
    # The folder that has the package, with its links where it is a checkout.
    root = Path(adalog.cluster.__file__).absolute().parents[2]
    if is_local(master):
        given = os.environ.get("PYTHONPATH", "")
        paths = [str(root), *(path for path in given.split(os.pathsep) if path)]
        return {"spark.executorEnv.PYTHONPATH": os.pathsep.join(paths)}
    archive = write_archive(root, folder, kernels())
    return {
        "spark.archives": f"{archive.as_uri()}#{FOLDER}",
        "spark.executorEnv.PYTHONPATH": os.path.join(os.curdir, FOLDER),
    }


def _tolerant(master: str) -> str:
    """The master; where all is one process, with a second try for each task, which only its name can say."""
    if master == "local":
        return "local[1,2]"
    return f"{master[:-1]},2]" if is_local(master) and "," not in master else master


def is_local(master: str) -> bool:
    """Whether the workers are processes of this machine, which can read the private folder."""
    return master == "local" or master.startswith("local[")


def python_of(properties: Mapping[str, str], master: str) -> str:
    """The Python that workers run: this one, or on a cluster the one that is configured or found there."""
    if is_local(master):
        return sys.executable
    return properties.get("spark.pyspark.python") or _PYTHON


def set_environment(java_home: str, python: str, properties: Path) -> None:
    """What PySpark reads from the environment alone. properties: the file of them.

    A command line, where PySpark itself would write them, is for everybody on this machine to read.
    """
    os.environ["JAVA_HOME"] = java_home
    os.environ["PYSPARK_PYTHON"] = python
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"--properties-file {shlex.quote(str(properties))} pyspark-shell"
