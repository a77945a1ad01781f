"""Runs the queries that a database stores, for its transactions: what `store.setting` calls an evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from executor.request import Request
from store.snapshot import Snapshot

if TYPE_CHECKING:
    from executor.pool import Pool

# Everybody who writes waits for it; yet a kernel may have to be compiled first.
_DEADLINE_MS: Final = 5_000
_MOST_ROWS: Final = 100_000


class StoredQueries:
    """Local, in the writer's thread, rows in the total order of values."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def __call__(self, query: str, args: Sequence[Any], snapshot: Snapshot) -> Sequence[tuple[Any, ...]]:
        request = Request(
            query,
            args,
            snapshot,
            engine="LOCAL",
            timeout_ms=_DEADLINE_MS,
            max_rows=_MOST_ROWS,
            ordered=True,
            # The state it reads is not durable yet, and may never be.
            cached=False,
        )
        return self._pool.run(request).rows()
