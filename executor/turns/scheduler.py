"""The scheduler: a lane of slots for light work, one for heavy work, and fairness within each.

Every query begins in the light lane. A query that the planner expects to be heavy, or that has computed longer than
light work does, goes to the heavy lane. If no heavy slot is free, it pauses there and keeps its intermediate
results; if too many do that already, it is given up and begun again later. A heavy query yields its slot, between
two chunks, to a client that has fewer. The scheduler knows no queries, only tickets (`executor.turns.ticket`).
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, TypeVar

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel, StartAgain, stopping
from adalog.executor.bounds.client import Client
from adalog.executor.turns.fair_queue import FairQueue
from adalog.executor.turns.lanes import Lane, LaneFigures, LaneSlots, SchedulerFigures
from adalog.executor.turns.threads import Threads
from adalog.executor.turns.ticket import Ticket, TicketState

T = TypeVar("T")

# How much longer a principal keeps its only place from one that has none.
_LAST_QUANTA: Final = 4
# Slices of computing that a query may have before it is heavy, if no other waits.
_UNHURRIED_SLICES: Final = 5
# What the mean of recent service times forgets with each new one.
_FORGETS: Final = 0.2


class Scheduler:
    """Thread-safe; `close` ends its threads."""

    def __init__(self, places: LaneSlots) -> None:
        self.places = places
        self._lock = threading.Lock()
        self._threads: Threads[Ticket[Any]] = Threads(self._lock, self._do, self._watch)
        self._queues: dict[Lane, FairQueue[Ticket[Any]]] = {lane: FairQueue() for lane in Lane}
        self._running: dict[Lane, set[Ticket[Any]]] = {lane: set() for lane in Lane}
        self._most = {Lane.LIGHT: max(1, places.light), Lane.HEAVY: max(1, places.heavy)}
        self._lanes = {lane: LaneFigures() for lane in Lane}
        self._moves = {"expected": 0, "demoted": 0, "overdue": 0, "preempted": 0, "restarted": 0, "away": 0}
        self._parked = 0
        self._away = 0
        self._closed = False

    def submit(self, cancel: Cancel, work: Callable[[Cancel], T], client: Client, cost: float = 0.0) -> Ticket[T]:
        """Work to be run as soon as there is a place for it, in the heavy lane if its cost is known to be high. It
        may be begun more than once, and is to have no effect but its outcome. Raises RATE_LIMITED where it would
        come too late, or too many wait."""
        ticket = Ticket(self, cancel, work, client)
        cancel.turn = ticket
        lane = Lane.HEAVY if cost >= self.places.cost else Lane.LIGHT
        with self._lock:
            if self._closed:
                raise stopping()
            if lane is Lane.HEAVY:
                self._moves["expected"] += 1
            evicted = self._admit(ticket, lane)
        if evicted is not None:
            evicted.refuse(self._too_many(lane))
        return ticket

    def may_run_brief(self) -> bool:
        """Whether brief work of any client would get a light slot now, and wait for nobody."""
        with self._lock:
            if self._closed:
                raise stopping()
            return not self._queues[Lane.LIGHT] and len(self._running[Lane.LIGHT]) < self._most[Lane.LIGHT]

    def ran_brief(self, client: Client, seconds: float) -> None:
        """Counts light work that another thread did at once."""
        with self._lock:
            self._lanes[Lane.LIGHT].started += 1
            self._queues[Lane.LIGHT].used(client, seconds)

    def close(self) -> None:
        """Takes no more work; what has begun is finished."""
        with self._lock:
            self._closed = True
            waiting = [each for lane in self._queues.values() for each in lane if each.state is TicketState.WAITING]
            for ticket in waiting:
                self._queues[ticket.lane].remove(ticket)
                ticket.state = TicketState.LEAVING
            self._threads.end()
        for ticket in waiting:
            ticket.refuse(stopping())
        self._threads.join()

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    @property
    def running(self) -> int:
        """The queries that have a slot, in all lanes, or compute elsewhere."""
        return self._away + sum(map(len, self._running.values()))

    def figures(self) -> SchedulerFigures:
        with self._lock:
            return SchedulerFigures(
                {lane: len(self._running[lane]) for lane in Lane},
                {lane: len(self._queues[lane]) for lane in Lane},
                {lane: LaneFigures(*vars(each).values()) for lane, each in self._lanes.items()},
                dict(self._moves),
            )

    # What tickets say

    def looked(self, ticket: Ticket[Any], used: float, now: float) -> None:
        """A query that runs has computed for so long."""
        places = self.places
        if ticket.lane is Lane.LIGHT:
            slices = 1 if self._queues[Lane.LIGHT] else _UNHURRIED_SLICES
            if used > slices * places.slice_seconds:
                self._demote(ticket, "demoted")
        elif ticket.surplus or (self._queues[Lane.HEAVY] and now - ticket.since > places.quantum_seconds):
            with self._lock:
                if ticket.state is TicketState.RUNNING:
                    self._make_way(ticket)

    def expected_heavy(self, ticket: Ticket[Any]) -> None:
        """The planner expects a query to be heavy."""
        if ticket.lane is Lane.LIGHT:
            self._demote(ticket, "expected")

    def went(self, ticket: Ticket[Any]) -> bool:
        """A query computes elsewhere; whether others have its place."""
        with self._lock:
            if ticket.state is not TicketState.RUNNING or self._away >= self.places.away:
                return False
            self._give(ticket)
            ticket.state = TicketState.AWAY
            self._away += 1
            self._moves["away"] += 1
            return True

    def came_back(self, ticket: Ticket[Any]) -> None:
        with self._lock:
            self._away -= 1
            # What it did there was no waiting.
            ticket.since = time.monotonic()
            ticket.lane = Lane.HEAVY
            self._park(ticket)
            self._fill(Lane.HEAVY)

    def forget(self, ticket: Ticket[Any]) -> None:
        with self._lock:
            waiting = ticket.state is TicketState.WAITING
            if waiting:
                ticket.state = TicketState.LEAVING
                self._queues[ticket.lane].remove(ticket)
            if ticket.granted is not None:
                ticket.granted.set()
        if waiting and not ticket.future.cancel():
            ticket.refuse(ticket.cancel.reason)

    def leave(self, ticket: Ticket[Any]) -> None:
        """A query that was parked ends."""
        with self._lock:
            if ticket.state is TicketState.PARKED:
                self._unpark(ticket)

    def share(self, ticket: Ticket[Any], client: Client) -> None:
        """One more client waits for it."""
        with self._lock:
            if ticket.state in (TicketState.WAITING, TicketState.PARKED):
                self._queues[ticket.lane].add(ticket, client)

    def ended(self, ticket: Ticket[Any]) -> None:
        with self._lock:
            lane = self._lanes[ticket.lane]
            if ticket.state is TicketState.RUNNING:
                self._give(ticket)
            elif ticket.state is TicketState.PARKED:
                self._unpark(ticket)
            ticket.state = TicketState.LEAVING
            lane.service += (ticket.held - lane.service) * (_FORGETS if lane.service else 1.0)

    # The rest is done with the lock held

    def _admit(self, ticket: Ticket[Any], lane: Lane) -> Ticket[Any] | None:
        """Starts it or lets it wait; returns another that lost its place in the queue to it. Raises RATE_LIMITED
        where it has to be refused."""
        ticket.lane, ticket.state = lane, TicketState.WAITING
        if not self._queues[lane] and len(self._running[lane]) < self._most[lane]:
            self._start(ticket, ticket.client)
            return None
        self._check_in_time(ticket)
        evicted = self._evicted(ticket) if self.waiting >= self.places.waiting else None
        self._queues[lane].add(ticket, ticket.client, soon=ticket.surprising)
        if lane is Lane.LIGHT:
            # A thread has to watch that light slots are not kept for long.
            self._threads.hand(None)
        return evicted

    def _check_in_time(self, ticket: Ticket[Any]) -> None:
        deadline = ticket.cancel.deadline
        if deadline is None:
            return
        expected = self._expected(ticket.lane, self._queues[ticket.lane].ahead_of(ticket.client))
        if time.monotonic() + expected > deadline:
            self._lanes[ticket.lane].refused += 1
            message = "the query would have to wait longer than its timeout allows; try again later"
            raise _rate_limited(message, expected)

    def _expected(self, lane: Lane, number: int) -> float:
        """The seconds before so many will have been given a place."""
        return number * self._lanes[lane].service / self._most[lane]

    def _evicted(self, ticket: Ticket[Any]) -> Ticket[Any] | None:
        """The ticket to refuse if too many wait: the last of the principal with most. Raises if it is this one."""
        counts: Counter[str] = Counter()
        for each in self._queues.values():
            counts.update(each.waiting_by_principal())
        most = max(counts, key=lambda name: counts[name], default="")
        if counts[most] > counts[ticket.client.principal] + 1:
            for lane in (Lane.HEAVY, Lane.LIGHT):
                for other in self._queues[lane].newest_first(most):
                    if other.state is TicketState.WAITING:
                        self._queues[lane].remove(other)
                        other.state = TicketState.LEAVING
                        self._lanes[lane].refused += 1
                        return other
        self._lanes[ticket.lane].refused += 1
        raise self._too_many(ticket.lane)

    def _too_many(self, lane: Lane) -> AdalogError:
        message = f"{self.places.waiting} queries are waiting already; try again shortly"
        return _rate_limited(message, self._expected(lane, len(self._queues[lane])))

    def _start(self, ticket: Ticket[Any], client: Client) -> None:
        now = time.monotonic()
        lane = ticket.lane
        figures = self._lanes[lane]
        figures.started += 1
        figures.waited += now - ticket.since
        ticket.waited += now - ticket.since
        ticket.since, ticket.client, ticket.surplus, ticket.surprising = now, client, False, False
        parked, ticket.state = ticket.state is TicketState.PARKED, TicketState.RUNNING
        self._running[lane].add(ticket)
        self._queues[lane].took(client)
        if parked:
            self._parked -= 1
            assert ticket.granted is not None, "what is parked has its event"
            ticket.granted.set()
        else:
            self._threads.hand(ticket)

    def _give(self, ticket: Ticket[Any]) -> None:
        """Its place is for others now."""
        now = time.monotonic()
        lane = ticket.lane
        seconds, ticket.since = now - ticket.since, now
        ticket.held += seconds
        self._running[lane].discard(ticket)
        self._queues[lane].gave(ticket.client, seconds)
        self._fill(lane)

    def _fill(self, lane: Lane) -> None:
        waiting, running = self._queues[lane], self._running[lane]
        while len(running) < self._most[lane]:
            picked = waiting.pick()
            if picked is None:
                return
            waiting.remove(picked[0])
            self._start(*picked)

    def _park(self, ticket: Ticket[Any], *, first: bool = False) -> None:
        ticket.granted = threading.Event()
        ticket.state = TicketState.PARKED
        self._parked += 1
        self._queues[ticket.lane].add(ticket, ticket.client, first=first, soon=ticket.surprising)

    def _unpark(self, ticket: Ticket[Any]) -> None:
        """It ends without a place."""
        self._queues[ticket.lane].remove(ticket)
        self._parked -= 1
        ticket.state = TicketState.LEAVING

    def _demote(self, ticket: Ticket[Any], why: str) -> None:
        with self._lock:
            if ticket.state is not TicketState.RUNNING or ticket.lane is not Lane.LIGHT:
                return
            self._moves[why] += 1
            self._give(ticket)
            ticket.lane, ticket.held = Lane.HEAVY, 0.0
            heavy = self._queues[Lane.HEAVY]
            if not heavy and len(self._running[Lane.HEAVY]) < self._most[Lane.HEAVY]:
                ticket.state = TicketState.WAITING
                self._running[Lane.HEAVY].add(ticket)
                heavy.took(ticket.client)
                ticket.state = TicketState.RUNNING
                self._lanes[Lane.HEAVY].started += 1
                return
            ticket.state = TicketState.LEAVING
            ticket.surprising = why == "demoted"
            if not ticket.surprising:
                self._check_in_time(ticket)
            # What has computed nothing yet has nothing to lose.
            if why != "expected" and self._parked < self.places.begun:
                self._park(ticket)

    def _make_way(self, ticket: Ticket[Any]) -> None:
        """Where there are too few places, or another's turn has come, a heavy query waits again."""
        heavy, running = self._queues[Lane.HEAVY], self._running[Lane.HEAVY]
        if ticket.surplus:
            ticket.surplus = len(running) > self._most[Lane.HEAVY]
            if ticket.surplus and self._parked < self.places.begun:
                self._park(ticket)
                self._give(ticket)
            return
        picked = heavy.pick()
        if picked is None:
            return
        if not (picked[0].surprising and picked[1].principal == ticket.client.principal):
            lead = heavy.lead(ticket.client, picked[1])
            patience = _LAST_QUANTA * self.places.quantum_seconds if lead == 1 else 0.0
            if lead <= 0 or time.monotonic() - ticket.since < patience:
                return
        if picked[0].state is TicketState.PARKED or self._parked < self.places.begun:
            self._moves["preempted"] += 1
            heavy.remove(picked[0])
            # No other ticket may get the slot in between.
            self._start(*picked)
            self._park(ticket, first=True)
            self._give(ticket)

    def _watch(self) -> float | None:
        """Counts light queries that have kept a place too long, without a look, as heavy. Returns the seconds
        before the next one may have."""
        if not self._queues[Lane.LIGHT]:
            return None
        now, patience = time.monotonic(), 2 * self.places.slice_seconds
        room = self._most[Lane.HEAVY] + self.places.begun - len(self._running[Lane.HEAVY])
        for ticket in sorted(self._running[Lane.LIGHT], key=lambda each: each.since):
            if now - ticket.since < patience or room <= 0:
                break
            room -= 1
            self._moves["overdue"] += 1
            since = ticket.since
            self._running[Lane.LIGHT].discard(ticket)
            self._queues[Lane.LIGHT].gave(ticket.client, now - since)
            ticket.lane, ticket.surplus = Lane.HEAVY, True
            self._running[Lane.HEAVY].add(ticket)
            self._queues[Lane.HEAVY].took(ticket.client)
        self._fill(Lane.LIGHT)
        if not self._queues[Lane.LIGHT]:
            return None
        oldest = min((each.since for each in self._running[Lane.LIGHT]), default=now)
        return max(oldest + patience - now, 0.001)

    # On the threads

    def _do(self, ticket: Ticket[Any]) -> None:
        future = ticket.future
        if not future.running() and not future.set_running_or_notify_cancel():
            self.ended(ticket)
        elif not self._done(ticket):
            self._again(ticket)
        # This frame is behind those of a failure's traceback, and keeps what it refers to.
        del future, ticket

    def _done(self, ticket: Ticket[Any]) -> bool:
        """Does the work; False where it has to be begun again."""
        ticket.begin()
        outcome, failure = None, None
        try:
            outcome = ticket.work(ticket.cancel)
        except StartAgain:
            return False
        except BaseException as error:  # noqa: BLE001 - it is the future's
            failure = error
        self.ended(ticket)
        # A traceback holds the frames of the work, which hold the flag: nothing may lead back from there.
        ticket.cancel.turn = None
        if failure is None:
            ticket.future.set_result(outcome)
        else:
            ticket.future.set_exception(failure)
        del ticket, failure
        return True

    def _again(self, ticket: Ticket[Any]) -> None:
        """Lets work wait for a place in the heavy lane, to be begun from its start."""
        refusal: AdalogError | None = None
        evicted = None
        with self._lock:
            self._moves["restarted"] += 1
            ticket.since = time.monotonic()
            try:
                if self._closed:
                    raise stopping()
                ticket.cancel.check_flag(ticket.since)
                evicted = self._admit(ticket, Lane.HEAVY)
            except AdalogError as error:
                ticket.state = TicketState.LEAVING
                refusal = error
        if refusal is not None:
            ticket.refuse(refusal)
        if evicted is not None:
            evicted.refuse(self._too_many(Lane.HEAVY))


def _rate_limited(message: str, seconds: float) -> AdalogError:
    return AdalogError(Code.RATE_LIMITED, message, retry_after=max(1, math.ceil(seconds)))
