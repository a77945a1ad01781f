"""Two workers against one: a bound query over HTTP from 16 clients, with the load made on the same cores."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx
import pyarrow.parquet as pq

from bench import folder, server
from bench.debian import PACKAGES
from bench.line import Line

_QUERY: Final = "[:find ?version :in $ ?name :where [?p :package/name ?name] [?p :package/version ?version]]"
_CLIENTS: Final = 16
_ROUNDS: Final = 3
_LIMIT_SECONDS: Final = 120.0


def queries(quick: bool, say: Callable[[str], None]) -> list[Line]:
    """Rounds of one worker and of two in turn, both servers up all the while; medians of the rounds."""
    requests = 2_000 if quick else 8_000
    names = pq.read_table(PACKAGES, columns=["name"])["name"].to_pylist()[:: max(1, 60_000 // requests)]
    bodies = [server.q(_QUERY, name) for name in names[:requests]]
    with _served(1) as one, _served(2) as two:
        found: dict[int, list[float]] = {1: [], 2: []}
        for number in range(_ROUNDS + 1):
            for count, each in ((1, one), (2, two)):
                report = server.load(each.port, _CLIENTS, bodies)
                assert '"rows":[["' in report.answer, f"no row in {report.answer}"
                if number:
                    found[count].append(report.per_second)
                say(
                    f"    workers {count}: {report.p50:.2f} ms, p99 {report.p99:.2f} ms, {report.per_second:,.0f}/s"
                )
        single, double = (statistics.median(found[count]) for count in (1, 2))
        note = (
            f"ready after {one.seconds:.1f} s / {two.seconds:.1f} s (the first after {two.first:.1f} s); "
            f"{one.nbytes / 1e6:,.0f} / {two.nbytes / 1e6:,.0f} MB of their own"
        )
    title = "bound query over HTTP, 16 clients: 2 workers"
    return [Line("workers-16", title, "1/s", double, "1 worker", single, bar=1.3, more=True, note=note)]


class _Served:
    """A server that is ready. first, seconds: until its first worker was, and until all were. nbytes: memory that
    is shared with no other process, of all of its processes."""

    def __init__(self, process: server.Process, port: int, workers: int) -> None:
        self.port = port
        began = time.perf_counter()
        self.first = self.seconds = 0.0
        while self.seconds == 0.0:
            assert time.perf_counter() - began < _LIMIT_SECONDS, "the server is not ready in time"
            assert process.poll() is None, "the server ended"
            try:
                answer = httpx.get(f"http://127.0.0.1:{port}/readyz")
            except httpx.TransportError:
                time.sleep(0.01)
                continue
            if answer.status_code == 200:
                self.first = self.first or time.perf_counter() - began
                if answer.json().get("workers", {"ready": 1})["ready"] == workers:
                    self.seconds = time.perf_counter() - began
            time.sleep(0.01)
        self.nbytes = sum(map(_private, [process.pid, *_children(process.pid)]))


@contextmanager
def _served(workers: int) -> Iterator[_Served]:
    port = server.free_port()
    environment = {**server.UNCACHED, "ADALOG_WORKERS": str(workers)}
    with folder.with_sample() as data, server.adalog(data, port, **environment) as process:
        yield _Served(process, port, workers)


def _children(pid: int) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        stat = Path(f"/proc/{name}/stat")
        if stat.exists() and int(stat.read_text().rpartition(")")[2].split()[1]) == pid:
            found.append(int(name))
    return found


def _private(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Private_"))
