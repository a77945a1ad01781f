"""A database: opened from a folder, from a server or in memory, changed by transactions, read through snapshots."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Code, invalid_argument, quoted, unavailable
from adalog.datalog.values import Keyword
from adalog.store.checkpoint.adoption import Adoption, PreparedImport, prepared, remove_unnamed, unfinished
from adalog.store.checkpoint.checkpoint import MappedCheckpoint
from adalog.store.checkpoint.compactor import Compactor, FoldPoint, FoldResult
from adalog.store.checkpoint.coordination import FoldCoordinator
from adalog.store.checkpoint.files import FolderFiles
from adalog.store.checkpoint.rechecks import Rechecks
from adalog.store.checkpoint.replay import ReplayedState, opened
from adalog.store.excision.logged_past import LoggedPast
from adalog.store.files.clock import Clock
from adalog.store.files.copy_folder import temporary_folder
from adalog.store.files.folder import Folder, is_address
from adalog.store.files.gc_pause import put_off
from adalog.store.files.packing import instant
from adalog.store.files.progress import Progress
from adalog.store.log.entry import KEY_MEMORY, KeyMemory, now_ms
from adalog.store.log.last_backup import last_backup
from adalog.store.log.payload import Logged
from adalog.store.log.report import report_of
from adalog.store.retention import Retention, RetentionResult
from adalog.store.snapshot.entity_count import EntityCounter
from adalog.store.snapshot.guarded import GuardedSnapshot
from adalog.store.snapshot.snapshot import Snapshot, SpeculationStart, ViewKey
from adalog.store.snapshot.transaction_ids import check_moment, number_of, numbered
from adalog.store.sources import LogSource
from adalog.store.state.idempotency import check_key
from adalog.store.state.settings import WAITING, Evaluation, Evaluator, TransactionSettings, Watch
from adalog.store.state.speculation import SpeculativeState, instant_at, outcome
from adalog.store.storage import ProcessGroup, Storage, in_folder, in_memory, on_server
from adalog.store.transact.bulk import BulkData
from adalog.store.transact.given.reversal import Reversal
from adalog.store.transact.given.transactions import GivenText
from adalog.store.transact.resolve import TransactionData, resolve, transaction_of
from adalog.store.values import bootstrap
from adalog.store.values.datom import TxReport
from adalog.store.values.schema_policy import ATTRIBUTES, SchemaMode, SchemaPolicy
from adalog.store.writer.basis_waiters import BasisWaiters
from adalog.store.writer.exclusive import ExclusiveWriter, answered_by
from adalog.store.writer.log_follower import LogFollower
from adalog.store.writer.request import AdoptionRequest, BulkRequest, TransactionRequest
from adalog.store.writer.writer import Writer

Listener = Callable[[TxReport, Snapshot], None]

T = TypeVar("T")


class Follower(Protocol):
    """Serves live queries of this process."""

    def live(self, query: str, args: Sequence[Any], resume: str | None, from_t: int | None) -> Iterator[Any]: ...


_LOGGER: Final = logging.getLogger("adalog.store")

IN_MEMORY: Final = ":memory:"
# How the temporary folders of databases in memory begin.
_MEMORY_FILES: Final = "adalog-memory-"
# Past views are kept for paging and repeated queries; each holds the tries that were read of it.
_PAST_VIEWS: Final = 16
# How often others' transactions are looked for without a notice.
FOLLOW_SECONDS: Final = 1.0


class Database:
    """Thread-safe. `Database.open` makes one."""

    def __init__(
        self,
        found: ReplayedState,
        ground: Storage,
        setting: TransactionSettings,
        follow_seconds: float,
        siblings: ProcessGroup | None,
    ) -> None:
        head, log, folder = found.head, ground.log, ground.folder
        self._siblings = siblings
        self._setting = setting
        self.log = log
        self._folder = folder
        self._folder_lock = threading.Lock()
        self._head = head
        self._snapshot = head.published()
        self._past: OrderedDict[ViewKey, Snapshot] = OrderedDict()
        self._past_lock = threading.Lock()
        self._census = EntityCounter()
        self._listeners: list[Listener] = []
        self._forgetting: list[Callable[[], None]] = []
        self._follower: Follower | None = None
        self.clock = Clock()
        self.clock.look(head.instant)
        # What was opened for it, and is closed with it.
        self._held = ExitStack()
        self.compactor = Compactor(
            log,
            folder,
            ground.folding or FoldCoordinator(),
            self._moment,
            self._adopt,
            self._take_over_mapped,
            found.named,
            found.unread,
        )
        self._unread = found.unread
        self._rechecks = Rechecks(found.unread) if found.unread.left() else None
        self._waiting = BasisWaiters(head.t)
        self.writer = Writer(head, log, setting, self._publish, self.compactor.make_room)
        self.compactor.forget_with(self._forget_on_disk)
        self._following = LogFollower(log.listen, self.writer.look, follow_seconds) if log.is_shared else None
        self.retention = Retention(log, self.snapshot, self._excise, setting.now, self.compactor.may_fold)
        self.retention.begin(head.data)

    @staticmethod
    def open(
        location: str,
        *,
        schema: SchemaMode = "open",
        limits: edn.Limits = edn.DEFAULT,
        waiting: int = WAITING,
        attributes: int = ATTRIBUTES,
        keys: KeyMemory = KEY_MEMORY,
        shared: bool = False,
        siblings: ProcessGroup | None = None,
        follow_seconds: float = FOLLOW_SECONDS,
        segments: str | None = None,
        copy: str | None = None,
        progress: Progress | None = None,
        address: str | None = None,
        now: Callable[[], int] = now_ms,
    ) -> Database:
        """From a folder, made if need be, from a PostgreSQL server, or `:memory:`.

        limits: of transactions given as text. waiting: the most transactions that are not answered yet. attributes:
        the most attributes that transactions may declare in all. keys: how long idempotency keys are remembered.
        shared: other processes of this machine may open the folder, too, if they say so; a server's log is always
        shared. siblings: the processes of one server that share it. follow_seconds: how often others' transactions
        are looked for without a notice. segments: for a server's log, the folder or address at which gateways share
        checkpoints and imported files; None: each folds for itself. copy: the folder in which this process keeps
        what it has of them; None: one that goes with the process. progress: where how far it has come is written,
        and whether it is still wanted is read. address: where it is served, for processes of this machine that find
        the folder in use. now: the time of transactions, in milliseconds since 1970.

        Raises BACKEND_UNAVAILABLE where another process has the folder, or the server cannot be reached, INTERNAL
        where the database is damaged, and OpeningStopped.
        """
        with ExitStack() as undo:
            if location == IN_MEMORY:
                ground = in_memory(keys, undo)
            elif is_address(location):
                ground = on_server(location, keys, siblings, undo, segments=segments, copy=copy)
            else:
                ground = in_folder(location, keys, siblings, undo, shared=shared, address=address)
            # Another folder of segments may not remove a file before it is mapped here.
            with nullcontext() if ground.folding is None else ground.folding.holding():
                saves = ground.folder if ground.is_alone else None
                found = opened(ground.folder, ground.log, is_copy=ground.is_copy, progress=progress, saves=saves)
            setting = TransactionSettings(SchemaPolicy(schema, attributes), limits, waiting, now)
            database = Database(found, ground, setting, follow_seconds, siblings)
            database._held = undo.pop_all()
        database.compactor.wrote(found.unsaved)
        if found.head.excised:
            # A process may have been killed before nothing was left of it.
            (database.compactor.begin_clean if ground.is_alone else database.compactor.clean)()
        return database

    def source(self) -> LogSource:
        """What a backup is made from: all that is durable now. Used until the database is closed."""
        files = None if self._folder is None else FolderFiles(self._folder, self.log.bring)
        return LogSource(self.log, files, now_ms(), self._snapshot.t)

    def last_backup(self) -> float | None:
        """When it was backed up last by any process, in seconds since 1970; None if that is not known, as while the
        log is away."""
        folder = None if self._folder is None else self._folder.path
        return None if self.writer.away is not None else last_backup(self.log, folder)

    def close(self) -> None:
        """Finish the transactions under way and let go of the folder or server."""
        self.retention.close()
        if self._following is not None:
            self._following.close()
        if self._rechecks is not None:
            self._rechecks.close()
        self.compactor.close()
        self.writer.close()
        self._held.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def schema(self) -> SchemaMode:
        """Whether attributes have to be declared before they are used."""
        return self._setting.policy.mode

    def history_mark(self, t: int, excised: int | None = None) -> str:
        """Equal for databases that agree on every transaction up to t, as it is now: a copy that went its own way
        says another, and so does an excision since. excised: the last excision that is known of, where it is to be
        as it was before others.

        Raises ARG_INVALID for a t not reached yet, BACKEND_UNAVAILABLE where it is of long ago and the log cannot
        be read.
        """
        checksum = self.log.recent_checksum(t)
        if checksum is None:
            self._check_log()
            checksum = self.log.checksum_at(t)
        if checksum is None:
            raise invalid_argument(f"transaction {t} is not reached yet")
        left = self.excised_after(t) if excised is None else excised if excised > t else 0
        return f"{self.log.identity} {t} {checksum:08x}{f' excised {left}' if left else ''}"

    def excised_after(self, t: int) -> int:
        """The last excision after transaction t, which may have taken something of what was known then; 0 for
        none."""
        excised = self._snapshot.origin.excised
        return excised if excised > t else 0

    def on_excision(self, forget: Callable[[], None]) -> None:
        """Has `forget` called on the writer's thread after each excision, once nothing new has what it took: to let
        go of what was made before."""
        self._forgetting.append(forget)

    def evaluate_with(self, evaluator: Evaluator) -> None:
        """Sets the evaluator of the stored queries that transactions call; without one they are refused."""
        self._setting.evaluator = evaluator

    def follow_with(self, follower: Follower) -> None:
        """Sets the server of live queries; without one they are refused."""
        self._follower = follower

    def live(self, query: str, *args: Any, resume: str | None = None, from_t: int | None = None) -> Iterator[Any]:
        """The answer to a query and then its changes, as they are made: SNAPSHOT chunks, DELTAs, PROGRESS where
        nothing happens. Each waits for the next; `close()` ends it.

        resume: that of the last change that was seen. from_t: the transaction to start from. Raises what is wrong
        with the query, and BACKEND_UNAVAILABLE where no `executor.live.hub.hub.Hub` follows the database.
        """
        if self._follower is None:
            raise unavailable("nobody follows this database: make an executor.live.hub.hub.Hub of its pool")
        return self._follower.live(query, args, resume, from_t)

    # Reading

    def snapshot(self) -> Snapshot:
        """Raises INTERNAL once a file of the database was found damaged, as any answer may come from it."""
        if (damage := self._unread.damage) is not None:
            raise damage
        return self._snapshot

    def reached(self, t: int) -> Future[None] | None:
        """Done once transaction t can be read here, which another process may have answered already. None where it
        can be read now, or no other process writes to the log. A waiter that gives up cancels it."""
        if t <= self._snapshot.t or not self.log.is_shared:
            return None
        future = self._waiting.wait(t)
        self.writer.look()
        return future

    def looked(self) -> Future[None] | None:
        """Done once all can be read here that any process has answered before. None where no other process writes
        to the log. Nobody may cancel it."""
        return self.writer.look() if self.log.is_shared else None

    @property
    def missed(self) -> int | None:
        """The newest transaction that another process of this server may have answered and that is not read here
        yet; None where there is none, or the log is out of reach."""
        if self._siblings is None:
            return None
        newest = self._siblings.newest()
        return newest if newest > self._snapshot.t and self.writer.away is None else None

    def at(
        self,
        *,
        t: int | None = None,
        as_of: datetime | int | None = None,
        since: datetime | int | None = None,
        history: bool = False,
    ) -> Snapshot:
        """The database of a moment: after transaction t, or as of an instant or transaction, each by its number or,
        as the fourth place of a pattern shows it, by its entity id. `since`: only what was asserted after that.

        Raises BASIS_FUTURE for a t not reached yet, ARG_INVALID for both or a negative one.
        """
        now = self.snapshot()
        if t is not None and as_of is not None:
            raise invalid_argument("give t or asOf, not both")
        moment = as_of if t is None else t
        moment = now.as_of_instant(moment) if isinstance(moment, datetime) else moment
        since = now.as_of_instant(since) if isinstance(since, datetime) else since
        moment, since = numbered(moment), numbered(since)
        for name, number in (("t", moment), ("since", since)):
            if number is not None:
                check_moment(name, number)
        if moment is not None and moment > now.t:
            raise self._not_reached(moment)
        key = now.key_of(now.t if moment is None else moment, since or 0, history=history)
        return now if key == now.key else self._view(now, key)

    def _not_reached(self, t: int) -> AdalogError:
        newest = self._snapshot.t
        return AdalogError(Code.BASIS_FUTURE, f"t = {t} is not reached yet: the newest transaction is {newest}")

    def _view(self, now: Snapshot, key: ViewKey) -> Snapshot:
        with self._past_lock:
            view = self._past.get(key)
        if view is None:
            # Without the lock, as the schema of then may have to be read.
            t, since, history, *_ = key
            view = now.as_of(t)
            view = view.since(since) if since else view
            view = view.history() if history else view
        with self._past_lock:
            view = self._past.pop(key, view)
            if view.codes is not self._snapshot.codes:
                # There was an excision meanwhile.
                return view
            self._past[key] = view
            if len(self._past) > _PAST_VIEWS:
                self._past.popitem(last=False)
            return view

    def speculate(
        self,
        basis: Snapshot,
        tx: TransactionData,
        start: SpeculationStart | None = None,
        watch: Watch | None = None,
        viewer: object | None = None,
    ) -> tuple[Snapshot, TxReport]:
        """Datomic's `with`: the basis with transaction data applied that is never committed, and its report.

        A `since` or `history` view is that view of the outcome. start: of an earlier one on the same basis, to get
        the same ids and instant again. watch: looked at now and then. viewer: as in `submit`; the outcome is the
        whole database nevertheless, also of a guarded basis. Raises what `transact` raises, and it.
        """
        basis, present = basis.raw if isinstance(basis, GuardedSnapshot) else basis, self._snapshot
        with put_off(len(tx)):
            fork = SpeculativeState(basis, start)
            past = present if basis.t < present.t else None
            evaluation = Evaluation(self._setting, watch, viewer=viewer, now=past)
            seen = evaluation.guarded(fork)
            transaction = transaction_of(tx, seen, evaluation, self._setting.limits)
            now = None if start is None else start.instant
            resolved = resolve(transaction, seen, evaluation, self._setting.policy, now)
            return outcome(basis, fork, resolved, transaction.digest())

    def transactions(
        self, start: int, stop: int, limit: int, take: Callable[[int], None] = lambda _: None
    ) -> Iterator[TxReport]:
        """At most `limit` transactions with start <= t < stop, oldest first, as they are read from the log. `take`
        is called with about the bytes of each before it is decoded, and may raise."""
        self._check_log()
        now = self._snapshot
        for entry in self.log.entries(max(start, 1), min(stop, now.t + 1), limit):
            take(Logged.weight(entry.payload))
            # With its files open: an excision may remove them before the datoms are read.
            yield report_of(entry, self.log.opened(entry), now.name_of)

    def logged_bytes(self, start: int, stop: int, limit: int) -> int:
        """The bytes of the log that `transactions` will read."""
        self._check_log()
        return self.log.nbytes(max(start, 1), min(stop, self._snapshot.t + 1), limit)

    def tx_instant(self, t: int) -> datetime | None:
        """When a transaction was made; None where there is none of that number here. Asks the log for nothing."""
        found = instant_at(self._snapshot, t)
        return None if found is None else instant(found)

    def _check_log(self) -> None:
        """Raises BACKEND_UNAVAILABLE while the log is known to be out of reach, without another attempt."""
        if (away := self.writer.away) is not None:
            raise unavailable(away)

    # Writing

    def with_values(self, tx: str, args: Mapping[str, Any]) -> TransactionData:
        """EDN text with values for some of its variables, to be submitted. Raises as `GivenText.of`."""
        return GivenText.of(tx, args, self._setting.limits)

    def reversal(self, t: int) -> TransactionData:
        """What undoes transaction t, to be submitted: its forms are made for the state that they are applied to.

        Raises ARG_INVALID and BASIS_FUTURE for a number that no transaction has, TX_INVALID for an excision,
        BACKEND_UNAVAILABLE.
        """
        if type(t) is not int:
            raise invalid_argument(f"t is the number of a transaction, not {quoted(t)}")
        t = number_of(t)
        check_moment("t", t)
        excised = self._snapshot.origin.excised
        report = next(self.transactions(t, t + 1, 1), None)
        if report is None and t == 0:
            raise invalid_argument("t = 0 is the empty database; the first transaction is 1")
        if report is None:
            raise self._not_reached(t)
        if t <= excised and any(is_excision for _, is_excision, _ in self.log.excised(t - 1, t)):
            raise AdalogError(Code.TX_INVALID, f"transaction {t} is an excision, which cannot be undone")
        return Reversal(report, excised)

    def transact(
        self, tx: TransactionData, *, expected_basis_t: int | None = None, idempotency_key: str | None = None
    ) -> TxReport:
        """Apply transaction data, EDN text or forms, and wait until it is durable."""
        return self.submit(
            tx, expected_basis_t=expected_basis_t, idempotency_key=idempotency_key, may_excise=True
        ).result()

    def submit(
        self,
        tx: TransactionData,
        *,
        expected_basis_t: int | None = None,
        idempotency_key: str | None = None,
        principal: str | None = None,
        viewer: object | None = None,
        may_excise: bool = False,
    ) -> Future[TxReport]:
        """Queue transaction data. The future has the report once it is durable, or the refusal. principal: the
        transaction's `:db/principal`. viewer: the identity that policies check it for, and that the report is shown
        to; None for one that may do everything. may_excise: whether it may be an excision, as of an admin.

        BASIS_CONFLICT where `expected_basis_t` is no longer the newest; a used `idempotency_key` gets the report of
        the transaction that used it, and nothing is applied again: ARG_INVALID where that one was another. Raises
        as `snapshot`.
        """
        self.snapshot()
        if idempotency_key is not None:
            check_key(idempotency_key)
        owns_key = idempotency_key is not None and self._snapshot.schema.get(bootstrap.POLICY_NAME) is not None
        request = TransactionRequest(
            tx, expected_basis_t, idempotency_key, principal, viewer, owns_key, may_excise=may_excise
        )
        self.writer.submit(request)
        return request.future

    def bulk_load(self, schema_tx: str | Sequence[Any], columns: BulkData) -> TxReport:
        """One transaction of forms and, per attribute, entities with their values as columns. Attributes are
        declared by the forms or before. Entities are ids of one's own choice; refs are ids."""
        request = BulkRequest(schema_tx, columns=columns)
        self.writer.submit(request)
        return request.future.result()

    @contextmanager
    def unfinished(self) -> Iterator[Path]:
        """A folder for segments to be adopted; what was not adopted by the end goes with it. Raises ARG_INVALID for
        a server's log whose gateways share no files."""
        if self.log.is_on_server and self.log.keep is None:
            raise invalid_argument(
                "an import's files are to be where all gateways on a server see them, and no such place is named: "
                "set ADALOG_SEGMENTS to a folder or address, or transact the data"
            )
        with unfinished(self._file_folder()) as path:
            yield path

    def _file_folder(self) -> Folder:
        """The folder for files. A database in memory gets one with its first import; it goes with the database."""
        with self._folder_lock:
            if self._folder is None:
                folder = self._held.enter_context(temporary_folder(_MEMORY_FILES))
                self.log.files_folder = folder.imported
                self.compactor.begin_files(folder)
                self._folder = folder
            return self._folder

    def prepare(
        self,
        forms: Sequence[Any],
        hold: ExclusiveWriter | None = None,
        idents: int = 0,
        principal: str | None = None,
        types: Collection[Keyword] = (),
    ) -> PreparedImport:
        """What a transaction finds that begins with the forms, for writers of segments to adopt. idents: the
        forms may choose ids of new entities with an ident that are below this one. principal: as in `submit`.
        types: built in later, and used by its other datoms.

        Without a hold what is young is folded before: what is in files need not be sent to anybody. Raises as
        `transact` does.
        """
        if hold is not None:
            return hold.run(lambda: prepared(forms, self._head, self._setting, idents, principal, types))
        self.compact()
        return self._on_writer(lambda: prepared(forms, self._head, self._setting, idents, principal, types))

    @contextmanager
    def held(self, seconds: float) -> Iterator[ExclusiveWriter]:
        """Has transactions wait until the end, or for so many seconds, so that what is prepared meanwhile can be
        adopted. Queries go on. One at a time."""
        hold = ExclusiveWriter(seconds)
        # A fold under way would take over what it made of the state before.
        with self.compactor.paused():
            self.writer.lend(hold)
            try:
                yield hold
            finally:
                hold.release()

    def adopt(
        self, adoption: Adoption, hold: ExclusiveWriter | None = None, *, idempotency_key: str | None = None
    ) -> TxReport:
        """One transaction of the prepared forms and the segments' datoms. `compact` then makes them a checkpoint's.

        Raises BASIS_CONFLICT, and changes nothing, where anything was written since it was prepared. A key that was
        used is for the caller to find, with `transaction_of`.
        """
        assert self._folder is not None
        found = adoption.prepared
        request = AdoptionRequest(
            found.forms,
            found.t - 1,
            idempotency_key,
            found.principal,
            types=found.types,
            adoption=adoption,
            folder=self._folder,
        )
        if hold is not None:
            hold.run(lambda: self.writer.loads.commit(request))
            return request.future.result()
        with self.compactor.paused():
            self.writer.submit(request)
            return request.future.result()

    def transaction_of(self, idempotency_key: str) -> int | None:
        """The transaction that a key was used for, if that is remembered. Raises ARG_INVALID for what is no key."""
        check_key(idempotency_key)
        found = self.log.use_of(idempotency_key, self._snapshot.t)
        return None if found is None else found[0]

    def add_listener(self, listener: Listener) -> None:
        """Have every transaction told, in order, once it is durable and visible, on the writer's thread."""
        self._listeners.append(listener)

    def remove_listener(self, listener: Listener) -> None:
        self._listeners.remove(listener)

    def _publish(self, snapshot: Snapshot, reports: Sequence[TxReport]) -> None:
        # Codes are made anew by excisions alone.
        is_excised = snapshot.codes is not self._snapshot.codes
        self._snapshot = snapshot
        if is_excised:
            self._forget()
        self.clock.look(self._head.instant)
        self.retention.begin(self._head.data)
        if reports:
            if self._siblings is not None:
                self._siblings.wrote(snapshot.t)
            self._waiting.reached(snapshot.t)
        for report in reports:
            self.compactor.wrote(len(report.datoms))
            for listener in tuple(self._listeners):
                try:
                    listener(report, snapshot)
                except Exception:
                    _LOGGER.exception("a listener failed at t = %d", report.t)

    def _forget(self) -> None:
        """After an excision: lets go of what was made before, and has a checkpoint made without it soon."""
        with self._past_lock:
            self._past.clear()
        for forget in self._forgetting:
            try:
                forget()
            except Exception:
                _LOGGER.exception("what was kept in memory before an excision may be kept still")
        self.compactor.clean()

    def _forget_on_disk(self) -> bool:
        """After an excision, once no segment has what it took: the files of imports that it replaced, and the
        log's."""
        return self._on_writer(self._forget_imports) and self.log.scrub()

    def _forget_imports(self) -> bool:
        folder = self._folder
        if folder is None:
            return True
        # No import is between its files and its entry in the log.
        with self.writer.own_turn():
            remove_unnamed(folder, self.log)
            self.compactor.forget_imports()
        return True

    # Folding

    def compact(self) -> None:
        """Folds attributes with many young datoms now, and saves a checkpoint if there is a folder."""
        self.compactor.run()

    def retain(self) -> RetentionResult:
        """Folds away now what attributes had and need not keep, as `:db/retainDays` and `:db/retainTransactions` of
        them or of `:db/retention` say, and `:db/noHistory` of them. Raises as `transact` does."""
        return self.retention.run()

    def _excise(self, forms: Sequence[Any], past: LoggedPast) -> int:
        self.snapshot()
        request = TransactionRequest(forms, may_excise=True, past=past)
        self.writer.submit(request)
        return request.future.result().t

    def _moment(self) -> FoldPoint:
        return self._on_writer(lambda: FoldPoint(self._head.published(), self._head.counters))

    def _adopt(self, folded: FoldResult) -> None:
        self._on_writer(lambda: self._take_over(folded))

    def _take_over_mapped(self, others: MappedCheckpoint) -> None:
        def take_over() -> None:
            head = self._head
            if others.t > head.t:
                self.writer.take_missed()
            if others.t > head.t or others.excised != head.excised:
                # What it has of the future would be applied again; or it was made before an excision.
                return
            head.codes.durable.take_over(others.blocks)
            # What was folded or loaded here meanwhile has more than another's earlier fold.
            current = {id_: head.live(id_).relation for id_ in others.relations}
            newer = {
                id_: relation
                for id_, relation in others.relations.items()
                if relation.t >= current[id_].t and relation.segments != current[id_].segments
            }
            head.replace(newer)
            self._snapshot = self.writer.renewed()

        self._on_writer(take_over)

    def _take_over(self, folded: FoldResult) -> None:
        if folded.excised != self._head.excised:
            # It was begun before an excision: the next one makes it anew.
            self.compactor.want()
            return
        self._head.take_over(folded.blocks, folded.relations)
        self._snapshot = self.writer.renewed()

    def _on_writer(self, work: Callable[[], T]) -> T:
        """Run something between two groups of transactions, and wait for it."""
        job, done = answered_by(work)
        del work
        self.writer.submit(job)
        return done.result()

    # Figures

    def entity_count(self, snapshot: Snapshot) -> int:
        """Entities with a datom in one of its recent snapshots. Costs what was written since the last call."""
        return self._census.entities(snapshot)
