"""Pages of other origins: which may read and write this database, what their browsers are told, and how requests of
all others are known.

https://fetch.spec.whatwg.org/#http-cors-protocol, https://www.w3.org/TR/fetch-metadata/
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Final

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Scope

from adalog.datalog.errors import AdalogError, Code

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
ANY = "*"
_LOGGER: Final = logging.getLogger("adalog.server")
# Refused origins that the log names, each once; an origin is no longer than a host name and what surrounds it.
_MOST_LOGGED: Final = 64
_LONGEST: Final = 300
_LOGGED: Final[set[str]] = set()
_EXAMPLE: Final = "https://app.example.org"


@dataclass(frozen=True, slots=True)
class Origins:
    """`named`: as browsers write them in the header Origin. `any`: every page there is, without credentials."""

    named: frozenset[str] = frozenset()
    any: bool = False

    @classmethod
    def of(cls, text: str) -> Origins:
        """The origins in a setting: exact ones separated by commas, or `*`. Raises ValueError for anything else."""
        listed = [part.strip() for part in text.split(",") if part.strip()]
        if listed == [ANY]:
            return cls(any=True)
        for origin in listed:
            _check(origin)
        return cls(frozenset(listed))

    def __bool__(self) -> bool:
        return self.any or bool(self.named)

    def allow(self, origin: bytes | None) -> bool:
        """Whether a request with this Origin header comes from an allowed page."""
        return origin is not None and (self.any or origin.decode("latin-1") in self.named)

    def check(self, scope: Scope) -> None:
        """Raises FORBIDDEN for a request of a page that may not use this database, over whatever protocol."""
        if not self.admit(scope):
            origin = _origin(scope)
            _log_once(origin)
            raise AdalogError(
                Code.FORBIDDEN,
                "a page of another origin may not use this database; "
                f"ADALOG_ALLOWED_ORIGINS lists more, as {origin if _is_origin(origin) else _EXAMPLE}",
            )

    def log_preflight(self, scope: Scope) -> None:
        """Logs a preflight of a page that is refused: its browser sends no request after it."""
        asks = any(name == b"access-control-request-method" for name, _ in scope["headers"])
        if asks and not self.admit(scope):
            _log_once(_origin(scope))

    def admit(self, scope: Scope) -> bool:
        """Whether a request comes from a page of this server, from one that is allowed, or from no page at all. A
        browser's preflight would keep most others away. It is not relied on: browsers ask for no leave to open a
        WebSocket, and what a page may send without asking has changed before. No page can write either header."""
        given = [value for name, value in scope["headers"] if name == b"origin"]
        if len(given) > 1:
            return False
        origin = given[0] if given else None
        if self.allow(origin):
            return True
        site = next((value for name, value in scope["headers"] if name == b"sec-fetch-site"), None)
        if site in (b"cross-site", b"same-site"):
            return False
        # The browser compares the page with the address that it asks, which a proxy may have changed since.
        return origin is None or site == b"same-origin" or _is_own(origin, scope)

    def middleware(self) -> list[Middleware]:
        """What answers preflights and marks answers; outermost, so that errors can be read, too."""
        if not self:
            return []
        # Any header: a page that may ask may also authenticate, and trace its requests. Tokens are sent by the page
        # itself, in a header: nothing that a browser would add by itself counts here.
        cors = Middleware(
            CORSMiddleware,
            allow_origins=[ANY] if self.any else sorted(self.named),
            allow_methods=["GET", "POST"],
            allow_headers=[ANY],
            expose_headers=["ETag", "Retry-After", "WWW-Authenticate", "Accept-Post", "Allow", "X-Request-Id"],
            allow_private_network=True,
        )
        return [cors]


def _origin(scope: Scope) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), "")


def _is_origin(text: str) -> bool:
    return len(text) <= _LONGEST and _ORIGIN.fullmatch(text) is not None


def _log_once(origin: str) -> None:
    """One line of the log for a refused origin, however many requests come from it."""
    if not _is_origin(origin):
        origin = "null"
    if origin in _LOGGED or len(_LOGGED) >= _MOST_LOGGED:
        return
    _LOGGED.add(origin)
    if origin == "null":
        _LOGGER.warning(
            "pages without an origin (files, sandboxed frames) are refused; pages that a web server delivers have "
            "one, which ADALOG_ALLOWED_ORIGINS lists, as %s",
            _EXAMPLE,
        )
    else:
        _LOGGER.warning(
            "pages of %s are refused: ADALOG_ALLOWED_ORIGINS=%s lets them query and transact", origin, origin
        )


def _is_own(origin: bytes, scope: Scope) -> bool:
    """Whether an origin is the address that was asked. A proxy may speak TLS and not say so; one that is known to
    speak it has no pages without."""
    scheme, _, name = origin.decode("latin-1").lower().partition("://")
    port = _DEFAULT_PORTS.get(scheme)
    if port is None or (scheme == "http" and scope["scheme"] in ("https", "wss")):
        return False
    host = next((value for key, value in scope["headers"] if key == b"host"), b"")
    return name.removesuffix(port) == host.decode("latin-1").strip().lower().removesuffix(port)


def _check(origin: str) -> None:
    if origin == ANY:
        raise ValueError(f"{ANY} is every origin, so nothing is listed beside it")
    if origin == "null":
        raise ValueError("null is no origin: files and sandboxed frames of any site have it")
    if not _ORIGIN.fullmatch(origin):
        raise ValueError(
            f"{origin!r} is no origin; one is written as browsers send it, in lower case and without a path, "
            "as in https://app.example.org or http://localhost:3000"
        )
    scheme = origin.partition(":")[0]
    if scheme in _DEFAULT_PORTS and origin.endswith(_DEFAULT_PORTS[scheme]):
        shorter = origin.removesuffix(_DEFAULT_PORTS[scheme])
        raise ValueError(f"{origin!r} names the port that browsers leave out; write {shorter}")
