"""Node with the real clients: lines of JSON there and back."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
SECONDS: Final = 30.0


def missing() -> str | None:
    """Why the clients cannot be run here, or None."""
    if shutil.which("node") is None:
        return "need Node.js: sudo apt-get install nodejs npm, then make setup"
    if not all((HERE / "node_modules" / name).is_dir() for name in ("@apollo", "relay-compiler")):
        return "need their packages from npm: make setup, or npm ci in tests/protocols"
    return None


class Node:
    """One process; `tell` gives it a command, `expect` waits for what happens there."""

    def __init__(self) -> None:
        node = shutil.which("node")
        assert node is not None
        self.process = subprocess.Popen(
            [node, "client.js"], cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )
        self._events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._seen: list[dict[str, Any]] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def tell(self, what: str, **more: Any) -> None:
        assert self.process.stdin is not None
        print(json.dumps({"do": what, **more}), file=self.process.stdin, flush=True)

    def expect(self, **fields: Any) -> dict[str, Any]:
        """The first event that has these fields and was not expected before."""
        for index, event in enumerate(self._seen):
            if fields.items() <= event.items():
                return self._seen.pop(index)
        while True:
            event = self._events.get(timeout=SECONDS)
            if fields.items() <= event.items():
                return event
            self._seen.append(event)

    def unexpected(self, **fields: Any) -> list[dict[str, Any]]:
        """What came besides, of the events with these fields."""
        while not self._events.empty():
            self._seen.append(self._events.get())
        return [event for event in self._seen if fields.items() <= event.items()]

    def forget(self) -> None:
        """Events until now are not expected any more."""
        self.unexpected()
        self._seen.clear()

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(SECONDS)
        self._thread.join(SECONDS)
        self.process.stdout.close()

    def kill(self) -> None:
        """Its clients are gone in the middle of whatever they do."""
        self.process.kill()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._events.put(json.loads(line))
