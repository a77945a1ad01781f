"""The hub: follows the database's transactions on a thread of its own, and tells subscribers what they change.

The writer's thread only queues what it committed. The hub's thread finds the views that a transaction can touch
(`interests`), steps those whose steps are short, and has the pool step the others; what they give is written once
for all who want it in the same form, and posted to where the subscribers read (`outlet`). It never waits for any
of them.

One DELTA is made for each transaction that changes an answer. Several transactions become one step, and one
DELTA, in three cases: a view at work elsewhere has the rest done in one step when it comes back; where more than
`_FAR_BEHIND` transactions wait for the hub they are taken as one; and where attributes with :db/noHistory exist,
those that were committed together are, as the moments between them cannot be read.

A subscription begins at a moment of its feed: the snapshot there is computed by the pool meanwhile, the feed's
recent events since are kept, and handed over after it (`Feed.since`). Where they are kept no longer, what lies
between is asked of the database like any other gap (`catching_up`).
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import queue
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from typing import Any, Final

from datalog.errors import AdalogError, Code
from executor.bounds.budget import Held, Memory
from executor.bounds.cancel import Cancel, StartAgain, stopping
from executor.bounds.client import ASKING, Client
from executor.live.catching_up import CatchingUp, Filling, OverError, Reading
from executor.live.event import Event, Form, Kind, Position
from executor.live.feed import Feed, Followed, Recent, Seat
from executor.live.holding import Chunks
from executor.live.interests import Interests
from executor.live.outlet import LoopOutlet, Outlet, ThreadOutlet
from executor.live.settings import LiveSettings
from executor.live.subscription import BlockingSubscription, Subscription
from executor.live.work import Brief, Done, Work
from executor.maintain.choosing import feed_key, view_key, view_of
from executor.maintain.compared import Compared
from executor.maintain.view import Tick, View
from executor.pool import Pool
from executor.question.question import Question
from executor.question.request import Request
from store.bootstrap import IDENT
from store.database import TxReport
from store.snapshot import Snapshot

_LOGGER: Final = logging.getLogger("adalog.live")

# Transactions that wait for the hub, beyond which they become one step.
_FAR_BEHIND: Final = 256
# Seconds after which what the pool had no place for is tried again.
_AGAIN_SECONDS: Final = 0.05
# Feeds that are told of idleness at once.
_IDLE_AT_ONCE: Final = 200
# The planner's cost of work that is known to be heavy.
_HEAVY: Final = 1e9
_LOG: Final = "log"
# Snapshots, and the bytes of one, that are kept for who joins at the same moment.
_SNAPSHOTS: Final = 32
_SNAPSHOT_BYTES: Final = 256 << 10


@dataclass(frozen=True, slots=True)
class Begin:
    """Where a stream begins: after a position, None for a snapshot of now. `each`: every transaction since is to be
    told by itself. `reset`: why it starts over instead of going on."""

    position: Position | None = None
    each: bool = False
    reset: str | None = None


@dataclass(slots=True)
class Figures:
    """For the metrics. `ticks`, `tick_seconds`: transactions that touched a view, and the time that took."""

    subscriptions: int = 0
    views: int = 0
    feeds: int = 0
    events: Counter[str] = field(default_factory=Counter)
    overflows: int = 0
    resets: int = 0
    ticks: int = 0
    tick_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that somebody wants to follow, with its keys, and a view where there was none for it."""

    question: Question
    key: Hashable
    view_key: Hashable
    view: View | None


_Job = Callable[[], None]
_Told = tuple[TxReport, Snapshot]


def _groups(told: Sequence[_Told], newest: Snapshot) -> Iterable[Sequence[_Told]]:
    """The transactions that are one step each."""
    if len(told) > _FAR_BEHIND:
        return [told]
    if newest.origin.forgetful:
        return [list(group) for _, group in itertools.groupby(told, lambda each: id(each[1]))]
    return [[each] for each in told]


class Hub:
    """Thread-safe. `close` ends all subscriptions and its thread."""

    def __init__(self, pool: Pool, settings: LiveSettings | None = None) -> None:
        self.pool = pool
        self.database = pool.database
        self.settings = settings or LiveSettings()
        self.memory = Memory(self.settings.memory_bytes)
        self.figures = Figures()
        self._jobs: queue.SimpleQueue[_Job | _Told | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._of: Counter[str] = Counter()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._outlets: dict[Hashable, Outlet] = {None: ThreadOutlet()}
        # The rest belongs to the hub's thread.
        self._now: Snapshot | None = None
        self._views: dict[Hashable, Followed] = {}
        self._feeds: dict[Hashable, Feed] = {}
        self._seats: dict[Subscription, Seat] = {}
        self._interests: Interests[Followed] = Interests()
        self._recent = Recent(self.settings.recent_events, self.settings.recent_bytes)
        self._numbers = itertools.count(1)
        self._schema_key = -1
        # Of a group that was committed together, those that were told of so far, where it has to be taken as one.
        self._partly: list[_Told] = []
        # Feeds with somebody who waits for a moment to come.
        self._awaited: dict[Feed, None] = {}
        # Small snapshots that were just made, for who joins next.
        self._made: deque[Chunks] = deque(maxlen=_SNAPSHOTS)
        # When each feed is to hear that nothing happens, the next first.
        self._idle: OrderedDict[Feed, float] = OrderedDict()
        self._again: list[_Job] = []
        self._again_at = 0.0

    # For whoever subscribes

    def asked(self, request: Request, cancel: Cancel) -> Asked:
        """A request made ready to be followed, on the pool's threads. Raises what is wrong with it."""
        question = self.pool.question(request, cancel)
        self.pool.engine.compiler.compile(question, cancel=cancel)
        shared = view_key(question)
        view = None if shared in self._views else view_of(question, self.pool.engine)
        return Asked(question, feed_key(question), shared, view)

    def follow(self, asked: Asked, form: Form, begin: Begin, *, blocking: bool = False) -> Subscription:
        """A subscription to a question's answer. Call it on the event loop that reads, or with `blocking` anywhere.

        Raises RATE_LIMITED where there are as many as may be, and BACKEND_UNAVAILABLE after `close`.
        """
        subscription = self._subscription(begin.position, blocking)
        outlet, client = self._outlet(blocking), self._counted(subscription)
        since = self.database.snapshot().t

        def sit() -> None:
            feed = self._feed(asked, client)
            seat = Seat(subscription, outlet, form, feed, client, since, begin.each, begin.reset)
            self._sit(seat, begin.position)

        self._jobs.put(sit)
        return subscription

    def follow_log(self, form: Form, start: int | None, *, blocking: bool = False) -> Subscription:
        """A subscription to the transactions from number `start` on, None: from the next. Raises likewise."""
        now = self.database.snapshot().t
        position = Position(now if start is None else max(start, 1) - 1)
        subscription = self._subscription(position, blocking)
        outlet, client = self._outlet(blocking), self._counted(subscription)

        def sit() -> None:
            feed = self._log_feed()
            self._sit(Seat(subscription, outlet, form, feed, client, position.t), position)

        self._jobs.put(sit)
        return subscription

    def stop(self) -> None:
        """Ends all subscriptions with BACKEND_UNAVAILABLE, retryable, and takes no more. Does not wait."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._jobs.put(lambda: self._end_all(stopping()))
                self._jobs.put(None)

    def close(self) -> None:
        """Stops, and waits for the end of the thread."""
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Hub:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def memory_bytes(self) -> int:
        """Bytes of views and of snapshots that are not read yet."""
        return self.memory.held

    # For subscriptions

    def wanted(self, subscription: Subscription, position: Position | None) -> None:
        """Queues what follows a position."""
        self._jobs.put(lambda: self._wanted(subscription, position))

    def left(self, subscription: Subscription, *, closed: bool) -> None:
        """Queues that it no longer follows."""
        self._jobs.put(lambda: self._left(subscription, closed=closed))

    def overflowed(self) -> None:
        """Counts it."""
        self.figures.overflows += 1

    # On the caller's thread

    def _subscription(self, position: Position | None, blocking: bool) -> Subscription:
        made = BlockingSubscription if blocking else Subscription
        return made(self, self.settings, position)

    def _outlet(self, blocking: bool) -> Outlet:
        if blocking:
            return self._outlets[None]
        loop = asyncio.get_running_loop()
        with self._lock:
            found = self._outlets.get(id(loop))
            if not isinstance(found, LoopOutlet) or found.loop is not loop:
                self._outlets = {
                    key: each
                    for key, each in self._outlets.items()
                    if not (isinstance(each, LoopOutlet) and each.loop.is_closed())
                }
                found = self._outlets[id(loop)] = LoopOutlet(loop)
            return found

    def _counted(self, subscription: Subscription) -> Client:
        """Counts a subscription; who asks. Raises RATE_LIMITED and BACKEND_UNAVAILABLE."""
        client, settings = ASKING.get(), self.settings
        with self._lock:
            if self._closed:
                raise stopping()
            whole, own = self.figures.subscriptions, self._of[client.principal]
            if whole >= settings.subscriptions:
                raise _too_many(f"{settings.subscriptions:,} subscriptions are open", "LIVE_SUBSCRIPTIONS")
            if own >= settings.subscriptions_per_principal:
                raise _too_many(
                    f"{settings.subscriptions_per_principal:,} subscriptions of yours are open",
                    "LIVE_SUBSCRIPTIONS_PER_PRINCIPAL",
                )
            self.figures.subscriptions += 1
            self._of[client.principal] += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="adalog-live", daemon=True)
                self._thread.start()
        return client

    def _uncounted(self, client: Client) -> None:
        with self._lock:
            self.figures.subscriptions -= 1
            self._of[client.principal] -= 1
            if not self._of[client.principal]:
                del self._of[client.principal]

    def _heard(self, report: TxReport, snapshot: Snapshot) -> None:
        self._jobs.put((report, snapshot))

    # The thread

    def _run(self) -> None:
        while True:
            try:
                first = self._jobs.get(timeout=self._patience())
            except queue.Empty:
                jobs: list[Any] = []
            else:
                jobs = [first]
                # What came meanwhile, so that being far behind is noticed.
                jobs += [self._jobs.get() for _ in range(self._jobs.qsize())]
            for kind, some in itertools.groupby(jobs, type):
                if kind is tuple:
                    self._guarded(self._committed, list(some))
                    continue
                for job in some:
                    if job is None:
                        self._flush()
                        return
                    self._guarded(job)
            self._guarded(self._due)
            self._flush()

    def _guarded(self, job: Callable[..., None], *args: Any) -> None:
        try:
            job(*args)
        except Exception:
            _LOGGER.exception("the hub of live queries failed at something")

    def _flush(self) -> None:
        for outlet in tuple(self._outlets.values()):
            outlet.flush()

    def _patience(self) -> float | None:
        times = [self._again_at] if self._again else []
        if self._idle:
            times.append(next(iter(self._idle.values())))
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _due(self) -> None:
        """What is to be done at its time."""
        now = time.monotonic()
        if self._again and now >= self._again_at:
            again, self._again = self._again, []
            for job in again:
                job()
        for _ in range(_IDLE_AT_ONCE):
            feed, at = next(iter(self._idle.items()), (None, 0.0))
            if feed is None or at > now:
                return
            self._is_idle(feed)

    def _later(self, job: _Job) -> None:
        if not self._again:
            self._again_at = time.monotonic() + _AGAIN_SECONDS
        self._again.append(job)

    # Transactions

    def _committed(self, told: Sequence[_Told]) -> None:
        now = self._now
        if now is None:
            self._partly = []
            return
        told = [each for each in (*self._partly, *told) if each[0].t > now.t]
        self._partly = []
        if not told:
            return
        newest = told[-1][1]
        if newest.origin.forgetful and told[-1][0].t < newest.t:
            self._partly = [each for each in told if each[1] is newest]
            told = told[: -len(self._partly)]
            if not told:
                return
            newest = told[-1][1]
        for group in _groups(told, newest):
            started = time.perf_counter()
            if self._tick([report for report, _ in group], group[-1][1]):
                self.figures.ticks += 1
                self.figures.tick_seconds += time.perf_counter() - started
        for report, _ in told:
            self._logged(report)
        last = told[-1][0].t
        self._now = newest if newest.t == last else newest.as_of(last)
        awaited, self._awaited = self._awaited, {}
        for feed in awaited:
            self._begin_waiting(feed)

    def _tick(self, reports: list[TxReport], snapshot: Snapshot) -> bool:
        """Steps what some transactions touch; whether there was any."""
        assert self._now is not None, "somebody follows"
        last = reports[-1].t
        attributes = self._interests.attributes(reports, snapshot) if len(self._interests) else []
        new_schema = snapshot.schema_key != self._schema_key
        if not attributes and not self._interests.wants_all and not new_schema:
            # Nobody wants to know, and what holds until then is read from the next moment.
            self._now = snapshot if snapshot.t == last else self._now
            return False
        new = snapshot if snapshot.t == last else snapshot.as_of(last)
        tick = Tick(self._now, new)
        touched = list(self._interests.touched(attributes, tick))
        # What is an attribute, and which entity a keyword names, decides what can touch a view.
        anew = new_schema or IDENT in attributes
        if new_schema:
            self._schema_key = snapshot.schema_key
            touched = list(self._views.values())
        self._now = new
        for followed in touched:
            followed.asks_anew |= anew
            self._touch(followed, tick)
        return bool(touched)

    def _touch(self, followed: Followed, tick: Tick) -> None:
        if followed.busy or followed.at is not None:
            followed.at = followed.at or tick.old
            return
        followed.at = tick.old
        self._work(followed, tick)

    def _work(self, followed: Followed, tick: Tick | None = None) -> None:
        """Brings a view to the newest moment, with the feeds that wait to be added, here or elsewhere."""
        assert self._now is not None, "somebody follows"
        if followed.busy or self._views.get(followed.key) is not followed:
            return
        at, now = followed.at, self._now
        adding, followed.adding = [feed for feed in followed.adding if feed.seats], []
        if at is None and not adding:
            return
        if tick is None and at is not None:
            tick = Tick(at, now)
        forms = {feed: feed.forms() for feed in followed.feeds.values()}
        work = Work(followed, self.pool.engine, self.pool.memory, at or now, tick, adding, forms)
        followed.at = None
        if not followed.heavy:
            try:
                self._worked(followed, work, work.do(Brief()))
                return
            except StartAgain:
                followed.heavy = True
        self._submit_work(followed, work)

    def _submit_work(self, followed: Followed, work: Work) -> None:
        if self._views.get(followed.key) is not followed:
            followed.busy = False
            return
        followed.busy = True
        followed.cancel = cancel = Cancel.after(self.settings.timeout_ms)

        def done(future: Future[Done]) -> None:
            self._jobs.put(lambda: self._came_back(followed, work, future))

        try:
            ASKING.set(followed.client)
            self.pool.submit(cancel, work.do, _HEAVY if work.tick is not None else 0.0).add_done_callback(done)
        except AdalogError as error:
            failed: Future[Done] = Future()
            failed.set_exception(error)
            self._came_back(followed, work, failed)

    def _came_back(self, followed: Followed, work: Work, future: Future[Done]) -> None:
        followed.cancel = None
        error = _failure(future)
        if error is not None and error.code is Code.RATE_LIMITED:
            # There was no place for it: nobody's query failed.
            self._later(lambda: self._submit_work(followed, work))
            return
        followed.busy = False
        if self._views.get(followed.key) is not followed:
            followed.held.become(0)
        elif error is None:
            self._worked(followed, work, future.result())
        else:
            for feed in (*followed.feeds.values(), *work.adding):
                self._fail(feed, error)

    def _worked(self, followed: Followed, work: Work, done: Done) -> None:
        """Hands on what came of some work, and goes on with what came meanwhile."""
        first = not followed.feeds
        for feed in done.added:
            feed.ready, feed.covered = True, work.at.t
            followed.feeds[feed.number] = feed
        if followed.at is not None:
            # It was touched while it was at work: it goes on from where the work has brought it.
            followed.at = work.at if work.tick is None else work.tick.new
        for feed, event in done.events.items():
            if isinstance(event, AdalogError):
                self._fail(feed, event)
            else:
                self._emit(feed, event)
        for feed in tuple(followed.feeds.values()):
            if not feed.seats:
                self._leave_view(followed, feed)
        if self._views.get(followed.key) is not followed:
            return
        if first:
            followed.began(done.seconds)
        elif work.tick is not None:
            followed.took(done.seconds)
        if done.added or followed.asks_anew:
            followed.asks_anew = False
            self._ask_interests(followed)
        for feed in tuple(followed.feeds.values()) if done.added or followed.awaited else ():
            self._begin_waiting(feed)
        followed.awaited = any(feed.waiting for feed in followed.feeds.values()) if followed.awaited else False
        if followed.at is not None or followed.adding:
            self._work(followed)

    def _ask_interests(self, followed: Followed) -> None:
        if followed.view is not None and self._now is not None:
            self._interests.put(followed, followed.view.interests(self._now))

    # Feeds

    def _feed(self, asked: Asked, client: Client) -> Feed:
        feed = self._feeds.get(asked.key)
        if feed is not None:
            return feed
        self._wake()
        followed = self._views.get(asked.view_key)
        if followed is None:
            view = asked.view or view_of(asked.question, self.pool.engine)
            # What is asked anew is asked for each feed, whose errors and time are its own.
            key = asked.key if isinstance(view, Compared) else asked.view_key
            client = replace(client, request=0)
            followed = Followed(key, asked.question, view, Held(self.memory.budget()), client)
            self._views[key] = followed
            self.figures.views = len(self._views)
        feed = Feed(next(self._numbers), asked.key, asked.question, followed)
        self._feeds[asked.key] = feed
        self.figures.feeds = len(self._feeds)
        followed.adding.append(feed)
        return feed

    def _log_feed(self) -> Feed:
        feed = self._feeds.get(_LOG)
        if feed is None:
            self._wake()
            assert self._now is not None
            feed = Feed(next(self._numbers), _LOG, None, None, covered=self._now.t, ready=True)
            self._feeds[_LOG] = feed
            self.figures.feeds = len(self._feeds)
        return feed

    def _wake(self) -> None:
        """Follows the database from now on."""
        if self._now is None:
            self.database.add_listener(self._heard)
            self._now = self.database.snapshot()
            self._schema_key = self._now.schema_key

    def _sleep(self) -> None:
        """Nobody follows: the writer has nobody to tell."""
        if not self._feeds and self._now is not None:
            self.database.remove_listener(self._heard)
            self._now = None
            self._recent.clear()
            self._idle.clear()
            self._made.clear()
            self._awaited.clear()

    def _free(self, feed: Feed) -> None:
        """The last subscriber has gone."""
        if self._feeds.get(feed.key) is feed:
            del self._feeds[feed.key]
        self._idle.pop(feed, None)
        followed = feed.followed
        if followed is not None and not followed.busy:
            self._leave_view(followed, feed)
        elif followed is not None and not any(each.seats for each in (*followed.feeds.values(), *followed.adding)):
            self._drop_view(followed)
        self.figures.feeds = len(self._feeds)
        self._sleep()

    def _leave_view(self, followed: Followed, feed: Feed) -> None:
        if feed in followed.adding:
            followed.adding.remove(feed)
        if followed.feeds.pop(feed.number, None) is not None and followed.view is not None:
            followed.view.drop(feed.number)
            followed.held.become(followed.view.nbytes())
        if not followed.feeds and not followed.adding:
            self._drop_view(followed)

    def _drop_view(self, followed: Followed) -> None:
        if self._views.get(followed.key) is followed:
            del self._views[followed.key]
            self._interests.remove(followed)
            if followed.cancel is not None:
                followed.cancel.cancel()
            if not followed.busy:
                followed.held.become(0)
            self.figures.views = len(self._views)

    def _emit(self, feed: Feed, event: Event) -> None:
        """Tells all who follow a feed, and keeps the event for those who will."""
        self._recent.add(feed, event)
        self._tell(feed, event)

    def _tell(self, feed: Feed, event: Event) -> None:
        for channel in tuple(feed.channels.values()):
            if channel.following:
                try:
                    message = event.message(channel.form, Cancel())
                except AdalogError as error:
                    self._fail(feed, error)
                    return
                channel.outlet.tell(channel, message)
                self.figures.events[event.kind] += channel.following
        self._busy_until(feed)

    def _busy_until(self, feed: Feed) -> None:
        if feed.followed is not None:
            self._idle[feed] = time.monotonic() + self.settings.progress_seconds
            self._idle.move_to_end(feed)

    def _is_idle(self, feed: Feed) -> None:
        moment = self._moment(feed)
        if moment is not None and feed.ready:
            self._tell(feed, Event(Kind.PROGRESS, Position(moment.t)))
        else:
            self._busy_until(feed)

    def _logged(self, report: TxReport) -> None:
        feed = self._feeds.get(_LOG)
        if feed is not None:
            self._emit(feed, Event(Kind.TRANSACTION, Position(report.t), report=report))
            self._begin_waiting(feed)

    def _fail(self, feed: Feed, error: AdalogError) -> None:
        """A query cannot be followed any more: its subscribers are told, and nobody else."""
        for seat in tuple(feed.seats.values()):
            self._end(seat, error)

    def _moment(self, feed: Feed) -> Snapshot | None:
        """Up to where a feed's events are known; None while its view is at work."""
        followed = feed.followed
        if followed is None:
            return self._now
        if not feed.ready or followed.busy:
            return None
        return followed.at or self._now

    # Subscribers

    def _sit(self, seat: Seat, position: Position | None) -> None:
        feed = seat.feed
        subscription = seat.subscription
        if self._closed:
            seat.outlet.post(subscription.end, stopping())
            self._uncounted(seat.client)
            return
        self._seats[subscription] = seat
        feed.seats[subscription] = seat
        if subscription.closed:
            self._left(subscription, closed=True)
            return
        self._go_on(seat, position)
        if feed.followed is not None and not feed.ready:
            self._work(feed.followed)

    def _wanted(self, subscription: Subscription, position: Position | None) -> None:
        seat = self._seats.get(subscription)
        if seat is not None:
            self._go_on(seat, position)

    def _go_on(self, seat: Seat, position: Position | None) -> None:
        """Has a subscriber get what follows a position."""
        feed = seat.feed
        now = self._moment(feed)
        if position is not None and position.rows is not None and seat.reset is None:
            self._fill(seat, lambda cancel: self._rest_of_snapshot(seat, position, cancel))
            return
        if now is None or now.t < seat.since:
            feed.waiting[seat] = position
            self._awaited[feed] = None
            if feed.followed is not None:
                feed.followed.awaited = True
            return
        if position is None or seat.reset is not None:
            self._begin(seat, now)
            return
        since = position.t
        if self._join(seat, since):
            return
        catching, form = self._catching(feed), seat.form
        private, seat.private = seat.private, None
        left = [private]
        if catching is None:
            reading = Reading(self.pool, self.settings)
            self._fill(seat, lambda cancel: reading.gap(since, now.t, form, cancel))
            return
        # Begun again, it begins at the position.
        self._fill(
            seat,
            lambda cancel: catching.gap(left.pop() if left else None, since, now, form, cancel, each=seat.each),
        )

    def _begin_waiting(self, feed: Feed) -> None:
        if not feed.waiting:
            return
        waiting, feed.waiting = feed.waiting, {}
        for seat, position in waiting.items():
            if seat.subscription in feed.seats:
                self._go_on(seat, position)

    def _begin(self, seat: Seat, now: Snapshot) -> None:
        """Has a subscriber get a snapshot of its feed's moment, shared with others who begin there."""
        feed, form, reset = seat.feed, seat.form, seat.reset
        catching = self._catching(feed)
        assert catching is not None, "the log has no snapshot"
        if reset is not None:
            seat.reset = None
            self.figures.resets += 1
            self._fill(seat, lambda cancel: catching.snapshot(now, form, cancel, reset=reset))
            return
        key = (now.t, form.key)
        made = feed.snapshots.get(key)
        if made is not None:
            self._filled(seat, made)
            return
        asked = feed.asked.get(key)
        if asked is not None:
            asked.append(seat)
            return
        feed.asked[key] = [seat]
        cancel = Cancel.after(self.settings.timeout_ms)

        def done(future: Future[Chunks]) -> None:
            self._jobs.put(lambda: self._begun(feed, key, future))

        self._submit(seat.client, cancel, lambda cancel: catching.snapshot(now, form, cancel), done)

    def _begun(self, feed: Feed, key: tuple[int, Hashable], future: Future[Chunks]) -> None:
        seats = [seat for seat in feed.asked.pop(key, ()) if seat.subscription in feed.seats]
        error = _failure(future)
        for seat in seats:
            if error is not None:
                self._end(seat, error)
            else:
                made = future.result()
                feed.snapshots[key] = made
                if made.nbytes <= _SNAPSHOT_BYTES:
                    self._made.append(made)
                self._filled(seat, made)

    def _rest_of_snapshot(self, seat: Seat, position: Position, cancel: Cancel) -> Filling:
        catching = self._catching(seat.feed)
        assert catching is not None, "the log has no snapshot"
        assert position.rows is not None, "a position within a snapshot"
        at = self.database.at(t=position.t)
        chunks = catching.snapshot(at, seat.form, cancel, position.rows)
        return Filling(chunks.messages, Position(position.t), behind=True, held=chunks)

    def _catching(self, feed: Feed) -> CatchingUp | None:
        if feed.question is None:
            return None
        return CatchingUp(self.pool, self.settings, self.memory, feed.question)

    def _fill(self, seat: Seat, work: Callable[[Cancel], Filling | Chunks]) -> None:
        """Has the pool do something for one subscriber."""
        seat.cancel = cancel = Cancel.after(self.settings.timeout_ms)

        def done(future: Future[Filling | Chunks]) -> None:
            self._jobs.put(lambda: self._got(seat, cancel, future))

        self._submit(seat.client, cancel, work, done)

    def _submit(
        self, client: Client, cancel: Cancel, work: Callable[[Cancel], Any], done: Callable[[Future[Any]], None]
    ) -> None:
        try:
            ASKING.set(client)
            self.pool.submit(cancel, work).add_done_callback(done)
        except AdalogError as error:
            failed: Future[Any] = Future()
            failed.set_exception(error)
            done(failed)

    def _got(self, seat: Seat, cancel: Cancel, future: Future[Filling | Chunks]) -> None:
        if seat.cancel is cancel:
            seat.cancel = None
        if seat.subscription not in self._seats:
            return
        over = None if future.cancelled() else future.exception()
        if isinstance(over, OverError):
            seat.reset, seat.each = over.reason, False
            self._go_on(seat, None)
            return
        error = _failure(future)
        if error is not None:
            self._end(seat, error)
        else:
            self._filled(seat, future.result())

    def _filled(self, seat: Seat, made: Filling | Chunks) -> None:
        if isinstance(made, Chunks):
            made = Filling(made.messages, Position(made.messages[-1].t), behind=False, held=made)
        seat.private = made.private
        for message in made.messages:
            self.figures.events[message.kind] += 1
        # What it cannot go on from is asked for once it has read what there is now.
        behind = made.behind or seat.feed.since(made.reached.t) is None
        if made.messages:
            seat.outlet.post(_filled, seat.subscription, made, behind)
        if not made.messages or not behind:
            self._go_on(seat, made.reached)

    def _join(self, seat: Seat, t: int) -> bool:
        """Has a subscriber that knows the state after transaction t follow from there, if what came since is
        kept."""
        feed = seat.feed
        backlog = feed.since(t)
        if backlog is None:
            return False
        seat.each = False
        if seat.private is not None:
            seat.private.close()
            seat.private = None
        channel = feed.channel(seat)
        try:
            messages = [event.message(seat.form, Cancel()) for event in backlog]
        except AdalogError as error:
            self._end(seat, error)
            return True
        channel.following += 1
        channel.lost = False
        seat.channel = channel
        self.figures.events[Kind.DELTA] += len(messages)
        seat.outlet.post(seat.subscription.joined, channel, messages)
        if feed not in self._idle:
            self._busy_until(feed)
        return True

    def _left(self, subscription: Subscription, *, closed: bool) -> None:
        seat = self._seats.get(subscription)
        if seat is None:
            return
        if seat.channel is not None:
            seat.channel.following -= 1
            seat.channel = None
        if closed:
            self._gone(seat)

    def _end(self, seat: Seat, error: AdalogError) -> None:
        """Tells a subscriber that nothing follows."""
        if seat.subscription in self._seats:
            seat.outlet.post(seat.subscription.end, error)
            self._gone(seat)

    def _gone(self, seat: Seat) -> None:
        feed = seat.feed
        del self._seats[seat.subscription]
        self._uncounted(seat.client)
        if seat.channel is not None:
            seat.channel.following -= 1
            seat.channel = None
        if seat.cancel is not None:
            seat.cancel.cancel()
        if seat.private is not None:
            seat.private.close()
            seat.private = None
        feed.seats.pop(seat.subscription, None)
        feed.waiting.pop(seat, None)
        key = (seat.outlet.key, seat.form.key)
        channel = feed.channels.get(key)
        if channel is not None and not channel.following:
            del feed.channels[key]
        if not feed.seats:
            self._free(feed)

    def _end_all(self, error: AdalogError) -> None:
        for seat in tuple(self._seats.values()):
            self._end(seat, error)


def _filled(subscription: Subscription, made: Filling, behind: bool) -> None:
    subscription.filled(made.messages, made.held, behind=behind)


def _failure(future: Future[Any]) -> AdalogError | None:
    """Why some work gave nothing."""
    if future.cancelled():
        return AdalogError(Code.CANCELLED, "the work was cancelled")
    error = future.exception()
    if error is None or isinstance(error, AdalogError):
        return error
    if isinstance(error, CancelledError):
        return AdalogError(Code.CANCELLED, "the work was cancelled")
    _LOGGER.error("a live query failed", exc_info=error)
    return AdalogError(Code.INTERNAL, "the live query failed; the server's log says why")


def _too_many(what: str, setting: str) -> AdalogError:
    return AdalogError(
        Code.RATE_LIMITED,
        f"{what}, the most there may be; close one or try again; the setting ADALOG_{setting} moves this limit",
        retry_after=1,
    )


__all__ = ["Asked", "Begin", "Figures", "Hub"]
