"""What stands around every endpoint: the Host header, and the security headers of every answer."""

from __future__ import annotations

from functools import lru_cache

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adalog.datalog.errors import Code, quoted
from adalog.gateway.settings.config import Settings
from adalog.gateway.settings.origins import Origins
from adalog.gateway.settings.value_types import host_names, is_address_of_host, is_loopback

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self' data:; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_COMMON = [
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
_OWN = (b"cross-origin-resource-policy", b"same-origin")
_SHARED = (b"cross-origin-resource-policy", b"cross-origin")
SECURITY_HEADERS = [*_COMMON, _OWN]
"""Those of every answer."""


class SecurityHeaders:
    """Adds the security headers to every answer, refusals and preflights among them."""

    def __init__(self, app: ASGIApp, origins: Origins) -> None:
        self.app = app
        self.origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        shared = self.origins.allow(header(scope, b"origin"))
        if scope["type"] == "http" and scope["method"] == "OPTIONS":
            self.origins.log_preflight(scope)

        async def send_guarded(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                message["headers"] = [*message.get("headers", ()), *_COMMON, _SHARED if shared else _OWN]
                if self.origins:
                    MutableHeaders(raw=message["headers"]).add_vary_header("Origin")
            await send(message)

        await self.app(scope, receive, send_guarded)


class Guard:
    """Refuses requests meant for another host name (DNS rebinding)."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self.app = app
        extra = host_names(settings.allowed_hosts)
        # On other interfaces a token is required of everyone, so any name may lead here.
        self.hosts = extra if is_loopback(settings.host) or extra else None
        # There, Prometheus and load balancers ask by address, and an address is no name that could be rebound.
        self.takes_addresses = not is_loopback(settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and not self.admits(scope):
            await _misdirected(scope)(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def admits(self, scope: Scope) -> bool:
        """Whether a request is meant for this host."""
        if self.hosts is None:
            return True
        name = host_name(scope)
        return is_loopback(name) or name in self.hosts or (self.takes_addresses and is_address_of_host(name))


def host_name(scope: Scope) -> str:
    """The Host header's name, without the port, in lower case."""
    return _name_of(header(scope, b"host") or b"")


@lru_cache(256)
def _name_of(given: bytes) -> str:
    host = given.decode("latin-1").strip().lower()
    if host.startswith("["):
        return host.partition("]")[0].lstrip("[")
    return host.partition(":")[0]


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first header of that name."""
    for key, value in scope["headers"]:
        if key == name:
            found: bytes = value
            return found
    return None


def _misdirected(scope: Scope) -> JSONResponse:
    message = (
        f"this server answers to localhost, and not to {quoted(host_name(scope))}; "
        "ADALOG_ALLOWED_HOSTS lists further names, separated by commas"
    )
    error = {"message": message, "extensions": {"code": Code.FORBIDDEN.value, "retryable": False}}
    return JSONResponse({"errors": [error]}, status_code=403)
