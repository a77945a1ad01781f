"""Apollo's multipart subscriptions over HTTP, byte by byte."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from adalog.datalog.errors import AdalogError, Code
from tests.gateway.connections.test_websocket import QUERY
from tests.gateway.streams import LIVE, SECONDS, Live, live
from tests.waiting import until

PARTS = {"Accept": "multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json;q=0.9"}
HEAD = b"\r\nContent-Type: application/json\r\n\r\n"
BOUNDARY = b"\r\n--graphql"
END = b"--\r\n"


class Reader:
    """The parts of one response, each once its boundary is here."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._bytes = b""
        self._pieces = response.iter_raw()

    def preamble(self) -> None:
        assert self._until_boundary() == b""

    def part(self) -> Any:
        head, separator, body = self._until_boundary().partition(HEAD)
        assert (head, separator) == (b"", HEAD)
        return json.loads(body)

    def rest(self) -> bytes:
        return self._bytes + b"".join(self._pieces)

    def _until_boundary(self) -> bytes:
        while BOUNDARY not in self._bytes:
            self._bytes += next(self._pieces)
        part, _, self._bytes = self._bytes.partition(BOUNDARY)
        return part


@contextlib.contextmanager
def asked(opened: Live, document: str = LIVE, **headers: str) -> Iterator[Reader]:
    with (
        httpx.Client(timeout=SECONDS, headers=PARTS | headers) as client,
        client.stream("POST", f"{opened.address}/graphql", json={"query": document}) as response,
    ):
        yield Reader(response)


@pytest.fixture(scope="module")
def shared() -> Iterator[Live]:
    with live() as opened:
        yield opened


@pytest.fixture
def opened(shared: Live) -> Live:
    until(lambda: not shared.wire.streams["events"])
    shared.hub.streams.clear()
    shared.hub.failure = None
    return shared


def test_each_event_is_a_part_that_its_boundary_follows_at_once(opened: Live) -> None:
    with asked(opened, **{"Accept-Encoding": "gzip, zstd"}) as reader:
        headers = reader.response.headers
        assert headers["content-type"] == 'multipart/mixed;boundary="graphql";subscriptionSpec="1.0"'
        assert headers["cache-control"] == "no-store"
        assert "content-encoding" not in headers
        (stream,) = opened.hub.expect(1)
        reader.preamble()
        for number in (1, 2):
            opened.hub.tell({"basisT": number})
            assert reader.part() == {"payload": {"data": {"live": {"basisT": number}}}}
        opened.hub.end()
        assert reader.rest() == END
    assert stream.closed.wait(SECONDS)


def test_an_error_ends_the_parts(opened: Live) -> None:
    with asked(opened) as reader:
        opened.hub.expect(1)
        opened.hub.end(AdalogError(Code.LIMIT_EXCEEDED, "too many rows"))
        reader.preamble()
        failed = reader.part()
        assert failed["payload"] is None
        assert failed["errors"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"
        assert reader.rest() == END


def test_heartbeats_are_empty_parts() -> None:
    with live(ping_seconds=0.05) as opened, asked(opened) as reader:
        reader.preamble()
        for _ in range(3):
            assert reader.part() == {}


def test_a_server_that_stops_sends_no_final_boundary() -> None:
    with contextlib.ExitStack() as stack:
        with live() as opened:
            reader = stack.enter_context(asked(opened))
            opened.hub.expect(1)
            reader.preamble()
        assert reader.rest() == b""


def test_a_client_that_is_gone_frees_its_stream(opened: Live) -> None:
    with asked(opened):
        (stream,) = opened.hub.expect(1)
    assert stream.closed.wait(SECONDS)


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ('multipart/mixed; boundary="graphql"; subscriptionSpec="1.0"', "multipart/mixed"),
        ("multipart/mixed;subscriptionSpec=1.0, text/event-stream", "text/event-stream"),
        ("multipart/mixed;subscriptionSpec=1.0, text/event-stream;q=0.5", "multipart/mixed"),
        ("text/event-stream, multipart/mixed", "text/event-stream"),
        ("multipart/mixed;deferSpec=20220824, application/json", "application/json"),
        ("multipart/mixed;subscriptionSpec=1.0;q=0, application/json", "application/json"),
        ("multipart/mixed", "application/json"),
    ],
)
def test_which_form_a_subscription_has(opened: Live, accept: str, media: str) -> None:
    with asked(opened, Accept=accept) as reader:
        assert reader.response.headers["content-type"].partition(";")[0] == media
        assert (reader.response.status_code == 406) == (media == "application/json")


def test_queries_and_refusals_are_json(opened: Live) -> None:
    for accept in (PARTS["Accept"], "multipart/mixed;subscriptionSpec=1.0"):
        with asked(opened, QUERY, Accept=accept) as reader:
            assert reader.response.headers["content-type"].startswith("application/json")
            assert json.loads(reader.rest()) == {"data": {"q": {"value": 1815}}}
    opened.hub.failure = AdalogError(Code.UNBOUND_VARIABLE, "?x is not bound")
    for document, code in ((LIVE, "UNBOUND_VARIABLE"), ("subscription { nothing }", "QUERY_INVALID")):
        with asked(opened, document) as reader:
            assert reader.response.headers["content-type"].startswith("application/json")
            assert json.loads(reader.rest())["errors"][0]["extensions"]["code"] == code


def test_a_token(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"reader:read:{hashlib.sha256(b'reader').hexdigest()}\n")
    tokens.chmod(0o600)
    with live(auth=str(tokens)) as opened:
        with asked(opened) as reader:
            assert reader.response.status_code == 401
        with asked(opened, Authorization="Bearer reader") as reader:
            assert reader.response.status_code == 200
