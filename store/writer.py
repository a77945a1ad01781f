"""The one thread that changes the database: transactions one after the other, committed to the log in groups.

A group has a turn of the log: what others appended meanwhile is taken over first. Each of its transactions is
resolved against the state that the one before it left; then one append makes the whole group durable, and only then
is anything of it seen or answered. A refused append undoes the group; where others were quicker, it is resolved
again. After one of which nobody knows whether it happened, nothing is written until the log was read again.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import Context, copy_context
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final

from datalog import tracing
from datalog.errors import AdalogError, Code
from store import adoption, bulk
from store.adoption import Adoption
from store.bulk import BulkData
from store.changes import BulkColumn
from store.collecting import put_off
from store.datom import TxReport
from store.entry import Entry, UsedKey
from store.folder import Folder
from store.head import Head, Mark
from store.hold import Hold
from store.log import InDoubtError, Log, OvertakenError, Turn
from store.log_reading import PAGE
from store.payload import Logged, LoggedColumn
from store.report import report_of
from store.resolve import Transaction, digest_of, resolve
from store.setting import SECONDS, Evaluation, Overran, Rehearsal, Setting, Watch, overdue
from store.snapshot import Snapshot
from store.speculation import Fork

_GROUP: Final = 256

# Those who were answered together come again almost together: waiting this long for them makes groups twice as
# large. In seconds, and far below what a commit takes.
_PATIENCE: Final = 0.001
# How long the disk is left alone after it failed, in seconds.
_REST: Final = 1.0
# How soon whoever is in doubt looks again, at first.
_PAUSE: Final = 0.05
# Seconds for which one transaction's stored queries may keep the others waiting: at first, and after they were
# tried aside, which is done so often.
_BRIEF: Final = 0.05
_HELD: Final = 0.25
_TRIES: Final = 2
# How long a group keeps the turn of a shared log, in seconds: what is left of it has the next one.
_TURN_SECONDS: Final = 0.2
# How often a group is resolved again as others were quicker, although they had no turn.
_OVERTAKEN: Final = 8
_LOGGER: Final = logging.getLogger("adalog.store")


@dataclass(eq=False)
class Request:
    """A transaction that somebody waits for."""

    data: str | Sequence[Any]
    expected_basis_t: int | None = None
    idempotency_key: str | None = None
    future: Future[TxReport] = field(default_factory=Future)
    # Who asks, as those know it who run what is slow about it.
    asking: Context = field(default_factory=copy_context)
    rehearsal: Rehearsal | None = None

    def used_key(self) -> UsedKey | None:
        """The idempotency key with the digest of the data."""
        return None if self.idempotency_key is None else UsedKey(self.idempotency_key, digest_of(self.data))

    def begin(self) -> bool:
        """Whether somebody still waits for it."""
        return self.rehearsal is not None or self.future.set_running_or_notify_cancel()


@dataclass(eq=False)
class BulkRequest(Request):
    """A transaction with columns besides its forms; a group of its own."""

    columns: BulkData = field(default_factory=dict)


@dataclass(eq=False)
class AdoptionRequest(Request):
    """A transaction whose datoms, besides those of its forms, are in segments of the folder; a group of its own."""

    adoption: Adoption | None = None
    folder: Folder | None = None


Job = Request | Callable[[], None] | None


def _append_span(group: _Group) -> AbstractContextManager[object]:
    """A span below the first transaction's that is traced, with links to the others."""
    if not tracing.is_on():
        return nullcontext()
    asking = [request.asking.run(tracing.current) for request, _ in group.waiting]
    about = {"adalog.transactions": len(group.entries)}
    return tracing.span("adalog.log.append", about, asking[0] if asking else None, asking[1:])


@dataclass
class _Group:
    """What was resolved and waits for the append."""

    entries: list[Entry] = field(default_factory=list)
    reports: list[TxReport] = field(default_factory=list)
    # Who waits for which report: more than one where a group repeats an idempotency key.
    waiting: list[tuple[Request, int]] = field(default_factory=list)
    # Who is refused in a state that is not durable yet, and hears of it when it is.
    refused: list[tuple[Request, AdalogError]] = field(default_factory=list)
    # Both in order.
    pending: list[Request] = field(default_factory=list)
    # Those whose turn has not come.
    rest: Sequence[Request] = ()

    def add(self, request: Request, entry: Entry, report: TxReport) -> None:
        self.repeat(request, len(self.entries))
        self.entries.append(entry)
        self.reports.append(report)

    def repeat(self, request: Request, place: int) -> None:
        self.waiting.append((request, place))
        self.pending.append(request)

    def refuse(self, request: Request, error: AdalogError) -> None:
        if self.entries and error.code is not Code.EDN_SYNTAX:
            self.refused.append((request, error))
            self.pending.append(request)
        else:
            request.future.set_exception(error)

    def fail(self, error: AdalogError) -> None:
        for request in self.pending:
            request.future.set_exception(error)

    def doubt(self, why: str, failed: str) -> None:
        """Tell everybody that it is not known whether their transaction was applied."""
        for request, place in self.waiting:
            has_key = self.entries[place].used is not None
            request.future.set_exception(_in_doubt(why, failed, has_key=has_key))
        for request, _ in self.refused:
            request.future.set_exception(_read_only(why, failed))

    def answer(self) -> None:
        for request, place in self.waiting:
            request.future.set_result(self.reports[place])
        for request, error in self.refused:
            request.future.set_exception(error)


class Writer:
    """Owns the head. `publish` is called with each new snapshot and the reports of what made it, in order.

    make_room: removes files that nobody needs; whether there were any.
    """

    def __init__(
        self,
        head: Head,
        log: Log,
        setting: Setting,
        publish: Callable[[Snapshot, Sequence[TxReport]], None],
        make_room: Callable[[], bool],
    ) -> None:
        self._head = head
        self._log = log
        self._setting = setting
        self._publish = publish
        self._make_room = make_room
        self._published = head.published()
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._expected = 1
        # Why nothing can be written, and when to look at the log again.
        self.doubt: str | None = None
        self._again = 0.0
        # Why what others write is not seen at the moment.
        self.away: str | None = None
        self._looking = False
        # Of the hold that the writer is lent to.
        self._turn: Turn | None = None
        self._stopped = False
        self._closed = False
        self._closing = threading.Lock()
        self._waiting_requests = 0
        self._counting = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="adalog-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Request | Callable[[], None]) -> None:
        """Queue a transaction, or something to run while none is half done.

        Raises BACKEND_UNAVAILABLE once closed, RATE_LIMITED for a transaction where too many wait.
        """
        with self._closing:
            if self._closed:
                raise AdalogError(Code.BACKEND_UNAVAILABLE, "the database is closed")
            if isinstance(job, Request):
                if self._waiting_requests >= self._setting.waiting:
                    raise AdalogError(
                        Code.RATE_LIMITED,
                        f"{self._setting.waiting:,} transactions are waiting already; try again shortly",
                        retry_after=1,
                    )
                with self._counting:
                    self._waiting_requests += 1
                job.future.add_done_callback(self._answered)
            self._jobs.put(job)

    def lend(self, hold: Hold) -> None:
        """Has transactions wait until the hold is over; returns once they do."""
        self.submit(lambda: self._serve(hold))
        hold.begun()

    def _serve(self, hold: Hold) -> None:
        try:
            with self._own_turn():
                hold.serve(lambda: self._stopped or self._closed)
        except AdalogError as error:
            hold.fail(error)

    def look(self) -> None:
        """Has what others appended taken over soon. Does not wait."""
        with self._closing:
            if not self._looking and not self._closed:
                self._looking = True
                self._jobs.put(self._look)

    @property
    def waiting(self) -> int:
        """Transactions that are not answered yet."""
        return self._waiting_requests

    def _answered(self, _: Future[TxReport]) -> None:
        with self._counting:
            self._waiting_requests -= 1

    def stop(self) -> None:
        """Refuse what is queued and not begun. Does not wait."""
        self._stopped = True

    def close(self) -> None:
        """Finish what was queued, then stop."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            if self.doubt is not None and time.monotonic() >= self._again:
                self._settle()
            for kind, jobs in groupby(self._waiting(), type):
                if kind is Request:
                    self._commit([job for job in jobs if isinstance(job, Request)])
                    continue
                for job in jobs:
                    if job is None:
                        return
                    if isinstance(job, BulkRequest):
                        self._commit_bulk(job)
                    elif isinstance(job, AdoptionRequest):
                        self.commit_adoption(job)
                    elif not isinstance(job, Request):
                        job()

    def _waiting(self) -> Iterator[Job]:
        """The next job and those behind it; a moment is given to as many as there were last time.

        Nothing where it is time to look at the log again.
        """
        try:
            yield self._jobs.get(timeout=None if self.doubt is None else max(self._again - time.monotonic(), 0.0))
        except queue.Empty:
            return
        expected, self._expected = self._expected, 1
        until = time.monotonic() + _PATIENCE
        for count in range(1, _GROUP):
            patience = max(until - time.monotonic(), 0.0) if count < expected else 0.0
            try:
                yield self._jobs.get(timeout=patience)
            except queue.Empty:
                return
            self._expected = count + 1

    # Groups

    def _commit(self, requests: list[Request]) -> None:
        """Plain transactions as one group; then each that was rehearsed, which reads durable data only."""
        rehearsed = [request for request in requests if request.rehearsal is not None]
        self._commit_group([request for request in requests if request.rehearsal is None])
        for request in rehearsed:
            self._commit_group([request])

    def _commit_group(self, requests: list[Request]) -> None:
        left: Sequence[Request] = [request for request in requests if request.begin()]
        tries = 0
        while left:
            group = _Group()
            try:
                with self._own_turn(left) as turn:
                    self._commit_in(turn, left, group)
                left = group.rest
                continue
            except OvertakenError:
                applied: bool | None = False
            except InDoubtError as error:
                self._begin_doubt(str(error))
                applied = self._certainty(error.number)
                if applied is None:
                    group.doubt(str(error), self._log.failed)
            except Exception as error:  # noqa: BLE001 - whatever it is, it goes to those who wait
                refusal = _refusal(error)
                group.fail(refusal)
                # Those of a group that has begun have another turn.
                for request in () if group.pending else left:
                    request.future.set_exception(refusal)
                left = group.rest
                continue
            if applied:
                group.answer()
            if applied is not False:
                left = group.rest
                continue
            tries += 1
            if tries == _OVERTAKEN:
                group.fail(_overtaken(tries))
                left = group.rest
            else:
                left = [*group.pending, *group.rest]

    def _commit_in(self, turn: Turn, requests: Sequence[Request], group: _Group) -> None:
        """Resolves transactions and appends them, as many as a turn has time for."""
        mark = self._head.mark()
        until = time.monotonic() + _TURN_SECONDS if self._log.is_shared else None
        for place, request in enumerate(requests):
            try:
                with put_off(len(request.data)):
                    if not self._answered_before(request, group, turn):
                        self._resolve(request, group, _BRIEF if request.rehearsal is None else _HELD)
            except Overran:
                with _answering(request.future):
                    self._put_aside(request)
            except Exception as error:  # noqa: BLE001 - it goes to who waits
                group.refuse(request, _refusal(error))
            if until is not None and time.monotonic() > until:
                group.rest = requests[place + 1 :]
                break
        if not group.entries:
            return
        try:
            with _append_span(group):
                self._append(turn, group.entries)
        except BaseException:
            # Nothing of the group may stay.
            self._head.rolled_back(mark)
            raise
        self._show(group.reports)
        group.answer()

    @contextmanager
    def _own_turn(self, requests: Iterable[Request] = ()) -> Iterator[Turn]:
        """The turn to append, after what others appended was taken over. Raises BACKEND_UNAVAILABLE."""
        if self._turn is not None:
            yield self._turn
            return
        keys = [request.idempotency_key for request in requests if request.idempotency_key is not None]
        behind = True
        while behind:
            if self.doubt is not None:
                raise _read_only(self.doubt, self._log.failed)
            with self._log.turn(keys) as turn:
                self._take(turn.missed)
                behind = turn.is_behind
                if not behind:
                    self._turn = turn
                    try:
                        yield turn
                    finally:
                        self._turn = None

    def _append(self, turn: Turn, entries: Sequence[Entry]) -> None:
        """Makes entries durable. Where there is no room for them the store's own garbage goes first."""
        self._turn = None
        try:
            turn.append(entries)
        except AdalogError:
            if self._log.is_shared or not self._make_room():
                raise
            turn.append(entries)

    # What others append

    def _look(self) -> None:
        """Takes over what others appended, without a turn."""
        self._looking = False
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
                self._begin_doubt(error.message)
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

    def _take(self, entries: Sequence[Entry]) -> list[TxReport]:
        """Has the head and everybody see what others, or nobody knows who, made durable."""
        head, reports = self._head, []
        try:
            for entry in entries:
                logged = self._log.decoded(entry)
                head.replay(entry.t, entry.instant, logged)
                reports.append(report_of(entry, logged, head.name_of))
        except BaseException:
            self._log.go_back(head.t)
            raise
        finally:
            if reports:
                self._show(reports)
        return reports

    def renewed(self) -> Snapshot:
        """The newest snapshot, after relations were folded: nobody is to read the old ones anew. On its thread."""
        self._published = self._head.published()
        return self._published

    def _show(self, reports: Sequence[TxReport]) -> None:
        """Has everybody see what is durable now."""
        self._head.settle()
        self._published = self._head.published()
        self._publish(self._published, reports)

    # Slow stored queries: everybody else goes on meanwhile

    def _put_aside(self, request: Request) -> None:
        """Has the transaction tried on the durable database, so that its stored queries are known in its next turn.

        Raises TIMEOUT where that was done before and what they read has changed since, RATE_LIMITED where too much
        is tried at once.
        """
        rehearsal = request.rehearsal = request.rehearsal or Rehearsal(time.monotonic() + SECONDS)
        rehearsal.tries += 1
        if rehearsal.tries > _TRIES or time.monotonic() > rehearsal.until:
            raise overdue()
        evaluator = self._setting.evaluator
        assert evaluator is not None, "what overran was evaluated"

        def rehearse(watch: Watch) -> None:
            transaction = Transaction.of(request.data, self._setting.limits)
            evaluation = Evaluation(self._setting, watch, rehearsal=rehearsal)
            try:
                resolve(transaction, Fork(self._published), evaluation, self._setting.mode)
            except AdalogError as error:
                # Any other refusal is the same in its turn, unless what it is about has changed by then.
                if error.code is Code.RATE_LIMITED:
                    raise

        tried = request.asking.run(evaluator.aside, rehearse, rehearsal.until)
        tried.add_done_callback(lambda done: self._tried(request, done))

    def _tried(self, request: Request, done: Future[None]) -> None:
        failure = CancelledError() if done.cancelled() else done.exception()
        with _answering(request.future):
            if failure is not None:
                raise failure
            with self._closing:
                if self._closed:
                    raise AdalogError(Code.BACKEND_UNAVAILABLE, "the database is closed")
                self._jobs.put(request)

    def _resolve(self, request: Request, group: _Group, brief: float | None = None) -> None:
        """Apply a transaction to the head, to be appended with its group."""
        if self._stopped:
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE, "nothing was applied: the server is shutting down; ask again in a moment"
            )
        if self.doubt is not None:
            raise _read_only(self.doubt, self._log.failed)
        head, t = self._head, self._head.t + 1
        expected = request.expected_basis_t
        if expected is not None and expected != head.t:
            raise AdalogError(
                Code.BASIS_CONFLICT,
                f"the database is at t = {head.t}, not at {expected} as expected; read again, then retry",
            )
        transaction = Transaction.of(request.data, self._setting.limits)
        evaluation = Evaluation(self._setting, brief=brief, rehearsal=request.rehearsal)
        known = head.codes.mark()
        try:
            resolved = resolve(transaction, head, evaluation, self._setting.mode)
            effects = head.codes.trimmed(resolved.effects, known)
            logged = Logged.of(effects, resolved.tempids, head.codes)
            entry = Entry(t, resolved.instant, None, logged.encoded(), request.used_key())
        except BaseException:
            head.codes.rolled_back(known)
            raise
        head.apply(effects, t, resolved.instant)
        report = report_of(entry, logged, head.name_of, resolved.diagnostics)
        group.add(request, entry, report)

    def _answered_before(self, request: Request, group: _Group, turn: Turn) -> bool:
        """Whether the request's idempotency key was used before; it then gets that transaction's report.

        Raises ARG_INVALID where something else was sent with it.
        """
        key = request.idempotency_key
        if key is None or self.doubt is not None:
            return False
        for place, entry in enumerate(group.entries):
            if entry.used is not None and entry.used.key == key:
                _check_same(request, entry.t, entry.used)
                group.repeat(request, place)
                return True
        found = turn.use_of(key, self._head.t)
        if found is None:
            return False
        t, used = found
        _check_same(request, t, used)
        entry = next(self._log.entries(t, t + 1, 1))
        request.future.set_result(report_of(entry, self._log.decoded(entry), self._head.name_of))
        return True

    def _commit_bulk(self, request: BulkRequest) -> None:
        self._commit_alone(request, self._append_bulk)

    def commit_adoption(self, request: AdoptionRequest) -> None:
        """Adopts, and answers the request. On its thread."""
        self._commit_alone(request, self._append_adoption)

    def _commit_alone(self, request: Request, append: Callable[[Any, Turn, Mark, list[TxReport]], None]) -> None:
        """A group of one. `append` has the head become what it appends, and gives the report before."""
        if not request.future.set_running_or_notify_cancel():
            return
        with _answering(request.future):
            for _ in range(_OVERTAKEN):
                reports: list[TxReport] = []
                try:
                    with self._own_turn() as turn:
                        mark = self._head.mark()
                        try:
                            append(request, turn, mark, reports)
                        except BaseException:
                            self._head.rolled_back(mark)
                            raise
                    break
                except OvertakenError:
                    continue
                except InDoubtError as error:
                    self._begin_doubt(str(error))
                    applied = self._certainty(error.number)
                    if applied is None:
                        raise _in_doubt(
                            str(error), self._log.failed, has_key=request.used_key() is not None
                        ) from error
                    if applied:
                        break
            else:
                raise _overtaken(_OVERTAKEN)
            request.future.set_result(reports[0])

    def _append_bulk(self, request: BulkRequest, turn: Turn, mark: Mark, reports: list[TxReport]) -> None:
        head = self._head
        group, columns = self._resolve_bulk(request, mark)
        relations = {column.attribute: head.with_column(column) for column in columns}
        entry, logged = self._with_columns(group.entries[0], columns)
        reports.append(report_of(entry, logged, head.name_of))
        self._append(turn, [entry])
        if self._log.is_shared:
            # As everybody else does: whoever reads the log has the same codes.
            head.rolled_back(mark)
            head.replay(entry.t, entry.instant, logged)
        else:
            head.replace(relations)
        self._show(reports)

    def _append_adoption(self, request: AdoptionRequest, turn: Turn, _: Mark, reports: list[TxReport]) -> None:
        head = self._head
        assert request.adoption is not None
        assert request.folder is not None
        group = _Group()
        head.next_ident = max(head.next_ident, request.adoption.prepared.idents)
        self._resolve(request, group)
        adoption.check_fits(request.adoption, head)
        current = {id_: head.live(id_).relation for id_ in request.adoption.relations}
        taken = adoption.adopted(request.adoption, request.folder, current)
        plain = Logged.decoded(group.entries[0].payload)
        logged = Logged(plain.datoms, plain.tempids, taken.logged)
        files = [each.segment.file for each in taken.logged]
        entry = replace(group.entries[0], payload=logged.encoded(), files=files)
        reports.append(report_of(entry, logged, head.name_of))
        if self._log.keep is not None:
            self._log.keep([each.segment for each in taken.logged])
        self._append(turn, [entry])
        head.settle()
        head.codes.append(taken.blocks)
        head.use(request.adoption.ids)
        head.replace(taken.relations)
        self._show(reports)

    def _resolve_bulk(self, request: BulkRequest, mark: Mark) -> tuple[_Group, list[BulkColumn]]:
        """Apply the forms to the head, with new entities that are not among the columns' ones; and the columns."""
        head, group = self._head, _Group()
        self._resolve(request, group)
        columns = bulk.columns(request.columns, head)
        ids = bulk.ids(columns, head)
        chosen = mark.counters.free.among_sorted(ids)
        mark.counters.free.check_chosen(chosen)
        if len(head.free.among_sorted(ids)) < len(chosen):
            # The columns' ids are known only once the forms have declared their attributes.
            head.undo(mark)
            head.use(ids)
            group = _Group()
            self._resolve(request, group)
        else:
            head.use(ids)
        return group, columns

    def _with_columns(self, entry: Entry, columns: Sequence[BulkColumn]) -> tuple[Entry, Logged]:
        plain = Logged.decoded(entry.payload)
        logged_columns = [LoggedColumn.of(c.attribute, c.e, c.v, self._head.codes) for c in columns]
        logged = Logged(plain.datoms, plain.tempids, logged_columns)
        return Entry(entry.t, entry.instant, None, logged.encoded()), logged

    # Doubt

    def _begin_doubt(self, why: str) -> None:
        self.doubt, self._again = why, 0.0
        _LOGGER.error(
            "the log failed while transaction %d was written (%s): whether it was is not known, and nothing is "
            "written until the log was read again",
            self._head.t + 1,
            why,
        )

    def _certainty(self, number: int) -> bool | None:
        """Whether the append in doubt of that number was applied; None where that cannot be found out soon."""
        until, pause = time.monotonic() + self._log.settling, _PAUSE
        while time.monotonic() < until and not self._stopped:
            applied = self._settle(number)
            if applied is not None:
                return applied
            time.sleep(pause)
            pause *= 2
        return None

    def _settle(self, number: int | None = None) -> bool | None:
        """Takes over what the log holds, or tries again later: None. Else whether the append of that number, or any
        at all, is there."""
        head = self._head
        try:
            entries = self._log.settle(head.t)
            try:
                applied = bool(entries) and (number is None or self._log.has_append(entries[0].t, number))
            except AdalogError:
                self._log.go_back(head.t)
                raise
            reports = self._take(entries)
        except Exception as error:  # noqa: BLE001 - nothing may be written until it goes well
            why = error.message if isinstance(error, AdalogError) else str(error)
            if why != self.doubt:
                _LOGGER.error("the log cannot be read again yet: %s", why)
            self.doubt, self._again = why, time.monotonic() + _REST
            return None
        self.doubt = None
        _LOGGER.warning(
            "the log was read again: what was in doubt %s; transactions are accepted again at t = %d",
            f"is applied ({len(reports)} transactions)" if reports and applied else "is not applied",
            head.t,
        )
        return applied


@contextmanager
def _answering(future: Future[TxReport]) -> Iterator[None]:
    """Gives what goes wrong to the future: refusals as they are, anything else as INTERNAL and to the log."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - it goes to who waits
        future.set_exception(_refusal(error))


def _check_same(request: Request, t: int, used: UsedKey) -> None:
    if used.digest not in (None, digest_of(request.data)):
        raise AdalogError(
            Code.ARG_INVALID,
            f"the idempotency key was used for transaction {t}, with other data, and this was not applied; give it "
            "a key of its own, or send the same data again to have that transaction's report",
        )


def _in_doubt(why: str, failed: str, *, has_key: bool) -> AdalogError:
    what_next = (
        "read what you need before you transact it again; with an idempotencyKey that would be safe"
        if not has_key
        else "transact it again with the same idempotencyKey, and it is applied once"
    )
    return AdalogError(
        Code.BACKEND_UNAVAILABLE,
        f"it is unknown whether the transaction was applied, as {failed} while it was written ({why}); {what_next}",
        retryable=has_key,
    )


def _overtaken(times: int) -> AdalogError:
    return AdalogError(
        Code.BACKEND_UNAVAILABLE,
        f"nothing was applied: {times} times others wrote to the log first; try again in a moment",
    )


def _read_only(why: str, failed: str) -> AdalogError:
    return AdalogError(
        Code.READ_ONLY,
        f"nothing is written, and this was not, until the log can be read again: {failed} ({why}). It is "
        "looked at every second; reading goes on",
        retryable=True,
    )


def _refusal(error: Exception) -> AdalogError:
    if isinstance(error, AdalogError):
        return error
    _LOGGER.error("a transaction failed", exc_info=error)
    return AdalogError(Code.INTERNAL, "the transaction failed and nothing was applied; the server's log says why")
