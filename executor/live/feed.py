"""What one question with its arguments gives, for all who follow it, and the view that it shares with others.

A feed is known by its question and arguments, a view by all but the arguments. All of it belongs to the hub's
thread, except that a view at work belongs to whoever does the work.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from executor.bounds.client import Client
from executor.live.errands import Errand
from executor.live.event import Event, Form, Position, size_of
from executor.live.holding import Chunks, Holding, Private
from executor.live.outlet import Channel, Outlet
from executor.live.subscription import Subscription
from executor.maintain.view import View
from executor.question.question import Question
from store.snapshot import Snapshot

# A step that computes for longer than this on the hub's thread is heavy from then on, in seconds; so many that were
# quicker than that part of it make the view light again.
BRIEF: Final = 0.01
_QUICK_PART: Final = 0.2
_QUICK_STEPS: Final = 2
# Steps over several transactions that are remembered.
_LEAPS: Final = 64
# Works between two looks at the bytes of a light view.
_WEIGHED: Final = 32
# Bytes of an event that is kept, and of each of its cells.
_EVENT_BYTES: Final = 600
_CELL_BYTES: Final = 16


@dataclass(eq=False, slots=True)
class Seat:
    """A subscription as the hub sees it. `since`: it is to begin at this transaction or later. `each`: every
    transaction is to be told by itself until it has caught up. `private`: what it catches up by. `errand`:
    what is done for it."""

    subscription: Subscription
    outlet: Outlet
    form: Form
    feed: Feed
    client: Client
    since: int
    each: bool = False
    reset: str | None = None
    private: Private | None = None
    errand: Errand[Any] | None = None
    channel: Channel | None = None


@dataclass(eq=False)
class Feed:
    """`number`: its name within its view. `followed`: the view, None for the log itself. `covered`: all events
    after this transaction are in `recent`. `waiting`: who is to go on
    from a position at its next moment. `asked`: who waits for the same
    snapshot."""

    number: int
    key: Hashable
    question: Question | None
    followed: Followed | None
    seats: dict[Subscription, Seat] = field(default_factory=dict)
    channels: dict[tuple[Hashable, Hashable], Channel] = field(default_factory=dict)
    recent: deque[Event] = field(default_factory=deque)
    covered: int = 0
    ready: bool = False
    waiting: dict[Seat, Position | None] = field(default_factory=dict)
    asked: dict[tuple[int, Hashable], list[Seat]] = field(default_factory=dict)
    snapshots: weakref.WeakValueDictionary[tuple[int, Hashable], Chunks] = field(
        default_factory=weakref.WeakValueDictionary
    )

    def channel(self, seat: Seat) -> Channel:
        """Where the seat's like are told."""
        key = (seat.outlet.key, seat.form.key)
        found = self.channels.get(key)
        if found is None:
            found = self.channels[key] = Channel(seat.outlet, seat.form)
        return found

    def forms(self) -> list[Form]:
        """The forms in which its events are wanted."""
        # Also asked where its view is at work elsewhere, while the hub goes on.
        return list({channel.form.key: channel.form for channel in tuple(self.channels.values())}.values())

    def since(self, t: int) -> list[Event] | None:
        """The events after a transaction, or None where they are not all kept."""
        if not self.ready or t < self.covered or (self.followed is not None and not self.followed.passed(t)):
            return None
        return [event for event in self.recent if event.t > t]


@dataclass(eq=False)
class Followed:
    """A view with its moment and its feeds.

    `view`: None while it is at work, and where a step did not end: then it is made anew at its moment. `at`: its
    moment where it is behind the hub's, and `touched` the transactions that touched it since.
    `busy`: it is at work elsewhere, by `errand`. `heavy`: its steps are long. `adding`: feeds that it does not
    know yet; `leaving`: those to be dropped when it is back; `alive`: how many somebody follows. `awaited`: feeds
    for whose next moment somebody waits. `asks_anew`: what touches it may be something else now.
    """

    key: Hashable
    question: Question
    view: View | None
    holding: Holding
    client: Client
    feeds: dict[int, Feed] = field(default_factory=dict)
    adding: list[Feed] = field(default_factory=list)
    leaving: list[Feed] = field(default_factory=list)
    awaited: dict[Feed, None] = field(default_factory=dict)
    alive: int = 0
    at: Snapshot | None = None
    touched: list[int] = field(default_factory=list)
    busy: bool = False
    errand: Errand[Any] | None = None
    # Nothing is known of it yet, and nobody else is disturbed where it is slow.
    heavy: bool = True
    asks_anew: bool = False
    _quick: int = 0
    _works: int = 0
    # Steps over several transactions, and the moment before which they are not known any more.
    _leaps: deque[tuple[int, int]] = field(default_factory=deque)
    _begun: int = 0

    def leapt(self, since: int, t: int) -> None:
        """It made one step of what was written after transaction `since`, up to t."""
        self._leaps.append((since, t))
        if len(self._leaps) > _LEAPS:
            _, self._begun = self._leaps.popleft()

    def passed(self, t: int) -> bool:
        """Whether its events go on from the state after transaction t: whether no step of it led past that."""
        return t >= self._begun and not any(since < t < end for since, end in self._leaps)

    def took(self, seconds: float) -> None:
        """Chooses where its next step is made."""
        if seconds > BRIEF:
            self.heavy, self._quick = True, 0
        elif self.heavy and seconds < BRIEF * _QUICK_PART:
            self._quick += 1
            if self._quick >= _QUICK_STEPS:
                self.heavy = False
        else:
            self._quick = 0

    def began(self, seconds: float) -> None:
        """The same after the first work on it."""
        self.heavy = seconds > BRIEF

    def weigh(self, view: View) -> None:
        """Has what it holds counted, now and then. Raises LIMIT_EXCEEDED and RATE_LIMITED."""
        if self.heavy or self._works % _WEIGHED == 0:
            self.holding.become(view.nbytes())
        self._works += 1


class Recent:
    """The last events of all feeds, the oldest forgotten first."""

    def __init__(self, most: int, nbytes: int) -> None:
        self._most = most
        self._most_bytes = nbytes
        self._nbytes = 0
        self._events: deque[tuple[weakref.ref[Feed], Event, int]] = deque()

    def add(self, feed: Feed, event: Event) -> None:
        """Keeps an event of a feed, as long as there is room."""
        size = weight_of(event)
        feed.recent.append(event)
        self._events.append((weakref.ref(feed), event, size))
        self._nbytes += size
        while len(self._events) > self._most or self._nbytes > self._most_bytes:
            of, event, size = self._events.popleft()
            self._nbytes -= size
            found = of()
            if found is not None:
                assert found.recent[0] is event, "what is oldest of all is oldest of its feed"
                found.recent.popleft()
                found.covered = event.t

    def clear(self) -> None:
        """Nobody follows anything."""
        self._events.clear()
        self._nbytes = 0


def weight_of(event: Event) -> int:
    """About the bytes that an event holds."""
    size = _EVENT_BYTES
    if event.change is not None:
        size += _CELL_BYTES * size_of(event.change)
    if event.report is not None:
        size += 4 * _CELL_BYTES * len(event.report.datoms)
    return size
