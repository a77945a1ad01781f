"""The subprotocol graphql-transport-ws: connection_init, subscribe, next, error, complete, ping and pong as JSON.

https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md. Strawberry has a handler for it, which is not used:
it wakes a task for every event of every subscriber, makes JSON of it for each again, and sends it through ASGI,
where a thousand subscribers leave ten microseconds for all of that. It also reads on while its client does not, and
ends the subscriptions of a server that stops as if they were complete.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Final

import orjson
from starlette.types import Receive, Scope, Send

from adalog.datalog.errors import AdalogError, Code, quoted, unavailable
from adalog.executor.live.subscribers.event import Message
from adalog.executor.live.subscribers.subscription import Subscription
from adalog.gateway.connections import limits
from adalog.gateway.connections.event_transport import direct_way, send_events
from adalog.gateway.connections.websocket import RESTART, WebSocket
from adalog.gateway.identity.auth import authorizations
from adalog.gateway.identity.principal import Expiry, Principal
from adalog.gateway.protocols import negotiation
from adalog.gateway.protocols.answering import Answering, ReadRequest, StoppedError, chunks
from adalog.gateway.protocols.responses import refusal_answer
from adalog.gateway.settings.origins import Origins
from adalog.schema.live.stream import RefusedError
from adalog.schema.request.background import elsewhere
from adalog.schema.request.errors import describe, internal

SUBPROTOCOL: Final = "graphql-transport-ws"

BAD_REQUEST: Final = 4400
UNAUTHORIZED: Final = 4401
FORBIDDEN: Final = 4403
NOT_ACCEPTABLE: Final = 4406
INIT_TIMEOUT: Final = 4408
SUBSCRIBER_EXISTS: Final = 4409
TOO_MANY_INITS: Final = 4429

# Of a message that is read in no time.
_INLINE_BYTES: Final = 64 * 1024
# Of a payload that may have a token: its names are compared without regard to case.
_MEMBERS: Final = 1_000


class InvalidMessageError(Exception):
    """A message that the protocol does not know: the connection ends."""


@dataclass
class SocketEndpoint:
    """An ASGI app for WebSockets on /graphql."""

    answering: Answering
    origins: Origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        principal = None
        try:
            # Browsers send Origin with every WebSocket, and let every page open one (cross-site hijacking).
            self.origins.check(scope)
            if authorizations(scope) or not self.answering.tokens.required:
                principal = await self.answering.tokens.asking(scope)
        except AdalogError as refused:
            await refusal_answer(refused)(scope, receive, send)
            return
        spoken = SUBPROTOCOL in scope["subprotocols"]
        await send({"type": "websocket.accept", "subprotocol": SUBPROTOCOL if spoken else None})
        socket = direct_way(scope)
        assert isinstance(socket, WebSocket)
        session = SocketSession(self, scope, socket, principal)
        if not spoken:
            socket.close(NOT_ACCEPTABLE, f"Subprotocol not acceptable: this server speaks {SUBPROTOCOL}")
        await session.run(receive)


_OTHER_PERMISSIONS: Final = unavailable(
    "the token has other roles or claims than this stream began with; subscribe again"
)


class Operation:
    """One operation of a connection, from subscribe to complete. `head`: how its events begin."""

    __slots__ = ("head", "id", "stream", "task")

    def __init__(self, name: str) -> None:
        self.id = name
        self.head = b'{"id":%b,"type":"next","payload":' % orjson.dumps(name)
        self.task: asyncio.Task[None] | None = None
        self.stream: Subscription | None = None

    def end(self) -> None:
        if self.task is not None:
            self.task.cancel()
        if self.stream is not None:
            self.stream.close()


class SocketSession:
    """One connection: its principal, and its running operations. Lives in the event loop."""

    def __init__(
        self, endpoint: SocketEndpoint, scope: Scope, socket: WebSocket, principal: Principal | None
    ) -> None:
        self._answering = endpoint.answering
        self._scope = scope
        self._socket = socket
        self._counts = socket.wire.messages
        # Known from the handshake, or else from connection_init.
        self._principal = principal
        self._is_initialised = False
        self._expiry: Expiry | None = None
        # The code and the reason with which the connection ends once nothing runs any more.
        self._leaving: tuple[int, str] | None = None
        self._late = asyncio.get_running_loop().time() + limits.INIT_SECONDS
        self._operations: dict[str, Operation] = {}
        # Streams that have more than the connection takes at the moment, in turn.
        self._waiting: dict[str, Operation] = {}
        socket.attach(self)

    async def run(self, receive: Receive) -> None:
        """Takes messages until the connection ends."""
        try:
            while (message := await receive())["type"] != "websocket.disconnect":
                await self._received(message)
        except InvalidMessageError as invalid:
            self._socket.close(BAD_REQUEST, str(invalid))
        finally:
            self.lost()

    # What the connection tells

    def writable(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for operation in waiting.values():
            if operation.stream is not None:
                operation.stream.pump()

    def leave(self) -> None:
        self._leave(RESTART, "the server stops; connect again")

    def _expire(self) -> None:
        self._leave(UNAUTHORIZED, "Unauthorized: the token has expired; connect again with a new one")

    def _leave(self, code: int, reason: str) -> None:
        """Ends streams at once, and the connection when what runs is answered."""
        self._leaving = self._leaving or (code, reason)
        for operation in [each for each in self._operations.values() if each.stream is not None]:
            # Without a word: complete would tell the client that there is nothing to go on with.
            operation.end()
            self._forget(operation)
        self._leave_if_done()

    def lost(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        for operation in list(self._operations.values()):
            operation.end()
            self._forget(operation)

    def check(self, now: float) -> None:
        if not self._is_initialised and now > self._late:
            self._socket.close(INIT_TIMEOUT, "Connection initialisation timeout")

    # Messages

    async def _received(self, message: Mapping[str, Any]) -> None:
        text = message.get("text")
        if text is None:
            raise InvalidMessageError("messages are text, not binary")
        size = len(text)
        content = _read(text) if size <= _INLINE_BYTES else await self._read_long(text)
        if not isinstance(content, dict):
            raise InvalidMessageError("a message is a JSON object")
        kind = content.get("type")
        handle = self._HANDLERS.get(kind) if isinstance(kind, str) else None
        if handle is None:
            raise InvalidMessageError(f"Unknown message type: {_shown(kind)}")
        self._counts[f"received {kind}"] += 1
        waits = handle(self, content, size)
        if waits is not None:
            await waits

    async def _read_long(self, text: str) -> Any:
        data = text.encode()
        if negotiation.cost_of_json(data) > limits.REQUEST_VALUES:
            raise InvalidMessageError("the message has too many JSON values")
        self._socket.hold(len(data))
        try:
            return await elsewhere(lambda _: _read(data))
        finally:
            self._socket.release(len(data))

    async def _initialise(self, message: dict[str, Any], size: int) -> None:
        payload = _payload(message)
        if len(payload) > _MEMBERS:
            raise InvalidMessageError(f"`payload` of connection_init has more than {_MEMBERS:,} members")
        if self._is_initialised:
            self._socket.close(TOO_MANY_INITS, "Too many initialisation requests")
            return
        self._is_initialised = True
        given, principal = _authorization(payload), self._principal
        try:
            if given is not None or principal is None:
                principal = await self._answering.tokens.principal(given)
        except AdalogError as refused:
            self._socket.close(FORBIDDEN, f"Forbidden: {refused.message}")
            return
        self._become(principal)
        if self._leaving is None:
            self._say(b'{"type":"connection_ack"}', "connection_ack")

    async def _ping(self, message: dict[str, Any], size: int) -> None:
        payload = _payload(message)
        given = _authorization(payload) if len(payload) <= _MEMBERS else None
        if given is not None:
            payload = await self._renewed(given)
        answer = {"type": "pong", "payload": payload} if payload else {"type": "pong"}
        self._say(orjson.dumps(answer), "pong")

    async def _renewed(self, authorization: str) -> dict[str, Any]:
        """What a new token is answered with. One that is refused leaves the present one as it is."""
        try:
            if not self._is_initialised or self._principal is None:
                raise AdalogError(
                    Code.UNAUTHENTICATED, "send connection_init first; its payload has the first token"
                )
            renewed = await self._answering.tokens.principal(authorization)
            if renewed.name != self._principal.name:
                other = (
                    f"this connection is {quoted(self._principal.name)}'s, and the token {quoted(renewed.name)}'s"
                )
                raise AdalogError(Code.FORBIDDEN, f"{other}; open another connection with it")
        except AdalogError as refused:
            return {"errors": [describe(refused)]}
        others = not self._answering.sees_alike(self._principal, renewed)
        self._become(renewed)
        if others:
            self._end_streams()
        return {"expires": renewed.expires}

    def _end_streams(self) -> None:
        """Ends what shows what an earlier token let the principal see."""
        for operation in [each for each in self._operations.values() if each.stream is not None]:
            self._ended(operation, _OTHER_PERMISSIONS)

    def _become(self, principal: Principal) -> None:
        """The connection is this principal's from now on, and ends when its token expires."""
        self._principal = principal
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = Expiry(principal, self._expire)

    def _pong(self, message: dict[str, Any], size: int) -> None:
        _payload(message)

    def _subscribe(self, message: dict[str, Any], size: int) -> None:
        name, payload = _name(message), message.get("payload")
        if not isinstance(payload, dict):
            raise InvalidMessageError("`payload` of subscribe must be an object with `query`")
        if not isinstance(payload.get("query"), str):
            raise InvalidMessageError("`query` of subscribe must be a string: the text of a GraphQL document")
        principal = self._principal
        if not self._is_initialised or principal is None:
            self._socket.close(UNAUTHORIZED, "Unauthorized")
        elif name in self._operations:
            self._socket.close(SUBSCRIBER_EXISTS, f"Subscriber for {name} already exists")
        elif len(self._operations) >= (most := limits.OPERATIONS_PER_CONNECTION):
            full = f"this connection has {most} operations already; complete some, or open another connection"
            self._say_error(name, [describe(AdalogError(Code.RATE_LIMITED, full, retry_after=1))])
        elif self._leaving is None:
            operation = self._operations[name] = Operation(name)
            self._socket.operations += 1
            operation.task = asyncio.create_task(self._operate(operation, principal, payload, size))

    def _complete(self, message: dict[str, Any], size: int) -> None:
        operation = self._operations.get(_name(message))
        if operation is not None:
            operation.end()
            self._forget(operation)

    _HANDLERS: ClassVar[Mapping[str, Callable[[SocketSession, dict[str, Any], int], Awaitable[None] | None]]] = {
        "connection_init": _initialise,
        "ping": _ping,
        "pong": _pong,
        "subscribe": _subscribe,
        "complete": _complete,
    }

    # Operations

    async def _operate(
        self, operation: Operation, principal: Principal, payload: dict[str, Any], size: int
    ) -> None:
        """Answers a query or mutation, or begins a subscription."""
        self._socket.hold(size)
        try:
            with ExitStack() as sending:
                await self._answer(operation, principal, payload, sending)
        except AdalogError as refused:
            self._fail(operation, [describe(refused)])
        except (RefusedError, StoppedError) as refused:
            self._fail(operation, refused.errors)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this operation's alone
            self._fail(operation, [internal(error)])
        finally:
            operation.task = None
            self._socket.release(size)
            if operation.stream is None:
                self._forget(operation)
                self._leave_if_done()

    async def _answer(
        self, operation: Operation, principal: Principal, payload: dict[str, Any], sending: ExitStack
    ) -> None:
        self._answering.introduce(principal, self._scope)
        asked = await self._answering.read(negotiation.checked(payload), principal)
        if asked.subscribes:
            await self._follow(operation, asked, principal)
            return
        context = self._answering.context(asked)
        sending.callback(context.budget.close)
        answer = await self._answering.answer(asked, context)
        if not answer.executed:
            self._fail(operation, answer.body["errors"])
            return
        pieces = [operation.head, *chunks(answer), b"}"]
        await self._socket.drained()
        if self._operations.get(operation.id) is operation:
            self._counts["sent next"] += 1
            self._socket.send_pieces(pieces)
            del pieces
            self._end(operation)
            await self._socket.drained()

    async def _follow(self, operation: Operation, asked: ReadRequest, principal: Principal) -> None:
        begun = await self._answering.subscribe(asked)
        if self._principal is not None and not self._answering.sees_alike(principal, self._principal):
            begun.close()
            raise _OTHER_PERMISSIONS
        if self._leaving is not None or self._operations.get(operation.id) is not operation:
            begun.close()
        else:
            operation.stream = begun
            begun.listen(partial(self._deliver, operation), partial(self._ended, operation))

    def _deliver(self, operation: Operation, messages: Sequence[Message]) -> int:
        """Sends events, as long as the connection is not full."""
        head = operation.head
        sent = send_events(self._socket, messages, lambda message: b"%b%b}" % (head, message.payload))
        if sent < len(messages):
            self._waiting[operation.id] = operation
        self._counts["sent next"] += sent
        return sent

    def _ended(self, operation: Operation, error: AdalogError | None) -> None:
        """The hub has ended a subscription, in order or with an error."""
        operation.end()
        if error is None:
            self._end(operation)
        else:
            self._fail(operation, [describe(error)])
        self._leave_if_done()

    def _end(self, operation: Operation) -> None:
        """The operation is over in order."""
        if self._forget(operation):
            self._say(orjson.dumps({"id": operation.id, "type": "complete"}), "complete")

    def _fail(self, operation: Operation, errors: Sequence[Mapping[str, Any]]) -> None:
        if self._forget(operation):
            self._say_error(operation.id, errors)

    def _forget(self, operation: Operation) -> bool:
        """Whether it was known until now; its id may be used again."""
        if self._operations.get(operation.id) is not operation:
            return False
        del self._operations[operation.id]
        self._waiting.pop(operation.id, None)
        self._socket.operations -= 1
        return True

    def _leave_if_done(self) -> None:
        if self._leaving is not None and not self._operations:
            self._socket.close(*self._leaving)

    def _say_error(self, name: str, errors: Sequence[Mapping[str, Any]]) -> None:
        self._say(orjson.dumps({"id": name, "type": "error", "payload": list(errors)}), "error")

    def _say(self, message: bytes, kind: str) -> None:
        self._counts[f"sent {kind}"] += 1
        self._socket.send_piece(message)


def _read(text: str | bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidMessageError(f"the message is not JSON: {error.msg} at column {error.colno}") from None


def _payload(message: dict[str, Any]) -> dict[str, Any]:
    payload = message.get("payload")
    if payload is not None and not isinstance(payload, dict):
        raise InvalidMessageError("`payload` must be an object")
    return payload or {}


def _authorization(payload: Mapping[str, Any]) -> str | None:
    """The token of a payload, under the name that the header has."""
    given = next((value for name, value in payload.items() if name.lower() == "authorization"), None)
    return None if given is None else str(given)


def _name(message: dict[str, Any]) -> str:
    name = message.get("id")
    if not isinstance(name, str) or not 0 < len(name.encode()) <= limits.OPERATION_ID_BYTES:
        raise InvalidMessageError(f"`id` must be a string of 1 to {limits.OPERATION_ID_BYTES} bytes")
    return name


def _shown(kind: object) -> str:
    return kind[:40] if isinstance(kind, str) else "none"
