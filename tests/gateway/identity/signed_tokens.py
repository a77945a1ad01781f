"""Signed tokens made by hand and by the library, and keys at an address: for tests of who asks."""

from __future__ import annotations

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
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from adalog.gateway.settings.checking import checked
from adalog.gateway.settings.config import Settings
from tests.gateway.support import Gateway

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
    return checked(Settings(data=":memory:", **{**given, "jwt_audience": AUDIENCE, "jwt_issuer": ISSUER, **more}))


def ask(opened: Gateway, text: str, document: str = READ) -> httpx.Response:
    return opened.post(document, {"Authorization": f"Bearer {text}"})


def refused(opened: Gateway, text: str, says: str = "") -> None:
    response = ask(opened, text)
    assert response.status_code == 401, response.text
    error = response.json()["errors"][0]
    assert error["extensions"] == {"code": "UNAUTHENTICATED", "retryable": False}
    assert says in error["message"]
    assert response.headers["www-authenticate"] == "Bearer"


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
