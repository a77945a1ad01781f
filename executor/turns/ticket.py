"""One piece of work and its slot: the link between a query under way and the scheduler.

It counts what the query computes, waits where its place is another's, and knows nothing of the others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any, Final, Generic, Protocol, TypeVar

from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel, StartAgain
from adalog.executor.bounds.client import Client
from adalog.executor.turns.lanes import Lane, LaneSlots

T = TypeVar("T")

# Seconds between two looks of a query at its turn.
_LOOK_SECONDS: Final = 0.002


class TicketState(Enum):
    WAITING = auto()
    RUNNING = auto()
    PARKED = auto()
    AWAY = auto()
    # It ends, or will start again, and holds no place on its way there.
    LEAVING = auto()


class SlotOwner(Protocol):
    """The scheduler, as tickets see it; it says what its methods do."""

    places: LaneSlots

    def looked(self, ticket: Ticket[Any], used: float, now: float) -> None: ...
    def expected_heavy(self, ticket: Ticket[Any]) -> None: ...
    def went(self, ticket: Ticket[Any]) -> bool: ...
    def came_back(self, ticket: Ticket[Any]) -> None: ...
    def forget(self, ticket: Ticket[Any]) -> None: ...
    def leave(self, ticket: Ticket[Any]) -> None: ...
    def share(self, ticket: Ticket[Any], client: Client) -> None: ...


class Ticket(Generic[T]):
    """One piece of work and its turn. `future`: its outcome. `waited`: the seconds that it did not run."""

    def __init__(self, office: SlotOwner, cancel: Cancel, work: Callable[[Cancel], T], client: Client) -> None:
        self.cancel = cancel
        self.work = work
        self.future: Future[T] = Future()
        self.lane: Lane = Lane.LIGHT
        self.waited = 0.0
        self.look_at = 0.0
        self.client = client
        self.state = TicketState.WAITING
        # Beyond the lane's slots, because it was moved there without one.
        self.surplus = False
        # Heavy against expectation, and without a heavy place since: it may be about to end.
        self.surprising = False
        # The moment of its last change between waiting and running.
        self.since = time.monotonic()
        self.held = 0.0
        # Set while it is parked, and again when that ends.
        self.granted: threading.Event | None = None
        self._office = office
        self._used = 0.0
        self._seen: dict[int, float] = {}

    # As Cancel sees it

    def look(self, now: float) -> None:
        """Counts what the query has computed, and waits where its place is another's now."""
        self.look_at = now + _LOOK_SECONDS
        if self.state is TicketState.RUNNING:
            self._count()
            self._office.looked(self, self._used, now)
        self._stand_by()

    def expect(self, cost: float) -> None:
        """Sends the query to the heavy lane where it is expected to be heavy, before it has cost anything."""
        if cost >= self._office.places.cost:
            self._office.expected_heavy(self)
            self._stand_by()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Gives the place to others while the block computes elsewhere."""
        left = self._office.went(self)
        try:
            yield
        finally:
            if left:
                self._office.came_back(self)
        if left:
            self._stand_by()

    def cancelled(self) -> None:
        """Ends its waiting."""
        self._office.forget(self)

    def share(self, client: Client) -> None:
        """Lets it wait for one more client, whose turn may come before that of the first."""
        self._office.share(self, client)

    # As the scheduler sees it

    def begin(self) -> None:
        """Counts from now on what this thread computes."""
        self._seen = {threading.get_ident(): time.thread_time()}
        self._used = 0.0
        self.look_at = self.since + _LOOK_SECONDS

    def refuse(self, error: AdalogError) -> None:
        """Ends it before it has begun."""
        if self.future.running() or self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)

    def _count(self) -> None:
        thread, now = threading.get_ident(), time.thread_time()
        before = self._seen.get(thread, 0.0)
        self._seen[thread] = now
        # A thread that began since the last look may bear the name of one that ended.
        self._used += now - before if now >= before else now

    def _stand_by(self) -> None:
        while self.state in (TicketState.PARKED, TicketState.LEAVING):
            if self.state is TicketState.LEAVING:
                self.cancel.check_flag(time.monotonic())
                raise StartAgain
            now = time.monotonic()
            try:
                # It may have been cancelled while it was about to be parked.
                self.cancel.check_flag(now)
            except AdalogError:
                self._office.leave(self)
                raise
            deadline = self.cancel.deadline
            assert self.granted is not None, "what is parked has its event"
            self.granted.wait(None if deadline is None else max(0.0, deadline - now))
