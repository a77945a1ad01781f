"""Documents named by their hash, as Apollo Client and urql send them: over GET and POST, in arrays, with ETags."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from adalog.gateway.settings.config import Settings
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway

QUERY = "query Names($q: EDN!) { q(query: $q) { rows } }"
NAMES = {"q": "[:find ?n :where [_ :person/name ?n]]"}
WRITE = 'mutation { transact(tx: "[{:person/name \\"New\\"}]") { t } }'
NOT_FOUND = {
    "errors": [
        {
            "message": "PersistedQueryNotFound",
            "extensions": {"code": "PERSISTED_QUERY_NOT_FOUND", "retryable": False},
        }
    ]
}


def hashed(text: str, **more: Any) -> dict[str, Any]:
    return {"persistedQuery": {"version": 1, "sha256Hash": hashlib.sha256(text.encode()).hexdigest(), **more}}


def posted(opened: Gateway, text: str | None, extensions: Any = None, variables: Any = None) -> httpx.Response:
    body = {"variables": variables, "extensions": hashed(QUERY) if extensions is None else extensions}
    return opened.http.post("/graphql", json=body if text is None else {"query": text, **body})


def got(
    opened: Gateway, text: str | None, extensions: Any = None, variables: Any = None, **headers: str
) -> httpx.Response:
    params = {"extensions": json.dumps(hashed(QUERY) if extensions is None else extensions)}
    if variables is not None:
        params["variables"] = json.dumps(variables)
    if text is not None:
        params["query"] = text
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return opened.http.get("/graphql", params=params, headers=named)


@pytest.mark.parametrize("first", [posted, got])
@pytest.mark.parametrize("then", [posted, got])
def test_a_document_is_sent_once(first: Any, then: Any) -> None:
    with gateway(None, SCHEMA, FAMILY) as opened:
        for ask in (first, then):
            refused = ask(opened, None, variables=NAMES)
            assert (refused.status_code, refused.json()) == (200, NOT_FOUND)
            assert refused.headers["cache-control"] == "no-store"
        answered = first(opened, QUERY, variables=NAMES).json()
        assert len(answered["data"]["q"]["rows"]) == 4
        assert then(opened, None, variables=NAMES).json() == answered
        assert first(opened, None, variables=NAMES).json() == answered
        # Other variables, and what is wrong with them, as ever.
        assert "errors" in then(opened, None, variables={}).json()
        assert then(opened, None, variables={"q": "[:find ?b . :where [_ :person/born ?b]]"}).json()["data"]


def test_an_answer_by_its_hash_has_a_validator() -> None:
    with gateway(None, SCHEMA, FAMILY) as opened:
        answer = got(opened, QUERY, variables=NAMES)
        again = got(opened, None, variables=NAMES)
        assert again.headers["etag"] == answer.headers["etag"]
        assert again.headers["cache-control"] == "private, no-cache"
        assert {each.strip() for each in again.headers["vary"].split(",")} >= {"Accept", "Authorization"}
        same = got(opened, None, variables=NAMES, If_None_Match=again.headers["etag"])
        assert (same.status_code, same.content) == (304, b"")
        opened.database.transact('[{:person/name "New"}]')
        other = got(opened, None, variables=NAMES, If_None_Match=again.headers["etag"])
        assert (other.status_code, len(other.json()["data"]["q"]["rows"])) == (200, 5)


@pytest.mark.parametrize("ask", [posted, got])
@pytest.mark.parametrize(
    ("text", "extensions"),
    [
        (QUERY, hashed("another")),
        (QUERY, hashed(QUERY, version=2)),
        (QUERY, hashed(QUERY, sha256Hash="x")),
        (None, hashed(QUERY, sha256Hash=None)),
        (None, hashed(QUERY, sha256Hash=7)),
        (None, {"persistedQuery": "x"}),
        (None, {"persistedQuery": {"version": 1}}),
        (None, {"persistedQuery": None}),
        (None, {}),
    ],
)
def test_what_is_no_hash_is_refused(ask: Any, text: str | None, extensions: Any) -> None:
    with gateway(None, SCHEMA, FAMILY) as opened:
        answer = ask(opened, text, extensions, NAMES)
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["extensions"]["code"] == "ARG_INVALID"
        assert posted(opened, None).json() == NOT_FOUND


def test_what_is_not_valid_is_not_kept() -> None:
    with gateway(None, SCHEMA, FAMILY) as opened:
        for text in ("{ nothing }", "{", ""):
            posted(opened, text, hashed(text))
            assert posted(opened, None, hashed(text)).json() == NOT_FOUND


def test_no_mutation_over_get() -> None:
    with gateway(None, SCHEMA, FAMILY) as opened:
        before = opened.database.snapshot().t
        refused = got(opened, WRITE, hashed(WRITE))
        assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
        assert posted(opened, WRITE, hashed(WRITE)).json()["data"]["transact"]["t"] == before + 1
        assert got(opened, None, hashed(WRITE)).status_code == 405
        assert posted(opened, None, hashed(WRITE)).json()["data"]["transact"]["t"] == before + 2


def test_each_operation_of_an_array_has_its_own() -> None:
    with gateway(None, SCHEMA, FAMILY) as opened:
        one = {"variables": NAMES, "extensions": hashed(QUERY)}
        body = [one, {**one, "query": QUERY}, one]
        first, second, third = opened.http.post("/graphql", json=body).json()
        assert first == NOT_FOUND
        assert second == third
        assert len(third["data"]["q"]["rows"]) == 4


def test_the_store_is_bounded() -> None:
    settings = Settings(data=":memory:")
    limited = replace(settings.limits, document_bytes=20_000)
    with gateway(settings, SCHEMA, FAMILY) as opened:
        store = opened.app.state.answering.persisted
        store._texts.bound, store._texts.entry_bound = limited.document_bytes, limited.document_bytes
        texts = [f"query N{number} {{ __typename }}" for number in range(100)]
        for text in texts:
            assert posted(opened, text, hashed(text)).json()["data"]
        assert store._texts.nbytes <= limited.document_bytes
        assert posted(opened, None, hashed(texts[0])).json() == NOT_FOUND
        assert posted(opened, None, hashed(texts[-1])).json()["data"]


def test_a_server_that_keeps_none_says_so() -> None:
    with gateway(None, SCHEMA, FAMILY) as opened:
        opened.app.state.answering.persisted._texts.bound = 0
        (error,) = posted(opened, None).json()["errors"]
        assert error["message"] == "PersistedQueryNotSupported"
        assert error["extensions"]["code"] == "PERSISTED_QUERY_NOT_SUPPORTED"
        assert posted(opened, QUERY, variables=NAMES).json()["data"]
