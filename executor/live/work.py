"""Work on a view, on whichever thread: feeds are added, a step is made, and its events are written."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import Final

from datalog.errors import AdalogError, Code
from executor.bounds.budget import Memory
from executor.bounds.cancel import Cancel, StartAgain
from executor.engine import Engine
from executor.live.event import Event, Form, Kind, Position
from executor.live.feed import BRIEF, Feed, Followed
from executor.maintain.choosing import view_of
from executor.maintain.view import Tick, View
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
    """What came of work: the events and errors of feeds, and which feeds were added."""

    events: dict[Feed, Event | AdalogError]
    added: list[Feed]
    seconds: float


@dataclass(eq=False)
class Work:
    """Feeds to be added to a view at its moment, then a step. Where it is not ended it may be begun again."""

    followed: Followed
    engine: Engine
    memory: Memory
    at: Snapshot
    tick: Tick | None
    adding: list[Feed]
    forms: dict[Feed, list[Form]]

    def do(self, cancel: Cancel) -> Done:
        started = time.perf_counter()
        failed: dict[Feed, Event | AdalogError] = {}
        view, self.followed.view = self.followed.view, None
        feeds = dict(self.followed.feeds)
        try:
            with self.memory.lent(cancel):
                if view is None:
                    view = view_of(self.followed.question, self.engine)
                    for feed in feeds.values():
                        _add(view, feed, self.at, cancel, failed)
                for feed in self.adding:
                    _add(view, feed, self.at, cancel, failed)
                    feeds[feed.number] = feed
                if self.tick is not None:
                    self._step(view, self.tick, feeds, cancel, failed)
                self.followed.held.become(view.nbytes())
            self.followed.view = view
        except AdalogError as error:
            if error.code is Code.CANCELLED:
                raise
            failed = dict.fromkeys(feeds.values(), error)
        except Exception:
            _LOGGER.exception("a live query failed")
            failed = dict.fromkeys(feeds.values(), _internal())
        return Done(failed, self.adding, time.perf_counter() - started)

    def _step(
        self, view: View, tick: Tick, feeds: dict[int, Feed], cancel: Cancel, into: dict[Feed, Event | AdalogError]
    ) -> None:
        for number, change in view.step(tick, cancel).items():
            feed = feeds.get(number)
            if feed is None or feed in into:
                continue
            if isinstance(change, AdalogError):
                into[feed] = change
                continue
            event = Event(Kind.DELTA, Position(tick.new.t), change=change)
            try:
                for form in self.forms.get(feed, ()):
                    event.message(form, cancel)
            except AdalogError as error:
                into[feed] = error
            else:
                into[feed] = event


def _add(view: View, feed: Feed, at: Snapshot, cancel: Cancel, failed: dict[Feed, Event | AdalogError]) -> None:
    assert feed.question is not None, "the log has no view"
    try:
        view.add(feed.number, feed.question, at, cancel)
    except AdalogError as error:
        if error.code is Code.CANCELLED:
            raise
        view.drop(feed.number)
        failed[feed] = error


def _internal() -> AdalogError:
    return AdalogError(Code.INTERNAL, "the live query failed; the server's log says why")
