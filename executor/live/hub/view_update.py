"""Updates of a view, on any thread: its steps, their events written in all forms, and new feeds."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar, Final

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.budget import Memory
from adalog.executor.bounds.cancel import Cancel, StartAgain
from adalog.executor.engine import QueryEngine
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.view import LiveView
from adalog.executor.follow.view_choice import view_of
from adalog.executor.live.hub.feed import BRIEF, Feed, FollowedView
from adalog.executor.live.hub.memory import FullError
from adalog.executor.live.subscribers.event import Event, EventKind, StreamPosition, failure
from adalog.store.snapshot.snapshot import Snapshot

# Transactions that an update behind the hub steps one by one, and the seconds for that.
_EACH: Final = 64
_EACH_SECONDS: Final = 0.1
# Seconds of waiting, for the processor or anything else, after which work leaves the hub's thread.
_PATIENCE: Final = 0.1


class BriefCancel(Cancel):
    """The cancel flag of work on the hub's thread: what takes too long there starts again on the pool."""

    is_brief: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__()
        now = time.monotonic()
        self._until = time.thread_time() + BRIEF
        # Before that it cannot have computed for so long, and what a thread has computed is dear to ask for.
        self._earliest = now + BRIEF
        self._at_last = now + _PATIENCE

    def check(self) -> None:
        now = time.monotonic()
        if now > self._earliest and (now > self._at_last or time.thread_time() > self._until):
            raise StartAgain


@dataclass(slots=True)
class ViewOutcome:
    """The outcome of an update: each feed's events in order, or after them its error; the steps over several
    transactions, as (the last one before, the last); and the seconds computed, per step."""

    events: list[tuple[Feed, Event]] = field(default_factory=list)
    failed: dict[Feed, AdalogError] = field(default_factory=dict)
    leaps: list[tuple[int, int]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(eq=False)
class ViewUpdate:
    """Steps a view to another moment, then adds feeds there. If it does not end it may be begun again: with the
    view as it was before, or with a new one.

    `times`: the transactions in between that touched it. Each is a step of its own, while there is time; the rest
    are one step. `tick`: the moments of the only step, if there is one. Belongs to the thread that runs it.
    """

    followed: FollowedView
    engine: QueryEngine
    memory: Memory
    at: Snapshot
    to: Snapshot
    times: list[int]
    adding: list[Feed]
    tick: Moments | None = None
    # The view once it knows all feeds but the new ones, and whether it has moved.
    _known: LiveView | None = field(init=False, default=None)
    _stepped: bool = field(init=False, default=False)

    def do(self, cancel: Cancel) -> ViewOutcome:
        started = time.thread_time()
        followed = self.followed
        done = ViewOutcome()
        view, followed.view = followed.view, None
        self._known, self._stepped = None, False
        try:
            with self.memory.lent(cancel):
                if view is None:
                    asked = followed.question.unbound_at(self.at, cancel.check)
                    view = view_of(asked, self.engine, followed.question.visible)
                    for feed in followed.feeds.values():
                        _add(view, feed, self.at, cancel, done)
                if not done.failed:
                    self._known = view
                steps = self._steps(view, cancel, done)
                # What touched the others on the way says nothing of what touched these: they begin after it.
                for feed in self.adding:
                    _add(view, feed, self.to, cancel, done)
            followed.weigh(view)
            followed.view = view
        except StartAgain:
            self._give_up()
            raise
        except AdalogError as error:
            passing = error.code is Code.RATE_LIMITED and not isinstance(error, FullError)
            if passing or error.code is Code.CANCELLED:
                # It says nothing about the query; the caller decides what follows.
                self._give_up()
                raise
            done.failed = dict.fromkeys((*followed.feeds.values(), *self.adding), error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this view's alone
            done.failed = dict.fromkeys((*followed.feeds.values(), *self.adding), failure(error))
        else:
            done.seconds = (time.thread_time() - started) / max(1, steps)
        return done

    def _give_up(self) -> None:
        """Leaves the view as it was before the work, where that is possible."""
        view, self._known = self._known, None
        if view is not None and view.intact and not self._stepped:
            for feed in self.adding:
                view.drop(feed.number)
            self.followed.view = view

    def _steps(self, view: LiveView, cancel: Cancel, done: ViewOutcome) -> int:
        if not self.times:
            return 0
        if self.tick is not None:
            self._step(view, self.tick, cancel, done, self.times[0] - 1)
            return 1
        until = time.perf_counter() + _EACH_SECONDS
        apart = len(self.times) <= _EACH and not self.to.origin.forgetful
        old, left, steps = self.at, deque(self.times), 0
        while left:
            t = left.popleft()
            since = t - 1
            if not apart or time.perf_counter() > until:
                new = self.to
                left.clear()
            else:
                new = self.to.as_of(t)
            self._step(view, Moments(old, new), cancel, done, since)
            old, steps = new, steps + 1
        return steps

    def _step(self, view: LiveView, tick: Moments, cancel: Cancel, done: ViewOutcome, since: int) -> None:
        """One step, of what was written after transaction `since`."""
        if tick.new.t - since > 1:
            done.leaps.append((since, tick.new.t))
        changes = view.step(tick, cancel)
        self._stepped = True
        for number, change in changes.items():
            feed = self.followed.feeds.get(number)
            if feed is None or feed in done.failed:
                continue
            if isinstance(change, AdalogError):
                done.failed[feed] = change
                continue
            event = Event(EventKind.DELTA, StreamPosition.at(tick.new), change=change)
            for form in feed.forms():
                event.outcome(form, cancel)
            done.events.append((feed, event))


def _add(view: LiveView, feed: Feed, at: Snapshot, cancel: Cancel, done: ViewOutcome) -> None:
    assert feed.question is not None, "the log has no view"
    try:
        view.add(feed.number, feed.question, at, cancel)
    except AdalogError as error:
        if error.code in (Code.CANCELLED, Code.RATE_LIMITED):
            raise
        view.drop(feed.number)
        done.failed[feed] = error
