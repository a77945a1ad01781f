"""Finds a Java that Spark can run on. What `scripts/java-home.sh` does for the shell."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from adalog.datalog.errors import unavailable

OLDEST = 17

_PLACES = (
    "/usr/lib/jvm/*/bin/java",
    "/opt/homebrew/opt/openjdk*/bin/java",
    "/usr/local/opt/openjdk*/bin/java",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java",
)


def java_home(environ: Mapping[str, str] = os.environ) -> str:
    """The home of the first Java that is new enough. Raises BACKEND_UNAVAILABLE where there is none."""
    for java in _candidates(environ):
        if _version(java) >= OLDEST:
            return str(Path(java).resolve().parent.parent)
    raise unavailable(
        f"Spark needs Java {OLDEST} or newer, and none was found; install one, or point JAVA_HOME at it",
        retryable=False,
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[str]:
    home = environ.get("JAVA_HOME")
    if home:
        yield os.path.join(home, "bin", "java")
    on_path = shutil.which("java", path=environ.get("PATH"))
    if on_path:
        yield on_path
    for place in _PLACES:
        yield from sorted(glob.glob(place))


def _version(java: str) -> int:
    """The major version, 0 where it does not run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)', said.stderr)
    return int(found[1]) if found else 0
