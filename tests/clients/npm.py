"""The folder of the JavaScript client, and commands in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "js"

needs_node = pytest.mark.skipif(
    shutil.which("npm") is None or not (CLIENT / "node_modules" / "typescript").is_dir(),
    reason="needs Node.js and its packages: sudo apt-get install nodejs npm, then make setup",
)

# npm packs by way of its cache, for which no home folder must be needed; and is to ask for no newer npm.
_ENVIRONMENT = {"npm_config_cache": str(ROOT / "build" / "caches" / "npm"), "npm_config_update_notifier": "false"}


def run(*command: str, folder: Path = CLIENT) -> str:
    """What a command in a folder, the package's unless another is given, says, which must succeed."""
    environ = {**os.environ, **_ENVIRONMENT}
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, encoding="utf-8", timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
