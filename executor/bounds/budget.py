"""The bytes that queries may hold: one amount for the server, a share of it for each query.

What is counted are the columns and values that a query gathers, where it gathers them and before it makes them. A
query draws from the process in pieces, so that a light one is at the common lock once.
"""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from typing import Final, Protocol

from adalog.datalog.errors import AdalogError, Code, limit_exceeded
from adalog.executor.bounds.failure import emptied
from adalog.executor.bounds.other_processes import NO_OTHERS
from adalog.executor.bounds.running import RUNNING, Flag

MEMORY_BYTES: Final = 1 << 30
"""What all queries of a server may hold unless a setting says otherwise."""

# How many of the largest queries there is room for.
_SHARES: Final = 2
# The part of all that is for first pieces: an eighth.
_RESERVE: Final = 8
_PIECE: Final = 1 << 20


class Holder(Flag, Protocol):
    budget: Budget


class Memory:
    """What the queries of one server may hold together. Thread-safe.

    `share`: what one of them may hold. `reserve`: what is kept for the first piece of each query, so that a light
    one is answered beside the largest. `held`: what the queries of this process have drawn. `beside`: what those
    of others have, never more than `total` together.
    """

    def __init__(self, total: int = MEMORY_BYTES) -> None:
        self.total = total
        self.share = total // _SHARES
        self.reserve = total // _RESERVE
        self.held = 0
        self.beside = NO_OTHERS
        self._lock = threading.Lock()

    def budget(self) -> Budget:
        """The budget of one query, which has drawn nothing yet."""
        return Budget(self)

    def lent(self, query: Holder) -> Lent:
        """Has a query draw from here within the block, in which it is what this thread runs. All that it drew is
        returned at the end, and a failure holds nothing that was at work."""
        return Lent(query, self.budget())

    def draw(self, nbytes: int, *, is_first: bool = False) -> None:
        """Takes bytes, a first piece also from the reserve. Raises RATE_LIMITED where others hold them."""
        most = self.total if is_first else self.total - self.reserve
        with self._lock:
            if self.held + self.beside.others() + nbytes > most:
                raise AdalogError(
                    Code.RATE_LIMITED, "other queries hold the memory that this one needs; try again shortly"
                )
            self.held += nbytes
            self.beside.tell(self.held)

    def put_back(self, nbytes: int) -> None:
        with self._lock:
            self.held -= nbytes
            self.beside.tell(self.held)


class Budget:
    """What one query holds, drawn from the process's memory. Safe to use from the several threads of a query.
    `held` and `most` are bytes: what it holds now, and the most it held at once."""

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = memory or _APART
        self.held = 0
        self.most = 0
        self._drawn = 0
        self._closed = False
        self._lock = threading.Lock()

    def take(self, nbytes: int) -> None:
        """Counts bytes that are about to be held. Raises LIMIT_EXCEEDED past the share of one query, and
        RATE_LIMITED, retryable, where other queries hold the memory; then nothing was counted."""
        with self._lock:
            wanted = self.held + nbytes
            if wanted > self._drawn:
                self._draw(wanted)
            self.held = wanted
            if wanted > self.most:
                self.most = wanted

    def _draw(self, wanted: int) -> None:
        share = self._memory.share
        if wanted > share:
            raise limit_exceeded(
                f"the query would hold more than {share:,} bytes at once, the share of one query; narrow it, "
                "aggregate in smaller groups, or use :limit"
            )
        if not self._closed:
            piece = min(share - self._drawn, max(_PIECE, wanted - self._drawn))
            self._memory.draw(piece, is_first=self._drawn + piece <= _PIECE)
            self._drawn += piece

    def give(self, nbytes: int) -> None:
        """Uncounts bytes that are no longer held. What was drawn for them is kept for the next."""
        with self._lock:
            self.held -= nbytes

    def close(self) -> None:
        """Returns everything to the process. What a late thread of the query still takes is not drawn any more."""
        with self._lock:
            drawn, self._drawn, self._closed = self._drawn, 0, True
        if drawn:
            self._memory.put_back(drawn)

    def __del__(self) -> None:
        # Its owner may have had no place to close it.
        if self._drawn:
            self.close()


@dataclass(eq=False, slots=True)
class Lent:
    """A query's budget for the time of a block."""

    _query: Holder
    _budget: Budget
    _before: Budget = field(init=False)
    _around: Flag | None = field(init=False)

    def __enter__(self) -> None:
        self._before, self._query.budget = self._query.budget, self._budget
        self._around = RUNNING.get()
        RUNNING.set(self._query)

    def __exit__(self, _: object, failure: BaseException | None, __: object) -> None:
        RUNNING.set(self._around)
        self._query.budget = self._before
        self._budget.close()
        if failure is not None:
            emptied(failure)


_APART = Memory()
# One query's share is all that bounds a query which runs beside a pool.
_APART.total = sys.maxsize


class Held:
    """Bytes of one growing thing, as a context: given back where the work on it ends."""

    __slots__ = ("_budget", "nbytes")

    def __init__(self, budget: Budget, nbytes: int = 0) -> None:
        self._budget = budget
        self.nbytes = 0
        if nbytes:
            self.grow(nbytes)

    def grow(self, nbytes: int) -> None:
        if nbytes:
            self._budget.take(nbytes)
            self.nbytes += nbytes

    def become(self, nbytes: int) -> None:
        """Takes or gives what it differs by."""
        if nbytes > self.nbytes:
            self._budget.take(nbytes - self.nbytes)
        elif nbytes < self.nbytes:
            self._budget.give(self.nbytes - nbytes)
        self.nbytes = nbytes

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        self.become(0)
