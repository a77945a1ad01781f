"""Answers compressed on request: Accept-Encoding, https://www.rfc-editor.org/rfc/rfc9110#section-12.5.3.

The cheapest level of each coding: most clients are near, and the highest would cost more than it saves them. An
answer that is sent in pieces is compressed piece by piece, so that it is never held as a whole a second time.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from isal import igzip_lib, isal_zlib
from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adalog.datalog.errors import Code
from adalog.gateway.protocols.negotiation import quality_of

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

IDENTITY: Final = "identity"
LEAST_BYTES: Final = 4096
"""Below this compressing takes longer than the bytes that it saves, on any network but the slowest."""
# From here on it would hold up other requests: some tenths of a millisecond.
_MOST_AT_ONCE: Final = 1 << 16
_COMMON: Final = "gzip"
# Identity may be sent unless it is ruled out; any coding that is named, were it with q=0.001, is better.
_UNSAID: Final = 0.0001
# Of a header, what is looked at.
_HEADER: Final = 8_000
_MEDIA: Final = ("application/json", "application/graphql-response+json", "text/", "image/svg+xml")
_EVENTS: Final = "text/event-stream"


def _gzip(body: bytes) -> bytes:
    # A quarter of zlib's time, and smaller.
    return igzip_lib.compress(body, level=1, flag=igzip_lib.COMP_GZIP)


def _zstd(body: bytes) -> bytes:
    compressed: bytes = pa.Codec("zstd", 1).compress(body, asbytes=True)
    return compressed


CODINGS: Final[Mapping[str, Callable[[bytes], bytes]]] = {"zstd": _zstd, "gzip": _gzip}
"""The codings to choose from, the better first."""


class _GzipStream:
    """A body on its way into one coding. Each call gives the bytes that are ready."""

    def __init__(self) -> None:
        self._made = isal_zlib.compressobj(1, wbits=31)

    def add(self, piece: bytes) -> bytes:
        coded: bytes = self._made.compress(piece)
        return coded

    def end(self) -> bytes:
        coded: bytes = self._made.flush()
        return coded


class _ZstdStream:
    """The same."""

    def __init__(self) -> None:
        self._ready = _Pieces()
        self._made = pa.CompressedOutputStream(self._ready, "zstd")

    def add(self, piece: bytes) -> bytes:
        self._made.write(piece)
        return self._ready.taken()

    def end(self) -> bytes:
        self._made.close()
        return self._ready.taken()


class _Pieces(io.RawIOBase):
    """A file to write to, whose content is taken away as it comes."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, piece: ReadableBuffer) -> int:
        self._pieces.append(bytes(piece))
        return len(self._pieces[-1])

    def taken(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


Stream = _GzipStream | _ZstdStream
STREAMS: Final[Mapping[str, Callable[[], Stream]]] = {"zstd": _ZstdStream, "gzip": _GzipStream}
"""The same for what comes in pieces."""


@lru_cache(256)
def acceptable(header: str | None) -> tuple[str, ...]:
    """The codings that an Accept-Encoding header takes, identity among them, the client's best first. Of equally
    good ones the first of `CODINGS`, and identity last: it costs the network more."""
    if header is None:
        return (IDENTITY,)
    qualities = _qualities(header)

    def quality(name: str) -> float:
        return qualities.get(name, qualities.get("*", _UNSAID if name == IDENTITY else 0.0))

    taken = [name for name in (*CODINGS, IDENTITY) if quality(name) > 0]
    # Where anything will do it is what everybody can read.
    return tuple(sorted(taken, key=lambda name: (-quality(name), name not in qualities and name != _COMMON)))


def _qualities(header: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in header[:_HEADER].lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        if name:
            found["gzip" if name == "x-gzip" else name] = quality_of(parameters)
    return found


class Compression:
    """Compresses answers of text whose length is known. Events and the like go through as they come."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asked = [value for name, value in scope["headers"] if name == b"accept-encoding"]
        taken = acceptable(b",".join(asked).decode("latin-1") if asked else None)
        if not taken:
            # Before anything is done: a transaction whose answer cannot be read would be worse.
            await _refusal()(scope, receive, send)
            return
        await self.app(scope, receive, _Answer(send, taken))


class _Answer:
    """The sending side of one request: keeps the head of the answer until the body tells how it is sent."""

    def __init__(self, send: Send, taken: Sequence[str]) -> None:
        self._send = send
        self._taken = taken
        self._head: Message | None = None
        self._stream: Stream | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._head = message
            MutableHeaders(raw=message["headers"]).add_vary_header("Accept-Encoding")
            return
        head, self._head = self._head, None
        if head is not None:
            if not message.get("more_body", False):
                message = await self._coded(head, message)
            else:
                self._stream = self._begun(head)
            await self._send(head)
        if self._stream is None:
            await self._send(message)
        else:
            await self._send_coded(self._stream, message)

    async def _coded(self, head: Message, message: Message) -> Message:
        body: bytes = message.get("body", b"")
        if self._is_short(len(body)):
            return message
        headers = MutableHeaders(raw=head["headers"])
        coding = self._chosen(headers, len(body))
        if coding == IDENTITY:
            return message
        compress = CODINGS[coding]
        coded = await asyncio.to_thread(compress, body) if len(body) > _MOST_AT_ONCE else compress(body)
        headers["content-encoding"] = coding
        headers["content-length"] = str(len(coded))
        return {**message, "body": coded}

    def _begun(self, head: Message) -> Stream | None:
        """What compresses an answer that comes in pieces; None for what goes through as it is."""
        headers = MutableHeaders(raw=head["headers"])
        length = headers.get("content-length", "")
        coding = self._chosen(headers, int(length)) if length.isdigit() else IDENTITY
        if coding == IDENTITY:
            return None
        headers["content-encoding"] = coding
        # It is not known before the end.
        del headers["content-length"]
        return STREAMS[coding]()

    async def _send_coded(self, stream: Stream, message: Message) -> None:
        body: bytes = message.get("body", b"")
        more = message.get("more_body", False)

        def coded() -> bytes:
            ready = stream.add(body)
            return ready if more else ready + stream.end()

        ready = await asyncio.to_thread(coded) if len(body) > _MOST_AT_ONCE else coded()
        if ready or not more:
            await self._send({**message, "body": ready})

    def _chosen(self, headers: MutableHeaders, size: int) -> str:
        media = headers.get("content-type", "")
        if not size or "content-encoding" in headers or not media.startswith(_MEDIA) or media.startswith(_EVENTS):
            return IDENTITY
        return IDENTITY if self._is_short(size) else self._taken[0]

    def _is_short(self, size: int) -> bool:
        """Whether an answer is too short to gain from being compressed."""
        return size < LEAST_BYTES and IDENTITY in self._taken


def _refusal() -> JSONResponse:
    codings = ", ".join([*CODINGS, IDENTITY])
    message = f"answers are encoded as one of {codings}; Accept-Encoding takes none of them"
    error = {"message": message, "extensions": {"code": Code.ARG_INVALID.value, "retryable": False}}
    return JSONResponse({"errors": [error]}, 406, {"Vary": "Accept-Encoding"})
