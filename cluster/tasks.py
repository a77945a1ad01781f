"""Tasks on Spark's workers for the data pipeline: `work` of each item, with progress."""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import pyarrow as pa

from adalog.cluster.cluster import Cluster
from adalog.cluster.job import run_tasks
from adalog.cluster.refusals import TaskRefusal
from adalog.datalog.errors import AdalogError, Code
from adalog.store.files.disk_errors import disk_told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")

_PROGRESS_SECONDS: Final = 0.2
# For tasks that still write into a folder that is about to be removed.
_ENDING_SECONDS: Final = 2.0


class TaskRunner(Protocol):
    """Runs tasks, on Spark or in process."""

    def each(
        self, stage: str, work: Callable[[T], R], items: Sequence[T], rows: Callable[[], int] = lambda: 0
    ) -> list[R]:
        """What `work` returns for each item; one task per item. rows: how many are read so far."""


class JobProgress(Protocol):
    """Listens to the progress of a pipeline's jobs. Both methods may raise AdalogError, which ends the job."""

    def stage(self, name: str) -> None:
        """Another stage begins."""

    def tasks(self, done: int, total: int, rows: int) -> None:
        """The number of the stage's tasks that are done; while files are read, about how many rows."""


class InProcessTasks:
    """A `TaskRunner` in this process, one task after the other. progress: None if nothing listens."""

    def __init__(self, progress: JobProgress | None = None) -> None:
        self._progress = progress

    def each(
        self, stage: str, work: Callable[[T], R], items: Sequence[T], rows: Callable[[], int] = lambda: 0
    ) -> list[R]:
        if self._progress is not None and items:
            self._progress.stage(stage)
        results = []
        last = monotonic()
        with disk_told():
            for item in items:
                results.append(work(item))
                if self._progress is not None and monotonic() - last >= _PROGRESS_SECONDS:
                    self._progress.tasks(len(results), len(items), rows())
                    last = monotonic()
        return results


class SparkTasks:
    """A `TaskRunner` on a cluster. progress: None if nothing listens."""

    def __init__(self, cluster: Cluster, progress: JobProgress | None = None) -> None:
        self._cluster = cluster
        self._progress = progress

    def each(
        self, stage: str, work: Callable[[T], R], items: Sequence[T], rows: Callable[[], int] = lambda: 0
    ) -> list[R]:
        if not items:
            return []
        values = pa.array([pickle.dumps(item) for item in items], pa.binary())

        def run(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
            for column in columns:
                results = refusing(work(unpickled(value)) for value in column.to_pylist())
                yield pa.array([pickle.dumps(each) for each in results], pa.binary())

        answers = self.wait(stage, lambda spark: run_tasks(spark, values, run), rows)
        return [unpickled(answer.to_pybytes()) for answer in answers]

    def wait(
        self,
        stage: str,
        work: Callable[[SparkSession], R],
        rows: Callable[[], int] = lambda: 0,
    ) -> R:
        """What a job returns. rows: how many are read so far."""
        last = 0.0

        def check() -> None:
            nonlocal last
            if self._progress is not None and monotonic() - last >= _PROGRESS_SECONDS:
                self._progress.tasks(*_tasks(self._cluster.spark), rows())
                last = monotonic()

        if self._progress is not None:
            self._progress.stage(stage)
        try:
            return self._cluster.submit(f"pipeline-{uuid.uuid4().hex}", work, check, ending=_ENDING_SECONDS)
        except AdalogError:
            raise
        except Exception as error:
            known = self._cluster.fail(error)
            if known is not None:
                raise known from None
            raise AdalogError(Code.INTERNAL, f"{stage} failed: {_first_line(str(error))}") from error


def unpickled(data: bytes) -> Any:
    """What this process's own tasks were given, or returned."""
    return pickle.loads(data)  # noqa: S301


def refusing(results: Iterator[R]) -> Iterator[R]:
    """The same; an AdalogError, and a full disk, are raised in a form that survives Java."""
    try:
        with disk_told():
            yield from results
    except AdalogError as error:
        raise TaskRefusal(error) from None


def _first_line(text: str) -> str:
    """The error's own line in Spark's report of a Python traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if not line.startswith(("at ", "File ", "Traceback", "["))]
    return (errors or lines or ["no reason is given"])[0][:500]


def _tasks(spark: SparkSession) -> tuple[int, int]:
    """The tasks of the stages that run: those done, and all."""
    done = total = 0
    with suppress(Exception):
        tracker = spark.sparkContext.statusTracker()
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None:
                done, total = done + info.numCompletedTasks, total + info.numTasks
    return done, total
