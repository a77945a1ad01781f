"""The answer to one question with its arguments, for all its subscribers, and the view that it shares with others.

A feed is known by its question and arguments, a view by all but the arguments. All of it belongs to the hub's
thread, except that a view at work belongs to the thread that does the work.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.bounds.client import Client
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import LiveView
from adalog.executor.live.hub.memory import MemoryShare, PrivateView
from adalog.executor.live.hub.pool_jobs import PoolJob
from adalog.executor.live.subscribers.delivery import Channel, Delivery
from adalog.executor.live.subscribers.event import Event, Message, MessageForm, StreamPosition, size_of
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.executor.permissions.guards import ADMIN
from adalog.store.snapshot.snapshot import Snapshot

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
class Subscriber:
    """A subscription as the hub sees it. `since`: it begins at this transaction or later. `each`: it gets one event
    for each transaction until it has caught up. `private`: the view it catches up by. `job`: for it alone;
    `shared`: the key of a snapshot that others wait for, too. `guarded`: it is shown what its client may see; else
    everything, which the client may not see once policies are enforced. `from_afar`: it goes on from where its
    client is, and not from what it was just sent."""

    subscription: Subscription
    delivery: Delivery
    form: MessageForm
    feed: Feed
    client: Client
    since: int
    each: bool = False
    reset: str | None = None
    private: PrivateView | None = None
    job: PoolJob[Any] | None = None
    shared: tuple[int, Hashable] | None = None
    channel: Channel | None = None
    guarded: bool = False
    from_afar: bool = True

    @property
    def sees_everything(self) -> bool:
        """Whether it is shown what policies, once they are enforced, may hide from it."""
        identity = self.client.identity
        return not self.guarded and identity is not None and ADMIN not in identity.roles


class Droppable(Protocol):
    """Work that can be given up."""

    def drop(self) -> None: ...


@dataclass(eq=False, slots=True)
class PendingSnapshot:
    """A snapshot in the making, and the subscribers that wait for it."""

    work: Droppable
    subscribers: dict[Subscriber, None] = field(default_factory=dict)


@dataclass(eq=False, slots=True, weakref_slot=True)
class Feed:
    """What several subscribers follow: the answers to a question, or the log.

    number: its name within its view. question, followed: its question and its view; None for the log. covered: all
    events after this transaction are in `recent`. waiting: subscribers that go on from a position at the feed's
    next moment. asked: by position, the snapshots in the making.
    """

    number: int
    key: Hashable
    question: UndatedQuestion | None
    followed: FollowedView | None
    subscribers: dict[Subscription, Subscriber] = field(default_factory=dict)
    channels: dict[tuple[Hashable, Hashable], Channel] = field(default_factory=dict)
    # Most feeds of many have none.
    recent: deque[Event] | tuple[()] = ()
    covered: int = 0
    ready: bool = False
    waiting: dict[Subscriber, StreamPosition | None] = field(default_factory=dict)
    asked: dict[tuple[int, Hashable], PendingSnapshot] = field(default_factory=dict)

    def channel(self, subscriber: Subscriber) -> Channel:
        key = (subscriber.delivery.key, subscriber.form.key)
        found = self.channels.get(key)
        if found is None:
            found = self.channels[key] = Channel(subscriber.delivery, subscriber.form)
        return found

    def forms(self) -> list[MessageForm]:
        # Also asked where its view is at work elsewhere, while the hub goes on.
        return list({channel.form.key: channel.form for channel in tuple(self.channels.values())}.values())

    def since(self, t: int) -> list[Event] | None:
        """The events after a transaction, or None if not all of them are kept."""
        if not self.ready or t < self.covered or (self.followed is not None and not self.followed.passed(t)):
            return None
        return [event for event in self.recent if event.t > t]


@dataclass(eq=False)
class FollowedView:
    """A view with its moment and its feeds.

    Belongs to the hub's thread. `question`: that of its first feed. `view`: None while it is at work, and after a
    step that did not end: then it is made again for its moment. `at`: its moment if it is behind the hub's, and
    `touched` the transactions that touched it since. `busy`: it is at work elsewhere, by `job`; `left_at`: its
    moment when that began. `heavy`: its steps are long. `adding`: feeds to be added; `leaving`: feeds to be dropped
    when it is back; `alive`: feeds with subscribers. `awaited`: feeds with subscribers that wait for the next
    moment. `asks_anew`: its interests may have changed. `spare`: bytes of the joins that the view keeps.
    """

    key: Hashable
    question: UndatedQuestion
    view: LiveView | None
    holding: MemoryShare
    client: Client
    feeds: dict[int, Feed] = field(default_factory=dict)
    adding: list[Feed] = field(default_factory=list)
    leaving: list[Feed] = field(default_factory=list)
    awaited: dict[Feed, None] = field(default_factory=dict)
    alive: int = 0
    at: Snapshot | None = None
    touched: list[int] = field(default_factory=list)
    busy: bool = False
    left_at: Snapshot | None = None
    job: PoolJob[Any] | None = None
    # Nothing is known of it yet: elsewhere it delays no other view if it is slow.
    heavy: bool = True
    asks_anew: bool = False
    spare: int = 0
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

    def weigh(self, view: LiveView) -> None:
        """Has what it holds counted, now and then, and whenever it keeps more or less joins. Where there is no room
        for these they go. Raises LIMIT_EXCEEDED and RATE_LIMITED."""
        spare = view.spare()
        if self.heavy or self._works % _WEIGHED == 0 or spare != self.spare:
            try:
                self.holding.become(view.nbytes())
            except AdalogError:
                if not spare:
                    raise
                self.lighten(view)
        self.spare = view.spare()
        self._works += 1

    def lighten(self, view: LiveView) -> None:
        """Has the view let go of what it can make again. Raises likewise."""
        view.lighten()
        self.spare = view.spare()
        self.holding.become(view.nbytes())


class RecentEvents:
    """The last events of all feeds, the oldest forgotten first. `nbytes`: about what they hold."""

    def __init__(self, most: int, nbytes: int) -> None:
        self._most = most
        self._most_bytes = nbytes
        self.nbytes = 0
        self._events: deque[tuple[weakref.ref[Feed], Event]] = deque()

    def add(self, feed: Feed, event: Event) -> None:
        if not isinstance(feed.recent, deque):
            feed.recent = deque()
        feed.recent.append(event)
        self._events.append((weakref.ref(feed), event))
        event.kept_bytes = weight_of(event)
        self.nbytes += event.kept_bytes
        self._make_room()

    def written(self, event: Event, form: MessageForm, cancel: Cancel) -> Message | AdalogError:
        """The outcome of an event in a form, counted where the event is kept. Raises what the flag raises."""
        known = form.key in event.written
        outcome = event.outcome(form, cancel)
        if not known and event.kept_bytes and isinstance(outcome, Message):
            event.kept_bytes += outcome.nbytes
            self.nbytes += outcome.nbytes
            self._make_room()
        return outcome

    def _make_room(self) -> None:
        while len(self._events) > self._most or self.nbytes > self._most_bytes:
            of, event = self._events.popleft()
            self.nbytes -= event.kept_bytes
            event.kept_bytes = 0
            found = of()
            if found is not None:
                assert isinstance(found.recent, deque), "it has events"
                assert found.recent[0] is event, "what is oldest of all is oldest of its feed"
                found.recent.popleft()
                if not found.recent:
                    found.recent = ()
                found.covered = max(found.covered, event.t)

    def clear(self) -> None:
        """Forgets all events: no subscriber is left, or none that may join with them."""
        for _, event in self._events:
            event.kept_bytes = 0
        self._events.clear()
        self.nbytes = 0


def weight_of(event: Event) -> int:
    size = _EVENT_BYTES
    if event.change is not None:
        size += _CELL_BYTES * size_of(event.change)
    if event.report is not None:
        size += 4 * _CELL_BYTES * len(event.report.datoms)
    return size + sum(each.nbytes for each in event.written.values() if isinstance(each, Message))
