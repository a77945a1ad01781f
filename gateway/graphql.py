"""The /graphql endpoint: one request in, one JSON answer out; the running query ends when the client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import count
from time import perf_counter
from typing import Any

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from datalog.errors import AdalogError, Code, quoted
from executor.bounds.cancel import abandoned, stopping
from executor.bounds.client import ASKING, Client
from gateway import negotiation
from gateway.auth import ANYONE, Principal, Tokens, address_of, check_write
from gateway.conditional import unchanged, validated
from gateway.ending import Stop
from gateway.metrics import Metrics
from gateway.negotiation import GRAPHQL_JSON, BadRequestError, GraphQLRequest
from gateway.origins import Origins
from schema.background import elsewhere
from schema.context import Context, Services
from schema.errors import describe, internal
from schema.execution import Answer, Operations, is_mutation, root_fields

# Most queries are answered sooner; only then is it worth watching whether the client is still there.
_PATIENCE = 0.02
# Of a request or an answer that is read or looked through in no time, and of a piece that is sent at once.
_INLINE_BYTES = 64 * 1024
_PIECE_BYTES = 256 * 1024
_CUT = AdalogError(
    Code.BACKEND_UNAVAILABLE,
    "the server was shut down before the transaction was answered, and it is unknown whether it was applied; with "
    "an idempotencyKey it is safe to transact it again, without one read before you do",
    retryable=False,
)
_STATUS = {Code.UNAUTHENTICATED: 401, Code.FORBIDDEN: 403, Code.LIMIT_EXCEEDED: 413, Code.RATE_LIMITED: 429}


class ClientGoneError(Exception):
    """The client closed the connection before its answer."""


class StoppedError(Exception):
    """The server stops before there is an answer. `body` is what is answered."""

    def __init__(self, error: AdalogError) -> None:
        super().__init__(error.message)
        self.body = orjson.dumps({"errors": [describe(error)]})


class GraphQLEndpoint:
    """An ASGI app for GET and POST of GraphQL requests; `explorer` answers browsers."""

    def __init__(
        self,
        operations: Operations,
        services: Services,
        tokens: Tokens,
        metrics: Metrics,
        explorer: Response,
        request_bytes: int,
        stop: Stop,
        origins: Origins,
        request_values: int,
    ) -> None:
        self.operations = operations
        self.services = services
        self.tokens = tokens
        self.metrics = metrics
        self.explorer = explorer
        self.request_bytes = request_bytes
        self.request_values = request_values
        self.stop = stop
        self.origins = origins
        self._requests = count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        accept = _headers(scope).get(b"accept", b"").decode("latin-1")
        if scope["method"] in ("GET", "HEAD") and negotiation.wants_page(accept):
            await self.explorer(scope, receive, send)
            return
        with ExitStack() as sending:
            await self._respond(scope, receive, send, accept, sending)

    async def _respond(self, scope: Scope, receive: Receive, send: Send, accept: str, sending: ExitStack) -> None:
        """`sending` is left once the response is sent, or will not be."""
        headers, method = _headers(scope), scope["method"]
        media = negotiation.accepted(accept)
        try:
            if media is None:
                raise BadRequestError(
                    406, f"answers are {GRAPHQL_JSON} or application/json; {quoted(accept)} takes neither"
                )
            status, body, settled, extra = await self._answer(scope, receive, headers, media, sending)
            if settled and method == "GET":
                extra = await _validated(media, body)
            if "ETag" in extra and unchanged(headers.get(b"if-none-match"), extra["ETag"]):
                status, body = 304, []
        except BadRequestError as refused:
            status, body, extra = refused.status, [_refusal(refused.code, refused.message)], refused.headers
        except AdalogError as refused:
            status, body = _STATUS.get(refused.code, 400), [orjson.dumps({"errors": [describe(refused)]})]
            extra = {"WWW-Authenticate": "Bearer"} if status == 401 else _retry_after([describe(refused)])
        except StoppedError as stopped:
            # As for a refused document: whoever takes only application/json looks for errors in a 200.
            status, body, extra = 503 if media == GRAPHQL_JSON else 200, [stopped.body], {}
        except ClientGoneError:
            return
        except asyncio.CancelledError:
            # While its body was still on the way.
            if not self.stop.has_begun:
                raise
            status, body, extra = 503, [StoppedError(stopping()).body], {}
        await _send(send, status, body, media or negotiation.JSON, extra)

    async def _answer(
        self, scope: Scope, receive: Receive, headers: dict[bytes, bytes], media: str, sending: ExitStack
    ) -> tuple[int, list[bytes], bool, dict[str, str]]:
        """(the status, the body in chunks, whether it is an answer without errors, headers)."""
        started = perf_counter()
        principal = self.tokens.principal(_text(headers.get(b"authorization")))
        who = address_of(scope) if principal is ANYONE else principal.name
        # The tasks and the work that answer this request inherit it.
        ASKING.set(Client(who, next(self._requests)))
        request = await self._read(scope, receive, headers)
        prepared = await self.operations.aprepare(request.query)
        operation = prepared.operation(request.operation_name)
        fields: list[str] = []
        writes = operation is not None and is_mutation(operation)
        if operation is not None and not prepared.refusal:
            fields = root_fields(operation)
            if writes:
                self._check_mutation(scope, principal)
        context = Context(self.services)
        sending.callback(context.budget.close)
        run = self.operations.run(prepared, context, request.variables, request.operation_name)
        try:
            answer = await self._unless_stopped(asyncio.ensure_future(run), receive, writes)
        except StoppedError:
            for field in fields:
                self.metrics.answered(field, Code.BACKEND_UNAVAILABLE, perf_counter() - started)
            raise
        body = self._chunks(answer)
        self._count(answer, fields, perf_counter() - started)
        if "q" in fields:
            self.metrics.rows(context.rows)
        settled = answer.executed and "errors" not in answer.body
        return _status(answer, media), body, settled, _retry_after(answer.body.get("errors", ()))

    async def _unless_stopped(self, task: asyncio.Future[Answer], receive: Receive, writes: bool) -> Answer:
        """The task's answer. Raises StoppedError when the server stops first; what writes has until it is cut."""
        told = None if writes else self.stop.told()
        try:
            return await _unless_gone(task, receive, told)
        except asyncio.CancelledError:
            if not self.stop.has_begun:
                raise
            raise StoppedError(_CUT if writes else stopping()) from None
        finally:
            if told is not None:
                self.stop.forget(told)

    async def _read(self, scope: Scope, receive: Receive, headers: dict[bytes, bytes]) -> GraphQLRequest:
        method = scope["method"]
        if method == "POST":
            task = asyncio.current_task()
            assert task is not None
            self.stop.reading.add(task)
            try:
                body = await self._body(receive, headers)
            finally:
                self.stop.reading.discard(task)
            media = _text(headers.get(b"content-type")) or ""
            if len(body) <= _INLINE_BYTES:
                return negotiation.from_body(media, body, self.request_values)
            return await elsewhere(lambda _: negotiation.from_body(media, body, self.request_values))
        if method == "GET":
            cross_site = headers.get(b"sec-fetch-site") == b"cross-site"
            if cross_site and not self.origins.allow(headers.get(b"origin")):
                raise BadRequestError(403, "a page of another site may not query this database", Code.FORBIDDEN)
            if len(scope["query_string"]) > self.request_bytes:
                raise self._too_large()
            query_string = scope["query_string"]
            if len(query_string) <= _INLINE_BYTES:
                return negotiation.from_url(query_string)
            return await elsewhere(lambda _: negotiation.from_url(query_string))
        raise BadRequestError(405, f"{method} is not for /graphql; use POST or GET", headers={"Allow": "GET, POST"})

    async def _body(self, receive: Receive, headers: dict[bytes, bytes]) -> bytes:
        declared = headers.get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > self.request_bytes:
            raise self._too_large()
        # One piece of memory, as a body that comes byte by byte would be a list of as many pieces.
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            chunk: bytes = message.get("body", b"")
            if not body and not message.get("more_body", False) and len(chunk) <= self.request_bytes:
                return chunk
            body += chunk
            if len(body) > self.request_bytes:
                raise self._too_large()
            if not message.get("more_body", False):
                return bytes(body)

    def _too_large(self) -> BadRequestError:
        return BadRequestError(
            413,
            f"the request has more than {self.request_bytes:,} bytes; ADALOG_REQUEST_BYTES moves this limit",
            Code.LIMIT_EXCEEDED,
            {"Connection": "close"},
        )

    @staticmethod
    def _check_mutation(scope: Scope, principal: Principal) -> None:
        if scope["method"] == "GET":
            raise BadRequestError(405, "a GET may only query; send mutations with POST", headers={"Allow": "POST"})
        check_write(principal)

    def _chunks(self, answer: Answer) -> list[bytes]:
        try:
            return answer.chunks()
        except TypeError as error:
            # Text that is no UTF-8, for one; nothing of it may reach the client half written.
            answer.body.clear()
            answer.body["errors"] = [internal(error)]
            return answer.chunks()

    def _count(self, answer: Answer, fields: list[str], seconds: float) -> None:
        errors = answer.body.get("errors")
        if not errors:
            for field in fields:
                self.metrics.answered(field, "OK", seconds)
            return
        failed = {str((error.get("path") or ["request"])[0]): error["extensions"]["code"] for error in errors}
        for field in fields or ["request"]:
            self.metrics.answered(field, failed.get(field, failed.get("request", "OK")), seconds)


def _retry_after(errors: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The header that says when what was refused is worth another try."""
    seconds = [error["extensions"]["retryAfter"] for error in errors if "retryAfter" in error["extensions"]]
    return {"Retry-After": str(max(seconds))} if seconds else {}


def _status(answer: Answer, media: str) -> int:
    """With `data`, even null, 200. A refused document is 4xx, except to those who take only application/json."""
    if answer.executed or media != GRAPHQL_JSON:
        return 200
    codes = {error["extensions"]["code"] for error in answer.body.get("errors", ())}
    return 413 if codes == {Code.LIMIT_EXCEEDED.value} else 400


async def _unless_gone(task: asyncio.Future[Answer], receive: Receive, told: asyncio.Future[None] | None) -> Answer:
    """The task's answer; cancels it when the client disconnects, or the server stops, first."""
    try:
        done, _ = await asyncio.wait((task,), timeout=_PATIENCE)
        if not done:
            watch = asyncio.ensure_future(_disconnected(receive))
            try:
                waiting = (task, watch) if told is None else (task, watch, told)
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                abandoned(watch)
            if not task.done():
                raise ClientGoneError if watch.done() else StoppedError(stopping())
        return task.result()
    finally:
        # Also when this request itself is cancelled: a server that shuts down waits for no query.
        abandoned(task)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _refusal(code: Code, message: str) -> bytes:
    return orjson.dumps({"errors": [{"message": message, "extensions": {"code": code.value, "retryable": False}}]})


def _headers(scope: Scope) -> dict[bytes, bytes]:
    return dict(scope["headers"])


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


async def _validated(media: str, body: list[bytes]) -> dict[str, str]:
    if sum(map(len, body)) <= _INLINE_BYTES:
        return validated(media, body)
    return await elsewhere(lambda _: validated(media, body))


async def _send(send: Send, status: int, body: list[bytes], media: str, extra: dict[str, str]) -> None:
    about = {"cache-control": "no-store", "vary": "Accept", **{name.lower(): each for name, each in extra.items()}}
    headers = [(name.encode(), value.encode()) for name, value in about.items()]
    size = sum(map(len, body))
    if status != 304:
        headers.append((b"content-type", media.encode() + b"; charset=utf-8"))
        headers.append((b"content-length", str(size).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if size <= _PIECE_BYTES:
        await send({"type": "http.response.body", "body": b"".join(body)})
        return
    # The server waits between pieces for a client that reads slowly, and each that is sent is let go.
    for piece in _pieces(body):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _pieces(body: list[bytes]) -> Iterator[bytes]:
    """The chunks of a body, which is emptied, put together or cut to about what is sent at once."""
    body.reverse()
    waiting: list[bytes] = []
    size = 0
    while body:
        chunk = body.pop()
        waiting.append(chunk)
        size += len(chunk)
        if size >= _PIECE_BYTES or not body:
            together = b"".join(waiting)
            waiting.clear()
            size = 0
            yield from (together[at : at + _PIECE_BYTES] for at in range(0, len(together), _PIECE_BYTES))
