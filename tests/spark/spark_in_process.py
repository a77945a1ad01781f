"""The engine of Spark without Spark: the same shares and the same tasks, one after the other on threads of this
process, each with values of its own as a worker has them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from adalog.cluster.cancellation import CancellationServer, cancellation_server
from adalog.executor.spark import engine as engines
from adalog.executor.spark import task as tasks
from adalog.executor.spark.engine import SparkEngine


class _Live:
    """A session that runs jobs here."""

    alive = True
    disk_is_full = False
    cores = 2
    idle_seconds = 0.0
    spark = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.switchboard: CancellationServer = cancellation_server(str(folder), None, None, 0)
        self.jobs = ThreadPoolExecutor(1)

    def usable(self) -> bool:
        return True

    def submit(self, tag: str, work: Callable[[Any], Any]) -> Future[Any]:
        return self.jobs.submit(work, None)

    def interrupt(self, tag: str, running: Future[Any], patience: float = 0.0) -> None:
        running.exception(60)

    def close(self) -> None:
        self.jobs.shutdown()
        self.switchboard.stop()


class _Session:
    state = "ready"
    cores = 2
    idle_seconds = 0.0

    def __init__(self, live: _Live, master: str) -> None:
        self.master = master
        self._live = live

    def start(self) -> None: ...

    def wait(self, timeout: float | None) -> bool:
        return True

    def live(self) -> _Live:
        return self._live

    def close(self) -> None: ...


def each_here(spark: None, values: pa.Array, work: Callable[..., Iterator[pa.Array]]) -> list[pa.Buffer]:
    """What `run_tasks` does; each task in a worker that has bound nothing yet."""
    made: list[pa.Buffer] = []
    for place in range(len(values)):
        forget()
        (column,) = work(iter([values.slice(place, 1)]))
        made.append(column[0].as_buffer())
    forget()
    return made


def forget() -> None:
    """Makes this process a new worker."""
    for watched in tasks._watched.values():
        watched.line.hang_up()
    tasks._watched.clear()
    tasks._bound.clear()


@contextmanager
def spark_in_process(
    monkeypatch: pytest.MonkeyPatch,
    master: str = "local[2]",
    each: Callable[..., Sequence[pa.Buffer]] = each_here,
    segments: str | None = None,
) -> Iterator[SparkEngine]:
    """An engine whose jobs run here. `each`: in place of `run_tasks`. `segments`: as the engine's."""
    with tempfile.TemporaryDirectory(prefix="adalog-") as name:
        live = _Live(Path(name))
        engine = SparkEngine(master, start=False, segments=segments)
        monkeypatch.setattr(engine, "session", _Session(live, master))
        monkeypatch.setattr(engines, "run_tasks", each)
        try:
            yield engine
        finally:
            live.close()
