"""The public keys that JSON Web Tokens are verified with: of a file, or of an address where they change (JWKS).

https://www.rfc-editor.org/rfc/rfc7517. A token chooses among these keys by `kid`, and never says where others are:
its headers jku, x5u, jwk and x5c are not read.
"""

from __future__ import annotations

import asyncio
import logging
import math
import re
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, SECP384R1, SECP521R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from jwt import PyJWK
from jwt.exceptions import PyJWTError

from adalog.gateway.identity.json_texts import RepeatedNameError, loaded
from adalog.gateway.settings.setting import SettingError

_LOGGER: Final = logging.getLogger("adalog.auth")

# After how long keys are fetched anew: how soon one that the issuer withdrew is refused.
RENEW_SECONDS: Final = 300.0
# Between two requests for keys: tokens with unknown key names must not become requests to the issuer.
PAUSE_SECONDS: Final = 10.0
# Of one request for keys, during which tokens with a new key wait.
TIMEOUT_SECONDS: Final = 5.0
_MOST_BYTES: Final = 256 * 1024
_MOST_KEYS: Final = 64
_RSA_BITS: Final = range(2048, 8193)
_RSA: Final = frozenset(["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"])
_PEM: Final = re.compile(rb"-----BEGIN [A-Z ]*PUBLIC KEY-----.*?-----END [A-Z ]*PUBLIC KEY-----", re.DOTALL)
_CURVES: Final = ((SECP256R1, "ES256"), (SECP384R1, "ES384"), (SECP521R1, "ES512"))


@dataclass(frozen=True, slots=True)
class Key:
    """A key, and the algorithms whose signatures it can verify. A secret is a key without a name."""

    kid: str | None
    algorithms: frozenset[str]
    value: Any


class Keys:
    """Keys by what tokens say of them, which stay what they are. `generation` changes with the keys."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self.generation = 0
        self._keys = list(keys)

    def fitting(self, algorithm: str, kid: str | None) -> list[Key]:
        """Those that may have signed such a token: keys without a name may have signed anything, a token without a
        `kid` may be from any key."""
        return [
            key
            for key in self._keys
            if algorithm in key.algorithms and (kid is None or key.kid is None or kid == key.kid)
        ]

    async def renewed(self) -> bool:
        """Has keys renewed now, if that was not just done; whether there are others."""
        return False

    def missing(self) -> int | None:
        """Seconds after which keys may be there, if none could be had so far; None where there are some."""
        return None

    def age(self) -> None:
        """Has keys renewed that are old, in the background."""


class RemoteKeys(Keys):
    """The keys at an address. Those known are used while it is away; a thread of its own asks it."""

    def __init__(self, url: str, clock: Callable[[], float] = monotonic) -> None:
        super().__init__()
        self._url = url
        self._seconds = RENEW_SECONDS
        self._pause = PAUSE_SECONDS
        self._timeout = TIMEOUT_SECONDS
        self._clock = clock
        self._renewed_at = self._asked_at = float("-inf")
        self._asking: Future[bool] | None = None
        self._lock = threading.Lock()

    def age(self) -> None:
        if self._clock() - self._renewed_at > self._seconds:
            self._ask()

    async def renewed(self) -> bool:
        asking = self._ask()
        return asking is not None and await asyncio.wrap_future(asking)

    def missing(self) -> int | None:
        if self._keys:
            return None
        return max(1, math.ceil(self._asked_at + self._pause - self._clock()))

    def _ask(self) -> Future[bool] | None:
        """The request on the way, or a new one; None if it is too early for that."""
        with self._lock:
            if self._asking is not None:
                return self._asking
            if self._clock() - self._asked_at < self._pause:
                return None
            self._asked_at = self._clock()
            self._asking = asking = Future[bool]()
            # From here on a cancelled waiter does not cancel the request for the others.
            asking.set_running_or_notify_cancel()
        threading.Thread(target=lambda: asyncio.run(self._renew(asking)), name="adalog-keys", daemon=True).start()
        return asking

    async def _renew(self, asking: Future[bool]) -> None:
        changed = False
        try:
            keys = read_keys(await _fetched(self._url, self._timeout))
            changed = [_content(key) for key in keys] != [_content(key) for key in self._keys]
            self._keys = keys
            self.generation += changed
            self._renewed_at = self._clock()
        except Exception as error:  # noqa: BLE001 - whatever it is, the keys known are used on
            known = "those known are used" if self._keys else "no token can be verified"
            _LOGGER.warning("the keys at %s cannot be had, %s: %s", self._url, known, error)
        finally:
            with self._lock:
                self._asking = None
            asking.set_result(changed)


def _content(key: Key) -> tuple[str | None, frozenset[str], bytes]:
    return key.kid, key.algorithms, key.value.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def keys_of_file(path: str) -> Keys:
    """The keys of a file: PEM, or a JWKS. Raises SettingError."""
    try:
        content = Path(path).read_bytes()
        return Keys(read_keys(content))
    except OSError as error:
        raise SettingError(f"the file of public keys {path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SettingError(f"the file of public keys {path}: {error}") from None


def read_keys(content: bytes) -> list[Key]:
    """The keys in PEM or in a JWKS that can be used. Raises ValueError if there are none."""
    if b"PRIVATE KEY" in content:
        raise ValueError("it holds a private key; only the public one belongs here (openssl pkey -pubout)")
    keys = _of_pem(content) if b"-----BEGIN" in content else _of_jwks(content)
    if not keys:
        raise ValueError(
            "it holds no key that verifies signatures: a public one of RSA with 2048 bits, P-256, P-384, "
            "P-521, Ed25519 or Ed448"
        )
    return keys


def _of_pem(content: bytes) -> list[Key]:
    try:
        found = [load_pem_public_key(part) for part in _PEM.findall(content)[:_MOST_KEYS]]
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ValueError(f"it is no public key in PEM: {error}") from None
    return [key for key in (_key(None, each, None) for each in found) if key is not None]


def _of_jwks(content: bytes) -> list[Key]:
    try:
        document = loaded(content)
    except RepeatedNameError as error:
        raise ValueError(f"it is no JWKS: {error}") from None
    except (ValueError, RecursionError):
        raise ValueError("it is neither a key in PEM nor a JWKS") from None
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError('it is no JWKS: an object with "keys", a list')
    keys = (_of_jwk(each) for each in listed[:_MOST_KEYS] if isinstance(each, dict))
    return [key for key in keys if key is not None]


def _of_jwk(found: dict[str, Any]) -> Key | None:
    """A key of a JWKS, if it is one that verifies signatures."""
    kid, algorithm, uses = found.get("kid"), found.get("alg"), found.get("key_ops", ["verify"])
    if not isinstance(kid, str | None) or not isinstance(algorithm, str | None) or not isinstance(uses, list):
        return None
    if found.get("use", "sig") != "sig" or "verify" not in uses:
        return None
    # A secret, or a private key, among public ones is nothing that anybody should have published.
    if found.get("kty") == "oct" or "d" in found:
        return None
    public = {name: text for name, text in found.items() if name != "alg"}
    try:
        value = PyJWK(public, "EdDSA" if found.get("kty") == "OKP" else None).key
    except (PyJWTError, ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return _key(kid, value, algorithm)


def _key(kid: str | None, value: object, algorithm: str | None) -> Key | None:
    """A key with what it may verify: by its own kind, and of that only the algorithm that it names, if it does."""
    fitting: frozenset[str] = frozenset()
    if isinstance(value, RSAPublicKey) and value.key_size in _RSA_BITS:
        fitting = _RSA
    elif isinstance(value, EllipticCurvePublicKey):
        fitting = frozenset(name for curve, name in _CURVES if isinstance(value.curve, curve))
    elif isinstance(value, Ed25519PublicKey | Ed448PublicKey):
        fitting = frozenset(["EdDSA"])
    if algorithm is not None:
        fitting &= {"EdDSA" if algorithm in ("Ed25519", "Ed448") else algorithm}
    return Key(kid, fitting, value) if fitting else None


async def _fetched(url: str, seconds: float) -> bytes:
    """What is at the address, within the time and at most so many bytes; no redirection is followed."""
    import httpx

    content = bytearray()
    # A few compressed bytes may be many, so none are asked for, and none taken apart.
    headers = {"Accept": "application/jwk-set+json, application/json", "Accept-Encoding": "identity"}
    try:
        # The client's own limit is on each wait, of which an attacker may cause any number.
        async with (
            httpx.AsyncClient(timeout=None, follow_redirects=False) as client,
            asyncio.timeout(seconds),
            client.stream("GET", url, headers=headers) as response,
        ):
            if response.status_code != 200:
                raise ValueError(f"it answers {response.status_code}")
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > _MOST_BYTES:
                    raise ValueError(f"it answers with more than {_MOST_BYTES:,} bytes")
    except TimeoutError:
        raise ValueError(f"it takes longer than {seconds:g} seconds") from None
    return bytes(content)
