"""The /graphql endpoint over HTTP: one request in, one JSON answer or a stream of events out.

Either ends when the client goes away.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Any, Final
from weakref import ref

import orjson
from starlette.types import Receive, Scope, Send

from adalog.datalog.errors import AdalogError, Code, quoted
from adalog.executor.bounds.cancel import abandoned, stopping
from adalog.gateway.connections import limits
from adalog.gateway.connections.conditional import unchanged, validated
from adalog.gateway.connections.event_transport import direct_way
from adalog.gateway.identity.principal import Expiry, Principal, expired
from adalog.gateway.page_files import PageFiles
from adalog.gateway.protocols import events, negotiation, parts
from adalog.gateway.protocols.answering import (
    Answering,
    BegunTransaction,
    ClientGoneError,
    ReadRequest,
    StoppedError,
    chunks,
    disconnected,
    retry_after,
)
from adalog.gateway.protocols.begun import begun_answer
from adalog.gateway.protocols.negotiation import (
    ARROW,
    EVENTS,
    FILES,
    GRAPHQL_JSON,
    PARQUET,
    PARTS,
    BadRequestError,
    GraphQLRequest,
    OperationBatch,
)
from adalog.gateway.protocols.repeated import Repeatable
from adalog.gateway.protocols.responses import Chunks, HttpAnswer, refusal, retry_header, send_answer
from adalog.gateway.settings.config import Settings
from adalog.gateway.settings.origins import Origins
from adalog.schema.documents.operations import Answer
from adalog.schema.live.stream import RefusedError
from adalog.schema.request.attachment import Attachment, RowFile
from adalog.schema.request.background import elsewhere
from adalog.schema.request.errors import describe, internal

# Of a request or an answer that is read or looked through in no time.
_INLINE_BYTES = 64 * 1024
_NO_EVENTS = (
    f"a subscription is answered with events: send `Accept: {EVENTS}` or `Accept: {PARTS}`, or use a WebSocket "
    "with the subprotocol graphql-transport-ws"
)
_NO_SUBSCRIPTION = (
    "an array that is answered with events has subscriptions only; send queries and mutations in another request"
)
# The header with the length of the Arrow stream that comes before the JSON.
ARROW_BYTES: Final = "Adalog-Arrow-Bytes"
# What graphql-sse sends first with `singleConnection: true`.
_NO_RESERVATION = (
    ". Streams are not reserved, as the next request may reach another server: call graphql-sse's createClient "
    "without `singleConnection`. A WebSocket carries many subscriptions; so does the answer to an array of them"
)


class GraphQLEndpoint:
    """An ASGI app for GET and POST of GraphQL requests; `explorer` answers browsers."""

    def __init__(self, answering: Answering, explorer: PageFiles, origins: Origins, settings: Settings) -> None:
        self.answering = answering
        self.explorer = explorer
        self.origins = origins
        self.request_bytes = settings.request_bytes
        self.stop = answering.stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = begun_answer(scope)
        if begun is not None:
            with begun.sending:
                answer = await begun.arrived()
                if answer is not None:
                    await send_answer(send, answer)
            return
        accept = _headers(scope).get(b"accept", b"").decode("latin-1")
        if scope["method"] in ("GET", "HEAD") and negotiation.wants_page(accept):
            # The layers of the app write to the headers of a response.
            await self.explorer.page()(scope, receive, send)
            return
        with ExitStack() as sending:
            await self._respond(scope, receive, send, accept, sending)

    async def _respond(self, scope: Scope, receive: Receive, send: Send, accept: str, sending: ExitStack) -> None:
        """`sending` is left once the response is sent, or will not be."""
        headers, method = _headers(scope), scope["method"]
        accepted = negotiation.accepted(accept)
        media = accepted.json or negotiation.JSON
        try:
            if not accepted:
                kinds = f"{GRAPHQL_JSON}, application/json, {EVENTS} or {PARTS}"
                raise BadRequestError(406, f"answers are {kinds}; {quoted(accept)} takes none")
            if method in ("GET", "POST"):
                self.origins.check(scope)
            principal = await self.answering.tokens.asking(scope)
            self.answering.introduce(principal, scope)
            resume = _text(headers.get(b"last-event-id"))
            if accepted.events_first and resume == events.FINISHED:
                # The only answer, besides a failure, after which a browser's EventSource does not come again.
                await send_answer(send, HttpAnswer(204, EVENTS, [], {}))
                return
            request = await self._read(scope, receive, headers)
            if isinstance(request, OperationBatch):
                if accepted.events_first:
                    await self._stream_all(scope, receive, send, request, principal)
                else:
                    answers = await self._answer_all(scope, receive, request, principal, sending)
                    await send_answer(send, HttpAnswer(200, media, answers, {}))
                return
            asked = await self._understood(scope, request, principal, accepted)
            if asked.subscribes:
                if accepted.stream is None:
                    raise BadRequestError(406, _NO_EVENTS)
                await self._stream(scope, receive, send, asked, principal, resume, accepted.stream)
                return
            answer = await self._answer(scope, receive, asked, accepted, sending)
        except (AdalogError, RefusedError, StoppedError) as failure:
            answer = self.failed(failure, scope, accepted)
        except ClientGoneError:
            return
        except asyncio.CancelledError:
            # While its body was still on the way.
            if not self.stop.has_begun:
                raise
            answer = HttpAnswer(503, media, [StoppedError(stopping()).body()], {})
        await send_answer(send, answer)

    async def exchange(
        self,
        scope: Scope,
        receive: Receive,
        request: GraphQLRequest,
        principal: Principal,
        accepted: negotiation.AcceptedTypes,
        sending: ExitStack,
    ) -> HttpAnswer | None:
        """The answer to a request that is a query or a mutation; None where its client is gone."""
        try:
            asked = await self._understood(scope, request, principal, accepted)
            return await self._answer(scope, receive, asked, accepted, sending)
        except (AdalogError, RefusedError, StoppedError) as failure:
            return self.failed(failure, scope, accepted)
        except ClientGoneError:
            return None

    async def _understood(
        self, scope: Scope, request: GraphQLRequest, principal: Principal, accepted: negotiation.AcceptedTypes
    ) -> ReadRequest:
        media = accepted.json or negotiation.JSON
        asked = await self.answering.read(
            request, principal, lambda answer: 200 if accepted.events_first else _status(answer, media)
        )
        if asked.writes and scope["method"] == "GET":
            raise BadRequestError(405, "a GET may only query; send mutations with POST", headers={"Allow": "POST"})
        return asked

    def transacted(
        self, begun: BegunTransaction, scope: Scope, accepted: negotiation.AcceptedTypes
    ) -> HttpAnswer | Awaitable[HttpAnswer]:
        """The answer to a transaction that has a report or was refused."""
        try:
            answer = self.answering.transacted(begun)
        except StoppedError as stopped:
            return self.failed(stopped, scope, accepted)
        media = accepted.json or negotiation.JSON
        return _executed(media, answer) if isinstance(answer, Answer) else _executed_later(media, answer)

    def failed(
        self,
        failure: AdalogError | RefusedError | StoppedError,
        scope: Scope,
        accepted: negotiation.AcceptedTypes,
    ) -> HttpAnswer:
        """The answer to a request that is refused before it is run, or was not run to its end."""
        media = accepted.json or negotiation.JSON
        if isinstance(failure, RefusedError):
            # Some versions of the clients that this is for read no body with another status.
            return HttpAnswer(200, media, [_written(failure.errors)], {})
        if isinstance(failure, AdalogError):
            status, extra = refusal(failure)
            self.answering.refused(failure.code, status, scope)
            return HttpAnswer(status, media, [_written([describe(failure)])], extra)
        # As for a refused document: a client that takes only application/json looks for errors in a 200.
        said = [failure.body()]
        if accepted.events_first:
            return HttpAnswer(200, EVENTS, events.whole(said, again=True), {})
        return HttpAnswer(failure.status if media == GRAPHQL_JSON else 200, media, said, {})

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,
        asked: ReadRequest,
        accepted: negotiation.AcceptedTypes,
        sending: ExitStack,
    ) -> HttpAnswer:
        context = self.answering.context(asked)
        sending.callback(context.budget.close)
        if accepted.file is not None and not accepted.events_first:
            context.attachment = Attachment(FILES[accepted.file])
        answer = await self.answering.answer(asked, context, lambda: disconnected(receive))
        errors = answer.body.get("errors", ())
        body = chunks(answer)
        if accepted.events_first:
            return HttpAnswer(200, EVENTS, events.whole(body, again=events.worth_repeating(errors)), {})
        media = accepted.json or negotiation.JSON
        file = None if context.attachment is None else context.attachment.file
        if file is not None and accepted.file == ARROW:
            extra = {ARROW_BYTES: str(file.nbytes)}
            return HttpAnswer(_status(answer, media), ARROW, file.with_answer(body), extra)
        if file is not None and not errors:
            # Errors would not be noticed in the metadata of a file.
            return HttpAnswer(_status(answer, media), PARQUET, await _with_answer(file, body), {})
        held = context.holds_for
        of = context.lookups
        repeatable = None
        if held is not None:
            repeatable = Repeatable(ref(held), asked.without_document(), context.rows, of.queries, of.values)
        if answer.executed and not errors and scope["method"] == "GET":
            extra = await _validated(media, body)
            if unchanged(_headers(scope).get(b"if-none-match"), extra["ETag"]):
                return HttpAnswer(304, media, [], extra)
            return HttpAnswer(200, media, body, extra, repeatable)
        return HttpAnswer(_status(answer, media), media, body, retry_header(retry_after(errors)), repeatable)

    async def _stream(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        asked: ReadRequest,
        principal: Principal,
        resume: str | None,
        media: str,
    ) -> None:
        """Answers a subscription with a stream of this media type, until it ends, the client leaves, or the server
        stops."""
        try:
            subscribed = await self.answering.subscribe(asked, resume, lambda: disconnected(receive))
        except RefusedError as refused:
            if media == PARTS:
                # As JSON, like any other refusal: Apollo Client then shows the errors as those of a result.
                raise
            frame = events.DistinctFrames().failure(refused.errors)
            await send_answer(send, HttpAnswer(200, EVENTS, [frame], {}))
            return
        form = parts.FORM if media == PARTS else events.FORM
        try:
            async with self._streaming(scope, receive, send, principal, 1, form) as stream:
                stream.follow(form.frames(), subscribed)
        finally:
            subscribed.close()

    async def _stream_all(
        self, scope: Scope, receive: Receive, send: Send, batch: OperationBatch, principal: Principal
    ) -> None:
        """Answers the subscriptions of an array with the events of all, until each has ended."""
        begun: list[asyncio.Task[None]] = []
        try:
            async with self._streaming(scope, receive, send, principal, len(batch.operations)) as stream:
                for name, request in batch.operations:
                    frames = events.NamedFrames(name)
                    begun.append(asyncio.create_task(self._begin(stream, frames, request, principal, scope)))
        finally:
            for task in begun:
                task.cancel()

    async def _begin(
        self,
        stream: events.EventStream,
        frames: events.OperationFrames,
        request: GraphQLRequest | BadRequestError | RefusedError,
        principal: Principal,
        scope: Scope,
    ) -> None:
        """Begins one subscription of an array. An error ends this subscription alone."""
        try:
            if not isinstance(request, GraphQLRequest):
                raise request
            self.answering.introduce(principal, scope)
            asked = await self.answering.read(request, principal)
            if asked.kind is None:
                answer = await self.answering.answer(asked, self.answering.context(asked))
                raise RefusedError(answer.body["errors"])
            if not asked.subscribes:
                raise BadRequestError(400, _NO_SUBSCRIPTION)
            stream.follow(frames, await self.answering.subscribe(asked))
        except AdalogError as refused:
            stream.refuse(frames, [describe(refused)])
        except (RefusedError, StoppedError) as refused:
            stream.refuse(frames, refused.errors)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this operation's alone
            stream.refuse(frames, [internal(error)])

    @asynccontextmanager
    async def _streaming(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        principal: Principal,
        count: int,
        form: events.StreamForm = events.FORM,
    ) -> AsyncIterator[events.EventStream]:
        """A response of events, sent until its operations, which begin within, have ended."""
        stream = events.EventStream(direct_way(scope), count, limits.PING_SECONDS, form.keep_alive)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": form.headers})
            # The head leaves with the first bytes of the body.
            await send({"type": "http.response.body", "body": form.opening, "more_body": True})
            stream.begin()
            yield stream
            expiry = Expiry(principal, lambda: stream.fail(expired()))
            gone = asyncio.ensure_future(disconnected(receive))
            try:
                await asyncio.wait((gone, stream.over), return_when=asyncio.FIRST_COMPLETED)
            finally:
                abandoned(gone)
                expiry.cancel()
        finally:
            stream.lost()
        await send({"type": "http.response.body", "body": b""})

    async def _answer_all(
        self, scope: Scope, receive: Receive, batch: OperationBatch, principal: Principal, sending: ExitStack
    ) -> list[bytes]:
        """The answers to an array, one after the other and in its order."""
        body = [b"["]
        for _, request in batch.operations:
            if len(body) > 1:
                body.append(b",")
            try:
                if not isinstance(request, GraphQLRequest):
                    raise request
                asked = await self.answering.read(request, principal)
                if asked.subscribes:
                    raise BadRequestError(406, _NO_EVENTS)
                context = self.answering.context(asked)
                sending.callback(context.budget.close)
                answer = await self.answering.answer(asked, context, lambda: disconnected(receive))
                body.extend(chunks(answer))
            except AdalogError as refused:
                body.append(_written([describe(refused)]))
            except RefusedError as refused:
                body.append(_written(refused.errors))
        body.append(b"]")
        return body

    async def _read(
        self, scope: Scope, receive: Receive, headers: dict[bytes, bytes]
    ) -> GraphQLRequest | OperationBatch:
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
                return negotiation.from_body(media, body, limits.REQUEST_VALUES)
            return await elsewhere(lambda _: negotiation.from_body(media, body, limits.REQUEST_VALUES))
        if method == "GET":
            query_string = scope["query_string"]
            if len(query_string) > self.request_bytes:
                raise self._too_large()
            if len(query_string) <= _INLINE_BYTES:
                return negotiation.from_url(query_string)
            return await elsewhere(lambda _: negotiation.from_url(query_string))
        wrong = f"{method} is not for /graphql; use POST or GET"
        if method == "PUT":
            wrong += _NO_RESERVATION
        raise BadRequestError(405, wrong, headers={"Allow": "GET, POST"})

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


def _status(answer: Answer, media: str) -> int:
    """With `data`, even null, 200. A refused document is 4xx, except for clients that take only
    application/json."""
    if answer.executed or media != GRAPHQL_JSON:
        return 200
    codes = {error["extensions"]["code"] for error in answer.body.get("errors", ())}
    return 413 if codes == {Code.LIMIT_EXCEEDED.value} else 400


def _executed(media: str, answer: Answer) -> HttpAnswer:
    errors = answer.body.get("errors", ())
    return HttpAnswer(200, media, chunks(answer), retry_header(retry_after(errors)))


async def _executed_later(media: str, answer: Awaitable[Answer]) -> HttpAnswer:
    return _executed(media, await answer)


def _written(errors: Sequence[Mapping[str, Any]]) -> bytes:
    return orjson.dumps({"errors": errors})


def _headers(scope: Scope) -> dict[bytes, bytes]:
    return dict(scope["headers"])


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


async def _with_answer(file: RowFile, body: list[bytes]) -> Chunks:
    if sum(map(len, body)) <= _INLINE_BYTES:
        return file.with_answer(body)
    return await elsewhere(lambda _: file.with_answer(body))


async def _validated(media: str, body: list[bytes]) -> dict[str, str]:
    if sum(map(len, body)) <= _INLINE_BYTES:
        return validated(media, body)
    return await elsewhere(lambda _: validated(media, body))
