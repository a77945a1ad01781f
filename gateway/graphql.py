"""The /graphql endpoint: one request in, one JSON answer out; the running query ends when the client goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from time import perf_counter

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from datalog.errors import AdalogError, Code, quoted
from gateway import negotiation
from gateway.auth import Principal, Tokens, check_write
from gateway.conditional import unchanged, validated
from gateway.metrics import Metrics
from gateway.negotiation import GRAPHQL_JSON, BadRequestError, GraphQLRequest
from schema.background import elsewhere
from schema.context import Context, Services
from schema.errors import describe, internal
from schema.execution import Answer, Operations, is_mutation, root_fields

# Most queries are answered sooner; only then is it worth watching whether the client is still there.
_PATIENCE = 0.02
# Of a request or an answer that is read or looked through in no time, and of a piece that is sent at once.
_INLINE_BYTES = 64 * 1024
_PIECE_BYTES = 256 * 1024
_STATUS = {Code.UNAUTHENTICATED: 401, Code.FORBIDDEN: 403, Code.LIMIT_EXCEEDED: 413}


class ClientGoneError(Exception):
    """The client closed the connection before its answer."""


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
        request_values: int,
    ) -> None:
        self.operations = operations
        self.services = services
        self.tokens = tokens
        self.metrics = metrics
        self.explorer = explorer
        self.request_bytes = request_bytes
        self.request_values = request_values

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _headers(scope)
        accept = headers.get(b"accept", b"").decode("latin-1")
        method = scope["method"]
        if method in ("GET", "HEAD") and negotiation.wants_page(accept):
            await self.explorer(scope, receive, send)
            return
        media = negotiation.accepted(accept)
        try:
            if media is None:
                raise BadRequestError(
                    406, f"answers are {GRAPHQL_JSON} or application/json; {quoted(accept)} takes neither"
                )
            status, body, settled = await self._answer(scope, receive, headers, media)
            extra = await _validated(media, body) if settled and method == "GET" else {}
            if extra and unchanged(headers.get(b"if-none-match"), extra["ETag"]):
                status, body = 304, []
        except BadRequestError as refused:
            status, body, extra = refused.status, [_refusal(refused.code, refused.message)], refused.headers
        except AdalogError as refused:
            status, body = _STATUS.get(refused.code, 400), [orjson.dumps({"errors": [describe(refused)]})]
            extra = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
        except ClientGoneError:
            return
        await _send(send, status, body, media or negotiation.JSON, extra)

    async def _answer(
        self, scope: Scope, receive: Receive, headers: dict[bytes, bytes], media: str
    ) -> tuple[int, list[bytes], bool]:
        """(the status, the body in chunks, whether it is an answer without errors)."""
        started = perf_counter()
        principal = self.tokens.principal(_text(headers.get(b"authorization")))
        request = await self._read(scope, receive, headers)
        prepared = await self.operations.aprepare(request.query)
        operation = prepared.operation(request.operation_name)
        fields: list[str] = []
        if operation is not None and not prepared.refusal:
            fields = root_fields(operation)
            if is_mutation(operation):
                self._check_mutation(scope, principal)
        context = Context(self.services)
        run = self.operations.run(prepared, context, request.variables, request.operation_name)
        answer = await _unless_gone(asyncio.ensure_future(run), receive)
        body = self._chunks(answer)
        self._count(answer, fields, perf_counter() - started)
        if "q" in fields:
            self.metrics.rows(context.rows)
        return _status(answer, media), body, answer.executed and "errors" not in answer.body

    async def _read(self, scope: Scope, receive: Receive, headers: dict[bytes, bytes]) -> GraphQLRequest:
        method = scope["method"]
        if method == "POST":
            body = await self._body(receive, headers)
            media = _text(headers.get(b"content-type")) or ""
            if len(body) <= _INLINE_BYTES:
                return negotiation.from_body(media, body, self.request_values)
            return await elsewhere(lambda _: negotiation.from_body(media, body, self.request_values))
        if method == "GET":
            if headers.get(b"sec-fetch-site") == b"cross-site":
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
        chunks: list[bytes] = []
        size = 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self.request_bytes:
                raise self._too_large()
            chunks.append(chunk)
            if not message.get("more_body", False):
                return b"".join(chunks) if len(chunks) > 1 else chunk

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


def _status(answer: Answer, media: str) -> int:
    """With `data`, even null, 200. A refused document is 4xx, except to those who take only application/json."""
    if answer.executed or media != GRAPHQL_JSON:
        return 200
    codes = {error["extensions"]["code"] for error in answer.body.get("errors", ())}
    return 413 if codes == {Code.LIMIT_EXCEEDED.value} else 400


async def _unless_gone(task: asyncio.Future[Answer], receive: Receive) -> Answer:
    """The task's answer; cancels it when the client disconnects first."""
    try:
        done, _ = await asyncio.wait((task,), timeout=_PATIENCE)
        if not done:
            watch = asyncio.ensure_future(_disconnected(receive))
            try:
                await asyncio.wait((task, watch), return_when=asyncio.FIRST_COMPLETED)
            finally:
                watch.cancel()
            if not task.done():
                raise ClientGoneError
        return task.result()
    finally:
        # Also when this request itself is cancelled: a server that shuts down waits for no query.
        task.cancel()


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
