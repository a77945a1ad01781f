"""What other threads finish, handed to an event loop: whatever comes together wakes it once.

A group of transactions is answered at one moment. A wake-up for each of them would cost the loop, and the thread
that answers, more than the answers do.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections import deque
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class ThreadResults:
    """Results of other threads for one event loop, of which it holds no reference."""

    def __init__(self) -> None:
        self._finished: deque[tuple[asyncio.Future[Any], concurrent.futures.Future[Any]]] = deque()
        self._is_told = False

    def of(self, work: concurrent.futures.Future[T]) -> asyncio.Future[T]:
        """The outcome of work on another thread. Cancelling the wait does not cancel the work."""
        waiting: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        work.add_done_callback(lambda done: self._finish(waiting, done))
        return waiting

    def _finish(self, waiting: asyncio.Future[Any], done: concurrent.futures.Future[Any]) -> None:
        """On any thread."""
        self._finished.append((waiting, done))
        if not self._is_told:
            self._is_told = True
            try:
                waiting.get_loop().call_soon_threadsafe(self._hand_over)
            except RuntimeError:
                # The loop is closed.
                self._finished.clear()

    def _hand_over(self) -> None:
        # A thread that finishes from here on wakes the loop again, as it may come too late for this round.
        self._is_told = False
        while self._finished:
            waiting, done = self._finished.popleft()
            if waiting.done():
                continue
            if done.cancelled():
                waiting.cancel()
                continue
            error = done.exception()
            if error is None:
                waiting.set_result(done.result())
            else:
                waiting.set_exception(error)


_known: WeakKeyDictionary[asyncio.AbstractEventLoop, ThreadResults] = WeakKeyDictionary()


def arrived(work: concurrent.futures.Future[T]) -> asyncio.Future[T]:
    """The outcome of work on another thread, for the event loop that runs."""
    loop = asyncio.get_running_loop()
    found = _known.get(loop)
    if found is None:
        found = _known[loop] = ThreadResults()
    return found.of(work)
