"""What a running query looks at between chunks: a cancel flag, a deadline, the bytes it may hold, and its turn."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, Protocol

from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.executor.bounds.budget import Budget
from adalog.executor.bounds.client import Client
from adalog.executor.bounds.meter import Charge


class StartAgain(BaseException):
    """Ends work that will be begun again from its start, once there is a place for it. Not to be caught."""


class CancelledByAdminError(AdalogError):
    """Unlike a client that goes away, an admin ends a query for all requests that share it."""


class Turn(Protocol):
    """A query's place among others. `look_at`: the time from which on it is worth a look. `waited`: the seconds so
    far in which it did not run; `lane`: what it waits among."""

    look_at: float
    waited: float

    @property
    def lane(self) -> str: ...

    def look(self, now: float) -> None:
        """Waits here while others go first."""

    def expect(self, cost: float) -> None:
        """Takes the planner's word for how heavy the query is, before it costs anything."""

    def away(self) -> AbstractContextManager[None]:
        """For the time of the block the query computes elsewhere and needs no place."""

    def share(self, client: Client) -> None:
        """Lets it wait for one more client, whose turn may come before the first one's."""

    def cancelled(self) -> None:
        """Ends its waiting."""


class Cancel:
    """`deadline` in seconds of `time.monotonic()`, or None. `budget`: the bytes that the query may hold. `turn`:
    set while the query runs among others; `charge`: where what it costs is counted, if it is. `text`: of the query,
    empty for other work. `is_brief`: what may take long is to be begun again elsewhere, by StartAgain."""

    is_brief: ClassVar[bool] = False

    def __init__(self, deadline: float | None = None, budget: Budget | None = None, text: str = "") -> None:
        self.deadline = deadline
        self.text = text
        self.turn: Turn | None = None
        self.charge: Charge | None = None
        self.budget = budget or Budget()
        self._cancelled: AdalogError | None = None

    @staticmethod
    def after(timeout_ms: int | None, text: str = "") -> Cancel:
        """A flag whose deadline is so many milliseconds from now."""
        return Cancel(None if timeout_ms is None else time.monotonic() + timeout_ms / 1000, text=text)

    @property
    def left_ms(self) -> int | None:
        """The whole milliseconds before the deadline, at least one."""
        return None if self.deadline is None else max(1, int((self.deadline - time.monotonic()) * 1000))

    @property
    def waited(self) -> float:
        """The seconds so far in which the query waited for its turn."""
        return 0.0 if self.turn is None else self.turn.waited

    @property
    def lane(self) -> str | None:
        """What the query waits and runs among, if it does."""
        return None if self.turn is None else self.turn.lane

    @property
    def reason(self) -> AdalogError:
        """What work that was given up is answered."""
        return self._cancelled or AdalogError(Code.CANCELLED, "the query was cancelled")

    def cancel(self, why: AdalogError | None = None) -> None:
        """Makes the next check raise `why`, or CANCELLED. Safe from any thread."""
        self._cancelled = why or self.reason
        if self.turn is not None:
            self.turn.cancelled()

    def check(self) -> None:
        """Raises its reason, or TIMEOUT, when the query should stop; lets others go first when it is their turn."""
        now = time.monotonic()
        self.check_flag(now)
        turn = self.turn
        if turn is not None and now >= turn.look_at:
            turn.look(now)

    def check_flag(self, now: float) -> None:
        """Raises what it was cancelled with, or TIMEOUT, when the query should stop."""
        if self._cancelled is not None:
            why = self._cancelled
            raise type(why)(why.code, why.message, retryable=why.retryable)
        if self.deadline is not None and now > self.deadline:
            raise timed_out()

    def expect(self, cost: float) -> None:
        """Says how much work the planner expects, before any of it is done."""
        if self.turn is not None:
            self.turn.expect(cost)

    def will_cost(self, units: float) -> None:
        """Has the client charged with what the query will probably cost. Raises RATE_LIMITED if it may not."""
        if self.charge is not None:
            self.charge.expect(units)

    def away(self) -> AbstractContextManager[None]:
        """For the time of the block the query computes elsewhere and needs no place here."""
        return nullcontext() if self.turn is None else self.turn.away()


class Part(Cancel):
    """A flag for a part of some work, with a deadline of its own."""

    def __init__(self, whole: Cancel, deadline: float | None) -> None:
        super().__init__(deadline)
        self._whole = whole

    def check(self) -> None:
        super().check_flag(time.monotonic())
        self._whole.check()

    def check_flag(self, now: float) -> None:
        super().check_flag(now)
        self._whole.check_flag(now)

    def expect(self, cost: float) -> None:
        self._whole.expect(cost)


async def arrived(outcome: Future[Any], deadline: float | None) -> bool:
    """Whether the outcome of other threads is there, once it is or the deadline has passed; cancelling it, too, is
    an outcome. Costs a part of `asyncio.wait`, which takes the loop round twice more."""
    if outcome.done():
        return True
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()

    def wake() -> None:
        if not waiter.done():
            waiter.set_result(None)

    def wake_soon(_: Future[Any]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(wake)

    outcome.add_done_callback(wake_soon)
    timer = None
    if deadline is not None:
        timer = loop.call_later(max(0.0, deadline - time.monotonic()), wake)
    try:
        await waiter
    finally:
        if timer is not None:
            timer.cancel()
    return outcome.done()


def abandoned(outcome: asyncio.Future[Any]) -> None:
    """Cancels an outcome that is no longer wanted. asyncio would log a failure that was not looked at, such as one
    that a task answers its cancellation with."""
    if outcome.cancel() and not outcome.done():
        outcome.add_done_callback(_looked_at)
    else:
        _looked_at(outcome)


def _looked_at(outcome: asyncio.Future[Any]) -> None:
    if not outcome.cancelled():
        outcome.exception()


def timed_out() -> AdalogError:
    """What a query that passes its deadline is answered."""
    return AdalogError(
        Code.TIMEOUT, "the query did not finish within its timeout; narrow it, or allow it more time"
    )


def stopping() -> AdalogError:
    """The error of a request to a server that is shutting down."""
    return unavailable("the server is shutting down; ask again in a moment")
