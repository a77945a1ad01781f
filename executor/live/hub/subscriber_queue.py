"""The subscribers of the hub, from their first message to following a feed.

A subscription begins at a moment of its feed. The pool computes the snapshot there; the feed keeps its recent
events meanwhile, which follow the snapshot (`Feed.since`). If they are no longer kept, the gap is filled from the
database like any other (`catch_up`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, Final
from weakref import WeakValueDictionary

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel, StartAgain
from adalog.executor.bounds.client import Client
from adalog.executor.live.hub.catch_up import EXCISED, AnswerCatchUp, CatchUpMessages, GapError, LogCatchUp
from adalog.executor.live.hub.feed import Feed, PendingSnapshot, Subscriber
from adalog.executor.live.hub.first_answers import FirstAnswer, FirstAnswers
from adalog.executor.live.hub.memory import SnapshotChunks
from adalog.executor.live.hub.parts import HubParts
from adalog.executor.live.hub.pool_jobs import PoolJob
from adalog.executor.live.hub.view_update import BriefCancel
from adalog.executor.live.hub.views import Views
from adalog.executor.live.subscribers.delivery import Channel, Delivery
from adalog.executor.live.subscribers.event import Event, Message, MessageForm, StreamPosition, failure
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.datom import TxReport

# Snapshots, and the bytes of one, that are kept for subscribers that join at the same moment.
_SNAPSHOTS: Final = 32
_SNAPSHOT_BYTES: Final = 256 << 10

_Made = CatchUpMessages | SnapshotChunks


class SubscriberQueue:
    """Belongs to the hub's thread. `gone` is called when a subscription is over."""

    def __init__(
        self, parts: HubParts, heard: Callable[[TxReport, Snapshot], None], gone: Callable[[Client], None]
    ) -> None:
        self.views = Views(parts, heard, self)
        self._parts = parts
        self._gone = gone
        self._first_answers = FirstAnswers(parts, self.views.moment)
        self._subscribers: dict[Subscription, Subscriber] = {}
        # Snapshots with unread messages, by their feeds, moments and forms.
        self._snapshots: WeakValueDictionary[tuple[Feed, int, Hashable], SnapshotChunks] = WeakValueDictionary()
        # Small ones that were just made, for the next subscribers.
        self._made: deque[SnapshotChunks] = deque(maxlen=_SNAPSHOTS)

    def add(self, subscriber: Subscriber, position: StreamPosition | None) -> None:
        feed = subscriber.feed
        self._subscribers[subscriber.subscription] = subscriber
        feed.subscribers[subscriber.subscription] = subscriber
        if subscriber.subscription.closed or subscriber.delivery.closed:
            self._leave(subscriber)
            return
        if self.views.enforced and subscriber.sees_everything:
            self._end(subscriber, _enforced())
            return
        self._go_on(subscriber, position)

    def wanted(self, subscription: Subscription, position: StreamPosition | None) -> None:
        subscriber = self._subscribers.get(subscription)
        if subscriber is not None:
            subscriber.from_afar = True
            self._go_on(subscriber, position)

    def left(self, subscription: Subscription, *, closed: bool) -> None:
        subscriber = self._subscribers.get(subscription)
        if subscriber is not None:
            _unfollow(subscriber)
            if closed:
                self._leave(subscriber)

    def drop(self, subscription: Subscription, error: AdalogError) -> bool:
        """Ends a subscription; whether it was in the queue."""
        subscriber = self._subscribers.get(subscription)
        if subscriber is not None:
            self._end(subscriber, error)
        return subscriber is not None

    def abandon(self, delivery: Delivery) -> None:
        for subscriber in tuple(self._subscribers.values()):
            if subscriber.delivery is delivery:
                subscriber.subscription.abandon()
                self._leave(subscriber)

    def end_all(self, error: AdalogError) -> None:
        for subscriber in tuple(self._subscribers.values()):
            self._end(subscriber, error)

    # Where a subscriber goes on

    def _go_on(self, subscriber: Subscriber, position: StreamPosition | None) -> None:
        self._alone(subscriber, lambda: self._find_way(subscriber, position))

    def _alone(self, subscriber: Subscriber, act: Callable[[], None]) -> None:
        """Does something for one subscriber: where that fails, it is this subscription that ends."""
        try:
            act()
        except Exception as error:  # noqa: BLE001 - whatever it is, the others never notice
            self._end(subscriber, failure(error))

    def _find_way(self, subscriber: Subscriber, position: StreamPosition | None) -> None:
        feed = subscriber.feed
        if position is not None and position.rows is not None and subscriber.reset is None:
            self._send(subscriber, lambda cancel: self._rest_of_snapshot(subscriber, position, cancel))
            return
        now = self.views.moment(feed)
        if now is None or now.t < subscriber.since:
            feed.waiting[subscriber] = position
            self.views.wait(feed)
            return
        # What the log has told stays told.
        is_answer = feed.question is not None
        if is_answer and position is not None and position.is_outdated(now.origin.excised):
            subscriber.reset, subscriber.each, subscriber.private = EXCISED, False, None
        if position is None or subscriber.reset is not None:
            self._begin(subscriber, now)
        elif self._is_outdated(subscriber, position.t) or not self._join(subscriber, position.t):
            self._fill_gap(subscriber, position.t, now)

    @staticmethod
    def _is_outdated(subscriber: Subscriber, t: int) -> bool:
        """Whether events since a transaction that the client knows may show what it may not see any more."""
        from_afar, subscriber.from_afar = subscriber.from_afar, False
        return subscriber.guarded and from_afar and subscriber.feed.since(t) != []

    def ready(self, feed: Feed) -> None:
        waiting, feed.waiting = feed.waiting, {}
        for subscriber, position in waiting.items():
            if subscriber.subscription in feed.subscribers:
                self._go_on(subscriber, position)

    def _begin(self, subscriber: Subscriber, now: Snapshot) -> None:
        """Sends a subscriber a snapshot of its feed's moment, shared with others that begin there."""
        feed, form, reset = subscriber.feed, subscriber.form, subscriber.reset
        catching = self._catching(feed)
        if reset is not None:
            subscriber.reset = None
            self._parts.figures.resets += 1
            self._send(subscriber, lambda cancel: catching.snapshot(now, form, cancel, reset=reset))
            return
        key = (now.t, form.key)
        made, asked = self._snapshots.get((feed, *key)), feed.asked.get(key)
        if made is not None:
            self._filled(subscriber, made)
            return
        subscriber.shared = key
        if asked is not None:
            asked.subscribers[subscriber] = None
            return
        opening = FirstAnswer(feed, form, subscriber.client, now, partial(self._begun, feed, key))
        feed.asked[key] = PendingSnapshot(opening, {subscriber: None})
        self._first_answers.ask(opening)

    def begin(self) -> None:
        self._first_answers.begin()

    @property
    def next_at(self) -> float | None:
        """When snapshots that are held back may be made."""
        return self._first_answers.next_at

    def _begun(
        self, feed: Feed, key: tuple[int, Hashable], made: SnapshotChunks | None, why: BaseException | None
    ) -> None:
        subscribers = tuple(feed.asked.pop(key).subscribers)
        for subscriber in subscribers:
            subscriber.shared = None
        if made is None:
            error = failure(why)
            for subscriber in subscribers:
                self._end(subscriber, error)
            return
        self._snapshots[feed, made.messages[-1].t, key[1]] = made
        if made.holding.nbytes <= _SNAPSHOT_BYTES:
            self._made.append(made)
        for subscriber in subscribers:
            self._filled(subscriber, made)

    def _rest_of_snapshot(self, subscriber: Subscriber, at: StreamPosition, cancel: Cancel) -> CatchUpMessages:
        assert at.rows is not None, "a position within a snapshot"
        if not at.rows:
            return self._catching(subscriber.feed).past(at, subscriber.form, cancel)
        chunks = self._catching(subscriber.feed).rest(at, subscriber.form, cancel)
        return CatchUpMessages(chunks.messages, chunks.messages[-1].position, behind=True, held=chunks)

    def _fill_gap(self, subscriber: Subscriber, since: int, now: Snapshot) -> None:
        form, each = subscriber.form, subscriber.each
        if subscriber.feed.question is None:
            reading = LogCatchUp(self._parts)
            self._send(subscriber, lambda cancel: reading.gap(since, now.t, form, cancel))
            return
        catching = self._catching(subscriber.feed)
        # Begun once more, the work begins at the position again.
        private, subscriber.private = [subscriber.private], None
        self._send(
            subscriber,
            lambda cancel: catching.gap(private.pop() if private else None, since, now, form, cancel, each),
        )

    def _catching(self, feed: Feed) -> AnswerCatchUp:
        assert feed.question is not None, "the log has no snapshot"
        return AnswerCatchUp(self._parts, feed.question)

    def _send(self, subscriber: Subscriber, work: Callable[[Cancel], _Made]) -> None:
        subscriber.job = PoolJob(subscriber.client, work, partial(self._got, subscriber))
        self._parts.pool_jobs.send(subscriber.job)

    def _got(self, subscriber: Subscriber, made: _Made | None, why: BaseException | None) -> None:
        subscriber.job = None
        if made is not None:
            self._filled(subscriber, made)
        elif isinstance(why, GapError):
            subscriber.reset, subscriber.each = str(why), False
            self._go_on(subscriber, None)
        else:
            self._end(subscriber, failure(why))

    def _filled(self, subscriber: Subscriber, made: _Made) -> None:
        self._alone(subscriber, lambda: self._hand_over(subscriber, made))

    def _hand_over(self, subscriber: Subscriber, made: _Made) -> None:
        if isinstance(made, SnapshotChunks):
            made = CatchUpMessages(made.messages, made.messages[-1].position, behind=False, held=made)
        subscriber.private = made.private
        for message in made.messages:
            self._parts.figures.events[message.kind] += 1
        # What cannot be joined at once is asked for when it has read what there is now.
        behind = made.behind or subscriber.feed.since(made.reached.t) is None
        if made.messages:
            subscriber.delivery.post(_fill, subscriber.subscription, made, behind)
        if not made.messages or not behind:
            self._go_on(subscriber, made.reached)

    def _join(self, subscriber: Subscriber, t: int) -> bool:
        """A subscriber that knows the state after t follows from there, where what came since is kept."""
        feed = subscriber.feed
        backlog = feed.since(t)
        messages = None if backlog is None else self._written(backlog, subscriber.form)
        if messages is None:
            return False
        if isinstance(messages, AdalogError):
            self._end(subscriber, messages)
            return True
        subscriber.each, subscriber.private = False, None
        subscriber.channel = channel = feed.channel(subscriber)
        channel.following += 1
        channel.lost = False
        for message in messages:
            self._parts.figures.events[message.kind] += 1
        subscriber.delivery.post(subscriber.subscription.joined, channel, messages)
        self.views.told(feed)
        return True

    def _written(self, backlog: Sequence[Event], form: MessageForm) -> list[Message] | AdalogError | None:
        """Events in a form. None where they would find no room in a mailbox, or take too long to be written here:
        the pool tells them as a gap, in fewer messages."""
        if len(backlog) > self._parts.settings.mailbox_events:
            return None
        brief, messages, nbytes = BriefCancel(), list[Message](), 0
        for event in backlog:
            try:
                brief.check()
                message = self.views.recent.written(event, form, brief)
            except (StartAgain, AdalogError):
                return None
            if isinstance(message, AdalogError):
                return message
            if message.payload is not None:
                messages.append(message)
            nbytes += message.nbytes
            if nbytes > self._parts.settings.mailbox_bytes:
                return None
        return messages

    # The end

    def failed(self, feed: Feed, error: AdalogError) -> None:
        for subscriber in tuple(feed.subscribers.values()):
            self._end(subscriber, error)

    def enforced(self) -> None:
        for subscriber in tuple(self._subscribers.values()):
            if subscriber.sees_everything:
                self._end(subscriber, _enforced())

    def excised(self) -> None:
        self._made.clear()

    def unwritten(self, feed: Feed, channel: Channel, error: AdalogError) -> None:
        for subscriber in tuple(feed.subscribers.values()):
            if subscriber.channel is channel:
                self._end(subscriber, error)

    def _end(self, subscriber: Subscriber, error: AdalogError) -> None:
        if subscriber.subscription in self._subscribers:
            subscriber.delivery.post(subscriber.subscription.end, error)
            self._leave(subscriber)

    def _leave(self, subscriber: Subscriber) -> None:
        feed = subscriber.feed
        del self._subscribers[subscriber.subscription]
        _unfollow(subscriber)
        if subscriber.job is not None:
            subscriber.job.drop()
        if subscriber.shared is not None:
            shared = feed.asked[subscriber.shared]
            del shared.subscribers[subscriber]
            if not shared.subscribers:
                # Its slot is for others.
                shared.work.drop()
                del feed.asked[subscriber.shared]
        subscriber.private = subscriber.job = subscriber.shared = None
        feed.subscribers.pop(subscriber.subscription, None)
        feed.waiting.pop(subscriber, None)
        key = (subscriber.delivery.key, subscriber.form.key)
        channel = feed.channels.get(key)
        if channel is not None and not channel.following:
            del feed.channels[key]
        if not feed.subscribers:
            self.views.free(feed)
        if not self._subscribers:
            self._made.clear()
        self._gone(subscriber.client)


def _enforced() -> AdalogError:
    return AdalogError(
        Code.BACKEND_UNAVAILABLE, "from now on policies say who sees what; subscribe again", retryable=True
    )


def _unfollow(subscriber: Subscriber) -> None:
    if subscriber.channel is not None:
        subscriber.channel.following -= 1
        subscriber.channel = None


def _fill(subscription: Subscription, made: CatchUpMessages, behind: bool) -> None:
    held: Any = made.held
    subscription.filled(made.messages, held, behind=behind)
