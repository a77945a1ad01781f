"""Who asks: bearer tokens from a file of `name:role:sha256hex` lines.

Only hashes are kept, and they are compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import logging
import stat
import string
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from starlette.types import Scope

from datalog.errors import AdalogError, Code
from gateway.config import SettingError

ROLES = ("read", "write", "admin")

_LOGGER: Final = logging.getLogger("adalog.server")


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody known, and what they may do."""

    name: str
    role: str

    @property
    def may_write(self) -> bool:
        return self.role in ("write", "admin")

    @property
    def may_import(self) -> bool:
        """Whether they may have the server read files."""
        return self.role == "admin"

    @property
    def may_back_up(self) -> bool:
        """Whether they may have the server write all that it knows somewhere."""
        return self.role == "admin"


ANYONE = Principal("anyone", "admin")


class Tokens:
    """The tokens of one file. Without a file everybody on this machine may do everything."""

    def __init__(self, entries: list[tuple[Principal, bytes]] | None) -> None:
        self._entries = entries
        # Requests that were refused, by what was wrong with them.
        self.failures = Counter({"missing": 0, "malformed": 0, "unknown": 0})

    @classmethod
    def load(cls, path: str | None) -> Tokens:
        if path is None:
            return cls(None)
        entries = []
        for number, line in enumerate(_text(path).splitlines(), 1):
            if line.strip() and not line.lstrip().startswith("#"):
                entries.append(_entry(path, number, line.strip()))
        if not entries:
            raise SettingError(f"{path} holds no token; a line is `name:role:sha256hex`")
        return cls(entries)

    @property
    def required(self) -> bool:
        return self._entries is not None

    def principal(self, authorization: str | None) -> Principal:
        """Who the Authorization header names. Raises UNAUTHENTICATED."""
        if self._entries is None:
            return ANYONE
        if not authorization:
            self.failures["missing"] += 1
            raise AdalogError(Code.UNAUTHENTICATED, "a token is needed: send `Authorization: Bearer <token>`")
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            self.failures["malformed"] += 1
            raise AdalogError(Code.UNAUTHENTICATED, "the Authorization header must read `Bearer <token>`")
        digest = hashlib.sha256(token.strip().encode("utf-8", "surrogateescape")).digest()
        found = None
        # Every entry is compared, so that the time taken tells nothing about which matched.
        for principal, expected in self._entries:
            if hmac.compare_digest(digest, expected):
                found = principal
        if found is None:
            self.failures["unknown"] += 1
            raise AdalogError(Code.UNAUTHENTICATED, "this token is not known here")
        return found


def _text(path: str) -> str:
    """The file's text. Raises SettingError where there is none."""
    try:
        mode = Path(path).stat().st_mode
        text = Path(path).read_text("utf-8")
    except UnicodeDecodeError:
        raise SettingError(f"{path} is no text in UTF-8; a line of it is `name:role:sha256hex`") from None
    except OSError as error:
        raise SettingError(f"the file of bearer tokens {path} cannot be read: {error.strerror}") from None
    if mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP):
        _LOGGER.warning("%s can be read or written by others: chmod 600 %s", path, path)
    return text


def _entry(path: str, number: int, line: str) -> tuple[Principal, bytes]:
    parts = line.split(":")
    if len(parts) != 3 or not parts[0]:
        raise SettingError(f"{path}, line {number}: a line is `name:role:sha256hex`")
    name, role, digest = parts
    if role not in ROLES:
        raise SettingError(f"{path}, line {number}: the role {role!r} of {name!r} is not read, write or admin")
    if len(digest) != 64 or not set(digest) <= set(string.hexdigits):
        raise SettingError(
            f"{path}, line {number}: the last part for {name!r} must be the SHA-256 of the token, 64 hexadecimal "
            "digits (printf %s TOKEN | sha256sum)"
        )
    return Principal(name, role), bytes.fromhex(digest)


def address_of(scope: Scope) -> str:
    """Where a request comes from, as somebody who is not known by name: of IPv6 the network that one has whole."""
    return _network((scope.get("client") or ("",))[0])


@lru_cache(1024)
def _network(host: str) -> str:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if address.version == 4:
        return host
    mapped = address.ipv4_mapped
    return str(ipaddress.ip_network((address, 64), strict=False)) if mapped is None else str(mapped)


def check_write(principal: Principal) -> None:
    """Raises FORBIDDEN unless this principal may change the database."""
    if not principal.may_write:
        raise AdalogError(
            Code.FORBIDDEN, f"{principal.name!r} has the role {principal.role!r}, which may query but not transact"
        )


def check_import(principal: Principal) -> None:
    """Raises FORBIDDEN unless this principal may have the server import files."""
    if not principal.may_import:
        raise AdalogError(
            Code.FORBIDDEN,
            f"{principal.name!r} has the role {principal.role!r}; an import has the server read files, and needs "
            "the role admin",
        )


def check_backup(principal: Principal) -> None:
    """Raises FORBIDDEN unless this principal may have the server write a backup."""
    if not principal.may_back_up:
        raise AdalogError(
            Code.FORBIDDEN,
            f"{principal.name!r} has the role {principal.role!r}; a backup has the server write files, and needs "
            "the role admin",
        )
