"""The database as the viewer of a request sees it: every snapshot that a request reads comes from here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from adalog.datalog.diagnostics import Diagnostic
from adalog.datalog.errors import AdalogError, Code
from adalog.datalog.watched import watching
from adalog.executor.permissions.reports import visible_report
from adalog.store.snapshot.guarded import GuardedSnapshot

if TYPE_CHECKING:
    from adalog.executor.bounds.cancel import Cancel
    from adalog.executor.permissions.grants import Viewer
    from adalog.executor.permissions.guards import Guard, Permissions
    from adalog.store.database import Database
    from adalog.store.snapshot.snapshot import Snapshot, SpeculationStart
    from adalog.store.state.settings import Watch
    from adalog.store.transact.resolve import TransactionData
    from adalog.store.values.datom import TxReport

# Transactions that are read from the log at once, of which some are visible.
_AT_ONCE: Final = 1_000


@dataclass(eq=False, slots=True)
class VisibleDatabase:
    """`viewer`: None sees everything, as do admins, and as all do without policies. `for_another`: an admin asks
    for the viewer.

    Its guard is one for a request: by the policies and facts of when it first reads, or of later where it reads
    what is newer than that. Fields of a request read on several threads, so that a guard and its moment are set as
    one: a moment whose guard is still being made would show everything."""

    raw: Database
    permissions: Permissions
    viewer: Viewer | None
    for_another: bool = False
    _decided: tuple[Snapshot, Guard | None] | None = None

    # Who sees what

    @property
    def guard(self) -> Guard | None:
        """None where everything is visible."""
        return None if self.viewer is None else self._guard_of(None)

    @property
    def key(self) -> tuple[str, ...]:
        """What is told apart for cursors: nothing where everything is visible."""
        guard = self.guard
        return () if guard is None else (guard.key,)

    def check_all(self, what: str) -> None:
        """Raises FORBIDDEN unless everything is visible."""
        if self.guard is not None:
            raise AdalogError(Code.FORBIDDEN, f"{what} is for admins while policies are enforced")

    def _guard_of(self, raw: Snapshot | None) -> Guard | None:
        decided = self._decided
        if decided is None or (raw is not None and raw.t > decided[0].t):
            newest = self.raw.snapshot()
            now = raw if raw is not None and raw.t >= newest.t and raw.is_plain else newest
            decided = self._decided = now, self.permissions.guard(self.viewer, now)
        return decided[1]

    def see(self, raw: Snapshot) -> Snapshot:
        """What is visible of a committed snapshot."""
        if self.viewer is None:
            return raw
        guard = self._guard_of(raw)
        return raw if guard is None else guard.view(raw)

    def tried(
        self, basis: Snapshot, tx: TransactionData, start: SpeculationStart | None, watch: Watch
    ) -> tuple[Snapshot, TxReport]:
        """What is visible of a snapshot from here once transaction data is applied, and the report. The outcome
        decides what is visible of it, as now; on the past the present decides as well. Raises what refuses such a
        transaction."""
        raw = basis.raw if isinstance(basis, GuardedSnapshot) else basis
        own = self.guard
        # What an admin tries for another it may do itself.
        author = None if self.for_another else self.viewer
        after, report = self.raw.speculate(raw, tx, start, watch, author)
        is_past = own is not None and raw.t < own.now.t
        guard = own if is_past else self.permissions.guard(self.viewer, after.plain)
        return (after if guard is None else guard.view(after)), report

    def dry_run(self, tx: TransactionData, watch: Watch) -> TxReport:
        """The report that the viewer would get of a transaction that is applied now. Nothing is kept. Raises what
        would refuse it."""
        return self.raw.speculate(self.raw.snapshot(), tx, None, watch, self.viewer)[1]

    def applied(
        self, basis: Snapshot, data: Callable[[], TransactionData], start: SpeculationStart | None, cancel: Cancel
    ) -> tuple[Snapshot, tuple[Diagnostic, ...]]:
        """As `tried`, with what is suspicious about the data. Errors and suspicions say that `with` is at fault."""
        try:
            after, report = self.tried(basis, data(), start, cancel)
            # Looked for in the text, which may be long.
            with watching(cancel.check):
                found = report.diagnostics()
        except AdalogError as error:
            # Wrong arguments name themselves.
            named = error.code is Code.ARG_INVALID and error.position is None
            raise error if named else error.of_text("with") from None
        return after, tuple(map(_of_with, found))

    # Snapshots

    @property
    def t(self) -> int:
        """The newest transaction."""
        return self.raw.snapshot().t

    def snapshot(self) -> Snapshot:
        """The newest."""
        return self.see(self.raw.snapshot())

    def at(
        self,
        *,
        t: int | None = None,
        as_of: datetime | int | None = None,
        since: datetime | int | None = None,
        history: bool = False,
    ) -> Snapshot:
        """As of `Database`."""
        return self.see(self.raw.at(t=t, as_of=as_of, since=since, history=history))

    # Transactions

    def transactions(
        self, start: int, stop: int, limit: int, take: Callable[[int], None] = lambda _: None
    ) -> Iterator[TxReport]:
        """As of `Database`: those of which something is visible."""
        guard = self.guard
        if guard is None:
            yield from self.raw.transactions(start, stop, limit, take)
            return
        found, past = 0, guard.view(guard.now.plain.history())
        start, stop = max(start, 1), min(stop, guard.now.t + 1)
        while found < limit and start < stop:
            last = start
            for report in self.raw.transactions(start, stop, _AT_ONCE, take):
                last = report.t + 1
                shown = visible_report(past, report)
                if shown is not None:
                    yield shown
                    found += 1
                    if found == limit:
                        return
            if last == start:
                return
            start = last

    # Counts

    def entity_count(self, snapshot: Snapshot) -> int:
        """The entities with a visible datom."""
        return self.raw.entity_count(snapshot) if self.guard is None else snapshot.entity_count


def _of_with(found: Diagnostic) -> Diagnostic:
    at = None if found.position is None else replace(found.position, origin="with")
    return replace(found, message=found.message if at or found.left_out else f"with: {found.message}", position=at)
