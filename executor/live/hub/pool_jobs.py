"""Work that the hub has the pool do: some at once, the rest when that is done, in turn for those who want some.

Neither first answers nor steps take all places, and no principal takes all of either: however heavy what some ask
is, the views of others go on. The pool refuses what would wait too long among other queries. Here it waits until
there is room: nobody is refused for asking while others do.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final, Generic, TypeVar

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.client import ASKING, Client
from adalog.executor.live.hub.memory import FullError
from adalog.executor.pool import Pool

_LOGGER: Final = logging.getLogger("adalog.live")

T = TypeVar("T")

# Errands that are in the pool at once, those of one purpose among them, and of one principal among those.
_AT_ONCE: Final = 16
_OF_A_PURPOSE: Final = 12
_OF_A_PRINCIPAL: Final = 8
# Seconds after which the pool is asked again when it had no place.
_AGAIN_SECONDS: Final = 0.05


class Purpose(Enum):
    """ANSWER: what a subscriber lacks before it can follow. STEP: what is new for all who follow."""

    ANSWER = auto()
    STEP = auto()


@dataclass(eq=False, slots=True)
class PoolJob(Generic[T]):
    """`done` is called on the hub's thread with what the work gave, or why it gave nothing. `cost`: what is known
    of it, in the planner's measure."""

    client: Client
    work: Callable[[Cancel], T]
    done: Callable[[T | None, BaseException | None], None]
    cost: float = 0.0
    purpose: Purpose = Purpose.ANSWER
    cancel: Cancel | None = None
    # When the pool is no longer asked again.
    until: float = 0.0
    dropped: bool = False

    def drop(self) -> None:
        """Nobody wants it any more; `done` is not called."""
        self.dropped = True
        # It may be long before its turn comes: what the work refers to need not wait for that.
        self.work = self.done = _nothing
        if self.cancel is not None:
            self.cancel.cancel()


def _nothing(*_: object) -> Any:
    """What is left of an errand that was dropped."""


class PoolJobs:
    """Belongs to the hub's thread. `post`: has something done there, from any thread."""

    def __init__(self, pool: Pool, post: Callable[[Callable[[], None]], None], timeout_ms: int) -> None:
        self._pool = pool
        self._post = post
        self._timeout_ms = timeout_ms
        # By principal, who is next first.
        self._waiting: dict[Purpose, OrderedDict[str, deque[PoolJob[Any]]]] = {
            each: OrderedDict() for each in (Purpose.STEP, Purpose.ANSWER)
        }
        self._out: Counter[tuple[Purpose, str]] = Counter()
        # When the pool is asked again, if it had no place.
        self.again_at: float | None = None

    def send(self, errand: PoolJob[Any], *, first: bool = False) -> None:
        """Has it done. `first`: before all others of the same principal."""
        own = self._waiting[errand.purpose].setdefault(errand.client.principal, deque())
        if first:
            own.appendleft(errand)
        else:
            own.append(errand)
        self._fill()

    def again(self) -> None:
        """Asks the pool once more, when it is time."""
        if self.again_at is not None and time.monotonic() >= self.again_at:
            self.again_at = None
            self._fill()

    def _fill(self) -> None:
        while self.again_at is None and (errand := self._next()) is not None:
            if not errand.dropped:
                self._submit(errand)

    def _next(self) -> PoolJob[Any] | None:
        """The errand that comes next, taken out of those that wait; None while there is no place for any."""
        if self._out.total() >= _AT_ONCE:
            return None
        for purpose, waiting in self._waiting.items():
            if sum(count for (each, _), count in self._out.items() if each is purpose) >= _OF_A_PURPOSE:
                continue
            for principal, own in waiting.items():
                if self._out[purpose, principal] < _OF_A_PRINCIPAL:
                    errand = own.popleft()
                    if own:
                        waiting.move_to_end(principal)
                    else:
                        del waiting[principal]
                    return errand
        return None

    def _submit(self, errand: PoolJob[Any]) -> None:
        errand.cancel = cancel = Cancel.after(self._timeout_ms)
        errand.until = errand.until or time.monotonic() + self._timeout_ms / 1000
        ASKING.set(errand.client)
        self._out[errand.purpose, errand.client.principal] += 1
        try:
            future = self._pool.submit(cancel, errand.work, errand.cost)
        except AdalogError as error:
            self._back(errand, None, error)
            return
        future.add_done_callback(lambda done: self._post(lambda: self._returned(errand, done)))

    def _returned(self, errand: PoolJob[Any], done: Future[Any]) -> None:
        if done.cancelled():
            self._back(errand, None, CancelledError())
        else:
            error = done.exception()
            self._back(errand, None if error is not None else done.result(), error)
        self._fill()

    def _back(self, errand: PoolJob[Any], result: Any, error: BaseException | None) -> None:
        place = (errand.purpose, errand.client.principal)
        self._out[place] -= 1
        if not self._out[place]:
            del self._out[place]
        errand.cancel = None
        if errand.dropped:
            return
        refused = isinstance(error, AdalogError) and error.code is Code.RATE_LIMITED
        if refused and not isinstance(error, FullError) and time.monotonic() < errand.until:
            self.again_at = time.monotonic() + _AGAIN_SECONDS
            self.send(errand, first=True)
            return
        try:
            errand.done(result, error)
        except Exception:
            # It is the affair of whoever sent it: the others wait for their turn.
            _LOGGER.exception("what came of the work for a live query could not be handed on")
