"""How a database reads transactions: its schema mode, its limits on text, and the evaluator of stored queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Final, Protocol

from adalog.datalog import edn
from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.values.schema_policy import SchemaPolicy

SECONDS: Final = 5.0
WAITING: Final = 1024


Rows = Sequence[tuple[Any, ...]]


class Watch(Protocol):
    """What long work looks at: whether it should stop."""

    def check(self) -> None:
        """Raises AdalogError where it should."""


class Evaluator(Protocol):
    """Runs stored queries, which the store cannot."""

    def rows(self, query: str, args: Sequence[Any], snapshot: Snapshot, until: float, watch: Watch | None) -> Rows:
        """The rows of a query's text with the values for its `:in` after `$`, in an order that is always the same.
        `until`: the moment of `time.monotonic()` by which it has to be done. Raises AdalogError for a query that is
        wrong, or that takes longer."""

    def mark(self, query: str, args: Sequence[Any], snapshot: Snapshot) -> bytes | None:
        """Equal for snapshots in which nothing differs that the query reads; None where that cannot be told."""

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
    """evaluator: set by the query engine. waiting: transactions not answered yet that are the most there may be."""

    policy: SchemaPolicy = field(default_factory=SchemaPolicy)
    limits: edn.Limits = edn.DEFAULT
    waiting: int = WAITING
    evaluator: Evaluator | None = None

    @property
    def import_policy(self) -> SchemaPolicy:
        """That of imports, which may bring the whole schema of another database."""
        return replace(self.policy, at_once=None)


@dataclass
class Evaluation:
    """One transaction's stored queries, which have some seconds together. brief: seconds after which they raise
    QueriesOverran, where others wait. rehearsal: results that are known."""

    _setting: TransactionSettings
    _watch: Watch | None = None
    _: KW_ONLY
    brief: float | None = None
    rehearsal: RehearsedQueries | None = None
    _until: float | None = None

    def check(self) -> None:
        """Raises where the work on the transaction should stop."""
        if self._watch is not None:
            self._watch.check()

    def rows(self, query: str, args: Sequence[Any], snapshot: Snapshot) -> Rows:
        evaluator, rehearsal = self._setting.evaluator, self.rehearsal
        if evaluator is None:
            raise unavailable(
                "stored queries need a query engine, and this database was opened without one", retryable=False
            )
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
