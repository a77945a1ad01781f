"""The memory of live queries: views, unread snapshots, mailboxes."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from adalog.datalog.errors import AdalogError, Code, limit_exceeded
from adalog.executor.bounds.other_processes import NO_OTHERS
from adalog.executor.follow.view import LiveView
from adalog.executor.live.subscribers.event import Message
from adalog.store.snapshot.snapshot import Snapshot


class FullError(AdalogError):
    """RATE_LIMITED because other live queries hold the memory, however long: a retry at once is useless."""


class LiveMemory:
    """Bytes that may be held together. Thread-safe. `held`: in this process. `beside`: in others."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.share = total // 2
        self.held = 0
        self.beside = NO_OTHERS
        self._lock = threading.Lock()

    def draw(self, nbytes: int, *, always: bool = False) -> bool:
        """Takes or gives back bytes; whether there was room for them. `always`: even beyond."""
        with self._lock:
            if nbytes > 0 and not always and self.held + self.beside.others() + nbytes > self.total:
                return False
            self.held += nbytes
            self.beside.tell(self.held)
            return True


class MemoryShare:
    """Bytes of one thing, released with it."""

    __slots__ = ("_of", "nbytes")

    def __init__(self, of: LiveMemory, nbytes: int = 0) -> None:
        self._of = of
        self.nbytes = 0
        self.become(nbytes)

    def become(self, nbytes: int) -> None:
        """Takes or releases the difference. Raises LIMIT_EXCEEDED for more than half of the total, and RATE_LIMITED
        if other live queries hold it."""
        if nbytes > self._of.share:
            setting = "the setting ADALOG_LIVE_BYTES moves this limit"
            sizes = f"the live query would hold {nbytes:,} bytes, and one may hold {self._of.share:,}"
            raise limit_exceeded(f"{sizes}; narrow it; {setting}")
        if not self._of.draw(nbytes - self.nbytes):
            message = "other live queries hold the memory that this one needs; try again shortly"
            raise FullError(Code.RATE_LIMITED, message, retry_after=1)
        self.nbytes = nbytes

    def __del__(self) -> None:
        if self.nbytes:
            self._of.draw(-self.nbytes)


@dataclass(eq=False, slots=True, weakref_slot=True)
class SnapshotChunks:
    """A snapshot in one form for all subscribers that begin at its moment, counted until all have read it."""

    messages: list[Message]
    holding: MemoryShare


@dataclass(slots=True)
class PrivateView:
    """The view of one subscriber that catches up, at a moment."""

    view: LiveView
    at: Snapshot
    holding: MemoryShare
