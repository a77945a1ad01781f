"""Server-sent events over HTTP: https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import json
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from adalog.datalog.errors import AdalogError, Code
from adalog.gateway.connections.connection import Connection
from adalog.gateway.connections.event_transport import limit_silence
from adalog.gateway.protocols.events import EventStream
from tests.gateway.connections.test_websocket import QUERY, WRITE
from tests.gateway.streams import LIVE, SECONDS, Live, live
from tests.waiting import until

EVENTS = {"Accept": "text/event-stream"}
COMPLETE = {"event": "complete", "id": "complete", "data": ""}
PLAIN = ["application/json", "application/graphql-response+json", "*/*", "application/json, */*;q=0.1"]


class Reader:
    """The events of one response, one by one."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self._lines = response.iter_lines()

    def next(self) -> dict[str, str]:
        """The next event's fields; comments count as fields without a name."""
        found: dict[str, str] = {}
        for line in self._lines:
            if not line:
                return found
            name, _, value = line.partition(":")
            found[name] = value.removeprefix(" ")
        raise EOFError

    def event(self) -> tuple[str | None, Any]:
        """The id and the data of the next event that is no comment."""
        while (event := self.next()).keys() == {""}:
            pass
        assert event["event"] == "next", event
        return event.get("id"), json.loads(event["data"])

    def rest(self) -> list[dict[str, str]]:
        events = []
        with contextlib.suppress(EOFError):
            while True:
                events.append(self.next())
        return [event for event in events if event.keys() != {""}]


@contextlib.contextmanager
def asked(opened: Live, document: str = LIVE, method: str = "POST", **more: Any) -> Iterator[Reader]:
    headers = EVENTS | more.pop("headers", {})
    body: dict[str, Any] = {"json" if method == "POST" else "params": {"query": document, **more}}
    with (
        httpx.Client(timeout=SECONDS) as client,
        client.stream(method, f"{opened.address}/graphql", headers=headers, **body) as response,
    ):
        yield Reader(response)


@pytest.fixture(scope="module")
def shared() -> Iterator[Live]:
    with live() as opened:
        yield opened


@pytest.fixture
def opened(shared: Live) -> Live:
    """One with nobody connected and the limits as they are."""
    until(lambda: not shared.wire.streams["events"])
    shared.hub.streams.clear()
    shared.hub.failure = None
    return shared


# Streams


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_events_and_their_end(opened: Live, method: str) -> None:
    with asked(opened, method=method, headers={"Accept-Encoding": "gzip, zstd"}) as reader:
        headers = reader.response.headers
        assert reader.response.status_code == 200
        assert headers["content-type"] == "text/event-stream; charset=utf-8"
        assert headers["cache-control"] == "no-store"
        assert headers["x-accel-buffering"] == "no"
        assert "content-encoding" not in headers
        assert "content-length" not in headers
        assert headers["x-content-type-options"] == "nosniff"
        (stream,) = opened.hub.expect(1)
        assert stream.resume is None
        for number in (1, 2):
            token = opened.hub.tell({"basisT": number})
            assert reader.event() == (token, {"data": {"live": {"basisT": number}}})
        opened.hub.end()
        assert reader.rest() == [COMPLETE]
    assert stream.closed.wait(SECONDS)


def test_a_connection_may_be_used_again_after_a_stream(opened: Live) -> None:
    with httpx.Client(timeout=SECONDS) as client:
        for _ in range(2):
            opened.hub.streams.clear()
            with client.stream(
                "POST", f"{opened.address}/graphql", headers=EVENTS, json={"query": LIVE}
            ) as response:
                opened.hub.expect(1)
                opened.hub.end()
                assert Reader(response).rest() == [COMPLETE]
            assert client.post(f"{opened.address}/graphql", json={"query": QUERY}).json()["data"]["q"]
        assert len(opened.wire.connections) == 1


def test_the_last_event_of_a_browser_is_where_it_goes_on(opened: Live) -> None:
    with asked(opened, method="GET", headers={"Last-Event-ID": "token 7"}):
        (stream,) = opened.hub.expect(1)
        assert stream.resume == "token 7"


def test_an_error_is_an_event_and_ends_the_stream(opened: Live) -> None:
    with asked(opened) as reader:
        opened.hub.expect(1)
        opened.hub.end(AdalogError(Code.LIMIT_EXCEEDED, "too many rows"))
        error, end = reader.rest()
        assert json.loads(error["data"])["errors"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"
        assert error["event"] == "next"
        assert end == COMPLETE


def test_a_subscription_that_does_not_begin_is_an_event(opened: Live) -> None:
    opened.hub.failure = AdalogError(Code.UNBOUND_VARIABLE, "?x is not bound")
    with asked(opened) as reader:
        assert reader.response.status_code == 200
        assert reader.event()[1]["errors"][0]["extensions"]["code"] == "UNBOUND_VARIABLE"
        assert reader.rest() == [COMPLETE]


def test_a_client_that_is_gone_frees_its_stream_at_once(opened: Live) -> None:
    with asked(opened):
        (stream,) = opened.hub.expect(1)
        assert opened.wire.streams["events"] == 1
        assert opened.wire.body_bytes == 0
        assert not stream.closed.is_set()
    assert stream.closed.wait(SECONDS)
    until(lambda: not opened.wire.streams["events"])


def test_comments_keep_the_connection_open() -> None:
    limits = {"ping_seconds": 0.05, "idle_seconds": 0.1, "head_seconds": 0.1, "body_seconds": 0.1}
    with live(**limits) as opened, asked(opened) as reader:
        opened.hub.expect(1)
        for _ in range(5):
            assert reader.next() == {"": ""}
        opened.hub.tell()
        assert reader.event()[1]["data"]["live"]["kind"] == "DELTA"


def test_a_client_that_does_not_read_is_not_written_to_and_is_cut_in_the_end() -> None:
    with live(send_seconds=0.5) as opened, asked(opened) as late, asked(opened) as other:
        opened.hub.expect(2)
        stuck = threading.Event()
        while not stuck.is_set():
            opened.hub.tell("x" * 50_000)
            other.event()
            if any(stream.refused for stream in opened.hub.streams):
                stuck.set()
        (stream,) = [stream for stream in opened.hub.streams if stream.refused]
        taken = stream.taken
        for _ in range(10):
            opened.hub.tell("x" * 50_000)
            other.event()
        assert stream.taken == taken
        assert stream.closed.wait(SECONDS)
        assert opened.wire.refused["send_seconds"] == 1
        assert late.response.status_code == 200


def test_a_client_that_reads_late_gets_everything_in_order(opened: Live) -> None:
    with asked(opened) as reader:
        (stream,) = opened.hub.expect(1)
        told = 0
        while not stream.refused:
            opened.hub.tell({"n": told, "pad": "x" * 20_000})
            told += 1
            until(lambda told=told: stream.taken == told or stream.refused)  # type: ignore[misc]
        for number in range(told):
            assert reader.event()[1]["data"]["live"]["n"] == number


def test_a_server_that_stops_ends_streams_without_complete() -> None:
    """So that whoever follows goes on elsewhere, or later."""
    with contextlib.ExitStack() as stack:
        with live() as opened:
            reader = stack.enter_context(asked(opened))
            (stream,) = opened.hub.expect(1)
            opened.hub.tell()
            assert reader.event()[0] == "token 1"
        assert stream.closed.is_set()
        assert reader.rest() == []


# Operations with one result


@pytest.mark.parametrize(
    ("document", "expected"),
    [(QUERY, {"data": {"q": {"value": 1815}}}), ("{ __typename }", {"data": {"__typename": "Query"}})],
)
def test_a_query_is_one_event(opened: Live, document: str, expected: object) -> None:
    for method in ("POST", "GET"):
        with asked(opened, document, method) as reader:
            assert reader.response.status_code == 200
            assert reader.event() == (None, expected)
            assert reader.rest() == [COMPLETE]


def test_a_mutation_is_one_event_and_never_a_get(opened: Live) -> None:
    before = opened.opened.database.snapshot().t
    with asked(opened, WRITE) as reader:
        assert reader.event() == (None, {"data": {"transact": {"t": before + 1}}})
    with asked(opened, WRITE, "GET") as reader:
        assert reader.response.status_code == 405


@pytest.mark.parametrize("document", ["{", "{ nothing }", "subscription { nothing }"])
def test_a_refused_document_is_an_event(opened: Live, document: str) -> None:
    with asked(opened, document) as reader:
        assert reader.response.status_code == 200
        assert reader.event()[1]["errors"][0]["extensions"]["code"] == "QUERY_INVALID"
        assert reader.rest() == [COMPLETE]


def test_who_takes_json_too_gets_a_query_as_json_and_a_subscription_as_events(opened: Live) -> None:
    both = {"Accept": "application/graphql-response+json, application/json, text/event-stream, multipart/mixed"}
    with asked(opened, QUERY, headers=both) as reader:
        assert reader.response.headers["content-type"].startswith("application/graphql-response+json")
    with asked(opened, headers=both) as reader:
        assert reader.response.headers["content-type"].startswith("text/event-stream")
    with asked(opened, QUERY, headers={"Accept": "application/json;q=0.5, text/event-stream"}) as reader:
        assert reader.event() == (None, {"data": {"q": {"value": 1815}}})


# Refusals


@pytest.mark.parametrize("accept", PLAIN)
def test_a_subscription_is_not_answered_with_json(opened: Live, accept: str) -> None:
    for method in ("POST", "GET"):
        with asked(opened, method=method, headers={"Accept": accept}) as reader:
            assert reader.response.status_code == 406
            (error,) = json.loads(reader.response.read())["errors"]
            assert error["extensions"]["code"] == "ARG_INVALID"
            assert "text/event-stream" in error["message"]
            assert "multipart/mixed;subscriptionSpec=1.0" in error["message"]
            assert "graphql-transport-ws" in error["message"]
    assert not opened.hub.streams


def test_requests_that_are_none(opened: Live) -> None:
    address = f"{opened.address}/graphql"
    for status, more in (
        (400, {"content": b"{", "headers": EVENTS | {"Content-Type": "application/json"}}),
        (400, {"json": {}, "headers": EVENTS}),
        (415, {"content": b"{}", "headers": EVENTS | {"Content-Type": "text/plain"}}),
        (406, {"json": {"query": QUERY}, "headers": {"Accept": "text/event-stream;q=0"}}),
        (406, {"json": {"query": QUERY}, "headers": {"Accept": "image/png"}}),
    ):
        answer = httpx.post(address, **more)  # type: ignore[arg-type]
        assert answer.status_code == status
        assert answer.headers["content-type"].startswith("application/json")
        assert answer.json()["errors"]
    assert httpx.request("PUT", address, headers=EVENTS).status_code == 405
    assert httpx.request("HEAD", address, headers=EVENTS).status_code == 405


def test_tokens_and_other_sites(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"reader:read:{hashlib.sha256(b'reader').hexdigest()}\n")
    tokens.chmod(0o600)
    with live(auth=str(tokens)) as opened:
        with asked(opened) as reader:
            assert reader.response.status_code == 401
        with asked(opened, headers={"Authorization": "Bearer reader"}) as reader:
            opened.hub.expect(1)
            opened.hub.tell()
            assert reader.event()[0] == "token 1"
        with asked(opened, WRITE, headers={"Authorization": "Bearer reader"}) as reader:
            assert reader.response.status_code == 403
        cross = {"Authorization": "Bearer reader", "Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
        with asked(opened, method="GET", headers=cross) as reader:
            assert reader.response.status_code == 403


def test_streams_are_counted(opened: Live) -> None:
    with asked(opened):
        opened.hub.expect(1)
        until(lambda: opened.wire.streams["events"] == 1)
        text = httpx.get(f"{opened.address}/metrics").text
        assert 'adalog_streams{protocol="events"} 1.0' in text
        assert 'adalog_requests_total{code="OK",field="live"}' in text


def test_a_connection_that_is_reset_in_the_middle(opened: Live) -> None:
    host, port = opened.address.removeprefix("http://").split(":")
    body = json.dumps({"query": LIVE}).encode()
    raw = socket.create_connection((host, int(port)), timeout=SECONDS)
    raw.sendall(
        b"POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Accept: text/event-stream\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    (stream,) = opened.hub.expect(1)
    opened.hub.tell()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raw.close()
    assert stream.closed.wait(SECONDS)


def test_a_connection_that_is_lost_before_its_stream_begins_is_not_counted(
    opened: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = opened.hub.subscribe

    async def lost_meanwhile(*asked: Any) -> Any:
        for connection in list(opened.wire.connections):
            connection.transport.abort()
        return await begun(*asked)

    operations = opened.opened.app.state.answering.operations
    monkeypatch.setattr(operations, "subscribe", lost_meanwhile)
    with pytest.raises(httpx.TransportError), asked(opened):
        pass
    (stream,) = opened.hub.expect(1)
    assert stream.closed.wait(SECONDS)
    assert opened.wire.streams["events"] == 0


def test_a_refusal_keeps_nothing_of_its_request() -> None:
    """A raised exception holds the frames that it passed, and so their requests and connections."""

    def left(*kinds: type) -> list[object]:
        gc.collect()
        # By its own type: a proxy of what is gone says that of nothing.
        return [each for each in gc.get_objects() if issubclass(type(each), kinds)]

    with live() as opened:
        before = len(left(Connection, EventStream))
        for _ in range(3):
            with asked_for_all(opened, named("a", QUERY)) as reader:
                assert reader.rest()
            with asked(opened, headers={"Accept": "application/json"}) as reader:
                assert reader.response.status_code == 406
        until(lambda: not opened.wire.connections)
        until(lambda: len(left(Connection, EventStream)) <= before)


@pytest.mark.parametrize("error", [OSError(9, "Bad file descriptor"), ValueError("negative file descriptor")])
def test_a_client_that_is_gone_before_its_stream_begins_is_no_error(error: Exception) -> None:
    class Gone:
        family = socket.AF_INET

        def setsockopt(self, *_: int) -> None:
            raise error

    class Transport(asyncio.Transport):
        def get_extra_info(self, name: str, default: Any = None) -> Any:
            return Gone()

    limit_silence(Transport(), 5.0)


# Arrays


def named(name: str, query: str = LIVE, **more: Any) -> dict[str, Any]:
    return {"query": query, "extensions": {"operationId": name}, **more}


@contextlib.contextmanager
def asked_for_all(opened: Live, *operations: dict[str, Any]) -> Iterator[Reader]:
    with (
        httpx.Client(timeout=SECONDS) as client,
        client.stream("POST", f"{opened.address}/graphql", headers=EVENTS, json=list(operations)) as response,
    ):
        yield Reader(response)


def test_the_events_of_an_array_carry_the_name_of_their_operation(opened: Live) -> None:
    with asked_for_all(opened, named("a"), named("b")) as reader:
        assert reader.response.headers["content-type"] == "text/event-stream; charset=utf-8"
        first, second = opened.hub.expect(2)
        assert opened.wire.streams["events"] == 1
        opened.hub.tell({"basisT": 1}, to=first)
        _, one = reader.event()
        opened.hub.tell({"basisT": 2}, to=second)
        _, other = reader.event()
        assert {one["id"], other["id"]} == {"a", "b"}
        assert [each["payload"] for each in (one, other)] == [
            {"data": {"live": {"basisT": 1}}},
            {"data": {"live": {"basisT": 2}}},
        ]
        first.loop.call_soon_threadsafe(first.end, None)
        assert reader.next() == {"event": "complete", "data": json.dumps({"id": one["id"]}, separators=(",", ":"))}
        second.loop.call_soon_threadsafe(second.end, AdalogError(Code.TIMEOUT, "too slow"))
        failed, end = reader.rest()
        assert json.loads(failed["data"])["payload"]["errors"][0]["extensions"]["code"] == "TIMEOUT"
        assert end == {"event": "complete", "data": json.dumps({"id": other["id"]}, separators=(",", ":"))}
    assert second.closed.wait(SECONDS)


def test_what_is_wrong_with_one_operation_of_an_array_ends_it_alone(opened: Live) -> None:
    wrong = {"unknown": "subscription { nothing }", "query": QUERY, "none": "subscription {"}
    operations = [*(named(name, query) for name, query in wrong.items()), {"extensions": {"operationId": "empty"}}]
    with asked_for_all(opened, *operations, named("a")) as reader:
        opened.hub.expect(1)
        codes = {}
        while len(codes) < 4:
            event = reader.next()
            if event.get("event") == "next":
                data = json.loads(event["data"])
                codes[data["id"]] = data["payload"]["errors"][0]["extensions"]["code"]
        assert codes == {
            "unknown": "QUERY_INVALID",
            "query": "ARG_INVALID",
            "none": "QUERY_INVALID",
            "empty": "ARG_INVALID",
        }
        opened.hub.tell({"basisT": 1})
        while (event := reader.next()).get("event") != "next":
            pass
        assert json.loads(event["data"]) == {"id": "a", "payload": {"data": {"live": {"basisT": 1}}}}


def test_a_client_that_leaves_ends_the_streams_of_its_array(opened: Live) -> None:
    with asked_for_all(opened, *(named(str(number)) for number in range(50))):
        streams = opened.hub.expect(50)
    for stream in streams:
        assert stream.closed.wait(SECONDS)


@pytest.mark.parametrize(
    ("operations", "status", "message"),
    [
        ([], 400, "empty"),
        ([named("a"), named("a")], 400, "two operations have the operationId 'a'"),
        ([named("")], 400, "1 to 128 bytes"),
        (["{ q }"], 400, "element 0 of the array"),
        ([{"query": LIVE}] * 257, 413, "more than 256"),
    ],
    ids=["empty", "twice", "no name", "no object", "too many"],
)
def test_arrays_that_are_refused(opened: Live, operations: list[Any], status: int, message: str) -> None:
    answer = httpx.post(f"{opened.address}/graphql", headers=EVENTS, json=operations, timeout=SECONDS)
    assert answer.status_code == status
    assert message in answer.json()["errors"][0]["message"]


def test_an_array_is_answered_in_its_order(opened: Live) -> None:
    operations = [
        {"query": QUERY},
        {"query": WRITE},
        {"query": "{ nothing }"},
        {"query": LIVE},
        {},
        {"query": QUERY},
    ]
    answer = httpx.post(f"{opened.address}/graphql", json=operations, timeout=SECONDS)
    assert answer.status_code == 200
    first, write, wrong, live_, empty, last = answer.json()
    assert first == last == {"data": {"q": {"value": 1815}}}
    assert write["data"]["transact"]["t"] > 0
    assert wrong["errors"][0]["extensions"]["code"] == "QUERY_INVALID"
    assert "text/event-stream" in live_["errors"][0]["message"]
    assert empty["errors"][0]["extensions"]["code"] == "ARG_INVALID"


# The end, for a browser's own EventSource


@pytest.mark.parametrize("document", [LIVE, QUERY, "subscription { nothing }"])
def test_who_comes_back_after_the_end_is_told_to_stay_away(opened: Live, document: str) -> None:
    with asked(opened, document, "GET", headers={"Last-Event-ID": "complete"}) as reader:
        assert reader.response.status_code == 204
        assert reader.rest() == []
    assert opened.hub.streams == []


def test_what_passes_is_no_end_for_a_browser(opened: Live) -> None:
    opened.hub.failure = AdalogError(Code.RATE_LIMITED, "too many")
    with asked(opened) as reader:
        assert reader.rest()[-1] == {"event": "complete", "data": ""}


def test_a_hash_that_is_not_known_is_refused_as_clients_expect_it(opened: Live) -> None:
    extensions = {"persistedQuery": {"version": 1, "sha256Hash": "0" * 64}}
    refused = httpx.post(f"{opened.address}/graphql", json={"extensions": extensions}, timeout=SECONDS)
    assert refused.status_code == 200
    assert refused.json() == {
        "errors": [
            {
                "message": "PersistedQueryNotFound",
                "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND", "retryable": False},
            }
        ]
    }
    (nested,) = httpx.post(f"{opened.address}/graphql", json=[{"extensions": extensions}], timeout=SECONDS).json()
    assert nested == refused.json()
    url = {"extensions": json.dumps(extensions)}
    assert httpx.get(f"{opened.address}/graphql", params=url, timeout=SECONDS).json() == refused.json()
