"""Answers over HTTP on their way: the status and the headers of a refusal, and bodies in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from starlette.responses import JSONResponse
from starlette.types import Send

from adalog.datalog.errors import AdalogError, Code
from adalog.gateway.protocols.negotiation import FILES, BadRequestError
from adalog.gateway.protocols.repeated import Repeatable
from adalog.schema.request.errors import describe

# Of what is sent at once.
_PIECE_BYTES = 256 * 1024
Chunk = bytes | memoryview
Chunks = list[bytes] | list[Chunk]
_STATUS = {
    Code.UNAUTHENTICATED: 401,
    Code.FORBIDDEN: 403,
    Code.LIMIT_EXCEEDED: 413,
    Code.RATE_LIMITED: 429,
    Code.BACKEND_UNAVAILABLE: 503,
}


def refusal(refused: AdalogError) -> tuple[int, dict[str, str]]:
    """The status and the headers of a request that is refused before its document is run."""
    if isinstance(refused, BadRequestError):
        return refused.status, refused.headers
    status = _STATUS.get(refused.code, 400)
    return status, {"WWW-Authenticate": "Bearer"} if status == 401 else retry_header(refused.retry_after)


def refusal_answer(refused: AdalogError) -> JSONResponse:
    """The whole answer to such a request."""
    status, headers = refusal(refused)
    return JSONResponse({"errors": [describe(refused)]}, status, {"Cache-Control": "no-store", **headers})


def retry_header(seconds: int | None) -> dict[str, str]:
    """The Retry-After header of a refusal that is worth another try."""
    return {} if seconds is None else {"Retry-After": str(seconds)}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """`extra`: headers besides those that every answer has. `repeatable`: set where it may be sent again."""

    status: int
    media: str
    body: Chunks
    extra: dict[str, str]
    repeatable: Repeatable | None = None


def response_headers(answer: HttpAnswer, size: int, vary: bytes = b"") -> list[tuple[bytes, bytes]]:
    """The headers of an answer with a body of so many bytes. `vary`: a header by which answers differ, too."""
    about = {"cache-control": "no-store", "vary": "Accept"}
    about |= {name.lower(): each for name, each in answer.extra.items()}
    headers = [(name.encode(), value.encode()) for name, value in about.items()]
    if vary:
        headers = [(name, b"%b, %b" % (value, vary) if name == b"vary" else value) for name, value in headers]
    if answer.status not in (204, 304):
        charset = b"" if answer.media in FILES else b"; charset=utf-8"
        headers.append((b"content-type", answer.media.encode() + charset))
        headers.append((b"content-length", b"%d" % size))
    return headers


async def send_answer(send: Send, answer: HttpAnswer) -> None:
    body = answer.body
    size = sum(map(len, body))
    await send({"type": "http.response.start", "status": answer.status, "headers": response_headers(answer, size)})
    if size <= _PIECE_BYTES:
        await send({"type": "http.response.body", "body": b"".join(body)})
        return
    # The server waits between pieces for a client that reads slowly, and each that is sent is let go.
    for piece in _pieces(body):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _pieces(body: Chunks) -> Iterator[Chunk]:
    """The chunks of a body, joined or cut to pieces of about `_PIECE_BYTES`. Empties the body."""
    body.reverse()
    waiting: list[Chunk] = []
    size = 0
    while body:
        chunk = body.pop()
        waiting.append(chunk)
        size += len(chunk)
        if size >= _PIECE_BYTES or not body:
            # One that is long by itself is not copied.
            together = memoryview(waiting[0] if len(waiting) == 1 else b"".join(waiting))
            waiting.clear()
            size = 0
            yield from (together[at : at + _PIECE_BYTES] for at in range(0, len(together), _PIECE_BYTES))
