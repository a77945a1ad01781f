"""A job that is asked for with a POST of JSON and told of with server-sent events until its end: /import, /backup.

The client needs the role, pays for the time that the job takes, and ends it by disconnecting; so do the end of the
token and that of the server.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, TypeVar

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from adalog.datalog.errors import AdalogError, Code, invalid_argument, limit_exceeded
from adalog.executor.bounds.cancel import abandoned, stopping
from adalog.executor.bounds.client import ASKING
from adalog.executor.bounds.meter import Meter
from adalog.gateway.connections import limits
from adalog.gateway.identity.auth import check_admin
from adalog.gateway.identity.json_texts import RepeatedNameError, loaded
from adalog.gateway.identity.peer import is_own_user
from adalog.gateway.identity.principal import ANYONE, Expiry, Principal
from adalog.gateway.jobs.outbox import LAST, WAITING, Outbox
from adalog.gateway.protocols.answering import REQUEST_UNITS, Answering, disconnected
from adalog.gateway.protocols.events import FORM
from adalog.gateway.protocols.negotiation import BadRequestError
from adalog.gateway.protocols.responses import refusal_answer
from adalog.gateway.settings.config import Settings
from adalog.store.files.allowed_places import AllowedPlaces

Places = TypeVar("Places", bound=AllowedPlaces)


@dataclass(frozen=True, slots=True)
class JobKind:
    """Jobs of one kind. name: as in its path and in `adalog NAME`. undone: what there is of one that was ended.
    reason: why it needs the role admin. begin: begins what a body asks for; raises what is
    wrong with it."""

    name: str
    undone: str
    reason: str
    begin: Callable[[bytes, Principal, Scope], Coroutine[Any, Any, Outbox]]

    @property
    def path(self) -> str:
        return f"/{self.name}"


class JobEndpoint:
    """An ASGI app."""

    def __init__(self, kind: JobKind, answering: Answering, settings: Settings) -> None:
        self._kind = kind
        self._answering = answering
        self._request_bytes = settings.request_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind, request = self._kind, Request(scope, receive)
        if request.method != "POST":
            wrong = BadRequestError(
                405, f"{request.method} is not for {kind.path}; use POST", headers={"Allow": "POST"}
            )
            await refusal_answer(wrong)(scope, receive, send)
            return
        try:
            principal = await self._answering.tokens.asking(scope)
            check_admin(principal, kind.reason)
            self._check_form(request)
            self._answering.introduce(principal, scope)
            meter = ASKING.get().meter
            if meter is not None:
                meter.admit(REQUEST_UNITS)
            outbox = await kind.begin(await self._body(request), principal, scope)
        except AdalogError as error:
            await refusal_answer(error)(scope, receive, send)
            return
        except ClientDisconnect:
            return
        expiry = Expiry(principal, lambda: outbox.close(self._expired()))
        try:
            await self._tell(outbox, meter, receive, send)
        finally:
            expiry.cancel()
            outbox.close(AdalogError(Code.CANCELLED, f"the client went away, and {kind.undone}"))

    def _expired(self) -> AdalogError:
        return AdalogError(
            Code.UNAUTHENTICATED,
            f"the token expired before the {self._kind.name} was done, and {self._kind.undone}; use a token that "
            "lasts as long",
        )

    def _check_form(self, request: Request) -> None:
        """Raises what is wrong with a request before its body is read."""
        path = self._kind.path
        if {"origin", "sec-fetch-site"} & set(request.headers):
            # A page may not have the machine's files read or written, wherever it is from.
            raise AdalogError(
                Code.FORBIDDEN, f"a page in a browser cannot ask for {path}; use adalog {self._kind.name} --url"
            )
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise invalid_argument(f"{path} is asked for with `Content-Type: application/json`")

    async def _body(self, request: Request) -> bytes:
        text, most = bytearray(), self._request_bytes
        async for piece in request.stream():
            text += piece
            if len(text) > most:
                raise limit_exceeded(
                    f"the request has more than {most:,} bytes; ADALOG_REQUEST_BYTES moves this limit"
                )
        return bytes(text)

    async def _tell(self, outbox: Outbox, meter: Meter | None, receive: Receive, send: Send) -> None:
        """Sends what an outbox has, until its last event, or the client leaves."""
        await send({"type": "http.response.start", "status": 200, "headers": FORM.headers})
        await send({"type": "http.response.body", "body": FORM.keep_alive, "more_body": True})
        gone = asyncio.ensure_future(disconnected(receive))
        stop = self._answering.stop
        stopped = stop.told()
        stopped.add_done_callback(lambda told: None if told.cancelled() else outbox.close(stopping()))
        paid, waiting = monotonic(), False
        try:
            while not gone.done():
                events = await _events(outbox, limits.PING_SECONDS, gone)
                if meter is not None:
                    # Charged as it goes on: other requests of the principal have less meanwhile.
                    now = monotonic()
                    if not waiting:
                        meter.pay(meter.seconds(now - paid))
                    paid = now
                for kind, said in events:
                    waiting = kind == WAITING
                    last = kind in LAST
                    await send({"type": "http.response.body", "body": _framed(kind, said), "more_body": not last})
                    if last:
                        return
                if not events:
                    await send({"type": "http.response.body", "body": FORM.keep_alive, "more_body": True})
        finally:
            stop.forget(stopped)
            abandoned(gone)


def allowed(kind: type[Places], listed: str | None, principal: Principal, scope: Scope) -> Places:
    """The places that a setting lists. Without it a client that runs as the server's own user may use every file
    that the server can, and others none."""
    if listed is not None:
        return kind.of(listed)
    return kind.anywhere() if principal is ANYONE and is_own_user(scope) else kind()


def members(text: bytes, kinds: Mapping[str, tuple[type, str]], job: str) -> dict[str, Any]:
    """The members of a request that are not null, each of its kind, the first of which it needs. job: what it asks
    for. Raises ARG_INVALID for anything else than a request."""
    needed = next(iter(kinds))
    try:
        said = orjson.loads(text)
        # Only what is JSON by the stricter reader is looked at by the other one.
        loaded(text)
    except RepeatedNameError as error:
        raise invalid_argument(f"the request is ambiguous: {error}") from None
    except orjson.JSONDecodeError as error:
        raise invalid_argument(f"the request is not JSON: {error.msg}") from None
    if not isinstance(said, dict) or said.get(needed) is None:
        raise invalid_argument(f"the request is a JSON object with `{needed}`, {kinds[needed][1]}")
    given = {name: value for name, value in said.items() if value is not None}
    for name, value in given.items():
        if name not in kinds:
            raise invalid_argument(f"{job} has no {name!r}; it has {', '.join(kinds)}")
        kind, what = kinds[name]
        if type(value) is not kind:
            raise invalid_argument(f"`{name}` is {what}")
    return given


async def _events(outbox: Outbox, seconds: float, gone: asyncio.Future[None]) -> list[tuple[str, Any]]:
    """The next events; none after a while, or when the client has left."""
    taking = asyncio.ensure_future(outbox.taken(seconds))
    try:
        await asyncio.wait((taking, gone), return_when=asyncio.FIRST_COMPLETED)
        return taking.result() if taking.done() else []
    finally:
        taking.cancel()
        with suppress(asyncio.CancelledError):
            await taking


def _framed(kind: str, said: Any) -> bytes:
    """One event. JSON written by orjson has no line break, so that one line of data is enough."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps(said))
