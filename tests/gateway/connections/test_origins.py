"""Pages of other origins: which may ask, what their browsers are told, and settings that name none."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError, Settings
from adalog.gateway.settings.origins import Origins
from tests.gateway.support import SCHEMA, Gateway, gateway

APP = "https://app.example"
OTHER = "https://evil.example"
ASK = "{ database { basisT } }"
TRANSACT = 'mutation { transact(tx: "[{:person/name \\"Ada\\"}]") { t } }'
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type",
}


@pytest.fixture
def shared() -> Iterator[Gateway]:
    """A gateway that pages of one other origin may use."""
    settings = Settings(data=":memory:", allowed_origins=f"{APP}, http://localhost:3000")
    with gateway(settings, SCHEMA) as opened:
        yield opened


@pytest.fixture
def public() -> Iterator[Gateway]:
    with gateway(Settings(data=":memory:", allowed_origins="*"), SCHEMA) as opened:
        yield opened


def vary(response: object) -> set[str]:
    return {name.strip() for name in response.headers.get("vary", "").split(",")}  # type: ignore[attr-defined]


@pytest.mark.parametrize("origin", [APP, "http://localhost:3000"])
def test_a_preflight_of_an_allowed_origin(shared: Gateway, origin: str) -> None:
    response = shared.http.request("OPTIONS", "/graphql", headers={"Origin": origin, **PREFLIGHT})
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == origin
    assert "POST" in response.headers["access-control-allow-methods"]
    assert "authorization" in response.headers["access-control-allow-headers"].lower()
    assert "access-control-allow-credentials" not in response.headers
    assert "Origin" in vary(response)


@pytest.mark.parametrize(
    "origin", [OTHER, "null", "https://app.example:8443", "http://app.example", f"{APP}.evil.example"]
)
def test_another_origin_is_told_nothing(shared: Gateway, origin: str) -> None:
    response = shared.http.request("OPTIONS", "/graphql", headers={"Origin": origin, **PREFLIGHT})
    assert response.status_code == 400
    assert "access-control-allow-origin" not in response.headers
    answer = shared.post(ASK, {"Origin": origin})
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "Origin" in vary(answer)


def test_queries_and_transactions_of_an_allowed_origin(shared: Gateway) -> None:
    headers = {"Origin": APP, "Sec-Fetch-Site": "cross-site"}
    for answer in (
        shared.post(ASK, headers),
        shared.post(TRANSACT, headers),
        shared.http.get("/graphql", params={"query": ASK}, headers=headers),
    ):
        assert answer.status_code == 200
        assert "errors" not in answer.json()
        assert answer.headers["access-control-allow-origin"] == APP
        assert {"ETag", "Retry-After"} <= set(answer.headers["access-control-expose-headers"].split(", "))
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
        assert {"Accept", "Origin"} <= vary(answer)


def test_a_get_across_sites_of_another_origin_or_of_none(shared: Gateway, public: Gateway) -> None:
    """A page that is not asked for its origin is one that loads the answer as a script or a picture."""
    for headers in ({"Origin": OTHER}, {}):
        headers = {"Sec-Fetch-Site": "cross-site", **headers}
        assert shared.http.get("/graphql", params={"query": ASK}, headers=headers).status_code == 403
    assert public.http.get("/graphql", params={"query": ASK}, headers=headers).status_code == 403


OWN = "http://localhost"
FOREIGN = [
    {"Origin": OTHER, "Sec-Fetch-Site": "cross-site"},
    {"Origin": OTHER},
    {"Origin": "null"},
    {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://localhost:3001", "Sec-Fetch-Site": "same-site"},
    {"Origin": "http://localhost:3001"},
    {"Origin": "http://localhost.evil.example"},
    {"Origin": "chrome-extension://abcdef", "Sec-Fetch-Site": "none"},
    {"Origin": "localhost"},
    {"Origin": ""},
    {"Origin": OWN, "Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    [("Origin", OWN), ("Origin", OTHER)],
]
KNOWN = [
    {},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "same-origin"},
    {"Origin": OWN, "Sec-Fetch-Site": "same-origin"},
    {"Origin": OWN},
    {"Origin": "http://localhost:80", "Host": "localhost"},
    {"Origin": "http://localhost", "Host": "localhost:80"},
    {"Origin": "http://LOCALHOST:8080", "Host": "localhost:8080"},
    {"Origin": "http://[::1]:8080", "Host": "[::1]:8080"},
    # A proxy that speaks TLS, which says nothing of it.
    {"Origin": "https://localhost", "Host": "localhost"},
    # A proxy that has changed the Host header: the browser tells that the page is the server's own.
    {"Origin": "https://db.example.org", "Host": "localhost:8080", "Sec-Fetch-Site": "same-origin"},
    # Of Firefox, where the page's policy is no-referrer.
    {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
]


def asked(opened: Gateway, headers: object) -> list[httpx.Response]:
    """Answers to a query and a transaction with POST, a query with GET, and one for events."""
    listed = list(headers.items()) if isinstance(headers, dict) else headers
    events = [*listed, ("Accept", "text/event-stream")]
    return [
        opened.http.post("/graphql", json={"query": ASK}, headers=listed),
        opened.http.post("/graphql", json={"query": TRANSACT}, headers=listed),
        opened.http.get("/graphql", params={"query": ASK}, headers=listed),
        opened.http.post("/graphql", json={"query": ASK}, headers=events),
    ]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
def test_a_page_of_another_origin_has_nothing_run(shared: Gateway, headers: object) -> None:
    """Without its browser's preflight, too, and even if the answer could not be read."""
    before = shared.database.snapshot().t
    for answer in asked(shared, headers):
        assert answer.status_code == 403
        (error,) = answer.json()["errors"]
        assert error["extensions"]["code"] == "FORBIDDEN"
        assert "ADALOG_ALLOWED_ORIGINS" in error["message"]
        assert "access-control-allow-origin" not in answer.headers
    assert shared.database.snapshot().t == before


@pytest.mark.parametrize("headers", KNOWN, ids=str)
def test_own_pages_and_programs_may_ask(shared: Gateway, headers: object) -> None:
    for answer in asked(shared, headers):
        assert answer.status_code == 200, answer.text
        assert "errors" not in answer.text


def test_an_own_page_over_tls_is_none_without_it() -> None:
    """Whoever is between a browser and the server can make up the page of http://, but not that of https://."""
    origins = Origins.of("")
    scope = {"type": "http", "scheme": "https", "headers": [(b"host", b"db.example.org")]}
    for origin, is_own in ((b"https://db.example.org", True), (b"http://db.example.org", False)):
        headers = [*scope["headers"], (b"origin", origin)]
        assert origins.admit({**scope, "headers": headers}) is is_own


def test_every_origin(public: Gateway) -> None:
    for origin in (APP, OTHER, "null"):
        response = public.http.request("OPTIONS", "/graphql", headers={"Origin": origin, **PREFLIGHT})
        assert response.headers["access-control-allow-origin"] == "*"
        answer = public.post(ASK, {"Origin": origin, "Cookie": "a=b"})
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers


def test_without_the_setting_nothing_is_said(empty: Gateway) -> None:
    answer = empty.post(ASK, {"Origin": APP})
    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert "Origin" not in vary(answer)
    assert empty.http.request("OPTIONS", "/graphql", headers={"Origin": APP, **PREFLIGHT}).status_code == 405


def test_refusals_can_be_read_by_the_page(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"app:read:{hashlib.sha256(b'secret').hexdigest()}\n", encoding="utf-8")
    settings = Settings(data=":memory:", allowed_origins=APP, auth=str(tokens), request_bytes=2000)
    with gateway(settings) as opened:
        origin = {"Origin": APP}
        known = {**origin, "Authorization": "Bearer secret"}
        answers = {
            401: opened.post(ASK, origin),
            400: opened.http.post("/graphql", content="{", headers={**known, "Content-Type": "application/json"}),
            413: opened.post("{" + " " * 3000, known),
            415: opened.http.post("/graphql", content="{}", headers={**known, "Content-Type": "text/plain"}),
            405: opened.http.request("PUT", "/graphql", headers=known),
            403: opened.http.get("/healthz", headers={**known, "Host": "rebound.example"}),
            404: opened.http.get("/nope", headers=known),
        }
    for status, answer in answers.items():
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == APP


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("null", "sandboxed"),
        ("*, https://app.example", "beside"),
        ("https://app.example/", "without a path"),
        ("https://*.example", "no origin"),
        ("app.example", "no origin"),
        ("HTTPS://APP.example", "lower case"),
        ("https://app.example:443", "write https://app.example"),
        ("http://localhost:80", "write http://localhost"),
    ],
)
def test_settings_that_are_refused(text: str, says: str) -> None:
    with pytest.raises(SettingError) as caught:
        checked(Settings(allowed_origins=text))
    assert str(caught.value).startswith("ADALOG_ALLOWED_ORIGINS")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", " , ", "*", "http://[::1]:3000", "https://a.example,http://127.0.0.1:5173", "tauri://localhost"]
)
def test_settings_that_are_taken(text: str) -> None:
    checked(Settings(allowed_origins=text))
    assert bool(Origins.of(text)) == bool(text.strip(" ,"))
