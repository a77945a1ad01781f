"""Answers compressed for who asks: the client's choice, what stays as it is, and validators that agree."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import pyarrow as pa
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response
from starlette.routing import Route

from adalog.executor.cache.settings import CacheSettings
from adalog.executor.pool import Pool
from adalog.gateway.protocols.compression import Compression, acceptable
from adalog.store.database import Database
from tests.gateway.support import Gateway, InProcess

MANY = 'query { q(query: "[:find ?n :where [_ :n ?n]]") { rows } }'


@pytest.fixture(scope="module")
def many() -> Iterator[Gateway]:
    """A gateway whose query has a long answer, and keeps it."""
    with Database.open(":memory:") as database:
        database.transact("[" + " ".join(f'{{:n "number {i}"}}' for i in range(5000)) + "]")
        pool = Pool(database, cache=CacheSettings(1 << 24, 1 << 22, None))
        opened = Gateway(database, pool)
        yield opened
        opened.http.close()
        pool.close()


def get(opened: Gateway, accept: str, document: str = MANY, **headers: str) -> tuple[httpx.Headers, bytes]:
    """The head and the plain body."""

    async def asked() -> tuple[httpx.Headers, bytes]:
        transport = httpx.ASGITransport(opened.app)
        request = httpx.Request(
            "GET", "http://localhost/graphql", params={"query": document},
            headers={"Accept-Encoding": accept, **headers},
        )  # fmt: skip
        response = await transport.handle_async_request(request)
        assert response.status_code in (200, 304)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        return response.headers, b"".join([part async for part in response.stream])

    return asyncio.run(asked())


def plain(coding: str | None, body: bytes, size: int) -> bytes:
    match coding:
        case "gzip":
            return zlib.decompress(body, 31)
        case "zstd":
            return bytes(pa.Codec("zstd").decompress(body, size, asbytes=True))
    return body


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, ["identity"]),
        ("", ["identity"]),
        ("gzip", ["gzip", "identity"]),
        ("GZIP ; Q=0.5", ["gzip", "identity"]),
        ("x-gzip", ["gzip", "identity"]),
        ("gzip, deflate, br, zstd", ["zstd", "gzip", "identity"]),
        ("gzip;q=1.0, zstd;q=0.5", ["gzip", "zstd", "identity"]),
        ("identity, gzip;q=0.5", ["identity", "gzip"]),
        ("gzip;q=0.001", ["gzip", "identity"]),
        ("gzip;q=0", ["identity"]),
        ("br", ["identity"]),
        ("*", ["gzip", "zstd", "identity"]),
        ("gzip;q=0, *", ["zstd", "identity"]),
        ("*;q=0, gzip", ["gzip"]),
        ("gzip, identity;q=0", ["gzip"]),
        ("br, identity;q=0", []),
        ("*;q=0", []),
        ("gzip;q=nonsense", ["identity"]),
    ],
)
def test_what_a_header_takes(header: str | None, expected: list[str]) -> None:
    assert acceptable(header) == tuple(expected)


@pytest.mark.parametrize("accept", ["gzip", "zstd", "gzip, deflate, br, zstd", "*", "identity", "br", "gzip;q=0"])
def test_an_answer_is_the_same_however_it_is_sent(many: Gateway, accept: str) -> None:
    head, whole = get(many, "identity")
    assert "content-encoding" not in head
    sent, body = get(many, accept)
    coding = sent.get("content-encoding")
    assert coding == {"identity": None, "br": None, "gzip;q=0": None, "*": "gzip", "gzip": "gzip"}.get(
        accept, "zstd"
    )
    assert plain(coding, body, len(whole)) == whole
    assert int(sent["content-length"]) == len(body)
    assert "Accept-Encoding" in sent["vary"]
    assert coding is None or len(body) < len(whole) / 2


@pytest.mark.parametrize("accept", ["gzip", "zstd"])
def test_an_answer_that_is_sent_in_pieces(many: Gateway, accept: str) -> None:
    field = MANY.removeprefix("query {").removesuffix("}")
    document = "query {" + " ".join(f"a{i}: {field}" for i in range(4)) + "}"
    _, whole = get(many, "identity", document)
    assert len(whole) > 1 << 18
    head, body = get(many, accept, document)
    assert head["content-encoding"] == accept
    assert "content-length" not in head
    assert len(body) < len(whole) / 2
    assert plain(accept, body, len(whole)) == whole
    assert get(many, "identity", document)[0]["etag"] == head["etag"]


def test_validators_agree_across_codings(many: Gateway) -> None:
    tags = {get(many, accept)[0]["etag"] for accept in ("gzip", "zstd", "identity")}
    assert len(tags) == 1
    tag = tags.pop()
    assert tag.startswith('W/"')
    head, body = get(many, "gzip", **{"If-None-Match": tag})
    assert (body, head["etag"]) == (b"", tag)
    assert "content-encoding" not in head
    assert "Accept-Encoding" in head["vary"]


def test_a_short_answer_stays_as_it_is_unless_that_is_ruled_out(many: Gateway) -> None:
    short = "{ database { basisT } }"
    assert "content-encoding" not in get(many, "gzip", short)[0]
    head, body = get(many, "gzip, identity;q=0", short)
    assert head["content-encoding"] == "gzip"
    assert b"basisT" in zlib.decompress(body, 31)


def test_what_nobody_could_read_is_not_done(many: Gateway) -> None:
    before = many.data("{ database { basisT } }")
    response = many.post('mutation { transact(tx: "[{:n 1}]") { t } }', {"Accept-Encoding": "identity;q=0, br"})
    assert response.status_code == 406
    assert "gzip" in response.json()["errors"][0]["message"]
    assert many.data("{ database { basisT } }") == before


def test_the_explorer_too(many: Gateway) -> None:
    for path, media in (("vendor/graphiql.min.js", "text/javascript"), ("vendor/graphiql.min.css", "text/css")):
        answer = many.http.get(f"/explorer/{path}", headers={"Accept-Encoding": "gzip"})
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["content-type"].startswith(media)
        assert answer.content == many.http.get(f"/explorer/{path}", headers={"Accept-Encoding": "identity"}).content


def test_events_are_sent_as_they_come() -> None:
    """The second event waits for the first to have arrived."""
    arrived: list[bytes] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for number in range(3):
            assert len(arrived) == number
            await send({"type": "http.response.body", "body": b"data: %d\n\n" % number * 500, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Any) -> None:
        if message.get("body"):
            arrived.append(message["body"])

    scope = {"type": "http", "headers": [(b"accept-encoding", b"gzip")]}
    asyncio.run(Compression(app)(scope, None, send))  # type: ignore[arg-type]
    assert arrived == [b"data: %d\n\n" % number * 500 for number in range(3)]


@pytest.mark.parametrize(
    ("media", "headers"), [("font/woff2", {}), ("image/png", {}), ("text/plain", {"Content-Encoding": "br"})]
)
def test_what_is_compressed_already(media: str, headers: dict[str, str]) -> None:
    async def endpoint(request: object) -> Response:
        return Response(b"x" * 10_000, media_type=media, headers=headers)

    routes = [Route("/", endpoint, methods=["GET", "HEAD"])]
    http = InProcess(Starlette(routes=routes, middleware=[Middleware(Compression)]))
    response = http.request("HEAD", "/", headers={"Accept-Encoding": "gzip"})
    assert response.headers.get("content-encoding") == headers.get("Content-Encoding")
    assert response.headers["content-length"] == "10000"
    http.close()
