"""Runs the queries that a database stores, for its transactions: what `store.setting` calls an evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from executor.cancel import Cancel, Part
from executor.request import Request
from store.setting import Watch
from store.snapshot import Snapshot

if TYPE_CHECKING:
    from executor.pool import Pool

_MOST_ROWS: Final = 100_000


class StoredQueries:
    """Local, in the thread of whoever applies the transaction, rows in the total order of values."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def __call__(
        self, query: str, args: Sequence[Any], snapshot: Snapshot, until: float, watch: Watch | None
    ) -> Sequence[tuple[Any, ...]]:
        request = Request(
            query,
            args,
            snapshot,
            engine="LOCAL",
            max_rows=_MOST_ROWS,
            ordered=True,
            # The state it reads is not durable yet, and may never be.
            cached=False,
        )
        cancel = Part(watch, until) if isinstance(watch, Cancel) else Cancel(until)
        return self._pool.run(request, cancel).rows()
