"""A bystander of a server: how long its `/healthz` and a light query take while others attack it.

Runs as a process of its own (`python -m bench.watch PORT PID`, the light request on the first line of its input),
from an address of its own, until its input ends; its `Seen` is JSON on its output.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from bench.process import Use, use

ADDRESS: Final = "127.0.0.3"
_PACE: Final = 0.02
_PATIENCE: Final = 60.0


@dataclass
class Seen:
    """Seconds of each answer, `wrong` ones by what they were; the most that the process used."""

    health: list[float] = field(default_factory=list)
    light: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    most: Use = field(default_factory=Use)


class _Bystander:
    """Asks at a steady pace on a connection that is kept."""

    def __init__(self, port: int, method: str, path: str, body: str | None) -> None:
        self._request = method, path, body
        self._port = port
        self._connection: HTTPConnection | None = None

    def ask(self, times: list[float], wrong: list[str]) -> None:
        began = time.perf_counter()
        try:
            if self._connection is None:
                self._connection = HTTPConnection(
                    "127.0.0.1", self._port, timeout=_PATIENCE, source_address=(ADDRESS, 0)
                )
            method, path, body = self._request
            self._connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = self._connection.getresponse()
            text = answer.read()
            if answer.status != 200 or b'"errors"' in text:
                wrong.append(f"{answer.status} {text[:200].decode()}")
        except (OSError, HTTPException) as failure:
            wrong.append(f"{path}: {failure!r}")
            self.close()
        times.append(time.perf_counter() - began)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def watched(port: int, pid: int, light: str, stop: threading.Event) -> Seen:
    """What is seen until the event is set."""
    seen = Seen()

    def repeat(bystander: _Bystander, times: list[float]) -> None:
        while not stop.is_set():
            bystander.ask(times, seen.wrong)
            stop.wait(_PACE)
        bystander.close()

    def measure() -> None:
        while not stop.wait(_PACE):
            seen.most = seen.most.or_more(use(pid))

    threads = [
        threading.Thread(target=repeat, args=(_Bystander(port, "GET", "/healthz", None), seen.health)),
        threading.Thread(target=repeat, args=(_Bystander(port, "POST", "/graphql", light), seen.light)),
        threading.Thread(target=measure),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def main(port: int, pid: int) -> None:
    """Watches until the input ends."""
    light = sys.stdin.readline().strip()
    stop = threading.Event()
    told: list[Seen] = []
    watching = threading.Thread(target=lambda: told.append(watched(port, pid, light, stop)))
    watching.start()
    sys.stdin.read()
    stop.set()
    watching.join()
    Path("/dev/stdout").write_text(json.dumps(asdict(told[0])))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
