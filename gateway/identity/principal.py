"""A client's identity: its role, when its token expires, and why a token is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import time
from typing import Any, Final

from adalog.datalog.errors import AdalogError, Code
from adalog.executor.bounds.client import Identity

# The clock on the wall may be set, or the machine sleep, so it is looked at that often.
_LONGEST_WAIT: Final = 60.0
_ADMIN: Final = "admin"


def now() -> float:
    """Seconds since 1970: what tokens expire by."""
    return time()


@dataclass(frozen=True, slots=True)
class Principal:
    """A client with a name and a role, which is checked at the door. `expires`: when its token does, in seconds
    since 1970; it is taken for `skew_seconds` more, as clocks differ. `roles` and `claims`: as its token says them,
    for policies."""

    name: str
    role: str
    expires: float | None = None
    roles: tuple[str, ...] = ()
    skew_seconds: float = 0.0
    claims: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def identity(self) -> Identity:
        # Who is admin is decided at the door: a claim of that name may be mapped to another role, or to none.
        named = [each for each in self.roles or (self.role,) if each != _ADMIN or self.role == _ADMIN]
        if self.role == _ADMIN and _ADMIN not in named:
            named.append(_ADMIN)
        return Identity(self.name, tuple(named), self.expires, self.claims)

    @property
    def has_expired(self) -> bool:
        """Whether the token is not good any more."""
        left = self.seconds_left
        return left is not None and left <= 0

    @property
    def seconds_left(self) -> float | None:
        """How long the token is still taken; None for one that does not expire."""
        return None if self.expires is None else self.expires + self.skew_seconds - now()


ANYONE: Final = Principal("anyone", "admin")


class RefusedTokenError(AdalogError):
    """UNAUTHENTICATED, or FORBIDDEN for a good token without a role. `why`: in a word, to count."""

    def __init__(self, why: str, message: str, code: Code = Code.UNAUTHENTICATED) -> None:
        super().__init__(code, message)
        self.why = why


class Expiry:
    """Calls a function in the event loop when a principal's token expires."""

    def __init__(self, principal: Principal, then: Callable[[], None]) -> None:
        self._principal = principal
        self._then = then
        self._timer: asyncio.TimerHandle | None = None
        self._wait()

    def cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        left = self._principal.seconds_left
        if left is None:
            return
        if left <= 0:
            self._then()
            return
        wait = min(max(left, 0.001), _LONGEST_WAIT)
        self._timer = asyncio.get_running_loop().call_later(wait, self._wait)


def expired() -> AdalogError:
    """What a stream ends with."""
    return AdalogError(Code.UNAUTHENTICATED, "the token has expired; get a new one, and go on from here with it")
