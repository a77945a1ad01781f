"""Rows of a query as an Arrow stream before the JSON, for clients that accept one."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import httpx
import orjson
import pyarrow as pa
import pytest

from adalog.gateway.settings.config import Settings
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway

ARROW = "application/vnd.apache.arrow.stream"
NAMES = '"[:find ?n :where [_ :person/name ?n] :order-by [?n]]"'


@pytest.fixture
def family() -> Iterator[Gateway]:
    with gateway(None, SCHEMA, FAMILY) as opened:
        yield opened


def ask(family: Gateway, document: str, accept: str = ARROW) -> httpx.Response:
    return family.http.post("/graphql", json={"query": document}, headers={"Accept": accept})


def names(stream: bytes) -> list[Any]:
    with pa.ipc.open_stream(stream) as reader:
        return list(reader.read_all()["?n"].to_pylist())


def parts(response: httpx.Response) -> tuple[bytes, Any]:
    """The stream, and the JSON after it."""
    assert response.headers["content-type"] == ARROW
    length = int(response.headers["adalog-arrow-bytes"])
    return response.content[:length], orjson.loads(response.content[length:])


@pytest.mark.parametrize("accept", [ARROW, f"{ARROW}, application/json;q=0.5"])
def test_a_query_is_a_stream_and_json(family: Gateway, accept: str) -> None:
    response = ask(family, f"{{ q(query: {NAMES}) {{ arrow basisT }} }}", accept)
    stream, answer = parts(response)
    # A reader of Arrow stops where the stream does.
    assert names(response.content) == names(stream) == ["Ada", "Anne", "Byron", "Ralph"]
    assert answer == {"data": {"q": {"arrow": None, "basisT": 2}}}


def test_the_rows_of_a_page(family: Gateway) -> None:
    stream, answer = parts(ask(family, f"{{ q(query: {NAMES}, first: 1) {{ arrow pageInfo {{ hasNextPage }} }} }}"))
    assert names(stream) == ["Ada"]
    assert answer["data"]["q"]["pageInfo"] == {"hasNextPage": True}


def test_further_queries_are_base64(family: Gateway) -> None:
    stream, answer = parts(ask(family, f"{{ a: q(query: {NAMES}) {{ arrow }} b: q(query: {NAMES}) {{ arrow }} }}"))
    [apart, within] = sorted((each["arrow"] for each in answer["data"].values()), key=lambda text: text is not None)
    assert apart is None
    assert names(base64.b64decode(within)) == names(stream)


def test_what_has_no_rows_is_json(family: Gateway) -> None:
    response = ask(family, "{ database { basisT } }")
    assert response.headers["content-type"].startswith("application/graphql-response+json")
    assert response.json() == {"data": {"database": {"basisT": 2}}}
    refused = ask(family, '{ q(query: "[:find ?n") { arrow } }')
    assert refused.headers["content-type"].startswith("application/graphql-response+json")
    assert refused.json()["errors"][0]["extensions"]["code"] == "EDN_SYNTAX"


def test_others_get_base64(family: Gateway) -> None:
    answer = ask(family, f"{{ q(query: {NAMES}) {{ arrow }} }}", "application/json").json()
    assert names(base64.b64decode(answer["data"]["q"]["arrow"])) == ["Ada", "Anne", "Byron", "Ralph"]
    assert ask(family, "{ database { basisT } }", "application/pdf").status_code == 406


def test_the_limit_of_a_response_holds() -> None:
    with gateway(Settings(data=":memory:", result_bytes=600), SCHEMA, FAMILY) as opened:
        response = ask(opened, f"{{ q(query: {NAMES}) {{ arrow }} }}")
    assert response.json()["errors"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"
