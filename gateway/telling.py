"""What a job of the server's has to say to the client that asked for it, as server-sent events until its end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Send

from datalog.errors import AdalogError, Code
from executor.bounds.cancel import abandoned, stopping
from gateway.ending import Stop
from gateway.events import HEADERS, KEEP_ALIVE
from gateway.imports import LAST, Outbox
from schema.errors import describe

_STATUS: Final = {
    Code.UNAUTHENTICATED: 401,
    Code.FORBIDDEN: 403,
    Code.LIMIT_EXCEEDED: 413,
    Code.RATE_LIMITED: 429,
    Code.BACKEND_UNAVAILABLE: 503,
}


async def tell(outbox: Outbox, stop: Stop, ping_seconds: float, receive: Receive, send: Send) -> None:
    """Sends what an outbox has, until its last event, or the client leaves."""
    await send({"type": "http.response.start", "status": 200, "headers": list(HEADERS)})
    await send({"type": "http.response.body", "body": KEEP_ALIVE, "more_body": True})
    gone = asyncio.ensure_future(_disconnected(receive))
    stopped = stop.told()
    stopped.add_done_callback(lambda told: None if told.cancelled() else outbox.close(stopping()))
    try:
        while not gone.done():
            events = await _events(outbox, ping_seconds, gone)
            for kind, said in events:
                last = kind in LAST
                await send({"type": "http.response.body", "body": framed(kind, said), "more_body": not last})
                if last:
                    return
            if not events:
                await send({"type": "http.response.body", "body": KEEP_ALIVE, "more_body": True})
    finally:
        stop.forget(stopped)
        abandoned(gone)


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


def framed(kind: str, said: Any) -> bytes:
    """One event. JSON written by orjson has no line break, so that one line of data is enough."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps(said))


async def body(request: Request, most: int) -> bytes:
    """A request's body, of at most so many bytes."""
    text = bytearray()
    async for piece in request.stream():
        text += piece
        if len(text) > most:
            raise AdalogError(
                Code.LIMIT_EXCEEDED,
                f"the request has more than {most:,} bytes; ADALOG_REQUEST_BYTES moves this limit",
            )
    return bytes(text)


def check_form(request: Request, path: str, what: str) -> None:
    """Raises what is wrong with a request for a job before its body is read. what: the command that asks for it."""
    if request.method != "POST":
        raise AdalogError(Code.ARG_INVALID, f"{request.method} is not for {path}; use POST")
    if "origin" in request.headers:
        # A page may not have the machine's files read or written, wherever it is from.
        raise AdalogError(Code.FORBIDDEN, f"a page in a browser cannot ask for {path}; use adalog {what} --url")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise AdalogError(Code.ARG_INVALID, f"{path} is asked for with `Content-Type: application/json`")


def refusal(error: AdalogError) -> Response:
    """The answer to a request that is refused."""
    headers = {"Cache-Control": "no-store"}
    if error.code is Code.UNAUTHENTICATED:
        headers["WWW-Authenticate"] = "Bearer"
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    return JSONResponse({"errors": [describe(error)]}, _STATUS.get(error.code, 400), headers)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
