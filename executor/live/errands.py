"""Work that the hub has the pool do: some at once, the rest when that is done, in turn for those who want some.

The pool refuses what would wait too long among other queries. Here it waits until there is room: nobody is refused
for asking while others do.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from datalog.errors import AdalogError, Code
from executor.bounds.cancel import Cancel
from executor.bounds.client import ASKING, Client
from executor.live.holding import FullError
from executor.pool import Pool

T = TypeVar("T")

# Errands that are in the pool at once.
_AT_ONCE: Final = 16
# Seconds after which the pool is asked again when it had no place.
_AGAIN_SECONDS: Final = 0.05


@dataclass(eq=False, slots=True)
class Errand(Generic[T]):
    """`done` is called on the hub's thread with what the work gave, or why it gave nothing. `cost`: what is known
    of it, in the planner's measure."""

    client: Client
    work: Callable[[Cancel], T]
    done: Callable[[T | None, BaseException | None], None]
    cost: float = 0.0
    cancel: Cancel | None = None
    # When the pool is no longer asked again.
    until: float = 0.0
    dropped: bool = False

    def drop(self) -> None:
        """Nobody wants it any more; `done` is not called."""
        self.dropped = True
        if self.cancel is not None:
            self.cancel.cancel()


class Errands:
    """Belongs to the hub's thread. `post`: has something done there, from any thread."""

    def __init__(self, pool: Pool, post: Callable[[Callable[[], None]], None], timeout_ms: int) -> None:
        self._pool = pool
        self._post = post
        self._timeout_ms = timeout_ms
        # By principal, who is next first.
        self._waiting: OrderedDict[str, deque[Errand[Any]]] = OrderedDict()
        self._out = 0
        # When the pool is asked again, if it had no place.
        self.again_at: float | None = None

    def send(self, errand: Errand[Any], *, first: bool = False) -> None:
        """Has it done. `first`: before all others of the same principal."""
        own = self._waiting.setdefault(errand.client.principal, deque())
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
        while self._out < _AT_ONCE and self._waiting and self.again_at is None:
            principal, own = next(iter(self._waiting.items()))
            errand = own.popleft()
            if own:
                self._waiting.move_to_end(principal)
            else:
                del self._waiting[principal]
            if not errand.dropped:
                self._submit(errand)

    def _submit(self, errand: Errand[Any]) -> None:
        errand.cancel = cancel = Cancel.after(self._timeout_ms)
        errand.until = errand.until or time.monotonic() + self._timeout_ms / 1000
        ASKING.set(errand.client)
        self._out += 1
        try:
            future = self._pool.submit(cancel, errand.work, errand.cost)
        except AdalogError as error:
            self._back(errand, None, error)
            return
        future.add_done_callback(lambda done: self._post(lambda: self._returned(errand, done)))

    def _returned(self, errand: Errand[Any], done: Future[Any]) -> None:
        if done.cancelled():
            self._back(errand, None, CancelledError())
        else:
            error = done.exception()
            self._back(errand, None if error is not None else done.result(), error)
        self._fill()

    def _back(self, errand: Errand[Any], result: Any, error: BaseException | None) -> None:
        self._out -= 1
        errand.cancel = None
        if errand.dropped:
            return
        refused = isinstance(error, AdalogError) and error.code is Code.RATE_LIMITED
        if refused and not isinstance(error, FullError) and time.monotonic() < errand.until:
            self.again_at = time.monotonic() + _AGAIN_SECONDS
            self.send(errand, first=True)
            return
        errand.done(result, error)
