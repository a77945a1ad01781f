"""Requests that are answered where they are read: no layers between the connection and the answer.

Taken are POST and GET of a document that is one field and was asked before, with headers as most clients send
them, where nothing is traced and no proxy speaks for others. What the layers of the app add to an answer, and
check of a request, is settled once for all requests with the same headers. Answers are the same, byte for byte. A
task of the connection awaits an answer that is not there at once, as that of a transaction. One that is large, or
to be compressed, goes through the app: `begun` says how far it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack
from contextvars import Context
from dataclasses import dataclass, field
from functools import lru_cache, partial
from http import HTTPStatus
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from starlette.types import Receive, Scope

from adalog.datalog import tracing
from adalog.datalog.errors import AdalogError
from adalog.gateway.connections import limits
from adalog.gateway.connections.conditional import unchanged, validated_by
from adalog.gateway.connections.guards import SECURITY_HEADERS, Guard
from adalog.gateway.connections.request_ids import HEADER, REQUEST_ID, good_id, new_id
from adalog.gateway.protocols import negotiation
from adalog.gateway.protocols.answering import BegunTransaction, admit
from adalog.gateway.protocols.begun import BEGUN, BegunAnswer
from adalog.gateway.protocols.compression import IDENTITY, LEAST_BYTES, acceptable
from adalog.gateway.protocols.graphql import GraphQLEndpoint
from adalog.gateway.protocols.negotiation import JSON, AcceptedTypes, GraphQLRequest
from adalog.gateway.protocols.repeated import RepeatedResponse, RepeatedResponses
from adalog.gateway.protocols.responses import HttpAnswer, response_headers
from adalog.schema.request.first_step import FirstStep

if TYPE_CHECKING:
    from adalog.gateway.identity.principal import Principal

PATH: Final = "/graphql"
# Sets of headers that are remembered, and the bytes of one.
_KEPT_HEADS: Final = 1_024
_HEAD_BYTES: Final = 4_096
_BODY_BYTES: Final = 64 * 1024
# Other for each request, and without effect here.
_PASSED_OVER: Final = frozenset([b"content-length", b"traceparent", b"tracestate", b"baggage"])
# What these ask for is done elsewhere.
_ELSEWHERE: Final = frozenset([b"expect", b"upgrade", b"last-event-id"])
_SAFE: Final = b"\r\n".join(b"%b: %b" % header for header in SECURITY_HEADERS)


@dataclass(frozen=True, slots=True)
class _Head:
    """What the headers of a request say. `accepted`: what its client takes; `content_type`: of its body; `plain`:
    the bytes below which an answer is sent as it is, None for any number."""

    accepted: AcceptedTypes
    content_type: str
    plain: int | None
    if_none_match: bytes | None = field(compare=False)

    @property
    def media(self) -> str:
        """Of an answer."""
        return self.accepted.json or JSON


_Key = tuple[_Head, "Principal", tuple[bytes, bytes]]
"""What the response to a request depends on: headers, client, and the body or the query string."""


@dataclass(slots=True)
class PendingResponse:
    """A response that waits for `work`, and goes on in `context`. `settle`: is called once a future is done.
    `response`: makes it then; None where the app has to send it."""

    context: Context
    work: asyncio.Future[Any] | Coroutine[Any, Any, object]
    settle: Callable[[], object]
    response: Callable[[], tuple[bytes, bytes] | None]


class DirectRequests:
    """Lives on the event loop."""

    def __init__(self, endpoint: GraphQLEndpoint, guard: Guard) -> None:
        self._endpoint = endpoint
        self._answering = endpoint.answering
        self._documents = endpoint.answering.operations.documents
        self._guard = guard
        self._repeated = RepeatedResponses(self._answering)
        self._heads: dict[tuple[Any, ...], _Head | None] = {}

    def answer(
        self, scope: Scope, body: bytes | bytearray, receive: Receive
    ) -> tuple[bytes, bytes] | PendingResponse | None:
        """The whole response to a request, its first line apart, or one that waits for something; None where the
        app has to be called, which goes on from here."""
        if scope["path"] != PATH or len(body) > _BODY_BYTES or tracing.is_on() or self._answering.stop.has_begun:
            return None
        head, given_id, authorization = self._read_head(scope)
        principal = None if head is None else self._principal(authorization)
        if head is None or principal is None:
            return None
        own = given_id if given_id is not None and good_id(given_id) else new_id()
        asked = (bytes(body), b"") if scope["method"] == "POST" else (b"", scope["query_string"])
        key = (head, principal, asked)
        repeated = self._repeated.get(key)
        if repeated is not None:
            scope[REQUEST_ID] = own.decode()
            if Context().run(self._count_repeated, repeated, principal, scope):
                return self._again(head, repeated, own)
        request = self._request(scope, bytes(body), head)
        if request is None or not self._documents.is_single(request.query):
            return None
        scope[REQUEST_ID] = own.decode()
        context = Context()
        client = context.run(self._answering.introduce, principal, scope)
        sending = ExitStack()
        if scope["method"] == "POST":
            answer = None
            try:
                found = context.run(self._answering.at_once, request, principal)
            except AdalogError as refused:
                answer = self._endpoint.failed(refused, scope, head.accepted)
            else:
                if isinstance(found, BegunTransaction):
                    begun = scope[BEGUN] = BegunAnswer(client, sending)
                    settle = partial(self._settle, found, begun, scope, head)
                    respond = partial(self._response, scope, begun, key, own)
                    return PendingResponse(context, found.submitted.report, settle, respond)
                if found is not None:
                    answer = HttpAnswer(200, head.media, [found.text], {})
            if answer is not None:
                response = self._whole(head, answer)
                if response is None:
                    scope[BEGUN] = BegunAnswer(client, sending, answer)
                    return None
                line, before, after = response
                return line, before + own + after
        exchange = self._endpoint.exchange(scope, receive, request, principal, head.accepted, sending)
        begun = scope[BEGUN] = BegunAnswer(client, sending)
        try:
            step = FirstStep(exchange, context)
        except Exception as failure:  # noqa: BLE001 - the app answers it
            begun.failure = failure
            return None
        if not step.is_over:
            begun.rest = step.rest
            respond = partial(self._response, scope, begun, key, own)
            return PendingResponse(step.context, begun.settle(), _nothing, respond)
        begun.answer = step.result
        return self._response(scope, begun, key, own)

    def _settle(self, transaction: BegunTransaction, begun: BegunAnswer, scope: Scope, head: _Head) -> None:
        """Has an answer begin, or a failure for the app to answer."""
        try:
            answer = self._endpoint.transacted(transaction, scope, head.accepted)
        except (Exception, asyncio.CancelledError) as failure:  # noqa: BLE001 - the app answers it
            begun.failure = failure
            return
        if isinstance(answer, HttpAnswer):
            begun.answer = answer
        else:
            begun.rest = answer

    def _response(self, scope: Scope, begun: BegunAnswer, key: _Key, own: bytes) -> tuple[bytes, bytes] | None:
        """The whole response with an answer that has arrived; None where the app has to send it."""
        head, _, asked = key
        response = None if begun.answer is None else self._whole(head, begun.answer)
        if begun.answer is None or response is None:
            return None
        begun.sending.close()
        # The scope lasts until the next request of the connection, and must not keep the answer.
        del scope[BEGUN]
        line, before, after = response
        if begun.answer.repeatable is not None:
            etag = begun.answer.extra.get("ETag")
            kept = RepeatedResponse(begun.answer.repeatable, line, before, after, etag)
            self._repeated.put(key, kept, sum(map(len, asked)))
        return line, before + own + after

    def _count_repeated(self, repeated: RepeatedResponse, principal: Principal, scope: Scope) -> bool:
        """Counts a response that is sent again; whether its client may have it now."""
        started = perf_counter()
        try:
            self._answering.introduce(principal, scope)
            admit()
        except AdalogError:
            return False
        self._repeated.count(repeated, perf_counter() - started)
        return True

    def _again(self, head: _Head, repeated: RepeatedResponse, own: bytes) -> tuple[bytes, bytes]:
        if repeated.etag is not None and unchanged(head.if_none_match, repeated.etag):
            answer = HttpAnswer(304, head.accepted.json or JSON, [], validated_by(repeated.etag))
            line, before, after = self._rendered(answer, 0)
            return line, before + own + after
        return repeated.line, repeated.before + own + repeated.after

    def _request(self, scope: Scope, body: bytes, head: _Head) -> GraphQLRequest | None:
        try:
            if scope["method"] == "POST":
                read = negotiation.from_body(head.content_type, body, limits.REQUEST_VALUES)
                return self._answering.persisted.known(read) if isinstance(read, GraphQLRequest) else None
            return self._answering.persisted.known(negotiation.from_url(scope["query_string"]))
        except AdalogError:
            # The app says so.
            return None

    def _principal(self, authorization: list[bytes]) -> Principal | None:
        """The client, if that is known without waiting."""
        tokens = self._answering.tokens
        if len(authorization) > 1 and tokens.required:
            return None
        return tokens.known(authorization[0].decode("latin-1") if authorization else None)

    def _read_head(self, scope: Scope) -> tuple[_Head | None, bytes | None, list[bytes]]:
        """(what the headers say, None where the app is to read them; the number that the request came with; its
        Authorization headers)"""
        rest: list[Any] = [scope["method"], scope["scheme"]]
        given_id, authorization = None, []
        for pair in scope["headers"]:
            name = pair[0]
            if name == b"authorization":
                authorization.append(pair[1])
            elif name == HEADER:
                given_id = pair[1] if given_id is None else given_id
            elif name not in _PASSED_OVER:
                rest.append(pair)
        key = tuple(rest)
        try:
            head = self._heads[key]
        except KeyError:
            head = self._understood(scope, dict(scope["headers"]))
            if sum(len(name) + len(value) for name, value in rest[2:]) <= _HEAD_BYTES:
                if len(self._heads) >= _KEPT_HEADS:
                    self._heads.clear()
                self._heads[key] = head
        return head, given_id, authorization

    def _understood(self, scope: Scope, headers: Mapping[bytes, bytes]) -> _Head | None:
        accept = headers.get(b"accept", b"").decode("latin-1")
        accepted, method = negotiation.accepted(accept), scope["method"]
        codings = acceptable(_all(scope, b"accept-encoding"))
        origins = self._endpoint.origins
        if (
            method not in ("GET", "POST")
            or not _ELSEWHERE.isdisjoint(headers)
            or (method == "GET" and negotiation.wants_page(accept))
            or accepted.json is None
            or accepted.events_first
            or accepted.file is not None
            or not codings
            # Then answers differ by the page that asks.
            or origins
            or not origins.admit(scope)
            or not self._guard.admits(scope)
        ):
            return None
        plain = None if codings[0] == IDENTITY else LEAST_BYTES if IDENTITY in codings else 0
        content_type = headers.get(b"content-type", b"").decode("latin-1")
        return _Head(accepted, content_type, plain, headers.get(b"if-none-match"))

    def _whole(self, head: _Head, answer: HttpAnswer) -> tuple[bytes, bytes, bytes] | None:
        """(the first line of a response, the rest up to its number, what follows that); None for one that is
        compressed, or sent in pieces."""
        size = sum(map(len, answer.body))
        if size > _BODY_BYTES or (head.plain is not None and size >= head.plain):
            return None
        return self._rendered(answer, size)

    def _rendered(self, answer: HttpAnswer, size: int) -> tuple[bytes, bytes, bytes]:
        line, media = _status_line(answer.status), answer.media
        before = _written_headers(answer, size) if answer.extra else _plain_headers(answer.status, media, size)
        return line, before, b"\r\n\r\n" + b"".join(answer.body)


def _nothing() -> None:
    """Does nothing."""


def _written_headers(answer: HttpAnswer, size: int) -> bytes:
    headers = [b"%b: %b" % each for each in response_headers(answer, size, b"Accept-Encoding")]
    return b"\r\n".join([*headers, _SAFE, HEADER + b": "])


@lru_cache(1_024)
def _plain_headers(status: int, media: str, size: int) -> bytes:
    """The headers of an answer that has none of its own."""
    return _written_headers(HttpAnswer(status, media, [], {}), size)


@lru_cache
def _status_line(status: int) -> bytes:
    return b"HTTP/1.1 %d %b\r\n" % (status, HTTPStatus(status).phrase.encode())


def _all(scope: Scope, name: bytes) -> str | None:
    asked = [value for key, value in scope["headers"] if key == name]
    return b",".join(asked).decode("latin-1") if asked else None
