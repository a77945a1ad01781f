"""Whether a worker is stopped in the moment of writing, so that no other can write until it goes on or ends."""

from __future__ import annotations

from pathlib import Path
from typing import Final

# The byte of the file `-shm` by whose lock SQLite's connections take turns at writing (the file format, "WAL-Index
# Format").
_WRITE_LOCK: Final = 120
# Of a process's state: stopped by a signal, or by a debugger.
_STOPPED: Final = frozenset("Tt")


def stops_writers(pid: int, index: Path, processes: Path = Path("/proc")) -> bool:
    """Whether the process is stopped and has the turn to write. index: the log's file `-shm`. False where that
    cannot be seen, elsewhere than on Linux."""
    try:
        state = (processes / str(pid) / "stat").read_text().rpartition(")")[2].split()[0]
        if state not in _STOPPED:
            return False
        file = index.stat().st_ino
        locks = (processes / "locks").read_text().splitlines()
    except (OSError, IndexError):
        return False
    return any(_is_turn(line.split(), pid, file) for line in locks)


def _is_turn(lock: list[str], pid: int, file: int) -> bool:
    # 7: POSIX  ADVISORY  WRITE 4711 fe:00:1234 120 120
    match lock:
        case [_, "POSIX", _, "WRITE", holder, place, first, last]:
            is_its = (int(holder), int(place.rpartition(":")[2])) == (pid, file)
            return is_its and int(first) <= _WRITE_LOCK and (last == "EOF" or int(last) >= _WRITE_LOCK)
    return False
