"""How a database reads transactions: its schema mode, its limits on text, and the evaluator of stored queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Final, Protocol

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.datalog.parsing.policy_rules import PolicyRules
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.permission import GuardedState, WriteGuard
from adalog.store.state.state import DatabaseState
from adalog.store.values import bootstrap
from adalog.store.values.datom import TxReport
from adalog.store.values.schema_policy import SchemaPolicy

SECONDS: Final = 5.0
WAITING: Final = 1024


Rows = Sequence[tuple[Any, ...]]


class Watch(Protocol):
    """What long work looks at: whether it should stop."""

    def check(self) -> None:
        """Raises AdalogError where it should."""


class Evaluator(Protocol):
    """Runs stored queries and the rules of policies, which the store cannot."""

    def rows(self, query: str, args: Sequence[Any], snapshot: Snapshot, until: float, watch: Watch | None) -> Rows:
        """The rows of a query's text with the values for its `:in` after `$`, in an order that is always the same.
        `until`: the moment of `time.monotonic()` by which it has to be done. Raises AdalogError for a query that is
        wrong, or that takes longer."""

    def mark(self, query: str, args: Sequence[Any], snapshot: Snapshot) -> bytes | None:
        """Equal for snapshots in which nothing differs that the query reads; None where that cannot be told."""

    def guard(self, viewer: object, now: Snapshot) -> WriteGuard | None:
        """What a viewer may see and change by the policies and facts of a raw snapshot; None: everything."""

    def visible_report(self, viewer: object, report: TxReport, now: Snapshot) -> TxReport:
        """What the viewer sees now of a transaction of the log. now: the newest raw snapshot."""

    def is_admin(self, viewer: object) -> bool:
        """Whether the viewer may change policies."""

    def check_rules(self, rules: PolicyRules, snapshot: Snapshot) -> None:
        """Raises UNSTRATIFIABLE and UNKNOWN_ATTRIBUTE for rules of a policy that cannot be run, with the place in
        their text."""

    def aside(self, work: Callable[[Watch], None], until: float) -> Future[None]:
        """Does long work while others go on. Raises RATE_LIMITED where there is no room for it."""


class QueriesOverran(Exception):
    """The stored queries of a transaction take longer than everybody else may be kept waiting."""


@dataclass
class RehearsedQueries:
    """What a transaction's stored queries gave when it was tried aside. until: when it has to be applied."""

    until: float
    tries: int = 0
    _known: dict[Any, Rows] = field(default_factory=dict)

    def rows(self, marks: Sequence[Any]) -> Rows | None:
        return next((self._known[mark] for mark in marks if mark in self._known), None)

    def learn(self, marks: Sequence[Any], rows: Rows) -> None:
        self._known.update((mark, rows) for mark in marks)


@dataclass
class TransactionSettings:
    """evaluator: set by the query engine. waiting: transactions not answered yet that are the most there may be.
    now: the time of transactions, in milliseconds since 1970."""

    policy: SchemaPolicy = field(default_factory=SchemaPolicy)
    limits: edn.Limits = edn.DEFAULT
    waiting: int = WAITING
    now: Callable[[], int] = lambda: int(time.time() * 1000)
    evaluator: Evaluator | None = None

    @property
    def import_policy(self) -> SchemaPolicy:
        """That of imports, which may bring the whole schema of another database."""
        return replace(self.policy, at_once=None)


@dataclass
class Evaluation:
    """One transaction's stored queries, which have some seconds together. brief: seconds after which they raise
    QueriesOverran, where others wait. rehearsal: results that are known. viewer: the identity whose transaction it
    is, None for one that may do everything. now: the present, where the transaction is tried on a past state.
    may_excise: whether it may be an excision."""

    _setting: TransactionSettings
    _watch: Watch | None = None
    _: KW_ONLY
    brief: float | None = None
    rehearsal: RehearsedQueries | None = None
    viewer: object | None = None
    now: Snapshot | None = None
    may_excise: bool = False
    _until: float | None = None

    def guarded(self, state: DatabaseState) -> DatabaseState:
        """The state as the viewer sees it; the state itself for one that sees everything."""
        if self.viewer is None or state.schema.get(bootstrap.POLICY_NAME) is None:
            return state
        raw = state.snapshot().being_changed(state.codes)
        guard = self._evaluator.guard(self.viewer, raw if self.now is None else self.now)
        return state if guard is None else GuardedState(state, raw, guard, self.now)

    def visible_report(self, report: TxReport, state: DatabaseState) -> TxReport:
        """The report of a transaction of the log as the viewer sees it now."""
        if self.viewer is None or state.schema.get(bootstrap.POLICY_NAME) is None:
            return report
        return self._evaluator.visible_report(self.viewer, report, state.snapshot().being_changed(state.codes))

    def milliseconds(self) -> int:
        """The time of a transaction that is made now."""
        return self._setting.now()

    def may_change_policies(self) -> bool:
        return self.viewer is None or self._evaluator.is_admin(self.viewer)

    def check_rules(self, rules: PolicyRules, snapshot: Snapshot) -> None:
        """As `Evaluator.check_rules`; without an evaluator nothing is known to be wrong."""
        if self._setting.evaluator is not None:
            self._setting.evaluator.check_rules(rules, snapshot)

    @property
    def _evaluator(self) -> Evaluator:
        if self._setting.evaluator is None:
            raise unavailable(
                "stored queries and policies need a query engine, and this database was opened without one",
                retryable=False,
            )
        return self._setting.evaluator

    def check(self) -> None:
        """Raises where the work on the transaction should stop."""
        if self._watch is not None:
            self._watch.check()

    def rows(self, query: str, args: Sequence[Any], snapshot: Snapshot) -> Rows:
        evaluator, rehearsal = self._evaluator, self.rehearsal
        if rehearsal is None:
            return self._run(evaluator, query, args, snapshot)
        marks = [(query, repr(args), snapshot.t), evaluator.mark(query, args, snapshot)]
        marks = [mark for mark in marks if mark is not None]
        rows = rehearsal.rows(marks)
        if rows is None:
            rows = self._run(evaluator, query, args, snapshot)
            rehearsal.learn(marks, rows)
        return rows

    def _run(self, evaluator: Evaluator, query: str, args: Sequence[Any], snapshot: Snapshot) -> Rows:
        now = time.monotonic()
        if self._until is None:
            end = now + SECONDS if self.rehearsal is None else self.rehearsal.until
            self._until = end if self.brief is None else min(end, now + self.brief)
        try:
            if now < self._until:
                return evaluator.rows(query, args, snapshot, self._until, self._watch)
        except AdalogError as error:
            if error.code is not Code.TIMEOUT or time.monotonic() < self._until:
                raise
        if self.brief is not None:
            raise QueriesOverran
        raise overdue()


def overdue() -> AdalogError:
    """What a transaction is answered whose stored queries take too long."""
    return AdalogError(
        Code.TIMEOUT, f"the transaction's stored queries took more than {SECONDS:g} seconds together"
    )
