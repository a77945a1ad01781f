"""The hub: follows the database's transactions on a thread of its own, and sends subscribers what they change.

The writer's thread only queues what it committed. The hub's thread finds the views that a transaction can touch
(`interests`), steps those whose steps are short, and has the pool step the others (`views`). Each event is written
once for all subscribers that want it in the same form, and posted to where they read (`subscribers.delivery`). The
pool brings new subscribers to where they can follow (`subscriber_queue`, `catch_up`). The hub's thread writes only
what is short (`view_update.BriefCancel`) and reads nothing from disk, so that no subscriber waits for the work of
another.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import wait
from dataclasses import replace
from functools import partial
from typing import Any, Final

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.cancel import Cancel, stopping
from adalog.executor.bounds.client import ASKING, Client
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.cache.key import chance_in_patterns
from adalog.executor.cache.reads import reads_of
from adalog.executor.follow.guarded_view import GuardedView, may_share
from adalog.executor.follow.recomputed import RecomputedView
from adalog.executor.follow.view_choice import feed_key, view_key, view_of
from adalog.executor.live.hub.feed import Feed, Subscriber
from adalog.executor.live.hub.figures import LiveFigures
from adalog.executor.live.hub.memory import LiveMemory
from adalog.executor.live.hub.parts import HubParts
from adalog.executor.live.hub.pool_jobs import PoolJobs
from adalog.executor.live.hub.subscriber_queue import SubscriberQueue
from adalog.executor.live.hub.views import Commit, LiveQuestion
from adalog.executor.live.settings import LiveSettings
from adalog.executor.live.subscribers.changes import Changes, ValuesForm
from adalog.executor.live.subscribers.delivery import Delivery, LoopDelivery, ThreadDelivery
from adalog.executor.live.subscribers.event import MessageForm, StreamPosition, failure
from adalog.executor.live.subscribers.resume import ResumeTokens, StreamName, StreamStart, began
from adalog.executor.live.subscribers.subscription import BlockingSubscription, FirstMessage, Subscription
from adalog.executor.permissions.viewers import VisibleMoments
from adalog.executor.pool import Pool
from adalog.executor.question.arguments import BasisArgument
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.datom import TxReport

_LOGGER: Final = logging.getLogger("adalog.live")
# Kinds of questions that are known to need a view for each feed; bytes of texts that may be followed.
_APART: Final = 1_024
_CHECKED_BYTES: Final = 4 << 20
# Feeds of a view under policies: where these change it is asked twice for each within one timeout. That took 8
# to 28 ms for each on a busy machine, and the timeout is a minute.
_GUARDED_FEEDS: Final = 500


_Job = Callable[[], None]


class Hub:
    """Thread-safe. `close` ends all subscriptions and the thread, which begins with the first subscription."""

    def __init__(self, pool: Pool, settings: LiveSettings | None = None) -> None:
        self.pool = pool
        self.database = pool.database
        self.settings = settings or LiveSettings()
        self.figures = LiveFigures()
        self.holdings = LiveMemory(self.settings.memory_bytes)
        self.mail = LiveMemory(self.settings.mailboxes_bytes)
        self._jobs: queue.SimpleQueue[_Job | Commit | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._of: Counter[str] = Counter()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._threads = ThreadDelivery()
        self._loops: dict[asyncio.AbstractEventLoop, LoopDelivery] = {}
        # Of the writer's thread: the last excision that was heard of.
        self._excised = pool.database.snapshot().origin.excised
        # In this process a token need not be guarded against its holder.
        self._tokens = ResumeTokens(pool.database, pool.database.log.identity.encode())
        self._apart: dict[Hashable, None] = {}
        self._checked: LruCache[Hashable, bool] = LruCache(_CHECKED_BYTES)
        # The rest belongs to the hub's thread.
        self._pool_jobs = PoolJobs(pool, self._jobs.put, self.settings.timeout_ms)
        parts = HubParts(pool, self.settings, self.holdings, self._pool_jobs, self.figures)
        self._subscribers = SubscriberQueue(parts, self._heard, self._uncounted)
        self._views = self._subscribers.views
        self.database.follow_with(self)

    # For clients

    def known(self, request: QueryRequest) -> LiveQuestion | None:
        """The question of a request, if a similar one is followed already: it takes no time. Raises its faults."""
        request, visible = self._following(request)
        return self._known(self.pool.question(request), visible) if self.pool.questions.knows(request) else None

    def asked(self, request: QueryRequest, cancel: Cancel) -> LiveQuestion:
        """Any request made ready, on the pool's threads. Raises likewise."""
        request, visible = self._following(request)
        question = self.pool.question(request, cancel)
        known = self._known(question, visible)
        if known is not None:
            return known
        if reads_of(question.query).chance or chance_in_patterns(question):
            # All subscribers of a feed get the same changes, but each would have begun with other rows.
            message = "rand and sample choose anew each time, so that no change of their answer can be followed; "
            message += "choose among the rows of a live query that shows them all"
            raise AdalogError(Code.QUERY_INVALID, message)
        self.pool.engine.compiler.compile(question, cancel=cancel)
        self._checked.put(_text_key(question), True, len(question.text))
        known = self._known(question, visible)
        if known is not None:
            # Its rows are followed for others, who pull something else of them.
            return known
        shared = view_key(question)
        key = feed_key(question, shared)
        view = view_of(question, self.pool.engine, visible)
        if visible is not None:
            key = (visible.key, key)
            is_shared = isinstance(view, GuardedView) and view.is_shared
            return LiveQuestion(question, key, self._of_all(visible, shared) if is_shared else key, view, visible)
        if isinstance(view, RecomputedView):
            # A query that is run again is run for each feed, with errors and time of its own.
            if len(self._apart) >= _APART:
                self._apart.clear()
            self._apart[shared] = None
            return LiveQuestion(question, key, key, view)
        return LiveQuestion(question, key, shared, view)

    def live(self, query: str, args: Sequence[Any], resume: str | None, from_t: int | None) -> Changes:
        """The changes of a query, for the calling thread. Raises what is wrong with it, and as `follow` does."""
        asked = self.asked(QueryRequest(query, tuple(args)), Cancel.after(self.settings.timeout_ms))
        key = feed_key(asked.question, view_key(asked.question))
        assert isinstance(key, tuple), "the key of the view, the text, then the keys of the arguments"
        name = StreamName.of("values", *key[1:])
        guard = None if asked.visible is None else asked.visible.guard(self.database.snapshot())
        if guard is not None:
            name = name.of_viewer(guard.key)
        for t in (from_t, None if resume is None else self._tokens.t_of(resume)):
            waiting = None if t is None else self.database.reached(t)
            if waiting is not None:
                wait([waiting], self.settings.timeout_ms / 1000)
                waiting.cancel()
        begin = began(self.database, self._tokens, name, resume, from_t)
        return Changes(self.follow_blocking(asked, ValuesForm(name, self._tokens), begin))

    def follow(
        self, asked: LiveQuestion, form: MessageForm, begin: StreamStart, first: FirstMessage | None = None
    ) -> Subscription:
        """A subscription to a question's answer, to be called on the event loop that reads it. `first`: makes its
        first message. Raises RATE_LIMITED where there are as many as may be, and BACKEND_UNAVAILABLE after
        `close`."""
        subscription = Subscription(self, self.settings, begin.position, first)
        guarded = asked.visible is not None
        self._follow(partial(self._views.feed, asked), form, begin, subscription, self._outlet(), guarded)
        return subscription

    def follow_blocking(self, asked: LiveQuestion, form: MessageForm, begin: StreamStart) -> BlockingSubscription:
        subscription = BlockingSubscription(self, self.settings, begin.position)
        guarded = asked.visible is not None
        self._follow(partial(self._views.feed, asked), form, begin, subscription, self._threads, guarded)
        return subscription

    def follow_log(self, form: MessageForm, start: int | None, *, guarded: bool = False) -> Subscription:
        """A subscription to the transactions from number `start` on, None: from the next. `guarded`: the form shows
        what is visible of them. Likewise."""
        position = StreamPosition(self.database.snapshot().t if start is None else max(start, 1) - 1)
        subscription = Subscription(self, self.settings, position)
        begin, since = StreamStart(position), position.t
        self._follow(self._views.log_feed, form, begin, subscription, self._outlet(), guarded, since)
        return subscription

    def stop(self) -> None:
        """Ends all subscriptions with BACKEND_UNAVAILABLE, retryable, and takes no more. Does not wait."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._jobs.put(lambda: self._subscribers.end_all(stopping()))
                self._jobs.put(None)

    def close(self) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Hub:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _following(self, request: QueryRequest) -> tuple[QueryRequest, VisibleMoments | None]:
        """The request of a live query, and what its viewer sees; None: everything. A source as of an instant in the
        future moves with `$`."""
        args = [each.followed() if isinstance(each, BasisArgument) else each for each in request.args]
        now = self.database.snapshot()
        visible = VisibleMoments.asked(self.pool.permissions, now)
        return replace(request, args=args, snapshot=None if visible is None else visible.of(now)), visible

    def _known(self, question: Question, visible: VisibleMoments | None) -> LiveQuestion | None:
        if not self._checked.get(_text_key(question)) or chance_in_patterns(question):
            return None
        shared = view_key(question)
        if visible is not None:
            own, of_all = (visible.key, feed_key(question, shared)), self._of_all(visible, shared)
            if own in self._views.known:
                return LiveQuestion(question, own, own, None, visible)
            is_known = of_all in self._views.known and may_share(question)
            return LiveQuestion(question, own, of_all, None, visible) if is_known else None
        if shared in self._views.known:
            return LiveQuestion(question, feed_key(question, shared), shared, None)
        if shared in self._apart:
            key = feed_key(question, shared)
            return LiveQuestion(question, key, key, None)
        return None

    def _of_all(self, visible: VisibleMoments, shared: Hashable) -> Hashable:
        """The key of a view for all viewers with the same roles that has room for one more feed."""
        known = self._views.known
        keys = ((visible.roles_key, shared, number) for number in itertools.count())
        return next(key for key in keys if (found := known.get(key)) is None or found.alive < _GUARDED_FEEDS)

    # For subscriptions, on any thread

    def wanted(self, subscription: Subscription, position: StreamPosition | None) -> None:
        self._jobs.put(lambda: self._subscribers.wanted(subscription, position))

    def left(self, subscription: Subscription, *, closed: bool) -> None:
        self._jobs.put(lambda: self._subscribers.left(subscription, closed=closed))

    def overflowed(self) -> None:
        self.figures.overflows += 1

    def room(self, nbytes: int, *, always: bool = False) -> bool:
        return self.mail.draw(nbytes, always=always)

    # On the caller's thread

    def _outlet(self) -> Delivery:
        loop = asyncio.get_running_loop()
        with self._lock:
            found = self._loops.get(loop)
            if found is None:
                found = self._loops[loop] = LoopDelivery(loop)
            return found

    def _follow(
        self,
        feed_of: Callable[[Client], Feed],
        form: MessageForm,
        begin: StreamStart,
        reader: Subscription,
        delivery: Delivery,
        guarded: bool,
        since: int | None = None,
    ) -> None:
        """Counts a subscription and queues its beginning. guarded: it shows what its client may see. since: None
        for now. Raises RATE_LIMITED and BACKEND_UNAVAILABLE."""
        client = ASKING.get().admitted
        since = self.database.snapshot().t if since is None else since

        def enter() -> None:
            try:
                feed = feed_of(client)
                subscriber = Subscriber(
                    *(reader, delivery, form, feed, client, since, begin.each, begin.reset),
                    guarded=guarded,
                )
                self._subscribers.add(subscriber, begin.position)
            except Exception as error:  # noqa: BLE001 - the subscriber has to be told
                if not self._subscribers.drop(reader, failure(error)):
                    self._uncounted(client)
                    delivery.post(reader.end, failure(error))

        most, most_own = self.settings.subscriptions, self.settings.subscriptions_per_principal
        with self._lock:
            if self._closed:
                raise stopping()
            if self.figures.subscriptions >= most:
                self.figures.refused += 1
                raise _too_many(f"{most:,} subscriptions are open")
            if self._of[client.principal] >= most_own:
                self.figures.refused += 1
                raise _too_many(f"{most_own:,} of your subscriptions are open")
            self.figures.subscriptions += 1
            self._of[client.principal] += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="adalog-live", daemon=True)
                self._thread.start()
            # Within the lock, so that a concurrent `close` ends this subscription, too.
            self._jobs.put(enter)

    def _uncounted(self, client: Client) -> None:
        principal = client.principal
        with self._lock:
            self.figures.subscriptions -= 1
            self._of[principal] -= 1
            if not self._of[principal]:
                del self._of[principal]

    def _heard(self, report: TxReport, snapshot: Snapshot) -> None:
        excised, self._excised = self._excised, snapshot.origin.excised
        if snapshot.origin.excised != excised:
            self._jobs.put(partial(self._views.excised, report, snapshot))
        else:
            self._jobs.put((report, snapshot))

    # The thread

    def _run(self) -> None:
        going_on = True
        while going_on:
            for kind, some in itertools.groupby(self._next(), type):
                if kind is tuple:
                    self._guarded(self._views.begin)
                    self._guarded(self._views.committed, list(some))
                    continue
                for job in some:
                    if callable(job):
                        self._guarded(job)
                    else:
                        going_on = False
                    # The thread may wait long for its next job: what this one held has to go with it.
                    del job
            # Subscribers that came in the same turn begin together.
            self._guarded(self._views.begin)
            self._guarded(self._subscribers.begin)
            self._guarded(self._pool_jobs.again)
            self._guarded(self._views.idle)
            self._guarded(self._flush)

    def _flush(self) -> None:
        """Delivers what was posted, and drops the subscribers of closed event loops."""
        with self._lock:
            loops = tuple(self._loops.items())
        for loop, delivery in loops:
            delivery.flush()
            if delivery.closed:
                self._subscribers.abandon(delivery)
                with self._lock:
                    del self._loops[loop]

    def _next(self) -> list[Any]:
        """The next job and all queued behind it, which change how it is handled. Empty if other work is due."""
        asked = (self._pool_jobs.again_at, self._views.idle_at, self._subscribers.next_at)
        due = [at for at in asked if at is not None]
        if self._views.is_beginning:
            due.append(0.0)
        try:
            first = self._jobs.get(timeout=max(0.0, min(due) - time.monotonic()) if due else None)
        except queue.Empty:
            return []
        return [first, *(self._jobs.get() for _ in range(self._jobs.qsize()))]

    def _guarded(self, job: Callable[..., None], *args: Any) -> None:
        try:
            job(*args)
        except Exception:
            _LOGGER.exception("the hub of live queries failed at something")


def _text_key(question: Question) -> Hashable:
    return question.text, question.rules, question.relations


def _too_many(what: str) -> AdalogError:
    setting = "the setting ADALOG_LIVE_SUBSCRIPTIONS moves this limit"
    message = f"{what}, the most there may be; close one or try again; {setting}"
    return AdalogError(Code.RATE_LIMITED, message, retry_after=1)
