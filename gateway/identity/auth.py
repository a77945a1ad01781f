"""Authentication: bearer tokens from a file of `name:role:sha256hex` lines, or JSON Web Tokens. Of several roles,
separated by commas, one is for the door and the others are for policies.

Of a file only hashes are kept, and they are compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import stat
import string
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starlette.types import Scope

from adalog.datalog.errors import AdalogError, Code
from adalog.gateway.identity.peer import counted_address
from adalog.gateway.identity.principal import ANYONE, Principal, RefusedTokenError
from adalog.gateway.settings.config import Settings
from adalog.gateway.settings.setting import SettingError
from adalog.gateway.settings.value_types import ROLES

if TYPE_CHECKING:
    from adalog.gateway.identity.jwt_tokens import JsonWebTokens

_LOGGER: Final = logging.getLogger("adalog.server")
_OF_NOTHING: Final = hashlib.sha256(b"").digest()


class Tokens:
    """The tokens of one file, and signed ones. Without either everybody on this machine may do everything."""

    def __init__(self, entries: list[tuple[Principal, bytes]] | None, signed: JsonWebTokens | None = None) -> None:
        self._entries = entries
        self._signed = signed
        # Requests that were refused, by what was wrong with them.
        self.failures = Counter({"missing": 0, "malformed": 0, "unknown": 0})
        if signed is not None:
            self.failures.update(dict.fromkeys(("algorithm", "key", "signature", "expired", "claims", "role"), 0))

    @classmethod
    def load(cls, path: str | None, signed: JsonWebTokens | None = None) -> Tokens:
        if path is None:
            return cls(None, signed)
        entries: list[tuple[Principal, bytes]] = []
        for number, line in enumerate(_text(path).splitlines(), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                principal, digest = _entry(path, number, line.strip())
                if any(digest == each for _, each in entries):
                    raise SettingError(f"{path}, line {number}: the token of {principal.name!r} stands there twice")
                entries.append((principal, digest))
        if not entries:
            raise SettingError(f"{path} holds no token; a line is `name:role:sha256hex`")
        return cls(entries, signed)

    @property
    def required(self) -> bool:
        return self._entries is not None or self._signed is not None

    async def asking(self, scope: Scope) -> Principal:
        """The principal of an HTTP request. Raises as `principal` does."""
        given = authorizations(scope)
        if self.required and len(given) > 1:
            # Each program on the way may choose another one.
            self.failures["malformed"] += 1
            raise RefusedTokenError("malformed", "there is more than one Authorization header")
        return await self.principal(given[0] if given else None)

    async def principal(self, authorization: str | None) -> Principal:
        """The principal of the Authorization header. Raises UNAUTHENTICATED; FORBIDDEN for one without a role."""
        if not self.required:
            return ANYONE
        try:
            token = _bearer(authorization)
            found = self._listed(token)
            if found is not None:
                return found
            if self._signed is None or token.count(".") != 2:
                raise RefusedTokenError("unknown", "this token is not known here")
            return await self._signed.principal(token)
        except RefusedTokenError as refused:
            self.failures[refused.why] += 1
            raise

    def known(self, authorization: str | None) -> Principal | None:
        """The same where it takes no time: a client without a token where none is needed, one of a token of the
        file, or of one that was verified lately. None otherwise; `principal` says what is wrong."""
        if not self.required:
            return ANYONE
        try:
            token = _bearer(authorization)
            found = self._listed(token)
            return found if found is not None or self._signed is None else self._signed.remembered(token)
        except RefusedTokenError:
            return None

    def _listed(self, token: str) -> Principal | None:
        """Whose token of the file it is."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
        found = None
        # Every entry is compared, so that the time taken tells nothing about which matched.
        for principal, expected in self._entries or ():
            if hmac.compare_digest(digest, expected):
                found = principal
        return found


def authorizations(scope: Scope) -> list[str]:
    return [value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"]


def tokens_of(settings: Settings) -> Tokens:
    """The tokens that the settings name. Raises SettingError."""
    if not settings.jwt_algorithms:
        return Tokens.load(settings.auth)
    from adalog.gateway.identity.jwt_tokens import JsonWebTokens

    return Tokens.load(settings.auth, JsonWebTokens(settings))


def check_tokens(settings: Settings) -> None:
    """Raises SettingError before a database is made for a server that could not start; warns of a file of tokens
    that is open to others."""
    tokens_of(settings)
    path = settings.auth
    if path is not None and Path(path).stat().st_mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        _LOGGER.warning("%s can be read or written by others: chmod 600 %s", path, path)


def _bearer(authorization: str | None) -> str:
    if not authorization:
        raise RefusedTokenError("missing", "a token is needed: send `Authorization: Bearer <token>`")
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise RefusedTokenError("malformed", "the Authorization header must read `Bearer <token>`")
    return token.strip()


def _text(path: str) -> str:
    """The file's text. Raises SettingError where there is none."""
    try:
        return Path(path).read_text("utf-8")
    except UnicodeDecodeError:
        raise SettingError(f"{path} is no text in UTF-8; a line of it is `name:role:sha256hex`") from None
    except OSError as error:
        raise SettingError(f"the file of bearer tokens {path} cannot be read: {error.strerror}") from None


def _entry(path: str, number: int, line: str) -> tuple[Principal, bytes]:
    parts = line.split(":")
    if len(parts) != 3 or not parts[0]:
        raise SettingError(f"{path}, line {number}: a line is `name:role:sha256hex`")
    name, listed, digest = parts
    roles = tuple(each.strip() for each in listed.split(","))
    given = [each for each in roles if each in ROLES]
    if not given:
        what = f"the role {listed!r} of {name!r} is not"
        if len(roles) > 1:
            what = f"none of the roles {listed!r} of {name!r} is"
        raise SettingError(f"{path}, line {number}: {what} read, write or admin")
    if "" in roles or any(letter.isspace() for each in roles for letter in each):
        raise SettingError(
            f"{path}, line {number}: the roles {listed!r} of {name!r} are no names separated by commas, such as "
            "read,member"
        )
    if len(digest) != 64 or not set(digest) <= set(string.hexdigits):
        raise SettingError(
            f"{path}, line {number}: the last part for {name!r} must be the SHA-256 of the token, 64 hexadecimal "
            "digits (printf %s TOKEN | sha256sum)"
        )
    if bytes.fromhex(digest) == _OF_NOTHING:
        raise SettingError(
            f"{path}, line {number}: the last part for {name!r} is the SHA-256 of the empty text, as of a variable "
            "that is not set; no client can send an empty token"
        )
    role = max(given, key=ROLES.index)
    return Principal(name, role, roles=roles, claims={"sub": name, "roles": list(roles)}), bytes.fromhex(digest)


def sender(scope: Scope) -> str:
    """The address that a request came from."""
    host: str = (scope.get("client") or ("",))[0]
    return host


def address_of(scope: Scope) -> str:
    """The address of a request, which stands for an anonymous client: of IPv6 the network of one customer."""
    host = sender(scope)
    return counted_address(host) or host


def check_write(principal: Principal) -> None:
    """Raises FORBIDDEN unless this principal may change the database."""
    if principal.role == "read":
        raise AdalogError(
            Code.FORBIDDEN, f"{principal.name!r} has the role {principal.role!r}, which may query but not transact"
        )


def check_admin(principal: Principal, reason: str) -> None:
    """Raises FORBIDDEN unless this principal may have the server read and write files. reason: what for."""
    if principal.role != "admin":
        raise AdalogError(
            Code.FORBIDDEN,
            f"{principal.name!r} has the role {principal.role!r}; {reason}, and needs the role admin",
        )
