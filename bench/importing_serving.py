"""What an import costs those whom the same server answers: light queries, and transactions, with it and without.

`python -m bench.importing_serving [MILLIONS OF DATOMS]`. A server with as many datoms is asked for one person's
name, again and again, each time another one's; a writer asserts something of somebody else ten times a second. Then
the same while as many datoms more are imported by the server.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx
import numpy as np

from bench.importing import MAPPING, SCHEMA, write_people

_NAME: Final = "[:find ?n . :in $ ?i :where [?p :person/id ?i] [?p :person/name ?n]]"
_QUERY: Final = f'query($a: [JSON!]) {{ q(query: "{_NAME}", args: $a) {{ value }} }}'
_WRITE: Final = "mutation($tx: EDN!) { transact(tx: $tx) { t } }"
_QUIET_SECONDS: Final = 15.0
_PAUSE: Final = 0.005
_ROWS: Final = 5
_ADALOG: Final = [sys.executable, "-m", "adalog.gateway.cli"]


@dataclass
class Seen:
    """Latencies in milliseconds."""

    queries: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)

    def said(self) -> str:
        p50, p99, most = np.percentile(self.queries, [50, 99, 100])
        w50, wmost = np.percentile(self.writes, [50, 100])
        return (
            f"{len(self.queries):,} queries: p50 {p50:.2f} ms, p99 {p99:.2f} ms, at most {most:.0f} ms; "
            f"{len(self.writes):,} transactions: p50 {w50:.1f} ms, at most {wmost:,.0f} ms"
        )


def main() -> None:
    millions = float(sys.argv[1]) if len(sys.argv) > 1 else 5
    rows = int(millions * 1e6) // _ROWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "schema.edn").write_text(SCHEMA)
        (folder / "mapping.yaml").write_text(MAPPING)
        write_people(folder / "first.parquet", 0, rows)
        write_people(folder / "second.parquet", rows, rows)
        with _served(folder / "data") as address:
            _await_spark(address)
            asking = [*_ADALOG, "import", "--url", address, "--mapping", str(folder / "mapping.yaml")]
            subprocess.run([*asking, f"people={folder}/first.parquet"], check=True)
            before = _asked(address, rows, lambda: time.sleep(_QUIET_SECONDS))
            print(f"without: {before.said()}", flush=True)
            second = [*asking, f"people={folder}/second.parquet"]
            during = _asked(address, rows, lambda: subprocess.run(second, check=True))
            print(f"with:    {during.said()}", flush=True)
            ratio = np.percentile(during.queries, 99) / np.percentile(before.queries, 99)
            print(f"p99 is {ratio:.1f} times as long")


@contextmanager
def _served(data: Path) -> Iterator[str]:
    command = [*_ADALOG, "serve", "--port", "0", "--data", str(data)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+?:\d+", process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.terminate()
        process.wait(30)


def _await_spark(address: str) -> None:
    while httpx.get(f"{address}/readyz").json().get("spark") != "ready":
        time.sleep(0.2)


def _asked(address: str, rows: int, meanwhile: Callable[[], object]) -> Seen:
    """What clients see while something is done."""
    seen, over = Seen(), threading.Event()

    def queries() -> None:
        random = np.random.default_rng(1)
        with httpx.Client(base_url=address, timeout=120) as client:
            while not over.is_set():
                began = time.perf_counter()
                body = {"query": _QUERY, "variables": {"a": [int(random.integers(0, rows))]}}
                assert client.post("/graphql", json=body).json()["data"]["q"]["value"]
                seen.queries.append((time.perf_counter() - began) * 1000)
                time.sleep(_PAUSE)

    def writes() -> None:
        with httpx.Client(base_url=address, timeout=120) as client:
            number = 0
            while not over.wait(0.1):
                number += 1
                began = time.perf_counter()
                body = {"query": _WRITE, "variables": {"tx": f'[{{:note/text "{time.time_ns()} {number}"}}]'}}
                assert "errors" not in client.post("/graphql", json=body).json()
                seen.writes.append((time.perf_counter() - began) * 1000)

    threads = [threading.Thread(target=each) for each in (queries, writes)]
    for thread in threads:
        thread.start()
    try:
        meanwhile()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    return seen


if __name__ == "__main__":
    main()
