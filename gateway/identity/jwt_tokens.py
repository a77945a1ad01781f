"""The principal that a JSON Web Token names, if it is valid: its signature, its time, its audience and issuer.

https://www.rfc-editor.org/rfc/rfc7519, and what https://www.rfc-editor.org/rfc/rfc8725 has a server see to: a list
says which algorithms there are, each key has those of its own kind, and nothing in the header leads elsewhere.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

import jwt
from jwt.types import Options
from jwt.utils import base64url_decode

from adalog.datalog.errors import AdalogError, Code, quoted
from adalog.gateway.identity.json_texts import RepeatedNameError, loaded
from adalog.gateway.identity.jwt_keys import Key, Keys, RemoteKeys, keys_of_file
from adalog.gateway.identity.principal import Principal, RefusedTokenError, now
from adalog.gateway.settings.config import Settings
from adalog.gateway.settings.setting import PREFIX, SettingError
from adalog.gateway.settings.value_types import ROLES, jwt_algorithms, jwt_roles

MOST_BYTES: Final = 16 * 1024
_MOST_NAME: Final = 256
_MOST_REMEMBERED: Final = 1024
# The time of a token is ours to check: by one clock, which says when its streams end, too.
_CHECKED: Final[Options] = {
    "require": ["exp", "sub"],
    "enforce_minimum_key_length": True,
    "verify_exp": False,
    "verify_nbf": False,
    "verify_iat": False,
}
# By how much the clocks of two well-kept machines may differ.
CLOCK_SKEW_SECONDS: Final = 30.0
# The end of the year 9999. Milliseconds, as JavaScript's Date.now() gives, are beyond it.
_LAST_SECOND: Final = 253_402_300_799
_SECRET_BYTES: Final = {"HS256": 32, "HS384": 48, "HS512": 64}


class JsonWebTokens:
    """Verifies tokens. Those verified lately are remembered by their hash, as signatures take a while to check."""

    def __init__(self, settings: Settings) -> None:
        self.algorithms = jwt_algorithms(settings.jwt_algorithms)
        self._keys = _keys(settings, self.algorithms)
        self._audience = [part.strip() for part in settings.jwt_audience.split(",") if part.strip()] or None
        self._issuer = settings.jwt_issuer
        self._skew = CLOCK_SKEW_SECONDS
        self._claim = settings.jwt_roles_claim
        self._roles = jwt_roles(settings.jwt_roles)
        self._remembered: OrderedDict[bytes, Principal] = OrderedDict()
        self._generation = self._keys.generation

    async def principal(self, token: str) -> Principal:
        """The principal that the token names. Raises UNAUTHENTICATED, FORBIDDEN, or BACKEND_UNAVAILABLE without
        keys."""
        if len(token) > MOST_BYTES:
            raise RefusedTokenError("malformed", f"the token is longer than {MOST_BYTES:,} bytes")
        self._keys.age()
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        known = self._known(digest)
        if known is not None:
            return known
        header = _header(token)
        _check_unique(token)
        algorithm, kid = header.get("alg"), header.get("kid")
        if algorithm not in self.algorithms:
            raise RefusedTokenError(
                "algorithm",
                f"the token's algorithm is {quoted(algorithm)}, which {PREFIX}JWT_ALGORITHMS does not list",
            )
        principal = self._from(await self._verified(token, algorithm, kid if isinstance(kid, str) else None))
        self._remember(digest, principal)
        return principal

    def remembered(self, token: str) -> Principal | None:
        """The principal of a token that was verified lately and is still good."""
        if len(token) > MOST_BYTES:
            return None
        self._keys.age()
        return self._known(hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest())

    async def _verified(self, token: str, algorithm: str, kid: str | None) -> dict[str, Any]:
        """The claims. Where no key is known that signed them, keys are asked for, if that was not just done."""
        keys = self._keys.fitting(algorithm, kid)
        claims = self._claims(token, algorithm, keys)
        # A key that has the token's name is the one that it means.
        if claims is None and (kid is None or not any(key.kid == kid for key in keys)):
            await self._keys.renewed()
            keys = self._keys.fitting(algorithm, kid)
            claims = self._claims(token, algorithm, keys)
        if claims is not None:
            return claims
        self._check_reachable()
        if not keys:
            raise RefusedTokenError("key", "the token is signed with a key that is not known here")
        raise RefusedTokenError("signature", "the token's signature is not that of a key that is known here")

    def _known(self, digest: bytes) -> Principal | None:
        if self._generation != self._keys.generation:
            # A key that is gone verifies nothing any more.
            self._generation = self._keys.generation
            self._remembered.clear()
        known = self._remembered.get(digest)
        if known is None or known.has_expired:
            self._remembered.pop(digest, None)
            return None
        self._remembered.move_to_end(digest)
        return known

    def _remember(self, digest: bytes, principal: Principal) -> None:
        self._remembered[digest] = principal
        if len(self._remembered) > _MOST_REMEMBERED:
            self._remembered.popitem(last=False)

    def _check_reachable(self) -> None:
        seconds = self._keys.missing()
        if seconds is not None:
            raise AdalogError(
                Code.BACKEND_UNAVAILABLE,
                "the keys that tokens are verified with cannot be had at the moment; the server's log says why",
                retry_after=seconds,
            )

    def _claims(self, token: str, algorithm: str, keys: list[Key]) -> dict[str, Any] | None:
        """The claims, if one of the keys verifies the signature."""
        for key in keys:
            try:
                claims: dict[str, Any] = jwt.decode(
                    token,
                    key.value,
                    algorithms=[algorithm],
                    audience=self._audience,
                    issuer=self._issuer,
                    options=_CHECKED,
                )
            except jwt.InvalidSignatureError:
                continue
            except jwt.InvalidAudienceError:
                raise RefusedTokenError("claims", "the token is for another audience") from None
            except jwt.InvalidIssuerError:
                raise RefusedTokenError("claims", "the token is from another issuer") from None
            except jwt.MissingRequiredClaimError as missing:
                raise RefusedTokenError("claims", f"the token has no claim {missing.claim!r}") from None
            except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
                raise RefusedTokenError("malformed", "the token is no JSON Web Token that can be read") from None
            self._check_time(claims)
            return claims
        return None

    def _check_time(self, claims: Mapping[str, Any]) -> None:
        """Raises UNAUTHENTICATED for a token that is not good yet, or any more."""
        times = {name: claims[name] for name in ("exp", "nbf", "iat") if name in claims}
        for name, value in times.items():
            if type(value) not in (int, float) or (isinstance(value, float) and not isfinite(value)):
                raise RefusedTokenError("claims", f"the token's {name!r} is no number of seconds since 1970")
            if value > _LAST_SECOND:
                raise RefusedTokenError(
                    "claims",
                    f"the token's {name!r} is beyond the year 9999; {name} is in seconds since 1970, not in "
                    "milliseconds (in JavaScript: Math.floor(Date.now() / 1000))",
                )
        if now() - self._skew >= times.pop("exp"):
            raise RefusedTokenError("expired", "the token has expired; get a new one")
        if any(value > now() + self._skew for value in times.values()):
            raise RefusedTokenError("claims", "the token is not valid yet")

    def _from(self, claims: Mapping[str, Any]) -> Principal:
        name = claims["sub"]
        if not name.strip() or len(name) > _MOST_NAME or not name.isprintable():
            raise RefusedTokenError(
                "claims", f"the token's `sub` is no printable text of 1 to {_MOST_NAME} characters"
            )
        named = tuple(_texts(_at(claims, self._claim)))
        given = {self._roles[each] for each in named if each in self._roles}
        if not given:
            raise RefusedTokenError(
                "role",
                f"{quoted(name)} has no role here: the token's claim {self._claim!r} has none of those that "
                f"{PREFIX}JWT_ROLES lists",
                Code.FORBIDDEN,
            )
        return Principal(name, max(given, key=ROLES.index), float(claims["exp"]), named, self._skew, claims)


def _keys(settings: Settings, algorithms: tuple[str, ...]) -> Keys:
    """What the settings name. Raises SettingError."""
    if settings.jwt_keys_url is not None:
        return RemoteKeys(settings.jwt_keys_url)
    if settings.jwt_key is not None:
        keys = keys_of_file(settings.jwt_key)
        if not any(keys.fitting(each, None) for each in algorithms):
            raise SettingError(
                f"{PREFIX}JWT_KEY names {settings.jwt_key!r}, whose keys are of other kinds than "
                f"{PREFIX}JWT_ALGORITHMS lists: {settings.jwt_algorithms}"
            )
        return keys
    assert settings.jwt_secret is not None
    secret = settings.jwt_secret.get_secret_value().encode()
    for each in algorithms:
        if len(secret) < _SECRET_BYTES[each]:
            raise SettingError(
                f"{PREFIX}JWT_SECRET is shorter than the {_SECRET_BYTES[each]} bytes that {each} wants; make one "
                "with `openssl rand -base64 64`"
            )
    return Keys([Key(None, frozenset(algorithms), secret)])


def _header(token: str) -> dict[str, Any]:
    try:
        return jwt.get_unverified_header(token)
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise RefusedTokenError("malformed", "the token is no JSON Web Token that can be read") from None


def _check_unique(token: str) -> None:
    """Raises UNAUTHENTICATED for a header or claims that have a name twice, at any depth: the issuer of the token,
    or checks it elsewhere, may mean the other one."""
    try:
        for part in token.split(".")[:2]:
            loaded(base64url_decode(part))
    except RepeatedNameError as error:
        raise RefusedTokenError("malformed", f"the token is ambiguous: {error}") from None
    except (ValueError, RecursionError):
        raise RefusedTokenError("malformed", "the token is no JSON Web Token that can be read") from None


def _at(claims: Mapping[str, Any], path: str) -> object:
    """The claim of that name, dots and all, or else what is within claims, one name after the other."""
    if path in claims:
        return claims[path]
    found: object = claims
    for name in path.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(name)
    return found


def _texts(value: object) -> list[str]:
    """A list of texts; of one text its words, as a scope has them: https://www.rfc-editor.org/rfc/rfc6749#section-3.3
    parts them by spaces alone, so that another blank is part of a name."""
    if isinstance(value, str):
        return [each for each in value.split(" ") if each]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
