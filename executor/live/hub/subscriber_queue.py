"""Subscribers, from their first moment to following a feed: who gets a snapshot, who what lies in between, who
waits.

Belongs to the hub's thread. A subscription begins at a moment of its feed: the snapshot there is computed by the
pool meanwhile, the feed's recent events are kept, and handed over after it (`Feed.since`). Where they are kept no
longer, what lies between is asked of the database like any other gap (`catching_up`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final
from weakref import WeakValueDictionary

from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import Cancel, StartAgain
from adalog.executor.bounds.client import Client
from adalog.executor.live.hub.catch_up import AnswerCatchUp, CatchUpMessages, GapError, LogCatchUp
from adalog.executor.live.hub.feed import Feed, PendingSnapshot, Subscriber
from adalog.executor.live.hub.figures import LiveFigures
from adalog.executor.live.hub.first_answers import FirstAnswer, FirstAnswers
from adalog.executor.live.hub.memory import LiveMemory, SnapshotChunks
from adalog.executor.live.hub.pool_jobs import PoolJob, PoolJobs
from adalog.executor.live.hub.view_update import BriefCancel
from adalog.executor.live.hub.views import Views
from adalog.executor.live.settings import LiveSettings
from adalog.executor.live.subscribers.delivery import Channel, Delivery
from adalog.executor.live.subscribers.event import Event, Message, MessageForm, StreamPosition, failure
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.executor.pool import Pool
from adalog.store.snapshot.snapshot import Snapshot

# Snapshots, and the bytes of one, that are kept for who joins at the same moment.
_SNAPSHOTS: Final = 32
_SNAPSHOT_BYTES: Final = 256 << 10


class SubscriberQueue:
    """`gone`: is called when a subscription is over."""

    def __init__(
        self,
        pool: Pool,
        settings: LiveSettings,
        holdings: LiveMemory,
        errands: PoolJobs,
        figures: LiveFigures,
        views: Views,
        gone: Callable[[Client], None],
    ) -> None:
        self._pool = pool
        self._settings = settings
        self._holdings = holdings
        self._errands = errands
        self._figures = figures
        self._views = views
        self._gone = gone
        self._openings = FirstAnswers(pool, settings, holdings, errands, views.moment)
        self._seats: dict[Subscription, Subscriber] = {}
        # Snapshots that somebody has not read, by their feeds, moments and forms.
        self._snapshots: WeakValueDictionary[tuple[Feed, int, Hashable], SnapshotChunks] = WeakValueDictionary()
        # Small ones that were just made, for who joins next.
        self._made: deque[SnapshotChunks] = deque(maxlen=_SNAPSHOTS)
        views.ready, views.failed, views.unwritten = self._ready, self._failed, self._unwritten

    def sit(self, seat: Subscriber, position: StreamPosition | None) -> None:
        """A subscriber comes, to go on after a position."""
        feed = seat.feed
        self._seats[seat.subscription] = seat
        feed.seats[seat.subscription] = seat
        if seat.subscription.closed or seat.outlet.closed:
            self._leave(seat)
            return
        self._go_on(seat, position)

    def wanted(self, subscription: Subscription, position: StreamPosition | None) -> None:
        """A subscriber has come to a position, and has room."""
        seat = self._seats.get(subscription)
        if seat is not None:
            self._go_on(seat, position)

    def left(self, subscription: Subscription, *, closed: bool) -> None:
        """A subscriber no longer follows; with `closed` it never will again."""
        seat = self._seats.get(subscription)
        if seat is not None:
            _unfollow(seat)
            if closed:
                self._leave(seat)

    def drop(self, subscription: Subscription, error: AdalogError) -> bool:
        """Tells a subscriber that nothing follows; whether it had been seated."""
        seat = self._seats.get(subscription)
        if seat is not None:
            self._end(seat, error)
        return seat is not None

    def abandon(self, outlet: Delivery) -> None:
        """Lets go of all whose outlet is closed."""
        for seat in tuple(self._seats.values()):
            if seat.outlet is outlet:
                seat.subscription.abandon()
                self._leave(seat)

    def end_all(self, error: AdalogError) -> None:
        """Tells everybody that nothing follows."""
        for seat in tuple(self._seats.values()):
            self._end(seat, error)

    # Where a subscriber goes on

    def _go_on(self, seat: Subscriber, position: StreamPosition | None) -> None:
        """Has a subscriber get what follows a position."""
        self._alone(seat, lambda: self._find_way(seat, position))

    def _alone(self, seat: Subscriber, act: Callable[[], None]) -> None:
        """Does something for one subscriber: where that fails, it is this subscription that ends."""
        try:
            act()
        except Exception as error:  # noqa: BLE001 - whatever it is, the others never notice
            self._end(seat, failure(error))

    def _find_way(self, seat: Subscriber, position: StreamPosition | None) -> None:
        feed = seat.feed
        if position is not None and position.rows is not None and seat.reset is None:
            self._send(seat, lambda cancel: self._rest_of_snapshot(seat, position, cancel))
            return
        now = self._views.moment(feed)
        if now is None or now.t < seat.since:
            feed.waiting[seat] = position
            self._views.wait(feed)
            return
        if position is None or seat.reset is not None:
            self._begin(seat, now)
        elif not self._join(seat, position.t):
            self._fill_gap(seat, position.t, now)

    def _ready(self, feed: Feed) -> None:
        waiting, feed.waiting = feed.waiting, {}
        for seat, position in waiting.items():
            if seat.subscription in feed.seats:
                self._go_on(seat, position)

    def _begin(self, seat: Subscriber, now: Snapshot) -> None:
        """Has a subscriber get a snapshot of its feed's moment, shared with others who begin there."""
        feed, form, reset = seat.feed, seat.form, seat.reset
        catching = self._catching(feed)
        if reset is not None:
            seat.reset = None
            self._figures.resets += 1
            self._send(seat, lambda cancel: catching.snapshot(now, form, cancel, reset=reset))
            return
        key = (now.t, form.key)
        made, asked = self._snapshots.get((feed, *key)), feed.asked.get(key)
        if made is not None:
            self._filled(seat, made)
            return
        seat.shared = key
        if asked is not None:
            asked.seats[seat] = None
            return
        opening = FirstAnswer(feed, form, seat.client, now, lambda made, why: self._begun(feed, key, made, why))
        feed.asked[key] = PendingSnapshot(opening, {seat: None})
        self._openings.ask(opening)

    def begin(self) -> None:
        """Has the snapshots made that were asked for since the last time."""
        self._openings.begin()

    @property
    def next_at(self) -> float | None:
        """When snapshots that are held back may be made."""
        return self._openings.next_at

    def _begun(
        self, feed: Feed, key: tuple[int, Hashable], made: SnapshotChunks | None, why: BaseException | None
    ) -> None:
        seats = tuple(feed.asked.pop(key).seats)
        for seat in seats:
            seat.shared = None
        if made is None:
            error = failure(why)
            for seat in seats:
                self._end(seat, error)
            return
        self._snapshots[feed, made.messages[-1].t, key[1]] = made
        if made.holding.nbytes <= _SNAPSHOT_BYTES:
            self._made.append(made)
        for seat in seats:
            self._filled(seat, made)

    def _rest_of_snapshot(self, seat: Subscriber, position: StreamPosition, cancel: Cancel) -> CatchUpMessages:
        assert position.rows is not None, "a position within a snapshot"
        chunks = self._catching(seat.feed).rest(position.t, seat.form, cancel, position.rows)
        return CatchUpMessages(chunks.messages, StreamPosition(position.t), behind=True, held=chunks)

    def _fill_gap(self, seat: Subscriber, since: int, now: Snapshot) -> None:
        form, each = seat.form, seat.each
        if seat.feed.question is None:
            reading = LogCatchUp(self._pool, self._settings)
            self._send(seat, lambda cancel: reading.gap(since, now.t, form, cancel))
            return
        catching = self._catching(seat.feed)
        # Begun once more, the work begins at the position again.
        private, seat.private = [seat.private], None
        self._send(
            seat,
            lambda cancel: catching.gap(private.pop() if private else None, since, now, form, cancel, each=each),
        )

    def _catching(self, feed: Feed) -> AnswerCatchUp:
        assert feed.question is not None, "the log has no snapshot"
        return AnswerCatchUp(self._pool, self._settings, self._holdings, feed.question)

    def _send(self, seat: Subscriber, work: Callable[[Cancel], CatchUpMessages | SnapshotChunks]) -> None:
        """Has the pool do something for one subscriber."""
        seat.errand = PoolJob(seat.client, work, lambda made, why: self._got(seat, made, why))
        self._errands.send(seat.errand)

    def _got(
        self, seat: Subscriber, made: CatchUpMessages | SnapshotChunks | None, why: BaseException | None
    ) -> None:
        seat.errand = None
        if made is not None:
            self._filled(seat, made)
        elif isinstance(why, GapError):
            seat.reset, seat.each = why.reason, False
            self._go_on(seat, None)
        else:
            self._end(seat, failure(why))

    def _filled(self, seat: Subscriber, made: CatchUpMessages | SnapshotChunks) -> None:
        self._alone(seat, lambda: self._hand_over(seat, made))

    def _hand_over(self, seat: Subscriber, made: CatchUpMessages | SnapshotChunks) -> None:
        if isinstance(made, SnapshotChunks):
            made = CatchUpMessages(made.messages, StreamPosition(made.messages[-1].t), behind=False, held=made)
        seat.private = made.private
        for message in made.messages:
            self._figures.events[message.kind] += 1
        # What cannot be joined at once is asked for when it has read what there is now.
        behind = made.behind or seat.feed.since(made.reached.t) is None
        if made.messages:
            seat.outlet.post(_fill, seat.subscription, made, behind)
        if not made.messages or not behind:
            self._go_on(seat, made.reached)

    def _join(self, seat: Subscriber, t: int) -> bool:
        """Has a subscriber that knows the state after transaction t follow from there, where what came since is
        kept."""
        feed = seat.feed
        backlog = feed.since(t)
        messages = None if backlog is None else self._written(backlog, seat.form)
        if messages is None:
            return False
        if isinstance(messages, AdalogError):
            self._end(seat, messages)
            return True
        seat.each, seat.private = False, None
        seat.channel = channel = feed.channel(seat)
        channel.following += 1
        channel.lost = False
        for message in messages:
            self._figures.events[message.kind] += 1
        seat.outlet.post(seat.subscription.joined, channel, messages)
        self._views.told(feed)
        return True

    def _written(self, backlog: Sequence[Event], form: MessageForm) -> list[Message] | AdalogError | None:
        """Events in a form. None where they would find no room in a mailbox, or take too long to be written here:
        the pool tells them as a gap, in fewer messages."""
        if len(backlog) > self._settings.mailbox_events:
            return None
        brief, messages, nbytes = BriefCancel(), list[Message](), 0
        for event in backlog:
            try:
                brief.check()
                message = self._views.recent.written(event, form, brief)
            except (StartAgain, AdalogError):
                return None
            if isinstance(message, AdalogError):
                return message
            messages.append(message)
            nbytes += message.nbytes
            if nbytes > self._settings.mailbox_bytes:
                return None
        return messages

    # The end

    def _failed(self, feed: Feed, error: AdalogError) -> None:
        for seat in tuple(feed.seats.values()):
            self._end(seat, error)

    def _unwritten(self, feed: Feed, channel: Channel, error: AdalogError) -> None:
        for seat in tuple(feed.seats.values()):
            if seat.channel is channel:
                self._end(seat, error)

    def _end(self, seat: Subscriber, error: AdalogError) -> None:
        """Tells a subscriber that nothing follows."""
        if seat.subscription in self._seats:
            seat.outlet.post(seat.subscription.end, error)
            self._leave(seat)

    def _leave(self, seat: Subscriber) -> None:
        feed = seat.feed
        del self._seats[seat.subscription]
        _unfollow(seat)
        if seat.errand is not None:
            seat.errand.drop()
        if seat.shared is not None:
            shared = feed.asked[seat.shared]
            del shared.seats[seat]
            if not shared.seats:
                # Its place is for others.
                shared.work.drop()
                del feed.asked[seat.shared]
        seat.private = seat.errand = seat.shared = None
        feed.seats.pop(seat.subscription, None)
        feed.waiting.pop(seat, None)
        key = (seat.outlet.key, seat.form.key)
        channel = feed.channels.get(key)
        if channel is not None and not channel.following:
            del feed.channels[key]
        if not feed.seats:
            self._views.free(feed)
        if not self._seats:
            self._made.clear()
        self._gone(seat.client)


def _unfollow(seat: Subscriber) -> None:
    if seat.channel is not None:
        seat.channel.following -= 1
        seat.channel = None


def _fill(subscription: Subscription, made: CatchUpMessages, behind: bool) -> None:
    held: Any = made.held
    subscription.filled(made.messages, held, behind=behind)
