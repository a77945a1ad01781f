"""Keys of JSON Web Tokens: settings that do not go together, files, sets, and an address at which they change."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ed448, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from jwt.algorithms import OKPAlgorithm
from pydantic import SecretStr

from adalog.gateway.identity.jwt_keys import RemoteKeys, read_keys
from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import SettingError, Settings
from tests.gateway.bounds import bounded
from tests.gateway.identity.signed_tokens import (
    AUDIENCE,
    ED,
    ISSUER,
    OTHER_RSA,
    P256,
    READ,
    RSA,
    SECRET,
    KeyServer,
    ask,
    jwk,
    keys_served,
    pem,
    refused,
    settings_for,
    token,
)
from tests.gateway.support import gateway, served

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
        checked(Settings(host="0.0.0.0"))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "neither a key in PEM nor a JWKS"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----", "no public key in PEM"),
        (RSA.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), "holds a private key"),
        (pem(rsa.generate_private_key(65537, 1024)), "no key that verifies"),
        (b'{"keys": [{"kty": "oct", "k": "AAAA"}]}', "no key that verifies"),
        (b"[]", "no JWKS"),
        (b'{"keys": [], "keys": []}', '"keys" stands twice'),
        (b'{"keys": [{"kty": "RSA", "kid": "a", "kid": "b"}]}', '"kid" stands twice'),
        (b"[" * 200_000, "neither a key in PEM nor a JWKS"),
        (pem(P256), "of other kinds than ADALOG_JWT_ALGORITHMS lists"),
    ],
)
def test_files_that_hold_no_public_key(tmp_path: Path, content: bytes, says: str) -> None:
    settings = settings_for(tmp_path)
    Path(str(settings.jwt_key)).write_bytes(content)
    with pytest.raises(SettingError, match=says), gateway(settings):
        pass


def test_a_short_secret_is_refused(tmp_path: Path) -> None:
    settings = checked(Settings(jwt_algorithms="HS512", jwt_secret=SecretStr(SECRET[:40])))
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


@pytest.fixture
def server() -> Iterator[KeyServer]:
    with keys_served([jwk(RSA, kid="a")]) as found:
        yield found


def by_address(patch: pytest.MonkeyPatch, server: KeyServer, **more: Any) -> Settings:
    given = {"jwt_algorithms": "RS256", "jwt_keys_url": server.url, "jwt_audience": AUDIENCE, "jwt_issuer": ISSUER}
    return checked(bounded(patch, **{**given, "jwt_keys_pause_seconds": 0.001, **more}))


def test_keys_are_asked_for_once_and_anew_when_one_is_unknown(
    server: KeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gateway(by_address(monkeypatch, server)) as opened:
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


def test_unknown_keys_do_not_have_the_address_asked_all_the_time(
    server: KeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gateway(by_address(monkeypatch, server, jwt_keys_pause_seconds=3600.0)) as opened:
        assert ask(opened, token(headers={"kid": "a"})).status_code == 200
        for number in range(20):
            refused(opened, token(headers={"kid": f"made up {number}"}), "not known here")
        # A signature that is not its key's asks for nothing either.
        refused(opened, token(OTHER_RSA, headers={"kid": "a"}), "signature")
        assert server.asked == 1


def test_keys_without_names_are_tried_and_renewed(server: KeyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.keys = [jwk(OTHER_RSA), jwk(RSA)]
    with gateway(by_address(monkeypatch, server)) as opened:
        assert ask(opened, token()).status_code == 200
        server.keys = [jwk(OTHER_RSA)]
        assert ask(opened, token(OTHER_RSA, headers={"kid": "any"})).status_code == 200
        assert server.asked == 1
        other = rsa.generate_private_key(65537, 2048)
        server.keys = [jwk(other)]
        assert ask(opened, token(other)).status_code == 200
        refused(opened, token(), "signature")


@pytest.mark.parametrize("behaviour", ["away", "elsewhere", "nonsense", "endless", "packed", "slow", "trickling"])
def test_known_keys_are_used_while_the_address_is_away(
    server: KeyServer, behaviour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = by_address(monkeypatch, server, jwt_keys_seconds=0.001, jwt_keys_timeout_seconds=0.2)
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


def test_others_are_served_while_keys_are_on_the_way(server: KeyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop does not wait, and one request fetches the keys for all."""
    settings = by_address(monkeypatch, server, jwt_keys_timeout_seconds=20.0)
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


def test_who_waits_as_long_as_told_finds_keys(server: KeyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("adalog.gateway.identity.jwt_keys.PAUSE_SECONDS", 7.5)
    keys = RemoteKeys(server.url, clock=lambda: now[0])
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
