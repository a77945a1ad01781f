"""Apollo Client and urql from npm over HTTP: subscriptions, errors, and hashes in place of queries."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from adalog.datalog.errors import AdalogError, Code
from tests.gateway.connections.test_websocket import QUERY, WRITE
from tests.gateway.streams import Live, live
from tests.gateway.support import FAMILY, SCHEMA, gateway, served
from tests.protocols.node import SECONDS, Node
from tests.protocols.test_clients import open_client, subscribe
from tests.waiting import until

both = pytest.mark.parametrize("kind", ["apollo", "urql"])


@pytest.fixture(scope="module")
def shared() -> Iterator[Live]:
    with live() as opened:
        yield opened


@pytest.fixture
def opened(shared: Live) -> Live:
    until(lambda: not any(shared.wire.streams.values()))
    shared.hub.streams.clear()
    shared.hub.failure = None
    return shared


@both
def test_events_and_their_end(node: Node, opened: Live, kind: str) -> None:
    open_client(node, opened, kind)
    subscribe(node, "a")
    opened.hub.expect(1)
    for number in range(3):
        opened.hub.tell(
            {"basisT": number, "kind": "DELTA", "rows": None, "added": [["--graphql", "\r\n--graphql--"]]}
        )
        data = node.expect(name="a")["value"]["data"]["live"]
        assert (data["basisT"], data["added"]) == (number, [["--graphql", "\r\n--graphql--"]])
    opened.hub.end()
    assert node.expect(name="a", event="complete")


@both
def test_queries_and_mutations(node: Node, opened: Live, kind: str) -> None:
    open_client(node, opened, kind)
    subscribe(node, "a", QUERY)
    assert node.expect(name="a", event="next")["value"]["data"]["q"]["value"] == 1815
    assert node.expect(name="a")["event"] == "complete"
    subscribe(node, "b", WRITE)
    assert node.expect(name="b")["value"]["data"]["transact"]["t"] == opened.opened.database.snapshot().t


@both
def test_a_client_that_unsubscribes_frees_the_stream(node: Node, opened: Live, kind: str) -> None:
    open_client(node, opened, kind)
    subscribe(node, "a")
    (stream,) = opened.hub.expect(1)
    opened.hub.tell({"basisT": 1, "kind": "DELTA", "rows": None, "added": []})
    node.expect(name="a", event="next")
    node.tell("unsubscribe", name="a")
    assert stream.closed.wait(SECONDS)
    until(lambda: not any(opened.wire.streams.values()))


@both
def test_errors_before_and_after_the_first_event(node: Node, opened: Live, kind: str) -> None:
    open_client(node, opened, kind)
    subscribe(node, "a", "subscription { nothing }")
    assert node.expect(name="a", event="error")["errors"][0]["extensions"]["code"] == "QUERY_INVALID"
    opened.hub.failure = AdalogError(Code.UNBOUND_VARIABLE, "?x is not bound")
    subscribe(node, "b")
    assert node.expect(name="b", event="error")["errors"][0]["extensions"]["code"] == "UNBOUND_VARIABLE"
    opened.hub.failure = None
    subscribe(node, "c")
    opened.hub.expect(1)
    opened.hub.end(AdalogError(Code.TIMEOUT, "too slow"))
    error = node.expect(name="c", event="error")
    assert error["errors"][0]["extensions"]["code"] == "TIMEOUT"
    assert error["kind"] == {"apollo": "CombinedProtocolErrors", "urql": "CombinedError"}[kind]


def test_apollo_client_ignores_heartbeats_and_hears_of_a_server_that_stops(node: Node) -> None:
    with live(ping_seconds=0.05) as opened:
        open_client(node, opened, "apollo")
        subscribe(node, "a")
        opened.hub.expect(1)
        for _ in range(3):
            node.expect(client="it", event="heartbeat")
        opened.hub.tell({"basisT": 7, "kind": "DELTA", "rows": None, "added": []})
        assert node.expect(name="a")["value"]["data"]["live"]["basisT"] == 7
    error = node.expect(name="a")
    assert (error["event"], error["value"]) == ("error", "premature end of multipart body")


@both
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_document_is_sent_once_and_then_its_hash(node: Node, opened: Live, kind: str, method: str) -> None:
    open_client(node, opened, kind, persisted=method)
    names = f"{kind}{method}"
    for name, document, requests in (
        ("a", "one", [(False, True), (True, True)]),
        ("b", "two", [(False, True), (True, True)]),
        ("c", "one", [(False, True)]),
    ):
        subscribe(node, name, f"query {names}{document} {QUERY}")
        assert node.expect(name=name, event="next")["value"]["data"]["q"]["value"] == 1815
        sent = [node.expect(client="it", event="request") for _ in requests]
        assert [(each["query"], each["hash"]) for each in sent] == requests
        assert sent[0]["method"] == method
    assert node.unexpected(client="it", event="request") == []


@both
def test_a_live_query_over_the_real_hub(node: Node, kind: str) -> None:
    with gateway(None, SCHEMA, FAMILY) as opened, served(opened.app) as address:
        node.tell("open", client="it", kind=kind, url=f"{address}/graphql")
        subscribe(node, "a")
        first = node.expect(name="a", event="next")["value"]["data"]["live"]
        assert first["kind"] == "SNAPSHOT"
        opened.database.transact('[{:person/name "Zora"}]')
        assert node.expect(name="a", event="next")["value"]["data"]["live"]["added"] == [["Zora"]]
