"""Folders for databases that are measured: beside the benchmarks, on the disk that holds the project."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from adalog.examples.debian.load import load
from adalog.store.database import Database

WORK: Final = Path(__file__).with_name(".work")


@contextmanager
def empty() -> Iterator[Path]:
    """A folder that is gone afterwards. Not in /tmp, which may be memory, where fsync costs nothing."""
    WORK.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=WORK) as folder:
        yield Path(folder)


@contextmanager
def with_sample() -> Iterator[Path]:
    """A folder with the sample data."""
    with empty() as folder:
        with Database.open(str(folder)) as database:
            load(database)
        yield folder


def size(data: Path) -> int:
    """The bytes of disk that a folder takes."""
    total = 0
    for path, _, files in os.walk(data):
        for name in files:
            try:
                total += (Path(path) / name).stat().st_blocks * 512
            except FileNotFoundError:
                continue
    return total
