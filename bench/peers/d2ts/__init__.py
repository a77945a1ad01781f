"""D2TS, differential dataflow in TypeScript, in a Node process: requests and answers are lines of JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

_HERE = Path(__file__).parent

Edge = tuple[int, int]


class D2ts:
    """One query followed over a graph: `triangles`, counted, or `open`, the paths of two edges that no third one
    closes, counted by where they begin. What it needs is installed by npm. To be left as a context."""

    def __init__(self) -> None:
        if not (_HERE / "node_modules" / "@electric-sql").is_dir():
            if shutil.which("npm") is None:
                raise RuntimeError("needs Node.js with npm")
            subprocess.run(["npm", "ci", "--silent"], cwd=_HERE, check=True, capture_output=True)
        self._process = subprocess.Popen(
            ["node", "--max-old-space-size=8192", "serve.js"],
            cwd=_HERE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> D2ts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait()

    def follow(self, name: str, edges: Sequence[Edge]) -> list[list[int]]:
        """The rows that the query has to begin with."""
        rows: list[list[int]] = self._ask({"follow": name, "edges": edges})
        return rows

    def step(self, changes: Sequence[tuple[Edge, int]]) -> float:
        """The milliseconds that it took to follow edges that came (1) and went (-1)."""
        took: float = self._ask({"step": changes})
        return took

    def rows(self) -> list[list[int]]:
        """The rows that it has now."""
        rows: list[list[int]] = self._ask({})
        return rows

    def _ask(self, request: dict[str, object]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("Node ended")
        return json.loads(line)
