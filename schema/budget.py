"""What one response may come to, and the pieces of JSON that it is made of.

All fields of a request draw from one budget, before what they write is put together; the field that passes it is
LIMIT_EXCEEDED. Pieces stay pieces until they are sent: nobody joins them into a second copy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from schema.limits import exceeded

# No JSON that orjson writes has this byte.
_PLACE: Final = b"\x00"
_CHUNK_BYTES: Final = 64 * 1024


class Budget:
    """Bytes that a response may still come to. Thread-safe."""

    def __init__(self, nbytes: int) -> None:
        self._limit = nbytes
        self._taken = 0
        self._lock = threading.Lock()

    def estimate(self) -> Budget:
        """One of the same size, for what is weighed before it is written and once more when it is."""
        return Budget(self._limit)

    def take(self, nbytes: int) -> None:
        """Raises LIMIT_EXCEEDED where there are not so many left."""
        with self._lock:
            self._taken += nbytes
            over = self._taken > self._limit
        if over:
            raise exceeded("bytes in the response; ask for pages with `first`", self._limit, "result_bytes")


class Prepaid:
    """Bytes taken for what is held until it is written; who writes it draws on them first. Thread-safe."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._left = 0
        self._lock = threading.Lock()

    def add(self, nbytes: int) -> None:
        """Raises LIMIT_EXCEEDED where there are not so many left in the budget."""
        self._budget.take(nbytes)
        with self._lock:
            self._left += nbytes

    def take(self, nbytes: int) -> None:
        """Raises likewise."""
        with self._lock:
            own = min(nbytes, self._left)
            self._left -= own
        self._budget.take(nbytes - own)


class Repeated:
    """The bytes of work that may be begun more than once: only what goes beyond earlier beginnings is taken."""

    def __init__(self, take: Callable[[int], None]) -> None:
        self._take = take
        self._taken = 0
        self._now = 0

    def begin(self) -> None:
        """The work begins, perhaps again."""
        self._now = 0

    def take(self, nbytes: int) -> None:
        """Raises what taking them raises."""
        self._now += nbytes
        more = self._now - self._taken
        if more > 0:
            self._taken = self._now
            self._take(more)


@dataclass(frozen=True, slots=True)
class Written:
    """A JSON value as bytes, in chunks. None of them holds a NUL."""

    chunks: tuple[bytes, ...]

    @staticmethod
    def list_of(parts: Iterable[bytes]) -> Written:
        """A JSON list of parts that are each the inside of a list; short ones are put together."""
        chunks: list[bytes] = []
        together: list[bytes] = []
        size = 0
        for part in parts:
            if not part:
                continue
            if size >= _CHUNK_BYTES:
                # The comma to come stands at the end of what is before it.
                chunks.append(b",".join(together) + b",")
                together, size = [], 0
            together.append(part)
            size += len(part)
        return Written((b"[", *chunks, b",".join(together), b"]"))

    @property
    def nbytes(self) -> int:
        return sum(map(len, self.chunks))


def assembled(value: Any) -> list[bytes]:
    """The JSON of a value in which there may be `Written` ones, in chunks. Raises TypeError for what is no JSON."""
    within: list[Written] = []

    def placed(each: Any) -> orjson.Fragment:
        if not isinstance(each, Written):
            raise TypeError(f"not JSON: {type(each).__name__}")
        within.append(each)
        return orjson.Fragment(_PLACE)

    text = orjson.dumps(value, default=placed, option=orjson.OPT_PASSTHROUGH_DATACLASS)
    if not within:
        return [text]
    return list(_interleaved(text.split(_PLACE), within))


def _interleaved(parts: list[bytes], within: list[Written]) -> Iterator[bytes]:
    for part, each in zip(parts, within, strict=False):
        yield part
        yield from each.chunks
    yield parts[-1]
