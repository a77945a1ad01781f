"""JSON Web Tokens: which are taken, which are not, keys that change at their address, and streams that expire."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from pydantic import SecretStr
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from gateway import principal
from gateway.config import SettingError, Settings
from gateway.jwt_keys import RemoteKeys, read_keys
from tests.gateway.support import FAMILY, SCHEMA, Gateway, gateway, served

READ = "{ database { basisT } }"
WRITE = 'mutation { transact(tx: "[[:db/add 1 :a/b 1]]") { t } }'
LIVE = 'subscription { live(query: "[:find ?n :where [_ :person/name ?n]]") { kind } }'
SECRET = "a secret of sixty-four characters, which is long enough for all ."
AUDIENCE, ISSUER = "adalog", "https://issuer.example"

RSA = rsa.generate_private_key(65537, 2048)
OTHER_RSA = rsa.generate_private_key(65537, 2048)
P256, P384 = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP384R1())
ED = ed25519.Ed25519PrivateKey.generate()


def pem(key: Any) -> bytes:
    found: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return found


def jwk(key: Any, **more: Any) -> dict[str, Any]:
    algorithm = {"RSA": RSAAlgorithm, "Ell": ECAlgorithm, "_El": ECAlgorithm, "ECP": ECAlgorithm}.get(
        type(key).__name__.lstrip("_")[:3], OKPAlgorithm
    )
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), "use": "sig", **more}


def claims(**more: Any) -> dict[str, Any]:
    now = int(time.time())
    given = {"sub": "ada", "iat": now, "exp": now + 600, "aud": AUDIENCE, "iss": ISSUER, "roles": ["write"], **more}
    return {name: value for name, value in given.items() if value is not None}


def token(key: Any = RSA, algorithm: str = "RS256", headers: dict[str, Any] | None = None, **more: Any) -> str:
    return jwt.encode(claims(**more), key, algorithm, headers=headers)


def forged(header: dict[str, Any], sign: bytes | None = None, **more: Any) -> str:
    """A token made by hand: libraries refuse to make such ones. `sign`: a secret to sign it with HMAC."""

    def encoded(value: Any) -> bytes:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")

    text = encoded(header) + b"." + encoded(claims(**more))
    signature = b"" if sign is None else hmac.digest(sign, text, hashlib.sha256)
    return (text + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


def settings_for(tmp_path: Path, **more: Any) -> Settings:
    path = tmp_path / "keys.pem"
    path.write_bytes(pem(RSA))
    given = {"jwt_algorithms": "RS256,PS256", "jwt_key": str(path)}
    return Settings(data=":memory:", **{**given, "jwt_audience": AUDIENCE, "jwt_issuer": ISSUER, **more}).checked()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Gateway]:
    with gateway(settings_for(tmp_path)) as found:
        yield found


def ask(opened: Gateway, text: str, document: str = READ) -> httpx.Response:
    return opened.post(document, {"Authorization": f"Bearer {text}"})


def refused(opened: Gateway, text: str, says: str = "") -> None:
    response = ask(opened, text)
    assert response.status_code == 401, response.text
    error = response.json()["errors"][0]
    assert error["extensions"] == {"code": "UNAUTHENTICATED", "retryable": False}
    assert says in error["message"]
    assert response.headers["www-authenticate"] == "Bearer"


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
    settings = Settings(data=":memory:", jwt_algorithms=algorithm, jwt_secret=SecretStr(SECRET)).checked()
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
        ({"nbf": 10**400}, "not valid yet"),
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


class Clock:
    """The clock that tokens expire by. `now`: seconds since 1970."""

    def __init__(self) -> None:
        self.now = float(int(time.time()))

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that stands still, and is looked at all the time. Tokens, made by another one, need no `iat`."""
    found = Clock()
    monkeypatch.setattr(principal, "time", found)
    monkeypatch.setattr(principal, "_LONGEST_WAIT", 0.005)
    return found


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
    for forever in (10**40, 10**400, 1e300):
        assert ask(opened, token(iat=None, exp=forever)).status_code == 200


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


def test_deeply_nested_parts_are_refused(opened: Gateway) -> None:
    nested = base64.urlsafe_b64encode(b"[" * 11_000).rstrip(b"=").decode()
    refused(opened, f"{nested}.e30.x")
    head = base64.urlsafe_b64encode(b'{"alg":"RS256"}').rstrip(b"=").decode()
    refused(opened, f"{head}.{nested[:9000]}.x")


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


# Settings


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"jwt_algorithms": ""}, "JWT_KEY is set, and ADALOG_JWT_ALGORITHMS lists no algorithm"),
        ({"jwt_algorithms": "none"}, "'none' is no algorithm of tokens here"),
        ({"jwt_algorithms": "HS256"}, "go with ADALOG_JWT_SECRET"),
        ({"jwt_algorithms": "RS256,HS256"}, "go with ADALOG_JWT_SECRET"),
        ({"jwt_key": None}, "set are none"),
        ({"jwt_secret": SecretStr(SECRET)}, "wants one of"),
        ({"jwt_audience": ""}, "needs ADALOG_JWT_AUDIENCE and ADALOG_JWT_ISSUER"),
        ({"jwt_issuer": None}, "needs ADALOG_JWT_AUDIENCE and ADALOG_JWT_ISSUER"),
        ({"jwt_key": None, "jwt_keys_url": "http://issuer.example/jwks"}, "begins with https://"),
        ({"jwt_key": None, "jwt_keys_url": "file:///etc/passwd"}, "begins with https://"),
        ({"jwt_key": None, "jwt_keys_url": "https://u:hunter2@issuer.example/"}, "names a user or a password"),
        ({"jwt_roles": "staff=owner"}, "the role 'owner' of 'staff' is not read, write or admin"),
        ({"jwt_roles": "staff"}, "'staff' is not `claim=role`"),
        ({"jwt_clock_skew_seconds": -1}, "it must not be negative"),
    ],
)
def test_settings_that_do_not_go_together(tmp_path: Path, more: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingError) as caught:
        settings_for(tmp_path, **more)
    assert says in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_tokens_let_a_server_listen_beyond_loopback(tmp_path: Path) -> None:
    assert settings_for(tmp_path, host="0.0.0.0").host == "0.0.0.0"
    with pytest.raises(SettingError, match="JWT_ALGORITHMS"):
        Settings(host="0.0.0.0").checked()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "neither a key in PEM nor a JWKS"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "no public key in PEM"),
        (RSA.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), "holds a private key"),
        (pem(rsa.generate_private_key(65537, 1024)), "no key that verifies"),
        (b'{"keys": [{"kty": "oct", "k": "AAAA"}]}', "no key that verifies"),
        (b"[]", "no JWKS"),
        (pem(P256), "of other kinds than ADALOG_JWT_ALGORITHMS lists"),
    ],
)
def test_files_that_hold_no_public_key(tmp_path: Path, content: bytes, says: str) -> None:
    settings = settings_for(tmp_path)
    Path(str(settings.jwt_key)).write_bytes(content)
    with pytest.raises(SettingError, match=says), gateway(settings):
        pass


def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    settings = Settings(jwt_algorithms="HS512", jwt_secret=SecretStr(SECRET[:40])).checked()
    with pytest.raises(SettingError, match="64 bytes that HS512 wants"), gateway(settings):
        pass


def test_keys_of_a_set_verify_what_they_are_for() -> None:
    content = {
        "keys": [
            jwk(RSA, kid="a", alg="RS256"),
            jwk(OTHER_RSA, kid="b", use="enc"),
            jwk(P256, kid="c"),
            {"kty": "oct", "k": "AAAA", "kid": "d"},
            {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "e"},
            "nonsense",
            jwk(ED, kid="f", alg="RS256"),
            jwk(OTHER_RSA, kid="g", key_ops=["encrypt"]),
            jwk(OTHER_RSA, kid="h", key_ops="verify"),
            # What has no name that could be one is no key that goes with any name.
            jwk(OTHER_RSA, kid=7),
            {**OKPAlgorithm.to_jwk(ED, as_dict=True), "kid": "a private one"},
            {**jwk(RSA, kid="i"), "kty": "EC"},
            jwk(ED, kid="j", alg="EdDSA", key_ops=["verify"]),
            jwk(ed448.Ed448PrivateKey.generate(), kid="k"),
        ]
    }
    found = {key.kid: key.algorithms for key in read_keys(json.dumps(content).encode())}
    assert found == {"a": {"RS256"}, "c": {"ES256"}, "j": {"EdDSA"}, "k": {"EdDSA"}}


# Keys at an address


class KeyServer(ThreadingHTTPServer):
    """`behaviour`: good, away (500), slow, trickling (a header without end), endless, packed (few bytes that
    become many), elsewhere, or nonsense."""

    daemon_threads = True

    def __init__(self, keys: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), _KeyHandler)
        self.keys = keys
        self.asked = 0
        self.behaviour = "good"
        self.release = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_port}/keys"


class _KeyHandler(BaseHTTPRequestHandler):
    server: KeyServer

    def do_GET(self) -> None:
        server = self.server
        server.asked += 1
        body = json.dumps({"keys": server.keys}).encode()
        match server.behaviour:
            case "away":
                self.send_error(500)
                return
            case "elsewhere":
                self.send_response(302)
                self.send_header("Location", server.url)
                self.end_headers()
                return
            case "slow":
                server.release.wait(20)
            case "trickling":
                with suppress(OSError):
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
                    while not server.release.wait(0.01):
                        self.wfile.write(b"x")
                return
            case "packed":
                body = gzip.compress(body)
            case "nonsense":
                body = b"<html>"
            case "endless":
                body = b" " * 300_000 + body
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        if server.behaviour == "packed":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def keys_served(keys: list[dict[str, Any]]) -> Iterator[KeyServer]:
    server = KeyServer(keys)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    with closing(server.socket):
        try:
            yield server
        finally:
            server.release.set()
            server.shutdown()
            thread.join()


@pytest.fixture
def server() -> Iterator[KeyServer]:
    with keys_served([jwk(RSA, kid="a")]) as found:
        yield found


def by_address(server: KeyServer, **more: Any) -> Settings:
    given = {"jwt_algorithms": "RS256", "jwt_keys_url": server.url, "jwt_audience": AUDIENCE, "jwt_issuer": ISSUER}
    return Settings(data=":memory:", **{**given, "jwt_keys_pause_seconds": 0.001, **more}).checked()


def test_keys_are_asked_for_once_and_anew_when_one_is_unknown(server: KeyServer) -> None:
    with gateway(by_address(server)) as opened:
        assert server.asked == 0
        for _ in range(3):
            assert ask(opened, token(headers={"kid": "a"})).status_code == 200
        assert ask(opened, token(headers={"kid": "a"}, sub="bob")).status_code == 200
        assert server.asked == 1
        # Rotation: a new key beside the old one, then without it.
        server.keys = [jwk(RSA, kid="a"), jwk(OTHER_RSA, kid="b")]
        old = token(headers={"kid": "a"})
        assert ask(opened, token(OTHER_RSA, headers={"kid": "b"})).status_code == 200
        assert ask(opened, old).status_code == 200
        assert server.asked == 2
        server.keys = [jwk(OTHER_RSA, kid="b")]
        refused(opened, token(headers={"kid": "c"}), "not known here")
        refused(opened, old, "not known here")


def test_unknown_keys_do_not_have_the_address_asked_all_the_time(server: KeyServer) -> None:
    with gateway(by_address(server, jwt_keys_pause_seconds=3600.0)) as opened:
        assert ask(opened, token(headers={"kid": "a"})).status_code == 200
        for number in range(20):
            refused(opened, token(headers={"kid": f"made up {number}"}), "not known here")
        # A signature that is not its key's asks for nothing either.
        refused(opened, token(OTHER_RSA, headers={"kid": "a"}), "signature")
        assert server.asked == 1


def test_keys_without_names_are_tried_and_renewed(server: KeyServer) -> None:
    server.keys = [jwk(OTHER_RSA), jwk(RSA)]
    with gateway(by_address(server)) as opened:
        assert ask(opened, token()).status_code == 200
        server.keys = [jwk(OTHER_RSA)]
        assert ask(opened, token(OTHER_RSA, headers={"kid": "any"})).status_code == 200
        assert server.asked == 1
        other = rsa.generate_private_key(65537, 2048)
        server.keys = [jwk(other)]
        assert ask(opened, token(other)).status_code == 200
        refused(opened, token(), "signature")


@pytest.mark.parametrize("behaviour", ["away", "elsewhere", "nonsense", "endless", "packed", "slow", "trickling"])
def test_known_keys_are_used_while_the_address_is_away(server: KeyServer, behaviour: str) -> None:
    settings = by_address(server, jwt_keys_seconds=0.001, jwt_keys_timeout_seconds=0.2)
    with gateway(settings) as opened:
        server.behaviour = behaviour
        # Nobody is taken for granted before there are keys.
        response = ask(opened, token(headers={"kid": "a"}))
        assert response.status_code == 503
        assert response.json()["errors"][0]["extensions"]["code"] == "BACKEND_UNAVAILABLE"
        server.behaviour = "good"
        server.release.set()
        while ask(opened, token(headers={"kid": "a"})).status_code != 200:
            pass
        server.behaviour = behaviour
        server.release.clear()
        for name in ("ada", "bob", "eve"):
            assert ask(opened, token(headers={"kid": "a"}, sub=name)).status_code == 200
        refused(opened, token(OTHER_RSA, headers={"kid": "b"}), "not known here")


def test_others_are_served_while_keys_are_on_the_way(server: KeyServer) -> None:
    """The event loop does not wait, and one request fetches the keys for all."""
    settings = by_address(server, jwt_keys_timeout_seconds=20.0)
    with gateway(settings) as opened, served(opened.app, settings) as address:
        server.behaviour = "slow"
        answers: list[int] = []

        def read(name: str) -> None:
            headers = {"Authorization": f"Bearer {token(headers={'kid': 'a'}, sub=name)}"}
            answers.append(httpx.post(f"{address}/graphql", json={"query": READ}, headers=headers).status_code)

        threads = [threading.Thread(target=read, args=(f"n{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        while not server.asked:
            time.sleep(0.001)
        for _ in range(3):
            assert httpx.get(f"{address}/healthz").status_code == 200
        assert not answers
        server.release.set()
        for thread in threads:
            thread.join(20)
        assert (answers, server.asked) == ([200] * 4, 1)


# Streams


def test_who_waits_as_long_as_told_finds_keys(server: KeyServer) -> None:
    now = [1000.0]
    keys = RemoteKeys(server.url, 300, 7.5, 20, clock=lambda: now[0])
    server.behaviour = "away"
    assert not asyncio.run(keys.renewed())
    server.behaviour = "good"
    for later, told in ((0, 8), (2.0, 6), (7.2, 1)):
        now[0] = 1000.0 + later
        assert not asyncio.run(keys.renewed())
        assert keys.missing() == told
    now[0] = 1000.0 + 8
    assert asyncio.run(keys.renewed())
    assert keys.missing() is None


@pytest.fixture
def short_lived(tmp_path: Path, clock: Clock) -> Iterator[str]:
    settings = settings_for(tmp_path, jwt_clock_skew_seconds=0.0, port=0)
    with gateway(settings, SCHEMA, FAMILY) as opened, served(opened.app, settings) as address:
        yield address


def test_a_stream_of_events_ends_when_its_token_expires(short_lived: str, clock: Clock) -> None:
    text = token(iat=None)
    headers = {"Authorization": f"Bearer {text}", "Accept": "text/event-stream"}
    with httpx.stream(
        "POST", f"{short_lived}/graphql", json={"query": LIVE}, headers=headers, timeout=20
    ) as response:
        lines = []
        for line in response.iter_lines():
            if line.startswith(("event", "data: {")):
                lines.append(line)
            if '"SNAPSHOT"' in line:
                clock.now += 700
    assert '"SNAPSHOT"' in lines[1]
    assert lines[-1] == "event: complete"
    last = json.loads(lines[-2].removeprefix("data: "))
    assert last["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    assert "expired" in last["errors"][0]["message"]
    response = httpx.post(f"{short_lived}/graphql", json={"query": LIVE}, headers=headers)
    assert response.status_code == 401


@pytest.mark.parametrize("place", ["header", "payload"])
def test_a_websocket_is_closed_when_its_token_expires(short_lived: str, clock: Clock, place: str) -> None:
    given = {"Authorization": f"Bearer {token(iat=None)}"}
    url = short_lived.replace("http", "ws", 1) + "/graphql"
    headers = given if place == "header" else None
    with connect(url, subprotocols=["graphql-transport-ws"], additional_headers=headers) as socket:  # type: ignore[list-item]
        socket.send(json.dumps({"type": "connection_init", "payload": None if headers else given}))
        assert json.loads(socket.recv(20))["type"] == "connection_ack"
        socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": LIVE}}))
        assert "SNAPSHOT" in str(socket.recv(20))
        clock.now += 700
        with pytest.raises(ConnectionClosedError, match=r"4401 .* token has expired"):
            list(socket)


def test_an_expired_token_opens_no_websocket(short_lived: str) -> None:
    url = short_lived.replace("http", "ws", 1) + "/graphql"
    text = token(exp=1_000)
    with connect(url, subprotocols=["graphql-transport-ws"]) as socket:  # type: ignore[list-item]
        socket.send(json.dumps({"type": "connection_init", "payload": {"authorization": f"Bearer {text}"}}))
        with pytest.raises(ConnectionClosedError, match=r"4403 .* token has expired"):
            socket.recv(20)
    answer = httpx.get(
        f"{short_lived}/graphql",
        headers={
            "Authorization": f"Bearer {text}",
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        },
    )
    assert answer.status_code == 401
