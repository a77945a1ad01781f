"""The process that listens on a port, for the message of a server that cannot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_LISTENS: Final = "0A"


def listener_on(port: int) -> str | None:
    """`process 4711 (node)`; None where that is another user's, or the system does not tell."""
    sockets = {f"socket:[{inode}]" for inode in _inodes(port)}
    if not sockets:
        return None
    for process in _PROC.iterdir():
        # Processes end meanwhile, and those of others cannot be looked into.
        with suppress(OSError):
            if process.name.isdigit() and any(str(each.readlink()) in sockets for each in _descriptors(process)):
                return f"process {process.name} ({(process / 'comm').read_text().strip()})"
    return None


def _inodes(port: int) -> Iterator[str]:
    for table in ("tcp", "tcp6"):
        with suppress(OSError), (_PROC / "net" / table).open() as file:
            for line in file:
                fields = line.split()
                if fields[3] == _LISTENS and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _descriptors(process: Path) -> Iterator[Path]:
    for each in (process / "fd").iterdir():
        if each.is_symlink():
            yield each
