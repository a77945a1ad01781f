"""Jobs that the hub gives the pool: some at once, the rest in turn as those end.

Neither first answers nor steps take all slots, and no principal takes all of either, so that heavy queries of one
principal do not stop the views of others. The pool refuses a job that would wait too long among other queries. Such
a job waits here until there is room: no job is refused because other principals have jobs.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any, Final, Generic, TypeVar

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.client import ASKING, Client
from adalog.executor.live.hub.memory import FullError
from adalog.executor.live.hub.principal_queue import PrincipalQueue
from adalog.executor.pool import Pool

_LOGGER: Final = logging.getLogger("adalog.live")

T = TypeVar("T")

# Jobs that are in the pool at once, those of one purpose among them, and of one principal among those.
_AT_ONCE: Final = 16
_OF_A_PURPOSE: Final = 12
_OF_A_PRINCIPAL: Final = 8
# Seconds before the pool is tried again after it refused a job.
_AGAIN_SECONDS: Final = 0.05


class Purpose(Enum):
    """ANSWER: messages for one subscriber. STEP: messages for all subscribers of a view or of the log."""

    ANSWER = auto()
    STEP = auto()


@dataclass(eq=False, slots=True)
class PoolJob(Generic[T]):
    """Belongs to the hub's thread. `done` is called there with the outcome of the work, or with its error. `cost`:
    the planner's estimate."""

    client: Client
    work: Callable[[Cancel], T]
    done: Callable[[T | None, BaseException | None], None]
    cost: float = 0.0
    purpose: Purpose = Purpose.ANSWER
    cancel: Cancel | None = None
    # When the job is no longer submitted again.
    until: float = 0.0
    dropped: bool = False

    def drop(self) -> None:
        self.dropped = True
        # Its turn may come late: what the work refers to is released now.
        self.work = self.done = _nothing
        if self.cancel is not None:
            self.cancel.cancel()


def _nothing(*_: object) -> Any:
    """The work of a job that was dropped."""


class PoolJobs:
    """Belongs to the hub's thread. `post`: runs something there, from any thread."""

    def __init__(self, pool: Pool, post: Callable[[Callable[[], None]], None], timeout_ms: int) -> None:
        self._pool = pool
        self._post = post
        self._timeout_ms = timeout_ms
        self._waiting: dict[Purpose, PrincipalQueue[PoolJob[Any]]] = {
            each: PrincipalQueue() for each in (Purpose.STEP, Purpose.ANSWER)
        }
        self._out: Counter[tuple[Purpose, str]] = Counter()
        # When the pool is tried again after it refused a job.
        self.again_at: float | None = None

    def send(self, job: PoolJob[Any], *, first: bool = False) -> None:
        """Queues a job. `first`: before all others of the same principal."""
        self._waiting[job.purpose].add(job.client.principal, job, first=first)
        self._fill()

    def again(self) -> None:
        if self.again_at is not None and time.monotonic() >= self.again_at:
            self.again_at = None
            self._fill()

    def _fill(self) -> None:
        while self.again_at is None and (job := self._next()) is not None:
            if not job.dropped:
                self._submit(job)

    def _next(self) -> PoolJob[Any] | None:
        """Takes the next job; None while there is no slot for any."""
        if self._out.total() >= _AT_ONCE:
            return None
        for purpose, waiting in self._waiting.items():
            if sum(count for (each, _), count in self._out.items() if each is purpose) >= _OF_A_PURPOSE:
                continue
            job = waiting.next(partial(self._has_slot, purpose))
            if job is not None:
                return job
        return None

    def _has_slot(self, purpose: Purpose, principal: str) -> bool:
        return self._out[purpose, principal] < _OF_A_PRINCIPAL

    def _submit(self, job: PoolJob[Any]) -> None:
        job.cancel = cancel = Cancel.after(self._timeout_ms)
        job.until = job.until or time.monotonic() + self._timeout_ms / 1000
        ASKING.set(job.client)
        self._out[job.purpose, job.client.principal] += 1
        try:
            future = self._pool.submit(cancel, job.work, job.cost)
        except AdalogError as error:
            self._back(job, None, error)
            return
        future.add_done_callback(lambda done: self._post(lambda: self._returned(job, done)))

    def _returned(self, job: PoolJob[Any], done: Future[Any]) -> None:
        if done.cancelled():
            self._back(job, None, CancelledError())
        else:
            error = done.exception()
            self._back(job, None if error is not None else done.result(), error)
        self._fill()

    def _back(self, job: PoolJob[Any], result: Any, error: BaseException | None) -> None:
        slot = (job.purpose, job.client.principal)
        self._out[slot] -= 1
        if not self._out[slot]:
            del self._out[slot]
        job.cancel = None
        if job.dropped:
            return
        refused = isinstance(error, AdalogError) and error.code is Code.RATE_LIMITED
        if refused and not isinstance(error, FullError) and time.monotonic() < job.until:
            self.again_at = time.monotonic() + _AGAIN_SECONDS
            self.send(job, first=True)
            return
        try:
            job.done(result, error)
        except Exception:
            # The other jobs go on.
            _LOGGER.exception("the outcome of a job for a live query could not be handled")
