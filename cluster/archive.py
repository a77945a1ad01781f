"""adalog's own code as an archive, which Spark sends to workers that have no checkout and no path of ours.

Compiled kernels travel with it: workers find them beside the sources.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

FOLDER: Final = "adalog-code"
"""What a worker's copy is called, in its working directory."""

_ROOMS: Final = ("datalog", "store", "cluster", "planner", "pipeline", "executor")
_COMPILED: Final = Path("adalog", "executor", "kernels", "compiled")


def write_archive(root: Path, folder: Path, kernels: Iterable[Path]) -> Path:
    """A .tgz in the folder, of what workers need of the package in `root`. Its name tells it from every other.
    kernels: the files of compiled kernels, each in the folder of its edition."""
    made = folder / "code.tgz"
    with tarfile.open(made, "w:gz", compresslevel=1) as archive:
        for path in sorted(_files(root)):
            archive.add(path, path.relative_to(root))
        for path in kernels:
            archive.add(path, _COMPILED / path.parent.name / path.name)
    digest = hashlib.blake2b(made.read_bytes(), digest_size=6).hexdigest()
    return made.rename(folder / f"adalog-{digest}.tgz")


def _files(root: Path) -> Iterator[Path]:
    package = root / "adalog"
    yield package / "__init__.py"
    for room in _ROOMS:
        for path in (package / room).rglob("*"):
            if path.is_file() and not {"__pycache__", _COMPILED.name} & set(path.parts):
                yield path
