"""Runs the queries that a database stores, and the rules of its policies, for its transactions: what
`store.state.settings` calls an evaluator."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeVar

from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.parsing.policy_rules import PolicyRules
from adalog.executor.answer.result import Result
from adalog.executor.bounds.cancel import Cancel, Part
from adalog.executor.bounds.lru_cache import LruCache
from adalog.executor.cache.key import CacheKeys
from adalog.executor.permissions.grants import Viewer
from adalog.executor.permissions.guards import ADMIN, Guard, Permissions
from adalog.executor.permissions.reports import visible_report
from adalog.executor.permissions.rule_checks import check_rules
from adalog.executor.question.question import Question
from adalog.executor.question.request import QueryRequest
from adalog.store.database import Database
from adalog.store.snapshot.snapshot import Snapshot
from adalog.store.state.settings import SECONDS, Watch
from adalog.store.values.datom import TxReport

T = TypeVar("T")

_MOST_ROWS: Final = 100_000
# Of what is remembered of their texts.
_SHAPE_BYTES: Final = 4 << 20


class Runner(Protocol):
    """What runs queries over one database: the pool."""

    database: Database
    permissions: Permissions

    def question(self, request: QueryRequest) -> Question:
        """The request made ready."""

    def run(self, request: QueryRequest, cancel: Cancel) -> Result:
        """The answer, computed on the caller's thread."""

    def submit(self, cancel: Cancel, work: Callable[[Cancel], T]) -> Future[T]:
        """The outcome of work that waits for its turn."""


@dataclass(frozen=True, slots=True)
class _TransactionLimit:
    """The time that policies have for one transaction, since others wait for it. Beyond it, `code` and `message`
    are the error."""

    code: Code
    message: str
    until: float = field(default_factory=lambda: time.monotonic() + SECONDS)

    def check_flag(self, now: float) -> None:
        if now > self.until:
            raise AdalogError(self.code, self.message)

    def check(self) -> None:
        self.check_flag(time.monotonic())


class StoredQueries:
    """Local, in the thread of whoever applies the transaction, rows in the total order of values."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._keys = CacheKeys(runner.database, LruCache(_SHAPE_BYTES))

    def rows(
        self, query: str, args: Sequence[Any], snapshot: Snapshot, until: float, watch: Watch | None
    ) -> Sequence[tuple[Any, ...]]:
        """The rows of a stored query; by the deadline, and by that of `watch`."""
        cancel = Part(watch, until) if isinstance(watch, Cancel) else Cancel(until)
        # The state it reads is not durable yet, and may never be.
        return self._runner.run(_request(query, args, snapshot, cached=False), cancel).rows()

    def mark(self, query: str, args: Sequence[Any], snapshot: Snapshot) -> bytes | None:
        """The key of the answer, where the snapshot is durable."""
        asked = self._keys.asked(self._runner.question(_request(query, args, snapshot, cached=True)))
        return None if asked is None else asked.key.name

    def guard(self, viewer: object, now: Snapshot) -> Guard | None:
        """As `Permissions.guard`, for one transaction."""
        assert isinstance(viewer, Viewer)
        message = (
            f"the policies took more than {SECONDS:g} seconds to decide about the transaction, which denies it"
        )
        return self._runner.permissions.guard(viewer, now, _TransactionLimit(Code.FORBIDDEN, message))

    def visible_report(self, viewer: object, report: TxReport, now: Snapshot) -> TxReport:
        """What the viewer sees now of a transaction of the log: nothing but its number, or more."""
        guard = self.guard(viewer, now)
        if guard is None:
            return report
        return visible_report(guard.view(now.plain.history()), report) or replace(report, tempids={}, datoms=())

    def is_admin(self, viewer: object) -> bool:
        return isinstance(viewer, Viewer) and ADMIN in viewer.roles

    def check_rules(self, rules: PolicyRules, snapshot: Snapshot) -> None:
        message = f"the rules take more than {SECONDS:g} seconds to plan; divide them among several policies"
        check_rules(rules, snapshot, _TransactionLimit(Code.LIMIT_EXCEEDED, message).check)

    def aside(self, work: Callable[[Watch], None], until: float) -> Future[None]:
        """The work as one of the pool's, for whoever asks."""
        return self._runner.submit(Cancel(until), work)


def _request(query: str, args: Sequence[Any], snapshot: Snapshot, *, cached: bool) -> QueryRequest:
    return QueryRequest(query, args, snapshot, engine="LOCAL", max_rows=_MOST_ROWS, ordered=True, cached=cached)
