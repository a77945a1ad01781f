"""Work that takes a fraction of a millisecond: which it is, and its turn on the thread that asks for it.

Handing such work to another thread, and waking the asker, would cost more than the work. What turns out to be
longer stops at the end of a step, and is begun again on a thread of the pool.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Hashable
from contextlib import AbstractContextManager
from typing import Final

from adalog.executor.bounds.cancel import StartAgain
from adalog.executor.bounds.client import Client
from adalog.executor.turns.lanes import Lane

BRIEF_COST: Final = 2_000.0
"""What the planner expects of such work: less than 200 µs."""
# What such work took so far, in seconds of the processor: the planner does not know what binding and decoding cost.
_BRIEF_SECONDS: Final = 0.001
# After which it is given up here: of the processor, and where other processes have that.
_MOST_SECONDS: Final = 0.002
_PATIENCE_SECONDS: Final = 0.01
_GIVEN_UP_SECONDS: Final = 0.02
# How much of what is believed gives way to what was seen.
_FORGETS: Final = 0.3
_KEPT: Final = 4_096


class BriefTurn:
    """The turn of work that holds up the thread that asks for it: it has no place to wait in. `began`: in seconds
    of the thread."""

    waited: float = 0.0
    lane: str = Lane.LIGHT

    def __init__(self) -> None:
        now = time.monotonic()
        self.look_at = now + _MOST_SECONDS
        # What a thread has computed is dear to ask for, and cannot be more than the time that has passed.
        self.began = time.thread_time()
        self._until = self.began + _MOST_SECONDS
        self._at_last = now + _PATIENCE_SECONDS

    def look(self, now: float) -> None:
        if now > self._at_last or time.thread_time() > self._until:
            raise StartAgain
        self.look_at = now + _MOST_SECONDS / 2

    def expect(self, cost: float) -> None:
        if cost >= BRIEF_COST:
            raise StartAgain

    def away(self) -> AbstractContextManager[None]:
        raise StartAgain

    def share(self, client: Client) -> None:
        """No other client can ask for the same while it runs."""

    def cancelled(self) -> None:
        """It looks at its flag before it waits for anything."""


class BriefWork:
    """What work took lately, by a name for all that is alike. Thread-safe. What has not run yet is not brief: its
    plan is to be made, and kernels are to be loaded."""

    def __init__(self) -> None:
        self._seconds: dict[int, float] = {}
        self._lock = threading.Lock()

    def knows(self, name: Hashable, *, untried: bool = False) -> bool:
        """Whether work of this name is brief; `untried`: the answer if none has run yet."""
        # By the hash, as names are texts that may be long, and what two of them share is but a guess.
        seconds = self._seconds.get(hash(name))
        return untried if seconds is None else seconds <= _BRIEF_SECONDS

    def took(self, name: Hashable, seconds: float) -> None:
        """Takes in what work took. Once may be the machine's fault."""
        self._believe(name, min(seconds, _MOST_SECONDS))

    def gave_up(self, name: Hashable) -> None:
        """Work of this name was not brief: it is not tried again before it has been for a while."""
        self._believe(name, _GIVEN_UP_SECONDS, forgets=1.0)

    def _believe(self, name: Hashable, seconds: float, forgets: float = _FORGETS) -> None:
        key = hash(name)
        with self._lock:
            before = self._seconds.pop(key, seconds)
            self._seconds[key] = before + forgets * (seconds - before)
            while len(self._seconds) > _KEPT:
                del self._seconds[next(iter(self._seconds))]
