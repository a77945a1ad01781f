"""Pages of other origins that may read and write this database, and what their browsers are told.

https://fetch.spec.whatwg.org/#http-cors-protocol
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(\[[0-9a-f:]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
ANY = "*"


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

    def middleware(self) -> list[Middleware]:
        """What answers preflights and marks answers; outermost, so that errors can be read, too."""
        if not self:
            return []
        # Any header: who may ask at all may also say who it is, and trace its requests. Tokens are sent by the page
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
