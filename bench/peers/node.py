"""A peer in a Node process of its own: requests and answers are lines of JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any


class Node:
    """Runs `serve.js` of a folder whose packages npm installs the first time. Raises RuntimeError where there is no
    npm."""

    def __init__(self, folder: Path, package: str) -> None:
        if not (folder / "node_modules" / package).is_dir():
            if shutil.which("npm") is None:
                raise RuntimeError("needs Node.js with npm")
            subprocess.run(["npm", "ci", "--silent"], cwd=folder, check=True, capture_output=True)
        self._process = subprocess.Popen(
            ["node", "--max-old-space-size=8192", "serve.js"],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request: dict[str, object]) -> Any:
        """The answer to a request. Raises RuntimeError when the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("Node ended")
        return json.loads(line)

    def end(self) -> None:
        """Ends the process."""
        self._process.terminate()
        self._process.wait()
