"""Spark's processes as Linux shows them: whom to kill, and who is left."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from tests.waiting import until

T = TypeVar("T")

DAEMON = b"adalog.executor.spark.daemon"


def _parents() -> dict[int, int]:
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError, IndexError):
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z":
                found[int(name)] = int(fields[1])
    return found


def descendants(pid: int) -> list[int]:
    """The processes below one, zombies left out."""
    parents = _parents()

    def below(each: int) -> Iterator[int]:
        for child, parent in parents.items():
            if parent == each:
                yield child
                yield from below(child)

    return list(below(pid))


def said_by(pid: int) -> bytes:
    """Its command line; nothing where it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def workers_of(java: int) -> list[int]:
    """The Python workers: children of the daemons, and not these themselves."""
    parents, below = _parents(), set(descendants(java))
    return [pid for pid in below if DAEMON in said_by(pid) and parents.get(pid) in below]


def ticks(pid: int) -> int:
    """Hundredths of a second that it has computed."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])
    return 0


def alive(pid: int) -> bool:
    return pid in _parents()


def busy_worker(java: int, before: dict[int, int] | None = None) -> int:
    """A Python worker that computes, waited for."""
    known = before or {}
    return until(lambda: next((pid for pid in workers_of(java) if ticks(pid) > known.get(pid, 0) + 10), None))
