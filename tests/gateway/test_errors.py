"""Refusals: the code, the place in the EDN text, and never a stack trace."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from adalog.gateway.settings.config import Settings
from tests.gateway.support import Gateway, gateway

ASK = "query($query: EDN!, $args: [JSON!], $ms: Int) { q(query: $query, args: $args, timeoutMs: $ms) { rows } }"


@pytest.mark.parametrize(
    ("query", "code", "line", "column"),
    [
        ("[:find ?x\n :where [?x :a/b", "EDN_SYNTAX", None, None),
        ("[:find ?x\n :where [?x :a/b 1]]]", "EDN_SYNTAX", 2, 21),
        ("[:find ?y\n :where [?x :a/b 1]]", None, 1, 8),
        ("[:find ?x\n :where [?x :a/b 1]\n        [(nope ?x)]]", "QUERY_INVALID", 3, None),
        ("[:find ?x :where [?x :a/b 1] [(< ?x ?z)]]", "UNBOUND_VARIABLE", 1, None),
        ("", "EDN_SYNTAX", None, None),
        ("42", "QUERY_INVALID", 1, 1),
    ],
)
def test_a_refused_query_says_what_and_where(
    empty: Gateway, query: str, code: str | None, line: int | None, column: int | None
) -> None:
    error = empty.error(ASK, query=query)
    extensions = error["extensions"]
    assert extensions["retryable"] is False
    assert error["path"] == ["q"]
    assert error["message"]
    assert code is None or extensions["code"] == code
    assert line is None or extensions["line"] == line
    assert column is None or extensions["column"] == column


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ([], "ARG_INVALID"),
        ([1, 2], "ARG_INVALID"),
        ([{"#nope": 1}], "ARG_INVALID"),
        ([{"#basis": {"tt": 1}}], "ARG_INVALID"),
    ],
)
def test_a_wrong_argument(empty: Gateway, args: list[Any], code: str) -> None:
    assert empty.code(ASK, query="[:find ?x :in $ ?x :where [?x :a/b]]", args=args) == code


def test_null_as_an_argument(empty: Gateway) -> None:
    error = empty.error(ASK, query="[:find ?x :in $ ?x]", args=[None])
    assert error["message"].endswith(
        'at [0]: null cannot stand here, where a JSON! is wanted; nil as an argument is {"#edn": "nil"}.'
    )
    assert error["extensions"]["code"] == "ARG_INVALID"
    assert empty.data(ASK, query="[:find ?x :in $ ?x]", args=[{"#edn": "nil"}])["q"]["rows"] == [[None]]


def test_wrong_edn_in_an_argument_names_it(empty: Gateway) -> None:
    document = '{ q(query: "[:find ?x :in $ ?x]", argsEdn: ["[1"]) { rows } }'
    error = empty.error(document)
    assert error["extensions"]["code"] == "EDN_SYNTAX"
    assert "argsEdn[0]" in error["message"]


def test_what_nobody_foresaw_is_internal_and_keeps_its_secrets(
    empty: Gateway, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(request: object) -> None:
        raise ZeroDivisionError("the password is swordfish")

    monkeypatch.setattr(empty.pool, "arun", broken)
    with caplog.at_level(logging.ERROR):
        response = empty.post(ASK, query="[:find ?x :where [?x :a/b]]")
    assert response.status_code == 200
    (error,) = response.json()["errors"]
    assert error["extensions"]["code"] == "INTERNAL"
    assert "swordfish" not in response.text
    assert "Traceback" not in response.text
    incident = error["extensions"]["incident"]
    assert incident in error["message"]
    assert incident in caplog.text
    assert "swordfish" in caplog.text


def test_graphql_errors_have_codes_too(empty: Gateway) -> None:
    assert empty.code("{ nope }") == "QUERY_INVALID"
    assert empty.code("{") == "QUERY_INVALID"
    assert empty.error("{\n nope }")["extensions"]["line"] == 2
    assert empty.code("{ q(query: 5) { rows } }") == "ARG_INVALID"
    assert empty.code('{ datoms(index: EAVT, first: "x") { pageInfo { hasNextPage } } }') in (
        "ARG_INVALID",
        "QUERY_INVALID",
    )


NUMBERS = "[" + " ".join(f"[:db/add {number} :n/value {number}]" for number in range(1, 1001)) + "]"
# 10^12 rows.
CROSS = "[:find ?a ?b ?c ?d :where [?a :n/value] [?b :n/value] [?c :n/value] [?d :n/value]]"


def test_a_query_stops_at_its_deadline_and_the_next_is_unharmed() -> None:
    settings = Settings(data=":memory:", rows=10**9)
    with gateway(settings, NUMBERS) as numbers:
        error = numbers.error(ASK, query=CROSS, ms=200)
        assert error["extensions"]["code"] in ("TIMEOUT", "LIMIT_EXCEEDED")
        assert numbers.q("[:find (count ?e) . :where [?e :n/value]]") == [[1000]]


def test_a_query_stops_at_the_row_limit() -> None:
    with gateway(Settings(data=":memory:", rows=5_000), NUMBERS) as numbers:
        assert numbers.code(ASK, query=CROSS) == "LIMIT_EXCEEDED"
        assert len(numbers.q("[:find ?e :where [?e :n/value]]")) == 1000
        assert numbers.code("{ datoms(index: EAVT, first: 5001) { pageInfo { hasNextPage } } }") == "LIMIT_EXCEEDED"


def test_a_result_of_too_many_bytes() -> None:
    with gateway(Settings(data=":memory:", result_bytes=2_000), NUMBERS) as numbers:
        query = "[:find ?e ?v :where [?e :n/value ?v]]"
        for field in ("rows", "value"):
            for encoding in ("PLAIN", "TAGGED", "EDN"):
                document = f"query($query: EDN!) {{ q(query: $query, encoding: {encoding}) {{ {field} }} }}"
                error = numbers.error(document, query=query)
                assert error["extensions"]["code"] == "LIMIT_EXCEEDED"
                assert "ADALOG_RESULT_BYTES" in error["message"]


def test_a_request_of_too_many_bytes() -> None:
    with gateway(Settings(data=":memory:", request_bytes=1_000)) as small:
        response = small.post("{ database { basisT } }" + " " * 2_000)
        assert response.status_code == 413
        assert response.json()["errors"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"

        async def endless() -> Any:
            yield b'{"query": "'
            for _ in range(1_000):
                yield b"x" * 100

        headers = {"Content-Type": "application/json"}
        assert small.http.post("/graphql", content=endless(), headers=headers).status_code == 413


def test_documents_beyond_the_limits_are_413() -> None:
    with gateway(Settings(data=":memory:")) as small:
        document = " ".join(f"a{number}: database {{ basisT }}" for number in range(31))
        response = small.post(f"{{ {document} }}", {"Accept": "application/graphql-response+json"})
        assert response.status_code == 413
        assert response.json()["errors"][0]["extensions"]["code"] == "LIMIT_EXCEEDED"


def test_a_timeout_must_be_positive(empty: Gateway) -> None:
    assert empty.code(ASK, query="[:find ?x :where [?x :a/b]]", ms=0) == "ARG_INVALID"
