"""What clients did and heard, with the moments at which they asked and had their answers, on one clock."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["done", "refused", "unknown"]


@dataclass
class Write:
    """A transaction that a client asked for, all its tries with one idempotency key together.

    name: what it wrote into its transaction, by which the log tells it. what: `put`, `cas` or `tag`, with its
    arguments. expected: the basis it was bound to. outcome: unknown where the client gave up without an answer.
    answers: the t of each report it had. began and ended: of the first try and of the last answer.
    """

    name: str
    what: tuple[Any, ...]
    key: str | None
    expected: int | None
    began: float
    ended: float = float("inf")
    outcome: Outcome = "unknown"
    code: str | None = None
    answers: list[int] = field(default_factory=list)


@dataclass
class Read:
    """A query for the whole of what the model knows. asked: the basis that it asked for, None for the newest. t:
    the basis of the answer."""

    asked: int | None
    began: float
    ended: float
    t: int
    rows: frozenset[tuple[Any, ...]]


@dataclass
class Told:
    """An event of a live stream, of one subscriber. rows: of a whole snapshot, or what came; gone: what went;
    reason: of a RESET."""

    kind: Literal["SNAPSHOT", "DELTA", "PROGRESS", "RESET"]
    t: int
    rows: frozenset[tuple[Any, ...]] = frozenset()
    gone: frozenset[tuple[Any, ...]] = frozenset()
    reason: str | None = None


class History:
    """Written by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.writes: list[Write] = []
        self.reads: list[Read] = []
        self.streams: list[list[Told]] = []

    def write(self, one: Write) -> None:
        with self._lock:
            self.writes.append(one)

    @property
    def answered(self) -> int:
        """How many writes have their answer."""
        with self._lock:
            return sum(1 for write in self.writes if write.answers)

    def has_answered(self, count: int) -> bool:
        return self.answered >= count

    def read(self, one: Read) -> None:
        with self._lock:
            self.reads.append(one)

    def stream(self) -> list[Told]:
        """A new subscriber's events, to be appended to by its thread."""
        with self._lock:
            self.streams.append([])
            return self.streams[-1]
