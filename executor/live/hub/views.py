"""Views and their feeds: which of them a transaction touches, their steps, and the resulting events.

Each transaction that changes an answer makes one DELTA. Several transactions become one step, and one DELTA, in
three cases: they touched the view while it was at work elsewhere, and `view_update` has no time for each; more than
`_FAR_BEHIND` transactions wait for the hub; or attributes with :db/noHistory exist and the transactions were
committed together, since the moments between them cannot be read.
"""

from __future__ import annotations

import itertools
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Protocol

from adalog.datalog.errors import AdalogError, unavailable
from adalog.executor.bounds.cancel import Cancel, StartAgain
from adalog.executor.bounds.client import Client
from adalog.executor.bounds.failure import emptied
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import Interest, LiveView
from adalog.executor.live.hub.catch_up import LogCatchUp
from adalog.executor.live.hub.feed import Feed, FollowedView, RecentEvents
from adalog.executor.live.hub.interests import Interests
from adalog.executor.live.hub.log import FollowedLog
from adalog.executor.live.hub.memory import MemoryShare
from adalog.executor.live.hub.parts import HubParts
from adalog.executor.live.hub.pool_jobs import PoolJob, Purpose
from adalog.executor.live.hub.view_update import BriefCancel, ViewOutcome, ViewUpdate
from adalog.executor.live.subscribers.delivery import Channel
from adalog.executor.live.subscribers.event import Event, EventKind, StreamPosition, failure
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.question.question import Question
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.bootstrap import IDENT
from adalog.store.values.datom import TxReport

Commit = tuple[TxReport, Snapshot]

# Transactions that wait for the hub, beyond which they become one step.
_FAR_BEHIND: Final = 256
# Feeds that a view gets to know in one turn of the hub.
_ADDED_AT_ONCE: Final = 32
# Feeds that get PROGRESS in one turn of the hub, before it looks for transactions again, and the seconds between
# two such turns: threads and connections are woken once for all of them, and not for each.
_IDLE_AT_ONCE: Final = 32
_IDLE_PAUSE: Final = 0.008
# Of all that live queries may hold, the part that joins may take which are kept for next steps, and the part that
# these leave to others.
_JOINS_PART: Final = 1 / 4
_FREE_PART: Final = 1 / 10
# The planner's cost of work that is known to be heavy.
_HEAVY: Final = 1e9
_LOG: Final = "log"


@dataclass(frozen=True, slots=True)
class LiveQuestion:
    """A question to be followed. `key`: of its feed; `view_key`: of its view; `view`: a new view for the question's
    moment, if there was none; `visible`: what its viewer sees, None: everything."""

    question: Question
    key: Hashable
    view_key: Hashable
    view: LiveView | None
    visible: VisibleMoments | None = None


class Listener(Protocol):
    """What the views tell of feeds that subscribers wait for. `ready`: the feed has reached another moment.
    `unwritten`: an event cannot be written in the form of a channel. `enforced`: from now on policies say who sees
    what. `excised`: what was made before an excision is not to be used any more."""

    def ready(self, feed: Feed) -> None: ...
    def failed(self, feed: Feed, error: AdalogError) -> None: ...
    def unwritten(self, feed: Feed, channel: Channel, error: AdalogError) -> None: ...
    def enforced(self) -> None: ...
    def excised(self) -> None: ...


class Views:
    """Belongs to the hub's thread. `begin` ends each turn of the hub. `heard` is called on the writer's thread."""

    def __init__(self, parts: HubParts, heard: Callable[[TxReport, Snapshot], None], listener: Listener) -> None:
        # Read by other threads, too.
        self.known: dict[Hashable, FollowedView] = {}
        self.now: Snapshot | None = None
        self._parts = parts
        self._database = parts.pool.database
        self._figures = parts.figures
        self._heard = heard
        self._listener = listener
        self._feeds: dict[Hashable, Feed] = {}
        self._log: FollowedLog | None = None
        self._interests: Interests[FollowedView] = Interests()
        self.recent = RecentEvents(parts.settings.recent_events, parts.settings.recent_bytes)
        self._numbers = itertools.count(1)
        self._schema_key = -1
        self._enforced = False
        # Of a group that was committed together, those that were told of so far, where it has to be taken as one.
        self._partly: list[Commit] = []
        # Views that keep joins, the one stepped longest ago first, and the bytes of these, up to a most.
        self._keeping: OrderedDict[FollowedView, int] = OrderedDict()
        self._kept_bytes = 0
        # Views with feeds that came in the present turn.
        self._beginning: dict[FollowedView, None] = {}
        # Feeds whose subscribers wait for the next moment.
        self._awaited: dict[Feed, None] = {}
        # When PROGRESS is due for each feed, the next first.
        self._idle: OrderedDict[Feed, float] = OrderedDict()
        # When the next PROGRESS may be sent.
        self._idle_from = 0.0

    # Feeds

    def feed(self, asked: LiveQuestion, client: Client) -> Feed:
        """The feed of a question, made where there is none; its view knows it later."""
        feed = self._feeds.get(asked.key)
        if feed is not None:
            return feed
        now, question = self._wake(), UndatedQuestion.of(asked.question, asked.visible)
        followed = self.known.get(asked.view_key)
        if followed is None:
            holding = MemoryShare(self._parts.memory)
            # What was planned for other attributes is not what the view has to be at this moment.
            view = asked.view if asked.question.snapshot.schema.key == now.schema.key else None
            followed = FollowedView(asked.view_key, question, view, holding, replace(client, request=0))
            self.known[followed.key] = followed
            self._figures.views = len(self.known)
        feed = Feed(next(self._numbers), asked.key, question, followed)
        followed.adding.append(feed)
        followed.alive += 1
        self._beginning[followed] = None
        self._keep(feed)
        return feed

    def log_feed(self, client: Client) -> Feed:
        if self._log is None:
            now = self._wake()
            feed = Feed(next(self._numbers), _LOG, None, None, covered=now.t, ready=True)
            self._log = FollowedLog(
                feed,
                now.t,
                replace(client, request=0),
                LogCatchUp(self._parts),
                self._parts.pool_jobs,
                lambda event: self._emit(feed, event),
                self._log_went_on,
            )
            self._keep(feed)
        return self._log.feed

    def _log_went_on(self, error: AdalogError | None) -> None:
        if self._log is not None:
            if error is None:
                self._listener.ready(self._log.feed)
            else:
                self._listener.failed(self._log.feed, error)

    def _keep(self, feed: Feed) -> None:
        self._feeds[feed.key] = feed
        self._figures.feeds = len(self._feeds)

    def begin(self) -> None:
        """Has views know the feeds that came since the last time."""
        beginning, self._beginning = self._beginning, {}
        for followed in beginning:
            if followed.adding:
                self._work(followed)

    def free(self, feed: Feed) -> None:
        if not self._is_followed(feed):
            return
        del self._feeds[feed.key]
        self._figures.feeds = len(self._feeds)
        self._idle.pop(feed, None)
        self._awaited.pop(feed, None)
        followed = feed.followed
        if followed is not None:
            followed.alive -= 1
            followed.awaited.pop(feed, None)
            if not followed.alive:
                self._drop(followed)
            elif followed.busy:
                followed.leaving.append(feed)
            else:
                self._leave(followed, feed)
        elif self._log is not None:
            self._log.close()
            self._log = None
        self._sleep()

    def moment(self, feed: Feed) -> Snapshot | None:
        """Up to where a feed's events are known; None while its view is at work, or does not know it yet."""
        followed = feed.followed
        if followed is None:
            return self._moment_of_log()
        if not feed.ready or followed.busy:
            return None
        return followed.at or self.now

    def _moment_of_log(self) -> Snapshot | None:
        if self._log is None or self.now is None or self._log.is_behind:
            return None
        return self.now if self._log.t == self.now.t else self.now.as_of(self._log.t)

    def _is_followed(self, feed: Feed) -> bool:
        return self._feeds.get(feed.key) is feed

    def wait(self, feed: Feed) -> None:
        """Has `ready` called when the feed has another moment."""
        if feed.ready:
            self._awaited[feed] = None
        if feed.followed is not None:
            feed.followed.awaited[feed] = None

    def _leave(self, followed: FollowedView, feed: Feed) -> None:
        if feed in followed.adding:
            followed.adding.remove(feed)
        if followed.feeds.pop(feed.number, None) is not None and followed.view is not None:
            followed.view.drop(feed.number)

    def _drop(self, followed: FollowedView) -> None:
        if self.known.get(followed.key) is followed:
            del self.known[followed.key]
            self._interests.remove(followed)
            self._kept_bytes -= self._keeping.pop(followed, 0)
            self._figures.views = len(self.known)
            if followed.job is not None:
                # What it holds is given back when its work ends, and refers to it no more.
                followed.job.drop()
                followed.job = None
            else:
                followed.holding.become(0)
                followed.view = None
            followed.feeds, followed.adding, followed.leaving, followed.awaited = {}, [], [], {}

    def _wake(self) -> Snapshot:
        """Follows the database from now on; the moment up to which it is followed."""
        if self.now is None:
            self._database.add_listener(self._heard)
            self.now = self._database.snapshot()
            self._schema_key = self.now.schema.key
            self._enforced = self._parts.pool.permissions.enforced(self.now)
        return self.now

    @property
    def enforced(self) -> bool:
        """Whether policies say who sees what, at the moment up to which the database is followed."""
        return self._enforced

    def _sleep(self) -> None:
        """Stops listening to the writer once there are no feeds."""
        if not self._feeds and self.now is not None:
            self._database.remove_listener(self._heard)
            self.now = None
            self._partly = []
            self.recent.clear()

    # Transactions

    def committed(self, told: Sequence[Commit]) -> None:
        told = self._whole(told)
        if not told:
            return
        newest = told[-1][1]
        self._look_at_policies(newest)
        for group in _groups(told, newest):
            started = time.perf_counter()
            if self._tick([report for report, _ in group], group[-1][1]):
                self._figures.ticks += 1
                self._figures.tick_seconds += time.perf_counter() - started
                # Instants are of the clock on the wall, which may have been set.
                self._figures.lags.add(max(0.0, time.time() - group[-1][0].tx_instant.timestamp()))
        self._log_committed([report for report, _ in told])
        if self.now is not None:
            self.now = newest.as_of(told[-1][0].t)
        self._tell_awaited()

    def _tell_awaited(self) -> None:
        awaited, self._awaited = self._awaited, {}
        for feed in awaited:
            self._listener.ready(feed)

    def excised(self, report: TxReport, snapshot: Snapshot) -> None:
        """A transaction before which, or by which, something was excised.

        Views step to what is left of the database, still with its codes from before, so that they can tell what
        went. Then all is made anew for the new codes when it is next used. A view that was at work, that missed
        what came before, or that reads another moment, of which no state from before is left, cannot tell: its
        subscribers subscribe again, and start over.
        """
        now = self.now
        if now is None or snapshot.origin.excised == now.origin.excised:
            self.committed([(report, snapshot)])
            return
        for followed in tuple(self.known.values()):
            if followed.question.reads_others():
                self._end_feeds(followed, _excised())
        behind = [each for each in self.known.values() if each.busy]
        if report.t == snapshot.t == snapshot.origin.excised == now.t + 1:
            self.committed([(report, snapshot.decoded_by(now.codes))])
        else:
            behind = list(self.known.values())
            self._look_at_policies(snapshot)
            self._log_committed([report])
        if self.now is None:
            return
        # Those that are told together with it come by themselves.
        self.now = snapshot.as_of(report.t)
        self.recent.clear()
        for feed in self._feeds.values():
            feed.recent, feed.covered = (), max(feed.covered, report.t)
        for followed in tuple(self.known.values()):
            followed.asks_anew |= self._interests.forget_values(followed)
            if not followed.busy:
                self._renew(followed)
        self._listener.excised()
        for followed in behind:
            self._end_feeds(followed, _excised())
        self._tell_awaited()

    def _renew(self, followed: FollowedView) -> None:
        """Has a view be made anew when it is next used."""
        followed.view = None
        followed.spare = 0
        self._kept_bytes -= self._keeping.pop(followed, 0)

    def _look_at_policies(self, newest: Snapshot) -> None:
        """Ends those that are shown too much before they are told of anything, once policies are enforced."""
        enforced = self._parts.pool.permissions.enforced(newest.plain)
        if enforced and not self._enforced:
            self._listener.enforced()
        self._enforced = enforced

    def _log_committed(self, reports: Sequence[TxReport]) -> None:
        log = self._log
        if log is not None:
            try:
                log.committed(reports)
            except Exception as error:  # noqa: BLE001 - subscribers of queries never notice
                self._listener.failed(log.feed, failure(error))

    def _whole(self, told: Sequence[Commit]) -> Sequence[Commit]:
        """Those that are to be looked at now: with :db/noHistory, groups of which all were told."""
        now = self.now
        if now is None:
            return ()
        told = [each for each in (*self._partly, *told) if each[0].t > now.t]
        self._partly = []
        if told and told[-1][1].origin.forgetful and told[-1][0].t < told[-1][1].t:
            newest = told[-1][1]
            self._partly = [each for each in told if each[1] is newest]
            told = told[: -len(self._partly)]
        return told

    def _tick(self, reports: list[TxReport], snapshot: Snapshot) -> bool:
        """Steps what some transactions touch; whether there was any."""
        assert self.now is not None, "there are feeds"
        last = reports[-1].t
        if last < snapshot.t and snapshot.schema_touched > self.now.t:
            # Of transactions that were committed together a later one may have changed the schema, or changed it
            # back.
            snapshot = snapshot.as_of(last)
        attributes = self._interests.attributes(reports, snapshot) if len(self._interests) else []
        new_schema = snapshot.schema.key != self._schema_key
        if not attributes and not self._interests.wants_all and not new_schema:
            # No view is touched: the step to the next moment is as short.
            return False
        new = snapshot.as_of(last)
        tick = Moments(self.now, new)
        touched: Iterable[FollowedView] = list(self._interests.touched(attributes, tick))
        # What is an attribute, and which entity a keyword names, decides what can touch a view.
        anew = new_schema or IDENT in attributes
        if new_schema:
            self._schema_key = snapshot.schema.key
            touched = tuple(self.known.values())
        self.now = new
        for followed in touched:
            followed.asks_anew |= anew or self._interests.renames(followed, attributes)
            followed.touched += [report.t for report in reports]
            if followed.at is None:
                followed.at = tick.old
                self._work(followed, tick)
            if followed.asks_anew and self.known.get(followed.key) is followed:
                # It is at work: what touches it is not known before it is back.
                self._interests.put(followed, (Interest(None),))
        return bool(touched)

    # Work

    def _work(self, followed: FollowedView, tick: Moments | None = None) -> None:
        """Brings a view to the newest moment, with the feeds that wait to be added, here or elsewhere. Where that
        fails, it is this view's feeds that end."""
        try:
            self._bring(followed, tick)
        except Exception as error:  # noqa: BLE001 - the other views never notice
            self._end_feeds(followed, error)

    def _bring(self, followed: FollowedView, tick: Moments | None) -> None:
        now = self.now
        if followed.busy or self.known.get(followed.key) is not followed or now is None:
            return
        at = followed.at
        if at is None and not followed.adding:
            return
        # On the hub's thread a few at a time, for that others wait no longer than for any step.
        some = len(followed.adding) if followed.heavy else _ADDED_AT_ONCE
        adding, followed.adding = followed.adding[:some], followed.adding[some:]
        followed.at = None
        times, followed.touched = followed.touched, []
        pool = self._parts.pool
        work = ViewUpdate(followed, pool.engine, pool.memory, at or now, now, times, adding, tick)
        if not followed.heavy:
            try:
                done = work.do(BriefCancel())
            except (StartAgain, AdalogError) as given_up:
                emptied(given_up)
                followed.heavy = True
            else:
                self._hand_on(work, done)
                return
        if adding:
            # What touches the new feeds is not known before they are there.
            self._interests.put(followed, (Interest(None),))
        followed.busy, followed.left_at = True, at or now
        # Elsewhere it is stepped as it comes.
        work.tick = None
        cost, purpose = (_HEAVY, Purpose.STEP) if times else (0.0, Purpose.ANSWER)
        followed.job = PoolJob(followed.client, work.do, partial(self._back, work), cost, purpose)
        self._parts.pool_jobs.send(followed.job)

    def _back(self, work: ViewUpdate, done: ViewOutcome | None, why: BaseException | None) -> None:
        followed = work.followed
        followed.busy, followed.job, followed.left_at = False, None, None
        if done is not None:
            self._hand_on(work, done)
        else:
            self._end_feeds(work.followed, why, work.adding)

    def _hand_on(self, work: ViewUpdate, done: ViewOutcome) -> None:
        try:
            self._worked(work, done)
        except Exception as error:  # noqa: BLE001 - a view of which this is not known to be done cannot be followed
            self._end_feeds(work.followed, error, work.adding)

    def _end_feeds(self, followed: FollowedView, why: BaseException | None, adding: Iterable[Feed] = ()) -> None:
        error = failure(why)
        for feed in (*followed.feeds.values(), *adding, *followed.adding):
            self._listener.failed(feed, error)

    def _worked(self, work: ViewUpdate, done: ViewOutcome) -> None:
        """Hands on what came of some work, and goes on with what came meanwhile."""
        followed = work.followed
        first = not followed.feeds
        for feed in work.adding:
            feed.ready, feed.covered = True, work.to.t
            followed.feeds[feed.number] = feed
        for since, t in done.leaps:
            followed.leapt(since, t)
        now = self.now
        is_renewed = now is not None and work.to.codes is not now.codes
        if followed.at is not None:
            # It was touched while it was at work: it goes on from where the work has brought it.
            followed.at = now.as_of(work.to.t) if is_renewed and now is not None else work.to
        leaving, followed.leaving = followed.leaving, []
        for feed in leaving:
            self._leave(followed, feed)
        for feed, event in done.events:
            if self._is_followed(feed):
                self._emit(feed, event)
        for feed, error in done.failed.items():
            self._listener.failed(feed, error)
        if self.known.get(followed.key) is not followed:
            return
        if is_renewed:
            self._renew(followed)
            followed.asks_anew = True
        self._keep_joins(followed)
        if first:
            followed.began(done.seconds)
        elif work.times:
            followed.took(done.seconds)
        # Where it is behind, the schema that it knows may be an old one.
        anew = followed.asks_anew and followed.at is None
        if followed.view is not None and now is not None and (anew or (work.adding and not followed.asks_anew)):
            followed.asks_anew = False
            self._interests.put(followed, followed.view.interests(now))
        awaited = [feed for feed in followed.awaited if feed.ready]
        for feed in awaited:
            del followed.awaited[feed]
        for feed in awaited:
            self._listener.ready(feed)
        if followed.at is not None:
            self._work(followed)
        elif followed.adding:
            self._beginning[followed] = None

    def _keep_joins(self, followed: FollowedView) -> None:
        """Counts the joins that a view keeps, as those used last. Where all keep too many, those used longest ago
        go: the next step of their views binds them again."""
        self._kept_bytes += followed.spare - self._keeping.pop(followed, 0)
        if followed.spare:
            self._keeping[followed] = followed.spare
        while self._keeping and self._kept_bytes > self._most_joins():
            other, nbytes = self._keeping.popitem(last=False)
            self._kept_bytes -= nbytes
            # One at work is counted again when that is done.
            if not other.busy and other.view is not None:
                with suppress(AdalogError):
                    other.lighten(other.view)

    def _most_joins(self) -> int:
        """Bytes that all views' joins may take: of what else is to be held none is refused for them."""
        others = self._parts.memory.held - self._kept_bytes
        total = self._parts.memory.total
        return min(int(total * _JOINS_PART), int(total * (1 - _FREE_PART)) - others)

    # Events

    def _emit(self, feed: Feed, event: Event) -> None:
        """Sends an event to the subscribers of a feed, and keeps it for those that join later."""
        self.recent.add(feed, event)
        self._tell(feed, event)

    def _tell(self, feed: Feed, event: Event) -> None:
        # Before anything can fail: a feed whose event cannot be written is not due again at once.
        self.told(feed)
        for channel in tuple(feed.channels.values()):
            if channel.following:
                message = self.recent.written(event, channel.form, Cancel())
                if isinstance(message, AdalogError):
                    self._listener.unwritten(feed, channel, message)
                    continue
                if message.payload is None:
                    continue
                channel.delivery.tell(channel, message)
                self._figures.events[event.kind] += channel.following

    def told(self, feed: Feed) -> None:
        """The feed's subscribers got a message: their next PROGRESS is due later."""
        if feed.followed is not None and self._is_followed(feed):
            self._idle[feed] = time.monotonic() + self._parts.settings.progress_seconds
            self._idle.move_to_end(feed)

    @property
    def is_beginning(self) -> bool:
        return bool(self._beginning)

    @property
    def idle_at(self) -> float | None:
        due = next(iter(self._idle.values()), None)
        return None if due is None else max(due, self._idle_from)

    def idle(self) -> None:
        """Sends PROGRESS to the feeds that are due."""
        now, due = time.monotonic(), self.idle_at
        if due is None or due > now:
            return
        # Where there are very many feeds, as short a pause as they all need to get it twice as often.
        each_round = self._parts.settings.progress_seconds * _IDLE_AT_ONCE / len(self._idle)
        self._idle_from = now + min(_IDLE_PAUSE, each_round / 2)
        for _ in range(_IDLE_AT_ONCE):
            feed, at = next(iter(self._idle.items()), (None, 0.0))
            if feed is None or at > now:
                return
            moment = self._known_moment(feed)
            if moment is None:
                self.told(feed)
            else:
                self._tell(feed, Event(EventKind.PROGRESS, StreamPosition.at(moment)))

    def _known_moment(self, feed: Feed) -> Snapshot | None:
        """As `moment`, and while its view is at work up to where it was before: that its transactions are looked at
        tells of hidden ones, if a PROGRESS is left out for it."""
        followed = feed.followed
        if feed.ready and followed is not None and followed.busy:
            return followed.left_at
        return self.moment(feed)


def _excised() -> AdalogError:
    return unavailable("an excision took away what this stream began with; subscribe again")


def _groups(told: Sequence[Commit], newest: Snapshot) -> Iterable[Sequence[Commit]]:
    if len(told) > _FAR_BEHIND:
        return [told]
    if newest.origin.forgetful:
        return [list(group) for _, group in itertools.groupby(told, lambda each: id(each[1]))]
    return [[each] for each in told]
