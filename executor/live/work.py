"""Work on a view, on whichever thread: feeds are added, a step is made, and its events are written."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import Final

from datalog.errors import AdalogError, Code
from executor.bounds.budget import Memory
from executor.bounds.cancel import Cancel, StartAgain
from executor.engine import Engine
from executor.live.event import Event, Kind, Position
from executor.live.feed import BRIEF, Feed, Followed
from executor.live.holding import FullError
from executor.maintain.choosing import view_of
from executor.maintain.view import Change, Tick, View
from store.snapshot import Snapshot

_LOGGER: Final = logging.getLogger("adalog.live")


class Brief(Cancel):
    """A flag for work on the hub's thread: what takes too long there is begun again elsewhere."""

    def __init__(self, seconds: float = BRIEF) -> None:
        super().__init__()
        self._until = time.monotonic() + seconds

    def check(self) -> None:
        if time.monotonic() > self._until:
            raise StartAgain


@dataclass(frozen=True, slots=True)
class Done:
    """What came of work: events and errors of feeds, and the seconds it took."""

    events: dict[Feed, Event | AdalogError]
    seconds: float


@dataclass(eq=False)
class Work:
    """Feeds to be added to a view at its moment, then a step. Where it did not end it may be begun again: the view
    is made anew then. `touched`: the last transaction before those that the step is about."""

    followed: Followed
    engine: Engine
    memory: Memory
    at: Snapshot
    tick: Tick | None
    adding: list[Feed]
    touched: int
    _new: dict[int, Feed] = field(init=False)

    def __post_init__(self) -> None:
        self._new = {feed.number: feed for feed in self.adding}

    def do(self, cancel: Cancel) -> Done:
        started = time.perf_counter()
        followed = self.followed
        came: dict[Feed, Event | AdalogError] = {}
        view, followed.view = followed.view, None
        try:
            with self.memory.lent(cancel):
                if view is None:
                    view = view_of(followed.question, self.engine)
                    for feed in followed.feeds.values():
                        _add(view, feed, self.at, cancel, came)
                for feed in self.adding:
                    _add(view, feed, self.at, cancel, came)
                if self.tick is not None:
                    for number, change in view.step(self.tick, cancel).items():
                        self._changed(number, change, cancel, came)
            followed.weigh(view)
            followed.view = view
        except AdalogError as error:
            passing = error.code is Code.RATE_LIMITED and not isinstance(error, FullError)
            if passing or error.code is Code.CANCELLED:
                # It says nothing about the query; whoever asked for the work knows what follows.
                raise
            came = dict.fromkeys((*followed.feeds.values(), *self.adding), error)
        except Exception:
            _LOGGER.exception("a live query failed")
            came = dict.fromkeys((*followed.feeds.values(), *self.adding), _internal())
        return Done(came, time.perf_counter() - started)

    def _changed(
        self, number: int, change: Change | AdalogError, cancel: Cancel, came: dict[Feed, Event | AdalogError]
    ) -> None:
        feed = self.followed.feeds.get(number) or self._new.get(number)
        if feed is None or feed in came:
            return
        if isinstance(change, AdalogError):
            came[feed] = change
            return
        assert self.tick is not None, "a change comes of a step"
        event = Event(Kind.DELTA, Position(self.tick.new.t), change=change)
        try:
            for form in feed.forms():
                event.message(form, cancel)
        except AdalogError as error:
            came[feed] = error
        else:
            came[feed] = event


def _add(view: View, feed: Feed, at: Snapshot, cancel: Cancel, came: dict[Feed, Event | AdalogError]) -> None:
    assert feed.question is not None, "the log has no view"
    try:
        view.add(feed.number, feed.question, at, cancel)
    except AdalogError as error:
        if error.code in (Code.CANCELLED, Code.RATE_LIMITED):
            raise
        view.drop(feed.number)
        came[feed] = error


def _internal() -> AdalogError:
    return AdalogError(Code.INTERNAL, "the live query failed; the server's log says why")
