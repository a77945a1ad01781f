"""What is suspicious about the moments of a basis. Knows nothing of GraphQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from adalog.datalog.diagnostics import Diagnostic, Suspicion
from adalog.schema.writing.encoding import iso
from adalog.store.snapshot.transaction_ids import first_after, is_future, numbered

if TYPE_CHECKING:
    from adalog.store.snapshot.snapshot import Snapshot


def out_of_range(
    now: Snapshot,
    as_of_place: str,
    as_of: datetime | int | None,
    since_place: str = "",
    since: datetime | int | None = None,
) -> Iterator[Diagnostic]:
    """What of a basis is later than all transactions, or earlier. The places: what messages call them. An `as_of`
    that is a number not reached yet is refused elsewhere."""
    later = "is in the future:"
    if isinstance(as_of, datetime) and is_future(now, as_of):
        message = f"{as_of_place} {iso(as_of)} {later} until then it means the newest state, now t = {now.t}"
        yield Diagnostic(Suspicion.BASIS_FUTURE, message)
    if isinstance(as_of, datetime) and (first := first_after(now, as_of)) is not None:
        message = (
            f"{as_of_place} {iso(as_of)} is before the first transaction, {iso(first)}: the database is empty there"
        )
        yield Diagnostic(Suspicion.BASIS_EMPTY, message)
    if isinstance(since, datetime):
        if is_future(now, since):
            message = f"{since_place} {iso(since)} {later} nothing was asserted after it, now t = {now.t}"
            yield Diagnostic(Suspicion.BASIS_FUTURE, message)
        return
    since = numbered(since)
    if since is not None and since > now.t:
        known = f"the newest transaction is {now.t}, so nothing was asserted after it"
        message = f"{since_place} {since} {later} {known}"
        yield Diagnostic(Suspicion.BASIS_FUTURE, message)
