"""First answers of feeds of one view, made together: those asked for at the same moment are one evaluation.

Belongs to the hub's thread. What is asked for is gathered until `begin`, at the end of the hub's turn. While an
evaluation is under way what is asked for meanwhile waits for the next one, though only for a moment: nobody is held
up by another's argument that takes long. So one alone is made at once, as if there were no others, and of ten
thousand that come together each costs its part. Where the common evaluation is refused or takes too long, nobody
answers for the others: each is asked by itself, within limits of its own.
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
from adalog.executor.live.hub.memory import LiveMemory, SnapshotChunks
from adalog.executor.live.hub.pool_jobs import PoolJob, PoolJobs
from adalog.executor.live.hub.principal_queue import PrincipalQueue
from adalog.executor.live.settings import LiveSettings
from adalog.executor.live.subscribers.event import MessageForm
from adalog.executor.pool import Pool
from adalog.store.snapshot.snapshot import Snapshot

# Answers of one evaluation.
_TOGETHER: Final = 256
# Seconds for which an evaluation that is under way holds back the next one of its view.
_PATIENCE: Final = 0.05
# What says nothing about any of the questions, and is no reason to ask them one by one.
_PASSED_ON: Final = (Code.CANCELLED, Code.RATE_LIMITED)


@dataclass(eq=False, slots=True)
class _Evaluation:
    """One that is under way for some openings. `over`: is called when it is back, or given up."""

    openings: Sequence[FirstAnswer]
    over: Callable[[], None]
    errand: PoolJob[Any] | None = None

    def let_go(self) -> None:
        """Gives it up if nobody waits for it."""
        if self.errand is not None and all(opening.dropped for opening in self.openings):
            self.errand.drop()
            self.over()


@dataclass(eq=False, slots=True)
class FirstAnswer:
    """The snapshot of a feed in one form, at `at` or later. `done` is called with it, or with why there is none."""

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
        """Nobody wants it any more; `done` is not called."""
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
        """Those of the next evaluation."""
        some: list[FirstAnswer] = []
        while self.waiting and len(some) < _TOGETHER:
            opening = self.waiting.next()
            if not opening.dropped:
                some.append(opening)
        return some


class FirstAnswers:
    """`moment`: up to where a feed's events are known, None while that is not clear."""

    def __init__(
        self,
        pool: Pool,
        settings: LiveSettings,
        holdings: LiveMemory,
        errands: PoolJobs,
        moment: Callable[[Feed], Snapshot | None],
    ) -> None:
        self._pool = pool
        self._settings = settings
        self._holdings = holdings
        self._errands = errands
        self._moment = moment
        self._queues: dict[FollowedView, _Queue] = {}
        # Views whose queues are to be looked at.
        self._due: dict[FollowedView, None] = {}

    def ask(self, opening: FirstAnswer) -> None:
        """Has a snapshot made with the next `begin`."""
        followed = opening.feed.followed
        assert followed is not None, "the log has no snapshot"
        queue = self._queues.setdefault(followed, _Queue())
        queue.waiting.add(opening.client.principal, opening)
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

        if len({opening.feed for opening in some}) > 1:
            self._make_together(some, at, over)
            return
        for opening in some[1:]:
            # Of one feed, in other forms.
            self._make(opening, at)
        self._make(some[0], at, over)

    def _make(self, opening: FirstAnswer, at: Snapshot, over: Callable[[], None] = lambda: None) -> None:
        catching = AnswerCatchUp(self._pool, self._settings, self._holdings, opening.question)
        form = opening.form

        def back(made: SnapshotChunks | None, why: BaseException | None) -> None:
            opening.evaluation = None
            over()
            opening.done(made, why)

        self._send_errand(
            _Evaluation((opening,), over),
            PoolJob(opening.client, lambda cancel: catching.snapshot(at, form, cancel), back),
        )

    def _make_together(self, some: Sequence[FirstAnswer], at: Snapshot, over: Callable[[], None]) -> None:
        pool, settings, holdings = self._pool, self._settings, self._holdings
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

        self._send_errand(
            _Evaluation(some, over),
            PoolJob(
                some[0].client,
                lambda cancel: snapshots_together(pool, settings, holdings, asked, at, cancel),
                back,
            ),
        )

    def _send_errand(self, evaluation: _Evaluation, errand: PoolJob[Any]) -> None:
        evaluation.errand = errand
        for opening in evaluation.openings:
            opening.evaluation = evaluation
        self._errands.send(errand)
