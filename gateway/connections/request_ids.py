"""The number of each request: the one it came with in X-Request-Id, or a new one; the answer says it."""

from __future__ import annotations

import re
import secrets
from contextlib import AbstractContextManager, nullcontext
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adalog.datalog import tracing
from adalog.executor.bounds.client import ASKING, Client
from adalog.gateway.connections.guards import header

HEADER: Final = b"x-request-id"
REQUEST_ID: Final = "adalog.request_id"
"""Where a scope has it."""
# Any other text could be taken for a part of the log.
_GOOD: Final = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}")
_ID_BYTES: Final = 8
# Numbers that are drawn at once: with each draw the thread lets go of the interpreter, and may wait for it.
_AT_ONCE: Final = 256
_drawn: list[bytes] = []
_PROBES: Final = frozenset(["/healthz", "/readyz", "/metrics"])


def new_id() -> bytes:
    """A number for a request. On any thread."""
    try:
        return _drawn.pop()
    except IndexError:
        drawn = secrets.token_hex(_ID_BYTES * _AT_ONCE).encode()
        own, *rest = (drawn[at : at + 2 * _ID_BYTES] for at in range(0, len(drawn), 2 * _ID_BYTES))
        _drawn.extend(rest)
        return own


def request_id(scope: Scope) -> str:
    """The number that the request has; empty for what came past the middleware."""
    found: str = scope.get(REQUEST_ID, "")
    return found


def good_id(given: bytes) -> bool:
    """Whether a request is called what its client calls it."""
    return _GOOD.fullmatch(given) is not None


class RequestIds:
    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        begun = request_id(scope)
        given = begun.encode() if begun else header(scope, HEADER)
        own = given if given is not None and good_id(given) else new_id()
        scope[REQUEST_ID] = own.decode()
        ASKING.set(Client(id=own.decode()))

        with _traced(scope) as span:

            async def send_numbered(message: Message) -> None:
                if message["type"] in ("http.response.start", "websocket.http.response.start", "websocket.accept"):
                    message["headers"] = [*message.get("headers", ()), (HEADER, own)]
                    span.set("http.response.status_code", message.get("status", 101))
                await send(message)

            await self.app(scope, receive, send_numbered)


def _traced(scope: Scope) -> AbstractContextManager[tracing.Span]:
    """A span for a request; a WebSocket's operations have their own, below the span that the handshake names."""
    if not tracing.is_on() or scope["path"] in _PROBES:
        return nullcontext(tracing.SILENT)
    parent = tracing.remote({name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]})
    if scope["type"] == "websocket":
        return tracing.attached(parent)
    method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD", "OPTIONS") else "_OTHER"
    attributes = {"http.request.method": method, "url.path": scope["path"], "adalog.request_id": scope[REQUEST_ID]}
    return tracing.span(f"{method} {scope['path']}" if scope["path"] == "/graphql" else method, attributes, parent)
