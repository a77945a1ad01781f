"""A server with workers, in processes of its own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx

from tests.several.clients import Address
from tests.spark_processes import alive, descendants
from tests.waiting import until

# Made once: to make one takes longer than to ask.
_UNUSED = ssl.create_default_context()
_SERVE = """
import sys
from adalog.gateway.workers import supervisor
from adalog.gateway.cli import main
supervisor.SILENT_SECONDS = float(sys.argv.pop(1))
main()
"""


class Said:
    """What a process writes, line by line."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._changed = threading.Condition()
        self._text = ""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for line in self._stream:
            with self._changed:
                self._text += line
                self._changed.notify_all()
        self._stream.close()

    def wait_for(self, text: str, times: int = 1, seconds: float = 60.0) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._text.count(text) >= times, seconds), (text, self._text)

    @property
    def text(self) -> str:
        with self._changed:
            return self._text

    def whole(self) -> str:
        """All of it, once the process has ended."""
        self._thread.join(30)
        return self.text


@dataclass
class Fleet:
    """A supervisor and its workers."""

    process: subprocess.Popen[str]
    address: Address
    said: Said

    @property
    def url(self) -> str:
        return f"http://{self.address[0]}:{self.address[1]}"

    def workers(self) -> list[int]:
        """The workers' processes, oldest first."""
        return sorted(descendants(self.process.pid))

    def get(self, path: str) -> httpx.Response:
        """Over a connection of its own."""
        return httpx.get(f"{self.url}{path}", timeout=30, verify=_UNUSED)

    def until_ready(self, workers: int) -> None:
        """Waits until so many workers are ready."""

        def is_ready() -> bool:
            with contextlib.suppress(httpx.TransportError):
                answer = self.get("/readyz")
                return answer.status_code == 200 and answer.json()["workers"]["ready"] == workers
            return False

        until(is_ready)

    def stop(self, number: int = signal.SIGTERM) -> float:
        """Sends a signal; the seconds until the process was gone."""
        started = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(30)
        return time.monotonic() - started


def ask(url: str, document: str, **variables: str) -> Any:
    """The data of an answer, over a connection of its own, which any worker may get."""
    body = {"query": document, "variables": variables}
    answer = httpx.post(f"{url}/graphql", json=body, timeout=60, verify=_UNUSED).json()
    assert "errors" not in answer, answer
    return answer["data"]


@contextlib.contextmanager
def serving(
    folder: Path | str, workers: int, *arguments: str, silent_seconds: float = 15, **environment: str
) -> Iterator[Fleet]:
    """A server with so many workers, ended at the end with all of them.

    silent_seconds: after which a worker is taken to hang.
    """
    settings = {"ADALOG_SPARK": "off", "ADALOG_LOG_LEVEL": "info", "NO_COLOR": "1", "ADALOG_WORKERS": str(workers)}
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            _SERVE,
            str(silent_seconds),
            "serve",
            "--port",
            "0",
            "--data",
            str(folder),
            *arguments,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **settings, **environment},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    said = Said(process.stderr)
    below: list[int] = []
    try:
        line = process.stdout.readline()
        found = re.search(r"http://(\S+?):(\d+)", line)
        assert found is not None, (line, said.whole())
        yield Fleet(process, (found[1], int(found[2])), said)
    finally:
        below = descendants(process.pid)
        process.kill()
        process.wait()
        process.stdout.close()
        # The kernel ends the workers with their supervisor.
        until(lambda: not any(map(alive, below)))
        said.whole()
