"""GraphQL over HTTP: media types, status codes, GET and POST, and what is no GraphQL request."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gateway.support import Gateway

GRAPHQL_JSON = "application/graphql-response+json"
ASK = "{ database { basisT } }"


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/*", GRAPHQL_JSON),
        (GRAPHQL_JSON, GRAPHQL_JSON),
        ("application/json", "application/json"),
        (f"{GRAPHQL_JSON}; charset=utf-8, application/json; charset=utf-8", GRAPHQL_JSON),
        (f"application/json, {GRAPHQL_JSON};q=0.5", "application/json"),
        (f"application/json;q=0.4, {GRAPHQL_JSON};q=0.5", GRAPHQL_JSON),
        ("text/plain, application/json;q=0.1", "application/json"),
    ],
)
def test_the_answer_is_of_the_type_asked_for(empty: Gateway, accept: str | None, media: str) -> None:
    headers = {} if accept is None else {"Accept": accept}
    response = empty.post(ASK, headers)
    assert response.status_code == 200
    assert response.headers["content-type"] == f"{media}; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("accept", ["text/plain", "image/png, application/xml", "application/json;q=0"])
def test_no_type_in_common_is_406(empty: Gateway, accept: str) -> None:
    assert empty.post(ASK, {"Accept": accept}).status_code == 406


@pytest.mark.parametrize(
    ("document", "strict", "lenient"),
    [
        (ASK, 200, 200),
        ("{ nope }", 400, 200),
        ("{ database ", 400, 200),
        ("query A { database { basisT } } query B { database { basisT } }", 400, 200),
        ('{ q(query: "[:find") { rows } }', 200, 200),
        ("", 400, 200),
    ],
)
def test_the_status_says_whether_there_is_data(empty: Gateway, document: str, strict: int, lenient: int) -> None:
    for media, status in ((GRAPHQL_JSON, strict), ("application/json", lenient)):
        response = empty.post(document, {"Accept": media})
        assert response.status_code == status
        if status == 400:
            assert "data" not in response.json()


def test_a_wrong_variable_is_400(empty: Gateway) -> None:
    response = empty.post("query($q: EDN!) { q(query: $q) { rows } }", {"Accept": GRAPHQL_JSON}, q=5)
    assert response.status_code == 400
    assert response.json()["errors"][0]["extensions"]["code"] == "ARG_INVALID"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"3",
        b'"x"',
        b"{}",
        b'{"query": 1}',
        b'{"query": null}',
        b'{"query": "{a}", "variables": []}',
        b'{"query": "{a}", "operationName": 1}',
        b'{"query": "{a}", "extensions": 1}',
        b'{"query": "{a}", "extensions": {"minBasisT": "yes"}}',
        b'["{a}"]',
        b"\xff\xfe",
    ],
)
@pytest.mark.parametrize("media", [GRAPHQL_JSON, "application/json"])
def test_what_is_no_graphql_request_is_400(empty: Gateway, body: bytes, media: str) -> None:
    headers = {"Content-Type": "application/json", "Accept": media}
    response = empty.http.post("/graphql", content=body, headers=headers)
    assert response.status_code == 400
    (error,) = response.json()["errors"]
    assert error["extensions"]["code"] == "ARG_INVALID"
    assert error["message"]


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "application/json; charset=latin-1",
    ],
)
def test_a_post_must_be_json_so_that_no_other_site_can_send_it(empty: Gateway, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    response = empty.http.post("/graphql", content=b'{"query": "{ database { basisT } }"}', headers=headers)
    assert response.status_code == 415
    assert "application/json" in response.json()["errors"][0]["message"] or "UTF-8" in response.text


def test_get(family: Gateway) -> None:
    params: dict[str, Any] = {
        "query": "query A($q: EDN!) { q(query: $q) { rows } } query B { database { basisT } }",
        "variables": '{"q": "[:find ?n :where [_ :person/born 1815] [1 :person/name ?n]]"}',
        "operationName": "B",
    }
    response = family.http.get("/graphql", params=params)
    assert response.status_code == 200
    assert response.json() == {"data": {"database": {"basisT": 2}}}


def test_get_never_changes_anything(empty: Gateway) -> None:
    document = 'mutation { transact(tx: "[[:db/add 1 :a 1]]") { t } }'
    response = empty.http.get("/graphql", params={"query": document})
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    assert empty.database.snapshot().t == 0


@pytest.mark.parametrize(
    "query_string",
    [
        "",
        "?query=%7Ba%7D&extensions=3",
        "?variables={}",
        "?query={a}&variables=x",
        "?query=%ff",
        "?query={a}&query={b}",
    ],
)
def test_a_get_that_is_no_graphql_request_is_400(empty: Gateway, query_string: str) -> None:
    assert empty.http.get(f"/graphql{query_string}").status_code == 400


def test_a_get_from_another_site_is_refused(empty: Gateway) -> None:
    response = empty.http.get("/graphql", params={"query": ASK}, headers={"Sec-Fetch-Site": "cross-site"})
    assert response.status_code == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_405(empty: Gateway, method: str) -> None:
    response = empty.http.request(method, "/graphql")
    assert response.status_code == 405
    assert "access-control-allow-origin" not in response.headers


def test_a_document_with_several_operations(family: Gateway) -> None:
    document = 'query A { database { basisT } } mutation B { transact(tx: "[]") { t } }'
    body = {"query": document, "operationName": "A"}
    assert family.http.post("/graphql", json=body).json() == {"data": {"database": {"basisT": 2}}}
