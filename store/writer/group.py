"""Transactions that are appended to the log together, and their waiters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from adalog.datalog.errors import AdalogError, Code
from adalog.store.log.entry import LogEntry
from adalog.store.values.datom import TxReport
from adalog.store.writer.excising import PlannedExcision
from adalog.store.writer.refusals import answering, in_doubt, read_only
from adalog.store.writer.request import TransactionRequest

# How often a group is resolved again as others were quicker, although they had no turn.
MOST_OVERTAKEN: Final = 8

Showing = Callable[[TxReport], TxReport]
"""What the viewer of a request sees of a report; None: everything."""


@dataclass
class Group:
    """What was resolved and waits for the append."""

    entries: list[LogEntry] = field(default_factory=list)
    reports: list[TxReport] = field(default_factory=list)
    # The waiters of each report, and how each of them sees it: more than one where a group repeats a key.
    waiting: list[tuple[TransactionRequest, int, Showing | None]] = field(default_factory=list)
    # Refusals in a state that is not durable yet; sent when it is.
    refused: list[tuple[TransactionRequest, AdalogError]] = field(default_factory=list)
    # Both in order.
    pending: list[TransactionRequest] = field(default_factory=list)
    # Those whose turn has not come.
    rest: Sequence[TransactionRequest] = ()
    # What its only transaction excises.
    excision: PlannedExcision | None = None

    def add(self, request: TransactionRequest, entry: LogEntry, report: TxReport, show: Showing | None) -> None:
        self.repeat(request, len(self.entries), show)
        self.entries.append(entry)
        self.reports.append(report)

    def repeat(self, request: TransactionRequest, place: int, show: Showing | None) -> None:
        self.waiting.append((request, place, show))
        self.pending.append(request)

    def refuse(self, request: TransactionRequest, error: AdalogError) -> None:
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
        for request, place, _ in self.waiting:
            has_key = self.entries[place].used is not None
            request.future.set_exception(in_doubt(why, failed, has_key=has_key))
        for request, _ in self.refused:
            request.future.set_exception(read_only(why, failed))

    def answer(self) -> None:
        for request, place, show in self.waiting:
            if show is None:
                request.future.set_result(self.reports[place])
            else:
                with answering(request.future):
                    request.future.set_result(show(self.reports[place]))
        for request, error in self.refused:
            request.future.set_exception(error)
