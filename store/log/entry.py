"""What the log keeps of a transaction, with a checksum chained to that of the one before.

The chain runs over the head of an entry and a digest of its payload, keyed by a salt of the entry's own. A payload
can therefore be replaced: the entry then keeps the digest without the salt, which tells nothing of what there was,
and a checksum of the new payload. An entry's seal says which of these it is:

    none                  the chain runs over the payload itself, as versions before format 3 wrote it
    1, salt               the payload is what was written
    2, digest, checksum   it was replaced
    3, CRC-32 and length of what was written, checksum   likewise, of an entry without a seal
"""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from secrets import token_bytes
from typing import Final, NamedTuple


class KeyMemory(NamedTuple):
    """How long idempotency keys are remembered: those of so many last transactions, for so many seconds."""

    transactions: int = 1_000_000
    seconds: int = 86_400


KEY_MEMORY: Final = KeyMemory()
_WRITTEN, _REPLACED, _REPLACED_OLD = b"\1", b"\2", b"\3"
_DIGEST_BYTES: Final = 16
_CHECKSUM: Final = struct.Struct("<I")
_OLD: Final = struct.Struct("<IQI")
_ZEROS: Final = bytes(1 << 16)
NO_CHECKSUM: Final = -1
"""In place of the checksum of an entry whose payload is not the one that its seal is of; no entry has it."""


class UsedKey(NamedTuple):
    """An idempotency key, and the digest of what was sent with it, None where that is not known."""

    key: str
    digest: str | None


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One transaction as the log keeps it. instant: milliseconds since 1970. row_key: its idempotency key where an
    older version put it into the row. used: its idempotency key; what is read back has none. files: the names of
    the files that its payload names; what is read back does not repeat them. seal: as above; an append makes it.
    replaces: entries whose payloads are put in the place of those that the log has, as `replaced` made them, by the
    same append."""

    t: int
    instant: int
    row_key: str | None
    payload: bytes
    used: UsedKey | None = None
    files: Sequence[str] = ()
    seal: bytes | None = None
    replaces: Sequence[LogEntry] = ()


class CopiedEntry(NamedTuple):
    """An entry with all that the log has of it: the chained checksum, and when its idempotency key was used, in
    milliseconds since 1970, None without one."""

    entry: LogEntry
    checksum: int
    used_at: int | None


def new_salts(count: int) -> Iterator[bytes]:
    """Salts of so many entries, drawn at once: with each draw the writer lets go of the interpreter, and may wait
    for it."""
    drawn = token_bytes(_DIGEST_BYTES * count)
    return (drawn[at : at + _DIGEST_BYTES] for at in range(0, len(drawn), _DIGEST_BYTES))


def sealed_after(previous: int, entry: LogEntry, salt: bytes) -> tuple[bytes, int]:
    """A new seal for an entry that is appended, and the checksum that it then has. previous: as in `chained`. salt:
    one of `new_salts`."""
    return _WRITTEN + salt, zlib.crc32(_digest(entry.payload, salt), _begun(previous, entry))


def record_size(payload: int, seal: int) -> int:
    """The bytes of a payload and a seal of such lengths in a row of SQLite's, with those that say the lengths."""
    return payload + _varint(2 * payload + 12) + seal + _varint(2 * seal + 12)


def _varint(number: int) -> int:
    return max(-(-number.bit_length() // 7), 1) if number < 1 << 56 else 9


def room_of(entry: LogEntry) -> int:
    """The length of a payload that can replace that of an entry without its row taking more or less room in SQLite,
    or one byte less. 0 where that is not known."""
    if entry.seal is None:
        return 0
    seal = len(replaced(entry, b"").seal or b"")
    size, room = record_size(len(entry.payload), len(entry.seal)), len(entry.payload) + len(entry.seal)
    while room and record_size(room, seal) > size:
        room -= 1
    return room


def replaced(entry: LogEntry, payload: bytes) -> LogEntry:
    """The entry with another payload and the same place in the chain. Nothing in it tells what the payload was, but
    for a checksum of 32 bits where an older version wrote the entry."""
    seal, now = entry.seal, zlib.crc32(payload)
    if seal is None:
        seal = _REPLACED_OLD + _OLD.pack(zlib.crc32(entry.payload), len(entry.payload), now)
    elif seal[:1] == _WRITTEN:
        seal = _REPLACED + _digest(entry.payload, seal[1:]) + _CHECKSUM.pack(now)
    else:
        seal = seal[: -_CHECKSUM.size] + _CHECKSUM.pack(now)
    return LogEntry(entry.t, entry.instant, entry.row_key, payload, entry.used, entry.files, seal)


def is_replaced(entry: LogEntry) -> bool:
    """Whether the payload is another one than was appended."""
    return entry.seal is not None and entry.seal[:1] != _WRITTEN


def chained(previous: int, entry: LogEntry) -> int:
    """The checksum of an entry, given that of the one before it; NO_CHECKSUM if its seal is of another payload, or
    none that is known."""
    begun, seal = _begun(previous, entry), entry.seal
    if seal is None:
        return zlib.crc32(entry.payload, begun)
    kind, rest = seal[:1], seal[1:]
    if kind == _WRITTEN and len(rest) == _DIGEST_BYTES:
        return zlib.crc32(_digest(entry.payload, rest), begun)
    if kind == _REPLACED and len(rest) == _DIGEST_BYTES + _CHECKSUM.size:
        digest, now = rest[:_DIGEST_BYTES], rest[_DIGEST_BYTES:]
        return zlib.crc32(digest, begun) if now == _CHECKSUM.pack(zlib.crc32(entry.payload)) else NO_CHECKSUM
    if kind == _REPLACED_OLD and len(rest) == _OLD.size:
        was, length, checksum = _OLD.unpack(rest)
        return _continued(begun, was, length) if checksum == zlib.crc32(entry.payload) else NO_CHECKSUM
    return NO_CHECKSUM


def _begun(previous: int, entry: LogEntry) -> int:
    return zlib.crc32(f"{entry.t} {entry.instant} {entry.row_key!r} ".encode(), previous)


def _digest(payload: bytes, salt: bytes) -> bytes:
    return blake2b(payload, digest_size=_DIGEST_BYTES, key=salt).digest()


def _continued(begun: int, checksum: int, length: int) -> int:
    """The CRC-32 `begun`, continued by bytes of which only their own CRC-32 and their number are known."""
    # CRC-32 is affine: what came before adds the same to bytes of one length, whatever they are.
    with_begun, alone = begun, 0
    while length > 0:
        piece = _ZEROS[:length]
        with_begun, alone, length = zlib.crc32(piece, with_begun), zlib.crc32(piece, alone), length - len(piece)
    return checksum ^ with_begun ^ alone


def now_ms() -> int:
    return int(time.time() * 1000)
