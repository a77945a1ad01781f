"""The log as a feed: each transaction is an event, written once for each form that a subscriber wants.

Small transactions are written on the hub's thread. From the first large one on, the pool reads them from the log
and writes them in batches; those committed meanwhile stay in the log, and hold no memory here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from adalog.datalog.errors import AdalogError
from adalog.executor.bounds.cancel import StartAgain
from adalog.executor.bounds.client import Client
from adalog.executor.live.hub.catch_up import LogCatchUp
from adalog.executor.live.hub.feed import Feed
from adalog.executor.live.hub.pool_jobs import PoolJob, PoolJobs, Purpose
from adalog.executor.live.hub.view_update import BriefCancel
from adalog.executor.live.subscribers.event import Event, EventKind, StreamPosition, failure
from adalog.store.values.datom import TxReport

# Datoms, counted once for each form, that are written on the hub's thread: one takes up to ten microseconds.
_FEW_DATOMS: Final = 500


@dataclass(eq=False)
class FollowedLog:
    """Belongs to the hub's thread. `t`: the last transaction that was sent. `_tell` gets every event; `_done` is
    called after each batch of the pool, with its error if it failed."""

    feed: Feed
    t: int
    _client: Client
    _reading: LogCatchUp
    _pool_jobs: PoolJobs
    _tell: Callable[[Event], None]
    _done: Callable[[AdalogError | None], None]
    _newest: int = field(default=0, init=False)
    _job: PoolJob[list[Event]] | None = field(default=None, init=False)
    _closed: bool = field(default=False, init=False)

    @property
    def is_behind(self) -> bool:
        """Whether the next transactions are being written elsewhere."""
        return self._job is not None

    def committed(self, reports: Sequence[TxReport]) -> None:
        self._newest = reports[-1].t
        if self._job is not None:
            return
        for report in reports:
            event = Event(EventKind.TRANSACTION, StreamPosition(report.t), report=report)
            if not self._write(event):
                self._send()
                return
            self._told(event)
            if self._closed:
                return

    def close(self) -> None:
        self._closed = True
        if self._job is not None:
            self._job.drop()
            self._job = None

    def _write(self, event: Event) -> bool:
        """Writes an event in all forms; whether that was quick enough."""
        assert event.report is not None, "an event of the log"
        forms = self.feed.forms()
        if len(event.report.datoms) * len(forms) > _FEW_DATOMS:
            return False
        brief = BriefCancel()
        try:
            for form in forms:
                brief.check()
                event.outcome(form, brief)
        except (StartAgain, AdalogError):
            return False
        return True

    def _send(self) -> None:
        work = partial(self._reading.events, self.t, self._newest, self.feed.forms())
        self._job = PoolJob(self._client, work, self._returned, purpose=Purpose.STEP)
        self._pool_jobs.send(self._job)

    def _returned(self, events: list[Event] | None, why: BaseException | None) -> None:
        self._job = None
        for event in events or ():
            if self._closed:
                return
            self._told(event)
        if not self.feed.forms():
            # There is no subscriber at the moment: the next one catches up from the log.
            self.feed.covered = self.t = self._newest
        self._done(failure(why) if events is None else None)
        if not self._closed and self.t < self._newest:
            self._send()

    def _told(self, event: Event) -> None:
        self.t = event.t
        self._tell(event)
