"""What a process uses of the machine, as Linux tells it."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True)
class Use:
    """`rss`: bytes in memory; descriptors that are open; threads."""

    rss: int = 0
    descriptors: int = 0
    threads: int = 0

    def or_more(self, other: Use) -> Use:
        """Of each the larger."""
        return Use(*(max(getattr(self, each.name), getattr(other, each.name)) for each in fields(Use)))


def use(pid: int) -> Use:
    """Nothing, when the process has ended."""
    try:
        told = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        return Use(int(told["VmRSS"].split()[0]) << 10, descriptors, int(told["Threads"]))
    except (OSError, KeyError):
        return Use()


@dataclass(frozen=True)
class Memory:
    """Bytes. `proportional`: shared pages are divided among their processes. `private`: pages of no other.
    `anonymous`: what is no part of a file."""

    resident: int = 0
    proportional: int = 0
    private: int = 0
    anonymous: int = 0


def memory(pid: int) -> Memory:
    """Nothing, when the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return Memory()
    told = {name: int(size.split()[0]) << 10 for name, size in (line.split(":", 1) for line in lines)}
    private = told["Private_Clean"] + told["Private_Dirty"]
    return Memory(told["Rss"], told["Pss"], private, told["Anonymous"])
