"""First answers of feeds of one view: those wanted at the same moment are computed by one evaluation.

Answers are gathered until `begin`, at the end of the hub's turn. While an evaluation is under way, further answers
of its view wait a short time for the next one, but not for an argument that takes long. If the common evaluation is
refused or takes too long, each answer is evaluated by itself, within limits of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.client import Client
from adalog.executor.follow.undated import UndatedQuestion
from adalog.executor.live.hub.catch_up import AnswerCatchUp, snapshots_together
from adalog.executor.live.hub.feed import Feed, FollowedView
from adalog.executor.live.hub.memory import SnapshotChunks
from adalog.executor.live.hub.parts import HubParts
from adalog.executor.live.hub.pool_jobs import PoolJob
from adalog.executor.live.hub.principal_queue import PrincipalQueue
from adalog.executor.live.subscribers.event import MessageForm
from adalog.planner.windows import keeps_rows
from adalog.store.snapshot.snapshot import Snapshot

# Answers of one evaluation.
_TOGETHER: Final = 256
# Seconds for which an evaluation under way delays the next one of its view.
_PATIENCE: Final = 0.05
# Errors that say nothing about the questions, so that these are not evaluated one by one.
_PASSED_ON: Final = (Code.CANCELLED, Code.RATE_LIMITED)


@dataclass(eq=False, slots=True)
class _Evaluation:
    """One that is under way for some openings. `over`: is called when it is back, or given up."""

    openings: Sequence[FirstAnswer]
    over: Callable[[], None]
    job: PoolJob[Any]

    def let_go(self) -> None:
        """Gives it up if all its answers were dropped."""
        if all(opening.dropped for opening in self.openings):
            self.job.drop()
            self.over()


@dataclass(eq=False, slots=True)
class FirstAnswer:
    """The snapshot of a feed in one form, at `at` or later. `done` is called with it, or with the error."""

    feed: Feed
    form: MessageForm
    client: Client
    at: Snapshot
    done: Callable[[SnapshotChunks | None, BaseException | None], None]
    dropped: bool = False
    evaluation: _Evaluation | None = None

    @property
    def question(self) -> UndatedQuestion:
        assert self.feed.question is not None, "the log has no snapshot"
        return self.feed.question

    def drop(self) -> None:
        self.dropped = True
        if self.evaluation is not None:
            self.evaluation.let_go()


@dataclass(slots=True)
class _Queue:
    """The openings of one view. `under_way`: how many evaluations are; `next_at`: when another may begin, whatever
    becomes of the last one."""

    waiting: PrincipalQueue[FirstAnswer] = field(default_factory=PrincipalQueue)
    under_way: int = 0
    next_at: float = 0.0

    def take(self) -> list[FirstAnswer]:
        some: list[FirstAnswer] = []
        while len(some) < _TOGETHER and (opening := self.waiting.next()) is not None:
            if not opening.dropped:
                some.append(opening)
        return some


class FirstAnswers:
    """Belongs to the hub's thread. `moment`: to which a feed's events are known, None while its view works."""

    def __init__(self, parts: HubParts, moment: Callable[[Feed], Snapshot | None]) -> None:
        self._parts = parts
        self._moment = moment
        self._queues: dict[FollowedView, _Queue] = {}
        # Views whose queues are to be looked at.
        self._due: dict[FollowedView, None] = {}

    def ask(self, opening: FirstAnswer) -> None:
        followed = opening.feed.followed
        assert followed is not None, "the log has no snapshot"
        self._queues.setdefault(followed, _Queue()).waiting.add(opening.client.principal, opening)
        self._due[followed] = None

    def begin(self) -> None:
        """Has the pool make what was asked for and is held back by nothing."""
        now = time.monotonic()
        due, self._due = self._due, {}
        for followed in due:
            queue = self._queues.get(followed)
            if queue is None:
                continue
            while queue.waiting and now >= queue.next_at:
                self._send(followed, queue, queue.take())
            if queue.waiting:
                self._due[followed] = None
            elif not queue.under_way:
                del self._queues[followed]
                self._due.pop(followed, None)

    @property
    def next_at(self) -> float | None:
        """When something that is held back may begin."""
        return min((self._queues[followed].next_at for followed in self._due), default=None)

    def _send(self, followed: FollowedView, queue: _Queue, some: Sequence[FirstAnswer]) -> None:
        if not some:
            return
        at = self._moment(some[0].feed) or max((opening.at for opening in some), key=lambda at: at.t)
        queue.under_way += 1
        queue.next_at = next_at = time.monotonic() + _PATIENCE

        def over() -> None:
            queue.under_way -= 1
            if queue.next_at == next_at:
                queue.next_at = 0.0
            self._due[followed] = None

        several = len({opening.feed for opening in some}) > 1 and some[0].question.visible is None
        if several and not keeps_rows(some[0].question.query):
            self._make_together(some, at, over)
            return
        for opening in some[1:]:
            # Of one feed, in other forms; or such that one evaluation does not give the rows of each, which may
            # be those of one viewer.
            self._make(opening, at)
        self._make(some[0], at, over)

    def _make(self, opening: FirstAnswer, at: Snapshot, over: Callable[[], None] = lambda: None) -> None:
        catching = AnswerCatchUp(self._parts, opening.question)
        form = opening.form

        def back(made: SnapshotChunks | None, why: BaseException | None) -> None:
            opening.evaluation = None
            over()
            opening.done(made, why)

        job = PoolJob(opening.client, lambda cancel: catching.snapshot(at, form, cancel), back)
        self._submit((opening,), over, job)

    def _make_together(self, some: Sequence[FirstAnswer], at: Snapshot, over: Callable[[], None]) -> None:
        parts = self._parts
        asked = [(opening.question, opening.form) for opening in some]

        def back(made: list[SnapshotChunks | None] | None, why: BaseException | None) -> None:
            for opening in some:
                opening.evaluation = None
            over()
            passed_on = isinstance(why, AdalogError) and why.code in _PASSED_ON
            for opening, chunks in zip(some, made or [None] * len(some), strict=True):
                if opening.dropped:
                    continue
                if chunks is not None or passed_on:
                    opening.done(chunks, why)
                else:
                    self._make(opening, at)

        job = PoolJob(some[0].client, lambda cancel: snapshots_together(parts, asked, at, cancel), back)
        self._submit(some, over, job)

    def _submit(self, openings: Sequence[FirstAnswer], over: Callable[[], None], job: PoolJob[Any]) -> None:
        evaluation = _Evaluation(openings, over, job)
        for opening in openings:
            opening.evaluation = evaluation
        self._parts.pool_jobs.send(job)
