"""Documents that clients name by a hash: automatic persisted queries, as Apollo Client and urql send them.

A request has `extensions: {"persistedQuery": {"version": 1, "sha256Hash": …}}`. One without `query` is for the
document of that hash; if there is none, the client sends both, and from then on the hash is enough.
https://www.apollographql.com/docs/apollo-server/performance/apq
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any, Final

from adalog.executor.bounds.lru_cache import LruCache
from adalog.gateway.protocols.negotiation import BadRequestError, GraphQLRequest
from adalog.schema.live.stream import RefusedError


def _refusal(message: str, code: str) -> list[dict[str, Any]]:
    return [{"message": message, "extensions": {"code": code, "retryable": False}}]


# What clients compare: after it they send the document itself, too.
_NOT_FOUND: Final = _refusal("PersistedQueryNotFound", "PERSISTED_QUERY_NOT_FOUND")
# After it they send no hashes any more.
_NOT_SUPPORTED: Final = _refusal("PersistedQueryNotSupported", "PERSISTED_QUERY_NOT_SUPPORTED")


class PersistedQueries:
    """Of one process. Thread-safe. `nbytes`: of the documents that are kept; 0: hashes are not supported."""

    def __init__(self, nbytes: int) -> None:
        self._texts: LruCache[str, str] = LruCache(nbytes)

    def of(self, request: GraphQLRequest) -> GraphQLRequest:
        """The request with its document. Raises RefusedError for a hash that is not known, BadRequestError for one
        that is another document's."""
        if request.hash is None:
            return request
        if not request.query:
            if not self._texts.bound:
                raise RefusedError(_NOT_SUPPORTED)
            text = self._texts.get(request.hash)
            if text is None:
                raise RefusedError(_NOT_FOUND)
            return replace(request, query=text)
        if hashlib.sha256(request.query.encode("utf-8", "surrogatepass")).hexdigest() != request.hash:
            raise BadRequestError(400, "`extensions.persistedQuery.sha256Hash` is not the hash of `query`")
        return request

    def known(self, request: GraphQLRequest) -> GraphQLRequest | None:
        """The same where nothing is wrong with it, else None."""
        try:
            return self.of(request)
        except (BadRequestError, RefusedError):
            return None

    def keep(self, request: GraphQLRequest) -> None:
        """Keeps the document of a request under its hash: it is valid."""
        if request.hash is not None:
            self._texts.put(request.hash, request.query, 2 * len(request.query))
