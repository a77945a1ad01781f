"""What every protocol does with a GraphQL request: authentication, permission, execution and the log.

It knows no transport: `gateway.protocols.graphql` speaks HTTP, `gateway.protocols.events` server-sent events,
`gateway.protocols.transport_ws` WebSocket.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from time import perf_counter
from typing import Any, Final, TypeVar

import orjson
from starlette.types import Receive, Scope

from adalog.datalog import tracing
from adalog.datalog.errors import AdalogError, Code, unavailable
from adalog.executor.bounds.cancel import abandoned, stopping
from adalog.executor.bounds.client import ASKING, Client
from adalog.executor.bounds.meter import Buckets
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.executor.permissions.viewers import viewer_asking
from adalog.gateway.connections.request_ids import request_id
from adalog.gateway.identity.auth import Tokens, address_of, check_write, sender
from adalog.gateway.identity.principal import ANYONE, Principal
from adalog.gateway.observe.metrics import Metrics
from adalog.gateway.process.shutdown import StoppedAnswers
from adalog.gateway.protocols.negotiation import GraphQLRequest
from adalog.gateway.protocols.persisted import PersistedQueries
from adalog.schema.documents.operations import Answer, OperationRequest, Operations, root_fields
from adalog.schema.documents.preparation import PreparedDocument
from adalog.schema.fields.single_field import SingleField
from adalog.schema.fields.transacting import SubmittedTransaction
from adalog.schema.live.stream import RefusedError
from adalog.schema.request.context import Context, Services
from adalog.schema.request.errors import describe, internal
from adalog.schema.request.first_step import FirstStep
from adalog.schema.request.transaction_wait import missed
from adalog.schema.typed.alone import TypedField
from adalog.schema.writing.written_answer import WrittenAnswer

T = TypeVar("T")
Gone = Callable[[], Coroutine[Any, Any, None]]
"""Returns when the client is gone."""
StatusOf = Callable[[Answer], int]

# Most queries are answered sooner; only then is it worth watching whether the client is still there.
_PATIENCE: Final = 0.02
_NO_DOCUMENT: Final = PreparedDocument(None)
_REQUESTS: Final = logging.getLogger("adalog.requests")
REQUEST_UNITS: Final = 1_000.0
"""What any request costs, one that is answered from a cache too."""
_CUT: Final = unavailable(
    "the server was shut down before the transaction was answered, and it is unknown whether it was applied; with "
    "an idempotencyKey it is safe to transact it again, without one read before you do",
    retryable=False,
)


class ClientGoneError(Exception):
    """The client closed the connection before its answer."""


class StoppedError(Exception):
    """The server stops before there is an answer."""

    def __init__(self, error: AdalogError) -> None:
        super().__init__(error.message)
        self.errors = [describe(error)]
        # A balancer may send the request to another server after a 503: nothing was applied.
        self.status = 500 if error is _CUT else 503

    def body(self) -> bytes:
        return orjson.dumps({"errors": self.errors})


def admit() -> None:
    """Takes what any request costs. Raises RATE_LIMITED."""
    meter = ASKING.get().meter
    if meter is not None:
        meter.admit(REQUEST_UNITS)


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request whose document was read. `kind` is None where it is not clear what to run: execution says why.
    status: of the HTTP response with an answer; None over a WebSocket."""

    request: GraphQLRequest
    prepared: PreparedDocument
    kind: str | None
    fields: list[str]
    status: StatusOf | None = None
    name: str | None = None

    def given(self, context: Context) -> OperationRequest:
        return OperationRequest(self.prepared, context, self.request.variables, self.request.operation_name)

    def without_document(self) -> ReadRequest:
        """What is counted and logged of it. What was read takes many times the bytes of its text."""
        request = replace(self.request, query="", variables=None)
        return replace(self, request=request, prepared=_NO_DOCUMENT)

    @property
    def writes(self) -> bool:
        return self.kind == "mutation"

    @property
    def subscribes(self) -> bool:
        return self.kind == "subscription"


@dataclass(slots=True)
class BegunTransaction:
    """A request that is one transaction, which was submitted at a moment of the clock of `perf_counter`."""

    request: GraphQLRequest
    prepared: PreparedDocument
    single: SingleField
    submitted: SubmittedTransaction
    started: float


@dataclass
class Answering:
    """Runs requests, each within the task that serves it."""

    operations: Operations
    services: Services
    tokens: Tokens
    metrics: Metrics
    stop: StoppedAnswers
    buckets: Buckets | None
    log_requests: bool
    persisted: PersistedQueries
    _requests: Iterator[int] = field(default_factory=lambda: count(1))

    def introduce(self, principal: Principal, scope: Scope) -> Client:
        """Tells the present task, and the work that answers it, which client asks."""
        identity = None if principal is ANYONE else principal.identity
        name = address_of(scope) if identity is None else identity.name
        meter = None if self.buckets is None else self.buckets.of(name)
        client = Client(name, next(self._requests), meter, request_id(scope), identity, sender(scope))
        ASKING.set(client)
        return client

    def sees_alike(self, one: Principal, other: Principal) -> bool:
        """Whether two tokens of one client let it see the same, whatever policies there will be."""
        return self.services.pool.permissions.sees_alike(
            one.identity, other.identity, self.services.database.snapshot()
        )

    async def read(
        self, request: GraphQLRequest, principal: Principal, status: StatusOf | None = None
    ) -> ReadRequest:
        """The request's document. status: as in `ReadRequest`. Raises FORBIDDEN for a mutation without the role,
        RATE_LIMITED, and RefusedError for a hash that is not known."""
        admit()
        request = self.persisted.of(request)
        prepared = await self.operations.aprepare(request.query)
        operation = prepared.operation(request.operation_name)
        if operation is None or prepared.refusal:
            return ReadRequest(request, prepared, None, [], status, request.operation_name)
        name = None if operation.name is None else operation.name.value
        fields = root_fields(operation)
        self.persisted.keep(request)
        asked = ReadRequest(request, prepared, operation.operation.value, fields, status, name)
        if asked.writes:
            check_write(principal)
        return asked

    def at_once(self, request: GraphQLRequest, principal: Principal) -> WrittenAnswer | BegunTransaction | None:
        """The answer to a request that waits for nothing and is the like of one before, counted and logged, or the
        transaction that such a request is. None: `read` and `answer` it, as if nothing had been. Raises FORBIDDEN
        for a transaction without the role, RATE_LIMITED for any."""
        started = perf_counter()
        prepared, services = self.operations.documents.known(request.query), self.services
        single = None if prepared is None else prepared.single
        if prepared is None or single is None or request.operation_name not in (None, single.name):
            return None
        if single.writes:
            return self._begun(request, principal, prepared, single)
        try:
            if missed(services.database, request.min_basis_t) is not None:
                return None
            snapshot = services.database.snapshot()
            if services.pool.permissions.guard(viewer_asking(), snapshot) is not None:
                return None
            written = self.operations.at_once(single, services, snapshot, request.variables)
        except Exception:  # noqa: BLE001 - the usual way says what is wrong
            return None
        if written is None:
            return None
        self.persisted.keep(request)
        self._count_single(single, perf_counter() - started)
        if single.node.name.value == "q":
            self.metrics.rows(written.rows)
        return written

    def _count_single(self, single: SingleField | TypedField, seconds: float) -> None:
        """Counts and logs an answer without errors."""
        field = single.node.name.value
        if self.log_requests:
            self._log(ASKING.get().address, [field], ["OK"], seconds, single.name, 200)
        self.metrics.answered(field, "OK", seconds)

    def _begun(
        self,
        request: GraphQLRequest,
        principal: Principal,
        prepared: PreparedDocument,
        single: SingleField | TypedField,
    ) -> BegunTransaction | None:
        if not isinstance(single, SingleField):
            return None
        given = single.given(request.variables)
        if given is None:
            return None
        admit()
        self.persisted.keep(request)
        check_write(principal)
        submitted = SubmittedTransaction(single, self.services, given)
        return BegunTransaction(request, prepared, single, submitted, perf_counter())

    def transacted(self, begun: BegunTransaction) -> Answer | Awaitable[Answer]:
        """The answer to a transaction that has a report or was refused, counted and logged; awaited where it takes
        a while to write. Raises StoppedError."""
        try:
            body = begun.submitted.answer()
        except asyncio.CancelledError:
            if not self.stop.has_begun:
                raise
            self.metrics.answered(begun.single.field, Code.BACKEND_UNAVAILABLE, perf_counter() - begun.started)
            raise StoppedError(_CUT) from None
        return self._transacted_later(begun) if body is None else self._transacted(begun, body)

    async def _transacted_later(self, begun: BegunTransaction) -> Answer:
        return self._transacted(begun, await begun.submitted.answer_later())

    def _transacted(self, begun: BegunTransaction, body: dict[str, Any]) -> Answer:
        answer, seconds, single = Answer(body, executed=True), perf_counter() - begun.started, begun.single
        if "errors" in body:
            asked = ReadRequest(
                begun.request, begun.prepared, "mutation", [single.field], lambda _: 200, single.name
            )
            self._count(answer, asked, seconds)
        else:
            self._count_single(single, seconds)
        return answer

    def context(self, asked: ReadRequest) -> Context:
        return Context(self.services, asked.request.min_basis_t)

    async def answer(self, asked: ReadRequest, context: Context, gone: Gone | None = None) -> Answer:
        """The whole answer of a query or mutation. Raises ClientGoneError, StoppedError."""
        started = perf_counter()
        given = asked.given(context)
        try:
            with tracing.span("graphql.execute", _about(asked) if tracing.is_on() else {}):
                alone = self.operations.alone(given)
                if alone is not None and asked.writes:
                    answer = await self._unless_cut(alone)
                elif alone is not None:
                    answer = await self._unless_stopped_at_once(alone, gone)
                else:
                    run = asyncio.ensure_future(self.operations.run(given))
                    answer = await self._unless_stopped(run, gone, asked.writes)
        except StoppedError:
            for field in asked.fields:
                self.metrics.answered(field, Code.BACKEND_UNAVAILABLE, perf_counter() - started)
            raise
        self.count(answer, asked, perf_counter() - started, context.rows)
        return answer

    def count(self, answer: Answer, asked: ReadRequest, seconds: float, rows: int) -> None:
        """Counts and logs an answer. `rows`: what its queries gave."""
        self._count(answer, asked, seconds)
        if "q" in asked.fields:
            self.metrics.rows(rows)

    async def subscribe(
        self, asked: ReadRequest, resume: str | None = None, gone: Gone | None = None
    ) -> Subscription:
        """A subscription that has begun. Raises RefusedError, ClientGoneError, StoppedError. `resume`: the token of
        the last event that the client has, where its transport tells."""
        started = perf_counter()
        given = asked.given(self.context(asked))
        try:
            with tracing.span("graphql.subscribe", _about(asked)):
                begun = self.operations.subscribe_at_once(given, resume)
                if begun is None:
                    begun = await self._subscribed(self.operations.subscribe(given, resume), gone)
        except RefusedError as refused:
            self._count(Answer({"errors": refused.errors}, executed=False), asked, perf_counter() - started)
            raise
        self._count(Answer({}, executed=True), asked, perf_counter() - started)
        return begun

    async def _subscribed(self, begin: Coroutine[Any, Any, Subscription], gone: Gone | None) -> Subscription:
        """A subscription that takes a while to begin. Raises likewise."""
        task = asyncio.ensure_future(begin)
        try:
            return await self._unless_stopped(task, gone, writes=False)
        except RefusedError:
            raise
        except BaseException:
            task.add_done_callback(_unwanted)
            raise

    async def _unless_cut(self, transaction: Awaitable[T]) -> T:
        """The outcome of a transaction, which goes on whether its client waits or not. Raises StoppedError."""
        try:
            return await transaction
        except asyncio.CancelledError:
            if not self.stop.has_begun:
                raise
            raise StoppedError(_CUT) from None

    async def _unless_stopped_at_once(self, read: Coroutine[Any, Any, T], gone: Gone | None) -> T:
        """As `_unless_stopped`, for what mostly waits for nothing."""
        step = FirstStep(read)
        if step.is_over:
            return step.result
        task = asyncio.get_running_loop().create_task(step.rest, context=step.context)
        return await self._unless_stopped(task, gone, writes=False)

    async def _unless_stopped(self, task: asyncio.Future[T], gone: Gone | None, writes: bool) -> T:
        """The task's result. Raises StoppedError when the server stops first; what writes has until it is cut."""
        told = None if writes else self.stop.told()
        try:
            return await _unless_gone(task, gone, told)
        except asyncio.CancelledError:
            if not self.stop.has_begun:
                raise
            raise StoppedError(_CUT if writes else stopping()) from None
        finally:
            if told is not None:
                self.stop.forget(told)

    def refused(self, code: Code, status: int, scope: Scope) -> None:
        """Logs a request that is refused before its document is run."""
        self._log(ASKING.get().address or sender(scope), [], [code.value], None, None, status)

    def _log(
        self,
        address: str,
        fields: list[str],
        codes: list[str],
        seconds: float | None,
        name: str | None,
        status: int | None,
    ) -> None:
        if not self.log_requests:
            return
        about: dict[str, Any] = {"fields": fields, "codes": codes, "operation": name, "client": address}
        about |= {} if seconds is None else {"seconds": round(seconds, 6)}
        about |= {} if status is None else {"status": status}
        took = "" if seconds is None else f" in {seconds * 1000:.1f} ms"
        shown = " ".join(filter(None, (name, " ".join(fields) or "request", " ".join(codes), str(status or ""))))
        _REQUESTS.info("%s from %s%s", shown, address, took, extra=about)

    def _count(self, answer: Answer, asked: ReadRequest, seconds: float) -> None:
        errors, fields = answer.body.get("errors"), asked.fields
        codes = [error["extensions"]["code"] for error in errors or ()] or ["OK"]
        status = None if asked.status is None else asked.status(answer)
        self._log(ASKING.get().address, fields, codes, seconds, asked.name, status)
        if not errors:
            for field in fields:
                self.metrics.answered(field, "OK", seconds)
            return
        failed = {str((error.get("path") or ["request"])[0]): error["extensions"]["code"] for error in errors}
        for field in fields or ["request"]:
            self.metrics.answered(field, failed.get(field, failed.get("request", "OK")), seconds)


def _about(asked: ReadRequest) -> dict[str, str]:
    return {"graphql.operation.type": asked.kind or "unknown", "adalog.fields": " ".join(asked.fields)}


def chunks(answer: Answer) -> list[bytes]:
    try:
        return answer.chunks()
    except TypeError as error:
        # Text that is no UTF-8, for one; nothing of it may reach the client half written.
        answer.body.clear()
        answer.body["errors"] = [internal(error)]
        return answer.chunks()


async def disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def retry_after(errors: Iterable[Mapping[str, Any]]) -> int | None:
    """Seconds after which what was refused is worth another try."""
    return max((e["extensions"]["retryAfter"] for e in errors if "retryAfter" in e["extensions"]), default=None)


def _unwanted(task: asyncio.Future[Subscription]) -> None:
    """Ends a subscription that began while its client left."""
    if not task.cancelled() and task.exception() is None:
        task.result().close()


async def _unless_gone(task: asyncio.Future[T], gone: Gone | None, told: asyncio.Future[None] | None) -> T:
    """The task's result; cancels it when the client disconnects, or the server stops, first."""
    try:
        done, _ = await asyncio.wait((task,), timeout=_PATIENCE)
        if not done:
            watch = None if gone is None else asyncio.ensure_future(gone())
            try:
                waiting = [future for future in (task, watch, told) if future is not None]
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if watch is not None:
                    abandoned(watch)
            if not task.done():
                raise ClientGoneError if watch is not None and watch.done() else StoppedError(stopping())
        return task.result()
    finally:
        # Also when this request itself is cancelled: a server that shuts down waits for no query.
        abandoned(task)
