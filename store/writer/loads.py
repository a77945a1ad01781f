"""Transactions whose datoms come as columns or in files: bulk loads and imports, each a group of its own.

On the writer's thread, by the writer's own steps for the forms that come with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol

from adalog.store.checkpoint import adoption
from adalog.store.log.entry import LogEntry
from adalog.store.log.log import AppendTurn, InDoubtError, Log, OvertakenError
from adalog.store.log.payload import Logged, LoggedColumn
from adalog.store.log.report import report_of
from adalog.store.state.head import Head, Mark
from adalog.store.transact import bulk
from adalog.store.values.changes import BulkColumn
from adalog.store.values.datom import TxReport
from adalog.store.writer.group import MOST_OVERTAKEN, Group
from adalog.store.writer.in_doubt import InDoubtAppend
from adalog.store.writer.refusals import answering, in_doubt, overtaken
from adalog.store.writer.request import AdoptionRequest, BulkRequest, TransactionRequest


class Steps(Protocol):
    """What the writer does for any transaction."""

    is_stopped: bool

    def own_turn(self) -> AbstractContextManager[AppendTurn]:
        """The turn to append, after what others appended was taken over."""

    def resolve(self, request: TransactionRequest, group: Group) -> None:
        """Applies a transaction to the head, to be appended with its group."""

    def append(self, turn: AppendTurn, entries: Sequence[LogEntry]) -> None:
        """Makes entries durable."""

    def show(self, reports: Sequence[TxReport]) -> None:
        """Has everybody see what is durable now."""


class Loads:
    """Commits such transactions, one after the other."""

    def __init__(self, head: Head, log: Log, doubt: InDoubtAppend, writer: Steps) -> None:
        self._head = head
        self._log = log
        self._doubt = doubt
        self._writer = writer

    def commit(self, request: BulkRequest | AdoptionRequest) -> None:
        """Commits a bulk load or an import, a group of one, and answers the request."""
        if not request.future.set_running_or_notify_cancel():
            return
        with answering(request.future):
            for _ in range(MOST_OVERTAKEN):
                reports: list[TxReport] = []
                try:
                    with self._writer.own_turn() as turn:
                        mark = self._head.mark()
                        try:
                            if isinstance(request, BulkRequest):
                                self._bulk(request, turn, mark, reports)
                            else:
                                self._adoption(request, turn, reports)
                        except BaseException:
                            self._head.rolled_back(mark)
                            raise
                    break
                except OvertakenError:
                    continue
                except InDoubtError as error:
                    self._doubt.begin(str(error))
                    applied = self._doubt.certainty(error.number, lambda: self._writer.is_stopped)
                    if applied is None:
                        raise in_doubt(
                            str(error), self._log.failed, has_key=request.used_key() is not None
                        ) from error
                    if applied:
                        break
            else:
                raise overtaken(MOST_OVERTAKEN)
            request.future.set_result(reports[0])

    def _bulk(self, request: BulkRequest, turn: AppendTurn, mark: Mark, reports: list[TxReport]) -> None:
        head = self._head
        group, columns = self._resolve_bulk(request, mark)
        relations = {column.attribute: head.with_column(column) for column in columns}
        entry, logged = self._with_columns(group.entries[0], columns)
        reports.append(report_of(entry, logged, head.name_of))
        self._writer.append(turn, [entry])
        if self._log.is_shared:
            # As the others do: every replay of the log gives the same codes.
            head.rolled_back(mark)
            head.replay(entry.t, entry.instant, logged)
        else:
            head.replace(relations)
        self._writer.show(reports)

    def _adoption(self, request: AdoptionRequest, turn: AppendTurn, reports: list[TxReport]) -> None:
        head = self._head
        assert request.adoption is not None
        assert request.folder is not None
        group = Group()
        head.next_ident = max(head.next_ident, request.adoption.prepared.idents)
        self._writer.resolve(request, group)
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
        self._writer.append(turn, [entry])
        head.settle()
        head.codes.append(taken.blocks)
        head.use(request.adoption.ids)
        head.replace(taken.relations)
        self._writer.show(reports)

    def _resolve_bulk(self, request: BulkRequest, mark: Mark) -> tuple[Group, list[BulkColumn]]:
        """Apply the forms to the head, with new entities that are not among the columns' ones; and the columns."""
        head, group = self._head, Group()
        self._writer.resolve(request, group)
        columns = bulk.columns(request.columns, head)
        ids = bulk.ids(columns, head)
        chosen = mark.counters.free.among_sorted(ids)
        mark.counters.free.check_chosen(chosen)
        if len(head.free.among_sorted(ids)) < len(chosen):
            # The columns' ids are known only once the forms have declared their attributes.
            head.undo(mark)
            head.use(ids)
            group = Group()
            self._writer.resolve(request, group)
        else:
            head.use(ids)
        return group, columns

    def _with_columns(self, entry: LogEntry, columns: Sequence[BulkColumn]) -> tuple[LogEntry, Logged]:
        plain = Logged.decoded(entry.payload)
        logged_columns = [LoggedColumn.of(c.attribute, c.e, c.v, self._head.codes) for c in columns]
        logged = Logged(plain.datoms, plain.tempids, logged_columns)
        return LogEntry(entry.t, entry.instant, None, logged.encoded()), logged
