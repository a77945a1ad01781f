"""What the log keeps of a transaction, with a checksum chained to that of the one before."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple


class KeyMemory(NamedTuple):
    """How long idempotency keys are remembered: those of so many last transactions, for so many seconds."""

    transactions: int = 1_000_000
    seconds: int = 86_400


KEY_MEMORY: Final = KeyMemory()


class UsedKey(NamedTuple):
    """An idempotency key, and the digest of what was sent with it, None where that is not known."""

    key: str
    digest: str | None


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One transaction as the log keeps it. instant: milliseconds since 1970. row_key: its idempotency key where an
    older version put it into the row. used: its idempotency key; what is read back has none. files: the names of
    the files that its payload names; what is read back does not repeat them."""

    t: int
    instant: int
    row_key: str | None
    payload: bytes
    used: UsedKey | None = None
    files: Sequence[str] = ()


class CopiedEntry(NamedTuple):
    """An entry with all that the log has of it: the chained checksum, and when its idempotency key was used, in
    milliseconds since 1970, None without one."""

    entry: LogEntry
    checksum: int
    used_at: int | None


def chained(previous: int, entry: LogEntry) -> int:
    """The checksum of an entry, given that of the one before it."""
    head = f"{entry.t} {entry.instant} {entry.row_key!r} ".encode()
    return zlib.crc32(entry.payload, zlib.crc32(head, previous))


def now_ms() -> int:
    return int(time.time() * 1000)
