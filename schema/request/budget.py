"""What one response may come to, and the pieces of JSON that it is made of.

All fields of a request draw from one budget, before what they write is put together; the field that passes it is
LIMIT_EXCEEDED. Pieces stay pieces until they are sent, and are not joined into a second copy.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import orjson

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.other_processes import NO_OTHERS
from adalog.schema.request.limits import exceeded

# No JSON that orjson writes has this byte.
_PLACE: Final = b"\x00"
_CHUNK_BYTES: Final = 64 * 1024
SMALL_BYTES: Final = 256 * 1024
"""Of a response that is sent whatever others hold."""
# What larger ones draw at once.
_PIECE_BYTES: Final = 1024 * 1024


class Responses:
    """The bytes of all responses of a server until they are sent, without small ones. Thread-safe.

    `held`: those of this process. `beside`: those of other processes. The responses of one principal may hold half
    of what the others leave, so that a slow reader delays itself first."""

    def __init__(self, nbytes: int) -> None:
        self.held = 0
        self.beside = NO_OTHERS
        self._most = nbytes
        self._of: Counter[str] = Counter()
        self._lock = threading.Lock()

    def draw(self, principal: str, nbytes: int) -> None:
        """Raises RATE_LIMITED, retryable, where others are being sent."""
        with self._lock:
            own, most = self._of[principal] + nbytes, self._most - self.beside.others()
            if self.held + nbytes > most or own > most // 2:
                message = "the responses that are being sent hold the memory that this one needs; try again shortly"
                raise AdalogError(Code.RATE_LIMITED, message, retry_after=1)
            self._of[principal] = own
            self.held += nbytes
            self.beside.tell(self.held)

    def put_back(self, principal: str, nbytes: int) -> None:
        """A response was sent, or is not wanted any more."""
        with self._lock:
            self.held -= nbytes
            self.beside.tell(self.held)
            self._of[principal] -= nbytes
            if not self._of[principal]:
                del self._of[principal]


class ResponseBudget:
    """Bytes that a response may still come to. Thread-safe.

    Beyond those of a small response it draws from `responses`, until it is closed."""

    def __init__(self, nbytes: int, responses: Responses | None = None, principal: str = "") -> None:
        self._limit = nbytes
        self._responses = responses
        self._principal = principal
        self._taken = 0
        self._drawn = 0
        self._closed = False
        self._lock = threading.Lock()

    def estimate(self) -> ResponseBudget:
        """One of the same size, for what is weighed before it is written and once more when it is."""
        return ResponseBudget(self._limit)

    def take(self, nbytes: int) -> None:
        """Raises LIMIT_EXCEEDED where there are not so many left, and RATE_LIMITED where other responses hold too
        many."""
        with self._lock:
            self._taken += nbytes
            over = self._taken > self._limit
            if not over and self._taken > self._drawn + SMALL_BYTES and self._responses is not None:
                self._draw(self._responses)
        if over:
            raise exceeded("bytes in the response; ask for pages with `first`", self._limit, "result_bytes")

    def _draw(self, responses: Responses) -> None:
        wanted = min(max(_PIECE_BYTES, self._taken - SMALL_BYTES - self._drawn), self._limit)
        if not self._closed:
            responses.draw(self._principal, wanted)
            self._drawn += wanted

    def close(self) -> None:
        """The response was sent, or will not be. What a late thread still takes is not drawn any more."""
        with self._lock:
            drawn, self._drawn, self._closed = self._drawn, 0, True
        if drawn and self._responses is not None:
            self._responses.put_back(self._principal, drawn)


class Prepaid:
    """Bytes taken for items until they are written; writing draws on them first. Thread-safe."""

    def __init__(self, budget: ResponseBudget) -> None:
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


class RepeatedWork:
    """The bytes of work that may be begun more than once: only what goes beyond earlier beginnings is taken."""

    def __init__(self, take: Callable[[int], None]) -> None:
        self._take = take
        self._taken = 0
        self._now = 0

    def begin(self) -> None:
        self._now = 0

    def take(self, nbytes: int) -> None:
        """Raises what taking them raises."""
        self._now += nbytes
        more = self._now - self._taken
        if more > 0:
            self._taken = self._now
            self._take(more)


@dataclass(frozen=True, slots=True)
class JsonChunks:
    """A JSON value as bytes, in chunks. None of them holds a NUL."""

    chunks: tuple[bytes, ...]

    @staticmethod
    def list_of(parts: Iterable[bytes]) -> JsonChunks:
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
        return JsonChunks((b"[", *chunks, b",".join(together), b"]"))

    @property
    def nbytes(self) -> int:
        return sum(map(len, self.chunks))


def assembled(value: Any) -> list[bytes]:
    """The JSON of a value, which may contain `JsonChunks`, in chunks. Raises TypeError for anything else."""
    within: list[JsonChunks] = []

    def placed(each: Any) -> orjson.Fragment:
        if not isinstance(each, JsonChunks):
            raise TypeError(f"not JSON: {type(each).__name__}")
        within.append(each)
        return orjson.Fragment(_PLACE)

    text = orjson.dumps(value, default=placed, option=orjson.OPT_PASSTHROUGH_DATACLASS)
    if not within:
        return [text]
    *parts, last = text.split(_PLACE)
    return [*(chunk for part, each in zip(parts, within, strict=True) for chunk in (part, *each.chunks)), last]
