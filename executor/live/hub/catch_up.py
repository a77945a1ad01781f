"""What a subscriber needs before it can follow its feed: a snapshot, or the changes since an earlier position.

If at most `LiveSettings.replayed` transactions may have touched the answer since that position, each becomes one
DELTA; more become one net DELTA. A stream that began with `fromT` gets a DELTA for each transaction, in batches as
large as its mailbox, until it has caught up. A private view computes this on the pool's threads, and delays no
other subscriber.

The stream starts over with RESET if the net DELTA is larger than a mailbox, or if an attribute with :db/noHistory
changed, since its old values are forgotten. Where policies hide some of them, any transaction may have changed one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.answer.result import Result
from adalog.executor.bounds.budget import Held
from adalog.executor.bounds.cancel import Cancel, Part
from adalog.executor.extenders.changes import Moments
from adalog.executor.follow.recomputed import RecomputedView, changed, distinct
from adalog.executor.follow.shared_answers import answers_together
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.follow.view import LiveView
from adalog.executor.follow.view_choice import view_of
from adalog.executor.live.hub.interests import touching
from adalog.executor.live.hub.memory import LiveMemory, MemoryShare, PrivateView, SnapshotChunks
from adalog.executor.live.hub.parts import HubParts
from adalog.executor.live.subscribers.event import Event, EventKind, Message, MessageForm, StreamPosition
from adalog.executor.question.request import QueryRequest
from adalog.store.snapshot.snapshot import Snapshot

_FEED: Final = 0
# Seconds of work on one batch of a replay.
_BATCH_SECONDS: Final = 0.25
# The part of the timeout of one answer that an evaluation for many may take; then each is evaluated by itself.
_PART_OF_TIMEOUT: Final = 0.25


@dataclass(frozen=True, slots=True)
class CatchUpMessages:
    """Messages for one subscriber. `reached`: its position after them; `behind`: more follow from there. `held`:
    the memory of the messages. `private`: the view that makes the next ones."""

    messages: list[Message]
    reached: StreamPosition
    behind: bool
    held: object = None
    private: PrivateView | None = None


EXCISED: Final = "an excision has removed data since that the stream's rows were computed from"


class GapError(Exception):
    """A gap that cannot be filled; the stream starts over. Its text is the reason, for the subscriber."""


@dataclass(frozen=True, slots=True)
class AnswerCatchUp:
    """For one question. On the pool's threads."""

    parts: HubParts
    question: UndatedQuestion

    def snapshot(
        self, at: Snapshot, form: MessageForm, cancel: Cancel, start: int = 0, reset: str | None = None
    ) -> SnapshotChunks:
        """The answer at a moment from row number `start` on, in chunks; after a RESET if there is a reason."""
        answer = distinct(self.parts.pool.run(_whole(self.question, at), cancel), cancel.check)
        messages = []
        if reset is not None:
            messages.append(Event(EventKind.RESET, StreamPosition.at(at, 0), reason=reset).message(form, cancel))
        with self.parts.pool.memory.lent(cancel):
            messages += _written(answer, at, form, cancel, start, self.parts.settings.chunk_rows)
        return _held(messages, self.parts.memory)

    def rest(self, since: StreamPosition, form: MessageForm, cancel: Cancel) -> SnapshotChunks:
        """The rest of an answer of which some rows were sent. Raises GapError."""
        now, at = self._moments(since)
        return self._rest(at, now, form, cancel, since.rows or 0)

    def _moments(self, since: StreamPosition) -> tuple[Snapshot, Snapshot]:
        """(the newest moment, that of a position). Raises GapError if an excision may have removed rows that the
        client has."""
        database = self.parts.pool.database
        now, at = database.snapshot(), database.at(t=since.t)
        excised = at.origin.excised
        # An excision may come between the two reads.
        if excised != now.origin.excised or (since.rows and since.is_outdated(excised)):
            raise GapError(EXCISED)
        return now, at

    def _rest(self, at: Snapshot, now: Snapshot, form: MessageForm, cancel: Cancel, start: int) -> SnapshotChunks:
        if now.origin.forgetful:
            self._check_remembered(self._view(at, now, cancel), at, now)
        if start and self.question.visible is not None and self._is_seen_otherwise(at, now, cancel):
            # What was visible then is not now, and what is sent has to follow on what was.
            raise GapError("what is visible of the answer has changed since its beginning was sent")
        return self.snapshot(at, form, cancel, start)

    def _is_seen_otherwise(self, at: Snapshot, now: Snapshot, cancel: Cancel) -> bool:
        """Whether a moment shows other rows by the policies and facts of now than by its own. The answers decide:
        that what they read was touched would tell of hidden data."""
        if self._times(self._view(at, now, cancel), at, now) == []:
            return False
        questions = self.question, self.question.decided_at(now)
        with self.parts.pool.memory.lent(cancel):
            before, after = (each.answer(self.parts.pool.engine, at, cancel) for each in questions)
            return changed(before, after, cancel.check) is not None

    def past(self, since: StreamPosition, form: MessageForm, cancel: Cancel) -> CatchUpMessages:
        """The answer at a position as it may be seen now, where a stream begins there. Raises GapError."""
        now, at = self._moments(since)
        decided, reached = AnswerCatchUp(self.parts, self.question.decided_at(now)), StreamPosition.at(at)
        chunks = decided._rest(at, now, form, cancel, 0)
        if self.question.visible is None:
            return CatchUpMessages(chunks.messages, reached, behind=True, held=chunks)
        # What is visible by the time of the next messages may be something else.
        view = self._view(at, now, cancel)
        with self.parts.pool.memory.lent(cancel):
            view.add(_FEED, decided.question, at, cancel)
        private = PrivateView(view, at, MemoryShare(self.parts.memory, view.nbytes()))
        return CatchUpMessages(chunks.messages, reached, behind=True, held=chunks, private=private)

    def gap(
        self, private: PrivateView | None, since: int, now: Snapshot, form: MessageForm, cancel: Cancel, each: bool
    ) -> CatchUpMessages:
        """What lies between the state after `since` and a moment, or its beginning. Raises GapError."""
        at = now.as_of(since) if private is None else private.at
        guarded = self.question.visible is not None
        if each and guarded:
            # The past is shown as it may be seen now.
            question = self.question.decided_at(now)
            if private is not None and isinstance(private.view, RecomputedView):
                private.view.decided_at(now)
        else:
            question = self.question
        view = self._view(at, now, cancel) if private is None else private.view
        times = self._times(view, at, now)
        if private is None:
            if now.origin.forgetful:
                self._check_remembered(view, at, now)
            if times == []:
                return CatchUpMessages([], StreamPosition.at(now), behind=False)
            with self.parts.pool.memory.lent(cancel):
                view.add(_FEED, question, at, cancel)
            private = PrivateView(view, at, MemoryShare(self.parts.memory, view.nbytes()))
        # What was visible on the way may not be now, and hidden changes make no events.
        few = times is not None and len(times) <= self.parts.settings.replayed
        one_by_one = each or (few and not guarded)
        if times is None:
            one_by_one = each or (now.t - at.t <= self.parts.settings.replayed and not guarded)
            times = list(range(at.t + 1, now.t + 1)) if one_by_one else []
        if not one_by_one:
            return self._net(private, now, form, cancel)
        return self._replayed(private, times, now, form, cancel)

    def _view(self, at: Snapshot, now: Snapshot, cancel: Cancel) -> LiveView:
        """A view of one's own that may begin at a moment."""
        if at.schema.key == now.schema.key and not self.question.names_moments():
            # The plan for now is as good there, and is probably cached.
            at = now
        asked = self.question.unbound_at(at, cancel.check)
        if self.question.visible is not None:
            # Another moment may decide what is visible of it.
            return RecomputedView(UndatedQuestion.of(asked, self.question.visible), self.parts.pool.engine)
        return view_of(asked, self.parts.pool.engine)

    def _times(self, view: LiveView, at: Snapshot, now: Snapshot) -> list[int] | None:
        interests = view.interests(now)
        named = [each.attribute for each in interests if each.names and each.attribute is not None]
        if max([now.schema_touched, *(now.data_of(each).last_touched(now.t) for each in named)]) > at.t:
            # What touches the query may have been something else on the way.
            return None
        return touching(interests, at.t, now)

    def _check_remembered(self, view: LiveView, at: Snapshot, now: Snapshot) -> None:
        forgetful = now.origin.forgetful
        # An attribute may have another name by now.
        read = {each.attribute for moment in (at, now) for each in view.interests(moment)}
        named = forgetful if None in read else forgetful & read
        if self.question.visible is not None:
            self._check_nothing_forgotten(named, at, now)
        elif any(now.data_of(each).last_touched(now.t) > at.t for each in named):
            raise GapError("an attribute with :db/noHistory has changed since, and what it was is forgotten")

    def _check_nothing_forgotten(self, named: Set[int], at: Snapshot, now: Snapshot) -> None:
        """The same for a viewer. That a value was written may tell of a hidden one, and which ones were visible is
        forgotten with them: any transaction may have written one."""
        visible = self.question.visible
        assert visible is not None
        decided_by = visible.read(now)
        if decided_by is not None:
            seen = {each.id for moment in (at, now) for each in visible.of(moment).schema.all()}
            named = named & (seen | decided_by)
        if named and at.t < now.t:
            raise GapError(
                "the query reads an attribute with :db/noHistory, and which of its values were visible is forgotten"
            )

    def _net(self, private: PrivateView, now: Snapshot, form: MessageForm, cancel: Cancel) -> CatchUpMessages:
        message = self._step(private, now, form, cancel)
        if message is not None and message.nbytes > self.parts.settings.mailbox_bytes:
            most = f"a subscriber's mailbox holds {self.parts.settings.mailbox_bytes:,}"
            raise GapError(f"what has changed since comes to {message.nbytes:,} bytes, and {most}")
        return CatchUpMessages([] if message is None else [message], StreamPosition.at(now), behind=False)

    def _replayed(
        self, private: PrivateView, times: list[int], now: Snapshot, form: MessageForm, cancel: Cancel
    ) -> CatchUpMessages:
        settings, until = self.parts.settings, time.monotonic() + _BATCH_SECONDS
        messages: list[Message] = []
        nbytes = 0
        for t in times:
            full = len(messages) >= settings.mailbox_events or nbytes >= settings.mailbox_bytes
            if full or (messages and time.monotonic() > until):
                private.holding.become(private.view.nbytes())
                return CatchUpMessages(messages, StreamPosition.at(private.at), behind=True, private=private)
            message = self._step(private, now if t == now.t else now.as_of(t), form, cancel)
            if message is not None:
                messages.append(message)
                nbytes += message.nbytes
        return CatchUpMessages(messages, StreamPosition.at(now), behind=False)

    def _step(self, private: PrivateView, to: Snapshot, form: MessageForm, cancel: Cancel) -> Message | None:
        with self.parts.pool.memory.lent(cancel):
            found = private.view.step(Moments(private.at, to), cancel).get(_FEED)
            private.at = to
            if isinstance(found, AdalogError):
                raise found
            if found is None:
                return None
            return Event(EventKind.DELTA, StreamPosition.at(to), change=found).message(form, cancel)


def snapshots_together(
    parts: HubParts, asked: Sequence[tuple[UndatedQuestion, MessageForm]], at: Snapshot, cancel: Cancel
) -> list[SnapshotChunks | None]:
    """The answers of feeds of one maintained view at a moment, each in its form, by one evaluation. None for an
    answer that has to be evaluated by itself, which then raises its own error. Raises what the evaluation is
    refused, and TIMEOUT where it takes a large part of the time that one may take."""
    pool, settings = parts.pool, parts.settings
    part = Part(cancel, time.monotonic() + settings.timeout_ms / 1000 * _PART_OF_TIMEOUT)
    found: list[SnapshotChunks | None] = []
    with pool.memory.lent(part):
        questions = [pool.question(_whole(question, at), part) for question, _ in asked]
        for answer, (_, form) in zip(answers_together(pool.engine, questions, part), asked, strict=True):
            chunks = None
            try:
                if answer is not None:
                    chunks = _held(_written(answer, at, form, part, 0, settings.chunk_rows), parts.memory)
            except AdalogError as error:
                if error.code in (Code.CANCELLED, Code.TIMEOUT):
                    raise
            found.append(chunks)
    return found


def _whole(question: UndatedQuestion, at: Snapshot) -> QueryRequest:
    """The request for the whole answer at a moment, in the order of its chunks."""
    return replace(question.request, snapshot=question.seen(at), ordered=True, shown=(0, None))


def _written(
    answer: Result, at: Snapshot, form: MessageForm, cancel: Cancel, start: int, step: int
) -> list[Message]:
    """The answer at a moment from row number `start` on, in chunks of so many rows."""
    messages: list[Message] = []
    rows, last = len(answer), False
    start = min(start, rows)
    while not last:
        cancel.check()
        stop = min(start + step, rows)
        last = stop == rows
        position = StreamPosition.at(at, None if last else stop)
        event = Event(EventKind.SNAPSHOT, position, answer=answer, start=start, stop=stop, last=last)
        messages.append(event.message(form, cancel))
        start = stop
    return messages


def _held(messages: list[Message], holdings: LiveMemory) -> SnapshotChunks:
    return SnapshotChunks(messages, MemoryShare(holdings, sum(message.nbytes for message in messages)))


@dataclass(frozen=True, slots=True)
class LogCatchUp:
    """The same for the log: the transactions after a position. On the pool's threads."""

    parts: HubParts

    def gap(self, since: int, now: int, form: MessageForm, cancel: Cancel) -> CatchUpMessages:
        """The transactions after `since`, up to number `now`, or as many of them as a mailbox holds."""
        events = self.events(since, now, (form,), cancel)
        done = events[-1].t if events else since
        written = [event.message(form, cancel) for event in events]
        messages = [message for message in written if message.payload is not None]
        return CatchUpMessages(messages, StreamPosition(done), behind=done < now)

    def events(self, since: int, now: int, forms: Sequence[MessageForm], cancel: Cancel) -> list[Event]:
        """The same as events that are written in all of the forms; one form may fail where others succeed."""
        events: list[Event] = []
        nbytes = 0
        with self.parts.pool.memory.lent(cancel), Held(cancel.budget) as held:

            def take(size: int) -> None:
                cancel.check()
                held.become(min(size, self.parts.pool.memory.share))

            told = self.parts.pool.database.transactions(
                since + 1, now + 1, self.parts.settings.mailbox_events, take
            )
            for report in told:
                event = Event(EventKind.TRANSACTION, StreamPosition(report.t), report=report, forms=forms)
                for form in forms:
                    message = event.outcome(form, cancel)
                    nbytes += 0 if isinstance(message, AdalogError) else message.nbytes
                event.forms, event.reports = (), None
                events.append(event)
                if nbytes >= self.parts.settings.mailbox_bytes:
                    break
        if not events and now > since:
            raise AdalogError(Code.BASIS_GONE, f"the log has no transaction {since + 1}")
        return events
