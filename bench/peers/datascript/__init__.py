"""DataScript, in a Node process: edges are a many-valued ref; requests and answers are lines of JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from bench.work import Answer, Work, graph

_HERE = Path(__file__).parent


class DataScript:
    def __init__(self) -> None:
        if not (_HERE / "node_modules" / "datascript").is_dir():
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

    def load(self, data: str) -> None:
        edges = graph(data)
        # DataScript's ids start at 1.
        pairs = [[a + 1, b + 1] for a, b in zip(edges.source.tolist(), edges.target.tolist(), strict=True)]
        self._ask({"load": pairs})

    def run(self, work: Work) -> Answer:
        arguments = [
            [one + 1 for one in value] if isinstance(value, tuple) else int(value) + 1
            for value in work.arguments.values()
        ]
        answer: int | None = self._ask({"query": work.texts["DataScript"], "arguments": arguments})
        return answer or 0

    def transact(
        self,
        schema: Mapping[str, object],
        before: Sequence[object],
        forms: Sequence[object],
        queries: Sequence[str],
    ) -> tuple[float, float, list[int]]:
        """Into a new database: seconds of `forms` alone, of CPU as well, and what the queries then answer."""
        request: dict[str, object] = {"transact": forms, "before": before, "schema": schema, "queries": queries}
        seconds, cpu, answers = self._ask(request)
        return seconds, cpu, answers

    def _ask(self, request: dict[str, object]) -> Any:
        print(json.dumps(request), file=_open(self._process.stdin), flush=True)
        line = _open(self._process.stdout).readline()
        if not line:
            raise RuntimeError("Node ended")
        return json.loads(line)


def _open(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe
