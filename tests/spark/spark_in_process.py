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

from adalog.cluster.cancellation import cancellation_server
from adalog.cluster.cluster import Cluster
from adalog.cluster.configuration import is_local
from adalog.cluster.depot import Depot
from adalog.cluster.shipping import Shipping
from adalog.executor.spark import engine as engines
from adalog.executor.spark import task as tasks
from adalog.executor.spark.engine import SparkEngine


class _Cluster(Cluster):
    """A cluster that runs jobs here."""

    alive = True  # type: ignore[assignment]
    disk_is_full = False  # type: ignore[assignment]
    spark: Any = None

    def __init__(self, folder: Path, shipping: Shipping) -> None:
        self.cancellation = cancellation_server(str(folder), None, None, 0)
        self.cores = 2
        self.idle_seconds = 0.0
        self._shipping = shipping
        self._jobs = ThreadPoolExecutor(1)

    def usable(self) -> bool:
        return True

    def _tagged(self, tag: str, work: Callable[[Any], Any]) -> Any:
        return work(None)

    def _interrupt(self, tag: str, running: Future[Any], patience: float) -> None:
        running.exception(60)

    def close(self) -> None:
        self._jobs.shutdown()
        self.cancellation.stop()


class _Session:
    state = "ready"
    cores = 2
    idle_seconds = 0.0

    def __init__(self, live: _Cluster, master: str) -> None:
        self.master = master
        self._live = live

    def start(self) -> None: ...

    def wait(self, timeout: float | None) -> bool:
        return True

    def live(self) -> _Cluster:
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
        watched.line.close()
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
        depot = None if segments is None else Depot(segments)
        live = _Cluster(Path(name), Shipping(Path(name) if is_local(master) else None, depot))
        engine = SparkEngine(master, start=False, segments=segments)
        monkeypatch.setattr(engine, "session", _Session(live, master))
        monkeypatch.setattr(engines, "run_tasks", each)
        try:
            yield engine
        finally:
            live.close()
