"""adalog's own code as an archive, which Spark sends to workers that have no checkout and no path of ours.

Compiled kernels travel with it. Numba takes them for its own where their sources have the size and the time that
they had when they were compiled, so the archive says those times, and a worker restores them.
"""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FOLDER: Final = "adalog-code"
"""What a worker's copy is called, in its working directory."""

_ROOMS: Final = ("datalog", "store", "cluster", "planner", "pipeline", "executor")
_KERNELS: Final = frozenset((".nbi", ".nbc"))
_TIMES: Final = "times.json"


def write_archive(root: Path, folder: Path) -> Path:
    """A .tgz in the folder, of what workers need of the package in `root`. Its name tells it from every other."""
    files = sorted(_files(root))
    times = {str(path.relative_to(root)): path.stat().st_mtime_ns for path in files}
    said = folder / _TIMES
    said.write_text(json.dumps(times))
    made = folder / "code.tgz"
    with tarfile.open(made, "w:gz", compresslevel=1) as archive:
        archive.add(said, _TIMES)
        for path in files:
            archive.add(path, path.relative_to(root))
    said.unlink()
    digest = hashlib.blake2b(made.read_bytes(), digest_size=6).hexdigest()
    return made.rename(folder / f"adalog-{digest}.tgz")


def restore_times(root: Path) -> None:
    """Gives the files of an unpacked archive the times that they had; does nothing in a checkout."""
    said = root / _TIMES
    if not said.is_file():
        return
    for name, time in json.loads(said.read_text()).items():
        os.utime(root / name, ns=(time, time))


def _files(root: Path) -> Iterator[Path]:
    package = root / "adalog"
    yield package / "__init__.py"
    for room in _ROOMS:
        for path in (package / room).rglob("*"):
            if path.is_file() and (path.suffix in _KERNELS or "__pycache__" not in path.parts):
                yield path
