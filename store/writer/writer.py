"""The one thread that changes the database: transactions one after the other, committed to the log in groups.

A group has a turn of the log: what others appended meanwhile is taken over first. Each of its transactions is
resolved against the state that the one before it left; then one append makes the whole group durable, and only then
is anything of it seen or answered. A refused append undoes the group; where others were quicker, it is resolved
again. After an append in doubt nothing is written until the log was read again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import groupby
from typing import Final

from adalog.datalog import tracing
from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.store.checkpoint.replay import rebuilt
from adalog.store.excision.pending import StaleStateError, pending
from adalog.store.excision.remainder import Remainder
from adalog.store.files.gc_pause import put_off
from adalog.store.log.entry import LogEntry
from adalog.store.log.log import AppendTurn, InDoubtError, Log, OvertakenError
from adalog.store.log.payload import ExcisedParts, Logged
from adalog.store.log.reader import PAGE
from adalog.store.log.report import report_of
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.head import Head
from adalog.store.state.settings import Evaluation, QueriesOverran, TransactionSettings
from adalog.store.transact.resolve import resolve, transaction_of
from adalog.store.values.changes import Excision, Resolved, Scope
from adalog.store.values.datom import TxReport
from adalog.store.writer.excising import AloneError, planned
from adalog.store.writer.exclusive import ExclusiveWriter
from adalog.store.writer.group import MOST_OVERTAKEN, Group
from adalog.store.writer.in_doubt import InDoubtAppend
from adalog.store.writer.job_queue import JobQueue
from adalog.store.writer.loads import Loads
from adalog.store.writer.refusals import answering, check_same, overtaken, read_only, refusal
from adalog.store.writer.rehearsal import Rehearser
from adalog.store.writer.request import AdoptionRequest, BulkRequest, TransactionRequest

_GROUP: Final = 256

# Clients that were answered together come again almost together: waiting this long for each next one makes groups
# larger. In seconds, and below what a commit takes.
_PATIENCE: Final = 0.001
# Seconds for which one transaction's stored queries may keep the others waiting: at first, and after they were
# tried aside, which is done so often.
_BRIEF: Final = 0.05
_HELD: Final = 0.25
# How long a group keeps the turn of a shared log, in seconds: what is left of it has the next one.
_TURN_SECONDS: Final = 0.2
_LOGGER: Final = logging.getLogger("adalog.store")


Job = TransactionRequest | Callable[[], None] | None


def _append_span(group: Group) -> AbstractContextManager[object]:
    """A span below the first transaction's that is traced, with links to the others."""
    if not tracing.is_on():
        return nullcontext()
    asking = [request.asking.run(tracing.current) for request, _, _ in group.waiting]
    about = {"adalog.transactions": len(group.entries)}
    return tracing.span("adalog.log.append", about, asking[0] if asking else None, asking[1:])


class Writer:
    """Owns the head. `publish` is called with each new snapshot and the reports of what made it, in order.
    make_room: removes unneeded files; whether there were any."""

    def __init__(
        self,
        head: Head,
        log: Log,
        setting: TransactionSettings,
        publish: Callable[[Snapshot, Sequence[TxReport]], None],
        make_room: Callable[[], bool],
    ) -> None:
        self._head = head
        self._log = log
        self._setting = setting
        self._publish = publish
        self._make_room = make_room
        self._published = head.published()
        self._jobs: JobQueue[Job] = JobQueue()
        self._expected = 1
        self._doubt = InDoubtAppend(head, log, self._take)
        self._aside = Rehearser(setting, self._put_back)
        self.loads = Loads(head, log, self._doubt, self)
        # Why what others write is not seen at the moment.
        self.away: str | None = None
        self._looked: Future[None] | None = None
        # Whether a look was asked for since the log was read last.
        self._may_be_behind = False
        # Of the hold that the writer is lent to.
        self._turn: AppendTurn | None = None
        # A durable excision that is not applied to the state yet, its report, and its remainders if they are known.
        self._owed: tuple[Excision, TxReport, Mapping[int, Remainder] | None] | None = None
        # The state before the present group.
        self._mark = head.mark()
        self.is_stopped = False
        self._closed = False
        self._closing = threading.Lock()
        self.waiting = 0
        self._counting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="adalog-writer", daemon=True)
        self._thread.start()

    def submit(self, job: TransactionRequest | Callable[[], None]) -> None:
        """Queue a transaction, or something to run while none is half done.

        Raises BACKEND_UNAVAILABLE once closed, RATE_LIMITED for a transaction where too many wait.
        """
        with self._closing:
            if self._closed:
                raise unavailable("the database is closed")
            if isinstance(job, TransactionRequest):
                if self.waiting >= self._setting.waiting:
                    raise AdalogError(
                        Code.RATE_LIMITED,
                        f"{self._setting.waiting:,} transactions are waiting already; try again shortly",
                        retry_after=1,
                    )
                with self._counting:
                    self.waiting += 1
                job.future.add_done_callback(self._answered)
            self._jobs.put(job)

    def _put_back(self, request: TransactionRequest) -> None:
        """Has a request that was begun before have another turn. Raises BACKEND_UNAVAILABLE once closed."""
        with self._closing:
            if self._closed:
                raise unavailable("the database is closed")
            self._jobs.put(request)

    def lend(self, hold: ExclusiveWriter) -> None:
        """Has transactions wait until the hold is over; returns once they do."""
        self.submit(lambda: self._serve(hold))
        hold.begun()

    def _serve(self, hold: ExclusiveWriter) -> None:
        try:
            with self.own_turn():
                hold.serve(lambda: self.is_stopped or self._closed)
        except AdalogError as error:
            hold.fail(error)

    def look(self) -> Future[None]:
        """Has what others appended taken over soon. Done when all is that was appended before the call, or when the
        log is out of reach. Several callers share the future: nobody may cancel it."""
        with self._closing:
            self._may_be_behind = True
            if self._looked is not None:
                return self._looked
            looked: Future[None] = Future()
            if self._closed:
                looked.set_result(None)
            else:
                self._looked = looked
                self._jobs.put(self._look)
            return looked

    @property
    def doubt(self) -> str | None:
        return self._doubt.why

    def _answered(self, _: Future[TxReport]) -> None:
        with self._counting:
            self.waiting -= 1

    def stop(self) -> None:
        """Refuse what is queued and not begun, so that `close` is quick. Does not wait."""
        self.is_stopped = True

    def close(self) -> None:
        """Finish what was queued, then stop."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            if self._doubt.seconds == 0:
                self._doubt.settle()
            for kind, jobs in groupby(self._next_jobs(), type):
                if kind is TransactionRequest:
                    self._commit([job for job in jobs if isinstance(job, TransactionRequest)])
                    continue
                for job in jobs:
                    if job is None:
                        return
                    if isinstance(job, BulkRequest | AdoptionRequest):
                        self.loads.commit(job)
                    elif not isinstance(job, TransactionRequest):
                        job()

    def _next_jobs(self) -> list[Job]:
        """The waiting jobs, in order; none if it is time to look at the log again. Waits a moment for as many as
        there were last time. A look does not cut a group of transactions in two: their turn takes over what was
        missed."""
        jobs = self._jobs.take(_GROUP, self._expected, _PATIENCE, self._doubt.seconds)
        self._expected = max(len(jobs), 1)
        if self._log.is_shared and all(self._may_pass_look(job) for job in jobs):
            jobs.sort(key=self._is_look)
        return jobs

    def _is_look(self, job: Job) -> bool:
        return job == self._look

    def _may_pass_look(self, job: Job) -> bool:
        return type(job) is TransactionRequest or self._is_look(job)

    def _commit(self, requests: list[TransactionRequest]) -> None:
        """Plain transactions as one group; then each that was rehearsed, which reads durable data only."""
        rehearsed = [request for request in requests if request.rehearsal is not None]
        self._commit_group([request for request in requests if request.rehearsal is None])
        for request in rehearsed:
            self._commit_group([request])

    def _commit_group(self, requests: list[TransactionRequest]) -> None:
        left: Sequence[TransactionRequest] = [request for request in requests if request.begin()]
        tries = 0
        while left:
            group = Group()
            try:
                with self.own_turn(left) as turn:
                    self._commit_in(turn, left, group)
                left = group.rest
                continue
            except OvertakenError:
                applied: bool | None = False
            except InDoubtError as error:
                self._doubt.begin(str(error))
                applied = self._doubt.certainty(error.number, lambda: self.is_stopped)
                if applied is None:
                    group.doubt(str(error), self._log.failed)
            except Exception as error:  # noqa: BLE001 - whatever it is, it goes to the waiters
                refused = refusal(error)
                group.fail(refused)
                # Those of a group that has begun have another turn.
                for request in () if group.pending else left:
                    request.future.set_exception(refused)
                left = group.rest
                continue
            if applied:
                group.answer()
            if applied is not False:
                left = group.rest
                continue
            tries += 1
            if tries == MOST_OVERTAKEN:
                group.fail(overtaken(tries))
                left = group.rest
            else:
                left = [*group.pending, *group.rest]

    def _commit_in(self, turn: AppendTurn, requests: Sequence[TransactionRequest], group: Group) -> None:
        """Resolves transactions and appends them, as many as a turn has time for."""
        mark = self._mark = self._head.mark()
        until = time.monotonic() + _TURN_SECONDS if self._log.is_shared else None
        for place, request in enumerate(requests):
            try:
                with put_off(len(request.data)):
                    if not self._answered_before(request, group, turn):
                        self.resolve(request, group, _BRIEF if request.rehearsal is None else _HELD)
            except AloneError:
                group.rest = requests[place:]
                break
            except QueriesOverran:
                with answering(request.future):
                    self._aside.put(request, self._published)
            except Exception as error:  # noqa: BLE001 - it goes to the waiter
                group.refuse(request, refusal(error))
            if group.excision is not None or (until is not None and time.monotonic() > until):
                group.rest = requests[place + 1 :]
                break
        if not group.entries:
            return
        try:
            with _append_span(group):
                self.append(turn, group.entries)
        except BaseException:
            # Nothing of the group may stay.
            self._head.rolled_back(mark)
            raise
        if group.excision is None:
            self.show(group.reports)
        else:
            self._head.settle()
            self._owed = group.excision.excision, group.reports[-1], group.excision.remainders
            self._excise_owed()
            group.excision.remove_outdated()
        group.answer()

    @contextmanager
    def own_turn(self, requests: Iterable[TransactionRequest] = ()) -> Iterator[AppendTurn]:
        """The turn to append, after what others appended was taken over. Raises BACKEND_UNAVAILABLE."""
        if self._turn is not None:
            yield self._turn
            return
        keys = [key for request in requests for key in request.keys]
        behind = True
        while behind:
            if self.doubt is not None:
                raise read_only(self.doubt, self._log.failed)
            # The turn answers looks that were asked for until now. Later ones may be about more than it reads.
            self._may_be_behind = False
            try:
                with self._log.turn(keys) as turn:
                    self._take(turn.missed)
                    behind = turn.is_behind
                    if not behind:
                        self._turn = turn
                        try:
                            yield turn
                        finally:
                            self._turn = None
            finally:
                self._may_be_behind = self._may_be_behind or behind

    def append(self, turn: AppendTurn, entries: Sequence[LogEntry]) -> None:
        """Makes entries durable. Where there is no room for them the store's own garbage goes first."""
        self._turn = None
        try:
            turn.append(entries)
        except AdalogError:
            if self._log.is_shared or not self._make_room():
                raise
            turn.append(entries)

    def _look(self) -> None:
        """Takes over what others appended, without a turn, unless one has read it meanwhile."""
        with self._closing:
            looked, self._looked = self._looked, None
            is_read = not self._may_be_behind and self.away is None
            self._may_be_behind = False
        try:
            if not is_read:
                self.take_missed()
        finally:
            if looked is not None:
                looked.set_result(None)

    def take_missed(self) -> None:
        """Takes over what others appended. On its thread."""
        if self.doubt is not None:
            return
        try:
            while True:
                missed = self._log.missed()
                self._take(missed)
                if len(missed) < PAGE:
                    break
        except AdalogError as error:
            if error.code is Code.INTERNAL:
                self._doubt.begin(error.message)
            elif self.away is None:
                _LOGGER.warning(
                    "others' transactions are not seen, and queries are answered as of t = %d: %s",
                    self._head.t,
                    error.message,
                )
            self.away = error.message
            return
        if self.away is not None:
            _LOGGER.warning("others' transactions are seen again, up to t = %d", self._head.t)
            self.away = None

    def _take(self, entries: Sequence[LogEntry]) -> list[TxReport]:
        """Applies and publishes what other processes, or appends in doubt, made durable."""
        head, reports, untold = self._head, list[TxReport](), list[TxReport]()
        try:
            self._excise_owed()
            for entry in entries:
                # May fail, and so comes before any change: the entry is taken over later then.
                logged, own = self._log.opened(entry), None
                # A state that was rebuilt up to the last entry has it already.
                if entry.t > head.t:
                    own = self._apply(entry, logged, entries[-1].t, untold)
                reports.append(report_of(entry, logged, head.name_of))
                if own is None:
                    untold.append(reports[-1])
                else:
                    self._owed = own, reports[-1], None
                    self._excise_owed()
        except BaseException:
            self._log.go_back(head.t)
            raise
        finally:
            self._tell(untold)
        return reports

    def _apply(self, entry: LogEntry, logged: Logged, last: int, untold: list[TxReport]) -> Excision | None:
        """Applies an entry, or rebuilds the state up to transaction `last`. Returns the excision that is to be
        applied then. Transactions that are untold are told before any excision, as they were then."""
        head = self._head
        try:
            earlier = pending(self._log, logged, head.excised, head.read_from, entry.t)
        except StaleStateError:
            _LOGGER.warning("history was folded away that was not read here; rebuilding from the log")
            self._tell(untold)
            head.become(rebuilt(self._log, last))
            return None
        own = logged.excision if logged.excision is not None and entry.t > head.excised else None
        if earlier or own is not None:
            self._tell(untold)
        for excision in earlier:
            head.excise(excision)
        head.replay(entry.t, entry.instant, logged)
        return own

    def _tell(self, untold: list[TxReport]) -> None:
        if untold:
            self.show(untold)
            untold.clear()

    def _excise_owed(self) -> None:
        """Applies an excision before its transaction is shown, so that no snapshot has what it takes."""
        if self._owed is not None:
            excision, report, remainders = self._owed
            self._head.excise(excision, remainders)
            self._owed = None
            self.show([report])

    def renewed(self) -> Snapshot:
        """The newest snapshot, after relations were folded: new reads use these. On its thread."""
        self._published = self._head.published()
        return self._published

    def show(self, reports: Sequence[TxReport]) -> None:
        self._head.settle()
        self._published = self._head.published()
        self._publish(self._published, reports)

    def resolve(self, request: TransactionRequest, group: Group, brief: float | None = None) -> None:
        if self.is_stopped:
            raise unavailable("nothing was applied: the server is shutting down; ask again in a moment")
        if self.doubt is not None:
            raise read_only(self.doubt, self._log.failed)
        head, t = self._head, self._head.t + 1
        expected = request.expected_basis_t
        if expected is not None and expected != head.t:
            raise AdalogError(
                Code.BASIS_CONFLICT,
                f"the database is at t = {head.t}, not at {expected} as expected; read again, then retry",
            )
        setting = self._setting
        evaluation = Evaluation(
            setting,
            brief=brief,
            rehearsal=request.rehearsal,
            viewer=request.viewer,
            may_excise=request.may_excise,
        )
        seen = evaluation.guarded(head)
        transaction = transaction_of(request.data, seen, evaluation, setting.limits)
        policy = setting.import_policy if isinstance(request, AdoptionRequest) else setting.policy
        known = head.codes.mark()
        try:
            resolved = resolve(
                transaction, seen, evaluation, policy, principal=request.principal, types=request.types
            )
            if resolved.scopes is not None:
                self._excise(request, resolved, resolved.scopes, group)
                return
            effects = head.codes.trimmed(resolved.effects, known)
            logged = Logged.of(effects, resolved.tempids, head.codes)
            entry = LogEntry(t, resolved.instant, None, logged.encoded(), request.used_key())
        except BaseException:
            head.codes.rolled_back(known)
            raise
        head.apply(effects, t, resolved.instant)
        report = report_of(entry, logged, head.name_of, resolved.diagnostics)
        shown = resolved.shown
        group.add(request, entry, report, None if shown is None else lambda report: report.of_parts(shown))

    def _excise(
        self, request: TransactionRequest, resolved: Resolved, scopes: Sequence[Scope], group: Group
    ) -> None:
        """Resolves an excision, which is a group of its own."""
        if group.entries:
            raise AloneError
        head, mark, t = self._head, self._mark, self._head.t + 1
        past, request.past = request.past, None
        try:
            head.apply(resolved.effects, t, resolved.instant)
            plan = planned(head, self._log, scopes, past)
            logged = Logged.of(resolved.effects, {}, head.codes)
            payload = replace(logged, excised=ExcisedParts(plan.excision)).encoded()
            if plan.made and self._log.keep is not None:
                self._log.keep(plan.made)
        except BaseException:
            head.rolled_back(mark)
            raise
        # By a digest of the forms guesses of what they name could be tested.
        used = request.used_key()
        used = None if used is None else used._replace(digest=None)
        entry = LogEntry(t, resolved.instant, None, payload, used, replaces=plan.replaces)
        group.excision = plan
        group.add(request, entry, report_of(entry, logged, head.name_of, plan.diagnostics), None)

    def _answered_before(self, request: TransactionRequest, group: Group, turn: AppendTurn) -> bool:
        """Whether the request's idempotency key was used before; it then gets that transaction's report. Raises
        ARG_INVALID where something else was sent with it."""
        if request.idempotency_key is None or self.doubt is not None:
            return False
        evaluation = Evaluation(self._setting, viewer=request.viewer)

        def show(report: TxReport) -> TxReport:
            return evaluation.visible_report(report, self._head)

        for place, entry in enumerate(group.entries):
            if entry.used is not None and entry.used.key == request.keys[0]:
                check_same(request, entry.t, entry.used)
                group.repeat(request, place, show)
                return True
        for key in request.keys:
            found = turn.use_of(key, self._head.t)
            if found is None:
                continue
            t, used = found
            entry = next(self._log.entries(t, t + 1, 1))
            logged = self._log.opened(entry)
            # A key from before there were policies is of whoever used it.
            if key != request.keys[0] and logged.principal(t) != request.principal:
                continue
            check_same(request, t, used)
            request.future.set_result(show(report_of(entry, logged, self._head.name_of)))
            return True
        return False
