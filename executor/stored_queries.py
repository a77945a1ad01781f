"""Runs the queries that a database stores, for its transactions: what `store.setting` calls an evaluator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

from executor.cache_key import Keys
from executor.cancel import Cancel, Part
from executor.recent import Recent
from executor.request import Request
from store.setting import Watch
from store.snapshot import Snapshot

if TYPE_CHECKING:
    from executor.pool import Pool

_MOST_ROWS: Final = 100_000
# Of what is remembered of their texts.
_SHAPE_BYTES: Final = 4 << 20


class StoredQueries:
    """Local, in the thread of whoever applies the transaction, rows in the total order of values."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._keys = Keys(pool.database, Recent(_SHAPE_BYTES))

    def rows(
        self, query: str, args: Sequence[Any], snapshot: Snapshot, until: float, watch: Watch | None
    ) -> Sequence[tuple[Any, ...]]:
        """The rows of a stored query; by the deadline, and by that of `watch`."""
        cancel = Part(watch, until) if isinstance(watch, Cancel) else Cancel(until)
        # The state it reads is not durable yet, and may never be.
        return self._pool.run(_request(query, args, snapshot, cached=False), cancel).rows()

    def mark(self, query: str, args: Sequence[Any], snapshot: Snapshot) -> bytes | None:
        """The key of the answer, where the snapshot is durable."""
        asked = self._keys.asked(self._pool.question(_request(query, args, snapshot, cached=True)))
        return None if asked is None else asked.key.name

    def aside(self, work: Callable[[Watch], None], until: float) -> Future[None]:
        """The work as one of the pool's, for whoever asks."""
        return self._pool.submit(Cancel(until), work)


def _request(query: str, args: Sequence[Any], snapshot: Snapshot, *, cached: bool) -> Request:
    return Request(query, args, snapshot, engine="LOCAL", max_rows=_MOST_ROWS, ordered=True, cached=cached)
