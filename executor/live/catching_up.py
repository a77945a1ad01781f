"""What a subscriber needs before it can follow: a snapshot, or what lies between a position of long ago and now.

The rule for a gap: where at most `LiveSettings.replayed` transactions may have touched the answer in between,
each is told by itself; more become one net delta. A stream that began with `fromT` is told each transaction,
however many there are, in batches as large as its mailbox, until it has caught up. It all is done on the pool's
threads, with a view of one's own that is stepped from moment to moment, and disturbs nobody.

A gap cannot be told, and the stream starts over with RESET, where the net delta is larger than a mailbox, or
where an attribute with :db/noHistory was touched: what held then is forgotten.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from datalog.errors import AdalogError, Code
from executor.answer.result import Result
from executor.bounds.budget import Held
from executor.bounds.cancel import Cancel
from executor.live.event import Event, Form, Kind, Message, Position
from executor.live.holding import Chunks, Holding, Holdings, Private
from executor.live.interests import touching
from executor.live.settings import LiveSettings
from executor.maintain.choosing import view_of
from executor.maintain.view import Interest, Tick, View
from executor.pool import Pool
from executor.question.question import Question
from store.snapshot import Snapshot

_FEED: Final = 0
# How long one batch of a replay is worked at, in seconds, before it is handed over.
_BATCH_SECONDS: Final = 0.25


@dataclass(frozen=True, slots=True)
class Filling:
    """Messages for one subscriber. `reached`: where they bring it; `behind`: it is to ask again from there. `held`:
    what the messages are paid with. `private`: to go on with."""

    messages: list[Message]
    reached: Position
    behind: bool
    held: object = None
    private: Private | None = None


class OverError(Exception):
    """A gap that cannot be told; the stream starts over. `reason`: for the subscriber."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class CatchingUp:
    """For one question."""

    pool: Pool
    settings: LiveSettings
    holdings: Holdings
    question: Question

    def snapshot(
        self, at: Snapshot, form: Form, cancel: Cancel, start: int = 0, reset: str | None = None
    ) -> Chunks:
        """The answer at a moment from row number `start` on, in chunks; after a RESET, where there is a reason."""
        request = replace(self.question.request, snapshot=at, ordered=True, shown=(0, None))
        answer = self.pool.run(request, cancel)
        messages = []
        if reset is not None:
            messages.append(Event(Kind.RESET, Position(at.t, 0), reason=reset).message(form, cancel))
        with self.pool.memory.lent(cancel):
            for event in self._chunks(answer, at.t, start):
                cancel.check()
                messages.append(event.message(form, cancel))
        return Chunks(messages, Holding(self.holdings, sum(message.nbytes for message in messages)))

    def _chunks(self, answer: Result, t: int, start: int) -> Iterator[Event]:
        rows, step = len(answer), self.settings.chunk_rows
        start = min(start, rows)
        while True:
            stop = min(start + step, rows)
            last = stop == rows
            position = Position(t) if last else Position(t, stop)
            yield Event(Kind.SNAPSHOT, position, answer=answer, start=start, stop=stop, last=last)
            if last:
                return
            start = stop

    def gap(
        self, private: Private | None, since: int, now: Snapshot, form: Form, cancel: Cancel, *, each: bool
    ) -> Filling:
        """What lies between the state after transaction `since` and a moment, or a first part of it.

        Raises OverError.
        """
        if private is None:
            view = view_of(self.question, self.pool.engine)
        else:
            view, since = private.view, private.at.t
        interests = self._interests(view, now)
        times = self._times(interests, since, now)
        if private is None:
            if times == []:
                return Filling([], Position(now.t), behind=False)
            self._check_remembered(interests, since, now)
            at = now.as_of(since)
            with self.pool.memory.lent(cancel):
                view.add(_FEED, self.question, at, cancel)
            private = Private(view, at, Holding(self.holdings, view.nbytes()))
        one_by_one = each or (times is not None and len(times) <= self.settings.replayed)
        if times is None:
            one_by_one = each or now.t - since <= self.settings.replayed
            times = list(range(since + 1, now.t + 1)) if one_by_one else []
        if not one_by_one:
            return self._net(private, now, form, cancel)
        return self._replayed(private, times, now, form, cancel)

    def _interests(self, view: View, now: Snapshot) -> list[Interest]:
        return list(view.interests(now))

    def _times(self, interests: list[Interest], since: int, now: Snapshot) -> list[int] | None:
        if now.as_of(since).schema_key != now.schema_key:
            # What touches the query may have been something else on the way.
            return None
        return touching(interests, since, now)

    def _check_remembered(self, interests: list[Interest], since: int, now: Snapshot) -> None:
        forgetful = now.origin.forgetful
        if forgetful and any(each.attribute is None or each.attribute in forgetful for each in interests):
            named = forgetful & {each.attribute for each in interests if each.attribute is not None} or forgetful
            if any(now.data_of(each).last_touched(now.t) > since for each in named):
                raise OverError("an attribute with :db/noHistory has changed since, and what it was is forgotten")

    def _net(self, private: Private, now: Snapshot, form: Form, cancel: Cancel) -> Filling:
        message = self._step(private, now, form, cancel)
        if message is not None and message.nbytes > self.settings.mailbox_bytes:
            raise OverError(
                f"what has changed since comes to {message.nbytes:,} bytes, and a subscriber's mailbox holds "
                f"{self.settings.mailbox_bytes:,}"
            )
        return Filling([] if message is None else [message], Position(now.t), behind=False)

    def _replayed(self, private: Private, times: list[int], now: Snapshot, form: Form, cancel: Cancel) -> Filling:
        settings, until = self.settings, time.monotonic() + _BATCH_SECONDS
        messages: list[Message] = []
        nbytes, done = 0, private.at.t
        for t in times:
            full = len(messages) >= settings.mailbox_events or nbytes >= settings.mailbox_bytes
            if full or (messages and time.monotonic() > until):
                private.holding.become(private.view.nbytes())
                return Filling(messages, Position(done), behind=True, private=private)
            message = self._step(private, now if t == now.t else now.as_of(t), form, cancel)
            done = t
            if message is not None:
                messages.append(message)
                nbytes += message.nbytes
        return Filling(messages, Position(now.t), behind=False)

    def _step(self, private: Private, to: Snapshot, form: Form, cancel: Cancel) -> Message | None:
        with self.pool.memory.lent(cancel):
            found = private.view.step(Tick(private.at, to), cancel).get(_FEED)
            private.at = to
            if isinstance(found, AdalogError):
                raise found
            if found is None:
                return None
            return Event(Kind.DELTA, Position(to.t), change=found).message(form, cancel)


@dataclass(frozen=True, slots=True)
class Reading:
    """The same for the log: transactions after a position, as they are read."""

    pool: Pool
    settings: LiveSettings

    def gap(self, since: int, now: int, form: Form, cancel: Cancel) -> Filling:
        """The transactions after `since`, up to number `now`, or as many of them as a mailbox holds."""
        messages: list[Message] = []
        nbytes, done = 0, since
        with self.pool.memory.lent(cancel), Held(cancel.budget) as held:

            def take(size: int) -> None:
                cancel.check()
                held.become(min(size, self.pool.memory.share))

            told = self.pool.database.told(since + 1, now + 1, self.settings.mailbox_events, take)
            for report in told:
                message = Event(Kind.TRANSACTION, Position(report.t), report=report).message(form, cancel)
                messages.append(message)
                nbytes += message.nbytes
                done = report.t
                if nbytes >= self.settings.mailbox_bytes:
                    break
        if done == since and now > since:
            raise AdalogError(Code.BASIS_GONE, f"the log has no transaction {since + 1}")
        return Filling(messages, Position(done), behind=done < now)
