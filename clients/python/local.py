"""A database in this process: its engine is called directly, without GraphQL."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from adalog.client.errors import refusing
from adalog.client.given import NEWEST, Moment, TransactionText, User
from adalog.client.progress import Show, StageProgress, told
from adalog.client.result import (
    Attribute,
    Change,
    Column,
    Datom,
    Explanation,
    ExportReport,
    ImportReport,
    LiveChanges,
    Reason,
    Result,
    ResultList,
    ResultWarning,
    TxReport,
)
from adalog.client.running import cancelled_by
from adalog.client.values import Keyword, column_of, from_edn, from_pulled
from adalog.datalog import tracing
from adalog.datalog.diagnostics import Diagnostic, shown_warnings
from adalog.datalog.edn import Limits
from adalog.datalog.errors import AdalogError, unavailable
from adalog.datalog.extras import require
from adalog.datalog.values import Keyword as EngineKeyword
from adalog.executor.bounds.cancel import Cancel
from adalog.executor.kernels.compiling import compile_in_background
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.viewers import asking_as, may_excise
from adalog.executor.pool import CodedRows, Pool, PoolSettings, PullRequest
from adalog.executor.question.arguments import GivenArgument
from adalog.executor.question.request import QueryRequest
from adalog.planner.scope.pending_warnings import diagnostics_of
from adalog.planner.scope.unknown_names import in_components
from adalog.schema.arguments.entities import entity_of
from adalog.schema.arguments.moments import out_of_range
from adalog.schema.request.visible_database import VisibleDatabase
from adalog.store.database import IN_MEMORY, Database
from adalog.store.files.folder import is_address
from adalog.store.log.entry import now_ms
from adalog.store.snapshot.index import datom_spans
from adalog.store.snapshot.transaction_ids import check_moment
from adalog.store.transact.given.transactions import GivenForms

if TYPE_CHECKING:
    from adalog.executor.answer.result import Result as EngineResult
    from adalog.executor.live.hub.hub import Hub
    from adalog.executor.live.subscribers.changes import Changes, LiveChange
    from adalog.store.snapshot.snapshot import Snapshot
    from adalog.store.transact.resolve import TransactionData
    from adalog.store.values.datom import Datom as EngineDatom

# Of a transaction, which no other client pays for: as large as memory allows.
_LIMITS: Final = Limits(size=1 << 32)
# For a transaction that another process answered.
_PATIENCE: Final = 10.0
# Those that connections have open, with the process: a fork copies this, and not the connections.
_FOLDERS: Final[WeakKeyDictionary[Database, tuple[int, str | None]]] = WeakKeyDictionary()


class LocalBackend:
    """As of `Backend`."""

    def __init__(self, place: str, now: Callable[[], int] = now_ms) -> None:
        """Opens a folder, a server's log, or memory. now: as of `Database.open`. Raises as that."""
        self.place = place.rpartition("@")[2] if "://" in place else place
        compile_in_background()
        self._database = _database_of(place, now)
        try:
            self._pool = Pool(self._database, PoolSettings())
        except BaseException:
            self._database.close()
            raise
        self._hub: Hub | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        with self._lock:
            hub, self._hub = self._hub, None
        if hub is not None:
            hub.close()
        self._pool.close()
        self._database.close()
        _FOLDERS.pop(self._database, None)

    def newest(self) -> int:
        return self._database.snapshot().t

    # Reads

    def query(self, moment: Moment, query: str, args: Sequence[Any], timeout_ms: int | None) -> Result:
        if moment is NEWEST and not tracing.is_on():
            # No timeout is so short that it would end before this.
            at_once = self._pool.at_once(
                query, args, self._database.snapshot(), sys.maxsize, self._at_once, unsuspicious=True
            )
            if at_once is not None:
                return at_once
        cancel = _cancel(timeout_ms)
        snapshot, told = self._opened(moment, cancel)
        given = self._given(args, moment)
        found = self._pool.run(QueryRequest(query, given, snapshot, timeout_ms=timeout_ms, cached=False), cancel)
        return self._result(found, told)

    def _at_once(self, rows: CodedRows) -> Result:
        return self._result(rows.result(), ())

    def _result(self, found: EngineResult, told: Sequence[Diagnostic]) -> Result:
        columns = tuple([Column(each.name, each.type) for each in found.columns])
        keys = None if found.keys is None else tuple(getattr(each, "name", each) for each in found.keys)
        return Result(columns, found.shape, keys, found.t, CodedAnswer(found, self._pool, told))

    def explain(self, moment: Moment, query: str, args: Sequence[Any], *, analyze: bool) -> Explanation:
        cancel = _cancel(None)
        snapshot, told = self._opened(moment, cancel)
        made = self._pool.explain(QueryRequest(query, self._given(args, moment), snapshot), analyze, cancel)
        return Explanation(made.text, made.plan, _warnings((*told, *made.diagnostics)))

    def why(
        self, moment: Moment, query: str, args: Sequence[Any], row: Sequence[Any], timeout_ms: int | None
    ) -> Reason:
        cancel = _cancel(timeout_ms)
        snapshot, _ = self._opened(moment, cancel)
        request = QueryRequest(query, self._given(args, moment), snapshot, timeout_ms=timeout_ms)
        found = self._pool.why(request, [GivenArgument(each, json=True) for each in row], cancel)
        return Reason(found["holds"], found)

    def pull(
        self, moment: Moment, pattern: str, entities: Sequence[str], name: str, timeout_ms: int | None
    ) -> ResultList[Any]:
        cancel = _cancel(timeout_ms)
        snapshot, told = self._opened(moment, cancel)
        places = [f"{name}[{number}]" if name == "eids" else name for number in range(len(entities))]
        named = [entity_of(text, place, snapshot) for text, place in zip(entities, places, strict=True)]
        request = PullRequest(pattern, named, snapshot, timeout_ms, places.__getitem__)
        maps, _, found = self._pool.pulled(request, cancel)
        return ResultList(map(from_pulled, maps), _warnings((*told, *found)))

    def datoms(self, moment: Moment, index: str, components: Sequence[Any], limit: int | None) -> ResultList[Datom]:
        cancel = _cancel(None)
        snapshot, told = self._opened(moment, cancel)
        spans = datom_spans(snapshot, index, tuple(components), 0, limit, cancel.check)
        datoms = _datoms(each for span in spans for each in span.datoms())
        found = diagnostics_of(tuple(in_components(index, tuple(components), snapshot)))
        return ResultList(datoms if limit is None else datoms[:limit], _warnings((*told, *found)))

    def attributes(self, user: User | None) -> list[Attribute]:
        snapshot = self._visible(user).snapshot()
        return [
            Attribute(
                Keyword(str(each.ident)),
                each.kind.value_type,
                each.kind.cardinality,
                each.kind.unique,
                each.kind.component,
                each.doc,
                snapshot.count(each),
            )
            for each in snapshot.attributes()
        ]

    # Writing and following

    def transact(
        self,
        tx: TransactionText | tuple[Any, ...],
        expected_basis_t: int | None,
        idempotency_key: str | None,
        user: User | None,
    ) -> TxReport:
        data = GivenForms(tx) if isinstance(tx, tuple) else self._data(tx)
        return self._submitted(data, expected_basis_t, idempotency_key, user)

    def revert(
        self, t: int, expected_basis_t: int | None, idempotency_key: str | None, user: User | None
    ) -> TxReport:
        return self._submitted(self._database.reversal(t), expected_basis_t, idempotency_key, user)

    def _submitted(
        self, data: TransactionData, expected_basis_t: int | None, idempotency_key: str | None, user: User | None
    ) -> TxReport:
        report = self._database.submit(
            data,
            expected_basis_t=expected_basis_t,
            idempotency_key=idempotency_key,
            viewer=_viewer(user),
            may_excise=may_excise(_viewer(user)),
        ).result()
        tempids = {str(name): entity for name, entity in report.tempids.items()}
        return TxReport(
            report.t,
            report.basis_before,
            report.tx_instant,
            tempids,
            _datoms(report.datoms),
            lambda: _warnings(report.diagnostics()),
        )

    def live(
        self, query: str, args: Sequence[Any], resume: str | None, from_t: int | None, user: User | None
    ) -> LiveChanges:
        with self._lock:
            if self._hub is None:
                from adalog.executor.live.hub.hub import Hub

                self._hub = Hub(self._pool)
            hub = self._hub
        with asking_as(_viewer(user)):
            return LocalChanges(query, hub.live(query, self._given(args, Moment(user=user)), resume, from_t))

    # Files

    def import_(
        self,
        mapping: Any,
        paths: Mapping[str, str],
        quarantine: str | os.PathLike[str] | None,
        progress: bool | Show,
        *,
        max_errors: int,
        dry_run: bool,
    ) -> ImportReport:
        require("yaml", "server", "an import")
        from adalog.client.imports import Quarantine, mapping_given
        from adalog.client.pipeline import imported

        cancel, given = _cancel(None), mapping_given(mapping)
        with told(progress) as show, Quarantine(quarantine) as rejected:
            listening = StageProgress(show, cancel.check)
            outcome = imported(
                self._database, given, paths, rejected.folder, listening, max_errors=max_errors, dry_run=dry_run
            )
            return rejected.report(asdict(outcome), max_errors)

    def export(self, moment: Moment, to: str, form: str, progress: bool | Show) -> ExportReport:
        from adalog.client.pipeline import exported

        cancel = _cancel(None)
        view, _ = self._opened(moment, cancel)
        with told(progress) as show:
            return ExportReport(**asdict(exported(view, to, form, StageProgress(show, cancel.check))))

    # Parts

    def _data(self, tx: TransactionText) -> TransactionData:
        return tx.text if tx.values is None else self._database.with_values(tx.text, tx.values)

    def _given(self, args: Sequence[Any], moment: Moment) -> list[Any]:
        return [
            self._moment_of(each, self._visible(moment.user))
            if isinstance(each, Moment)
            else GivenArgument(each, json=True)
            for each in args
        ]

    def _visible(self, user: User | None) -> VisibleDatabase:
        return VisibleDatabase(self._database, self._pool.permissions, _viewer(user), user is not None)

    def _opened(self, moment: Moment, cancel: Cancel) -> tuple[Snapshot, tuple[Diagnostic, ...]]:
        """The snapshot that is read, and what is suspicious about it."""
        if moment is NEWEST:
            return self._database.snapshot(), ()
        visible = self._visible(moment.user)
        snapshot = self._moment_of(moment, visible)
        as_of, since = moment.as_of, moment.since
        told = out_of_range(
            self._database.snapshot(),
            "basis.asOf",
            None if isinstance(as_of, int) else as_of,
            "basis.since" if isinstance(since, int) else "basis.sinceInstant",
            since,
        )
        if moment.tried is None:
            return snapshot, tuple(told)
        after, found = visible.applied(snapshot, partial(self._data, moment.tried), None, cancel)
        return after, (*told, *found)

    def _moment_of(self, moment: Moment, visible: VisibleDatabase) -> Snapshot:
        as_of, since = moment.as_of, moment.since
        for name, number in (("t", as_of), ("since", since)):
            if isinstance(number, int):
                check_moment(f"basis.{name}", number)
        if isinstance(as_of, int):
            reached = self._database.reached(as_of)
            if reached is not None:
                wait([reached], _PATIENCE)
                reached.cancel()
            return visible.at(t=as_of, since=since, history=moment.history)
        return visible.at(as_of=as_of, since=since, history=moment.history)


@dataclass(frozen=True, slots=True)
class CodedAnswer:
    """As of `Answer`: the engine's columns of codes."""

    found: EngineResult
    pool: Pool
    told: Sequence[Diagnostic]

    def __len__(self) -> int:
        return len(self.found)

    def values(self, column: int, most: int | None = None) -> Sequence[Any]:
        return self.found.column(column, 0, most)

    def table(self) -> Any:
        return self.found.to_arrow()

    def __reduce__(self) -> tuple[Any, ...]:
        """For other processes, which have no engine: as over HTTP."""
        from adalog.client.arrow_answer import ArrowAnswer
        from adalog.schema.writing.arrow import row_table

        return ArrowAnswer, (row_table(self.found, 0, len(self), lambda _: None), self.warnings())

    def warnings(self) -> list[ResultWarning]:
        question = self.found.question
        if question is None:
            # Found at once, as nothing is suspicious.
            return []
        if not self.told and not self.found.dropped and self.pool.known_diagnostics(question) == ():
            # Of a text that was asked before; this is on the way of every answer.
            return []
        with refusing():
            found = self.pool.diagnostics(question, _cancel(None))
            return _warnings((*self.told, *found, *self.pool.found_out(question, self.found.dropped)))


class LocalChanges(LiveChanges):
    """Of a hub in this process."""

    def __init__(self, query: str, changes: Changes) -> None:
        super().__init__(query)
        self._changes = changes

    def _next(self) -> Change:
        while True:
            change = next(self._changes)
            if change.kind != "PROGRESS":
                return self._shown(change)

    def _shown(self, change: LiveChange) -> Change:
        columns = None
        if change.columns is not None:
            columns = tuple(Column(each.name, each.type) for each in change.columns)
        added = change.rows if change.rows is not None else change.added
        return Change(
            change.kind.value,
            change.basis_t,
            change.resume,
            _rows(added),
            _rows(change.retracted),
            columns,
            change.last,
            change.reason,
        )

    def _end(self) -> None:
        self._changes.close()


def _database_of(place: str, now: Callable[[], int]) -> Database:
    """The database of a place. Raises as `Database.open`, with what to do if this process has the folder."""
    own = (os.getpid(), None if place == IN_MEMORY or is_address(place) else os.path.realpath(place))
    try:
        database = Database.open(place, limits=_LIMITS, now=now)
    except AdalogError:
        if own in _FOLDERS.values():
            raise unavailable(
                f"the data folder {place} is open in this process already; use that connection, or close it first",
                retryable=False,
            ) from None
        raise
    if own[1] is not None:
        _FOLDERS[database] = own
    return database


def _viewer(user: User | None) -> Viewer | None:
    return None if user is None else Viewer(frozenset(user.roles), user.claims)


def _rows(rows: Sequence[tuple[Any, ...]] | None) -> list[tuple[Any, ...]]:
    return [tuple(column_of(row, "any")) for row in rows or ()]


def _cancel(timeout_ms: int | None) -> Cancel:
    cancel = Cancel.after(timeout_ms)
    cancelled_by(cancel.cancel)
    return cancel


def _datoms(datoms: Iterable[EngineDatom]) -> list[Datom]:
    names: dict[EngineKeyword, Keyword] = {}
    return [
        Datom(each.e, names.setdefault(each.a, Keyword(str(each.a))), from_edn(each.v), each.t, each.added)
        for each in datoms
    ]


def _warnings(diagnostics: Iterable[Diagnostic]) -> list[ResultWarning]:
    return [ResultWarning(*each) for each in shown_warnings(diagnostics)]
