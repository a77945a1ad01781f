"""JSON Web Tokens: which are taken and which are not, and what their claims let somebody do."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import jwt
import pytest
from pydantic import SecretStr

from adalog.executor.bounds.client import Identity
from adalog.gateway.identity.jwt_tokens import JsonWebTokens
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import Settings
from tests.gateway.clock import Clock
from tests.gateway.identity.signed_tokens import (
    ED,
    OTHER_RSA,
    P256,
    P384,
    READ,
    RSA,
    SECRET,
    WRITE,
    ask,
    claims,
    forged,
    jwk,
    keys_served,
    pem,
    refused,
    settings_for,
    token,
)
from tests.gateway.support import Gateway, gateway


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Gateway]:
    with gateway(settings_for(tmp_path)) as found:
        yield found


@pytest.mark.parametrize(
    ("algorithm", "key"),
    [
        *((f"{family}{bits}", RSA) for family in ("RS", "PS") for bits in (256, 384, 512)),
        ("ES256", P256),
        ("ES384", P384),
        ("EdDSA", ED),
    ],
)
def test_tokens_of_a_key_file(tmp_path: Path, algorithm: str, key: Any) -> None:
    path = tmp_path / "keys.pem"
    settings = settings_for(tmp_path, jwt_algorithms=algorithm)
    path.write_bytes(pem(OTHER_RSA) + pem(key))
    with gateway(settings) as opened:
        for _ in range(2):
            assert ask(opened, token(key, algorithm)).json() == {"data": {"database": {"basisT": 0}}}
        refused(opened, token(RSA, "RS256") if algorithm != "RS256" else token(RSA, "RS384"), "does not list")


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_tokens_of_a_secret(tmp_path: Path, algorithm: str) -> None:
    settings = checked(Settings(data=":memory:", jwt_algorithms=algorithm, jwt_secret=SecretStr(SECRET)))
    with gateway(settings) as opened:
        good = token(SECRET, algorithm, aud=None)
        assert ask(opened, good).status_code == 200
        refused(opened, token(SECRET + "!", algorithm, aud=None), "signature")
        refused(opened, token(SECRET, algorithm), "audience")
        refused(opened, token(RSA, "RS256"), "does not list")


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"exp": 1_000}, "expired"),
        ({"exp": int(time.time()) - 60}, "expired"),
        ({"exp": None}, "no claim 'exp'"),
        ({"sub": None}, "no claim 'sub'"),
        ({"aud": "another"}, "audience"),
        ({"aud": None}, "'aud'"),
        ({"iss": "https://evil.example"}, "issuer"),
        ({"iss": None}, "'iss'"),
        ({"nbf": int(time.time()) + 3600}, "not valid yet"),
        ({"iat": int(time.time()) + 3600}, "not valid yet"),
        ({"exp": "soon"}, ""),
        ({"exp": float("inf")}, ""),
        ({"exp": [1]}, "'exp' is no number"),
        ({"exp": float("nan")}, "'exp' is no number"),
        ({"exp": "4000000000"}, "'exp' is no number"),
        ({"exp": True}, "'exp' is no number"),
        ({"nbf": float("nan")}, "'nbf' is no number"),
        ({"iat": "0"}, "'iat' is no number"),
        ({"exp": -(10**400)}, "expired"),
        ({"exp": int(time.time() * 1000) + 3_600_000}, "exp is in seconds since 1970, not in milliseconds"),
        ({"exp": 10**400}, "exp is in seconds"),
        ({"iat": int(time.time() * 1000)}, "iat is in seconds"),
        ({"nbf": 10**400}, "nbf is in seconds"),
        ({"sub": 7}, ""),
        ({"sub": ""}, "`sub`"),
        ({"sub": "  "}, "`sub`"),
        ({"sub": "a\nb"}, "`sub`"),
        ({"sub": "a" * 257}, "`sub`"),
    ],
)
def test_claims_that_are_not_right(opened: Gateway, more: dict[str, Any], says: str) -> None:
    # The library makes no token whose `sub` is no text.
    text = jwt.PyJWS().encode(json.dumps(claims(**more)).encode(), RSA, "RS256")
    refused(opened, text, says)


def test_a_clock_may_be_off_a_little(opened: Gateway, clock: Clock) -> None:
    """By 30 seconds, at which a token is good from the first moment on and not at the last."""
    start = clock.now
    limited, early = token(iat=None, exp=start + 100.5), token(iat=None, nbf=start + 200.5, exp=start + 900)
    issued = token(iat=start + 200.5, exp=start + 900)
    for then, good in ((130.4, True), (130.5, False), (1e9, False), (0, True)):
        clock.now = start + then
        # Twice, as tokens that were good are remembered.
        assert [ask(opened, limited).status_code for _ in range(2)] == [200 if good else 401] * 2
    for text in (early, issued):
        for then, good in ((170.4, False), (170.5, True), (929.9, True), (930, False)):
            clock.now = start + then
            assert ask(opened, text).status_code == (200 if good else 401)
    clock.now = start
    year_9999 = 253_402_300_799
    assert ask(opened, token(iat=None, exp=year_9999)).status_code == 200


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "nOnE", "", None, 7, ["RS256"]])
def test_no_algorithm_is_no_token(opened: Gateway, algorithm: object) -> None:
    refused(opened, forged({"alg": algorithm, "typ": "JWT"}))


def test_a_public_key_is_no_secret(opened: Gateway) -> None:
    """Algorithm confusion: the public key, which everybody may have, as the secret of HS256."""
    for secret in (pem(RSA), pem(RSA).strip(), json.dumps(jwk(RSA)).encode()):
        refused(opened, forged({"alg": "HS256", "typ": "JWT"}, secret), "does not list")
    refused(opened, forged({"alg": "RS256", "typ": "JWT"}, pem(RSA)), "signature")


def test_a_header_leads_nowhere(opened: Gateway) -> None:
    """Keys that the token brings, or says where to find, and names of keys that are paths or queries."""
    with keys_served([jwk(OTHER_RSA, kid="evil")]) as server:
        headers: list[dict[str, Any]] = [
            {"jku": server.url, "kid": "evil"},
            {"x5u": server.url},
            {"jwk": jwk(OTHER_RSA)},
            {"x5c": ["MII"]},
            {"kid": "../../../../dev/null"},
            {"kid": "/etc/passwd"},
            {"kid": "' OR 1=1 --"},
            {"kid": "a" * 5_000},
        ]
        for header in headers:
            refused(opened, token(OTHER_RSA, headers=header), "signature")
        assert server.asked == 0
    refused(opened, forged({"alg": "RS256", "kid": {"a": 1}}))
    refused(opened, forged({"alg": "RS256", "crit": ["exp"], "exp": 1}))


@pytest.mark.parametrize(
    "text",
    [
        "a.b.c",
        "..",
        "a..c",
        "{}.{}.{}",
        "é.é.é",
        "A" * 20_000 + ".e30.x",
        "e30." + "A" * 20_000 + ".x",
        "e30.e30.",
        "=.=.=",
    ],
    ids=range(9),
)
def test_what_is_no_token(opened: Gateway, text: str) -> None:
    response = opened.http.post(
        "/graphql",
        json={"query": READ},
        headers={"Authorization": f"Bearer {text}".encode()},  # type: ignore[dict-item]
    )
    assert response.status_code == 401


@pytest.mark.parametrize("more", [{"team": "\ud800"}, {"a": {"\udc00": 1}}, {"roles": ["read", "x\ud800"]}])
def test_half_a_surrogate_pair_is_no_text(opened: Gateway, more: dict[str, Any]) -> None:
    refused(opened, token(**more), "can be read")


def test_deeply_nested_parts_are_refused(opened: Gateway) -> None:
    nested = base64.urlsafe_b64encode(b"[" * 11_000).rstrip(b"=").decode()
    refused(opened, f"{nested}.e30.x")
    head = base64.urlsafe_b64encode(b'{"alg":"RS256"}').rstrip(b"=").decode()
    refused(opened, f"{head}.{nested[:9000]}.x")


def written(header: str, payload: str) -> str:
    """A token of these texts, signed with the secret."""
    parts = [base64.urlsafe_b64encode(part.encode()).rstrip(b"=") for part in (header, payload)]
    signature = hmac.digest(SECRET.encode(), b".".join(parts), hashlib.sha256)
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


@pytest.mark.parametrize(
    ("header", "payload"),
    [
        ("%s", '{%s, "exp": 1, "exp": 99999999999}'),
        ("%s", '{%s, "exp": 99999999999, "sub": "root"}'),
        ("%s", '{%s, "exp": 99999999999, "s\\u0075b": "root"}'),
        ("%s", '{%s, "exp": 99999999999, "more": [{"a": {"roles": ["read"], "roles": ["admin"]}}]}'),
        ('{"alg": "none", %s}', '{%s, "exp": 99999999999}'),
        ('{"kid": "a", "kid": "a", %s}', '{%s, "exp": 99999999999}'),
    ],
)
def test_a_name_that_stands_twice_is_ambiguous(header: str, payload: str) -> None:
    """Whoever issued the token may mean the first, where the last would count here."""
    settings = checked(Settings(data=":memory:", jwt_algorithms="HS256", jwt_secret=SecretStr(SECRET)))
    claims = '"sub": "ada", "roles": ["write"]'
    with gateway(settings) as opened:
        good = written('{"alg": "HS256"}', '{%s, "exp": 99999999999}' % claims)  # noqa: UP031 - JSON has braces
        assert "errors" not in ask(opened, good).json()
        header = header % ('{"alg": "HS256"}' if header == "%s" else '"alg": "HS256"')
        refused(opened, written(header, payload % claims), "stands twice")


def test_a_signature_of_another_key_and_a_changed_token(opened: Gateway) -> None:
    refused(opened, token(OTHER_RSA), "signature")
    head, _, signature = token().split(".")
    other = base64.urlsafe_b64encode(json.dumps(claims(sub="root", roles=["admin"])).encode()).rstrip(b"=").decode()
    refused(opened, f"{head}.{other}.{signature}", "signature")
    # A curve of another size under the name of an algorithm that is taken.
    refused(opened, token(P256, "ES256"), "does not list")


def test_failures_are_counted_and_tokens_are_in_no_error(opened: Gateway) -> None:
    texts = [token(OTHER_RSA), token(exp=1_000), token(iss="https://evil.example")]
    for text in texts:
        response = ask(opened, text)
        assert text not in response.text
    metrics = opened.http.get("/metrics", headers={"Authorization": f"Bearer {token()}"}).text
    for why in ("signature", "expired", "claims"):
        assert f'adalog_authentication_failures_total{{why="{why}"}} 1.0' in metrics


# Roles


@pytest.mark.parametrize(
    ("claim", "given", "role"),
    [
        ("roles", {"roles": ["read"]}, "read"),
        ("roles", {"roles": "write"}, "write"),
        ("roles", {"roles": ["read", "other", "admin"]}, "admin"),
        ("scope", {"scope": "openid adalog:read profile"}, "read"),
        ("scope", {"scope": "adalog:read adalog:write"}, "write"),
        # RFC 6749: by spaces alone, so that these blanks are parts of names.
        ("scope", {"scope": "adalog:read  my\u00a0admin\u2003admin\tadmin"}, "read"),
        ("scope", {"scope": "\u00a0admin admin\n"}, None),
        ("realm_access.roles", {"realm_access": {"roles": ["write"]}}, "write"),
        ("https://app.example/roles", {"https://app.example/roles": ["admin"]}, "admin"),
        ("roles", {"roles": ["superuser"]}, None),
        ("roles", {"roles": {"admin": True}}, None),
        ("roles", {"roles": [["admin"], None, 7]}, None),
        ("roles.inner", {"roles": ["admin"]}, None),
        ("absent", {"roles": ["admin"]}, None),
    ],
)
def test_claims_become_roles(tmp_path: Path, claim: str, given: dict[str, Any], role: str | None) -> None:
    with gateway(settings_for(tmp_path, jwt_roles_claim=claim)) as opened:
        text = token(**{"roles": None, **given})
        expected = {None: (403, 403), "read": (200, 403), "write": (200, 200), "admin": (200, 200)}[role]
        assert (ask(opened, text).status_code, ask(opened, text, WRITE).status_code) == expected
        if role is None:
            error = ask(opened, text).json()["errors"][0]
            assert error["extensions"]["code"] == "FORBIDDEN"
            assert f"claim '{claim}' has none of those that ADALOG_JWT_ROLES lists" in error["message"]


def test_roles_by_a_mapping_of_ones_own(tmp_path: Path) -> None:
    with gateway(settings_for(tmp_path, jwt_roles="staff=write, urn:x=y=read")) as opened:
        assert ask(opened, token(roles=["staff"]), WRITE).status_code == 200
        assert ask(opened, token(roles=["urn:x=y"])).status_code == 200
        assert ask(opened, token(roles=["admin"])).status_code == 403


def test_there_is_one_authorization(opened: Gateway) -> None:
    """Of several headers a proxy may look at another one than the server."""
    good = ("Authorization", f"Bearer {token(roles=['admin'])}")
    for headers in ([good, ("Authorization", "Bearer x")], [("Authorization", "Bearer x"), good], [good, good]):
        for method, path in (("POST", "/graphql"), ("GET", "/metrics"), ("POST", "/import"), ("POST", "/backup")):
            response = opened.http.request(method, path, json={"query": READ}, headers=headers)
            assert response.status_code == 401, (path, response.text)
            assert "more than one Authorization header" in response.json()["errors"][0]["message"]
    metrics = opened.http.get("/metrics", headers=[good]).text
    assert 'adalog_authentication_failures_total{why="malformed"} 12.0' in metrics


def test_tokens_without_a_role_are_counted(opened: Gateway) -> None:
    for _ in range(2):
        assert ask(opened, token(roles=[])).status_code == 403
    metrics = opened.http.get("/metrics", headers={"Authorization": f"Bearer {token()}"}).text
    assert 'adalog_authentication_failures_total{why="role"} 2.0' in metrics


def test_a_file_of_tokens_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text(f"ann:read:{hashlib.sha256(b'red').hexdigest()}\n")
    with gateway(settings_for(tmp_path, auth=str(path))) as opened:
        assert ask(opened, "red").status_code == 200
        assert ask(opened, token()).status_code == 200
        refused(opened, "green", "not known")
        assert opened.post(READ).status_code == 401


def test_whoami_has_the_roles_and_the_expiry_of_the_token(opened: Gateway) -> None:
    until = int(time.time()) + 3600
    document = "{ whoami { principal roles expires } }"
    answer = ask(opened, token(sub="ann", roles=["read", "adalog:write", "other"], exp=until), document).json()
    found = answer["data"]["whoami"]
    assert (found["principal"], found["roles"]) == ("ann", ["read", "adalog:write", "other"])
    assert datetime.fromisoformat(found["expires"]).timestamp() == until


def test_an_identity_has_all_claims_and_is_admin_by_the_door_alone(tmp_path: Path) -> None:
    """Policies go by the values of the roles claim; who is admin, by the mapping."""
    signed = JsonWebTokens(settings_for(tmp_path, jwt_roles="dba=admin,staff=write"))

    def identity(*roles: str) -> Identity:
        text = token(roles=list(roles), org={"id": 7, "teams": ["a", "b"]})
        return asyncio.run(signed.principal(text)).identity

    assert identity("staff", "member").roles == ("staff", "member")
    assert identity("staff", "admin", "member").roles == ("staff", "member")
    assert identity("dba").roles == ("dba", "admin")
    assert identity("staff").claims["org"] == {"id": 7, "teams": ["a", "b"]}
    assert identity("staff").claims["sub"] == "ada"
