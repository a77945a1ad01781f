"""Responses that were sent lately, sent again while nothing was transacted.

They stand before the cache of answers, which also keeps those that a transaction did not touch. What a client gets,
and what is counted and charged, is as if the answer came from there.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from weakref import ref

from adalog.executor.bounds.lru_cache import LruCache
from adalog.schema.documents.operations import Answer
from adalog.schema.request.transaction_wait import missed

if TYPE_CHECKING:
    from adalog.gateway.protocols.answering import Answering, ReadRequest
    from adalog.store.snapshot.snapshot import Snapshot

# Of the cache's bytes: an eighth more.
_PART: Final = 8
_ANSWERED: Final = Answer({}, executed=True)


@dataclass(frozen=True, slots=True)
class Repeatable:
    """What an answer is right for, and what is counted of it: `queries` and `values` that the cache had. `asked`:
    without its document."""

    snapshot: ref[Snapshot]
    asked: ReadRequest
    rows: int
    queries: int
    values: int


@dataclass(frozen=True, slots=True)
class RepeatedResponse:
    """A response but for its number: what comes before that, and after. `etag`: of an answer to GET."""

    repeatable: Repeatable
    line: bytes
    before: bytes
    after: bytes
    etag: str | None

    @property
    def nbytes(self) -> int:
        return len(self.before) + len(self.after)


class RepeatedResponses:
    """Lives on the event loop."""

    def __init__(self, answering: Answering) -> None:
        self._answering = answering
        self._database = answering.services.database
        self._cache = answering.services.pool.cache
        nbytes = 0 if self._cache is None else self._cache.settings.memory_bytes // _PART
        self._kept: LruCache[Hashable, RepeatedResponse] = LruCache(nbytes)

    def get(self, key: Hashable) -> RepeatedResponse | None:
        """The response, if it would be computed alike now. It is to be counted once it is sent."""
        found = self._kept.get(key)
        if found is None or found.repeatable.snapshot() is not self._database.snapshot():
            return None
        seen = found.repeatable.asked.request.min_basis_t
        return found if missed(self._database, seen) is None else None

    def put(self, key: Hashable, response: RepeatedResponse, nbytes: int) -> None:
        self._kept.put(key, response, response.nbytes + nbytes)

    def count(self, response: RepeatedResponse, seconds: float) -> None:
        """As of an answer that the cache had."""
        assert self._cache is not None, "it kept the answer"
        of = response.repeatable
        self._cache.tally.add("process", "hit", of.values)
        self._cache.tally.add("query", "hit", of.queries)
        self._answering.count(_ANSWERED, of.asked, seconds, of.rows)
