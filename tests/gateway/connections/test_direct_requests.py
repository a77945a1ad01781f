"""Requests that are answered where they are read get what the app would answer, byte for byte."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from adalog.executor.cache.settings import CacheSettings
from adalog.executor.cache.tally import Tally
from adalog.gateway.app import create_app
from adalog.gateway.connections.wire import Wire
from adalog.gateway.protocols.graphql import GraphQLEndpoint
from adalog.gateway.protocols.repeated import RepeatedResponse, RepeatedResponses
from adalog.schema.documents.operations import Operations
from tests.gateway.identity.signed_tokens import settings_for, token
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway, served
from tests.permissions import issues

NAMES = "[:find ?n :where [_ :person/name ?n]]"
Q = "query ($q: EDN!, $a: [JSON!]) { q(query: $q, args: $a) { rows basisT } }"
PULL = 'query ($e: EDN!) { pull(pattern: "[:person/name {:person/child [:person/name]}]", eid: $e) }'
TX = "mutation ($tx: EDN!) { transact(tx: $tx) { basisBefore } }"
# Its answer waits for the writer, and is the same each time.
APPLIED = "mutation ($tx: EDN!) { transact(tx: $tx) { tempids } }"
ADA = {"e": '[:person/name "Ada"]'}
ONE = "query ($n: String) { person(name: $n) { name born child { ... on Person { name } } } }"
PEOPLE = """query ($n: String, $f: Int) {
  them: people(where: {and: [{name: {eq: $n}}]}, first: $f, orderBy: [{name: ASC}]) { id name born } }"""
WHERE = """query ($w: PersonWhere) { people(where: $w) { ...P } }
  fragment P on Person { name child(first: 1) { ...on Person { name } } }"""
PAGES = """query ($w: PersonWhere, $f: Int) {
  peopleConnection(where: $w, first: $f) { totalCount nodes { name } pageInfo { endCursor } } }"""
LARGE = "[:find ?n ?m ?o ?p :where [_ :person/name ?n] [_ :person/name ?m] [_ :person/name ?o] [_ :person/name ?p]]"


def body(document: str, variables: Any = None, **more: Any) -> bytes:
    return json.dumps({"query": document, "variables": variables, **more}).encode()


HASHED = {"persistedQuery": {"version": 1, "sha256Hash": hashlib.sha256(Q.encode()).hexdigest()}}
TYPED_HASH = {"persistedQuery": {"version": 1, "sha256Hash": hashlib.sha256(ONE.encode()).hexdigest()}}
NAMED = body(Q, {"q": NAMES})
BEA = body(APPLIED, {"tx": '[[:db/add 5000 :person/name "Bea"]]'})
REQUESTS: list[tuple[str, list[str], bytes]] = [
    ("POST", [], NAMED),
    ("POST", [], body(PULL, ADA)),
    ("POST", [], body(PULL, {"e": "["})),
    ("POST", [], body(PULL, {"e": 7})),
    ("POST", [], body(Q, {"q": "[:find"})),
    ("POST", [], body(Q, {"q": NAMES}, operationName="No")),
    ("POST", [], body(Q, {"q": NAMES}, extensions={"minBasisT": 1})),
    ("POST", [], body(Q, {"q": NAMES}, extensions={"minBasisT": "x"})),
    ("POST", [], body(TX, {"tx": "[["})),
    ("POST", [], body("{ q }")),
    ("POST", [], body("{ __typename }")),
    ("POST", [], b"["),
    ("POST", [], b""),
    ("POST", [], b"[" + NAMED + b"]"),
    ("POST", [], b"{}"),
    ("POST", ["Accept: application/graphql-response+json"], NAMED),
    ("POST", ["Accept: application/graphql-response+json"], body("{ q }")),
    ("POST", ["Accept: text/event-stream"], NAMED),
    ("POST", ["Accept: image/png"], NAMED),
    ("POST", ["Accept: application/vnd.apache.arrow.stream"], NAMED),
    ("POST", ["Accept-Encoding: gzip"], NAMED),
    ("POST", ["Accept-Encoding: gzip"], body(Q, {"q": LARGE})),
    ("POST", ["Accept-Encoding: identity"], body(Q, {"q": LARGE})),
    ("POST", [], body(Q, {"q": LARGE})),
    ("POST", ["Accept-Encoding: identity;q=0, gzip"], NAMED),
    ("POST", ["Accept-Encoding: identity;q=0"], NAMED),
    ("POST", ["Origin: https://elsewhere.example"], NAMED),
    ("POST", ["Origin: http://127.0.0.1"], NAMED),
    ("POST", ["Sec-Fetch-Site: cross-site"], NAMED),
    ("POST", ["Sec-Fetch-Site: same-origin"], NAMED),
    ("POST", ["Connection: close"], NAMED),
    ("POST", ["Expect: 100-continue"], NAMED),
    ("POST", ["Authorization: Bearer nothing"], NAMED),
    ("POST", ["Content-Type: text/plain"], NAMED),
    ("POST", ["Content-Type: application/json; charset=latin1"], NAMED),
    ("POST", ["Last-Event-ID: x"], NAMED),
    ("GET", [], urlencode({"query": Q, "variables": json.dumps({"q": NAMES})}).encode()),
    ("GET", ["If-None-Match: *"], urlencode({"query": Q, "variables": json.dumps({"q": NAMES})}).encode()),
    ("GET", [], urlencode({"query": TX, "variables": json.dumps({"tx": "[]"})}).encode()),
    ("GET", [], urlencode({"query": Q, "variables": "["}).encode()),
    ("POST", [], body(Q, {"q": NAMES}, extensions=HASHED)),
    ("POST", [], json.dumps({"variables": {"q": NAMES}, "extensions": HASHED}).encode()),
    ("GET", [], urlencode({"variables": json.dumps({"q": NAMES}), "extensions": json.dumps(HASHED)}).encode()),
    ("POST", [], body(PULL, ADA, extensions=HASHED)),
    *(
        ("POST", [], body(document, variables))
        for document in (ONE, PEOPLE, WHERE, PAGES)
        for variables in (
            None,
            {"n": "Ada"},
            {"n": "nobody", "f": 0},
            {"n": 7},
            {"n": None, "f": -1},
            {"f": "2"},
            {"f": 2, "w": {"name": {"startsWith": "A"}}},
            {"f": 10_000_000},
            {"w": {"no": 1}},
            {"w": {"name": {"eq": None}}, "f": 1},
        )
    ),
    ("POST", [], body("{ people { id name } }")),
    ("POST", [], body("{ people { id nothing } }")),
    ("POST", [], body('{ people { id } person(name: "Ada") { born } }')),
    ("POST", [], body("{ people(basis: {t: 1}) { id } }")),
    ("POST", [], body("{ people(basis: {t: 99}) { id } }")),
    ("POST", [], body('{ node(id: "x") { id } }')),
    ("POST", ["Accept: application/graphql-response+json"], body(ONE, {"n": 7})),
    ("POST", ["Accept: application/graphql-response+json"], body(PEOPLE, {"f": -1})),
    ("POST", ["Accept: text/event-stream"], body(ONE, {"n": "Ada"})),
    ("POST", ["Accept-Encoding: gzip"], body(PEOPLE)),
    ("POST", [], body(ONE, {"n": "Ada"}, operationName="No")),
    ("POST", [], body(ONE, {"n": "Ada"}, extensions={"minBasisT": 2})),
    ("POST", [], body(ONE, {"n": "Ada"}, extensions=TYPED_HASH)),
    ("POST", [], json.dumps({"variables": {"n": "Ada"}, "extensions": TYPED_HASH}).encode()),
    ("GET", [], urlencode({"variables": json.dumps({"n": "Ada"}), "extensions": json.dumps(TYPED_HASH)}).encode()),
    ("GET", ["If-None-Match: *"], urlencode({"query": PEOPLE, "variables": "{}"}).encode()),
    ("GET", [], urlencode({"query": PEOPLE, "variables": json.dumps({"f": 2})}).encode()),
    ("GET", [], urlencode({"query": ONE, "variables": json.dumps({"n": 7})}).encode()),
    ("PUT", [], NAMED),
    ("HEAD", [], b""),
    ("POST", [], BEA),
    ("POST", [], body(APPLIED, {"tx": '[[:db/add 5000 :person/nom "Bea"]]'})),
    ("POST", [], body(APPLIED, {"tx": "[["})),
    ("POST", ["Accept: application/graphql-response+json"], BEA),
    ("POST", ["Accept-Encoding: gzip"], BEA),
    ("POST", ["Accept-Encoding: identity;q=0, gzip"], BEA),
    ("POST", ["Connection: close"], BEA),
]


class Server:
    """A gateway behind a port, whose requests may go past the app."""

    def __init__(self, opened: Gateway, wire: Wire, address: str) -> None:
        self.opened = opened
        self.wire = wire
        self.port = int(address.rpartition(":")[2])

    def ask(self, raw: bytes, most: int = 1) -> bytes:
        """All that is answered to the bytes, of which no number of a request is left."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as connection:
            connection.sendall(raw)
            answer = b""
            while most and (more := connection.recv(1 << 16)):
                answer += more
                if complete(answer) >= most:
                    break
        return without_names(answer)


def without_names(answer: bytes) -> bytes:
    return re.sub(rb"(x-request-id: )[0-9a-f]{16}|date: .*", rb"\1?", answer)


def complete(answer: bytes) -> int:
    """How many whole responses there are."""
    count = 0
    answer = answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    while answer:
        head, end, rest = answer.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        size = 0 if length is None else int(length[1])
        if not end or len(rest) < size:
            break
        answer, count = rest[size:], count + 1
    return count


def raw(method: str, headers: list[str], sent: bytes) -> bytes:
    path = "/graphql" + ("?" + sent.decode() if method == "GET" else "")
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
    if method in ("POST", "PUT"):
        lines.append(f"Content-Length: {len(sent)}")
        if not any(each.startswith("Content-Type") for each in headers):
            lines.append("Content-Type: application/json")
    return "\r\n".join([*lines, "", ""]).encode() + (sent if method in ("POST", "PUT") else b"")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with opened_server(SCHEMA, FAMILY) as opened:
        yield opened


@contextmanager
def opened_server(*transactions: str) -> Iterator[Server]:
    with gateway(None, *transactions, cache=CacheSettings()) as opened:
        settings = replace(opened.settings, port=0)
        wire = Wire(settings)
        app = create_app(opened.database, opened.pool, settings, wire=wire)
        with app.state.hub, served(app, settings) as address:
            yield Server(opened, wire, address)
        app.state.surfaces.close()


@pytest.mark.parametrize(("method", "headers", "sent"), REQUESTS)
def test_the_same_response(server: Server, method: str, headers: list[str], sent: bytes) -> None:
    request = raw(method, headers, sent)
    if method == "HEAD":
        request = request.replace(b"Host", b"Connection: close\r\nHost")
    responses = {server.ask(request) for _ in range(3)}
    direct, server.wire.direct = server.wire.direct, None
    try:
        responses.add(server.ask(request))
    finally:
        server.wire.direct = direct
    assert len(responses) == 1


ONES = [body(ONE, {"n": "Ada"}), body(PEOPLE, {"f": 2}), body(WHERE, {"w": {"name": {"ne": "Ada"}}}), body(PAGES)]


@pytest.mark.parametrize("sent", [NAMED, BEA, *ONES])
def test_the_app_is_not_called(server: Server, sent: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    request = raw("POST", ["X-Request-Id: mine"], sent)
    for _ in range(3):
        server.ask(request)
    expected = server.ask(request)
    assert b"x-request-id: mine\r\n" in expected

    async def refuse(*_: Any) -> None:
        raise AssertionError("the app")

    monkeypatch.setattr(GraphQLEndpoint, "__call__", refuse)
    assert server.ask(request) == expected


def test_a_body_in_pieces(server: Server) -> None:
    request = raw("POST", [], NAMED)
    expected = server.ask(request)
    with socket.create_connection(("127.0.0.1", server.port), 20) as connection:
        for at in range(0, len(request), 50):
            connection.sendall(request[at : at + 50])
            threading.Event().wait(0.002)
        answer = b""
        while complete(answer) < 1:
            answer += connection.recv(1 << 16)
    assert without_names(answer) == expected


def test_requests_sent_ahead_are_answered_in_order(server: Server) -> None:
    numbers = [f"n{number}" for number in range(20)]
    requests = [raw("POST", [f"X-Request-Id: {each}"], NAMED) for each in numbers]
    # One in the middle that the app answers.
    requests[3] = raw("POST", ["X-Request-Id: n3"], body("{ __typename }"))
    server.ask(requests[3])
    answer = server.ask(b"".join(requests), most=len(requests))
    assert re.findall(rb"x-request-id: (\w+)", answer) == [each.encode() for each in numbers]


def test_figures_count(server: Server) -> None:
    answering = server.wire.direct._answering  # type: ignore[union-attr]
    before = answering.metrics.requests("q", "OK")
    server.ask(raw("POST", [], NAMED))
    assert answering.metrics.requests("q", "OK") == before + 1


def test_a_repeated_response_is_that_of_the_newest_transaction(server: Server) -> None:
    count = "[:find (count ?p) . :where [?p :person/born ?b]]"
    document = "query ($q: EDN!) { q(query: $q) { value basisT columns { type } } }"
    query = urlencode(
        {"query": "query ($q: EDN!) { q(query: $q) { value } }", "variables": json.dumps({"q": count})}
    )
    requests = [raw("POST", [], body(document, {"q": count})), raw("GET", [], query.encode())]
    tally = server.opened.pool.cache.tally
    for born in range(3):
        t = server.opened.database.transact(f"[{{:person/born {1900 + born}}}]").t
        asked = [server.ask(request) for _ in range(5) for request in requests]
        assert all(f'"value":{born + 2}'.encode() in each for each in asked)
        assert all(f'"basisT":{t}'.encode() in each for each in asked[::2])
        # Another transaction, which the cached answer does not depend on.
        t = server.opened.database.transact('[{:person/name "another"}]').t
        before = tally.all()["query", "hit"]
        asked = [server.ask(request) for _ in range(5) for request in requests]
        assert all(f'"value":{born + 2}'.encode() in each for each in asked)
        assert all(f'"basisT":{t}'.encode() in each for each in asked[::2])
        assert tally.all()["query", "hit"] == before + 10


TYPED = [
    ("query ($n: String) { person(name: $n) { name born nick } }", {"n": "Kit"}),
    ("{ people(where: {born: {gt: 1}}, orderBy: [{name: ASC}]) { name nick child { id } } }", None),
    ('{ people(where: {name: {startsWith: "K"}}) { ident name } peopleConnection { totalCount } }', None),
    ("{ peopleConnection(first: 3) { totalCount nodes { name nick } pageInfo { endCursor } } }", None),
]


@pytest.mark.parametrize(("document", "variables"), TYPED)
def test_a_repeated_typed_response_is_that_of_the_newest_transaction(document: str, variables: Any) -> None:
    declared = "[{:db/ident :person/nick :db/valueType :db.type/string :db/cardinality :db.cardinality/one}]"
    with opened_server(SCHEMA, FAMILY, declared, '[{:person/name "Kit" :person/nick "k"}]') as server:
        database, pool = server.opened.database, server.opened.pool
        post = raw("POST", [], body(document, variables))
        url = {"query": document} | ({} if variables is None else {"variables": json.dumps(variables)})
        get = raw("GET", [], urlencode(url).encode())
        # Of two fields nothing is kept.
        kept = document.count("people") < 2
        for change in (
            "[]",
            '[{:person/name "Kit" :person/born 1900}]',
            '[{:other/name "another"}]',
            '[[:db/add [:person/name "Kit"] :person/nick "new"]]',
            "[[:db/add :person/nick :db/cardinality :db.cardinality/many]]",
            '[{:person/name "Kit" :person/nick "newest"}]',
            "[[:db/add :person/child :graphql/type :person]]",
            '[[:db/add :person/nick :graphql/name "called"]]',
        ):
            database.transact(change)
            for request in (post, get):
                seen = {server.ask(request) for _ in range(5)}
                before = pool.cache.tally.all()
                asked = server.ask(request)
                if b'"errors"' not in asked:
                    now = pool.cache.tally.all()
                    assert [now[layer, "miss"] - before[layer, "miss"] for layer in ("query", "process")] == [0, 0]
                    repeated = [now[layer, "hit"] - before[layer, "hit"] for layer in ("query", "process")]
                    pool_cache, pool.cache.tally = pool.cache.tally, Tally()
                    with pytest.MonkeyPatch.context() as patched:
                        patched.setattr(RepeatedResponses, "get", lambda *_: None)
                        assert server.ask(request) == asked
                    usual = pool.cache.tally.all()
                    pool.cache.tally = pool_cache
                    assert [usual[layer, "hit"] for layer in ("query", "process")] == repeated
                with pytest.MonkeyPatch.context() as patched:
                    patched.setattr(Operations, "alone", lambda *_: None)
                    patched.setattr(RepeatedResponses, "get", lambda *_: None)
                    seen.add(server.ask(request))
                assert seen == {asked}, change
        if kept:
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(GraphQLEndpoint, "exchange", None)
                assert server.ask(post) == server.ask(post)


def test_a_kept_response_holds_no_document(server: Server) -> None:
    """It would hold many times the bytes that it is counted for."""
    kept: list[RepeatedResponse] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(RepeatedResponses, "put", lambda _, key, response, nbytes: kept.append(response))
        for _ in range(3):
            server.ask(raw("POST", [], body("query Theirs { people { name } }")))
    assert kept
    for each in kept:
        asked = each.repeatable.asked
        assert (asked.prepared.document, asked.prepared.single, asked.request.query) == (None, None, "")
        assert (asked.name, asked.fields) == ("Theirs", ["people"])


def test_a_repeated_response_that_the_client_has(server: Server) -> None:
    query = urlencode({"query": Q, "variables": json.dumps({"q": NAMES})}).encode()
    whole = [server.ask(raw("GET", [], query)) for _ in range(3)]
    found = re.search(rb'etag: (W/"\w+")', whole[-1])
    assert found is not None
    fresh = {server.ask(raw("GET", [f"If-None-Match: {found[1].decode()}"], query)) for _ in range(3)}
    assert len(fresh) == 1
    answer = fresh.pop()
    assert answer.startswith(b"HTTP/1.1 304 Not Modified\r\n")
    assert answer.endswith(b"\r\n\r\n")
    stale = server.ask(raw("GET", ['If-None-Match: W/"other"'], query))
    assert stale == whole[-1]


def test_a_token_is_needed(tmp_path: Any) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("ada:read:" + "b822f1cd2dcfc685b47e83e3980289fd5d8e3ff3a82def24d7d1d68bb272eb32\n")
    with gateway(None, SCHEMA, FAMILY) as opened:
        settings = replace(opened.settings, port=0, auth=str(tokens))
        wire = Wire(settings)
        app = create_app(opened.database, opened.pool, settings, wire=wire)
        with app.state.hub, served(app, settings) as address:
            server = Server(opened, wire, address)
            told = ["Authorization: Bearer testing123"]
            statuses = [
                server.ask(raw("POST", headers, NAMED)).split(b" ", 2)[1]
                for headers in ([], told, told, [], ["Authorization: Bearer no"], [*told, *told], told)
            ]
        app.state.surfaces.close()
    assert len(set(statuses)) == 2


@pytest.mark.parametrize(
    ("sent", "each"),
    [
        (body(Q, {"q": "[:find ?t :where [_ :issue/title ?t]]"}), b'["'),
        (body("{ issues { title } }"), b'"title"'),
        (body("{ issuesConnection(orderBy: [{title: ASC}]) { nodes { title } } }"), b'"title"'),
    ],
)
def test_what_is_repeated_is_for_those_who_may_see_it(tmp_path: Path, sent: bytes, each: bytes) -> None:
    titles = raw("POST", [], sent)
    settings = settings_for(tmp_path, port=0)
    with gateway(settings, issues.SCHEMA, issues.DATA, cache=CacheSettings()) as opened:
        wire = Wire(settings)
        app = create_app(opened.database, opened.pool, settings, wire=wire)
        with app.state.hub, served(app, settings) as address:
            server = Server(opened, wire, address)

            def seen(**claims: Any) -> list[int]:
                line = f"Authorization: Bearer {token(**claims)}\r\nHost".encode()
                return [server.ask(titles.replace(b"Host", line)).count(each) for _ in range(4)]

            ann, root = {"sub": "ann", "roles": ["member", "read"]}, {"sub": "root", "roles": ["admin"]}
            assert seen(**root) == seen(**ann) == [3] * 4
            opened.database.transact(issues.POLICIES)
            assert seen(**root) == [3] * 4
            assert seen(**ann) == [2] * 4
            assert seen(**{**ann, "sub": "bob"}) == [1] * 4
            assert seen(**root) == [3] * 4
        app.state.surfaces.close()
