"""What a connection asks a database in this process, or a server, with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from adalog.client.given import Moment, TransactionText, User
from adalog.client.progress import Show
from adalog.client.result import (
    Attribute,
    Datom,
    Explanation,
    ExportReport,
    ImportReport,
    LiveChanges,
    Reason,
    Result,
    ResultList,
    TxReport,
)


class Backend(Protocol):
    """A database in this process, or a server. Arguments are values of the engine, answers are the library's.
    Raises AdalogError. Thread-safe."""

    place: str

    def query(self, moment: Moment, query: str, args: Sequence[Any], timeout_ms: int | None) -> Result: ...
    def explain(self, moment: Moment, query: str, args: Sequence[Any], *, analyze: bool) -> Explanation: ...
    def why(
        self, moment: Moment, query: str, args: Sequence[Any], row: Sequence[Any], timeout_ms: int | None
    ) -> Reason: ...
    def pull(
        self, moment: Moment, pattern: str, entities: Sequence[str], name: str, timeout_ms: int | None
    ) -> ResultList[Any]: ...
    def datoms(
        self, moment: Moment, index: str, components: Sequence[Any], limit: int | None
    ) -> ResultList[Datom]: ...
    def attributes(self, user: User | None) -> list[Attribute]: ...
    def transact(
        self,
        tx: TransactionText | tuple[Any, ...],
        expected_basis_t: int | None,
        idempotency_key: str | None,
        user: User | None,
    ) -> TxReport: ...
    def revert(
        self, t: int, expected_basis_t: int | None, idempotency_key: str | None, user: User | None
    ) -> TxReport: ...
    def live(
        self, query: str, args: Sequence[Any], resume: str | None, from_t: int | None, user: User | None
    ) -> LiveChanges: ...
    def import_(
        self,
        mapping: Any,
        paths: Mapping[str, str],
        quarantine: str | os.PathLike[str] | None,
        progress: bool | Show,
        *,
        max_errors: int,
        dry_run: bool,
    ) -> ImportReport: ...
    def export(self, moment: Moment, to: str, form: str, progress: bool | Show) -> ExportReport: ...
    def newest(self) -> int: ...
    def close(self) -> None: ...
